// EditDialog: changes a job's members. The request names the version of the job that was read (If-Match). If the job has
// changed since, the server refuses the request, and the person sees the differences and decides.

import { m } from "../lib.js";
import { get, patch, path } from "../api.js";
import { time } from "../format.js";
import { Dialog } from "../parts/dialog.js";
import { Form } from "../parts/form.js";
import { toast } from "../parts/toast.js";
import { draftOf, faultsOf, moveDraft, patchText } from "./draft.js";
import { JobFields } from "./job_form.js";

const SHOWN = ["state", "dueAt", "attempts", "url", "method", "labels", "retry", "retrySchedule", "retryWait", "timeout", "headers", "expiresAt", "body", "bodyBase64"];
const valueText = (value) => (value === undefined ? "none" : typeof value === "string" ? (/^\d{4}-.*Z$/.test(value) ? time(value) : value) : JSON.stringify(value));
const short = (text) => (text.length > 120 ? `${text.slice(0, 120)}…` : text);

// Returns the differences between two versions of a job: [{name, was, is}].
export function differences(was, is) {
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
