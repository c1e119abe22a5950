// Timeline - the life of a job drawn to scale: its waits, its attempts with their answers, and how it ended.

import { m } from "../lib.js";
import { duration, time } from "../format.js";
import { indent, readJson } from "./body.js";
import { answerOf, endedAt, layOut, spansOf, took, resultOf } from "./life.js";
import { Copy } from "../parts/page.js";
import { Time } from "../parts/values.js";

const HEIGHT = 108,
  LINE = 40,
  BAR = 22,
  EDGE = 14;
const LEAST_SPAN = 72; // minimum number of pixels per span, on average; on small screens the timeline scrolls
const ENDS = { delivered: "Delivered", cancelled: "Cancelled", dead: "Dead" };

const label = (x, y, anchor, ...children) => m("text", { x, y, "text-anchor": anchor }, ...children);

// A zigzag across the line, where a wait is shortened.
function brokenLine(x, y) {
  return [
    m("rect.timeline-gap", { x: x - 7, y: y - 8, width: 14, height: 16 }),
    m("path.timeline-break", { d: `M${x - 7} ${y + 7}l5 -14m4 14l5 -14` }),
  ];
}

function waitPart(span) {
  const middle = span.x + span.width / 2;
  return m(
    "g.timeline-wait",
    { class: span.isAhead ? "is-ahead" : span.hold ? "is-held" : "" },
    m("title", `${span.isAhead ? "Waits for its due time" : span.hold ? `Held: ${span.hold}` : "Waited"}: ${duration(span.to - span.from)}`),
    m("line", { x1: span.x, x2: span.x + span.width, y1: LINE, y2: LINE }),
    span.isShort ? brokenLine(middle, LINE) : null,
    span.hold && span.width > 60 ? label(middle, LINE - 12, "middle", span.hold) : null,
    span.hidden ? label(middle, LINE - 12, "middle", `${span.hidden} earlier`) : null,
    span.width > 46 ? label(middle, LINE + 26, "middle", duration(span.to - span.from)) : null,
  );
}

const SIGNS = { good: "✓", failed: "✕", again: "↻" };

function attemptPart(span) {
  const { attempt } = span,
    middle = span.x + span.width / 2;
  const title = `Attempt ${attempt.attempt}: ${answerOf(attempt)} after ${took(attempt.durationMs)}, ${time(Date.parse(attempt.at))}`;
  return m(
    "g.timeline-attempt",
    { class: `is-${span.result}` },
    m("title", title),
    m("rect", { x: span.x, y: LINE - BAR / 2, width: span.width, height: BAR, rx: 3 }),
    label(middle, LINE - BAR / 2 - 8, "middle", `${SIGNS[span.result]} ${answerOf(attempt)}`),
    span.width > 46 ? label(middle, LINE + 26, "middle", took(attempt.durationMs)) : null,
    m("text.timeline-number", { x: middle, y: LINE + 4, "text-anchor": "middle" }, span.width > 18 ? attempt.attempt : ""),
  );
}

function runningPart(span) {
  return m(
    "g.timeline-running",
    m("title", "Leased: an attempt is under way"),
    m("rect", { x: span.x, y: LINE - BAR / 2, width: span.width, height: BAR, rx: 3 }),
    label(span.x + span.width / 2, LINE - BAR / 2 - 8, "middle", "leased"),
  );
}

const PARTS = { wait: waitPart, attempt: attemptPart, running: runningPart };

function mark(x, width, name, at, kind) {
  const anchor = x < 70 ? "start" : x > width - 70 ? "end" : "middle";
  return m(
    "g.timeline-mark",
    { class: `is-${kind}` },
    m("line", { x1: x, x2: x, y1: LINE - 22, y2: LINE + 34 }),
    m("circle", { cx: x, cy: LINE, r: 5 }),
    label(x, LINE + 48, anchor, name),
    m("text.timeline-time", { x, y: LINE + 62, "text-anchor": anchor }, time(at)),
  );
}

// Where marks would overlap, the later one stays.
function marksOf(job, placed, width, now) {
  const last = placed[placed.length - 1],
    end = endedAt(job),
    marks = [];
  const at = (ms) => {
    const span = placed.find((one) => ms >= one.from && ms <= one.to) || last;
    return span.x + (span.to > span.from ? ((ms - span.from) / (span.to - span.from)) * span.width : 0);
  };
  const created = Date.parse(job.createdAt);
  marks.push({ x: EDGE, name: "Accepted", at: created, kind: "accepted" });
  if (end !== null) marks.push({ x: at(end), name: ENDS[job.state], at: end, kind: job.state });
  else {
    marks.push({ x: at(now), name: "Now", at: now, kind: "now" });
    const due = Date.parse(job.dueAt || "");
    if (due) marks.push({ x: at(due), name: "Due", at: due, kind: "due" });
  }
  const isHidden = (one, i) => i > 0 && marks.some((other, j) => j !== i && (j > i || j === 0) && Math.abs(other.x - one.x) < 90);
  return marks
    .filter((one, i) => !isHidden(one, i))
    .map((one) => mark(one.x, width, one.name, one.at, one.kind));
}

// Returns the timeline in words, for screen readers.
function summary(job, spans) {
  const attempts = spans.filter((span) => span.kind === "attempt");
  const texts = [`Accepted ${time(Date.parse(job.createdAt))}`];
  for (const { attempt } of attempts) texts.push(`attempt ${attempt.attempt}: ${answerOf(attempt)} after ${took(attempt.durationMs)}`);
  const end = endedAt(job);
  texts.push(end !== null ? `${ENDS[job.state].toLowerCase()} ${time(end)}` : job.dueAt ? `due ${time(Date.parse(job.dueAt))}` : job.state);
  return texts.join("; ");
}

