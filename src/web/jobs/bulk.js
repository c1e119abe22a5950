// Operation: an action on all jobs that match a filter, sent page by page through the public API.
//
// Each page is one request that continues where the last one ended, so an operation can be stopped between two pages. It
// ends with its tab, so the browser asks before the tab is closed. Jobs that no filter can name are sent one by one. A
// request without an answer is repeated, which is safe: jobs that it has already changed no longer match. With a rate, a
// page has the jobs of PAGE_SECONDS, and pages are spread over time; stopping leaves the remaining jobs unchanged.

import { del, path, post } from "../api.js";
import { keepOpen } from "../leaving.js";
import { m } from "../lib.js";

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
export const operations = [];

export const dismiss = (operation) => operations.splice(operations.indexOf(operation), 1);

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

// Counts the jobs that an action would change, without changing them. onPage(count) returns false to stop.
// Returns {matched, isWhole}. isWhole: all matching jobs were counted.
export async function dryRun(action, query, onPage) {
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

export class Operation {
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
