// A job as a person edits it, and the JSON that is sent for it. Uses neither the page nor the network.
//
// A draft has the texts of the fields. A draft does not have hidden values (a url's query, headers). A field that the
// person does not change is not sent, so the server keeps its value.

import { m } from "../lib.js";
import { bodyOf, memberText, readJson, indent } from "./body.js";
import { Field, faultOf } from "../parts/form.js";
import { Icon } from "../parts/page.js";

export const METHODS = ["POST", "GET", "PUT", "PATCH", "DELETE", "HEAD"];
export const HIDDEN = "***";

const HIDDEN_QUERY = "?***";
const DEFAULT_PRIORITY = "5";
const CALLBACKS = ["onDelivered", "onDead", "onAttempt"];

export function draftOf(job, text) {
  return {
    url: job.url ?? "",
    method: job.method ?? "POST",
    key: job.key ?? "",
    priority: String(job.priority ?? DEFAULT_PRIORITY),
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
function isElsewhere(draft, original) {
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
  for (const name of ["retry", "priority"]) if (!/^\d+$/.test(draft[name].trim())) faults.push({ field: name, detail: "must be a whole number" });
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
  take("priority", Number(draft.priority));
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
  if (draft.key) members.key = JSON.stringify(draft.key);
  if (draft.priority.trim() !== DEFAULT_PRIORITY) members.priority = draft.priority.trim();
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
  for (const name of ["url", "method", "labels", "priority", "retry", "retrySchedule", "retryWait", "timeout"]) if (draft[name] !== original[name]) moved[name] = draft[name];
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

// JobFields: the fields of a draft, to edit a job or to send a copy of it.
//
//   m(JobFields, {draft, original, error, isNew})    changes draft in place; isNew: for a new job

const BODY_KINDS = [
  { value: "json", text: "JSON" },
  { value: "text", text: "Text" },
  { value: "base64", text: "Base64" },
  { value: "none", text: "No body" },
];

const change = (draft, name) => (value) => (draft[name] = value);

export const JobFields = {
  view: ({ attrs: { draft, original, error, isNew } }) => [
    m(".form-row",
      m(Field, { class: "is-narrow", label: "Method", type: "select", options: METHODS, value: draft.method, oninput: change(draft, "method"), error: faultOf(error, "method") }),
      m(Field, {
        label: "URL", name: "url", value: draft.url, isCode: true, error: faultOf(error, "url"),
        help: hasHiddenQuery(original.url) ? `The query is hidden. ${isNew ? "T" : "Leave the URL as it is to keep it, or t"}ype the whole URL.` : "",
        oninput: (value) => Object.assign(draft, { url: value, isUrlChanged: value !== original.url }),
      })),
    bodyFields(draft, error),
    headerFields(draft, original, error),
    m(".form-row",
      m(Field, { label: "Retries", type: "number", min: "0", max: "100", value: draft.retry, oninput: change(draft, "retry"), error: faultOf(error, "retry") }),
      m(Field, { label: "Waits between attempts", value: draft.retrySchedule, placeholder: "15s 3m 1h", oninput: change(draft, "retrySchedule"), error: faultOf(error, "retrySchedule") }),
      m(Field, { label: "Timeout, seconds", value: draft.timeout, oninput: change(draft, "timeout"), error: faultOf(error, "timeout") })),
    original.retryWait ? m(Field, { label: "Wait as an expression, ms", value: draft.retryWait, isCode: true, help: "Replaces the waits above; retried is the number of retries so far.", oninput: change(draft, "retryWait"), error: faultOf(error, "retryWait") }) : null,
    m(".form-row",
      m(Field, { label: "Labels, separated by commas", value: draft.labels, oninput: change(draft, "labels"), error: faultOf(error, "labels") }),
      isNew ? m(Field, { label: "Key", value: draft.key, oninput: change(draft, "key"), error: faultOf(error, "key") }) : null,
      m(Field, { class: "is-narrow", label: "Priority", type: "number", min: "0", max: "9", value: draft.priority, oninput: change(draft, "priority"), error: faultOf(error, "priority") })),
  ],
};

function bodyFields(draft, error) {
  const value = draft.bodyKind === "json" ? readJson(draft.body) : null;
  return m(".body-fields",
    m(".form-row",
      m(Field, { class: "is-narrow", label: "Body as", type: "select", options: BODY_KINDS, value: draft.bodyKind, oninput: change(draft, "bodyKind") }),
      value?.items ? m("button", { type: "button", onclick: () => (draft.body = indent(value)) }, "Indent") : null),
    draft.bodyKind === "none" ? null
      : m(Field, { label: "Body", type: "textarea", rows: 8, isCode: true, value: draft.body, oninput: change(draft, "body"), error: faultOf(error, "body") ?? faultOf(error, "bodyBase64") }));
}

function headerFields(draft, original, error) {
  const isAway = isElsewhere(draft, original) && draft.headers.some((header) => header.isHidden && !header.isTyped);
  return m("fieldset.headers", m("legend", "Headers"),
    draft.headers.map((header) => headerField(draft, header)),
    m("button", { type: "button", onclick: () => draft.headers.push({ name: "", value: "", isTyped: true, isNew: true }) }, "Add a header"),
    isAway ? m("p.warning", { role: "status" }, "The new URL is on another server, which does not get hidden values. Headers with hidden values are removed unless you type these again.") : null,
    faultOf(error, "headers") ? m(".field-error", faultOf(error, "headers")) : null);
}

function headerField(draft, header) {
  const { name, value, isHidden, isNew, isTyped } = header;
  return m(".header-row",
    m("input.code", { "aria-label": "Header name", value: name, readonly: !isNew, placeholder: "X-Name", oninput: (event) => (header.name = event.target.value) }),
    m("input.code", {
      "aria-label": name ? `Value of ${name}` : "Header value", value, autocomplete: "off", placeholder: isHidden && !isTyped ? "hidden, stays as it is" : "",
      oninput: (event) => Object.assign(header, { value: event.target.value, isTyped: true }),
    }),
    m("button.quiet", { type: "button", "aria-label": `Remove ${name || "header"}`, onclick: () => draft.headers.splice(draft.headers.indexOf(header), 1) }, m(Icon, { name: "close" })));
}
