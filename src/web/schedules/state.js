// What became of a schedule's last time, and what a person can do with the schedule.

import { m } from "../lib.js";
import { href } from "../router.js";
import { del, patch, path, post } from "../api.js";
import { duration } from "../format.js";
import { later, toast } from "../parts/toast.js";
import { State, Time } from "../parts/values.js";

// The outcome of a schedule's last time, and its next time, in a few words.

const OUTCOMES = {
  fired: ["ok", "created a job"], skipped: ["warn", "missed"], overlap: ["warn", "the previous job had not ended"], conflict: ["bad", "another job had the id"],
  noUrl: ["bad", "no url"], noGroup: ["bad", "no such group"], unsendable: ["bad", "does not fit the group"], full: ["bad", "--max-jobs is reached"], quota: ["bad", "the quota of the topic is full"], held: ["bad", "cannot be read"],
};

export function outcome({ topic, last, problem, missed }) {
  if (problem) return m(State, { state: "bad", text: problem });
  if (!last) return m("span.faint", "not yet");
  const [state, text] = OUTCOMES[last.outcome] ?? ["warn", last.outcome];
  return [
    missed ? [m(State, { state: "bad", text: "not delivered in time" }), " "] : null,
    m(State, { state, text }), " ", m(Time, { at: last.time, style: "ago" }), " ",
    last.jobId ? m("a", { href: href(["jobs", topic, last.jobId]) }, last.state ?? "job") : null,
  ];
}

export const timesText = ({ cron, every, timezone }) => (cron ? [m("code", cron), timezone && timezone !== "UTC" ? m("span.sub", ` ${timezone}`) : null] : every ? `every ${duration(every * 1000)}` : "–");

// Actions on a schedule: pause, resume, run now, delete. Each returns a promise.

const where = ({ topic, scheduleId }) => path`/schedules/${topic}/${scheduleId}`;

async function say(action) {
  try {
    await action();
  } catch (error) {
    toast(`Not done: ${error.detail || error.message}`, { kind: "bad" });
  }
}

export const pause = (schedule, isPaused) => say(async () => {
  await patch(where(schedule), { paused: isPaused });
  toast(isPaused ? `${schedule.scheduleId} is paused.` : `${schedule.scheduleId} is resumed.`);
});

export const runNow = (schedule) => say(async () => {
  const { body } = await post(`${where(schedule)}/run`);
  toast(`${body.jobId} is created.`);
});

// Resolves to true if the schedule was deleted, to false after Undo or an error.
export async function remove(schedule) {
  let isDeleted = false;
  await say(async () => (isDeleted = await later(`Deleting ${schedule.scheduleId}`, () => del(where(schedule)))));
  return isDeleted;
}
