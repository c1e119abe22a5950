// StepLog: what the application says about the steps of a run: names, outputs, events. Only runs of the API of QStash have it.
//
//   await log.read(workflow)   reads the log if the workflow has changed; without one, and for long runs, does nothing
//   log.nameRows(rows)         returns the rows of steps.js with title (the step's name), output, note
//   log.input, log.result      the payload of the run, and what it answered at its end; undefined if they are not known

import { get } from "../api.js";
import { duration } from "../format.js";

const TOPIC = "qstash"; // the log has the runs of this topic
const ELEMENTS_MAX = 500;
const BYTES_MAX = 1_000_000;

export class StepLog {
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
