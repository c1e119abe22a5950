// State: m(State, {state: "dead", text?, title?}). A chip with a sign and a word, so that readers do not depend on colour.
// States: delayed ready held leased pulled dead delivered cancelled; also retried, ok, warn, bad, paused, open,
// half_open, closed.

import { m } from "../lib.js";

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
