// A job as a person edits it, and the JSON that is sent for it. Uses neither the page nor the network.
//
// A draft has the texts of the fields. A draft does not have hidden values (a url's query, headers). A field that the
// person does not change is not sent, so the server keeps its value.

import { bodyOf } from "./body_text.js";
import { memberText, readJson } from "./json_text.js";

export const METHODS = ["POST", "GET", "PUT", "PATCH", "DELETE", "HEAD"];
export const HIDDEN = "***";

const HIDDEN_QUERY = "?***";
const CALLBACKS = ["onDelivered", "onDead", "onAttempt"];

export function draftOf(job, text) {
  return {
    url: job.url ?? "",
    method: job.method ?? "POST",
    labels: (job.labels ?? []).join(", "),
    retry: String(job.retry),
    retrySchedule: job.retrySchedule.map(waitText).join(" "),
    retryWait: job.retryWait ?? "",
    timeout: String(job.timeout),
    headers: Object.entries(job.headers).map(([name, value]) => ({
      name,
      value: value === HIDDEN ? "" : value,
      isHidden: value === HIDDEN,
    })),
    callbacks: Object.fromEntries(CALLBACKS.filter((name) => job[name]).map((name) => [name, job[name]])),
    ...bodyDraft(text),
  };
}

// Returns the callbacks that cannot be sent because parts of them are hidden.
export const hiddenCallbacks = (draft) => Object.keys(draft.callbacks).filter((name) => JSON.stringify(draft.callbacks[name]).includes(HIDDEN));

function bodyDraft(text) {
  const { kind } = bodyOf(text);
  if (kind === "none" || kind === "left_out") return { bodyKind: "none", body: "" };
  if (kind === "bytes") return { bodyKind: "base64", body: JSON.parse(memberText(text, "bodyBase64")) };
  const raw = memberText(text, "body");
  return raw[0] === '"' ? { bodyKind: "text", body: JSON.parse(raw) } : { bodyKind: "json", body: raw };
}

const UNITS = [
  [86400, "d"],
  [3600, "h"],
  [60, "m"],
];

// Writes seconds: 15 as "15s", 5400 as "90m".
export function waitText(seconds) {
  const unit = UNITS.find(([length]) => seconds >= length && seconds % length === 0);
  return unit ? `${seconds / unit[0]}${unit[1]}` : `${seconds}s`;
}

// Returns the retry schedule's waits in the form that the API takes: durations as text.
const readWaits = (text) =>
  text
    .split(/[\s,]+/)
    .filter(Boolean)
    .map((wait) => (/^[\d.]+$/.test(wait) ? Number(wait) : wait));
const readLabels = (text) =>
  text
    .split(",")
    .map((label) => label.trim())
    .filter(Boolean);

export const hasHiddenQuery = (url) => url.endsWith(HIDDEN_QUERY);

// Whether the draft sends the job to another server, which must not get hidden headers.
export function isElsewhere(draft, original) {
  return draft.url !== original.url && originOf(draft.url) !== originOf(original.url);
}

function originOf(url) {
  try {
    return new URL(url).origin;
  } catch {
    return url;
  }
}

// Returns the faults that this page can explain better than the server: [{field, detail}].
export function faultsOf(draft) {
  const faults = [];
  if (draft.bodyKind === "json" && !readJson(draft.body)) faults.push({ field: "body", detail: "is not valid JSON" });
  if (!/^\d+$/.test(draft.retry.trim())) faults.push({ field: "retry", detail: "must be a whole number" });
  if (hasHiddenQuery(draft.url) && draft.isUrlChanged) faults.push({ field: "url", detail: "the query is hidden: type the whole URL" });
  return faults;
}

// Returns the JSON text of an object. The values are JSON texts, so that a body stays as it was typed.
const objectText = (members) =>
  `{${Object.entries(members)
    .map(([name, text]) => `${JSON.stringify(name)}:${text}`)
    .join(",")}}`;

function bodyMembers(draft) {
  if (draft.bodyKind === "none") return {};
  if (draft.bodyKind === "base64") return { bodyBase64: JSON.stringify(draft.body.replace(/\s+/g, "")) };
  return { body: draft.bodyKind === "text" ? JSON.stringify(draft.body) : draft.body.trim() };
}

