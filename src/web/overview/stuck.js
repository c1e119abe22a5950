// What needs a person: topics that fail, the topics with the oldest overdue jobs, and impaired receivers.

import { m } from "../lib.js";
import { href } from "../router.js";
import { duration, number } from "../format.js";
import { Name } from "../parts/name.js";
import { Card } from "../parts/page.js";
import { Table } from "../parts/table.js";
import { State } from "../parts/state.js";
import { Time } from "../parts/time.js";
import { Failing, shareOf } from "../topics/failing.js";

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
