// The deliveries of each topic in the last minute, as they come with GET /overview, for sparklines.

import { live } from "../live.js";

const KEPT = 60;
const lines = new Map();
let seenAt = null;

// Call it after each answer.
export function rememberBusy() {
  const overview = live.overview;
  if (!overview?.busy || overview.now === seenAt) return;
  seenAt = overview.now;
  const now = new Map(overview.busy.map((one) => [one.topic, one.delivered]));
  for (const topic of now.keys()) if (!lines.has(topic)) lines.set(topic, new Array(KEPT).fill(0));
  for (const [topic, line] of lines) {
    line.push(now.get(topic) ?? 0);
    line.shift();
    if (line.every((value) => value === 0)) lines.delete(topic);
  }
}

export const busyLine = (topic) => lines.get(topic)?.slice() ?? null;
