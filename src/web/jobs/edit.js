// The dialogs that change one job, send it again, or move its time.

import { m } from "../lib.js";
import { href } from "../router.js";
import { get, patch, path, post } from "../api.js";
import { time } from "../format.js";
import { draftOf, faultsOf, moveDraft, patchText, JobFields, hasHiddenQuery, hiddenCallbacks, jobText } from "./draft.js";
import { Dialog, Form, Field, faultOf, isWhen, WhenFields, whenQuery } from "../parts/form.js";
import { toast } from "../parts/toast.js";

// EditDialog: changes a job's members. The request names the version of the job that was read (If-Match). If the job has
// changed since, the server refuses the request, and the person sees the differences and decides.

const SHOWN = ["state", "dueAt", "attempts", "url", "method", "key", "priority", "labels", "retry", "retrySchedule", "retryWait", "timeout", "headers", "expiresAt", "body", "bodyBase64"];
const valueText = (value) => (value === undefined ? "none" : typeof value === "string" ? (/^\d{4}-.*Z$/.test(value) ? time(value) : value) : JSON.stringify(value));
const short = (text) => (text.length > 120 ? `${text.slice(0, 120)}…` : text);

// Returns the differences between two versions of a job: [{name, was, is}].
function differences(was, is) {
  return SHOWN.filter((name) => JSON.stringify(was[name]) !== JSON.stringify(is[name])).map((name) => ({ name, was: valueText(was[name]), is: valueText(is[name]) }));
}

// attrs: job, text, etag (as they were read), onclose, onsaved.
export function EditDialog({ attrs: { job, text, etag } }) {
  const state = { read: { job, text, etag }, original: draftOf(job, text), draft: draftOf(job, text), error: null, isBusy: false, conflict: null };
  const where = path`/jobs/${job.topic}/${job.jobId}`;

  const save = async (attrs) => {
    const errors = faultsOf(state.draft);
    state.error = errors.length ? { title: "Not sent", detail: "Some fields are not right.", errors } : null;
    const members = patchText(state.draft, state.original);
    if (state.error) return;
    if (!members) return attrs.onclose();
    state.isBusy = true;
    try {
      await patch(where, members, { ifMatch: state.read.etag });
      attrs.onclose();
      toast("Saved.");
      attrs.onsaved();
    } catch (error) {
      await refused(error);
    }
    state.isBusy = false;
    m.redraw();
  };

  const refused = async (error) => {
    state.error = error;
    if (error.status !== 412) return;
    try {
      const now = await get(where);
      state.conflict = { job: now.body, text: now.text, etag: now.etag, differences: differences(state.read.job, now.body) };
      state.error = null;
    } catch (gone) {
      state.error = gone;
    }
  };

  const goOn = () => {
    const original = draftOf(state.conflict.job, state.conflict.text);
    Object.assign(state, { read: state.conflict, original, draft: moveDraft(state.draft, state.original, original), conflict: null });
  };
  const takeTheirs = () => {
    goOn();
    state.draft = draftOf(state.read.job, state.read.text);
  };

  return {
    view: ({ attrs }) =>
      m(Dialog, { title: `Edit ${job.topic}/${job.jobId}`, onclose: attrs.onclose, isWide: true },
        state.conflict
          ? conflictView(state.conflict, { onover: () => { goOn(); save(attrs); }, ontheirs: takeTheirs, onback: goOn })
          : m(Form, { onsubmit: () => save(attrs), error: state.error, isBusy: state.isBusy, submit: "Save", oncancel: attrs.onclose },
              job.state === "dead" ? m("p.hint", "The job is dead. It stays dead until you run it again, and is then sent with these values.") : null,
              m(JobFields, { draft: state.draft, original: state.original, error: state.error }))),
  };
}

function conflictView({ differences: found }, { onover, ontheirs, onback }) {
  return m(".conflict", { role: "alert" },
    m("p", m("strong", "The job has changed since you opened it. "), "Your changes were not saved."),
    found.length
      ? m("table.plain", { "aria-label": "What has changed" },
          m("thead", m("tr", m("th", { scope: "col" }, "Member"), m("th", { scope: "col" }, "When you opened it"), m("th", { scope: "col" }, "Now"))),
          m("tbody", found.map((one) => m("tr", m("th", { scope: "row" }, one.name), m("td", short(one.was)), m("td", short(one.is))))))
      : m("p", "Only hidden values, or its version, differ."),
    m(".dialog-actions",
      m("button", { type: "button", onclick: ontheirs }, "Discard my changes"),
      m("button", { type: "button", onclick: onback }, "Back to my changes"),
      m("button.primary", { type: "button", onclick: onover }, "Overwrite with my changes")));
}

