// Hour: the jobs of a topic that ended within the last hour, by minute, from the history. Without a history, it shows nothing.

import { m } from "../lib.js";
import { get } from "../api.js";
import { time } from "../format.js";
import { hasHistory } from "../jobs/history.js";
import { repeat } from "../repeat.js";
import { Bars } from "../parts/bars.js";
import { Card } from "../parts/page.js";

const READ_MS = 30_000;
const KINDS = ["delivered", "dead", "cancelled"];

// attrs: topic.
export function Hour({ attrs }) {
  let stats = null;
  let stop;
  let isGone = false;
  const load = async () => {
    try {
      stats = (await get("/stats", { topic: attrs.topic })).body;
    } catch {
      // After an error, the last answer stays on the page.
    }
  };
  return {
    oninit: async () => {
      if ((await hasHistory()) && !isGone) stop = repeat(load, READ_MS).stop;
    },
    onremove: () => {
      isGone = true;
      stop?.();
    },
    view: () => {
      if (!stats) return null;
      const { steps, partial } = stats;
      const texts = steps.map((step) => time(step.at));
      return m(Card, { title: "Last hour", sub: partial ? "by minutes; only the latest jobs are counted" : "by minutes, from the history" },
        m(".hour", KINDS.map((kind) => m(Bars, { label: kind[0].toUpperCase() + kind.slice(1), values: steps.map((step) => step[kind]), texts, first: "an hour ago", last: "now" }))));
    },
  };
}
