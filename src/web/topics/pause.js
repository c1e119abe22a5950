// setPaused: pauses or resumes a topic. Returns a promise.
// whyNotSet: the reason why the settings of a topic cannot be changed, or undefined.

import { patch, path, whyNot } from "../api.js";
import { toast } from "../parts/toast.js";

export const whyNotSet = (topic) => (topic.includes("~") ? "Only the server writes to topics with ~ in their names" : whyNot("admin", topic));

export async function setPaused(topic, isPaused) {
  try {
    await patch(path`/topics/${topic}`, { paused: isPaused || null });
    toast(isPaused ? `${topic} is paused; jobs are still accepted.` : `${topic} is resumed.`, { undo: () => setPaused(topic, !isPaused) });
  } catch (error) {
    toast(`${topic} was not changed: ${error.detail || error.message}`, { kind: "bad" });
  }
}
