// RescheduleDialog: changes the due time of a job, unless the job has changed since it was read.

import { m } from "../lib.js";
import { patch, path } from "../api.js";
import { Dialog } from "../parts/dialog.js";
import { Form, faultOf } from "../parts/form.js";
import { toast } from "../parts/toast.js";
import { time } from "../format.js";
import { isWhen, WhenFields, whenQuery } from "./when.js";

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
