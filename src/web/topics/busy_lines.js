// Each topic's deliveries and attempts of the last minute, from GET /overview: for sparklines, and for the used share of a
// rate.

import { live } from "../live.js";

const KEPT = 60;
const lines = new Map(); // topic to [{delivered, attempts} of each second]
let seenAt = null;
let seconds = 0; // number of consecutive seconds in lines

const NOTHING = { delivered: 0, attempts: 0 };

// Call it after each answer.
export function rememberBusy() {
  const overview = live.overview;
  if (!overview?.busy || overview.now === seenAt) return;
  const gap = seenAt ? Date.parse(overview.now) - Date.parse(seenAt) : Infinity;
  seconds = gap < 2000 ? seconds + 1 : 1;
  seenAt = overview.now;
  const now = new Map(overview.busy.map(({ topic, delivered, retried, dead }) => [topic, { delivered, attempts: delivered + (retried ?? 0) + (dead ?? 0) }]));
  for (const topic of now.keys()) if (!lines.has(topic)) lines.set(topic, new Array(KEPT).fill(NOTHING));
  for (const [topic, line] of lines) {
    line.push(now.get(topic) ?? NOTHING);
    line.shift();
    if (line.every((one) => one.attempts === 0)) lines.delete(topic);
  }
}

export const busyLine = (topic) => lines.get(topic)?.map((one) => one.delivered) ?? null;

// Returns the number of the topic's attempts that ended in the last seconds; null if lines does not have all these seconds.
export function attemptsOf(topic, last) {
  const count = Math.ceil(last);
  if (count > Math.min(seconds, KEPT)) return null;
  return (lines.get(topic) ?? []).slice(-count).reduce((sum, one) => sum + one.attempts, 0);
}
