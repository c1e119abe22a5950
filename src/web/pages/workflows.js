// Workflows: durable runs of applications, the latest first.

import { m } from "../lib.js";
import { href, setQuery } from "../router.js";
import { get } from "../api.js";
import { useClock, Paged, repeat } from "../live.js";
import { number } from "../format.js";
import { showCurrentTab } from "../jobs/filter.js";
import { needsTopic, TopicChoice } from "../jobs/list.js";
import { Field } from "../parts/form.js";
import { Empty, Page, Problem } from "../parts/page.js";
import { Table } from "../parts/table.js";
import { Time } from "../parts/values.js";
import { WorkflowState } from "../workflows/steps.js";

const READ_MS = 5000;
const STATES = ["", "active", "succeeded", "failed", "cancelled"];

export default function Workflows({ attrs: first }) {
  const page = { filter: null, list: null, reading: null };
  let stopClock = null;
  const follow = ({ topic, state, idPrefix }) => {
    const filter = { topic, state, idPrefix };
    if (page.filter && JSON.stringify(filter) === JSON.stringify(page.filter)) return;
    page.reading?.stop();
    Object.assign(page, { filter, list: listOf(filter), reading: null });
    if (!needsTopic(filter)) page.reading = repeat(() => page.list.load(), READ_MS);
  };
  follow(first.query);
  return {
    oninit: () => (stopClock = useClock()),
    onbeforeupdate: ({ attrs }) => follow(attrs.query),
    onremove: () => {
      page.reading?.stop();
      stopClock();
    },
    view: () => [
      m(Page, { title: "Workflows", sub: "Durable runs of applications, step by step" }),
      needsTopic(page.filter) ? m(TopicChoice, { page: ["workflows"], query: page.filter, isOwn: true }) : listView(page),
    ],
  };
}
Workflows.title = "Workflows";

const keyOf = (row) => `${row.topic}/${row.workflowId}/${row.createdAt}`;

const listOf = (filter) => new Paged(({ body }) => body.workflows, keyOf, (query) => get("/workflows", { ...filter, ...query }));

function listView({ filter, list }) {
  return [
    m("nav.tabs", { "aria-label": "State", oncreate: showCurrentTab }, STATES.map((state) =>
      m("a", { href: href(["workflows"], { ...filter, state }), "aria-current": (filter.state ?? "") === state ? "page" : undefined }, state ? state[0].toUpperCase() + state.slice(1) : "All"))),
    m(Field, { class: "narrow", label: "Filter", placeholder: "beginning of an id", value: filter.idPrefix ?? "", oninput: (text) => setQuery({ ...filter, idPrefix: text }) }),
    m(Problem, { error: list.error }),
    m(Table, {
      label: "Workflows", rows: list.rows ?? (list.error ? [] : null), rowKey: keyOf, columns: COLUMNS, empty: list.error ? [] : emptyView(filter), hasMore: list.hasMore, onmore: () => list.more(),
      href: (row) => href(["workflows", row.topic, row.workflowId], { created: row.createdAt }),
    }),
  ];
}

const COLUMNS = [
  { name: "id", title: "Workflow", isWide: true, view: (row) => row.workflowId },
  { name: "state", title: "State", view: (row) => m(WorkflowState, { state: row.state }) },
  { name: "owner", title: "Owner", view: (row) => row.topic },
  { name: "began", title: "Began", sort: (row) => Date.parse(row.createdAt), view: (row) => m(Time, { at: row.createdAt, style: "ago" }) },
  { name: "ended", title: "Ended", sort: (row) => (row.endedAt ? Date.parse(row.endedAt) : Infinity), view: (row) => (row.endedAt ? m(Time, { at: row.endedAt, style: "ago" }) : "") },
  { name: "steps", title: "Steps", isNumber: true, sort: (row) => row.elementCount, view: (row) => number(row.elementCount) },
  { name: "open", title: "Open jobs", isNumber: true, isExtra: true, sort: (row) => row.openCount, view: (row) => number(row.openCount) },
  { name: "labels", title: "Labels", isExtra: true, view: (row) => (row.labels ?? []).map((label) => [m("span.label", label), " "]) },
];

const emptyView = ({ state, idPrefix }) =>
  state || idPrefix
    ? m(Empty, { title: "No workflow matches" })
    : m(Empty, { title: "No workflows yet", text: "Applications create workflows with the client @upstash/workflow. The server must run with:", command: "duepost --qstash on" });
