// Steps: m(Steps, {workflow, rows, now}). The steps of a workflow as a table, with a bar each, to the scale of the whole
// workflow. Scrolls smoothly with 10,000 steps.

import { m } from "../lib.js";
import { bytes, duration, time, until } from "../format.js";
import { href } from "../router.js";
import { Name } from "../parts/name.js";
import { VirtualList } from "../parts/virtual_list.js";
import { barOf } from "./steps.js";
import { WorkflowState } from "./state.js";

const ROW = 36;
const NARROW_ROW = 56;
const HEAD_AND_FOOT = 66;
const CELL_MAX = 200; // characters of an output in its cell, and in the title of the cell
const TITLE_MAX = 2000;

const isNarrow = () => window.innerWidth < 700;

export const Steps = {
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
export function standOf(workflow, rows, now) {
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
