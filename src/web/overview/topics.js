// The busiest topics, smoothed over the last seconds. remember() takes each answer of GET /overview.

import { m } from "../lib.js";
import { href } from "../router.js";
import { get } from "../api.js";
import { repeat } from "../live.js";
import { duration, number } from "../format.js";
import { Card } from "../parts/page.js";
import { Sparkline } from "../parts/plot.js";
import { Table } from "../parts/table.js";
import { Name, State, Time } from "../parts/values.js";
import { Failing, shareOf } from "../topics/state.js";

const KEPT = 60; // seconds of each topic's sparkline
const MEAN = 10; // each figure is the mean of this many seconds
const SHOWN = 8;
const OTHERS = "_other"; // the server's name for all topics beyond the hundred that each process counts

const topics = new Map();

export function remember(overview) {
  if (!overview.busy) return;
  const now = new Map(overview.busy.map((one) => [one.topic, one]));
  for (const topic of now.keys()) if (!topics.has(topic)) topics.set(topic, []);
  for (const [topic, past] of topics) {
    past.push(now.get(topic) ?? {});
    if (past.length > KEPT) past.shift();
    if (past.every((one) => !one.topic)) topics.delete(topic);
  }
}

// Returns [{topic, accepted, delivered, retried, dead, line}], the busiest first.
function busiest() {
  const rows = [...topics].map(([topic, past]) => ({ topic, ...means(past), line: Array.from({ length: KEPT }, (_, i) => shown(past[past.length - KEPT + i])), sum: sum(past) }));
  return rows.sort((a, b) => b.sum - a.sum || a.topic.localeCompare(b.topic)).slice(0, SHOWN);
}

const shown = (one) => (one ? one.delivered ?? 0 : null);

// Sorts by the figures of the whole minute. Rows that changed places each second could not be read.
const sum = (past) => past.reduce((all, one) => all + (one.accepted ?? 0) + (one.delivered ?? 0) + (one.retried ?? 0), 0);

function means(past) {
  const recent = past.slice(-MEAN);
  const mean = (name) => recent.reduce((all, one) => all + (one[name] ?? 0), 0) / Math.max(1, recent.length);
  return { accepted: mean("accepted"), delivered: mean("delivered"), retried: mean("retried"), dead: mean("dead") };
}

const rate = (name) => ({ name, title: name[0].toUpperCase() + name.slice(1), isNumber: true, view: (row) => (row[name] ? row[name].toFixed(row[name] < 10 ? 1 : 0) : m("span.faint", "0")) });

const COLUMNS = [
  { name: "topic", title: "Topic", view: (row) => (row.topic === OTHERS ? m("span.faint", "other topics") : row.topic) },
  { name: "line", title: "Last minute", help: "Delivered in each second of the last minute", view: (row) => m(Sparkline, { values: row.line }) },
  rate("accepted"), rate("delivered"), rate("retried"), rate("dead"),
];

export const Busy = {
  view: () =>
    m(Card, { title: "Busiest topics", sub: "jobs a second", class: "seven tall", actions: m("a", { href: href(["topics"]) }, "All topics") },
      m(Table, {
        label: "Busiest topics, jobs a second", columns: COLUMNS, rows: busiest(), rowKey: (row) => row.topic, href: (row) => (row.topic === OTHERS ? undefined : href(["topics", row.topic])),
        empty: m("p.faint", "No topic was busy in the last minute."),
      })),
};

// What needs a person: topics that fail, the topics with the oldest overdue jobs, and impaired receivers.

const FAILING = [
  { name: "topic", title: "Topic", view: (row) => m(Name, { text: row.topic }) },
  { name: "share", title: "Failing", sort: shareOf, view: (row) => m(Failing, { topic: row.topic, failing: row }) },
  { name: "failed", title: "Failed", help: "Failed attempts of the last hour", isNumber: true, view: (row) => number(row.failed) },
  { name: "attempts", title: "Attempts", help: "Attempts of the last hour", isNumber: true, view: (row) => number(row.attempts) },
];

