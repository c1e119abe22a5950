// Lists of jobs: the rows loaded so far, how far a list reaches, and whether there is a history.

import { m } from "../lib.js";
import { href } from "../router.js";
import { get, session } from "../api.js";
import { isCheap, toCount, toQuery } from "./filter.js";
import { Problem } from "../parts/page.js";

// JobSource - the jobs of a filter, loaded page by page on demand, and the number of new jobs that are not in it yet.

const FIRST_PAGE = 100; // jobs of the first request
const PAGE = 500; // jobs of each further request
const HEAD = 100; // jobs at the head of the list that are refreshed regularly
const EMPTY_PAGES = 20; // after this many pages without a match, the person is asked whether to continue
const COUNT_PAGES = 5;

let nextId = 1;

export const keyOf = (job) => `${job.topic}/${job.jobId}/${job.createdAt}`;

// A list shows neither bodies nor headers; 100,000 of them would fill the browser's memory.
function slim(job) {
  delete job.body;
  delete job.bodyBase64;
  delete job.headers;
  return job;
}

export class JobSource {
  constructor(filter, changed) {
    Object.assign(this, {
      id: nextId++,
      filter,
      changed,
      rows: [],
      byKey: new Map(),
      cursor: undefined,
      isDone: false,
      isLoading: false,
      problem: null,
      source: null,
      isPartial: false,
      count: null,
      countAtFirst: null,
      outcomes: null,
      isCountPartial: false,
      arrived: 0,
      isClosed: false,
    });
  }

  // Stops all redraws by this source.
  close() {
    this.isClosed = true;
  }

  get hasMore() {
    return !this.isDone && !this.isPaused;
  }

  // Loads the next page that has jobs of the filter. After many pages without such a job, asks the person whether to
  // continue.
  async more() {
    if (this.isLoading || this.isDone || this.isClosed) return;
    this.isLoading = true;
    this.isPaused = false;
    try {
      let found = 0;
      for (let pages = 0; !found && !this.isDone && !this.isClosed && pages < EMPTY_PAGES; pages++) found = await this.page();
      this.isPaused = !found && !this.isDone;
    } finally {
      this.isLoading = false;
    }
  }

  async page() {
    const { body } = await get("/jobs", { ...toQuery(this.filter), limit: this.isFirst ? FIRST_PAGE : PAGE, ...(this.cursor && { cursor: this.cursor }) });
    const fresh = body.jobs.filter((job) => !this.byKey.has(keyOf(job)));
    for (const job of fresh) this.byKey.set(keyOf(job), slim(job));
    this.rows.push(...fresh);
    this.isFirst = false;
    this.cursor = body.cursor;
    this.isDone = !body.cursor;
    this.source = body.source || null;
    this.isPartial = this.isPartial || Boolean(body.partial);
    return fresh.length;
  }

  /* Counts the jobs of the filter. If Redis has to read jobs for that, stops after COUNT_PAGES requests. */
  async recount() {
    const query = toCount(this.filter);
    let count = 0,
      cursor,
      pages = 0,
      outcomes = null;
    do {
      const { body } = await get("/jobs/count", cursor ? { ...query, cursor } : query);
      count += body.count;
      cursor = body.cursor;
      if (body.source) outcomes = body;
      this.isCountPartial = Boolean(body.partial || cursor);
    } while (cursor && ++pages < COUNT_PAGES && !this.isClosed);
    Object.assign(this, { count, outcomes });
    this.countAtFirst ??= count;
  }

  /* Reads the head of the list again: updates rows in place, and counts new jobs. */
  async look() {
    if (this.isLoading || this.isClosed || this.isFirst) return;
    try {
      const { body } = await get("/jobs", { ...toQuery(this.filter), limit: HEAD });
      if (isCheap(this.filter)) await this.recount();
      this.problem = null;
      this.compare(body);
    } catch (error) {
      this.problem = error;
    }
    if (!this.isClosed) this.changed();
  }

  compare({ jobs, cursor }) {
    const isKnown = jobs.map((job) => this.byKey.has(keyOf(job)));
    const lastKnown = isKnown.lastIndexOf(true);
    const fresh = isKnown.filter((known, at) => !known && (at < lastKnown || this.isDone)).length;
    for (const job of jobs) Object.assign(this.byKey.get(keyOf(job)) || {}, slim(job), { hasLeft: false });
    if (!cursor) this.markLeft(new Set(jobs.map(keyOf)));
    const grown = this.count !== null ? this.count - (this.isDone ? this.rows.filter((job) => !job.hasLeft).length : this.countAtFirst) : 0;
    this.arrived = Math.max(fresh, cursor ? grown : 0, 0);
  }

  /* The whole list was read: rows that are not in it have left the list. */
  markLeft(keys) {
    if (this.isDone) for (const job of this.rows) job.hasLeft = !keys.has(keyOf(job));
  }
}

// needsTopic(filter) and TopicChoice, for tokens that are limited to topics: these list the jobs or workflows of one topic at
// a time.
//
//   m(TopicChoice, {page: ["jobs"], query, isOwn})    links to the topics of the token; isOwn: without sibling topics (orders~callbacks)

export const needsTopic = (filter) => Boolean(session.access?.topics) && !filter.topic;

export function TopicChoice() {
  let topics = null;
  let error = null;
  return {
    oninit: async () => {
      try {
        topics = (await get("/topics", { limit: 1000 })).body.topics.map((one) => one.topic);
      } catch (problem) {
        error = problem;
      }
      m.redraw();
    },
    view: ({ attrs: { page, query, isOwn } }) =>
      m(".empty", m("h2", "Choose a topic"), m("p", "Your token is limited to some topics and can list one topic at a time."), m(Problem, { error }),
        topics && !topics.length ? m("p", "None of its topics has jobs or settings now.") : null,
        m("ul.topic-choice", (topics ?? []).filter((topic) => !isOwn || !topic.includes("~")).map((topic) => m("li", m("a.button", { href: href(page, { ...query, topic }) }, topic))))),
  };
}

// hasHistory(): a promise of whether the server keeps a history of ended jobs. Sends one request for all calls.

let answer = null;

export function hasHistory() {
  answer ??= get("/overview").then(
    ({ body }) => Boolean(body.history),
    () => {
      answer = null; // the next call asks again
      return false;
    },
  );
  return answer;
}