// attrs: job, attempts, why (the answer of GET …/why), now (ms).
export function Timeline() {
  let seenWidth = 900;
  let watcher = null;
  return {
    oncreate({ dom }) {
      watcher = new ResizeObserver(([entry]) => {
        const seen = Math.round(entry.contentRect.width);
        if (seen === seenWidth) return;
        seenWidth = seen;
        m.redraw();
      });
      watcher.observe(dom);
    },
    onremove() {
      watcher.disconnect();
    },
    view({ attrs: { job, attempts, why, now } }) {
      const spans = spansOf(job, attempts, now, why);
      const width = Math.max(seenWidth, LEAST_SPAN * spans.length, 280);
      const inner = width - 2 * EDGE;
      const placed = layOut(spans, inner).map((span) => ({ ...span, x: span.x + EDGE }));
      return m(
        "div.timeline",
        { tabindex: 0, role: "group", "aria-label": "Timeline" },
        m(
          "svg",
          { viewBox: `0 0 ${width} ${HEIGHT}`, width, height: HEIGHT, role: "img", "aria-label": summary(job, spans) },
          placed.length ? marksOf(job, placed, width, now) : null,
          placed.map((span) => PARTS[span.kind](span)),
        ),
        placed.some((span) => span.isShort) ? m("p.hint", "To scale, except for waits with a break, which are shortened.") : null,
      );
    },
  };
}

// Attempts - the table of a job's finished attempts, with the answers. Answers are untrusted text.

const ERRORS = {
  dns: "The host name of the receiver was not found.",
  connect: "No connection to the receiver.",
  tls: "The TLS handshake failed.",
  timeout: "No answer within the timeout.",
  reset: "The receiver closed the connection.",
  target_refused: "The address is not allowed.",
  answer_too_large: "The answer was too long.",
  protocol: "The answer was not valid HTTP.",
  worker: "The worker reported a failure.",
  lease_expired: "The worker's lease ran out.",
};

function answerPart(attempt) {
  if (!attempt.answer) return attempt.status ? m("p.faint", "The answer had no body.") : null;
  const value = readJson(attempt.answer);
  return m(
    "div.answer",
    m("pre", { tabindex: 0 }, value && !attempt.answerTruncated ? indent(value) : attempt.answer),
    m(Copy, { text: attempt.answer, label: "Copy the answer" }),
    attempt.answerTruncated ? m("p.hint", "The answer was longer; its first 1,024 bytes are kept.") : null,
  );
}

function rows(job, attempt, isLast, state) {
  const result = resultOf(attempt, job, isLast),
    key = `${attempt.round || 1}.${attempt.attempt}.${attempt.at}`;
  const isOpen = state.open.has(key),
    toggle = () => (isOpen ? state.open.delete(key) : state.open.add(key));
  const id = `answer-${key.replace(/\W/g, "-")}`;
  const detail = attempt.errorDetail || ERRORS[attempt.error] || "";
  return [
    m(
      "tr",
      { class: `is-${result}` },
      m("td.number", attempt.round ? `${attempt.attempt} (round ${attempt.round})` : attempt.attempt),
      m("td", m(Time, { at: attempt.at })),
      m("td.number", took(attempt.durationMs)),
      m(
        "td",
        m("span.result", { class: `is-${result}` }, `${SIGNS[result]} ${answerOf(attempt)}`),
        detail ? m("span.faint", ` ${detail}`) : null,
      ),
      m(
        "td",
        attempt.status || attempt.answer
          ? m(
              "button.link",
              { type: "button", "aria-expanded": String(isOpen), "aria-controls": id, onclick: toggle },
              isOpen ? "Hide answer" : "Answer",
            )
          : null,
      ),
    ),
    isOpen ? m("tr.detail", { id }, m("td", { colspan: 5 }, answerPart(attempt))) : null,
  ];
}

// attrs: job, attempts, isRead. isRead: attempts is the list of the API, which has the answers; the last answer is opened when that
// list is first drawn. Until then, attempts is the job's last attempt, without its answer.
export function Attempts() {
  const state = { open: new Set(), isFresh: true };
  return {
    view({ attrs: { job, attempts, isRead } }) {
      if (!attempts.length) return m("p.faint", job.state === "leased" ? "The first attempt is under way." : "No attempt has ended yet.");
      const last = attempts[attempts.length - 1];
      if (state.isFresh && last.answer) state.open.add(`${last.round || 1}.${last.attempt}.${last.at}`);
      if (isRead) state.isFresh = false;
      return m(
        "div.scroll",
        { tabindex: 0, role: "group", "aria-label": "Attempts" },
        m(
          "table.plain.attempts",
          m(
            "thead",
            m(
              "tr",
              ["Attempt", "Began", "Took", "Answer"].map((title) => m("th", { scope: "col" }, title)),
              m("th", { scope: "col" }, m("span.off-screen", "Answer body")),
            ),
          ),
          m(
            "tbody",
            attempts.map((attempt, at) => rows(job, attempt, at === attempts.length - 1, state)),
          ),
        ),
        attempts.length === 10 ? m("p.hint", "The last ten attempts are kept.") : null,
      );
    },
  };
}
