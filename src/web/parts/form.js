// Form and Field.
//
//   m(Form, {onsubmit, error, isBusy, submit: "Save", oncancel}, [
//     m(Field, {label: "Topic", value, oninput: (text) => (value = text), help, error, isRequired}),
//     m(Field, {label: "Paused", type: "checkbox", value: isPaused, oninput: (isOn) => …}),
//     m(Field, {label: "Order", type: "select", options: ["none", {value: "fifo", text: "First in, first out"}], …}),
//     m(Field, {label: "Body", type: "textarea", rows: 6, isCode: true, …})])
//
// Form's error is an ApiError. A fault whose field is the `name` of a Field is shown there if the Field gets
// error: faultOf(error, "retry").  Use isDisabled together with `help`, which gives the reason.

import { m } from "../lib.js";
import { Problem } from "./problem.js";

let nextId = 1;

export const faultOf = (error, name) =>
  error?.errors?.find((fault) => fault.field === name || fault.field.startsWith(`${name}[`) || fault.field.startsWith(`${name}.`))?.detail;

export const Form = {
  view: ({ attrs: { onsubmit, error, isBusy, isDisabled, submit = "Save", oncancel, title }, children }) =>
    m("form.form", { onsubmit: (event) => { event.preventDefault(); if (!isBusy) onsubmit(event); } },
      children,
      m(Problem, { error }),
      m(".form-actions",
        oncancel ? m("button", { type: "button", onclick: oncancel }, "Cancel") : null,
        m("button.primary", { type: "submit", disabled: isBusy || isDisabled, title }, isBusy ? "Sending…" : submit))),
};

export function Field() {
  const id = `field-${nextId++}`;
  return {
    view: ({ attrs }) => {
      const isBox = attrs.type === "checkbox";
      const label = m("label", { for: id }, attrs.label, attrs.isRequired ? m("span.faint", " (required)") : null);
      return m(".field", { class: [isBox ? "is-box" : "", attrs.error ? "is-bad" : "", attrs.class ?? ""].join(" ") },
        isBox ? [control(id, attrs), label] : [label, control(id, attrs)],
        attrs.help ? m(".field-help", { id: `${id}-help` }, attrs.help) : null,
        attrs.error ? m(".field-error", { id: `${id}-error` }, attrs.error) : null);
    },
  };
}

function control(id, attrs) {
  const { type = "text", value, oninput, options = [], rows, isCode, isRequired, isDisabled, placeholder, list, min, max, step } = attrs;
  const common = {
    id, name: attrs.name, required: isRequired, disabled: isDisabled, placeholder, min, max, step,
    class: isCode ? "code" : "", autofocus: attrs.autofocus, autocomplete: attrs.autocomplete ?? "off", spellcheck: isCode ? "false" : undefined,
    "aria-invalid": attrs.error ? "true" : undefined,
    "aria-describedby": [attrs.help ? `${id}-help` : "", attrs.error ? `${id}-error` : ""].join(" ").trim() || undefined,
  };
  const take = (event) => oninput(event.target.value);
  if (type === "checkbox") return m("input", { ...common, type, checked: Boolean(value), onchange: (event) => oninput(event.target.checked) });
  if (type === "select") return m("select", { ...common, value, onchange: take }, options.map(option));
  if (type === "textarea") return m("textarea", { ...common, rows: rows ?? 4, value, oninput: take });
  const suggestions = Array.isArray(list) ? m("datalist", { id: `${id}-list` }, list.map((text) => m("option", { value: text }))) : null;
  return [m("input", { ...common, type, value, list: suggestions ? `${id}-list` : undefined, oninput: take }), suggestions];
}

const option = (one) => (typeof one === "string" ? m("option", { value: one }, one) : m("option", { value: one.value }, one.text));
