// The sentence at the top of the overview: whether jobs are on time, and if not, why.

import { m } from "../lib.js";
import { State } from "../parts/state.js";
import { duration, number, plural } from "../format.js";

const LATE_MS = 5000; // jobs later than this are reported

// Returns {state, text, detail} for an answer of GET /overview, or null if the answer lacks the figures.
export function statusOf(overview) {
  if (overview.redis && !overview.redis.isUp) return { state: "bad", text: "Redis is away", detail: "No job is accepted or delivered until it is back." };
  if (!overview.overdue || !overview.jobs) return null;
  const late = overview.overdue.filter((one) => one.lateSeconds * 1000 > LATE_MS && !one.isPaused);
  const impaired = overview.receivers?.impaired ?? 0;
  if (late.length > 0) return { state: "warn", text: "Jobs are late", detail: lateText(late, impaired) };
  if (impaired > 0) return { state: "warn", text: `${plural(impaired, "receiver")} impaired`, detail: "All other jobs are on time." };
  return { state: "ok", text: "On time", detail: idleText(overview.jobs) };
}

function lateText(late, impaired) {
  const first = late[0];
  const why = first.held > 0 && !first.ready ? ", held by an impaired receiver" : first.isPull ? ": no worker leases its jobs" : "";
  const others = late.length > 1 ? ` ${plural(late.length - 1, "other topic is", "other topics are")} behind, too.` : "";
  return `${first.topic} is ${duration(first.lateSeconds * 1000)} behind${why}.${others}${impaired && !why ? ` ${plural(impaired, "receiver is", "receivers are")} impaired.` : ""}`;
}

function idleText(jobs) {
  if (!jobs) return "";
  const waiting = (jobs.delayed ?? 0) + (jobs.ready ?? 0) + jobs.held;
  return waiting > 0 ? `${number(waiting)} ${waiting === 1 ? "job waits" : "jobs wait"} for ${waiting === 1 ? "its" : "their"} due time.` : "No jobs are waiting.";
}

export const Status = {
  view: ({ attrs: { overview } }) => {
    const status = statusOf(overview);
    if (!status) return null;
    const { state, text, detail } = status;
    return m("p.status", m(State, { state, text }), m("span", detail));
  },
};
