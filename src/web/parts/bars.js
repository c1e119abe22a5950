// Bars: m(Bars, {label, values, texts, format}). A small histogram of plain elements. texts[i] says what bar i covers;
// it is shown on hover. `first` and `last` are shown under the first and the last bar.

import { m } from "../lib.js";
import { compact, number } from "../format.js";

export const Bars = {
  view: ({ attrs: { label, values, texts = [], first, last, noun = "jobs" } }) => {
    const top = Math.max(1, ...values);
    const sum = values.reduce((all, value) => all + value, 0);
    return m("figure.bars",
      m("figcaption", m("span", label), m("strong", compact(sum))),
      m(".bars-box", { role: "img", "aria-label": `${label}: ${number(sum)} ${noun}. ${describe(values, texts)}` },
        values.map((value, i) => m(".bar", { title: `${texts[i] ?? ""}: ${number(value)} ${noun}` }, m(".bar-fill", { class: value ? "" : "is-none", style: { height: `${(100 * value) / top}%` } })))),
      m(".bars-axis", { "aria-hidden": "true" }, m("span", first ?? texts[0]), m("span", last ?? texts[texts.length - 1])));
  },
};

function describe(values, texts) {
  const top = Math.max(...values);
  return top > 0 ? `Most ${texts[values.indexOf(top)] ?? ""}: ${number(top)}.` : "None.";
}
