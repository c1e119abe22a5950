// A workflow: its status, its steps on a timeline, and a button that cancels it.

import { m } from "../lib.js";
import { href } from "../router.js";
import { del, path, whyNot } from "../api.js";
import { useClock } from "../live.js";
import { bytes, nowMs, number, duration, time, until } from "../format.js";
import { confirm } from "../parts/form.js";
import { Copy, Empty, Button, Card, Page, Problem } from "../parts/page.js";
import { toast } from "../parts/toast.js";
import { Name, shown, Time } from "../parts/values.js";
import { VirtualList } from "../parts/virtual_list.js";
import { WorkflowState, WorkflowWatch, barOf } from "../workflows/steps.js";

export default function Workflow({ attrs: { params, query } }) {
  let watch = new WorkflowWatch(params.topic, params.workflowId, query.created);
  const page = { error: null };
  let stopClock = null;
  return {
    oninit: () => (stopClock = useClock()),
    onbeforeupdate: ({ attrs }) => {
      if (attrs.query.created === watch.created) return;
      watch.stop();
      watch = new WorkflowWatch(params.topic, params.workflowId, attrs.query.created);
    },
    onremove: () => {
      watch.stop();
      stopClock();
    },
    view: () => (watch.workflow ? workflowView(watch, page) : firstView(watch)),
  };
}
Workflow.title = ({ workflowId }) => shown(workflowId);

// Shown until the workflow has been read.
function firstView(watch) {
  const { workflowId, problem } = watch;
  if (!problem) return m(".loading", { role: "status" }, "Loading…");
  return [
    m(Page, { title: workflowId }),
    problem.status === 404
      ? m(Empty, { title: "There is no such workflow", text: "Ended workflows are kept for a week, and at most 10,000 of them." }, m("p", m("a", { href: href(["workflows"]) }, "All workflows")))
      : m(Problem, { error: problem, retry: () => watch.refresh() }),
  ];
}

function workflowView(watch, page) {
  const { workflow, rows } = watch;
  const now = nowMs();
  return [
    m(Page, { title: [m(Name, { text: workflow.workflowId, most: 100 }), " ", m(Copy, { text: workflow.workflowId, label: "Copy the id" })], sub: subtitle(workflow), actions: cancelButton(watch, page) }),
    m(Problem, { error: page.error ?? watch.problem }),
    m(".why", { class: { active: "is-leased", succeeded: "is-delivered", failed: "is-dead" }[workflow.state], role: "status", "aria-label": "State" }, m("p", standOf(workflow, rows, now))),
    m(".cards", m(Card, { title: "Workflow", class: watch.log.input === undefined ? "" : "half" }, facts(workflow)), data(watch.log)),
    m(Card, { title: "Steps", sub: "A bar begins when its step was accepted, and ends when the next step was" }, m(Steps, { workflow, rows, now })),
  ];
}

const subtitle = ({ state, topic, labels }) =>
  m(".job-sub", m(WorkflowState, { state }), m("a", { href: href(["topics", topic]) }, topic), (labels ?? []).map((label) => m("span.label", label)));

function facts(workflow) {
  const at = (title, value) => (value ? [title, [m(Time, { at: value }), m("span.sub", " ", m(Time, { at: value, style: "relative" }))]] : null);
  const { parent, url } = workflow;
  const pairs = [
    url ? ["Application", m("code", url)] : null,
    at("Began", workflow.createdAt), at("Ended", workflow.endedAt),
    ["Steps", [number(workflow.elementCount), m("span.sub", ` in ${bytes(workflow.bytes)}`)]],
    ["Open jobs", number(workflow.openCount)],
    parent ? ["Invoked by", m("a", { href: href(["workflows", parent.topic, parent.workflowId], { created: parent.createdAt }) }, parent.workflowId)] : null,
  ];
  return m("dl.pairs", pairs.filter(Boolean).map(([title, value]) => [m("dt", title), m("dd", value)]));
}

// What the run got, and what it answered at its end.
function data({ input, result }) {
  if (input === undefined) return null;
  return m(Card, { title: "Input and result", class: "half" },
    m("dl.pairs",
      m("dt", "Input"), m("dd", textView(input)),
      m("dt", "Result"), m("dd", result === undefined ? m("span.faint", "none yet") : textView(result))));
}

const textView = (text) => (text === "" ? m("span.faint", "empty") : [m("pre.data", text), m(Copy, { text, label: "Copy" })]);

function cancelButton(watch, page) {
  const { topic, state } = watch.workflow;
  if (state !== "active") return null;
  return m(Button, { kind: "danger", whyNot: whyNot("cancel", topic), onclick: () => cancel(watch, page) }, "Cancel workflow");
}

async function cancel(watch, page) {
  const { topic, workflowId } = watch.workflow;
  const isAgreed = await confirm({ title: `Cancel ${workflowId}?`, text: "It takes no more steps, and its jobs are not attempted again. This cannot be undone.", action: "Cancel the workflow", decline: "Keep it", danger: true });
  if (!isAgreed) return;
  page.error = null;
  try {
    await del(path`/workflows/${topic}/${workflowId}`);
    toast("Cancelled.");
  } catch (error) {
    page.error = error;
  }
  await watch.refresh();
}

