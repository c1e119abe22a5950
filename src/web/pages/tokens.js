// Tokens: the tokens of the server and their rights.

import { m } from "../lib.js";
import { get, session } from "../api.js";
import { number } from "../format.js";
import { Command, Empty, Card, Page, Problem } from "../parts/page.js";
import { Table } from "../parts/table.js";
import { Time } from "../parts/values.js";

const NEW_TOKEN = "duepost token new shop scopes=schedule,read topics='orders-*'";

export default function Tokens() {
  let rows = null;
  let error = null;
  const load = async () => {
    try {
      rows = (await get("/tokens")).body.tokens;
      error = null;
    } catch (problem) {
      error = problem;
    }
    m.redraw();
  };
  return {
    oninit: load,
    view: () =>
      m(Page, { title: "Tokens", sub: "Tokens and their rights. The tokens themselves are never shown." },
        session.access?.name ? m("p", "You use the token ", m("strong", session.access.name), ", which may ", session.access.scopes.join(", "), ".") : null,
        error?.status === 403 ? m(Empty, { title: "Your token cannot read this", text: error.detail }) : m(Problem, { error, retry: load }),
        error ? null : m(Table, { label: "Tokens", rows, rowKey: (row) => row.name, columns: COLUMNS, empty: m(Empty, { title: "No tokens", text: "Without a file of tokens, every process on this host has all rights, and duepost listens on loopback only. This command prints a new token and its line for the file:", command: NEW_TOKEN }) }),
        rows?.length ? m(Card, { title: "A new token" }, m("p", "This command prints a token and its line for the file of --tokens. Then reload the file with SIGHUP."), m(Command, { text: NEW_TOKEN })) : null),
  };
}
Tokens.title = "Tokens";

const words = (list, all) => (list === undefined ? m("span.faint", all) : list.length ? m("code", list.join(" ")) : m("span.faint", "none"));

const COLUMNS = [
  { name: "name", title: "Name", sort: (row) => row.name, view: (row) => row.name },
  { name: "scopes", title: "Scopes", view: (row) => row.scopes.join(", ") },
  { name: "topics", title: "Topics", isWide: true, view: (row) => words(row.topics, "all") },
  { name: "groups", title: "Groups", view: (row) => words(row.groups, "all") },
  { name: "rate", title: "Requests an hour", isNumber: true, sort: (row) => row.jobsPerHour ?? Infinity, view: (row) => (row.jobsPerHour ? number(row.jobsPerHour) : m("span.faint", "no limit")) },
  { name: "used", title: "Last used", sort: (row) => Date.parse(row.lastUsedAt ?? 0), view: (row) => (row.lastUsedAt ? m(Time, { at: row.lastUsedAt, style: "ago" }) : m("span.faint", "unknown")) },
];
