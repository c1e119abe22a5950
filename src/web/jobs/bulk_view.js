// BulkDialog and Operations: start an action on many jobs, and show its progress.
//
//   m(BulkDialog, {action, parts: [{query} or {jobs}], text, onclose, onend})    what will change, and the number of jobs
//   m(Operations)                                                               progress, Stop, and the result

import { m } from "../lib.js";
import { number, plural } from "../format.js";
import { Dialog } from "../parts/dialog.js";
import { Field } from "../parts/form.js";
import { Problem } from "../parts/problem.js";
import { Progress } from "../parts/progress.js";
import { later } from "../parts/toast.js";
import { ACTIONS, dismiss, dryRun, Operation, operations } from "./bulk.js";
import { WhenFields, whenQuery } from "./when.js";

const WARNINGS = {
  run: "They are due at once. A delivered job cannot be taken back.",
  redrive: "They start over: due again, with no attempts. Expired jobs stay dead.",
  reschedule: "Only the due time changes. Jobs that would expire before it are skipped.",
  cancel: "The jobs are removed, and no further attempt begins.",
  delete: "The dead jobs are removed and cannot be run again.",
};

const OF_HISTORY = "Each becomes a new job with its old id, even if Redis no longer has the job. Jobs are skipped if a later job has their id, or if their body is not kept.";

const isDangerous = (action) => action === "cancel" || action === "delete";

export function BulkDialog({ attrs: first }) {
  const state = { count: 0, isCounted: false, isWhole: true, error: null, perSecond: "", when: { delay: "15m" }, isOpen: true };

  const count = async ({ action, parts }) => {
    try {
      state.totals = [];
      for (const part of parts) {
        const before = state.count;
        const onPage = (seen) => {
          state.count = before + seen;
          m.redraw();
          return state.isOpen;
        };
        const found = part.jobs ? { matched: part.jobs.length, isWhole: true } : await dryRun(action, { ...part.query, ...(action === "reschedule" && { delay: "1s" }) }, onPage);
        state.count = before + found.matched;
        state.isWhole = state.isWhole && found.isWhole;
        state.totals.push(found.matched);
      }
      state.isCounted = true;
    } catch (error) {
      state.error = error;
    }
    m.redraw();
  };

  const send = ({ action, parts, onclose, onend }) => {
    const jobs = `${state.isWhole ? "" : "more than "}${plural(state.count, "job")}`;
    const due = action === "reschedule" ? whenQuery(state.when) : {};
    const perSecond = Number(state.perSecond) || null;
    const counted = parts.map((part, i) => (part.jobs ? part : { query: { ...part.query, ...due }, total: state.totals[i] }));
    onclose();
    later(`${ACTIONS[action].doing} ${jobs} in 5 s`, () => {
      new Operation(action, counted, { perSecond, title: `${ACTIONS[action].doing} ${jobs}`, onend }).start();
    });
  };

  return {
    oninit: () => count(first),
    onremove: () => (state.isOpen = false),
    view: ({ attrs }) => {
      const { action, parts, text, onclose } = attrs;
      return m(Dialog, { title: `${ACTIONS[action].name}: ${text}`, onclose },
        m("form.form", { onsubmit: (event) => { event.preventDefault(); if (canSend(state)) send(attrs); } },
          m("p.bulk-count", { role: "status" }, countText(state)),
          m("p", parts[0]?.query?.source === "history" ? OF_HISTORY : WARNINGS[action]),
          action === "redrive" ? m(Field, { label: "Jobs a second", type: "number", min: "0.001", max: "1000000", step: "any", value: state.perSecond, placeholder: "all at once", help: "They become due one after the other. If you stop, the rest stay dead.", oninput: (value) => (state.perSecond = value) }) : null,
          action === "reschedule" ? m(WhenFields, { when: state.when }) : null,
          m(Problem, { error: state.error }),
          m(".dialog-actions",
            m("button", { type: "button", onclick: onclose }, "Back"),
            m(`button.${isDangerous(action) ? "danger" : "primary"}`, { type: "submit", disabled: !canSend(state) },
              `${ACTIONS[action].name} ${state.isCounted ? plural(state.count, "job") : "…"}`))));
    },
  };
}

const canSend = (state) => state.isCounted && state.count > 0;

function countText({ isCounted, count, isWhole, error }) {
  if (error) return "";
  if (!isCounted) return `Counting … ${number(count)} so far`;
  if (count === 0) return "No job matches. Nothing would change.";
  return `${isWhole ? "" : "More than "}${plural(count, "job")} ${count === 1 ? "matches" : "match"}.`;
}

export const Operations = {
  view: () => (operations.length ? m(".operations", { role: "region", "aria-label": "Actions under way" }, operations.map(operationView)) : null),
};

function operationView(one) {
  return m(".operation", { class: one.problem ? "is-bad" : "" },
    m(".operation-text", m("strong", headOf(one)), one.skipped ? m("span.sub", ` ${number(one.skipped)} skipped: ${isOfHistory(one) ? "a later job has their id, or their body is not kept" : "they had changed or expired"}`) : null,
      one.isRunning ? m(".sub", "Keep this tab open: closing it stops the action. Jobs that it has changed stay changed.") : null),
    m(Progress, { done: one.matched, total: Math.max(one.total, one.matched), text: one.isRetrying ? "No answer, trying again …" : undefined }),
    one.isRunning
      ? m("button", { type: "button", disabled: one.isStopping, onclick: () => one.stop() }, one.isStopping ? "Stopping…" : "Stop")
      : m("button", { type: "button", onclick: () => dismiss(one) }, "Dismiss"),
    m(Problem, { error: one.problem }));
}

const isOfHistory = ({ parts }) => parts[0]?.query?.source === "history";

function headOf(one) {
  if (one.isRunning) return `${one.title}${one.perSecond ? `, ${number(one.perSecond)} a second` : ""}`;
  const done = `${plural(one.done, "job")} ${ACTIONS[one.action].did}`;
  return one.problem ? `Failed after ${done}` : one.isStopped ? `Stopped after ${done}` : `Done: ${done}`;
}
