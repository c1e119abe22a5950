// The draft of a job to try: its form, its request, and the same request as code.

import { m } from "../lib.js";
import { LOCAL_RECEIVER } from "../format.js";
import { Form, Field, faultOf } from "../parts/form.js";

// The values of the form "Try it", and the job that they describe. Uses neither the page nor the network.
//
//   newDraft(query)    a draft, with the members of query put in
//   jobOf(draft)       {job, errors}: the job as an object; errors are the faults that the form itself finds: [{field, detail}]
//   jobText(job)       the JSON that is sent
//   JsonText           a body that is JSON, as it was typed: a JavaScript number would change 1.10 and 12345678901234567890

const DEFAULTS = {
  topic: "hello", jobId: "", url: LOCAL_RECEIVER, method: "POST", when: "delay", delay: "10s", dueAt: "",
  body: '{\n  "hello": "world"\n}', headers: "", labels: "", key: "", priority: "", retry: "", retrySchedule: "", timeout: "", ttl: "", group: "",
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
  set("key", draft.key);
  set("priority", integerOf("priority", draft.priority, errors));
  const headers = headersOf(draft.headers, errors);
  if (Object.keys(headers).length) job.headers = headers;
  if (draft.body !== "" && draft.method !== "GET" && draft.method !== "HEAD") job.body = bodyOf(draft.body);
  if (!job.topic) errors.push({ field: "topic", detail: "A job needs a topic" });
  return { job, errors };
}

class JsonText {
  constructor(text) {
    this.text = text.trim();
  }
}

export const jobText = (job) => `{${Object.entries(job).map(([name, value]) => `${JSON.stringify(name)}:${valueText(value)}`).join(",")}}`;

const valueText = (value) => (value instanceof JsonText ? value.text : JSON.stringify(value));

// Sends a body that is valid JSON as JSON, any other as text.
const bodyOf = (text) => (isJson(text) ? new JsonText(text) : text);

