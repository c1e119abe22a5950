// Table: m(Table, {label, columns, rows, rowKey, href, empty, sort, onsort, hasMore, onmore}).
//
//   columns  [{name: "ready", title: "Ready", view: (row) => …, sort: (row) => number or text, isNumber, isWide, isExtra, help}]
//            A column without a title has buttons. With href, the first column's view is the row's link.
//            `sort` makes the heading a button. isExtra: hidden on medium screens.
//   rows     an array, or null while it is being loaded
//   rowKey   (row) => text that names the row (`key` is Mithril's own: it would name the whole table)
//   href     (row) => address of the row's page; Enter opens it
//   sort     {by: "ready", isDown: true}: the order at first; onsort(sort) is called when it changes
//   empty    shown if there are no rows
//   isDense  for many columns: narrow gaps between them
//   hasMore  whether there are more rows to load; then onmore() is called near the end. It returns a promise.
//
// Only the first rows of a long table are in the document; scrolling adds the others. Sorting covers the loaded rows only.
//
// On a small screen each row becomes a card with the headings next to the values. For screen readers, the roles keep it a
// table.
//
// Keyboard: arrows, j and k, Home and End move between rows; Enter opens; headings are buttons.

import { m } from "../lib.js";
import { isAfterPrefix } from "../keys.js";
import { number } from "../format.js";

const ROWS_AT_ONCE = 100;
const LOADS_UNSEEN = 20; // after this many pages without a row to show, because of a filter, the person is asked to continue

export function Table({ attrs }) {
  let sort = attrs.sort ?? null;
  const end = { shown: ROWS_AT_ONCE, isLoading: false, error: null, unseen: 0 };
  const sortBy = (column, onsort) => {
    sort = { by: column.name, isDown: sort?.by === column.name ? !sort.isDown : Boolean(column.isNumber) };
    onsort?.(sort);
  };
  return {
    view: ({ attrs: { label, columns, rows, rowKey, key, href, empty, onsort, hasMore, onmore, isDense } }) => {
      if (rows === null || rows === undefined) return m(".loading", { role: "status" }, "Loading…");
      if (rows.length === 0 && empty && !hasMore) return empty;
      const isCut = rows.length > end.shown || hasMore;
      return m(".table-box",
        m("table", { class: isDense ? "is-dense" : "", role: "table", "aria-label": label, "aria-rowcount": isCut ? String(hasMore ? -1 : rows.length + 1) : undefined },
          m("thead", { role: "rowgroup" }, m("tr", { role: "row" }, columns.map((column) => heading(column, sort, () => sortBy(column, onsort))))),
          m("tbody", { role: "rowgroup", onkeydown: moveAmongRows }, sorted(rows, columns, sort).slice(0, end.shown).map((row, i) => line(row, i, columns, rowKey ?? key, href)))),
        isCut ? m(TableEnd, { end, rows, hasMore, onmore }) : null);
    },
  };
}

// The element after the last row in the document. The table adds the next rows before it becomes visible.
function TableEnd({ attrs: first }) {
  let current = first;
  let watcher;
  const load = ({ end, rows, onmore }) => {
    end.isLoading = true;
    end.error = null;
    end.unseen = end.count === rows.length ? end.unseen + 1 : 0;
    end.count = rows.length;
    onmore().catch((error) => (end.error = error)).finally(() => {
      end.isLoading = false;
      m.redraw();
    });
  };
  const grow = () => {
    const { end, rows, hasMore } = current;
    if (rows.length > end.shown) {
      end.shown += ROWS_AT_ONCE;
      m.redraw();
    } else if (hasMore && !end.isLoading && !end.error && end.unseen < LOADS_UNSEEN) load(current);
  };
  // The observer calls its function when it begins to observe the element, and when the element comes into view or leaves it.
  // To be called again while the element stays in view, the table observes the element anew.
  const watch = (dom) => {
    watcher.unobserve(dom);
    watcher.observe(dom);
  };
  return {
    oncreate: ({ dom }) => {
      watcher = new IntersectionObserver(([entry]) => entry.isIntersecting && grow(), { rootMargin: "600px" });
      watch(dom);
    },
    onupdate: ({ dom }) => watch(dom),
    onremove: () => watcher.disconnect(),
    view: ({ attrs }) => {
      current = attrs;
      const { end, rows, hasMore } = attrs;
      const goOn = () => {
        end.count = undefined;
        load(current);
      };
      return m(".table-end.sub", { role: "status" },
        end.error ? [end.error.detail || end.error.message, " ", m("button.quiet", { type: "button", onclick: goOn }, "Try again")]
          : end.unseen >= LOADS_UNSEEN ? m("button", { type: "button", onclick: goOn }, "Search on")
            : end.isLoading ? "Loading…" : hasMore ? `${number(rows.length)} loaded; scroll for more` : "");
    },
  };
}

function heading(column, sort, onclick) {
  const isBy = sort?.by === column.name;
  const order = isBy ? (sort.isDown ? "descending" : "ascending") : undefined;
  const name = `${column.isNumber ? "is-number" : ""} ${column.isWide ? "is-wide" : ""} ${column.isExtra ? "is-extra" : ""}`;
  return m("th", { role: "columnheader", scope: "col", class: name, "aria-sort": order, title: column.help },
    column.sort ? m("button.sort", { type: "button", onclick }, column.title, m("span.arrow", { "aria-hidden": "true" }, isBy ? (sort.isDown ? "▾" : "▴") : "")) : column.title || m("span.off-screen", "Actions"));
}

function line(row, i, columns, key, href) {
  const to = href?.(row);
  return m("tr", { role: "row", key: key ? key(row) : i, tabindex: i === 0 ? 0 : -1, "data-href": to, onclick: to ? (event) => openRow(event, to) : undefined },
    columns.map((column, c) =>
      m("td", { role: "cell", class: `${column.isNumber ? "is-number" : ""} ${column.isWide ? "is-wide" : ""} ${column.isExtra ? "is-extra" : ""}`, "data-title": column.title },
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

// moveAmongRows: onkeydown of a body of rows. The focused row moves with the arrows, j and k, Home and End; Enter opens its
// data-href, Space ticks its checkbox.

const STEPS = { j: 1, k: -1, ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10, Home: -Infinity, End: Infinity };

function moveAmongRows(event) {
  event.redraw = false;
  const row = event.target.closest("[data-row], tr");
  if (!row || event.target !== row || event.ctrlKey || event.metaKey || event.altKey || isAfterPrefix()) return;
  if (event.key === "Enter" && row.dataset.href) {
    location.hash = row.dataset.href;
  } else if (event.key === " ") {
    row.querySelector("input[type=checkbox]")?.click();
  } else if (event.key in STEPS) {
    focusRow(row, STEPS[event.key]);
  } else {
    return;
  }
  event.preventDefault();
}

function focusRow(row, step) {
  const rows = [...row.parentElement.children].filter((one) => one.matches("[data-row], tr"));
  const to = rows[Math.max(0, Math.min(rows.length - 1, rows.indexOf(row) + step))];
  row.tabIndex = -1;
  to.tabIndex = 0;
  to.focus();
  to.scrollIntoView({ block: "nearest" });
}
