// Operation: an action on all jobs that match a filter, sent page by page through the public API.
//
// Each page is one request that continues where the last one ended, so an operation can be stopped between two pages. It
// ends with its tab, so the browser asks before the tab is closed. Jobs that no filter can name are sent one by one. A
// request without an answer is repeated, which is safe: jobs that it has already changed no longer match. With a rate, a
// page has the jobs of PAGE_SECONDS, and pages are spread over time; stopping leaves the remaining jobs unchanged.

import { m } from "../lib.js";
import { del, path, post } from "../api.js";
import { number, plural } from "../format.js";
import { Dialog, Field, WhenFields, whenQuery } from "../parts/form.js";
import { Problem, Progress } from "../parts/page.js";
import { keepOpen, later } from "../parts/toast.js";

const PAGE = 1000;
const PAGE_SECONDS = 2;
const LONGEST_WAIT_MS = 8000;
const DRY_PAGES = 200;
const TOGETHER = 6; // concurrent requests, if jobs are sent one by one

const whereOf = (job) => path`/jobs/${job.topic}/${job.jobId}`;
const runOne = (job) => post(`${whereOf(job)}/run`);
const deleteOne = (job) => del(whereOf(job));

export const ACTIONS = {
  run: { name: "Run", doing: "Running", did: "due now", scope: "admin", states: ["delayed", "ready", "dead"], send: (query) => post("/jobs/run", null, { query }) },
  redrive: { name: "Redrive", doing: "Redriving", did: "run again", scope: "admin", states: ["dead"], send: (query) => post("/jobs/redrive", null, { query }), sendOne: runOne },
  reschedule: { name: "Reschedule", doing: "Rescheduling", did: "rescheduled", scope: "admin", states: ["delayed", "ready", "dead"], send: (query) => post("/jobs/reschedule", null, { query }) },
  cancel: { name: "Cancel", doing: "Cancelling", did: "cancelled", scope: "cancel", states: ["delayed", "ready", "leased"], send: (query) => del("/jobs", null, { query }) },
  delete: { name: "Delete", doing: "Deleting", did: "deleted", scope: "cancel", states: ["dead"], send: (query) => del("/jobs", null, { query }), sendOne: deleteOne },
};

// Operations of this tab, the newest first. Finished ones stay until they are dismissed.
const operations = [];

const dismiss = (operation) => operations.splice(operations.indexOf(operation), 1);

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

// Counts the jobs that an action would change, without changing them. onPage(count) returns false to stop.
// Returns {matched, isWhole}. isWhole: all matching jobs were counted.
async function dryRun(action, query, onPage) {
  let matched = 0;
  let cursor;
  for (let page = 0; page < DRY_PAGES; page++) {
    const { body } = await ACTIONS[action].send({ ...query, all: true, pageLimit: PAGE, dryRun: true, cursor });
    matched += body.matched;
    cursor = body.cursor;
    if (!cursor) return { matched, isWhole: !body.partial };
    if (!onPage(matched)) break;
  }
  return { matched, isWhole: false };
}

// Whether a request can be repeated: it got no answer, or was refused for now.
const isPassing = (error) => error.status === 0 || error.status === 429 || error.status === 503;

// Whether the job has changed since it was listed: it was run or deleted by others, or has expired.
const hasChanged = (error) => error.status === 404 || error.status === 409 || error.status === 412;

class Operation {
  // parts are processed in order: {query, total} or {jobs}. Without perSecond, the next request follows each answer.
  constructor(action, parts, { perSecond = null, title = "", onend = () => {} } = {}) {
    Object.assign(this, { action, parts, perSecond, title, onend });
    Object.assign(this, { total: parts.reduce((sum, part) => sum + (part.jobs?.length ?? part.total), 0), matched: 0, done: 0, skipped: 0 });
    Object.assign(this, { isRunning: true, isStopping: false, isStopped: false, problem: null, isRetrying: false });
  }

  start() {
    operations.unshift(this);
    this.finished = this.run();
    return this;
  }

  stop() {
    this.isStopping = true;
  }

  async run() {
    const close = keepOpen();
    try {
      for (const part of this.parts) await (part.jobs ? this.sendEach(part.jobs) : this.sendPages(part.query));
    } catch (error) {
      this.problem = error;
    }
    close();
    this.isStopped = this.isStopping;
    this.isRunning = false;
    m.redraw();
    this.onend(this);
  }

  async sendPages(query) {
    const { send } = ACTIONS[this.action];
    const pageLimit = this.perSecond ? Math.max(1, Math.min(PAGE, Math.ceil(this.perSecond * PAGE_SECONDS))) : PAGE;
    const rate = this.perSecond && this.action === "redrive" ? { perSecond: this.perSecond } : {};
    let cursor;
    let next = Date.now();
    do {
      if (this.isStopping) return;
      const { body } = await this.ask(() => send({ ...query, ...rate, all: true, pageLimit, cursor }));
      this.count(body.matched, body.done, body.skipped);
      cursor = body.cursor;
      if (this.perSecond && cursor) await this.wait((next += (1000 * body.matched) / this.perSecond));
    } while (cursor);
  }

  async sendEach(jobs) {
    const { sendOne } = ACTIONS[this.action];
    const together = this.perSecond ? 1 : TOGETHER;
    let next = Date.now();
    for (let at = 0; at < jobs.length && !this.isStopping; at += together) {
      await Promise.all(jobs.slice(at, at + together).map((job) => this.sendOne(() => sendOne(job))));
      if (this.perSecond) await this.wait((next += 1000 / this.perSecond));
    }
  }

  async sendOne(request) {
    try {
      await this.ask(request);
      this.count(1, 1, 0);
    } catch (error) {
      if (!hasChanged(error)) throw error;
      this.count(1, 0, 1);
    }
  }

  count(matched, done, skipped) {
    this.matched += matched;
    this.done += done;
    this.skipped += skipped;
    m.redraw();
  }

  async ask(request) {
    for (let wait = 1000; ; wait = Math.min(2 * wait, LONGEST_WAIT_MS)) {
      try {
        const answer = await request();
        this.isRetrying = false;
        return answer;
      } catch (error) {
        if (!isPassing(error) || this.isStopping) throw error;
        this.isRetrying = true;
        m.redraw();
        await pause(wait);
      }
    }
  }

  async wait(until) {
    while (!this.isStopping && Date.now() < until) await pause(Math.min(200, Math.max(10, until - Date.now())));
  }
}

// BulkDialog and Operations: start an action on many jobs, and show its progress.
//
//   m(BulkDialog, {action, parts: [{query} or {jobs}], text, onclose, onend})    what will change, and the number of jobs
//   m(Operations)                                                               progress, Stop, and the result

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
