// Overview: whether jobs are delivered and on time, topics that fail, upcoming jobs, stuck jobs.

import { m } from "../lib.js";
import { href } from "../router.js";
import { connection } from "../api.js";
import { live, follow } from "../live.js";
import { duration, nowMs, number, plural, compact, ago, toMs, bytes } from "../format.js";
import { Flow } from "../overview/flow.js";
import { Alerts, FailingTopics, Overdue, Impaired, Busy, remember } from "../overview/topics.js";
import { Page, Problem, onDemand, Card } from "../parts/page.js";
import { Bars } from "../parts/plot.js";
import { Table } from "../parts/table.js";
import { State, stateSign, Time } from "../parts/values.js";
import { failingText } from "../topics/state.js";

const FirstJob = onDemand(() => import("../overview/first_job.js")); // on an empty server only

export default function Overview() {
  let stop = null;
  // Whether to show how to schedule a first job. The first answer decides this until the person leaves the page.
  let isLesson = null;
  return {
    oninit: () => (stop = follow(remember)),
    onremove: () => stop(),
    view: () => {
      const { overview } = live;
      if (overview?.jobs?.delayed !== undefined) isLesson ??= isEmptyServer(live);
      return m(Page, { title: "Overview", sub: overview ? m(Status, { overview }) : null },
        live.error && connection.isOk ? m(Problem, { error: live.error }) : null,
        isLesson ? m(FirstJob) : null,
        overview?.jobs ? m(States, { jobs: overview.jobs }) : null,
        m(".cards",
          m(Alerts),
          overview?.failing ? m(FailingTopics, { failing: overview.failing }) : null,
          m(Flow),
          overview?.coming ? m(Coming, { coming: overview.coming }) : null,
          overview?.overdue ? m(Overdue, { overdue: overview.overdue }) : null,
          overview?.receivers ? m(Impaired, { receivers: overview.receivers }) : null,
          overview?.busy ? m(Busy) : null,
          overview?.redis || overview?.history ? m(Server, { overview }) : null,
          overview?.processes ? m(Processes, { processes: overview.processes }) : null));
    },
  };
}
Overview.title = "Overview";

// The sentence at the top of the overview: whether jobs are delivered, and on time; if not, what is wrong, the worst first.

const LATE_MS = 5000; // jobs later than this are reported

