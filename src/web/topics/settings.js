// The settings of a topic: how each is shown and entered. A row has name, title, kind, help, preset (the value that applies if
// the setting is missing, or the server's option that has this value), and for some kinds more.
//
//   kind   "bool", "integer", "number", "duration" (seconds or 15m), "choice", "text", "waits" (a retry schedule),
//          "rate", or "json"
//
// textOf(setting, value) is the text of the field for a value; valueOf(setting, text) is {value} or {error}.

import { parseRaw } from "../parts/raw.js";

export const SETTINGS = [
  { name: "paused", title: "Paused", preset: "no", kind: "bool", help: "No attempt begins. Jobs are still accepted." },
  { name: "pauseReason", title: "Reason of the pause", kind: "text", help: "Shown to people; removed when the topic is resumed." },
  { name: "delivery", title: "Delivery", preset: "push", kind: "choice", options: ["push", "pull"], help: "pull: workers lease the jobs over HTTP." },
  { name: "maxInFlight", title: "Maximum attempts at once", preset: "--max-in-flight-topic", kind: "integer", help: "At least 1; the limit is exact over all processes." },
  { name: "rate", title: "Rate", preset: "no limit", kind: "rate", help: "Attempts in a number of seconds, such as 10/1, 600/60 burst 5, or 600/60 window: all at once in each window of 60 s." },
  { name: "weight", title: "Weight", preset: "1", kind: "integer", help: "Share of attempts among topics with due jobs, 1 to 100." },
  { name: "order", title: "Order", preset: "due", kind: "choice", options: ["due", "fifo"], help: "fifo: strictly in order, one at a time." },
  { name: "onHeadDead", title: "When a job is dead", preset: "go", kind: "choice", options: ["go", "pause"], help: "Only with order fifo." },
  { name: "retrySchedule", title: "Retry schedule", preset: "--retry-schedule", kind: "waits", help: "Waits between attempts, such as 15s 3m 10m. Empty: no retries." },
  { name: "timeout", title: "Timeout", preset: "30s", kind: "duration", help: "Longest wait for an answer, such as 10 or 1m." },
  { name: "jitter", title: "Jitter of retries", preset: "0", kind: "number", help: "0 to 1: each wait grows by up to this share." },
  { name: "url", title: "Url", preset: "none", kind: "text", help: "For jobs without their own." },
  { name: "headers", title: "Headers", preset: "none", kind: "json", help: "An object of strings. Values are shown as ***: leave *** to keep a value of this topic." },
  { name: "secrets", title: "Signing secrets", preset: "the server's keys", kind: "json", help: "An array of whsec_… or whsk_…. They are not shown: to change one, enter all of them." },
  { name: "breaker", title: "Circuit breaker", preset: "--breaker", kind: "bool", help: "Whether jobs of failing receivers are held." },
  { name: "retention", title: "Retention", preset: "none; dead jobs: --dead-max-age", kind: "duration", help: "How long ended jobs stay in Redis, such as 7d." },
  { name: "onDelivered", title: "Callback when delivered", preset: "none", kind: "json", help: "A url, or an object with url, method, headers. It is replaced as a whole: type hidden parts again." },
  { name: "onDead", title: "Callback when dead", preset: "none", kind: "json", help: "A url, or an object with url, method, headers. It is replaced as a whole: type hidden parts again." },
  { name: "onAttempt", title: "Callback for each attempt", preset: "none", kind: "json", help: "A url, or an object with url, method, headers. It is replaced as a whole: type hidden parts again." },
];

const seconds = (value) => (typeof value === "number" ? `${value}s` : String(value));

export function textOf(setting, value) {
  if (value === undefined || value === null) return "";
  switch (setting.kind) {
    case "duration": return seconds(value);
    case "waits": return value.map(seconds).join(" ");
    case "rate": return `${value.jobs}/${value.per}${value.burst > 1 ? ` burst ${value.burst}` : ""}${value.window ? " window" : ""}`;
    case "json": return JSON.stringify(value, null, 2);
    default: return String(value);
  }
}

export function valueOf(setting, text) {
  const trimmed = text.trim();
  switch (setting.kind) {
    case "bool": return { value: trimmed === "true" };
    case "integer":
    case "number": return Number.isFinite(Number(trimmed)) && trimmed ? { value: Number(trimmed) } : { error: "This is not a number." };
    case "duration": return { value: /^[0-9.]+$/.test(trimmed) ? Number(trimmed) : trimmed };
    case "waits": return { value: trimmed ? trimmed.split(/[\s,]+/) : [] };
    case "rate": return rateOf(trimmed);
    case "json": return parseJson(trimmed);
    default: return { value: text };
  }
}

function rateOf(text) {
  const found = /^(\d+)\s*\/\s*([\d.]+)(?:\s+burst\s+(\d+))?(\s+window)?$/.exec(text);
  if (!found) return { error: "Expected attempts/seconds, such as 10/1, 600/60 burst 5 or 600/60 window." };
  const [, jobs, per, burst, window] = found;
  return { value: { jobs: Number(jobs), per: Number(per), ...(burst ? { burst: Number(burst) } : {}), ...(window ? { window: true } : {}) } };
}

// A url may be entered without quotes.
function parseJson(text) {
  return /^https?:/.test(text) ? { value: text } : parseRaw(text);
}
