// The steps of a workflow: their state, rows and bars, their names and outputs in the log, and reading them while it runs.

import { m } from "../lib.js";
import { get, path } from "../api.js";
import { repeat } from "../live.js";
import { duration } from "../format.js";
import { State } from "../parts/values.js";

// WorkflowState: m(WorkflowState, {state}). The chip with the state of a workflow or of one of its steps.

const LOOKS = {
  active: "leased", succeeded: "delivered", failed: "dead", cancelled: "cancelled", // of a workflow
  waiting: "delayed", queued: "ready", running: "leased", retrying: "retried", open: "leased", done: "delivered", over: "cancelled", // of a step
};
const TITLES = {
  waiting: "Its job is not due yet", queued: "Its job is due", running: "It is being delivered", retrying: "It is delivered again after a failure",
  open: "Its job has not ended", over: "Unknown whether this step ran before the workflow ended; its job shows more if there is a history",
};

export const WorkflowState = { view: ({ attrs: { state } }) => m(State, { state: LOOKS[state] ?? "warn", text: state, title: TITLES[state] }) };

// The steps of a workflow, as rows of its page. Computes only.
//
//   rowsOf(workflow, jobs)   [{key, name, role?, topic, jobId, at, until, bytes, state, dueAt}], times in ms. First the elements, then the jobs
//                            without an element, such as a wait for an event. until is null while the job of the row has not ended.
//                            jobs is a Map from keyOf(job) to the jobs that were read, which decide the states.
//   wanted(workflow)         the jobs to read for rowsOf: the last LOOKED_AT jobs
//   barOf(row, workflow, now)  the row's part of the workflow's duration: {left, width}, in percent
//
// States of rows: waiting, queued, running, retrying, open (the job was not read), done, failed, cancelled, over (ended, outcome unknown).

const LOOKED_AT = 10;

const keyOf = ({ topic, jobId }) => `${topic}/${jobId}`;

// Returns the name of a row. The first element is the payload of the trigger; the application counts its steps from 1.
const nameOf = (kind, i) => (i === 0 ? "trigger" : `${kind} ${i}`);
const NAMES = { wait: "wait for an event", answer: "answer of a call" };

export function rowsOf(workflow, jobs) {
  const open = new Set(workflow.jobs.map(keyOf));
  const elements = workflow.elements.map((element, i) => ({ ...rowOf(element, workflow, open, jobs), name: nameOf(element.kind, i), at: Date.parse(element.at), bytes: element.bytes }));
  const others = workflow.jobs.filter((job) => !job.element).map((job) => ({ ...rowOf(job, workflow, open, jobs), name: NAMES[job.role] ?? job.role, role: job.role, at: timeOf(jobs.get(keyOf(job))?.createdAt), bytes: null }));
  others.sort((a, b) => (a.at ?? Infinity) - (b.at ?? Infinity));
  return withEnds([...elements, ...others], workflow);
}

function rowOf(one, workflow, open, jobs) {
  const key = keyOf(one);
  const job = jobs.get(key);
  const isOpen = open.has(key);
  const isFailed = workflow.failedBy && keyOf(workflow.failedBy) === key;
  return { key, topic: one.topic, jobId: one.jobId, isOpen, state: isOpen ? openState(job) : isFailed ? "failed" : endState(workflow, job), dueAt: isOpen ? timeOf(job?.dueAt) : null };
}

function openState(job) {
  if (!job) return "open";
  if (job.state === "leased") return "running";
  if (job.attempts > 0) return "retrying";
  return job.state === "delayed" ? "waiting" : "queued";
}

// The state of a row whose job has ended. A workflow that failed or was cancelled may have dropped the job. If the job could be
// read, its state decides.
const ENDS = { delivered: "done", cancelled: "cancelled", dead: "failed" };
const endState = (workflow, job) => (workflow.state === "active" || workflow.state === "succeeded" ? "done" : ENDS[job?.state] ?? "over");

// A row ends when the next row begins, because at that time its job had been delivered, and the application had continued.
function withEnds(rows, workflow) {
  const end = timeOf(workflow.endedAt);
  let next = end;
  let later = end;
  for (let i = rows.length - 1; i >= 0; i--) {
    const row = rows[i];
    if (row.at !== null && later !== null && row.at < later) next = later;
    row.until = row.isOpen ? null : next ?? row.at;
    later = row.at ?? later;
  }
  return rows;
}

function wanted(workflow) {
  if (workflow.state === "succeeded") return [];
  if (workflow.state === "active") return [...workflow.jobs].sort((a, b) => (a.element ?? Infinity) - (b.element ?? Infinity)).slice(-LOOKED_AT);
  return workflow.elements.slice(-LOOKED_AT);
}

export function barOf(row, workflow, now) {
  if (row.at === null) return null;
  const from = Date.parse(workflow.createdAt);
  const all = Math.max(1, (timeOf(workflow.endedAt) ?? now) - from);
  const percent = (ms) => Math.max(0, Math.min(100, (100 * ms) / all));
  const left = percent(row.at - from);
  return { left, width: percent((row.until ?? now) - from) - left };
}

