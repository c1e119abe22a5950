// The next times of a schedule while a person types it: the schedule in words and five times, or the error. Asks the
// server a moment after the last change.

import { m } from "../lib.js";
import { get } from "../api.js";
import { time, utc } from "../format.js";

const WAIT_MS = 250;

// attrs: query {expression, timezone, every, from}
export function NextTimes() {
  let asked = null;
  let answer = null;
  let error = null;
  let timer = null;
  const ask = (query) => {
    const text = JSON.stringify(query);
    if (text === asked) return;
    asked = text;
    clearTimeout(timer);
    timer = setTimeout(async () => {
      try {
        const { body } = await get("/cron", query);
        if (asked === text) [answer, error] = [body, null];
      } catch (problem) {
        if (asked === text) [answer, error] = [null, problem];
      }
      m.redraw();
    }, WAIT_MS);
  };
  return {
    onremove: () => clearTimeout(timer),
    view: ({ attrs: { query } }) => {
      if (!query.expression && !query.every) return m(".next-times.sub", "Type a cron expression, such as 30 9 * * mon-fri, or an interval.");
      ask(query);
      return m(".next-times", { role: "status" }, error ? m("p.field-error", faultText(error)) : answer ? times(answer, Boolean(query.expression)) : m("p.sub", "…"));
    },
  };
}

const faultText = (error) => error.errors?.map((one) => one.detail).join(" ") || error.detail || error.message;

const times = ({ text, timezone, next }, isCron) => [
  text ? m("p", m("strong", text), isCron ? m("span.sub", `, ${timezone}`) : null) : null,
  next.length ? m("ol", next.map((at) => m("li", m("time", { datetime: at, title: utc(at) }, isCron ? inZone(at, timezone) : time(at))))) : m("p.field-error", "The schedule has no next time."),
];

// The expression is in the time of its zone. The browser's local time is shown next to it where the two differ.
function inZone(at, timeZone) {
  const format = (zone) => new Intl.DateTimeFormat(undefined, { weekday: "short", year: "numeric", month: "short", day: "numeric", hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23", timeZone: zone }).format(new Date(at));
  try {
    const there = format(timeZone);
    return there === format(undefined) ? there : [there, m("span.sub", ` here ${time(at)}`)];
  } catch {
    return time(at); // a zone that the browser does not know
  }
}
