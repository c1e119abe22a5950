// The life of a job as a sequence of time spans, for its timeline. Uses neither the page nor the network.
//
// Spans are drawn to scale. A wait that would leave no room for the others is shortened and drawn with a break.

import { m } from "../lib.js";
import { duration, time, until } from "../format.js";
import { Time } from "../parts/values.js";

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
  paused: "paused", windows: "closed", breaker: "receiver fails", receiver_limit: "receiver is busy", max_in_flight: "limit in flight", rate: "rate", batch: "batch", order: "order", key: "key",
  settings: "settings", encryption_key: "key missing", later_version: "version", waits_for_worker: "no worker yet", in_turn: "in turn",
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
function comingAttempts(job, now) {
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

// waitBefore(job, retried): the seconds before a retry, as the server computes them (src/job/retry.h).
// retried is the number of retries before it. A job has either retryWait (an expression) or retrySchedule.

const LONGEST = 31_536_000_000; // ms

const FUNCTIONS = { abs: Math.abs, ceil: Math.ceil, exp: Math.exp, floor: Math.floor, max: Math.max, min: Math.min, pow: Math.pow, round: Math.round, sqrt: Math.sqrt };

function waitBefore(job, retried) {
  const ms = job.retryWait ? evaluate(job.retryWait, retried) : NaN;
  if (!Number.isNaN(ms)) return Math.round(Math.min(LONGEST, Math.max(0, ms))) / 1000;
  const waits = job.retrySchedule ?? [];
  return waits[Math.min(retried, waits.length - 1)] ?? 0;
}

// Returns NaN for a text that is not an expression.
function evaluate(text, retried) {
  const parts = text.match(/(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|[A-Za-z]+|\S/g) ?? [];
  let at = 0;
  const take = (...wanted) => (wanted.includes(parts[at]) ? parts[at++] : null);
  const sum = () => {
    let value = product();
    for (let sign; (sign = take("+", "-")); ) value = sign === "+" ? value + product() : value - product();
    return value;
  };
  const product = () => {
    let value = factor();
    for (let sign; (sign = take("*", "/")); ) value = sign === "*" ? value * factor() : value / factor();
    return value;
  };
  const list = () => {
    const values = [];
    do values.push(sum());
    while (take(","));
    return take(")") ? values : [NaN];
  };
  const factor = () => {
    if (take("+")) return factor();
    if (take("-")) return -factor();
    if (take("(")) return list()[0];
    const part = parts[at++];
    if (part === "retried") return retried;
    if (Object.hasOwn(FUNCTIONS, part)) return take("(") ? FUNCTIONS[part](...list()) : NaN;
    return part === undefined ? NaN : Number(part);
  };
  const value = sum();
  return at === parts.length ? value : NaN;
}

// Retries - the attempts that are still to come, on the clock.

const SHOWN = 8;

function timeOf(one) {
  if (one.isRunning) return "under way";
  if (one.isDue) return "now";
  return one.isExact ? m(Time, { at: one.at }) : m("span", { title: "If each earlier attempt fails immediately" }, "about ", m(Time, { at: one.at }));
}

function whenOf(one) {
  if (one.expires) return "never: the job expires first";
  if (one.isRunning || one.isDue) return "";
  return one.isExact ? until(one.at) : `${duration(one.wait * 1000)} after attempt ${one.attempt - 1}`;
}

const row = (one) => m("tr", m("td.number", one.attempt), m("td", timeOf(one)), m("td", whenOf(one)));

// attrs: job, now.
export function Retries() {
  let isWhole = false;
  return {
    view({ attrs: { job, now } }) {
      const coming = comingAttempts(job, now),
        shown = isWhole ? coming : coming.slice(0, SHOWN),
        last = coming[coming.length - 1];
      return m(
        "div.retries",
        m(
          "table.plain",
          m("caption.off-screen", "Attempts to come"),
          m("thead", m("tr", m("th", { scope: "col" }, "Attempt"), m("th", { scope: "col" }, "At"), m("th", { scope: "col" }, "When"))),
          m("tbody", shown.map(row)),
        ),
        coming.length > shown.length
          ? m(
              "button.link",
              {
                type: "button",
                onclick: () => {
                  isWhole = true;
                },
              },
              `${coming.length - shown.length} more`,
            )
          : null,
        m(
          "p.hint",
          last?.expires
            ? `The job expires at ${time(Date.parse(job.expiresAt))}; it is dead then.`
            : `Any 2xx answer ends the job. If attempt ${last ? last.attempt : job.attempts} fails, it is dead.`,
        ),
      );
    },
  };
}
