// Forecast: which jobs will become due and begin, hour by hour, and which limits are too narrow for them.

import { m } from "../lib.js";
import { href, route, setQuery } from "../router.js";
import { get } from "../api.js";
import { duration, number, plural, time, toMs } from "../format.js";
import { Button, Card, Empty, Page, Problem } from "../parts/page.js";
import { Legend, Plot } from "../parts/plot.js";
import { Table } from "../parts/table.js";
import { Name, Time } from "../parts/values.js";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const SPANS = [{ value: "1", text: "24 hours" }, { value: "7", text: "7 days" }, { value: "30", text: "30 days" }];
const BY = { paused: "a pause", windows: "windows", order: "one at a time", maxInFlight: "concurrent attempts", rate: "the rate" };

export default function ForecastPage() {
  const page = { answer: null, error: null, isBusy: false, hour: null, detail: null };
  const days = () => Number(SPANS.find(({ value }) => value === route.query.days)?.value ?? 7);
  const ask = (from, length, step) => get("/forecast", { ...(from ? { from: new Date(from).toISOString() } : {}), to: new Date((from ?? Date.now()) + length).toISOString(), step, ...(route.query.topic ? { topic: route.query.topic } : {}) });
  const load = async () => {
    page.isBusy = true;
    page.hour = page.detail = null;
    try {
      page.answer = (await ask(null, days() * DAY_MS, "1h")).body;
      page.error = null;
    } catch (error) {
      page.error = error;
    }
    page.isBusy = false;
    m.redraw();
  };
  // Reads which topics and schedules an hour has.
  const open = async (index) => {
    page.hour = index;
    page.detail = null;
    try {
      const { body } = await ask(hourAt(page.answer, index), HOUR_MS, "1h");
      if (page.hour === index) page.detail = body;
    } catch (error) {
      page.error = error;
    }
    m.redraw();
  };
  const choose = (query) => {
    setQuery({ ...route.query, ...query });
    load();
  };
  return {
    oninit: load,
    view: () =>
      m(Page, { title: "Forecast", sub: "Without failures, and without jobs that clients will schedule", actions: m(Button, { onclick: load, isBusy: page.isBusy }, "Refresh") },
        controls(days(), choose),
        m(Problem, { error: page.error, retry: load }),
        page.answer ? [m(Sums, { answer: page.answer }), m(Course, { answer: page.answer }), m(Calendar, { answer: page.answer, chosen: page.hour, onchoose: open }),
          page.hour === null ? null : m(Hour, { answer: page.answer, index: page.hour, detail: page.detail }), m(Narrow, { lines: page.answer.narrow })] : null),
  };
}
ForecastPage.title = "Forecast";

const hourAt = (answer, index) => toMs(answer.from) + index * HOUR_MS;

const controls = (days, choose) =>
  m(".filters",
    m("label", "Length ", m("select", { value: String(days), onchange: (event) => choose({ days: event.target.value }) }, SPANS.map(({ value, text }) => m("option", { value }, text)))),
    m("label", "Topic ", m("input", { value: route.query.topic ?? "", placeholder: "all", onchange: (event) => choose({ topic: event.target.value.trim() || undefined }) })));

// The answer in a sentence.
const Sums = {
  view: ({ attrs: { answer: { jobs, backlog, partial, narrow } } }) =>
    m("p.forecast-sums",
      m("strong", verdict(backlog, narrow)), " ",
      `${plural(jobs.waiting, "waiting job")}, ${number(jobs.overdue)} of them overdue; ${plural(jobs.scheduled, "job")} of ${plural(jobs.schedules, "schedule")}.`,
      partial ? " There are too many topics or schedules: some are missing." : ""),
};

function verdict(backlog, narrow) {
  if (!backlog.peak) return "Each job begins when it is due.";
  const name = narrow[0] ? nameOf(narrow[0]) : "";
  const wait = `Up to ${plural(backlog.peak, "job")} wait, for up to ${duration(backlog.lateMs)}`;
  const end = backlog.drainedAt ? `; none from ${time(backlog.drainedAt)} on.` : `; ${number(backlog.left)} at the end.`;
  return `${wait}${end}${name ? ` Most of them: ${name}.` : ""}`;
}

const nameOf = ({ topic, limit }) => topic ?? (limit ? `limit ${limit}` : "all processes");

const Course = {
  view: ({ attrs: { answer } }) => {
    const series = [{ name: "due", kind: "accepted", values: answer.series.due }, { name: "begin", kind: "delivered", values: answer.series.begun }, { name: "backlog", kind: "dead", values: answer.series.backlog }];
    return m(Card, { title: "Jobs in each hour", class: "span-all" }, m(Legend, { series }),
      m(Plot, { label: "Jobs in each hour", from: toMs(answer.from), step: answer.step, series, format: number, height: 210, summary: verdict(answer.backlog, answer.narrow) }));
  },
};

// A row for each day, and a button for each hour: the darker, the more jobs begin.

