// Topics: counts, waiting jobs, limits; filtered while the person types.

import { m } from "../lib.js";
import { go, href, setQuery } from "../router.js";
import { useClock, follow, repeat } from "../live.js";
import { nowMs, number } from "../format.js";
import { Field } from "../parts/form.js";
import { Empty, Button, Card, Page, Problem } from "../parts/page.js";
import { Sparkline } from "../parts/plot.js";
import { Table } from "../parts/table.js";
import { Name, State, Time } from "../parts/values.js";
import { SETTINGS, textOf } from "../topics/settings.js";
import { busyLine, rememberBusy, Failing, shareOf, Limits, TopicList, setPaused, whyNotSet } from "../topics/state.js";

const READ_MS = 5000;

export default function Topics({ attrs }) {
  let isFailing = attrs.query.failing === "true";
  let list = listOf(isFailing);
  const stops = [];
  let again;
  return {
    oninit: () => {
      const reading = repeat(() => list.load(), READ_MS);
      again = reading.again;
      stops.push(reading.stop, useClock(), follow(rememberBusy));
    },
    onremove: () => stops.forEach((stop) => stop()),
    onbeforeupdate: ({ attrs: { query } }) => {
      if ((query.failing === "true") === isFailing) return;
      isFailing = !isFailing;
      list = listOf(isFailing);
      again();
    },
    view: ({ attrs: { query } }) =>
      m(Page, { title: "Topics", sub: list.rows ? countText(list) : null, actions: m(NewTopic) },
        m(Problem, { error: list.error, retry: () => again() }),
        m(".inline.is-filter",
          m(Field, { class: "narrow", label: "Filter", value: query.filter ?? "", placeholder: "part of a name", oninput: (text) => setQuery({ ...query, filter: text || undefined }) }),
          m(Field, { label: "Only failing", type: "checkbox", value: isFailing, oninput: (isOn) => setQuery({ ...query, failing: isOn ? "true" : undefined }) })),
        m(Table, {
          label: "Topics", rows: list.rows && shown(list.rows, query.filter), rowKey: (row) => row.topic,
          href: (row) => href(["topics", row.topic]), columns: columns(() => list.load(true).then(m.redraw)), sort: { by: isFailing ? "failing" : "overdue", isDown: true },
          empty: isFailing ? m(Empty, { text: "No topic fails." }) : query.filter ? m(Empty, { text: `No topic has “${query.filter}” in its name.` })
            : m(Empty, { title: "No topics yet", text: "A topic is created with its first job.", command: firstJob() }),
          isDense: true, hasMore: list.hasMore, onmore: () => list.more(),
        }),
        list.patterns?.length ? patterns(list.patterns) : null),
  };
}
Topics.title = "Topics";

const listOf = (isFailing) => new TopicList(isFailing ? { failing: true } : {});

const firstJob = () => `curl ${new URL("jobs", document.baseURI).href} -H 'Content-Type: application/json' \\\n  -d '{"topic":"orders","url":"https://example.com/hook","delay":60}'`;

const countText = (list) => `${number(list.rows.length)}${list.hasMore ? " or more" : ""} topics`;

function shown(rows, filter) {
  const text = filter?.toLowerCase();
  return text ? rows.filter((row) => row.topic.toLowerCase().includes(text)) : rows;
}

const count = (name, title) => ({
  name, title, isNumber: true, sort: (row) => row.jobs[name],
  view: (row) => (row.jobs[name] ? m("a", { href: href(["jobs"], { topic: row.topic, state: name === "held" ? "delayed" : name }) }, number(row.jobs[name])) : m("span.faint", "0")),
});

const columns = (reload) => [
  { name: "topic", title: "Topic", sort: (row) => row.topic, view: (row) => [m(Name, { text: row.topic, most: 36 }), " ", signs(row)] },
  { name: "line", title: "Last minute", isExtra: true, view: (row) => { const values = busyLine(row.topic); return values ? m(Sparkline, { values, kind: "delivered", label: `Deliveries of ${row.topic} in the last minute` }) : null; } },
  count("ready", "Ready"), count("delayed", "Delayed"), count("held", "Held"), count("leased", "Leased"), count("dead", "Dead"),
  { name: "overdue", title: "Oldest overdue", sort: (row) => (row.oldestOverdueAt ? nowMs() - Date.parse(row.oldestOverdueAt) : 0), isNumber: true, view: (row) => (row.oldestOverdueAt ? m(Time, { at: row.oldestOverdueAt, style: "ago" }) : m("span.faint", "–")) },
  { name: "failing", title: "Failing", help: "Share of the last hour's attempts that failed, and the last answer", sort: (row) => (row.failing ? shareOf(row.failing) * 1e9 + row.failing.failed : 0), view: (row) => m(Failing, { topic: row.topic, failing: row.failing }) },
  ...(window.innerWidth > 1500 ? [{ name: "hour", title: "Last hour", help: "Delivered in the last hour", isNumber: true, sort: (row) => row.lastHour.delivered, view: (row) => number(row.lastHour.delivered) }] : []),
  { name: "limits", title: "Limits", view: (row) => m(Limits, { topic: row.topic, settings: row.settings, leased: row.jobs.leased }) },
  { name: "pause", title: "", view: (row) => pauseButton(row, reload) },
];

function signs(row) {
  const { paused, delivery, order } = row.settings;
  return [
    paused ? m(State, { state: "paused", title: row.settings.pauseReason }) : null,
    delivery === "pull" ? m("span.sub", " pull") : null,
    order === "fifo" ? m("span.sub", " fifo") : null,
    row.heldBy && row.heldBy !== "paused" ? m("span.sub", { title: "Why due jobs wait" }, ` held by ${row.heldBy}`) : null,
  ];
}

function pauseButton(row, reload) {
  const isPaused = Boolean(row.settings.paused);
  return m(Button, {
    kind: "quiet", whyNot: whyNotSet(row.topic), label: `${isPaused ? "Resume" : "Pause"} ${row.topic}`,
    onclick: (event) => { event.stopPropagation(); setPaused(row.topic, !isPaused).then(reload); },
  }, isPaused ? "Resume" : "Pause");
}

const patterns = (rows) =>
  m(Card, { title: "Patterns", sub: "settings for all topics whose names match" },
    m(Table, {
      label: "Patterns", rows, rowKey: (row) => row.topic, href: (row) => href(["topics", row.topic]),
      columns: [{ name: "topic", title: "Pattern", view: (row) => row.topic }, { name: "settings", title: "Settings", isWide: true, view: (row) => settingsText(row.settings) }],
    }));

const settingsText = (settings) =>
  SETTINGS.filter(({ name }) => name in settings).map((setting) => `${setting.title}: ${setting.kind === "json" ? JSON.stringify(settings[setting.name]) : textOf(setting, settings[setting.name])}`).join(", ");

// A field that opens the page of a topic or pattern, which need not exist yet.
function NewTopic() {
  let name = "";
  return {
    view: () => m("form.inline", { onsubmit: (event) => { event.preventDefault(); if (name.trim()) go(["topics", name.trim()]); } },
      m("input", { "aria-label": "Topic or pattern", placeholder: "topic or pattern-*", value: name, oninput: (event) => (name = event.target.value) }),
      m("button", { type: "submit" }, "Open")),
  };
}