// The card is there only while a topic fails.
export const FailingTopics = {
  view: ({ attrs: { failing } }) => failing.length === 0 ? null :
    m(Card, { title: "Failing topics", sub: "attempts of the last hour, the most failures first", actions: m("a", { href: href(["topics"], { failing: "true" }) }, "All failing topics") },
      m(Table, { label: "Failing topics", columns: FAILING, rows: failing, rowKey: (row) => row.topic, href: (row) => href(["topics", row.topic]) })),
};

// The alerts that have begun. The card is there only while there are some.

const ALERTS_MS = 10_000;

const ALERTS = [
  { name: "alert", title: "Alert", view: (row) => m(State, { state: "bad", text: row.alert }) },
  { name: "about", title: "About", view: (row) => m(Name, { text: row.scheduleId ? `${row.topic}/${row.scheduleId}` : row.topic ?? row.receiver ?? "the server" }) },
  { name: "since", title: "Since", isNumber: true, view: (row) => m(Time, { at: row.since }) },
];

export function Alerts() {
  let alerts = [];
  let reading = null;
  const load = async () => {
    try {
      alerts = (await get("/alerts")).body.alerts.slice(0, SHOWN).map((alert, number) => ({ ...alert, number }));
    } catch {
      alerts = []; // the overview itself shows why the server does not answer
    }
  };
  return {
    oninit: () => (reading = repeat(load, ALERTS_MS)),
    onremove: () => reading.stop(),
    view: () => alerts.length === 0 ? null :
      m(Card, { title: "Alerts", sub: "reported to the urls of the setting alerts; the oldest first" },
        m(Table, { label: "Alerts", columns: ALERTS, rows: alerts, rowKey: (row) => row.number, href: (row) => (row.scheduleId ? href(["schedules", row.topic, row.scheduleId]) : row.topic ? href(["topics", row.topic]) : undefined) })),
  };
}

const OVERDUE = [
  { name: "topic", title: "Topic", view: (row) => m(Name, { text: row.topic }) },
  { name: "late", title: "Behind", isNumber: true, view: (row) => m("span", { title: row.dueAt }, duration(row.lateSeconds * 1000)) },
  { name: "ready", title: "Ready", isNumber: true, view: (row) => number(row.ready ?? 0) },
  { name: "held", title: "Held", isNumber: true, view: (row) => number(row.held ?? 0) },
  { name: "why", title: "Held by", view: holder },
];

function holder(row) {
  if (row.isPaused) return m(State, { state: "paused", text: "pause" });
  if (row.lacksUrl) return m(State, { state: "bad", text: "no url" });
  if (row.held) return m(State, { state: "held", text: "receiver" });
  return row.isPull ? m(State, { state: "held", text: "no worker" }) : null;
}

const LEAST_SECONDS = 1; // jobs that are less late are not stuck: they are just being delivered

export const Overdue = {
  view: ({ attrs: { overdue } }) =>
    m(Card, { title: "Overdue topics", sub: "the most overdue topic first", class: "seven" },
      m(Table, {
        label: "Topics with overdue jobs", columns: OVERDUE, rows: overdue.filter((row) => row.lateSeconds >= LEAST_SECONDS), rowKey: (row) => row.topic, href: (row) => href(["topics", row.topic]),
        empty: m("p.none", m(State, { state: "ok", text: "none" }), "Every due job is being delivered."),
      })),
};

const CAUSES = { open: "open", half_open: "probing" };

const IMPAIRED = [
  { name: "receiver", title: "Receiver", view: (row) => row.receiver },
  { name: "state", title: "State", view: (row) => m(State, { state: row.state, text: CAUSES[row.state] ?? row.state }) },
  { name: "cause", title: "Cause", view: (row) => row.cause ?? "" },
  { name: "probe", title: "Next probe", isNumber: true, view: (row) => (row.probeAt ? m(Time, { at: row.probeAt, style: "until" }) : "") },
];

export const Impaired = {
  view: ({ attrs: { receivers } }) =>
    m(Card, { title: "Impaired receivers", sub: receivers.impaired ? number(receivers.impaired) : "", class: "five", actions: m("a", { href: href(["receivers"]) }, "All receivers") },
      m(Table, {
        label: "Impaired receivers", columns: IMPAIRED, rows: receivers.first ?? [], rowKey: (row) => row.receiver, href: () => href(["receivers"]),
        empty: m("p.none", m(State, { state: "ok", text: "none" }), "Every receiver answers."),
      })),
};