// Returns the merge patch that turns original into the draft; null if they are equal.
export function patchText(draft, original) {
  const members = {};
  const take = (name, value) => {
    if (draft[name].trim() !== original[name].trim()) members[name] = JSON.stringify(value);
  };
  take("url", draft.url.trim() || null);
  take("method", draft.method);
  take("labels", readLabels(draft.labels));
  take("retry", Number(draft.retry));
  take("retrySchedule", readWaits(draft.retrySchedule));
  take("retryWait", draft.retryWait.trim() || null);
  take("timeout", readWaits(draft.timeout)[0] ?? null);
  if (draft.body !== original.body || draft.bodyKind !== original.bodyKind) {
    Object.assign(members, { body: "null", ...bodyMembers(draft) });
    if (original.bodyKind === "base64" && draft.bodyKind !== "base64") members.bodyBase64 = "null";
    if (draft.bodyKind === "base64") delete members.body;
  }
  const headers = headerPatch(draft, original);
  if (Object.keys(headers).length) members.headers = JSON.stringify(headers);
  return Object.keys(members).length ? objectText(members) : null;
}

// Removed headers are null. If the job now goes to another server, hidden headers that were not typed again are removed,
// too: that server must not get them.
function headerPatch(draft, original) {
  const headers = {},
    elsewhere = isElsewhere(draft, original);
  const left = new Set(draft.headers.map((header) => header.name));
  for (const { name } of original.headers) if (!left.has(name)) headers[name] = null;
  for (const { name, value, isHidden, isTyped } of draft.headers) {
    if (!name.trim()) continue;
    if (isTyped) headers[name.trim()] = value;
    else if (elsewhere && name.toLowerCase() !== "content-type") headers[name] = isHidden ? null : value;
  }
  return headers;
}

// Returns the JSON text of a new job. Hidden values that were not typed are left out.
export function jobText(draft, { topic, jobId, delay }) {
  const members = { topic: JSON.stringify(topic) };
  if (jobId) members.jobId = JSON.stringify(jobId);
  if (draft.url.trim()) members.url = JSON.stringify(draft.url.trim());
  if (draft.method !== "POST") members.method = JSON.stringify(draft.method);
  if (delay) members.delay = JSON.stringify(readWaits(delay)[0]);
  const headers = draft.headers.filter(({ name, isHidden, isTyped }) => name.trim() && (!isHidden || isTyped));
  if (headers.length) members.headers = JSON.stringify(Object.fromEntries(headers.map(({ name, value }) => [name.trim(), value])));
  if (readLabels(draft.labels).length) members.labels = JSON.stringify(readLabels(draft.labels));
  Object.assign(members, bodyMembers(draft));
  members.retry = draft.retry.trim();
  members.retrySchedule = JSON.stringify(readWaits(draft.retrySchedule));
  for (const [name, callback] of Object.entries(draft.callbacks)) members[name] = JSON.stringify(callback);
  if (draft.retryWait.trim()) members.retryWait = JSON.stringify(draft.retryWait.trim());
  members.timeout = JSON.stringify(readWaits(draft.timeout)[0]);
  return objectText(members);
}

// Applies the person's changes to another version of the job: fields that the person did not change come from that version.
export function moveDraft(draft, original, now) {
  const moved = { ...now, isUrlChanged: draft.isUrlChanged };
  for (const name of ["url", "method", "labels", "retry", "retrySchedule", "retryWait", "timeout"]) if (draft[name] !== original[name]) moved[name] = draft[name];
  if (draft.body !== original.body || draft.bodyKind !== original.bodyKind) Object.assign(moved, { body: draft.body, bodyKind: draft.bodyKind });
  const removed = original.headers.filter(({ name }) => !draft.headers.some((header) => header.name === name)).map(({ name }) => name);
  const typed = draft.headers.filter((header) => header.isTyped);
  const others = now.headers.filter(({ name }) => !removed.includes(name) && !typed.some((header) => header.name === name));
  return { ...moved, headers: [...others, ...typed] };
}

const shellQuote = (text) => `'${text.replaceAll("'", `'\\''`)}'`;

// Returns a command that schedules the same job at this server. Hidden values are ***, for the person to fill in.
export function curlOf(job, text, server, hasToken) {
  const draft = draftOf(job, text);
  draft.headers = draft.headers.map((header) => ({ ...header, value: header.isHidden ? HIDDEN : header.value, isTyped: true }));
  const lines = [`curl ${server}/jobs -H 'Content-Type: application/json'`];
  if (hasToken) lines.push(`  -H "Authorization: Bearer $DUEPOST_TOKEN"`);
  lines.push(`  -d ${shellQuote(jobText(draft, { topic: job.topic }))}`);
  return lines.join(" \\\n");
}
