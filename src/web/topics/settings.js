// The settings of a topic: how each is shown and entered. A row has name, title, kind, help, preset (the value that applies if
// the setting is missing, or the server's option that has this value), and for some kinds more.
//
//   kind   "bool", "integer", "number", "duration" (seconds or 15m), "choice", "text", "waits" (a retry schedule),
//          "rate", or "json"
//
// textOf(setting, value) is the text of the field for a value; valueOf(setting, text) is {value} or {error}.

import { m } from "../lib.js";
import { href } from "../router.js";
import { ApiError, get, patch, path, post, put } from "../api.js";
import { parseRaw, changesOf, isPlain, Dialog, Field, Form, faultOf } from "../parts/form.js";
import { Button } from "../parts/page.js";
import { Table } from "../parts/table.js";
import { toast } from "../parts/toast.js";
import { shown } from "../parts/values.js";

export const SETTINGS = [
  { name: "paused", title: "Paused", preset: "no", kind: "bool", help: "No attempt begins. Jobs are still accepted." },
  { name: "pauseReason", title: "Reason of the pause", kind: "text", help: "Shown to people; removed when the topic is resumed." },
  { name: "delivery", title: "Delivery", preset: "push", kind: "choice", options: ["push", "pull"], help: "pull: workers lease the jobs over HTTP." },
  { name: "maxInFlight", title: "Maximum attempts at once", preset: "--max-in-flight-topic", kind: "integer", help: "At least 1; the limit is exact over all processes." },
  { name: "maxPending", title: "Quota of jobs", preset: "no limit", kind: "integer", help: "At least 0: jobs that wait or are in flight; new jobs above it are answered 429." },
  { name: "rate", title: "Rate", preset: "no limit", kind: "rate", help: "Attempts in a number of seconds, such as 10/1, 600/60 burst 5, or 600/60 window: all at once in each window of 60 s." },
  { name: "limit", title: "Shared limit", preset: "none", kind: "text", help: "The name of a limit that the topic shares with other topics; make it first under Limits." },
  { name: "batch", title: "Many jobs in one request", preset: "none", kind: "json", help: "An object with size (1 to 100 jobs), wait (at most 60 s for others) and maxBytes, such as {\"size\": 50, \"wait\": 2}." },
  { name: "defer", title: "Deferred ends", preset: "no", kind: "bool", help: "Receivers may answer 202 with Duepost-Defer, and end the attempt later with its token." },
  { name: "events", title: "Events as a stream", preset: "no", kind: "bool", help: "GET /events shows what happens to jobs: the last 10,000 events." },
  { name: "results", title: "Keep answers as results", preset: "no", kind: "bool", help: "The answer that delivers a job is kept with it, as long as the job is kept." },
  { name: "weight", title: "Weight", preset: "1", kind: "integer", help: "Share of attempts among topics with due jobs, 1 to 100." },
  { name: "windows", title: "Windows", preset: "always open", kind: "json", help: "Attempts begin only at these times of the week, such as [{\"days\": [\"mon\", \"fri\"], \"from\": \"09:00\", \"to\": \"17:00\", \"timezone\": \"Europe/Berlin\"}]." },
  { name: "order", title: "Order", preset: "due", kind: "choice", options: ["due", "fifo"], help: "fifo: strictly in order, one at a time." },
  { name: "onHeadDead", title: "When a job is dead", preset: "go", kind: "choice", options: ["go", "pause"], help: "Only with order fifo." },
  { name: "perKey", title: "Bounds of each key", preset: "none", kind: "json", help: "An object with maxInFlight, rate, order (fifo), maxPending, weight, such as {\"maxInFlight\": 2}. Not with order fifo." },
  { name: "priorityAge", title: "Priority age", preset: "1h", kind: "duration", help: "After this time, a job goes first like one of the next higher priority. off: never." },
  { name: "retryPriority", title: "Priority of retries", preset: "the job's own", kind: "integer", help: "0 to 9, for jobs that had an attempt." },
  { name: "retrySchedule", title: "Retry schedule", preset: "--retry-schedule", kind: "waits", help: "Waits between attempts, such as 15s 3m 10m. Empty: no retries." },
  { name: "timeout", title: "Timeout", preset: "30s", kind: "duration", help: "Longest wait for an answer, such as 10 or 1m." },
  { name: "jitter", title: "Jitter of retries", preset: "0", kind: "number", help: "0 to 1: each wait grows by up to this share." },
  { name: "url", title: "Url", preset: "none", kind: "text", help: "For jobs without their own." },
  { name: "headers", title: "Headers", preset: "none", kind: "json", help: "An object of strings. Values are shown as ***: leave *** to keep a value of this topic." },
  { name: "secrets", title: "Signing secrets", preset: "the server's keys", kind: "json", help: "An array of whsec_… or whsk_…. They are not shown: to change one, enter all of them." },
  { name: "signature", title: "Form of signatures", preset: "standard", kind: "choice", options: ["standard", "rfc9421", "both"], help: "standard: Standard Webhooks. rfc9421: HTTP message signatures." },
  { name: "auth", title: "Identity towards receivers", preset: "none", kind: "json", help: "An object with type (jwt, oauth2, mtls) and its members. Secrets are shown as ***: enter them again when you change another member." },
  { name: "egressProxy", title: "Proxy", preset: "--egress-proxy", kind: "text", help: "http://[user:password@]host:port, for the requests of this topic." },
  { name: "alerts", title: "Alerts", preset: "none", kind: "json", help: "What is reported, and where to, such as [{\"on\": \"died\", \"url\": \"https://example.com/alerts\"}]. form slack sends a text for a chat. The array is replaced as a whole: type hidden queries again." },
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

// All settings of a topic, each with its value, the origin of the value, and a button that changes it.

// attrs: topic, settings, from ({name: "topic", a pattern, or "default"}; null for a pattern), whyNot, onchange(setting)
export const SettingTable = {
  view: ({ attrs: { settings, from, whyNot, onchange } }) =>
    m(Table, {
      label: "Settings",
      rows: SETTINGS,
      rowKey: (setting) => setting.name,
      columns: [
        { name: "title", title: "Setting", view: (setting) => [setting.title, m(".sub", setting.help)] },
        { name: "value", title: "Value", isWide: true, view: (setting) => valueText(setting, settings[setting.name]) },
        ...(from ? [{ name: "from", title: "From", view: (setting) => origin(from[setting.name], settings[setting.name]) }] : []),
        { name: "change", title: "", view: (setting) => m(Button, { kind: "quiet", whyNot, label: `Change ${setting.title}`, onclick: () => onchange(setting) }, "Change") },
      ],
    }),
};

function valueText(setting, value) {
  if (value === undefined) return m("span.faint", setting.preset ?? "–");
  if (setting.kind === "bool") return value ? "yes" : "no";
  return m("code", setting.kind === "json" ? JSON.stringify(value) : textOf(setting, value));
}

function origin(from, value) {
  if (from === "topic" || (!from && value !== undefined)) return "this topic";
  if (!from || from === "default") return m("span.faint", "default");
  return m("a", { href: href(["topics", from]) }, from);
}

// A dialog for one setting of a topic or a pattern: a new value, or no value of its own.

// For these settings, the server merges the new object into the old one. For all others, it replaces the old object.
const MERGED = ["headers", "rate", "perKey"];

// attrs: topic (or pattern), setting, value, from, onclose(hasChanged)
export function SettingDialog({ attrs: { topic, setting, value, from, onclose } }) {
  const own = from === "topic" ? value : undefined;
  let text = value === undefined && setting.kind === "bool" ? "true" : value === undefined ? setting.options?.at(-1) ?? "" : textOf(setting, value);
  let error = null;
  let fault = null;
  let isBusy = false;

  const send = async (change, notice) => {
    isBusy = true;
    error = null;
    try {
      await checkUnchanged(topic, setting.name, own);
      await patch(path`/topics/${topic}`, { [setting.name]: MERGED.includes(setting.name) && isPlain(own) && isPlain(change) ? changesOf(own, change) : change });
      toast(notice);
      onclose(true);
    } catch (problem) {
      error = problem;
    }
    isBusy = false;
    m.redraw();
  };
  const tryAlerts = async () => {
    isBusy = true;
    error = null;
    try {
      const { body } = await post(path`/topics/${topic}/alerts/test`);
      toast(`${body.jobs.length === 1 ? "A test is" : `${body.jobs.length} tests are`} sent. The attempts of the jobs in duepost~alerts show the answers.`);
    } catch (problem) {
      error = problem;
    }
    isBusy = false;
    m.redraw();
  };
  const onsubmit = () => {
    const read = valueOf(setting, text);
    fault = read.error;
    if (!fault) send(read.value, `${setting.title} of ${topic} is saved.`);
  };

  return {
    view: ({ attrs: { from } }) =>
      m(Dialog, { title: `${setting.title} of ${topic}`, onclose: () => onclose(false) },
        m("p.sub", from === "topic" ? "It has a value of its own." : from && from !== "default" ? `Its value comes from ${from}.` : "It has the server's default."),
        m(Form, { onsubmit, error, isBusy, oncancel: () => onclose(false) },
          field(setting, text, fault ?? faultOf(error, setting.name), (typed) => (text = typed))),
        setting.name === "alerts" && value?.length ? m("button.quiet", { type: "button", disabled: isBusy, onclick: tryAlerts }, "Send a test of each saved alert") : null,
        from === "topic"
          ? m("button.quiet", { type: "button", disabled: isBusy, onclick: () => send(null, `${setting.title} of ${topic} has no value of its own now.`) }, "Remove own value")
          : null),
  };
}

// The API has no ETag for topics. This check shortens the time in which another person's change could be overwritten.
async function checkUnchanged(topic, name, own) {
  const { body } = await get(path`/topics/${topic}`);
  const isOwn = body.from ? body.from[name] === "topic" : name in body.settings;
  if (JSON.stringify(isOwn ? body.settings[name] : undefined) === JSON.stringify(own)) return;
  throw new ApiError(412, { title: "Not saved", detail: "This setting has changed since you opened it. Close this dialog, check the value, and open it again." });
}

function field(setting, text, error, oninput) {
  const common = { label: setting.title, help: setting.help, error, oninput };
  if (setting.kind === "bool") return m(Field, { ...common, type: "select", value: text, options: [{ value: "true", text: "yes" }, { value: "false", text: "no" }] });
  if (setting.kind === "choice") return m(Field, { ...common, type: "select", value: text, options: setting.options });
  if (setting.kind === "json") return m(Field, { ...common, type: "textarea", rows: 6, isCode: true, value: text });
  return m(Field, { ...common, value: text });
}

// A dialog that makes or changes several settings of a limit, or of a key of a topic.
//
// attrs: what ("Limit"), name (null: the person enters it, with the text help), fields (rows as in SETTINGS), settings, etag (none: there are no
// settings yet), pathOf(name), onclose(hasChanged)
export function BoundsDialog({ attrs: { what, help, fields, pathOf, onclose, ...old } }) {
  const state = { name: old.name ?? "", texts: fields.map((row) => textOf(row, old.settings?.[row.name])), error: null, isBusy: false };
  const onsubmit = async () => {
    const values = fields.map((row, i) => (state.texts[i].trim() ? valueOf(row, state.texts[i]) : { value: null }));
    const errors = values.flatMap(({ error }, i) => (error ? [{ field: fields[i].name, detail: error }] : []));
    state.error = errors.length ? { title: "Not sent", detail: "Some fields are not right.", errors } : null;
    if (state.error) return;
    const settings = Object.fromEntries(fields.map((row, i) => [row.name, values[i].value]));
    const name = old.name ?? state.name.trim();
    state.isBusy = true;
    try {
      await (old.etag ? patch(pathOf(name), settings, { ifMatch: old.etag }) : put(pathOf(name), settings, { headers: { "If-None-Match": "*" } }));
      toast(`${shown(name)} is saved.`);
      onclose(true);
    } catch (problem) {
      state.error = problem.status === 412 ? new ApiError(412, { title: "Not saved", detail: old.name === null ? `A ${what.toLowerCase()} with this name has settings already.` : `The ${what.toLowerCase()} has changed since you opened it. Close this dialog and open it again.` }) : problem;
    }
    state.isBusy = false;
    m.redraw();
  };
  return {
    view: () =>
      m(Dialog, { title: old.name === null ? `New ${what.toLowerCase()}` : `${what} ${shown(old.name)}`, onclose: () => onclose(false) },
        m(Form, { onsubmit, error: state.error, isBusy: state.isBusy, oncancel: () => onclose(false) },
          old.name === null ? m(Field, { label: what, value: state.name, isRequired: true, oninput: (text) => (state.name = text), help }) : null,
          fields.map((row, i) => m(Field, { label: row.title, help: row.help, value: state.texts[i], error: faultOf(state.error, row.name), oninput: (text) => (state.texts[i] = text) })))),
  };
}
