// DeadSample: dead jobs, read page by page from the newest and grouped by the reason of their death. If there are very
// many, only the newest are read, and the page says so.

import { get } from "../api.js";
import { answerOf } from "./life.js";

const PAGE = 1000;
const MOST = 10_000;

export const hostOf = (job) => /^https?:\/\/([^/?#]+)/i.exec(job.url ?? "")?.[1] ?? "";

export class DeadSample {
  // If topic is set, reads only the jobs of this topic.
  constructor(topic, changed) {
    Object.assign(this, { topic, changed, jobs: [], total: null, isLoading: true, isWhole: false, isClosed: false, arrived: 0, problem: null });
  }

  close() {
    this.isClosed = true;
  }

  async load() {
    try {
      this.total = (await get("/jobs/count", this.query)).body.count;
      let cursor;
      do {
        const { body } = await get("/jobs", { ...this.query, order: "newest", limit: PAGE, cursor });
        for (const job of body.jobs) this.jobs.push(slim(job));
        cursor = body.cursor;
        this.changed();
      } while (cursor && this.jobs.length < MOST && !this.isClosed);
      this.isWhole = !cursor;
    } catch (error) {
      this.problem = error;
    }
    this.isLoading = false;
    this.changed();
  }

  get query() {
    return { state: "dead", topic: this.topic };
  }

  // Returns the time just after the newest of these jobs died. As the upper limit of a query, this time leaves out jobs that die later.
  get until() {
    return this.jobs.length ? new Date(Date.parse(this.jobs[0].deadAt) + 1).toISOString() : undefined;
  }

  // Counts the jobs that have died after these jobs.
  async look() {
    if (this.isLoading || this.isClosed) return;
    const [fresh, all] = await Promise.all([get("/jobs/count", { ...this.query, diedAfter: this.until }), get("/jobs/count", this.query)]);
    this.arrived = fresh.body.count;
    this.total = all.body.count;
  }
}

const slim = ({ topic, jobId, reason, lastAttempt, deadAt, url, attempts, createdAt }) => ({ topic, jobId, reason, lastAttempt, deadAt, url, attempts, createdAt });

// Groups jobs by reason, last answer, and the receiver or the topic. The largest group comes first.
export function groupsOf(jobs, by) {
  const groups = new Map();
  for (const job of jobs) {
    const answer = job.lastAttempt ? answerOf(job.lastAttempt) : "";
    const place = by === "topic" ? job.topic : hostOf(job);
    const key = JSON.stringify([job.reason, answer, place]);
    if (!groups.has(key)) groups.set(key, { key, reason: job.reason, answer, place, by, status: job.lastAttempt?.status, jobs: [], newest: job.deadAt });
    const group = groups.get(key);
    group.jobs.push(job);
    group.oldest = job.deadAt;
  }
  return [...groups.values()].sort((a, b) => b.jobs.length - a.jobs.length);
}

// Returns the filter of a group; null if the API cannot filter for it: for an error without a status, or for no url.
export function filterOf(group, sample) {
  if (!group.status || !group.place) return null;
  const place = group.by === "topic" ? { topic: group.place } : { topic: sample.topic, urlHost: group.place };
  return { state: "dead", reason: group.reason, lastStatus: String(group.status), diedBefore: sample.until, ...place };
}

// Returns the part of an operation that acts on the group.
export const partOf = (group, sample) => {
  const query = filterOf(group, sample);
  return query ? { query } : { jobs: group.jobs };
};
