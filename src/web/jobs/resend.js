// ResendDialog: a new job like another one. Hidden values have to be typed again, since only the server has them.

import { m } from "../lib.js";
import { post } from "../api.js";
import { href } from "../router.js";
import { Dialog } from "../parts/dialog.js";
import { Field, Form, faultOf } from "../parts/form.js";
import { toast } from "../parts/toast.js";
import { draftOf, faultsOf, hasHiddenQuery, hiddenCallbacks, jobText } from "./draft.js";
import { JobFields } from "./job_form.js";

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
            ? m("p.warning", "Only the server has the hidden values. Type again ", [isQueryLost ? "the query of the URL" : "", ...lost].filter(Boolean).join(", "), ", or leave them out.") : null,
          lostCallbacks.length ? m("p.warning", `The new job has no ${lostCallbacks.join(", ")}: parts are hidden.`) : null,
          m(".form-row",
            m(Field, { label: "New id", value: state.jobId, placeholder: "made by the server", error: faultOf(state.error, "jobId"), oninput: (value) => (state.jobId = value) }),
            attrs.isFree ? m("button", { type: "button", onclick: () => (state.jobId = job.jobId) }, "Same id") : null,
            m(Field, { label: "Due in", value: state.delay, placeholder: "now", error: faultOf(state.error, "delay"), oninput: (value) => (state.delay = value) })),
          m(JobFields, { draft, original, error: state.error, isNew: true }))),
  };
}