const weekday = new Intl.DateTimeFormat(undefined, { weekday: "short", month: "short", day: "numeric" });
const LEVELS = 5;

const Calendar = {
  view: ({ attrs: { answer, chosen, onchoose } }) => {
    const { begun, backlog } = answer.series;
    const most = Math.max(1, ...begun);
    const rows = new Map();
    begun.forEach((count, index) => {
      const at = new Date(hourAt(answer, index));
      const day = weekday.format(at);
      if (!rows.has(day)) rows.set(day, []);
      rows.get(day)[at.getHours()] = { count, index };
    });
    const level = (count) => (count ? Math.max(1, Math.ceil((count / most) * LEVELS)) : 0);
    return m(Card, { title: "Calendar", sub: "attempts that begin; a dot marks hours at whose end jobs wait", class: "span-all" },
      m(".calendar-scroll", m("table.calendar", { "aria-label": "Attempts by day and hour" },
        m("thead", m("tr", m("th", { scope: "col" }, "Day"), Array.from({ length: 24 }, (_, hour) => m("th", { scope: "col" }, hour)))),
        m("tbody", [...rows].map(([day, hours]) => m("tr", { key: day }, m("th", { scope: "row" }, day), Array.from({ length: 24 }, (_, hour) => {
          const cell = hours[hour];
          if (!cell) return m("td");
          const waits = backlog[cell.index] ? `, ${plural(backlog[cell.index], "job")} wait` : "";
          return m("td", m("button.cell", {
            type: "button", class: `level-${level(cell.count)}`, "aria-pressed": String(chosen === cell.index), "aria-label": `${day} ${hour}:00, ${plural(cell.count, "attempt")}${waits}`,
            title: `${number(cell.count)} begin${waits}`, onclick: () => onchoose(cell.index),
          }, waits ? m("span.waits-dot", { "aria-hidden": "true" }) : null));
        })))))));
  },
};

// The topics, schedules and jobs of an hour.
const Hour = {
  view: ({ attrs: { answer, index, detail } }) => {
    const from = hourAt(answer, index);
    const lists = (topic) => href(["jobs"], { topic, dueAfter: new Date(from).toISOString(), dueBefore: new Date(from + HOUR_MS).toISOString() });
    const series = answer.series;
    return m(Card, { title: `Hour of ${time(from)}`, sub: `${number(series.due[index])} due, ${number(series.begun[index])} begin, ${number(series.backlog[index])} wait at its end`, class: "span-all" },
      detail === null ? m("p.sub", "…") : [
        m(Table, {
          label: "Topics of the hour", rows: detail.topics, rowKey: (row) => row.topic, empty: m(Empty, { text: "No job is due in this hour." }), isDense: true,
          columns: [
            { name: "topic", title: "Topic", view: (row) => m("a", { href: href(["topics", row.topic]) }, m(Name, { text: row.topic, most: 40 })) },
            { name: "due", title: "Due", isNumber: true, view: (row) => number(row.series.due[0]) },
            { name: "begun", title: "Begin", isNumber: true, view: (row) => number(row.series.begun[0]) },
            { name: "backlog", title: "Wait", isNumber: true, view: (row) => number(row.series.backlog[0]) },
            { name: "jobs", title: "Waiting now", view: (row) => m("a", { href: lists(row.topic) }, "jobs") },
          ],
        }),
        detail.schedules.length ? m(Table, {
          label: "Schedules of the hour", rows: detail.schedules, rowKey: (row) => `${row.topic}/${row.scheduleId}`, isDense: true,
          columns: [
            { name: "schedule", title: "Schedule", view: (row) => m("a", { href: href(["schedules", row.topic, row.scheduleId]) }, m(Name, { text: `${row.topic}/${row.scheduleId}`, most: 60 })) },
            { name: "jobs", title: "Jobs", isNumber: true, view: (row) => number(row.jobs) },
          ],
        }) : null,
      ]);
  },
};

const Narrow = {
  view: ({ attrs: { lines } }) =>
    lines.length === 0 ? null : m(Card, { title: "Narrow limits", class: "span-all" },
      m(Table, {
        label: "Narrow limits", rows: lines, rowKey: nameOf, isDense: true,
        columns: [
          { name: "name", title: "Topic or limit", view: (row) => (row.topic ? m("a", { href: href(["topics", row.topic]) }, m(Name, { text: row.topic, most: 40 })) : nameOf(row)) },
          { name: "by", title: "Held by", view: (row) => BY[row.by] ?? "–" },
          { name: "peak", title: "Most that wait", isNumber: true, view: (row) => number(row.peakBacklog) },
          { name: "late", title: "Longest wait", isNumber: true, view: (row) => duration(row.lateMs) },
          { name: "left", title: "Left at the end", isNumber: true, view: (row) => number(row.left) },
          { name: "drained", title: "Over", view: (row) => (row.drainedAt ? m(Time, { at: row.drainedAt, style: "relative" }) : m("span.faint", "–")) },
        ],
      })),
};
