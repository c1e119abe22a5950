// CronWords: m(CronWords, {cron, timezone}). A cron expression in words, which the server writes; empty until they arrive.

import { m } from "../lib.js";
import { get } from "../api.js";

const known = new Map();

export function CronWords() {
  let asked = null;
  const ask = async (cron, timezone) => {
    asked = cron;
    try {
      known.set(cron, (await get("/cron", { expression: cron, timezone })).body.text);
      m.redraw();
    } catch {
      // The page shows the expression itself as well.
    }
  };
  return {
    view: ({ attrs: { cron, timezone } }) => {
      if (!cron) return null;
      if (!known.has(cron) && asked !== cron) ask(cron, timezone);
      return known.has(cron) ? m(".cron-words", known.get(cron)) : null;
    },
  };
}
