// Table: m(Table, {label, columns, rows, rowKey, href, empty, sort, onsort}).
//
//   columns  [{name: "ready", title: "Ready", view: (row) => …, sort: (row) => number or text, isNumber, isWide, help}]
//            A column without a title is one of buttons. The first column's view is the row's link if href is given. `sort` makes the heading a button.
//   rows     an array, or null while it is being loaded
//   rowKey   (row) => text that names the row (`key` is Mithril's own: it would name the whole table)
//   href     (row) => address of the row's page; Enter opens it
//   sort     {by: "ready", isDown: true}: the order at first; onsort(sort) is called when it changes
//   empty    what is shown without rows
//   more     vnode below the rows, e.g. a button
//
// On a small screen each row becomes a card with the headings beside the values; the roles keep it a table for
// screen readers.
//
// Keyboard: arrows, Home and End move between rows; Enter opens; headings are buttons.

import { m } from "../lib.js";
import { moveAmongRows } from "./rows.js";

export function Table({ attrs }) {
  let sort = attrs.sort ?? null;
  const sortBy = (column, onsort) => {
    sort = { by: column.name, isDown: sort?.by === column.name ? !sort.isDown : Boolean(column.isNumber) };
    onsort?.(sort);
  };
  return {
    view: ({ attrs: { label, columns, rows, rowKey, key, href, empty, onsort, more } }) => {
      if (rows === null || rows === undefined) return m(".loading", { role: "status" }, "Loading…");
      if (rows.length === 0 && empty) return empty;
      return m(".table-box",
        m("table", { role: "table", "aria-label": label },
          m("thead", { role: "rowgroup" }, m("tr", { role: "row" }, columns.map((column) => heading(column, sort, () => sortBy(column, onsort))))),
          m("tbody", { role: "rowgroup", onkeydown: moveAmongRows }, sorted(rows, columns, sort).map((row, i) => line(row, i, columns, rowKey ?? key, href)))),
        more);
    },
  };
}

function heading(column, sort, onclick) {
  const isBy = sort?.by === column.name;
  const order = isBy ? (sort.isDown ? "descending" : "ascending") : undefined;
  const name = `${column.isNumber ? "is-number" : ""} ${column.isWide ? "is-wide" : ""}`;
  return m("th", { role: "columnheader", scope: "col", class: name, "aria-sort": order, title: column.help },
    column.sort ? m("button.sort", { type: "button", onclick }, column.title, m("span.arrow", { "aria-hidden": "true" }, isBy ? (sort.isDown ? "▾" : "▴") : "")) : column.title || m("span.off-screen", "Actions"));
}

function line(row, i, columns, key, href) {
  const to = href?.(row);
  return m("tr", { role: "row", key: key ? key(row) : i, tabindex: i === 0 ? 0 : -1, "data-href": to, onclick: to ? (event) => openRow(event, to) : undefined },
    columns.map((column, c) =>
      m("td", { role: "cell", class: `${column.isNumber ? "is-number" : ""} ${column.isWide ? "is-wide" : ""}`, "data-title": column.title },
        c === 0 && to ? m("a.row-link", { href: to, tabindex: -1 }, column.view(row)) : column.view(row))));
}

function openRow(event, to) {
  if (event.target.closest("a, button, input, select, label") || String(getSelection())) return;
  location.hash = to;
}

function sorted(rows, columns, sort) {
  const column = sort && columns.find((one) => one.name === sort.by);
  if (!column?.sort) return rows;
  const way = sort.isDown ? -1 : 1;
  return rows.map((row) => [column.sort(row), row]).sort((a, b) => way * compare(a[0], b[0])).map((pair) => pair[1]);
}

function compare(a, b) {
  if (a === b) return 0;
  if (a === null || a === undefined) return -1;
  if (b === null || b === undefined) return 1;
  return typeof a === "string" ? a.localeCompare(b) : a - b;
}