// ResendDialog: sends a copy of a job as a new job. Hidden values have to be typed again, since only the server has them.

// attrs: job, text, isFree (whether no waiting job has its id), onclose, onsent(topic, jobId).
export function ResendDialog({ attrs: { job, text } }) {
  const draft = draftOf(job, text);
  const original = draftOf(job, text);
  const lost = draft.headers.filter((header) => header.isHidden).map((header) => header.name);
  const isQueryLost = hasHiddenQuery(draft.url);
  const lostCallbacks = hiddenCallbacks(draft);
  for (const name of lostCallbacks) delete draft.callbacks[name];
  draft.isUrlChanged = true;
  for (const header of draft.headers) header.isNew = true;
  const state = { jobId: "", delay: "", error: null, isBusy: false };

  const send = async ({ onclose, onsent }) => {
    const errors = faultsOf(draft);
    state.error = errors.length ? { title: "Not sent", detail: "Some fields are not right.", errors } : null;
    if (state.error) return;
    state.isBusy = true;
    try {
      const { body } = await post("/jobs", jobText(draft, { topic: job.topic, jobId: state.jobId.trim(), delay: state.delay.trim() }));
      onclose();
      toast(["Scheduled as ", m("a", { href: href(["jobs", body.topic, body.jobId]) }, `${body.topic}/${body.jobId}`)]);
      onsent(body);
    } catch (error) {
      state.error = error;
    }
    state.isBusy = false;
    m.redraw();
  };

  return {
    view: ({ attrs }) =>
      m(Dialog, { title: "Send as a new job", onclose: attrs.onclose, isWide: true },
        m(Form, { onsubmit: () => send(attrs), error: state.error, isBusy: state.isBusy, submit: "Schedule", oncancel: attrs.onclose },
          lost.length || isQueryLost
            ? m("p.warning", "Only the server has the hidden values. Type these again: ", [isQueryLost ? "the query of the URL" : "", ...lost].filter(Boolean).join(", "), ", or leave them out.") : null,
          lostCallbacks.length ? m("p.warning", `The new job has no ${lostCallbacks.join(", ")}: parts are hidden.`) : null,
          m(".form-row",
            m(Field, { label: "New id", value: state.jobId, placeholder: "generated by the server", error: faultOf(state.error, "jobId"), oninput: (value) => (state.jobId = value) }),
            attrs.isFree ? m("button", { type: "button", onclick: () => (state.jobId = job.jobId) }, "Same id") : null,
            m(Field, { label: "Due in", value: state.delay, placeholder: "now", error: faultOf(state.error, "delay"), oninput: (value) => (state.delay = value) })),
          m(JobFields, { draft, original, error: state.error, isNew: true }))),
  };
}

// RescheduleDialog: changes the due time of a job, unless the job has changed since it was read.

// attrs: job, etag, onclose, onsaved.
export function RescheduleDialog() {
  const state = { when: { delay: "15m" }, error: null, isBusy: false };
  const save = async ({ job, etag, onclose, onsaved }) => {
    state.isBusy = true;
    try {
      const { body } = await patch(path`/jobs/${job.topic}/${job.jobId}`, whenQuery(state.when), { ifMatch: etag });
      onclose();
      toast(`Due ${body.dueAt ? time(body.dueAt) : "when it is run again"}.`);
      onsaved();
    } catch (error) {
      state.error = error.status === 412 ? { title: "The job has changed", detail: "It has changed since you opened it, so nothing was saved. Check the job, then try again." } : error;
    }
    state.isBusy = false;
    m.redraw();
  };
  return {
    view: ({ attrs }) =>
      m(Dialog, { title: `Reschedule ${attrs.job.topic}/${attrs.job.jobId}`, onclose: attrs.onclose },
        m(Form, { onsubmit: () => save(attrs), error: state.error, isBusy: state.isBusy, isDisabled: !isWhen(state.when), submit: "Reschedule", oncancel: attrs.onclose },
          m(WhenFields, { when: state.when, error: faultOf(state.error, "delay") ?? faultOf(state.error, "dueAt") }))),
  };
}
