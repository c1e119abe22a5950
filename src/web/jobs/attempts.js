// Attempts - the table of a job's finished attempts, with the answers. Answers are untrusted text.
import { m } from "../lib.js";
import { Copy } from "../parts/copy.js";
import { Time } from "../parts/time.js";
import { answerOf, resultOf, took } from "./life.js";
import { indent, readJson } from "./json_text.js";

const SIGNS = { good: "✓", failed: "✕", again: "↻" };
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
