// The form of "Try it". draft is changed in place.
//
//   m(JobForm, {draft, error, isBusy, whyNot, onsubmit})

import { m } from "../lib.js";
import { Form, Field, faultOf } from "../parts/form.js";
import { LOCAL_RECEIVER } from "../format.js";
import { isJson } from "./draft.js";

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
            field("retry", "Retries", { placeholder: "as the schedule" }),
            field("retrySchedule", "Retry schedule", { placeholder: "15s 3m 10m" })),
          m(".fields",
            field("timeout", "Timeout", { placeholder: "30s" }),
            field("ttl", "Expires after", { placeholder: "never" })))));
  },
};

const SHOWN = ["topic", "jobId", "method", "url", "delay", "dueAt", "body", "headers", "labels", "group", "retry", "retrySchedule", "timeout", "ttl"];

// Returns the error without the faults that are shown at their fields.
function unplaced(error) {
  if (!error?.errors?.length) return error;
  const rest = error.errors.filter((fault) => !SHOWN.includes(fault.field.split(/[.[]/)[0]));
  return { title: error.title, status: error.status, detail: error.detail, errors: rest };
}
