// Whether the server answers. api.js reports each request; while the server does not answer, this module polls /healthz.
//
//   connection.isOk     false from the first unanswered request until the next answered one
//   connection.since    when the connection was lost, in ms; null while the server answers
//   onReturn(fn)        calls fn each time the connection comes back; returns the function that unsubscribes

import { m } from "./lib.js";

export const connection = { isOk: true, since: null };

const FIRST_WAIT_MS = 1000;
const LONGEST_WAIT_MS = 8000;

const listeners = new Set();
let wait = FIRST_WAIT_MS;
let timer = null;

export function onReturn(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function connectionAnswered() {
  if (connection.isOk) return;
  connection.isOk = true;
  connection.since = null;
  wait = FIRST_WAIT_MS;
  clearTimeout(timer);
  timer = null;
  for (const listener of listeners) listener();
  m.redraw();
}

export function connectionLost() {
  if (connection.isOk) {
    connection.isOk = false;
    connection.since = Date.now();
    m.redraw();
  }
  timer ??= setTimeout(probe, wait);
}

async function probe() {
  timer = null;
  wait = Math.min(wait * 2, LONGEST_WAIT_MS);
  try {
    await fetch(new URL("healthz", document.baseURI), { cache: "no-store", signal: AbortSignal.timeout(5000) });
    connectionAnswered();
  } catch {
    connectionLost();
  }
}

// When the computer wakes up, or the tab becomes visible again, try at once instead of waiting for the timer.
function probeNow() {
  if (connection.isOk || document.hidden) return;
  clearTimeout(timer);
  wait = FIRST_WAIT_MS;
  probe();
}
window.addEventListener("online", probeNow);
document.addEventListener("visibilitychange", probeNow);
