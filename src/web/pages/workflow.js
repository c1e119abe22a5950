// A workflow: its status, its steps on a timeline, and a button that cancels it.

import { m } from "../lib.js";
import { del, path, whyNot } from "../api.js";
import { useClock } from "../clock.js";
import { bytes, number } from "../format.js";
import { href } from "../router.js";
import { Copy } from "../parts/copy.js";
import { confirm } from "../parts/dialog.js";
import { Empty } from "../parts/empty.js";
import { Name, shown } from "../parts/name.js";
import { Button, Card, Page } from "../parts/page.js";
import { Problem } from "../parts/problem.js";
import { Time } from "../parts/time.js";
import { toast } from "../parts/toast.js";
import { WorkflowState } from "../workflows/state.js";
import { standOf, Steps } from "../workflows/timeline.js";
import { WorkflowWatch } from "../workflows/watch.js";

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
  const now = Date.now();
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
