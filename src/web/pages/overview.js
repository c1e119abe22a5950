// Overview: whether jobs flow, what is coming, what is stuck.

import { m } from "../lib.js";
import { live, follow } from "../live.js";
import { number } from "../format.js";
import { href } from "../router.js";
import { Page, Card } from "../parts/page.js";
import { State } from "../parts/state.js";

export default function Overview() {
  let stop = null;
  return {
    oninit: () => (stop = follow()),
    onremove: () => stop(),
    view: () => m(Page, { title: "Overview" }, m(Card, { title: "Jobs" }, Object.entries(live.overview?.jobs ?? {}).map(([state, count]) =>
      m("a.figure", { href: href(["jobs"], { state }) }, m("strong", number(count)), m(State, { state }))))),
  };
}
Overview.title = "Overview";
