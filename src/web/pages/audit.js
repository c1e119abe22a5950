// The audit log: which client changed what, the latest first.

import { m } from "../lib.js";
import { href, setQuery } from "../router.js";
import { get } from "../api.js";
import { Paged, repeat, useClock } from "../live.js";
import { number } from "../format.js";
import { Field } from "../parts/form.js";
import { Empty, Page, Problem } from "../parts/page.js";
import { Table } from "../parts/table.js";
import { Name, shown, Time } from "../parts/values.js";

const READ_MS = 10000;
const FILTERS = [["topic", "Topic", "name of a topic or pattern"], ["action", "Action", "such as settings_changed"], ["token", "Token", "name; - for none"]];
const VALUE_SHOWN = 60;

export default function Audit({ attrs: first }) {
  const page = { filter: null, list: null, reading: null };
  let stopClock = null;
  const follow = ({ topic, action, token }) => {
    const filter = { topic, action, token };
    if (page.filter && JSON.stringify(filter) === JSON.stringify(page.filter)) return;
    page.reading?.stop();
    const list = new Paged(({ body }) => body.lines, (row) => row.id, (query) => get("/audit", { ...filter, ...query }));
    Object.assign(page, { filter, list, reading: repeat(() => list.load(), READ_MS) });
  };
  follow(first.query);
  return {
    oninit: () => (stopClock = useClock()),
    onbeforeupdate: ({ attrs }) => follow(attrs.query),
    onremove: () => {
      page.reading.stop();
      stopClock();
    },
    view: () => [
      m(Page, { title: "Audit log", sub: "Which client changed what, the latest first. New jobs have no lines." }),
      m(".fields", FILTERS.map(([name, label, placeholder]) =>
        m(Field, { class: "narrow", label, placeholder, value: page.filter[name] ?? "", oninput: (text) => setQuery({ ...page.filter, [name]: text.trim() }) }))),
      m(Problem, { error: page.list.error, retry: () => page.list.load(true).then(m.redraw) }),
      m(Table, {
        label: "Audit log", rows: page.list.rows ?? (page.list.error ? [] : null), rowKey: (row) => row.id, columns: COLUMNS,
        empty: page.list.error ? [] : m(Empty, Object.values(page.filter).some(Boolean) ? { title: "No line matches" } : { title: "No changes yet", text: "A line appears here about a second after a change." }),
        hasMore: page.list.hasMore, onmore: () => page.list.more(),
      }),
    ],
  };
}
Audit.title = "Audit log";

const COLUMNS = [
  { name: "at", title: "When", view: (row) => m(Time, { at: row.at, style: "ago" }) },
  { name: "token", title: "Token", view: (row) => row.token ?? m("span.faint", "none") },
  { name: "from", title: "From", isExtra: true, view: (row) => row.from },
  { name: "action", title: "Action", view: (row) => [row.action.replaceAll("_", " "), row.outcome === "done" ? null : m("span.sub", ` ${row.outcome.replaceAll("_", " ")}`)] },
  { name: "target", title: "Of", view: (row) => [m("span.sub", `${row.kind} `), target(row)] },
  { name: "change", title: "Change", isWide: true, view: (row) => changes(row) },
];

function target(row) {
  const name = m(Name, { text: row.target ?? row.filter ?? "", most: 48 });
  const [topic, ...rest] = (row.target ?? "").split("/");
  if (row.kind === "topic") return m("a", { href: href(["topics", topic]) }, name);
  if (row.kind === "job" && row.action !== "job_cancelled") return m("a", { href: href(["jobs", topic, rest.join("/")]) }, name);
  if (row.kind === "schedule" && row.action !== "schedule_deleted") return m("a", { href: href(["schedules", topic, rest.join("/")]) }, name);
  return name;
}

const cut = (text) => (text.length > VALUE_SHOWN ? `${text.slice(0, VALUE_SHOWN)}…` : text);
const value = (one) => (one === undefined ? m("span.faint", "–") : m("code", shown(cut(JSON.stringify(one)))));

// The members that differ, or the numbers of jobs.
function changes(row) {
  const { before = {}, after = {} } = row;
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].filter((name) => JSON.stringify(before[name]) !== JSON.stringify(after[name]));
  if (names.length) return m("ul.plain", names.map((name) => m("li", m("strong", name), " ", value(before[name]), " → ", value(after[name]))));
  if (row.matched !== undefined) return `${number(row.done)} of ${number(row.matched)} jobs`;
  return row.removed === undefined ? "" : `${number(row.removed)} jobs`;
}
