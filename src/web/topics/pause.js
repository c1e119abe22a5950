// Pauses a topic, or lets it go on. Returns a promise.

import { patch, path } from "../api.js";
import { toast } from "../parts/toast.js";

export async function setPaused(topic, isPaused) {
  try {
    await patch(path`/topics/${topic}`, { paused: isPaused || null });
    toast(isPaused ? `${topic} is paused; jobs are still accepted.` : `${topic} goes on.`, { undo: () => setPaused(topic, !isPaused) });
  } catch (error) {
    toast(`${topic} was not changed: ${error.detail || error.message}`, { kind: "bad" });
  }
}
