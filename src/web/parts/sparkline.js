// Sparkline: m(Sparkline, {values, label, kind: "delivered"}). A small line of SVG; kind gives the colour of a state.

import { m } from "../lib.js";

const WIDTH = 100;
const HEIGHT = 24;

export const Sparkline = {
  view: ({ attrs: { values = [], label, kind = "delivered" } }) =>
    m("svg.sparkline", {
      class: `is-${kind}`, viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img", "aria-label": label ?? describe(values),
    }, values.length > 1 ? [m("path.area", { d: `${line(values)}L${WIDTH} ${HEIGHT}L0 ${HEIGHT}Z` }), m("path.line", { d: line(values) })] : null),
};

const describe = (values) => `Highest ${Math.max(0, ...values)}, latest ${values[values.length - 1] ?? 0}`;

function line(values) {
  const top = Math.max(1, ...values);
  const step = WIDTH / (values.length - 1);
  return values.map((value, i) => `${i ? "L" : "M"}${(i * step).toFixed(1)} ${(HEIGHT - 1 - ((value ?? 0) / top) * (HEIGHT - 2)).toFixed(1)}`).join("");
}
