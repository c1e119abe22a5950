import { Problem } from "./errors.js";
import type { components } from "./generated/contract.js";
import { backOff, sleep, type Requests } from "./requests.js";

export interface EventQuery {
  topics: string | string[];
  key?: string;
  types?: JobEvent["type"][];
  /** The `id` of the last event that the caller has. Default: events from now on. */
  lastEventId?: string;
  signal?: AbortSignal;
}

/** `gap`: events of the topic are missing. */
export type JobEvent = { id: string; type: "accepted" | "begun" | "progress" | "retried" | "delivered" | "dead" | "cancelled" | "fired" | "gap"; topic: string } &
  Partial<Pick<components["schemas"]["Job"], "jobId" | "key" | "lastAttempt" | "progress">> & { at?: string; attempt?: number; scheduleId?: string };

const SILENCE = 45; // seconds; a comment comes every 15 s

export async function* events(client: Requests, { topics, key, types, lastEventId, signal }: EventQuery): AsyncGenerator<JobEvent> {
  let last = lastEventId;
  for (let failures = 0; !signal?.aborted; await sleep(backOff(failures++), signal)) {
    const stop = new AbortController(), all = AbortSignal.any([stop.signal, ...(signal ? [signal] : [])]), restart = () => setTimeout(() => stop.abort(), SILENCE * 1000);
    let watch = restart(), text = "";
    try {
      const query = { topic: [topics].flat(), key, types: types?.join(",") };
      const answer = await client.send("get", "/events", { query, headers: { "last-event-id": last }, wait: Infinity, signal: all });
      for await (const piece of answer.body!.pipeThrough(new TextDecoderStream())) {
        clearTimeout(watch);
        watch = restart();
        failures = 0;
        const found = (text + piece).split("\n\n");
        text = found.pop()!;
        for (const event of found) {
          const { id, event: type, data } = Object.fromEntries(event.split("\n").map((line) => /^(\w*): ?(.*)$/.exec(line)!.slice(1)));
          last = id ?? last;
          if (data) yield { id, type, ...JSON.parse(data) };
        }
      }
    } catch (error) {
      if (error instanceof Problem && ![429, 503].includes(error.status)) throw error; // such as a topic without events
    } finally {
      clearTimeout(watch);
      stop.abort();
    }
  }
}
