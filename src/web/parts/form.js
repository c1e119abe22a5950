// Dialogs, forms and their fields, the choice of a time, and what a form has changed.

import { m } from "../lib.js";
import { utc } from "../format.js";
import { Icon, Problem } from "./page.js";

// Dialog: m(Dialog, {title, onclose, isWide}, children). Modal while it is in the tree; Escape calls onclose.
// confirm({title, text, action, decline, danger}): a promise of whether the person agreed. text may be vnodes; action and
//   decline are the texts of the buttons.

export function Dialog() {
  let focused;
  return {
    oncreate: ({ dom }) => {
      focused = document.activeElement;
      dom.showModal();
      (dom.querySelector("[autofocus]") ?? dom.querySelector("input, select, textarea, .dialog-actions button"))?.focus();
    },
    onremove: ({ dom }) => {
      dom.close(); // while the dialog is open, nothing behind it can have the focus
      if (focused?.isConnected) focused.focus({ preventScroll: true });
    },
    view: ({ attrs: { title, onclose, isWide }, children }) =>
      m("dialog.dialog", { class: isWide ? "is-wide" : "", "aria-label": title, oncancel: (event) => { event.preventDefault(); onclose(); } },
        m("header", m("h2", title), m("button.quiet", { type: "button", "aria-label": "Close", onclick: onclose }, m(Icon, { name: "close" }))),
        m(".dialog-body", children)),
  };
}

let asked = null;

export function confirm({ title, text, action = "OK", decline = "Cancel", danger = false }) {
  asked?.answer(false);
  return new Promise((resolve) => {
    asked = {
      title, text, action, decline, danger,
      answer: (isAgreed) => {
        asked = null;
        resolve(isAgreed);
        m.redraw();
      },
    };
    m.redraw();
  });
}

// Shown once, by the shell.
export const Confirmation = {
  view: () =>
    asked
      ? m(Dialog, { title: asked.title, onclose: () => asked.answer(false) },
          typeof asked.text === "string" ? m("p", asked.text) : asked.text,
          m(".dialog-actions",
            m("button", { type: "button", onclick: () => asked.answer(false) }, asked.decline),
            m(`button.${asked.danger ? "danger" : "primary"}`, { type: "button", autofocus: true, onclick: () => asked.answer(true) }, asked.action)))
      : null,
};

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

// Raw: m(Raw, {text, error, rows, label, help, oninput}). A field for JSON. parseRaw(text) returns {value} or {error}.

export function parseRaw(text) {
  if (text.trim() === "") return { value: undefined };
  try {
    return { value: JSON.parse(text) };
  } catch (error) {
    return { error: `This is not JSON: ${error.message}` };
  }
}

export const Raw = {
  view: ({ attrs: { text, error, rows = 6, label, help, oninput } }) =>
    m(Field, { label, type: "textarea", rows, isCode: true, value: text, error, help, oninput }),
};

// WhenFields: m(WhenFields, {when}). Fields for a due time: a delay from now, or a local time.
// Changes when in place, to {delay: "15m"} or {at: "2030-01-01T09:00"}.
// whenQuery(when) returns the query for the API: {delay} or {dueAt}.

const DELAYS = ["0s", "1m", "15m", "1h", "6h", "1d"];

export const whenQuery = ({ delay, at }) => (at ? { dueAt: new Date(at).toISOString() } : { delay: delay.trim() });

export const isWhen = ({ delay, at }) => (at ? !Number.isNaN(Date.parse(at)) : Boolean(delay?.trim()));

export const WhenFields = {
  view: ({ attrs: { when, error } }) =>
    m(".when",
      m(".when-delays", { role: "group", "aria-label": "Due in" },
        DELAYS.map((delay) =>
          m("button", { type: "button", "aria-pressed": String(!when.at && when.delay === delay), onclick: () => Object.assign(when, { delay, at: "" }) }, delay === "0s" ? "now" : delay))),
      m(Field, { label: "Due in", value: when.at ? "" : when.delay, placeholder: "1h30m", error, oninput: (delay) => Object.assign(when, { delay, at: "" }) }),
      m(Field, { label: "or at (local time)", type: "datetime-local", step: "1", value: when.at ?? "", help: when.at ? utc(when.at) : "", oninput: (at) => Object.assign(when, { at }) })),
};

// changesOf(old, now, isMerged): the JSON merge patch (RFC 7396) that turns the object old into now.
//
// Leaves out unchanged members, so that the server keeps values that the API hides (***). isMerged(name) returns whether
// the server merges the member's object; other members are sent whole.

export function changesOf(old = {}, now = {}, isMerged = () => true) {
  const patch = {};
  for (const name of new Set([...Object.keys(old), ...Object.keys(now)])) {
    if (JSON.stringify(old[name]) === JSON.stringify(now[name])) continue;
    const isObject = isPlain(old[name]) && isPlain(now[name]);
    patch[name] = isObject && isMerged(name) ? changesOf(old[name], now[name], isMerged) : now[name] ?? null;
  }
  return patch;
}

export const isPlain = (value) => value !== null && typeof value === "object" && !Array.isArray(value);
