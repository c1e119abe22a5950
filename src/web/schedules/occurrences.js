// Occurrences: the latest jobs that a schedule has created, the newest first: the waiting and dead ones, and, if there is a
// history, the ended ones.
//
//   m(Occurrences, {schedule})

import { m } from "../lib.js";
import { get } from "../api.js";
import { href } from "../router.js";
import { jobPath } from "../format.js";
import { hasHistory } from "../jobs/history.js";
import { repeat } from "../repeat.js";
import { Name } from "../parts/name.js";
import { Problem } from "../parts/problem.js";
import { State } from "../parts/state.js";
import { Time } from "../parts/time.js";

const READ_MS = 5000;
const SHOWN = 10;

const keyOf = (job) => `${job.jobId} ${job.createdAt}`;

async function read({ topic, scheduleId }) {
  const query = { topic, idPrefix: `${scheduleId}~`, limit: SHOWN, order: "newest" };
  const { body: { jobs } } = await get("/jobs", query);
  if (!(await hasHistory())) return newestFirst(jobs);
  const { body: ended } = await get("/jobs", { ...query, state: "any" });
  const known = new Set(jobs.map(keyOf));
  return newestFirst([...jobs, ...ended.jobs.filter((job) => !known.has(keyOf(job)))]);
}

const newestFirst = (jobs) => jobs.sort((a, b) => Date.parse(b.createdAt) - Date.parse(a.createdAt)).slice(0, SHOWN);

export function Occurrences({ attrs: { schedule } }) {
  let jobs = null;
  let error = null;
  let reading;
  const load = async () => {
    try {
      jobs = await read(schedule);
      error = null;
    } catch (problem) {
      error = problem;
    }
  };
  return {
    oninit: () => (reading = repeat(load, READ_MS)),
    onremove: () => reading.stop(),
    view: () => {
      if (error) return m(Problem, { error, retry: reading.again });
      if (!jobs) return m(".loading", { role: "status" }, "Loading…");
      if (!jobs.length) return m("p.sub", "No job of this schedule is waiting, dead or in the history.");
      return m("ul.plain", jobs.map((job) => m("li", { key: keyOf(job) }, m(State, { state: job.state }), " ", m("a", { href: href(jobPath(job)) }, m(Name, { text: job.jobId })), " ", m("span.sub", m(Time, { at: job.createdAt, style: "ago" })))));
    },
  };
}
