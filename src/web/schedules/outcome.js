// The outcome of a schedule's last time, and its next time, in a few words.

import { m } from "../lib.js";
import { duration } from "../format.js";
import { href } from "../router.js";
import { State } from "../parts/state.js";
import { Time } from "../parts/time.js";

const OUTCOMES = {
  fired: ["ok", "created a job"], skipped: ["warn", "missed"], overlap: ["warn", "the previous job had not ended"], conflict: ["bad", "another job had the id"],
  noUrl: ["bad", "no url"], noGroup: ["bad", "no such group"], unsendable: ["bad", "does not fit the group"], full: ["bad", "--max-jobs is reached"], held: ["bad", "cannot be read"],
};

export function outcome({ topic, last, problem }) {
  if (problem) return m(State, { state: "bad", text: problem });
  if (!last) return m("span.faint", "not yet");
  const [state, text] = OUTCOMES[last.outcome] ?? ["warn", last.outcome];
  return [
    m(State, { state, text }), " ", m(Time, { at: last.time, style: "ago" }), " ",
    last.jobId ? m("a", { href: href(["jobs", topic, last.jobId]) }, last.state ?? "job") : null,
  ];
}

export const timesText = ({ cron, every, timezone }) => (cron ? [m("code", cron), timezone && timezone !== "UTC" ? m("span.sub", ` ${timezone}`) : null] : every ? `every ${duration(every * 1000)}` : "–");
