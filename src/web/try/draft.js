// The values of the form "Try it", and the job that they describe. Uses neither the page nor the network.
//
//   newDraft(query)    a draft, with the members of query put in
//   jobOf(draft)       {job, errors}: the job as an object; errors are the faults that the form itself finds: [{field, detail}]
//   jobText(job)       the JSON that is sent
//   JsonText           a body that is JSON, as it was typed: a JavaScript number would change 1.10 and 12345678901234567890

import { LOCAL_RECEIVER } from "../format.js";

const DEFAULTS = {
  topic: "hello", jobId: "", url: LOCAL_RECEIVER, method: "POST", when: "delay", delay: "10s", dueAt: "",
  body: '{\n  "hello": "world"\n}', headers: "", labels: "", retry: "", retrySchedule: "", timeout: "", ttl: "", group: "",
};

export const newDraft = (query = {}) => ({ ...DEFAULTS, ...Object.fromEntries(Object.entries(query).filter(([name]) => name in DEFAULTS)) });

export function jobOf(draft) {
  const errors = [];
  const job = { topic: draft.topic.trim() };
  const set = (name, value) => {
    if (value !== undefined && value !== "") job[name] = value;
  };
  set("jobId", draft.jobId.trim());
  set("group", draft.group.trim());
  if (!job.group) set("url", draft.url.trim());
  if (draft.method !== "POST") job.method = draft.method;
  if (draft.when === "delay") set("delay", durationOf(draft.delay));
  else set("dueAt", timeOf(draft.dueAt, errors));
  set("retry", integerOf("retry", draft.retry, errors));
  const schedule = listOf(draft.retrySchedule).map(durationOf);
  if (schedule.length) job.retrySchedule = schedule;
  set("timeout", durationOf(draft.timeout));
  set("ttl", durationOf(draft.ttl));
  const labels = listOf(draft.labels);
  if (labels.length) job.labels = labels;
  const headers = headersOf(draft.headers, errors);
  if (Object.keys(headers).length) job.headers = headers;
  if (draft.body !== "" && draft.method !== "GET" && draft.method !== "HEAD") job.body = bodyOf(draft.body);
  if (!job.topic) errors.push({ field: "topic", detail: "A job needs a topic" });
  return { job, errors };
}

export class JsonText {
  constructor(text) {
    this.text = text.trim();
  }
}

export const jobText = (job) => `{${Object.entries(job).map(([name, value]) => `${JSON.stringify(name)}:${valueText(value)}`).join(",")}}`;

const valueText = (value) => (value instanceof JsonText ? value.text : JSON.stringify(value));

// Sends a body that is valid JSON as JSON, any other as text.
export const bodyOf = (text) => (isJson(text) ? new JsonText(text) : text);

export function isJson(text) {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

// "10" is seconds, a number; "10s" and "1h30m" are sent as they are.
function durationOf(text) {
  const trimmed = text.trim();
  return trimmed !== "" && !Number.isNaN(Number(trimmed)) ? Number(trimmed) : trimmed;
}

function integerOf(field, text, errors) {
  if (text.trim() === "") return undefined;
  const n = Number(text);
  if (!Number.isInteger(n)) errors.push({ field, detail: "Expected a whole number" });
  return n;
}

function timeOf(text, errors) {
  const time = new Date(text);
  if (!Number.isNaN(time.getTime())) return time.toISOString();
  errors.push({ field: "dueAt", detail: "Expected a date and a time" });
  return undefined;
}

const listOf = (text) => text.split(/[\s,]+/).filter(Boolean);

function headersOf(text, errors) {
  const headers = {};
  for (const line of text.split("\n").filter((one) => one.trim())) {
    const colon = line.indexOf(":");
    if (colon > 0) headers[line.slice(0, colon).trim()] = line.slice(colon + 1).trim();
    else errors.push({ field: "headers", detail: `Expected "Name: value", found "${line.trim()}"` });
  }
  return headers;
}
