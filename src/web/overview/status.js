// The sentence at the top of the overview: whether jobs are delivered, and on time; if not, what is wrong, the worst first.

import { m } from "../lib.js";
import { href } from "../router.js";
import { State } from "../parts/state.js";
import { duration, number, plural } from "../format.js";
import { failingText } from "../topics/failing.js";

const LATE_MS = 5000; // jobs later than this are reported

// Returns {state, text, details: [{text, to}]} for an answer of GET /overview, or null if the answer lacks the figures. to:
// the page that shows more.
export function statusOf(overview) {
  if (overview.redis && !overview.redis.isUp) {
    return { state: "bad", text: "Redis is away", details: [{ text: "No job is accepted or delivered until it is back." }] };
  }
  if (!overview.overdue || !overview.jobs) return null;
  const down = (overview.receivers?.first ?? []).filter((one) => one.state !== "closed");
  const failing = overview.failing ?? [];
  const late = overview.overdue.filter((one) => one.lateSeconds * 1000 > LATE_MS && !one.isPaused && (one.ready || one.isPull || one.lacksUrl || !down.length));
  const busy = (overview.receivers?.impaired ?? 0) - down.length;
  const found = [
    down.length > 0 && { state: "bad", title: down.length > 1 ? "Receivers are down" : "A receiver is down", text: downText(down, overview.jobs), to: href(["receivers"]) },
    failing.length > 0 && { state: "bad", title: "Attempts fail", text: failingDetail(failing), to: href(["topics"], { failing: "true" }) },
    late.length > 0 && { state: "warn", title: "Jobs are late", text: lateText(late), to: href(["topics", late[0].topic]) },
    busy > 0 && { state: "warn", title: `${plural(busy, "receiver")} impaired`, text: `${plural(busy, "receiver")} asked for fewer requests.`, to: href(["receivers"]) },
  ].filter(Boolean);
  if (found.length > 0) return { state: found[0].state, text: found[0].title, details: found };
  return { state: "ok", text: "On time", details: [{ text: idleText(overview.jobs) }] };
}

function downText(down, jobs) {
  const [first] = down;
  const others = down.length > 1 ? ` and ${plural(down.length - 1, "other")}` : "";
  const held = jobs.held ? ` ${plural(jobs.held, "job waits", "jobs wait")} for ${down.length > 1 ? "them" : "it"}.` : "";
  return `${first.receiver}${first.path ?? ""}${others} ${down.length > 1 ? "do" : "does"} not work${first.cause ? ` (${first.cause})` : ""}.${held}`;
}

function failingDetail(failing) {
  const others = failing.length > 1 ? ` ${plural(failing.length - 1, "other topic fails", "other topics fail")}, too.` : "";
  return `${failing[0].topic}: ${failingText(failing[0])}.${others}`;
}

function lateText(late) {
  const first = late[0];
  const why = first.held > 0 && !first.ready ? ", held by an impaired receiver" : first.isPull ? ": no worker leases its jobs" : "";
  const others = late.length > 1 ? ` ${plural(late.length - 1, "other topic is", "other topics are")} behind, too.` : "";
  return `${first.topic} is ${duration(first.lateSeconds * 1000)} behind${why}.${others}`;
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
    const { state, text, details } = status;
    return m("p.status", m(State, { state, text }), details.map((one) => [m("span", one.to ? m("a", { href: one.to }, one.text) : one.text), " "]));
  },
};
