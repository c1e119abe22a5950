// The form of a schedule, new or changed, in a dialog.

import { m } from "../lib.js";
import { ApiError, patch, path, put } from "../api.js";
import { changesOf } from "../changes.js";
import { Dialog } from "../parts/dialog.js";
import { Field, Form, faultOf } from "../parts/form.js";
import { Raw, parseRaw } from "../parts/raw.js";
import { toast } from "../parts/toast.js";
import { NextTimes } from "./times.js";

const NEW = { topic: "", scheduleId: "", kind: "cron", cron: "0 9 * * mon-fri", every: "1h", timezone: Intl.DateTimeFormat().resolvedOptions().timeZone, misfire: "one", overlap: "allow", jitter: "", grace: "", startAt: "", endAt: "", job: '{\n  "url": "https://example.com/hook",\n  "body": {}\n}' };

const draftOf = (schedule) => ({
  ...NEW, topic: schedule.topic, scheduleId: schedule.scheduleId, kind: schedule.cron ? "cron" : "every",
  cron: schedule.cron ?? "", every: schedule.every ? `${schedule.every}s` : "", timezone: schedule.timezone ?? "UTC",
  misfire: schedule.misfire ?? "one", overlap: schedule.overlap ?? "allow", jitter: schedule.jitter ? `${schedule.jitter}s` : "",
  grace: schedule.grace ? `${schedule.grace}s` : "", startAt: schedule.startAt ?? "", endAt: schedule.endAt ?? "", paused: schedule.paused,
  job: JSON.stringify(schedule.job ?? {}, null, 2),
});

function definitionOf(draft, job) {
  const definition = { [draft.kind]: draft[draft.kind], misfire: draft.misfire, overlap: draft.overlap, job };
  if (draft.kind === "cron") definition.timezone = draft.timezone;
  if (draft.paused) definition.paused = true;
  for (const name of ["jitter", "grace", "startAt", "endAt"]) if (draft[name].trim()) definition[name] = draft[name].trim();
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
    fault = read.error;
    if (fault) return;
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
      isCron ? field("timezone", "Time zone", { list: zones() }) : null),
    m(NextTimes, { query: isCron ? { expression: draft.cron, timezone: draft.timezone } : { every: draft.every } }),
    m("details", m("summary", "When times are missed, overlap, limits"),
      m(".fields",
        field("misfire", "Missed times", { type: "select", options: [{ value: "one", text: "one job for all" }, { value: "skip", text: "no job" }, { value: "all", text: "a job for each" }] }),
        field("overlap", "While the last job waits", { type: "select", options: [{ value: "allow", text: "create the next one" }, { value: "skip", text: "create none" }] }),
        field("jitter", "Jitter", { help: "due up to this much later, such as 30s" }), field("grace", "Grace", { help: "a time counts as missed if duepost is later than this; default 60s" }),
        field("startAt", "Start", { help: "RFC 3339, such as 2030-01-01T00:00:00Z" }), field("endAt", "End"))),
    m(Raw, { label: "Job", rows: 8, text: draft.job, error: fault ?? faultOf(error, "job"), oninput: (text) => (draft.job = text), help: isNew ? "As in POST /jobs, without topic, jobId and times." : "As in POST /jobs. *** stands for a hidden value. Leave *** to keep the value." }),
  ];
}

const zones = () => (Intl.supportedValuesOf ? ["UTC", ...Intl.supportedValuesOf("timeZone")] : ["UTC"]);