const timeOf = (text) => (text ? Date.parse(text) : null);

// StepLog: what the application says about the steps of a run: names, outputs, events. Only runs of the API of QStash have it.
//
//   await log.read(workflow)   reads the log if the workflow has changed; without one, and for long runs, does nothing
//   log.nameRows(rows)         returns the rows with title (the step's name), output, note
//   log.input, log.result      the payload of the run, and what it answered at its end; undefined if they are not known

const TOPIC = "qstash"; // the log has the runs of this topic
const ELEMENTS_MAX = 500;
const BYTES_MAX = 1_000_000;

class StepLog {
  constructor() {
    Object.assign(this, { steps: new Map(), events: [], input: undefined, result: undefined, seen: null, isMissing: false });
  }

  async read(workflow) {
    const { topic, workflowId, createdAt, state, elementCount, openCount, bytes } = workflow;
    const version = [createdAt, state, elementCount, openCount].join(" ");
    if (topic !== TOPIC || this.isMissing || version === this.seen || elementCount > ELEMENTS_MAX || bytes > BYTES_MAX) return;
    try {
      const { body } = await get("/v2/workflows/logs", { workflowRunId: workflowId, count: 10 });
      this.take((body.runs ?? []).find((run) => run.workflowRunCreatedAt === Date.parse(createdAt)));
      this.seen = version;
    } catch (error) {
      this.isMissing = [401, 403, 404].includes(error.status);
    }
  }

  take(run) {
    const steps = (run?.steps ?? []).flatMap((group) => (group.type === "next" ? [] : group.steps));
    this.steps = new Map(steps.filter((step) => step.messageId).map((step) => [step.messageId, step]));
    this.events = steps.filter((step) => step.waitEventId && step.state === "STEP_PROGRESS");
    this.input = steps.find((step) => step.stepType === "Initial")?.out;
    this.result = run?.workflowRunResponse;
  }

  nameRows(rows) {
    const waits = rows.filter((row) => row.role === "wait");
    for (const row of rows) {
      const step = this.steps.get(row.jobId) ?? (waits.length === this.events.length ? this.events[waits.indexOf(row)] : undefined);
      if (!step) continue;
      Object.assign(row, { title: step.stepType === "Initial" ? undefined : step.stepName, output: outputOf(step), note: noteOf(step) });
    }
    return rows;
  }
}

// The output of a step that sleeps is always null.
const outputOf = ({ stepType, out, callResponseBody }) => (["SleepFor", "SleepUntil", "Initial"].includes(stepType) ? undefined : callResponseBody ?? out);

function noteOf({ stepType, sleepFor, sleepUntil, waitEventId, callUrl, callMethod, invokedWorkflowRunId }) {
  if (waitEventId) return `event ${waitEventId}`;
  if (stepType === "SleepFor" && sleepFor) return `sleeps ${duration(1000 * sleepFor)}`;
  if (sleepUntil) return "sleeps";
  if (callUrl) return `${callMethod ?? "POST"} ${callUrl}`;
  if (invokedWorkflowRunId) return `invokes ${invokedWorkflowRunId}`;
  return undefined;
}

// Watches a workflow: reads it regularly while it is active and the tab is visible. Reads a long workflow less often, so
// that each open page costs the server about the same.

const PERIOD_MS = 1000;
const ELEMENTS_PER_PERIOD = 500;
const TURNS_WHEN_OVER = 30;
const TURNS_WITHOUT_ONE = 5; // wait this many turns while the workflow cannot be read

export class WorkflowWatch {
  constructor(topic, workflowId, created) {
    Object.assign(this, { topic, workflowId, created, workflow: null, rows: null, jobs: new Map(), log: new StepLog(), problem: null, turns: 0 });
    this.reading = repeat(() => this.round(), PERIOD_MS);
  }

  stop() {
    this.reading.stop();
  }

  // Reads the workflow now, for example after a change.
  refresh() {
    this.turns = 0;
    return this.reading.again();
  }

  async round() {
    if (this.turns-- > 0) return;
    try {
      const { body } = await get(path`/workflows/${this.topic}/${this.workflowId}`, { created: this.created });
      this.jobs = await readJobs(wanted(body));
      await this.log.read(body);
      this.workflow = body;
      this.rows = this.log.nameRows(rowsOf(body, this.jobs));
      this.problem = null;
      this.turns = body.state === "active" ? Math.floor(body.elementCount / ELEMENTS_PER_PERIOD) : TURNS_WHEN_OVER;
    } catch (error) {
      this.problem = error;
      this.turns = TURNS_WITHOUT_ONE;
    }
  }
}

// Reads jobs. Without a history, jobs that have ended cannot be read any more, and are left out.
async function readJobs(jobs) {
  const found = await Promise.allSettled(jobs.map(({ topic, jobId }) => get(path`/jobs/${topic}/${jobId}`)));
  return new Map(found.filter((one) => one.value).map(({ value }) => [keyOf(value.body), value.body]));
}
