// Retries - the attempts that are still to come, on the clock.
import { m } from "../lib.js";
import { duration, time, until } from "../format.js";
import { Time } from "../parts/time.js";
import { comingAttempts } from "./life.js";

const SHOWN = 8;

function timeOf(one) {
  if (one.isRunning) return "under way";
  if (one.isDue) return "now";
  return one.isExact ? m(Time, { at: one.at }) : m("span", { title: "If each earlier attempt fails immediately" }, "about ", m(Time, { at: one.at }));
}

function whenOf(one) {
  if (one.expires) return "never: the job expires first";
  if (one.isRunning || one.isDue) return "";
  return one.isExact ? until(one.at) : `${duration(one.wait * 1000)} after attempt ${one.attempt - 1}`;
}

const row = (one) => m("tr", m("td.number", one.attempt), m("td", timeOf(one)), m("td", whenOf(one)));

// attrs: job, now.
export function Retries() {
  let isWhole = false;
  return {
    view({ attrs: { job, now } }) {
      const coming = comingAttempts(job, now),
        shown = isWhole ? coming : coming.slice(0, SHOWN),
        last = coming[coming.length - 1];
      return m(
        "div.retries",
        m(
          "table.plain",
          m("caption.off-screen", "Attempts to come"),
          m("thead", m("tr", m("th", { scope: "col" }, "Attempt"), m("th", { scope: "col" }, "At"), m("th", { scope: "col" }, "When"))),
          m("tbody", shown.map(row)),
        ),
        coming.length > shown.length
          ? m(
              "button.link",
              {
                type: "button",
                onclick: () => {
                  isWhole = true;
                },
              },
              `${coming.length - shown.length} more`,
            )
          : null,
        m(
          "p.hint",
          last?.expires
            ? `The job expires at ${time(Date.parse(job.expiresAt))}; it is dead then.`
            : `Any 2xx answer ends the job. If attempt ${last ? last.attempt : job.attempts} fails, it is dead.`,
        ),
      );
    },
  };
}
