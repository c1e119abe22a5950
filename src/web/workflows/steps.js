// The steps of a workflow, as rows of its page. Computes only.
//
//   rowsOf(workflow, jobs)   [{key, name, role?, topic, jobId, at, until, bytes, state, dueAt}], times in ms. First the elements, then the jobs
//                            without an element, such as a wait for an event. until is null while the job of the row has not ended.
//                            jobs is a Map from keyOf(job) to the jobs that were read, which decide the states.
//   wanted(workflow)         the jobs to read for rowsOf: the last LOOKED_AT jobs
//   barOf(row, workflow, now)  the row's part of the workflow's duration: {left, width}, in percent
//
// States of rows: waiting, queued, running, retrying, open (the job was not read), done, failed, cancelled, over (ended, outcome unknown).

export const LOOKED_AT = 10;

export const keyOf = ({ topic, jobId }) => `${topic}/${jobId}`;

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

export function wanted(workflow) {
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

export const timeOf = (text) => (text ? Date.parse(text) : null);
