// Upcoming jobs: how many are due in the next minute, hour, day and week.

import { m } from "../lib.js";
import { Card } from "../parts/page.js";
import { Bars } from "../parts/bars.js";
import { ago, number, toMs } from "../format.js";

const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
const day = new Intl.DateTimeFormat(undefined, { weekday: "short" });

const SPANS = [
  { name: "minute", label: "Next minute", stepMs: 5000, last: "1 min", text: (from, i) => `in ${i * 5} to ${i * 5 + 5} s` },
  { name: "hour", label: "Next hour", stepMs: 300_000, last: "1 h", text: (from, i) => `in ${i * 5} to ${i * 5 + 5} min` },
  { name: "day", label: "Next 24 hours", stepMs: 3_600_000, last: "24 h", text: (from) => `${clock.format(from)} to ${clock.format(from + 3_600_000)}` },
  { name: "week", label: "Next 7 days", stepMs: 86_400_000, last: "7 d", text: (from) => `${day.format(from)} ${clock.format(from)} to ${day.format(from + 86_400_000)} ${clock.format(from)}` },
];

export const Coming = {
  view: ({ attrs: { coming } }) => {
    const now = toMs(coming.at ?? Date.now());
    return m(Card, { title: "Coming", sub: note(coming), class: "span-all" },
      m(".coming", SPANS.filter((span) => coming[span.name]).map((span) =>
        m(Bars, {
          label: span.label, values: coming[span.name], first: "now", last: span.last,
          texts: coming[span.name].map((_, i) => span.text(now + i * span.stepMs, i)),
        }))));
  },
};

const OLD_MS = 30_000; // older counts are shown with their time; the server counts every 12 seconds, or less often with many topics

function note(coming) {
  const parts = [];
  if (coming.overdue) parts.push(`${number(coming.overdue)} overdue`);
  if (coming.later) parts.push(`${number(coming.later)} later than a week`);
  if (coming.isSampled) parts.push("estimated from a sample");
  if (coming.at && Date.now() - toMs(coming.at) > OLD_MS) parts.push(`as of ${ago(coming.at)}`);
  return parts.join(" · ");
}
