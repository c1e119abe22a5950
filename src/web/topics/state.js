// What a topic's row and page say about it: limits, workers, failures, pause.

import { m } from "../lib.js";
import { href } from "../router.js";
import { patch, path, whyNot, get } from "../api.js";
import { live, Paged } from "../live.js";
import { duration, number } from "../format.js";
import { toast } from "../parts/toast.js";
import { State } from "../parts/values.js";

// Limits: the limits of a topic, and how much of each is used.
//
//   m(Limits, {topic, settings, leased})

// A bar that shows how much of a limit is used.
export const bar = (used, most, text) =>
  m(".limit", m("meter", { min: 0, max: most, high: 0.99 * most, value: Math.min(used ?? 0, most), "aria-label": text }), m("span", text));

function rateLine({ jobs, per }, topic) {
  const used = attemptsOf(topic, per);
  const span = per === 1 ? "a second" : `in ${duration(per * 1000)}`;
  return bar(used, jobs, `${used === null ? "" : `${number(used)} of `}${number(jobs)} ${span}`);
}

export const Limits = {
  view: ({ attrs: { topic, settings, leased } }) => {
    const { maxInFlight, rate, limit } = settings;
    if (!maxInFlight && !rate && !limit) return m("span.faint", "–");
    return m(".limits", maxInFlight ? bar(leased, maxInFlight, `${number(leased)} of ${number(maxInFlight)} at once`) : null, rate ? rateLine(rate, topic) : null,
      limit ? m("a", { href: href(["limits"]), title: "A limit that the topic shares with other topics" }, limit) : null);
  },
};

// Each topic's deliveries and attempts of the last minute, from GET /overview: for sparklines, and for the used share of a
// rate.

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
function attemptsOf(topic, last) {
  const count = Math.ceil(last);
  if (count > Math.min(seconds, KEPT)) return null;
  return (lines.get(topic) ?? []).slice(-count).reduce((sum, one) => sum + one.attempts, 0);
}

// Failing: the share and number of a topic's attempts that failed within the last hour, and the last answer.

export const shareOf = ({ failed, attempts }) => (attempts ? failed / attempts : 0);

// Rounds down, so that "100 %" means each one.
const percent = (failing) => `${Math.max(1, Math.floor(100 * shareOf(failing)))} %`;

export const failingText = (failing) =>
  `${percent(failing)} of ${number(failing.attempts)} ${failing.attempts === 1 ? "attempt" : "attempts"} failed in the last hour${failing.lastAnswer ? `, last answer ${failing.lastAnswer}` : ""}`;

// The jobs of the topic that wait after a failure, or that died: those with an answer like the last one.
const jobsOf = (topic, lastAnswer) => href(["jobs"], { topic, lastStatus: /^\d+$/.test(lastAnswer ?? "") ? lastAnswer : undefined });

export const Failing = {
  view: ({ attrs: { topic, failing } }) =>
    failing ? m("a", { href: jobsOf(topic, failing.lastAnswer), title: failingText(failing) },
      m(State, { state: "bad", text: percent(failing) }), failing.lastAnswer ? m("span.sub", ` ${failing.lastAnswer}`) : null) : null,
};

// setPaused: pauses or resumes a topic. Returns a promise.
// whyNotSet: the reason why the settings of a topic cannot be changed, or undefined.

export const whyNotSet = (topic) => (topic.includes("~") ? "Only the server writes to topics with ~ in their names" : whyNot("admin", topic));

export async function setPaused(topic, isPaused) {
  try {
    await patch(path`/topics/${topic}`, { paused: isPaused || null });
    toast(isPaused ? `${topic} is paused; jobs are still accepted.` : `${topic} is resumed.`, { undo: () => setPaused(topic, !isPaused) });
  } catch (error) {
    toast(`${topic} was not changed: ${error.detail || error.message}`, { kind: "bad" });
  }
}

// The topics, page by page, and the patterns.

export class TopicList extends Paged {
  // filter: members of the query, such as failing.
  constructor(filter = {}) {
    super(({ body }) => body.topics, (row) => row.topic, (query) => get("/topics", { ...query, ...filter }));
    this.patterns = null;
  }

  async load(isAsked) {
    await super.load(isAsked);
    if (this.error) return;
    try {
      this.patterns = (await get("/topics", { patterns: true })).body.patterns;
    } catch (error) {
      this.error = error;
    }
  }
}
