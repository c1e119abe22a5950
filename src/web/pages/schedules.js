// Schedules: when they fire next, and how the last time ended.

import { m } from "../lib.js";
import { go, href } from "../router.js";
import { whyNot, get, path, session } from "../api.js";
import { useClock, repeat, Paged } from "../live.js";
import { Field } from "../parts/form.js";
import { Empty, Button, Page, Problem } from "../parts/page.js";
import { Table } from "../parts/table.js";
import { State, Time } from "../parts/values.js";
import { ScheduleDialog } from "../schedules/form.js";
import { pause, runNow, outcome, timesText } from "../schedules/state.js";

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

// The schedules that the token may read, page by page.
//
// With a token that is limited to topics, the schedules are read topic by topic: from the topics that the token names, and
// from those that match its patterns and have jobs or settings. A page then has the schedules of a few topics.

const TOPICS_AT_ONCE = 20;

const scheduleList = () => new Paged(({ body }) => body.schedules, (row) => `${row.topic}/${row.scheduleId}`, readPage);

const readPage = (query) => (session.access?.topics ? readOwn(query) : get("/schedules", query));

// The cursor of this list consists of the topics that have not been read yet.
async function readOwn({ cursor, limit }) {
  const topics = cursor ?? (await namesOf(session.access.topics, limit));
  const lists = await Promise.all(topics.slice(0, TOPICS_AT_ONCE).map((topic) => readTopic(topic, limit)));
  const left = topics.slice(TOPICS_AT_ONCE);
  return { body: { schedules: lists.flat(), cursor: left.length ? left : undefined } };
}

async function readTopic(topic, limit) {
  let rows = [];
  let cursor;
  do {
    const { body } = await get(path`/schedules/${topic}`, { limit, cursor });
    rows = rows.concat(body.schedules);
    cursor = body.cursor;
  } while (cursor);
  return rows;
}

async function namesOf(own, limit) {
  const { body } = await get("/topics", { limit });
  return [...new Set([...own.filter((name) => !name.endsWith("*")), ...body.topics.map((row) => row.topic)])].filter((name) => !name.includes("~"));
}
