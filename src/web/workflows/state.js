// WorkflowState: m(WorkflowState, {state}). The chip with the state of a workflow or of one of its steps.

import { m } from "../lib.js";
import { State } from "../parts/state.js";

const LOOKS = {
  active: "leased", succeeded: "delivered", failed: "dead", cancelled: "cancelled", // of a workflow
  waiting: "delayed", queued: "ready", running: "leased", retrying: "retried", open: "leased", done: "delivered", over: "cancelled", // of a step
};
const TITLES = {
  waiting: "Its job is not due yet", queued: "Its job is due", running: "It is being delivered", retrying: "It is delivered again after a failure",
  open: "Its job has not ended", over: "Unknown whether this step ran before the workflow ended; its job shows more if there is a history",
};

export const WorkflowState = { view: ({ attrs: { state } }) => m(State, { state: LOOKS[state] ?? "warn", text: state, title: TITLES[state] }) };
