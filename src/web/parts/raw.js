// Raw: m(Raw, {text, error, rows, label, help, oninput}). A field for JSON. parseRaw(text) returns {value} or {error}.

import { m } from "../lib.js";
import { Field } from "./form.js";

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
