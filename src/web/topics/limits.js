// Limits: the limits of a topic, and how much of each is used.
//
//   m(Limits, {topic, settings, leased})

import { m } from "../lib.js";
import { duration, number } from "../format.js";
import { attemptsOf } from "./busy_lines.js";

const bar = (used, most, text) =>
  m(".limit", m("meter", { min: 0, max: most, high: 0.99 * most, value: Math.min(used ?? 0, most), "aria-label": text }), m("span", text));

function rateLine({ jobs, per }, topic) {
  const used = attemptsOf(topic, per);
  const span = per === 1 ? "a second" : `in ${duration(per * 1000)}`;
  return bar(used, jobs, `${used === null ? "" : `${number(used)} of `}${number(jobs)} ${span}`);
}

export const Limits = {
  view: ({ attrs: { topic, settings, leased } }) => {
    const { maxInFlight, rate } = settings;
    if (!maxInFlight && !rate) return m("span.faint", "–");
    return m(".limits", maxInFlight ? bar(leased, maxInFlight, `${number(leased)} of ${number(maxInFlight)} at once`) : null, rate ? rateLine(rate, topic) : null);
  },
};
