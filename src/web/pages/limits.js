// Limits that several topics share: how much of each is used, and which topics wait.

import { m } from "../lib.js";
import { href } from "../router.js";
import { del, get, patch, path, whyNot } from "../api.js";
import { Paged, repeat, useClock } from "../live.js";
import { number } from "../format.js";
import { Dialog } from "../parts/form.js";
import { Button, Empty, Page, Problem } from "../parts/page.js";
import { Table } from "../parts/table.js";
import { later, toast } from "../parts/toast.js";
import { Name, State, Time } from "../parts/values.js";
import { bar } from "../topics/state.js";
import { BoundsDialog, SETTINGS, textOf } from "../topics/settings.js";

const READ_MS = 2000;
const FIELDS = SETTINGS.filter(({ name }) => name === "maxInFlight" || name === "rate");

export default function LimitsPage() {
  const page = { list: new Paged(({ body }) => body.limits, (row) => row.limit, (query) => get("/limits", query)), edited: null, shown: null };
  const stops = [];
  return {
    oninit: () => {
      const reading = repeat(() => page.list.load(), READ_MS);
      page.reload = () => page.list.load(true).then(m.redraw);
      stops.push(reading.stop, useClock());
    },
    onremove: () => stops.forEach((stop) => stop()),
    view: () =>
      m(Page, { title: "Limits", sub: "Each holds for all topics together that name it", actions: m(Button, { kind: "primary", whyNot: whyNot("admin"), onclick: () => (page.edited = { name: null }) }, "New limit") },
        m(Problem, { error: page.error ?? page.list.error, retry: page.reload }),
        m(Table, {
          label: "Limits", rows: page.list.rows, rowKey: (row) => row.limit, columns: columns(page),
          empty: m(Empty, { title: "No limits yet", text: "Use a limit for topics that send to one service, such as a payment provider.", command: "duepost limits stripe maxInFlight=20" }),
          hasMore: page.list.hasMore, onmore: () => page.list.more(),
        }),
        page.edited ? m(BoundsDialog, { what: "Limit", fields: FIELDS, pathOf: (name) => path`/limits/${name}`, help: "Letters, digits, . _ -, as in the name of a topic.", ...page.edited, onclose: (hasChanged) => { page.edited = null; if (hasChanged) page.reload(); } }) : null,
        page.shown ? m(WaitingDialog, { limit: page.shown, onclose: () => (page.shown = null) }) : null),
  };
}
LimitsPage.title = "Limits";

const columns = (page) => [
  { name: "limit", title: "Limit", sort: (row) => row.limit, view: (row) => [m(Name, { text: row.limit, most: 36 }), " ", row.settings.paused ? m(State, { state: "paused", title: row.settings.pauseReason }) : null] },
  { name: "used", title: "In use", sort: (row) => row.inFlight, view: (row) => used(row) },
  { name: "rate", title: "Rate", view: (row) => (row.settings.rate ? m("code", textOf(FIELDS[1], row.settings.rate)) : m("span.faint", "–")) },
  { name: "waiting", title: "Waiting topics", isNumber: true, sort: (row) => row.waitingTopics, view: (row) => (row.waitingTopics ? m(Button, { kind: "quiet", label: `Topics that wait for ${row.limit}`, onclick: () => show(page, row) }, number(row.waitingTopics)) : m("span.faint", "0")) },
  { name: "held", title: "Held by", view: (row) => (row.heldBy ? [row.heldBy, row.heldUntil ? [" ", m(Time, { at: row.heldUntil, style: "relative" })] : null] : m("span.faint", "–")) },
  { name: "pause", title: "", view: (row) => m(Button, { kind: "quiet", whyNot: whyNot("admin"), label: `${row.settings.paused ? "Resume" : "Pause"} ${row.limit}`, onclick: () => setPaused(row.limit, !row.settings.paused).then(page.reload) }, row.settings.paused ? "Resume" : "Pause") },
  { name: "edit", title: "", view: (row) => m(Button, { kind: "quiet", whyNot: whyNot("admin"), label: `Change ${row.limit}`, onclick: () => edit(page, row) }, "Change") },
  { name: "delete", title: "", view: (row) => m(Button, { kind: "quiet", whyNot: whyNot("admin"), label: `Delete ${row.limit}`, onclick: () => remove(page, row) }, "Delete") },
];

const used = ({ inFlight, settings: { maxInFlight } }) => (maxInFlight ? bar(inFlight, maxInFlight, `${number(inFlight)} of ${number(maxInFlight)}`) : number(inFlight));

async function setPaused(name, isPaused) {
  try {
    await patch(path`/limits/${name}`, { paused: isPaused || null });
    toast(isPaused ? `${name} is paused: no attempt of its topics begins.` : `${name} is resumed.`, { undo: () => setPaused(name, !isPaused) });
  } catch (error) {
    toast(`${name} was not changed: ${error.detail || error.message}`, { kind: "bad" });
  }
}

async function read(page, row, use) {
  try {
    use(await get(path`/limits/${row.limit}`));
    page.error = null;
  } catch (error) {
    page.error = error;
  }
  m.redraw();
}

const edit = (page, row) => read(page, row, ({ body, etag }) => (page.edited = { name: body.limit, settings: body.settings, etag }));
const show = (page, row) => read(page, row, ({ body }) => (page.shown = body));

async function remove(page, row) {
  try {
    await later(`Deleting ${row.limit}`, () => del(path`/limits/${row.limit}`));
  } catch (error) {
    toast(`Not deleted: ${error.detail || error.message}`, { kind: "bad" });
  }
  page.reload();
}

const WaitingDialog = {
  view: ({ attrs: { limit, onclose } }) =>
    m(Dialog, { title: `Topics that wait for ${limit.limit}`, onclose },
      m("p.sub", "In the order in which they are served."),
      m("ol", limit.waiting.map((topic) => m("li", m("a", { href: href(["topics", topic]) }, topic)))),
      limit.waitingTopics > limit.waiting.length ? m("p.sub", `and ${number(limit.waitingTopics - limit.waiting.length)} more`) : null),
};
