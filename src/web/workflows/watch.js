// Watches a workflow: reads it regularly while it is active and the tab is visible. Reads a long workflow less often, so
// that each open page costs the server about the same.

import { get, path } from "../api.js";
import { repeat } from "../repeat.js";
import { StepLog } from "./log.js";
import { keyOf, rowsOf, wanted } from "./steps.js";

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
