// JobFields: the fields of a job's draft (draft.js), to edit a job or to send a copy of it.
//
//   m(JobFields, {draft, original, error, isNew})    changes draft in place; isNew: for a new job

import { m } from "../lib.js";
import { Field, faultOf } from "../parts/form.js";
import { Icon } from "../parts/icon.js";
import { hasHiddenQuery, isElsewhere, METHODS } from "./draft.js";
import { indent, readJson } from "./json_text.js";

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
    m(Field, { label: "Labels, separated by commas", value: draft.labels, oninput: change(draft, "labels"), error: faultOf(error, "labels") }),
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
