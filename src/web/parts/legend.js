// Legend: m(Legend, {series: [{name, kind, value}], format}). The lines of a plot with their latest figures, and with the
// dash pattern next to the name, so that readers do not depend on colour.

import { m } from "../lib.js";

const DASHES = { retried: "6 3", dead: "2 2", cancelled: "8 3 2 3" };

export const Legend = {
  view: ({ attrs: { series, format = String } }) =>
    m("ul.legend", series.map((one) => m("li", m("svg.legend-line", { viewBox: "0 0 24 8", "aria-hidden": "true" },
      m("path", { class: `is-${one.kind ?? one.name}`, d: "M0 4H24", "stroke-dasharray": DASHES[one.kind ?? one.name] })),
    one.name, one.value === undefined ? null : m("strong", format(one.value))))),
};
