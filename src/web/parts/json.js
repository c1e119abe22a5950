// Json: m(Json, {value}) or m(Json, {text}). Pretty-prints JSON as text; never as HTML. text that is not JSON is shown
// as it is. label names the block for screen readers; it has a button that copies the original.

import { m } from "../lib.js";
import { Copy } from "./copy.js";

const COLOURED_BYTES = 100_000; // larger texts are shown without colours, which is quicker

export function Json() {
  let last = {};
  return {
    view: ({ attrs: { value, text, label = "JSON" } }) => {
      if (last.value !== value || last.text !== text) last = { value, text, ...prepare(value, text) };
      return m(".json", m("pre", { tabindex: 0, "aria-label": label }, m("code", last.parts)), m(Copy, { text: last.original, label: `Copy ${label}` }));
    },
  };
}

function prepare(value, text) {
  let parsed = value;
  if (value === undefined) {
    try {
      parsed = JSON.parse(text);
    } catch {
      return { original: text ?? "", parts: text ?? "" };
    }
  }
  const pretty = JSON.stringify(parsed, null, 2) ?? "";
  return { original: text ?? pretty, parts: pretty.length > COLOURED_BYTES ? pretty : colour(pretty) };
}

const TOKEN = /("(?:[^"\\]|\\.)*")(\s*:)?|\b(?:true|false|null)\b|-?\d[\d.eE+-]*/g;

function colour(text) {
  const parts = [];
  let at = 0;
  for (const match of text.matchAll(TOKEN)) {
    if (match.index > at) parts.push(text.slice(at, match.index));
    if (match[2] !== undefined) parts.push(m("span.json-key", match[1]), match[2]);
    else parts.push(m(match[1] !== undefined ? "span.json-text" : "span.json-value", match[0]));
    at = match.index + match[0].length;
  }
  parts.push(text.slice(at));
  return parts;
}
