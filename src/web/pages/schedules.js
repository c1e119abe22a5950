// Schedules: when they fire next, and how the last time ended.

import { m } from "../lib.js";
import { whyNot } from "../api.js";
import { useClock } from "../clock.js";
import { repeat } from "../repeat.js";
import { go, href } from "../router.js";
import { Empty } from "../parts/empty.js";
import { Field } from "../parts/form.js";
import { Button, Page } from "../parts/page.js";
import { Problem } from "../parts/problem.js";
import { State } from "../parts/state.js";
import { Table } from "../parts/table.js";
import { Time } from "../parts/time.js";
import { pause, runNow } from "../schedules/act.js";
import { ScheduleDialog } from "../schedules/form.js";
import { scheduleList } from "../schedules/list.js";
import { outcome, timesText } from "../schedules/outcome.js";

const READ_MS = 5000;

export default function Schedules() {
  const page = { list: scheduleList(), isNew: false, filter: "" };
  const stops = [];
  return {
    oninit: () => {
      const reading = repeat(() => page.list.load(), READ_MS);
      page.reload = () => page.list.load(true).then(m.redraw);
      stops.push(reading.stop, useClock());
    },
    onremove: () => stops.forEach((stop) => stop()),
    view: () =>
      m(Page, { title: "Schedules", sub: "A schedule creates a job at each of its times", actions: m(Button, { kind: "primary", whyNot: whyNot("schedule"), onclick: () => (page.isNew = true) }, "New schedule") },
        m(Problem, { error: page.list.error, retry: page.reload }),
        page.list.rows?.length ? m(Field, { class: "narrow", label: "Filter", placeholder: "part of a topic or a name", value: page.filter, oninput: (text) => (page.filter = text) }) : null,
        m(Table, {
          label: "Schedules", rows: page.list.rows && shown(page), rowKey: (row) => `${row.topic}/${row.scheduleId}`, href: (row) => href(["schedules", row.topic, row.scheduleId]), columns: columns(page),
          empty: page.filter ? m(Empty, { text: "No schedule matches." }) : m(Empty, { title: "No schedules yet", text: "A schedule creates a job each night, each minute, or every two hours.", command: "duepost schedules set reports/daily --cron '0 4 * * *' --url https://example.com/report" }),
          hasMore: page.list.hasMore, onmore: () => page.list.more(),
        }),
        page.isNew ? m(ScheduleDialog, { schedule: null, onclose: (saved) => { page.isNew = false; if (saved) go(["schedules", saved.topic, saved.scheduleId]); } }) : null),
  };
}
Schedules.title = "Schedules";

function shown(page) {
  const text = page.filter.toLowerCase();
  return page.list.rows.filter((row) => `${row.topic}/${row.scheduleId}`.toLowerCase().includes(text));
}

const columns = (page) => [
  { name: "id", title: "Schedule", sort: (row) => row.scheduleId, view: (row) => row.scheduleId },
  { name: "topic", title: "Topic", sort: (row) => row.topic, view: (row) => m("a", { href: href(["topics", row.topic]) }, row.topic) },
  { name: "times", title: "Times", view: timesText },
  { name: "next", title: "Next", sort: (row) => (row.next[0] ? Date.parse(row.next[0]) : Infinity), view: (row) => (row.paused ? m(State, { state: "paused" }) : row.next[0] ? m(Time, { at: row.next[0], style: "until" }) : m("span.faint", "no more")) },
  { name: "last", title: "Last time", isWide: true, view: outcome },
  { name: "run", title: "", view: (row) => m(Button, { kind: "quiet", whyNot: whyNot("schedule", row.topic), label: `Run now: ${row.scheduleId}`, onclick: () => runNow(row).then(page.reload) }, "Run now") },
  { name: "pause", title: "", view: (row) => m(Button, { kind: "quiet", whyNot: whyNot("schedule", row.topic), label: `${row.paused ? "Resume" : "Pause"} ${row.scheduleId}`, onclick: () => pause(row, !row.paused).then(page.reload) }, row.paused ? "Resume" : "Pause") },
];