// Steps: m(Steps, {workflow, rows, now}). The steps of a workflow as a table, with a bar each, to the scale of the whole
// workflow. Scrolls smoothly with 10,000 steps.

const ROW = 36;
const NARROW_ROW = 56;
const HEAD_AND_FOOT = 66;
const CELL_MAX = 200; // characters of an output in its cell, and in the title of the cell
const TITLE_MAX = 2000;

const isNarrow = () => window.innerWidth < 700;

const Steps = {
  view: ({ attrs: { workflow, rows, now } }) => {
    const height = isNarrow() ? NARROW_ROW : ROW;
    return m(".steps", { style: { "--vlist-height": `min(${rows.length * height + HEAD_AND_FOOT}px, max(20rem, calc(100vh - 12rem)))` } },
      m(VirtualList, { label: "Steps", columns: columns(workflow, rows, now), rows, rowKey: (row) => row.key, height, href: (row) => href(["jobs", row.topic, row.jobId]), empty: "It has no steps." }));
  },
};

function columns(workflow, rows, now) {
  const hasLog = rows.some((row) => row.title || row.output !== undefined || row.note);
  const bar = { title: "Timeline", width: "minmax(5rem, 1fr)", view: (row) => barView(row, workflow, now) };
  const took = (row) => tookView(row, now);
  if (isNarrow())
    return [
      { title: "Step", width: "minmax(6rem, 8rem)", view: (row) => m(".two-lines", m("span", stepName(row)), m(WorkflowState, { state: row.state })) },
      { title: "Began, took", width: "5rem", view: (row) => m(".two-lines", m("span", beganView(row, workflow)), m("span.sub", took(row))) },
      bar,
    ];
  return [
    { title: "Step", width: hasLog ? "minmax(9rem, 13rem)" : "9rem", view: stepName },
    { title: "State", width: "7rem", view: (row) => m(WorkflowState, { state: row.state }) },
    { title: "Began", width: "6rem", isNumber: true, view: (row) => beganView(row, workflow) },
    { title: "Took", width: "6.5rem", isNumber: true, view: took },
    ...(hasLog && window.innerWidth > 1150 ? [{ title: "Output", width: "minmax(8rem, 2fr)", view: outputView }] : []),
    { title: "Size", width: "5rem", isNumber: true, view: (row) => (row.bytes === null ? "" : bytes(row.bytes)) },
    bar,
  ];
}

// The name that the application gave the step, and its number.
const stepName = (row) => (row.title ? [m(Name, { text: row.title, most: 40 }), m("span.sub", ` ${row.name}`)] : row.name);

const outputView = ({ output, note }) => [
  note ? m("span.sub", { title: note }, `${note} `) : null,
  output === undefined ? null : m("code", { title: output.slice(0, TITLE_MAX) }, output.slice(0, CELL_MAX)),
];

const beganView = (row, workflow) => (row.at === null ? "" : m("time", { datetime: new Date(row.at).toISOString(), title: time(row.at) }, `+ ${duration(row.at - Date.parse(workflow.createdAt))}`));

function tookView(row, now) {
  if (row.until !== null) return duration(row.until - row.at);
  if (row.dueAt && row.dueAt > now) return until(row.dueAt);
  return row.at === null ? "" : duration(Math.max(0, now - row.at));
}

function barView(row, workflow, now) {
  const bar = barOf(row, workflow, now);
  return bar && m(".step-track", { "aria-hidden": "true" }, m(".step-bar", { class: `is-${row.state}`, style: { left: `min(${bar.left}%, calc(100% - 3px))`, width: `${bar.width}%` } }));
}

// The status of a workflow, in a sentence.
function standOf(workflow, rows, now) {
  if (workflow.state === "succeeded") return `It succeeded after ${duration(Date.parse(workflow.endedAt) - Date.parse(workflow.createdAt))}.`;
  if (workflow.state === "cancelled") return "It was cancelled.";
  if (workflow.state === "failed") return failureText(workflow, rows);
  const open = rows.filter((row) => row.isOpen);
  if (open.length !== 1) return open.length ? `${open.length} of its jobs have not ended.` : "The application is at work.";
  const [row] = open;
  const called = row.title ? `“${row.title}” (${row.name})` : row.name[0].toUpperCase() + row.name.slice(1);
  if (row.state === "running") return `${called} is being delivered.`;
  if (row.dueAt && row.dueAt > now) return row.bytes === null ? `It waits for ${row.note ?? "an event"}, and continues without it ${until(row.dueAt)}.` : `${called} ${row.state === "retrying" ? "is tried again" : "continues"} ${until(row.dueAt)}.`;
  return `${called} is due.`;
}

function failureText(workflow, rows) {
  const { failedBy } = workflow;
  if (!failedBy) return "It failed.";
  const row = rows.find((one) => one.topic === failedBy.topic && one.jobId === failedBy.jobId);
  return ["It failed: ", m("a", { href: href(["jobs", failedBy.topic, failedBy.jobId]) }, row ? `the job of ${row.title ? `“${row.title}”, ` : ""}${row.name}` : "a job of it"), " is dead."];
}
