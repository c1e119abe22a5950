// How a name, a time and a state are shown.

import { m } from "../lib.js";
import { useClock } from "../live.js";
import { ago, relative, time, until, utc, toMs } from "../format.js";

// Name: m(Name, {text, most: 48}). A name that a client chose, such as the id of a job. It is isolated, so that right-to-left text does
// not change the order of the text around it. Controls, which could make it look like another name, are shown as escapes. The
// middle of a name with more than `most` characters is hidden: the title has all of it, and so does a copy of the selection.
//
//   shown(text)   the text with escapes, for titles and other plain texts

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

// Time: m(Time, {at, style}). Local time as text, UTC on hover and for machines.
//   style "time" (default), "ago", "until", or "relative" (ago or until); relative ones keep themselves up to date.

const STYLES = { time, ago, until, relative };

export function Time({ attrs: { style } }) {
  let stop = null;
  return {
    oninit: () => {
      if (style && style !== "time") stop = useClock();
    },
    onremove: () => stop?.(),
    view: ({ attrs: { at, style: now = "time" } }) => {
      const ms = toMs(at ?? NaN);
      if (Number.isNaN(ms)) return m("span.faint", "–");
      const title = now === "time" ? utc(ms) : `${time(ms)} · ${utc(ms)}`;
      return m("time", { datetime: new Date(ms).toISOString(), title }, STYLES[now](ms));
    },
  };
}

// State: m(State, {state: "dead", text?, title?}). A chip with a sign and a word, so that readers do not depend on colour.
// States: delayed ready held leased pulled dead delivered cancelled; also retried, ok, warn, bad, paused, open,
// half_open, closed.

const SIGNS = {
  delayed: "M8 4v4l3 2M8 1.500a6.500 6.500 0 1 0 0 13 6.500 6.500 0 0 0 0-13z",
  ready: "M4.500 3l8 5-8 5z",
  held: "M5.500 3v10M10.500 3v10",
  leased: "M2 8h11M9 4l4 4-4 4",
  pulled: "M14 8H3M7 4L3 8l4 4",
  dead: "M3.500 3.500l9 9M12.500 3.500l-9 9",
  delivered: "M2.500 8.500l4 4 7-9",
  cancelled: "M8 1.500a6.500 6.500 0 1 0 0 13 6.500 6.500 0 0 0 0-13zM3.500 12.500l9-9",
  retried: "M13 3v4H9M12.500 7a5 5 0 1 0 .5 3",
  warn: "M8 2L1.500 14h13zM8 6.500v3.500M8 12h.01",
};
const ALIAS = {
  ok: "delivered", closed: "delivered", bad: "dead", open: "dead", half_open: "warn", paused: "held", impaired: "warn",
};

export const stateSign = (state) =>
  m("svg.sign", { viewBox: "0 0 16 16", "aria-hidden": "true", focusable: "false" }, m("path", { d: SIGNS[ALIAS[state] ?? state] ?? SIGNS.warn }));

export const State = {
  view: ({ attrs: { state, text, title } }) =>
    m(`span.chip.is-${ALIAS[state] ?? state}`, { title }, stateSign(state), m("span", text ?? String(state).replace("_", " "))),
};
