// The busiest topics, smoothed over the last seconds. remember() takes each answer of GET /overview.

import { m } from "../lib.js";
import { href } from "../router.js";
import { Card } from "../parts/page.js";
import { Table } from "../parts/table.js";
import { Sparkline } from "../parts/sparkline.js";

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
export function busiest() {
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
