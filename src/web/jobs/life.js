// The life of a job as a sequence of time spans, for its timeline. Uses neither the page nor the network.
//
// Spans are drawn to scale. A wait that would leave no room for the others is shortened and drawn with a break.

import { duration } from "../format.js";
import { waitBefore } from "./retry_wait.js";

const ms = (text) => (text ? Date.parse(text) : null);

export const endedAt = (job) => ms(job.deliveredAt || job.cancelledAt || job.deadAt);

// Returns the result of an attempt: good, failed, or again if the receiver asked for the job again.
export function resultOf(attempt, job, isLast) {
  if (attempt.error || attempt.status >= 300 || attempt.status < 200) return "failed";
  return isLast && job.state !== "delivered" ? "again" : "good";
}

export const answerOf = (attempt) => (attempt.status ? String(attempt.status) : attempt.error || "?");

// Returns the duration of an attempt as text; the API counts whole milliseconds.
export const took = (durationMs) => (durationMs < 1 ? "< 1 ms" : duration(durationMs));

// Returns the finished attempts, oldest first. Without the list, this is the last attempt, which the job itself has.
export function attemptsOf(job, attempts) {
  if (attempts?.length) return attempts;
  return job.lastAttempt ? [{ attempt: job.attempts || 1, ...job.lastAttempt }] : [];
}

// The words with which GET …/why explains that a due job is held, and their names on the timeline.
const HELD = {
  paused: "paused", breaker: "receiver fails", receiver_limit: "receiver is busy", max_in_flight: "limit in flight", rate: "rate", order: "order",
  settings: "settings", later_version: "version", waits_for_worker: "no worker yet", in_turn: "in turn",
};

// Returns when the attempt under way was due, computed from the job's waits: the API does not show when its lease began.
function leasedFrom(job, at) {
  if (job.attempts > 0) return at + 1000 * waitBefore(job, job.attempts - 1);
  return job.delay === undefined ? at : at + 1000 * job.delay;
}

// Returns the spans of a job's life without gaps, from its creation to its end or to now, and on to its due time:
//   {kind: "wait", from, to, isAhead: not over yet, hold: what holds a due job, hidden: number of earlier attempts that are not kept}
//   {kind: "attempt", from, to, attempt, result}     {kind: "running", from, to}
export function spansOf(job, attempts, now, why = null) {
  const spans = [];
  let at = ms(job.createdAt);
  const add = (kind, to, members) => {
    if (to <= at) return;
    spans.push({ kind, from: at, to, ...members });
    at = to;
  };
  const known = attemptsOf(job, attempts);
  for (const [i, attempt] of known.entries()) {
    add("wait", ms(attempt.at), { hidden: i === 0 ? attempt.attempt - 1 : 0 });
    add("attempt", at + Math.max(attempt.durationMs, 1), { attempt, result: resultOf(attempt, job, i === known.length - 1) });
  }
  const end = endedAt(job);
  if (end !== null) {
    add("wait", end);
  } else if (job.state === "leased") {
    add("wait", Math.min(leasedFrom(job, at), now - 1));
    add("running", Math.max(now, at + 1));
  } else {
    const due = ms(job.dueAt);
    const hold = HELD[why?.why];
    add("wait", Math.min(due ?? now, now), { hold: due > now ? hold : undefined });
    add("wait", due > now ? due : now, due > now ? { isAhead: true } : { hold: hold ?? "due" });
  }
  return spans;
}

const LEAST_WAIT = 6;
const LEAST_ATTEMPT = 24;
const LEGIBLE = 30;

// Gives each span an x and a width, in proportion to its length. Waits that would squeeze the others are shortened (isShort),
// but only until all spans of relevant length are visible.
export function layOut(spans, width) {
  const total = spans.reduce((sum, span) => sum + lengthOf(span), 0);
  const matters = spans.filter((span) => lengthOf(span) >= 200 || lengthOf(span) > total / 50);
  let most = width;
  let scale = fit(spans, width, most);
  while (most > width / 8 && matters.some((span) => lengthOf(span) * scale < LEGIBLE)) {
    most *= 0.8;
    scale = fit(spans, width, most);
  }
  const given = spans.map((span) => widthOf(span, scale, most));
  const factor = width / given.reduce((sum, one) => sum + one, 0);
  let x = 0;
  return spans.map((span, i) => {
    const placed = { ...span, x, width: given[i] * factor, isShort: most < width && span.kind === "wait" && lengthOf(span) * scale > most * 1.02 };
    x += placed.width;
    return placed;
  });
}

const lengthOf = (span) => span.to - span.from;

function widthOf(span, scale, most) {
  const wanted = lengthOf(span) * scale;
  return span.kind === "wait" ? Math.min(Math.max(wanted, LEAST_WAIT), most) : Math.max(wanted, LEAST_ATTEMPT);
}

// Returns the scale, in pixels a millisecond, with which the spans fill the width.
function fit(spans, width, most) {
  let low = 1e-12;
  let high = 1e3;
  for (let step = 0; step < 80; step++) {
    const middle = Math.sqrt(low * high);
    if (spans.reduce((sum, span) => sum + widthOf(span, middle, most), 0) > width) high = middle;
    else low = middle;
  }
  return low;
}

// Returns the attempts that would follow if each one failed: [{attempt, at, wait, isExact, expires}]. at assumes that each
// fails immediately.
export function comingAttempts(job, now) {
  const last = job.retry + 1,
    expires = ms(job.expiresAt),
    coming = [];
  let at = job.state === "leased" ? now : Math.max(ms(job.dueAt) ?? now, now);
  for (let attempt = (job.attempts || 0) + 1; attempt <= last && coming.length < 101; attempt++) {
    const wait = coming.length ? waitBefore(job, attempt - 2) : null;
    if (wait !== null) at += wait * 1000;
    coming.push({
      attempt,
      at,
      wait,
      isExact: coming.length === 0,
      isDue: coming.length === 0 && at <= now,
      isRunning: job.state === "leased" && coming.length === 0,
      expires: expires !== null && at >= expires,
    });
    if (expires !== null && at >= expires) break;
  }
  return coming;
}
