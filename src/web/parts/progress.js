// Progress: m(Progress, {done, total, text}). Without total it only shows activity.

import { m } from "../lib.js";
import { number } from "../format.js";

export const Progress = {
  view: ({ attrs: { done = 0, total, text } }) =>
    m(".progress",
      m("progress", { value: total === undefined ? undefined : Math.min(done, total), max: total === undefined ? undefined : total || 1, "aria-label": text ?? "Progress" }),
      m("span.progress-text", text ? `${text} ` : "", total === undefined ? number(done) : `${number(done)} of ${number(total)}`)),
};
