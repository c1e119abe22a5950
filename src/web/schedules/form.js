// The form of a schedule, new or changed, in a dialog.

import { m } from "../lib.js";
import { ApiError, patch, path, put, get } from "../api.js";
import { time, utc } from "../format.js";
import { changesOf, Dialog, Field, Form, faultOf, Raw, parseRaw } from "../parts/form.js";
import { toast } from "../parts/toast.js";

const NEW = { topic: "", scheduleId: "", kind: "cron", cron: "0 9 * * mon-fri", every: "1h", timezone: Intl.DateTimeFormat().resolvedOptions().timeZone, misfire: "one", overlap: "allow", jitter: "", grace: "", expectBy: "", startAt: "", endAt: "", windows: "", job: '{\n  "url": "https://example.com/hook",\n  "body": {}\n}' };

const draftOf = (schedule) => ({
  ...NEW, topic: schedule.topic, scheduleId: schedule.scheduleId, kind: schedule.cron ? "cron" : "every",
  cron: schedule.cron ?? "", every: schedule.every ? `${schedule.every}s` : "", timezone: schedule.timezone ?? "UTC",
  misfire: schedule.misfire ?? "one", overlap: schedule.overlap ?? "allow", jitter: schedule.jitter ? `${schedule.jitter}s` : "",
  grace: schedule.grace ? `${schedule.grace}s` : "", expectBy: schedule.expectBy ? `${schedule.expectBy}s` : "", startAt: schedule.startAt ?? "", endAt: schedule.endAt ?? "", windows: schedule.windows ? JSON.stringify(schedule.windows) : "", paused: schedule.paused,
  job: JSON.stringify(schedule.job ?? {}, null, 2),
});

function definitionOf(draft, job) {
  const definition = { [draft.kind]: draft[draft.kind], misfire: draft.misfire, overlap: draft.overlap, job };
  if (draft.kind === "cron" || draft.windows.trim()) definition.timezone = draft.timezone;
  if (draft.windows.trim()) definition.windows = parseRaw(draft.windows).value;
  if (draft.paused) definition.paused = true;
  for (const name of ["jitter", "grace", "expectBy", "startAt", "endAt"]) if (draft[name].trim()) definition[name] = draft[name].trim();
  return definition;
}

// Whether the server merges the objects of this member. A body and callbacks are replaced as a whole, as with PATCH /jobs.
const isMerged = (name) => name === "job" || name === "headers";

// attrs: schedule (null for a new one), etag, onclose(saved schedule or null)
export function ScheduleDialog({ attrs: { schedule, etag, onclose } }) {
  const draft = schedule ? draftOf(schedule) : { ...NEW };
  let error = null;
  let fault = null;
  let isBusy = false;
  const onsubmit = async () => {
    const read = parseRaw(draft.job);
    const windows = draft.windows.trim() ? parseRaw(draft.windows) : {};
    fault = read.error;
    error = windows.error ? new ApiError(400, { title: "Not sent", errors: [{ field: "windows", detail: windows.error }] }) : null;
    if (fault || error) return;
    isBusy = true;
    error = null;
    try {
      const where = path`/schedules/${draft.topic.trim()}/${draft.scheduleId.trim()}`;
      const definition = definitionOf(draft, read.value ?? {});
      const { body } = schedule
        ? await patch(where, changesOf(definitionOf(draftOf(schedule), schedule.job), definition, isMerged), { ifMatch: etag })
        : await put(where, definition, { headers: { "If-None-Match": "*" } });
      toast(`${draft.scheduleId.trim()} is saved.`);
      onclose(body);
    } catch (problem) {
      error = problem.status === 412 ? new ApiError(412, { title: "Not saved", detail: schedule ? "The schedule has changed since you opened it. Close this dialog and open it again." : "A schedule with this name exists already." }) : problem;
    }
    isBusy = false;
    m.redraw();
  };
  return { view: () => m(Dialog, { title: schedule ? `Schedule ${schedule.scheduleId}` : "New schedule", onclose: () => onclose(null), isWide: true }, m(Form, { onsubmit, error, isBusy, oncancel: () => onclose(null) }, fields(draft, error, fault, !schedule))) };
}