function isJson(text) {
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

// The form of "Try it". draft is changed in place.
//
//   m(JobForm, {draft, error, isBusy, whyNot, onsubmit})

const METHODS = ["POST", "PUT", "PATCH", "DELETE", "GET", "HEAD"];

export const JobForm = {
  view: ({ attrs: { draft, error, isBusy, whyNot, onsubmit } }) => {
    const field = (name, label, more = {}) =>
      m(Field, { label, name, value: draft[name], oninput: (value) => (draft[name] = value), error: faultOf(error, name), ...more });
    const hasBody = draft.method !== "GET" && draft.method !== "HEAD";
    return m(Form, { onsubmit, error: unplaced(error), isBusy, isDisabled: Boolean(whyNot), title: whyNot, submit: "Send the job" },
      m(".fields",
        field("topic", "Topic", { isRequired: true }),
        field("jobId", "Job id", { help: "Empty: the server generates one." })),
      m(".fields.url",
        field("method", "Method", { type: "select", options: METHODS }),
        field("url", "URL", { help: draft.url === LOCAL_RECEIVER ? "Run \"duepost receive\" on the server's host: it listens here and prints what arrives." : "Where the job is sent when it is due. Empty: the topic's url." })),
      m(".fields",
        field("when", "Due", { type: "select", options: [{ value: "delay", text: "after a delay" }, { value: "dueAt", text: "at a time" }] }),
        draft.when === "delay" ? field("delay", "Delay", { help: "Seconds, or 15m, 1h30m, 2d." }) : field("dueAt", "Time", { type: "datetime-local", step: 1 })),
      hasBody
        ? field("body", "Body", { type: "textarea", rows: 6, isCode: true, help: draft.body === "" ? "Empty: no body." : isJson(draft.body) ? "Valid JSON." : "Not JSON: sent as text." })
        : null,
      m("details.more", m("summary", "Headers, labels, retries, limits"),
        m(".form",
          field("headers", "Headers", { type: "textarea", rows: 2, isCode: true, placeholder: "X-Shop: north", help: "One per line, as Name: value." }),
          m(".fields",
            field("labels", "Labels", { placeholder: "vip, eu", help: "At most ten. You can filter lists by them." }),
            field("group", "Group", { help: "Sends to each endpoint of a group instead of the URL." })),
          m(".fields",
            field("key", "Key", { placeholder: "customer-7", help: "Jobs with the same key form a lane of the topic." }),
            field("priority", "Priority", { placeholder: "5", help: "0 to 9: higher goes first." })),
          m(".fields",
            field("retry", "Retries", { placeholder: "as the schedule" }),
            field("retrySchedule", "Retry schedule", { placeholder: "15s 3m 10m" })),
          m(".fields",
            field("timeout", "Timeout", { placeholder: "30s" }),
            field("ttl", "Expires after", { placeholder: "never" })))));
  },
};

const SHOWN = ["topic", "jobId", "method", "url", "delay", "dueAt", "body", "headers", "labels", "key", "priority", "group", "retry", "retrySchedule", "timeout", "ttl"];

// Returns the error without the faults that are shown at their fields.
function unplaced(error) {
  if (!error?.errors?.length) return error;
  const rest = error.errors.filter((fault) => !SHOWN.includes(fault.field.split(/[.[]/)[0]));
  return { title: error.title, status: error.status, detail: error.detail, errors: rest };
}

// A request to POST /jobs as code in several languages. The code reads the token from $TOKEN and never contains it.
//
//   LANGUAGES            [{name: "curl", write: (job, {url, hasToken}) => text}]

export const LANGUAGES = [
  { name: "curl", write: curl },
  { name: "Python", write: python },
  { name: "Node", write: node },
];

function curl(job, { url, hasToken }) {
  const lines = [`curl ${shellWord(url)}`, "-H 'Content-Type: application/json'"];
  if (hasToken) lines.push('-H "Authorization: Bearer $TOKEN"');
  lines.push(`-d ${shellWord(jsonLiteral(job, "  "))}`);
  return lines.join(" \\\n  ");
}

// Quotes text for sh.
function shellWord(text) {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

function python(job, { url, hasToken }) {
  const headers = hasToken
    ? '{"Content-Type": "application/json", "Authorization": "Bearer " + os.environ["TOKEN"]}'
    : '{"Content-Type": "application/json"}';
  return `import json${hasToken ? ", os" : ""}, urllib.request

job = ${pythonLiteral(job)}
headers = ${headers}
request = urllib.request.Request(${JSON.stringify(url)}, json.dumps(job).encode(), headers)
with urllib.request.urlopen(request) as answer:
    print(answer.status, json.load(answer))`;
}

const PYTHON_WORDS = new Map([[null, "None"], [true, "True"], [false, "False"]]);

const pythonLiteral = (value) =>
  literal(value, "", "    ", ",", (one, indent) => (one instanceof JsonText ? indented(pythonOfJson(one.text), indent) : pythonWord(one)));
const jsonLiteral = (value, step) =>
  literal(value, "", step, "", (one, indent) => (one instanceof JsonText ? indented(one.text, indent) : JSON.stringify(one)));

const pythonWord = (value) => PYTHON_WORDS.get(value) ?? JSON.stringify(value);

// Rewrites strings, because Python has other escapes. Numbers stay as they are: Python's integers have no limit.
const pythonOfJson = (text) => text.replace(/"(?:[^"\\]|\\.)*"|\b(?:true|false|null)\b/g, (token) => pythonWord(JSON.parse(token)));

// No string of JSON contains a line break.
const indented = (text, indent) => text.replaceAll("\n", `\n${indent}`);

// Whether JavaScript's numbers would change the body.
const isInexact = ({ body }) => body instanceof JsonText && /\d[\d.]{15,}/.test(body.text.replace(/"(?:[^"\\]|\\.)*"/g, ""));

// Writes a JSON value: on one line if it fits, else with a line for each item; `end` follows the last item.
function literal(value, indent, step, end, word) {
  if (value === null || typeof value !== "object" || value instanceof JsonText) return word(value, indent);
  const deeper = indent + step;
  const isList = Array.isArray(value);
  const items = isList
    ? value.map((one) => literal(one, deeper, step, end, word))
    : Object.entries(value).map(([name, one]) => `${JSON.stringify(name)}: ${literal(one, deeper, step, end, word)}`);
  const [open, close] = isList ? "[]" : "{}";
  const short = open + items.join(", ") + close;
  if (short.length + indent.length <= 76 && !short.includes("\n")) return short;
  return `${open}\n${items.map((item) => deeper + item).join(",\n")}${end}\n${indent}${close}`;
}

function node(job, { url, hasToken }) {
  const headers = hasToken
    ? '{ "Content-Type": "application/json", Authorization: `Bearer ${process.env.TOKEN}` }'
    : '{ "Content-Type": "application/json" }';
  const text = isInexact(job)
    ? `const text = ${JSON.stringify(jobText(job))}; // numbers that JavaScript would round`
    : `const text = JSON.stringify(${jsonLiteral(job, "  ")});`;
  return `${text}
const answer = await fetch(${JSON.stringify(url)}, {
  method: "POST",
  headers: ${headers},
  body: text,
});
console.log(answer.status, await answer.json());`;
}
