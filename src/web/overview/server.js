// The server itself: Redis, durability, history, processes.

import { m } from "../lib.js";
import { bytes, duration, number, plural } from "../format.js";
import { Card } from "../parts/page.js";
import { Table } from "../parts/table.js";
import { State } from "../parts/state.js";
import { Time } from "../parts/time.js";

const DURABILITY = {
  memory: "confirmed jobs are in Redis's memory",
  fsync: "confirmed jobs are on disk",
};

export const Server = {
  view: ({ attrs: { overview: { redis, history, workers } } }) =>
    m(Card, { title: "Redis and history", class: "five" },
      m("dl.pairs",
        redis ? [
          pair("Redis", [m(State, { state: redis.isUp ? "ok" : "bad", text: redis.isUp ? "up" : "away" }), ` ${redis.version ?? ""}${redis.isPrivate ? ", private" : ""}`]),
          pair("Durability", [m("code", redis.durability), m("span.sub", ` ${durabilityText(redis.durability)}`)]),
          redis.usedBytes === undefined ? null : pair("Memory", memory(redis)),
        ] : null,
        pair("History", history ? historyText(history) : m("span.faint", "off")),
        workers ? pair("Workers", `${number(workers.waiting)} waiting, ${plural(workers.leases, "lease")}`) : null)),
};

const BEHIND_SECONDS = 30; // usually a job is in the history a second or two after its end

// The history is behind when ended jobs wait more than BEHIND_SECONDS to get into it.
function historyText({ backlogJobs = 0, backlogBytes = 0, behindSeconds = 0 }) {
  const isBehind = behindSeconds > BEHIND_SECONDS;
  const backlog = `${plural(backlogJobs, "ended job")} (${bytes(backlogBytes)})`;
  return [
    m(State, { state: isBehind ? "warn" : "ok", text: isBehind ? "behind" : "ok" }),
    m("span.sub", isBehind ? ` for ${duration(behindSeconds * 1000)}; ${backlog} waiting. Check the history's database.` : backlogJobs ? ` ${backlog} on the way` : " has all ended jobs"),
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
  { name: "started", title: "Started", view: (row) => m(Time, { at: row.startedAt, style: "ago" }) },
  { name: "reactors", title: "Reactors", isNumber: true, view: (row) => number(row.reactors) },
  { name: "inFlight", title: "In flight", isNumber: true, view: (row) => number(row.inFlight) },
];

export const Processes = {
  view: ({ attrs: { processes } }) =>
    m(Card, { title: plural(processes.length, "process", "processes"), class: "five-if-room" },
      m(Table, { label: "Processes", columns: COLUMNS, rows: processes, rowKey: (row) => row.id, empty: m("p.faint", "No process has reported yet.") })),
};
