// Sparkline: m(Sparkline, {values, label, kind: "delivered"}). A small line of SVG; kind gives the colour of a state.
// Values that are null at the beginning are left out.

import { m } from "../lib.js";

const WIDTH = 100;
const HEIGHT = 24;

export const Sparkline = {
  view: ({ attrs: { values = [], label, kind = "delivered" } }) =>
    m("svg.sparkline", {
      class: `is-${kind}`, viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img", "aria-label": label ?? describe(values),
    }, drawing(values)),
};

function drawing(values) {
  const first = values.findIndex((value) => value !== null);
  if (first < 0 || first > values.length - 2) return null;
  const step = WIDTH / (values.length - 1);
  const path = line(values, first, step);
  return [m("path.area", { d: `${path}L${WIDTH} ${HEIGHT}L${first * step} ${HEIGHT}Z` }), m("path.line", { d: path })];
}

const describe = (values) => `Highest ${Math.max(0, ...values)}, latest ${values[values.length - 1] ?? 0}`;

function line(values, first, step) {
  const top = Math.max(1, ...values);
  const point = (value, i) => `${i ? "L" : "M"}${((first + i) * step).toFixed(1)} ${(HEIGHT - 1 - ((value ?? 0) / top) * (HEIGHT - 2)).toFixed(1)}`;
  return values.slice(first).map(point).join("");
}
