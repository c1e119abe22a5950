// Time: m(Time, {at, style}). Local time as text, UTC on hover and for machines.
//   style "time" (default), "ago", "until", or "relative" (ago or until); relative ones keep themselves up to date.

import { m } from "../lib.js";
import { ago, relative, time, until, utc, toMs } from "../format.js";
import { useClock } from "../clock.js";

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
