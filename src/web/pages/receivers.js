// Receivers that failed or asked for fewer attempts within the last hour.

import { m } from "../lib.js";
import { href } from "../router.js";
import { get, path, post, whyNot } from "../api.js";
import { useClock, Paged, repeat } from "../live.js";
import { number } from "../format.js";
import { Empty, Button, Page, Problem } from "../parts/page.js";
import { Table } from "../parts/table.js";
import { toast } from "../parts/toast.js";
import { State, Time } from "../parts/values.js";

const READ_MS = 2000;

export default function Receivers() {
  const page = { list: receiverList() };
  const stops = [];
  return {
    oninit: () => {
      const reading = repeat(() => page.list.load(), READ_MS);
      page.reload = () => page.list.load(true).then(m.redraw);
      stops.push(reading.stop, useClock());
    },
    onremove: () => stops.forEach((stop) => stop()),
    view: () =>
      m(Page, { title: "Receivers", sub: "Servers that failed, or asked for fewer requests, within the last hour" },
        m(Problem, { error: page.list.error, retry: page.reload }),
        m(Table, {
          label: "Receivers", rows: page.list.rows?.slice().reverse(), rowKey: keyOf, sort: { by: "state", isDown: false }, columns: columns(page),
          empty: m(Empty, { title: "No receiver is impaired", text: "A receiver appears here when requests to it fail. After 20 failures in a row its jobs are held, and a probe is sent now and then until it is back." }),
          hasMore: page.list.hasMore, onmore: () => page.list.more(),
        })),
  };
}
Receivers.title = "Receivers";

// The API lists up to 10,000 receivers of a shard, the latest report last. The page reads them all, because it shows the
// latest first.
const PAGES = 10;
const keyOf = (row) => row.receiver + (row.path ?? "");
const receiverList = () => new Paged(({ body }) => body.receivers, keyOf, (query) => get("/receivers", query), PAGES);

const STATES = { open: ["open", "held"], probing: ["half_open", "probing"], closed: ["closed", "let through"] };

function columns(page) {
  return [
    { name: "receiver", title: "Receiver", sort: (row) => row.receiver, view: (row) => [row.receiver, row.path ? m("span.sub", ` ${row.path}`) : null] },
    { name: "state", title: "Jobs are", sort: (row) => Object.keys(STATES).indexOf(row.state), view: (row) => m(State, { state: STATES[row.state][0], text: STATES[row.state][1] }) },
    { name: "failures", title: "Failures in a row", isNumber: true, sort: (row) => row.failures, view: (row) => number(row.failures) },
    { name: "cause", title: "Last failure", view: (row) => (row.lastFailure ? [m("code", row.lastFailure.status ?? row.lastFailure.error), " ", m(Time, { at: row.lastFailure.at, style: "ago" })] : m("span.faint", "–")) },
    { name: "probe", title: "Next probe", view: (row) => (row.state === "open" ? m(Time, { at: row.probeAt, style: "relative" }) : m("span.faint", "–")) },
    { name: "limit", title: "At once", isNumber: true, view: (row) => (row.maxInFlight ? number(row.maxInFlight) : m("span.faint", "–")) },
    { name: "jobs", title: "", view: (row) => m("a", { href: href(["jobs"], { state: "delayed", urlHost: row.receiver }) }, "Jobs") },
    { name: "close", title: "", view: (row) => m(Button, { kind: "quiet", whyNot: row.state === "closed" ? "Its jobs are already let through" : whyNot("admin"), label: `Let through jobs to ${row.receiver}`, onclick: () => close(page, row) }, "Let through") },
  ];
}

async function close(page, row) {
  try {
    await post(path`/receivers/${row.receiver}/close`);
    toast(`Jobs go to ${row.receiver} again.`);
  } catch (error) {
    toast(`Not changed: ${error.detail || error.message}`, { kind: "bad" });
  }
  page.reload();
}