// Returns {state, text, details: [{text, to}]} for an answer of GET /overview, or null if the answer lacks the figures. to:
// the page that shows more.
function statusOf(overview) {
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

const Status = {
  view: ({ attrs: { overview } }) => {
    const status = statusOf(overview);
    if (!status) return null;
    const { state, text, details } = status;
    return m("p.status", m(State, { state, text }), details.map((one) => [m("span", one.to ? m("a", { href: one.to }, one.text) : one.text), " "]));
  },
};

// The number of jobs in each state, each with a link to its list.

const STATES = [
  { name: "delayed", text: "Delayed", to: href(["jobs"], { state: "delayed" }), help: "Jobs that wait for their first attempt" },
  { name: "retrying", text: "Retrying", sign: "retried", to: href(["topics"], { failing: "true" }), help: "Jobs that an attempt was made for, and that wait for another one" },
  { name: "ready", text: "Ready", to: href(["jobs"], { state: "ready" }), help: "Jobs that are due and wait for a free slot" },
  { name: "held", text: "Held", to: href(["receivers"]), help: "Jobs that are due and wait for an impaired receiver" },
  { name: "leased", text: "In flight", to: href(["jobs"], { state: "leased" }), help: "Jobs that are being delivered" },
  { name: "pulled", text: "Pulled", to: href(["pull"]), help: "Jobs of pull topics that workers have leased" },
  { name: "dead", text: "Dead", to: href(["dead"]), help: "Jobs that were given up and are kept" },
];

const States = {
  view: ({ attrs }) => {
    const jobs = withoutOverlap(attrs.jobs);
    return m("section.states", { "aria-label": "Jobs by state" }, STATES.filter((one) => jobs[one.name] !== undefined).map((one) =>
      m("a.figure", { class: `is-${one.name} ${jobs[one.name] ? "" : "is-zero"}`, href: one.to, title: `${one.help}: ${number(jobs[one.name])}` },
        m("span.figure-name", stateSign(one.sign ?? one.name), one.text), m("strong", compact(jobs[one.name])))));
  },
};

// The server counts pulled jobs among the leased ones, and retrying jobs in the state that each has. Those that cannot be in
// another state are taken out of the delayed ones.
function withoutOverlap(jobs) {
  const leased = jobs.leased - (jobs.pulled ?? 0);
  const delayed = jobs.delayed === undefined ? undefined : Math.max(0, jobs.delayed - Math.max(0, (jobs.retrying ?? 0) - jobs.held - jobs.leased - (jobs.ready ?? 0)));
  return { ...jobs, leased, delayed };
}

export function isEmptyServer({ overview, series }) {
  if (overview?.jobs?.delayed === undefined || Object.values(overview.jobs).some((count) => count > 0)) return false;
  return !(series?.accepted ?? []).some((count) => count > 0) && !(series?.delivered ?? []).some((count) => count > 0);
}

// Upcoming jobs: how many are due in the next minute, hour, day and week.

const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
const day = new Intl.DateTimeFormat(undefined, { weekday: "short" });

const SPANS = [
  { name: "minute", label: "Next minute", stepMs: 5000, last: "1 min", text: (from, i) => `in ${i * 5} to ${i * 5 + 5} s` },
  { name: "hour", label: "Next hour", stepMs: 300_000, last: "1 h", text: (from, i) => `in ${i * 5} to ${i * 5 + 5} min` },
  { name: "day", label: "Next 24 hours", stepMs: 3_600_000, last: "24 h", text: (from) => `${clock.format(from)} to ${clock.format(from + 3_600_000)}` },
  { name: "week", label: "Next 7 days", stepMs: 86_400_000, last: "7 d", text: (from) => `${day.format(from)} ${clock.format(from)} to ${day.format(from + 86_400_000)} ${clock.format(from)}` },
];

const Coming = {
  view: ({ attrs: { coming } }) => {
    const now = toMs(coming.at ?? nowMs());
    return m(Card, { title: "Coming", sub: note(coming), class: "span-all" },
      m(".coming", SPANS.filter((span) => coming[span.name]).map((span) =>
        m(Bars, {
          label: span.label, values: coming[span.name], first: "now", last: span.last,
          texts: coming[span.name].map((_, i) => span.text(now + i * span.stepMs, i)),
        }))));
  },
};

const OLD_MS = 30_000; // older counts are shown with their time; the server counts every 12 seconds, or less often with many topics

function note(coming) {
  const parts = [];
  if (coming.overdue) parts.push(`${number(coming.overdue)} overdue`);
  if (coming.later) parts.push(`${number(coming.later)} later than a week`);
  if (coming.isSampled) parts.push("estimated from a sample");
  if (coming.at && nowMs() - toMs(coming.at) > OLD_MS) parts.push(`as of ${ago(coming.at)}`);
  return parts.join(" · ");
}

// The server itself: Redis, durability, history, processes.

const DURABILITY = {
  memory: "confirmed jobs are in Redis's memory",
  fsync: "confirmed jobs are on disk",
};

const Server = {
  view: ({ attrs: { overview: { redis, history, outbox, workers } } }) =>
    m(Card, { title: "Redis and history", class: "five" },
      m("dl.pairs",
        redis ? [
          pair("Redis", [m(State, { state: redis.isUp ? "ok" : "bad", text: redis.isUp ? "up" : "away" }), ` ${redis.version ?? ""}${redis.isPrivate ? ", private" : ""}`]),
          pair("Durability", [m("code", redis.durability), m("span.sub", ` ${durabilityText(redis.durability)}`)]),
          redis.usedBytes === undefined ? null : pair("Memory", memory(redis)),
        ] : null,
        pair("History", history ? historyText(history) : m("span.faint", "off")),
        outbox ? pair("Outbox", outboxText(outbox)) : null,
        workers ? pair("Workers", `${number(workers.waiting)} waiting, ${plural(workers.leases, "lease")}`) : null)),
};

const BEHIND_SECONDS = 30; // usually a job is in the history, and a row of the outbox sent, after a second or two

// The history is behind when ended jobs wait more than BEHIND_SECONDS to get into it.
function historyText({ backlogJobs = 0, backlogBytes = 0, behindSeconds = 0 }) {
  const isBehind = behindSeconds > BEHIND_SECONDS;
  const backlog = `${plural(backlogJobs, "ended job")} (${bytes(backlogBytes)})`;
  return [
    m(State, { state: isBehind ? "warn" : "ok", text: isBehind ? "behind" : "ok" }),
    m("span.sub", isBehind ? ` for ${duration(behindSeconds * 1000)}; ${backlog} waiting. Check the history's database.` : backlogJobs ? ` ${backlog} on the way` : " has all ended jobs"),
  ];
}

// The relay of the process that answers; while another process does the work, it waits.
function outboxText({ isUp, isActive, oldestSeconds = 0 }) {
  const isBehind = oldestSeconds > BEHIND_SECONDS;
  if (!isUp) return [m(State, { state: "bad", text: "away" }), m("span.sub", " Rows wait. The log has the reason.")];
  return [
    m(State, { state: isBehind ? "warn" : "ok", text: isBehind ? "behind" : "ok" }),
    m("span.sub", isBehind ? ` The first row has waited for ${duration(oldestSeconds * 1000)}.` : isActive ? " sends rows" : " another process sends rows"),
  ];
}

const pair = (name, value) => [m("dt", name), m("dd", value)];

const durabilityText = (name = "") => DURABILITY[name] ?? (name.includes("replicated") ? "confirmed jobs are on replicas" : "");

function memory({ usedBytes, maxBytes }) {
  if (!maxBytes) return `${bytes(usedBytes)}, no limit`;
  return [m("meter", { value: usedBytes, max: maxBytes, high: 0.8 * maxBytes, optimum: 0, "aria-label": "Memory of Redis" }), ` ${bytes(usedBytes)} of ${bytes(maxBytes)}`];
}

const COLUMNS = [
  { name: "host", title: "Process", view: (row) => m("span", { title: row.id }, `${row.host}:${row.pid}`) },
  { name: "version", title: "Version", view: (row) => row.version },
  { name: "started", title: "Started", view: (row) => m(Time, { at: row.startedAt, style: live.overview?.clock ? "time" : "ago" }) },
  { name: "reactors", title: "Reactors", isNumber: true, view: (row) => number(row.reactors) },
  { name: "inFlight", title: "In flight", isNumber: true, view: (row) => number(row.inFlight) },
];

const Processes = {
  view: ({ attrs: { processes } }) =>
    m(Card, { title: plural(processes.length, "process", "processes"), class: "five-if-room" },
      m(Table, { label: "Processes", columns: COLUMNS, rows: processes, rowKey: (row) => row.id, empty: m("p.faint", "No process has reported yet.") })),
};
