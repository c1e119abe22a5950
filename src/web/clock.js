// The banner of a server with a manual clock (--clock manual), on each page: the time at which the clock stands, and buttons
// that turn it. Texts such as "in 3 min" then count from this time.

import { m } from "./lib.js";
import { post, whyNot } from "./api.js";
import { plural, standAt, toMs, utc } from "./format.js";
import { follow } from "./live.js";
import { Button } from "./parts/page.js";
import { toast } from "./parts/toast.js";

const MOVES = [
  { text: "+1 min", label: "Turn the clock by a minute", body: { advance: "1m" } },
  { text: "+1 h", label: "Turn the clock by an hour", body: { advance: "1h" } },
  { text: "+1 d", label: "Turn the clock by a day", body: { advance: "1d" } },
  { text: "until idle", label: "Turn the clock until no job waits for a time", body: { untilIdle: true } },
];

export default function Clock() {
  let now = null;
  let turning = null; // the AbortController of a turn
  let fired = null; // the number of events of the last turn
  let stop = null;

  // An answer of GET /overview may be older than that of a turn.
  const take = (answer) => {
    if (now !== null && toMs(answer.now) < toMs(now)) return;
    now = answer.now;
    standAt(toMs(now));
  };

  // Repeats the request until the clock is there: an answer comes after 20 s at most, with at most 1,000 events.
  async function turn(move) {
    turning = new AbortController();
    fired = 0;
    let body = move.body;
    try {
      for (;;) {
        const page = (await post("/clock", body, { signal: turning.signal })).body;
        fired += page.fired.length;
        take(page);
        m.redraw();
        if (page.reached && !page.more) break;
        body = { untilIdle: move.body.untilIdle, to: page.to };
      }
    } catch (error) {
      if (error.name !== "AbortError") toast(`The clock was not turned: ${error.detail || error.message}`, { kind: "bad" });
    }
    turning = null;
    m.redraw();
  }

  return {
    oninit: () => (stop = follow(take)),
    onremove: () => stop(),
    view: () =>
      m("section.clock", { "aria-label": "Manual clock" },
        m("strong", "Manual clock"),
        now ? m("span", "stands at ", m("time", { datetime: now }, utc(now))) : null,
        m(".actions",
          MOVES.map((move) => m(Button, { label: `${move.text}: ${move.label}`, whyNot: whyNot("admin"), isDisabled: turning !== null, onclick: () => turn(move) }, move.text)),
          turning ? m(Button, { label: "Stop the clock", onclick: () => turning.abort() }, "Stop") : null),
        m("span.clock-fired", { role: "status" }, fired === null ? "" : `${turning ? "turning: " : ""}${plural(fired, "event")} fired`)),
  };
}
