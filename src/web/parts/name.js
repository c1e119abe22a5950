// Name: m(Name, {text, most: 48}). A name that a client chose, such as the id of a job. It is isolated, so that right-to-left text does
// not change the order of the text around it. Controls, which could make it look like another name, are shown as escapes. The
// middle of a name with more than `most` characters is hidden: the title has all of it, and so does a copy of the selection.
//
//   shown(text)   the text with escapes, for titles and other plain texts

import { m } from "../lib.js";

const CONTROLS = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;
const END = 12; // characters at the end of a name that stay visible

const escapeOf = (control) => `\\u${control.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}`;

export const shown = (text) => String(text).replace(CONTROLS, escapeOf);

function withEscapes(text) {
  const parts = [];
  let at = 0;
  for (const found of text.matchAll(CONTROLS)) {
    if (found.index > at) parts.push(text.slice(at, found.index));
    parts.push(m("span.control", { title: "A control character" }, escapeOf(found[0])));
    at = found.index + 1;
  }
  return [...parts, text.slice(at)];
}

export const Name = {
  view: ({ attrs: { text, most = 48 } }) => {
    const letters = [...text];
    if (letters.length <= most) return m("bdi", withEscapes(text));
    const [head, middle, end] = [letters.slice(0, most - END - 1), letters.slice(most - END - 1, -END), letters.slice(-END)].map((part) => part.join(""));
    return m("bdi", { title: shown(text) }, withEscapes(head), m("span.elided", withEscapes(middle)), withEscapes(end));
  },
};
