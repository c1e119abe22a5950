// The keys of a topic: how many jobs of each wait and are under way, what holds them, and their own settings.
//
//   m(Keys, {topic, settings, whyNot})   settings: those of the topic. Without keys and perKey, it shows nothing.

import { m } from "../lib.js";
import { href } from "../router.js";
import { del, get, patch, path } from "../api.js";
import { Paged, repeat } from "../live.js";
import { number } from "../format.js";
import { Button, Card, Problem } from "../parts/page.js";
import { Table } from "../parts/table.js";
import { toast } from "../parts/toast.js";
import { Name, shown, State, Time } from "../parts/values.js";
import { BoundsDialog, SETTINGS, textOf } from "./settings.js";
import { bar } from "./state.js";

const READ_MS = 2000;
const PAGE = 100;
const FIELDS = [
  ...SETTINGS.filter(({ name }) => name === "maxInFlight" || name === "weight"),
  { name: "rate", title: "Rate", kind: "rate", help: "Attempts in a number of seconds, such as 10/1 or 600/60 burst 5." },
  { name: "maxPending", title: "Maximum pending jobs", kind: "integer", help: "More jobs are refused." },
];
const HELD_BY = { paused: "paused", maxInFlight: "maxInFlight", rate: "rate", order: "an earlier job" };

export function Keys({ attrs: { topic } }) {
  const card = { topic, list: new Paged(({ body }) => body.keys, (row) => `=${row.key}`, ({ cursor }) => get(path`/topics/${topic}/keys`, { limit: PAGE, cursor })), edited: null };
  let stop;
  return {
    oninit: () => {
      stop = repeat(() => card.list.load(), READ_MS).stop;
      card.reload = () => card.list.load(true).then(m.redraw);
    },
    onremove: () => stop(),
    view: ({ attrs: { settings, whyNot } }) =>
      !card.list.error && !card.list.rows?.length && !settings.perKey ? null :
        m(Card, { title: "Keys", sub: "they take turns; those with the most jobs come first", actions: m(Button, { whyNot, onclick: () => (card.edited = { name: null }) }, "Set a key") },
          m(Problem, { error: card.list.error, retry: card.reload }),
          m(Table, { label: "Keys", rows: card.list.rows, rowKey: (row) => `=${row.key}`, columns: columns(card, settings.perKey ?? {}, whyNot), empty: m("p.sub", "No job has a key."), hasMore: card.list.hasMore, onmore: () => card.list.more() }),
          card.edited ? m(BoundsDialog, { what: "Key", help: "The key of jobs, such as the id of a customer.", fields: FIELDS, pathOf: (key) => path`/topics/${topic}/keys/${key}`, ...card.edited, onclose: (hasChanged) => { card.edited = null; if (hasChanged) card.reload(); } }) : null),
  };
}

const columns = (card, common, whyNot) => [
  { name: "key", title: "Key", view: (row) => (row.key ? [m("a", { href: href(["jobs"], { topic: card.topic, key: row.key }) }, m(Name, { text: row.key, most: 36 })), " ", row.settings.paused ? m(State, { state: "paused", title: row.settings.pauseReason }) : null] : m("span.faint", "without a key")) },
  { name: "waiting", title: "Waiting", isNumber: true, view: (row) => number(row.waiting) },
  { name: "inFlight", title: "In flight", view: (row) => used(row, common) },
  { name: "share", title: "Share", isNumber: true, view: (row) => `${Math.round(row.share * 100)} %` },
  { name: "overdue", title: "Overdue", view: (row) => (row.oldestOverdueAt ? m(Time, { at: row.oldestOverdueAt, style: "ago" }) : m("span.faint", "–")) },
  { name: "held", title: "Held by", view: (row) => (row.heldBy ? [HELD_BY[row.heldBy] ?? row.heldBy, row.heldUntil ? [" ", m(Time, { at: row.heldUntil, style: "relative" })] : null] : m("span.faint", "–")) },
  { name: "own", title: "Own settings", isExtra: true, view: (row) => own(row) },
  { name: "pause", title: "", view: (row) => (row.key ? m(Button, { kind: "quiet", whyNot, label: `${row.settings.paused ? "Resume" : "Pause"} ${shown(row.key)}`, onclick: () => setPaused(card, row.key, !row.settings.paused) }, row.settings.paused ? "Resume" : "Pause") : null) },
  { name: "edit", title: "", view: (row) => (row.key ? m(Button, { kind: "quiet", whyNot, label: `Change ${shown(row.key)}`, onclick: () => edit(card, row) }, "Change") : null) },
  { name: "reset", title: "", view: (row) => (Object.keys(row.settings).length ? m(Button, { kind: "quiet", whyNot, label: `Remove settings of ${shown(row.key)}`, onclick: () => reset(card, row) }, "Remove") : null) },
];

// The jobs without a key have no bounds.
function used({ key, inFlight, settings }, common) {
  const most = key && (settings.maxInFlight ?? common.maxInFlight);
  return most ? bar(inFlight, most, `${number(inFlight)} of ${number(most)}`) : number(inFlight);
}

const own = ({ settings }) => {
  const texts = FIELDS.filter(({ name }) => name in settings).map((field) => `${field.name} ${textOf(field, settings[field.name])}`);
  return texts.length ? m("code", texts.join(", ")) : m("span.faint", "–");
};

async function setPaused(card, key, isPaused) {
  try {
    await patch(path`/topics/${card.topic}/keys/${key}`, { paused: isPaused || null });
    toast(isPaused ? `${shown(key)} is paused: no attempt of its jobs begins.` : `${shown(key)} is resumed.`, { undo: () => setPaused(card, key, !isPaused) });
  } catch (error) {
    toast(`${shown(key)} was not changed: ${error.detail || error.message}`, { kind: "bad" });
  }
  card.reload();
}

async function edit(card, { key }) {
  try {
    const { body, etag } = await get(path`/topics/${card.topic}/keys/${key}`);
    card.edited = { name: key, settings: body.settings, etag };
  } catch (error) {
    toast(`${shown(key)} was not read: ${error.detail || error.message}`, { kind: "bad" });
  }
  m.redraw();
}

async function reset(card, { key }) {
  try {
    await del(path`/topics/${card.topic}/keys/${key}`);
    toast(`${shown(key)} has no settings of its own now.`);
  } catch (error) {
    toast(`Not removed: ${error.detail || error.message}`, { kind: "bad" });
  }
  card.reload();
}
