// Actions on a schedule: pause, resume, run now, delete. Each returns a promise.

import { del, patch, path, post } from "../api.js";
import { later, toast } from "../parts/toast.js";

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
