// WorkflowState: m(WorkflowState, {state}). The chip of a workflow or of one of its steps.

import { m } from "../lib.js";
import { State } from "../parts/state.js";

const LOOKS = {
  active: "leased", succeeded: "delivered", failed: "dead", cancelled: "cancelled", // of a workflow
  waiting: "delayed", queued: "ready", running: "leased", retrying: "retried", open: "leased", done: "delivered", over: "cancelled", // of a step
};
const TITLES = {
  waiting: "Its job is not due yet", queued: "Its job is due", running: "It is being delivered", retrying: "It is delivered again after a failure",
  open: "Its job has not ended", over: "The workflow ended before or after this step: its job tells more, if there is a history",
};

export const WorkflowState = { view: ({ attrs: { state } }) => m(State, { state: LOOKS[state] ?? "warn", text: state, title: TITLES[state] }) };