function fields(draft, error, fault, isNew) {
  const field = (name, label, more = {}) => m(Field, { label, value: draft[name], error: faultOf(error, name), oninput: (text) => (draft[name] = text), ...more });
  const isCron = draft.kind === "cron";
  return [
    isNew ? m(".fields", field("topic", "Topic", { isRequired: true }), field("scheduleId", "Name", { isRequired: true })) : null,
    m(".fields",
      field("kind", "Times", { type: "select", options: [{ value: "cron", text: "cron expression" }, { value: "every", text: "fixed interval" }] }),
      isCron ? field("cron", "Cron expression", { isCode: true, help: "minute hour day month weekday, or @daily; a sixth field, for seconds, may come first" }) : field("every", "Every", { help: "such as 30s, 15m or 1d" }),
      isCron || draft.windows.trim() ? field("timezone", "Time zone", { list: zones() }) : null),
    m(NextTimes, { query: { ...(isCron ? { expression: draft.cron } : { every: draft.every }), ...(isCron || draft.windows.trim() ? { timezone: draft.timezone } : {}), ...(draft.windows.trim() ? { windows: draft.windows } : {}) } }),
    m("details", m("summary", "When times are missed, overlap, limits"),
      m(".fields",
        field("misfire", "Missed times", { type: "select", options: [{ value: "one", text: "one job for all" }, { value: "skip", text: "no job" }, { value: "all", text: "a job for each" }] }),
        field("overlap", "While the last job waits", { type: "select", options: [{ value: "allow", text: "create the next one" }, { value: "skip", text: "create none" }] }),
        field("jitter", "Jitter", { help: "due up to this much later, such as 30s" }), field("grace", "Grace", { help: "a time counts as missed if duepost is later than this; default 60s" }),
        field("expectBy", "Expect by", { help: "the alert missed begins if no job is delivered so soon after it was due, such as 10m" }),
        field("startAt", "Start", { help: "RFC 3339, such as 2030-01-01T00:00:00Z" }), field("endAt", "End"),
        field("windows", "Windows", { isCode: true, help: "times outside do not occur, such as [{\"from\": \"09:00\", \"to\": \"17:00\"}]" }))),
    m(Raw, { label: "Job", rows: 8, text: draft.job, error: fault ?? faultOf(error, "job"), oninput: (text) => (draft.job = text), help: isNew ? "As in POST /jobs, without topic, jobId and times." : "As in POST /jobs. *** stands for a hidden value. Leave *** to keep the value." }),
  ];
}

const zones = () => (Intl.supportedValuesOf ? ["UTC", ...Intl.supportedValuesOf("timeZone")] : ["UTC"]);

// The next times of a schedule while a person types it: the schedule in words and five times, or the error. Asks the
// server a moment after the last change.

const WAIT_MS = 250;

// attrs: query {expression, timezone, every, windows}
function NextTimes() {
  let asked = null;
  let answer = null;
  let error = null;
  let timer = null;
  const ask = (query) => {
    const text = JSON.stringify(query);
    if (text === asked) return;
    asked = text;
    clearTimeout(timer);
    timer = setTimeout(async () => {
      try {
        const { body } = await get("/cron", query);
        if (asked === text) [answer, error] = [body, null];
      } catch (problem) {
        if (asked === text) [answer, error] = [null, problem];
      }
      m.redraw();
    }, WAIT_MS);
  };
  return {
    onremove: () => clearTimeout(timer),
    view: ({ attrs: { query } }) => {
      if (!query.expression && !query.every) return m(".next-times.sub", "Type a cron expression, such as 30 9 * * mon-fri, or an interval.");
      ask(query);
      return m(".next-times", { role: "status" }, error ? m("p.field-error", faultText(error)) : answer ? times(answer, Boolean(query.expression)) : m("p.sub", "…"));
    },
  };
}

const faultText = (error) => error.errors?.map((one) => one.detail).join(" ") || error.detail || error.message;

const times = ({ text, timezone, next }, isCron) => [
  text ? m("p", m("strong", text), isCron ? m("span.sub", `, ${timezone}`) : null) : null,
  next.length ? m("ol", next.map((at) => m("li", m("time", { datetime: at, title: utc(at) }, isCron ? inZone(at, timezone) : time(at))))) : m("p.field-error", "The schedule has no next time."),
];

// The expression is in the time of its zone. The browser's local time is shown next to it where the two differ.
function inZone(at, timeZone) {
  const format = (zone) => new Intl.DateTimeFormat(undefined, { weekday: "short", year: "numeric", month: "short", day: "numeric", hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23", timeZone: zone }).format(new Date(at));
  try {
    const there = format(timeZone);
    return there === format(undefined) ? there : [there, m("span.sub", ` here ${time(at)}`)];
  } catch {
    return time(at); // a zone that the browser does not know
  }
}

// CronWords: m(CronWords, {cron, timezone}). A cron expression in words, which the server writes; empty until they arrive.

const known = new Map();

export function CronWords() {
  let asked = null;
  const ask = async (cron, timezone) => {
    asked = cron;
    try {
      known.set(cron, (await get("/cron", { expression: cron, timezone })).body.text);
      m.redraw();
    } catch {
      // The page shows the expression itself as well.
    }
  };
  return {
    view: ({ attrs: { cron, timezone } }) => {
      if (!cron) return null;
      if (!known.has(cron) && asked !== cron) ask(cron, timezone);
      return known.has(cron) ? m(".cron-words", known.get(cron)) : null;
    },
  };
}
