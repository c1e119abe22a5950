// VirtualList: a table with only its visible rows in the document; scrolls smoothly with 100,000 rows.
//
//   m(VirtualList, {label, columns, rows, rowKey, href, hasMore, more, empty, height, selected, onselect})
//
//   columns   [{title, view: (row, i) => …, width: "12rem" | "1fr", isNumber}]; the first is the row's link
//   rows      the loaded rows, an array; null before the first page
//   hasMore   whether there are more rows to load; then more() is called near the end. It returns a promise.
//   rowKey, href  (row) => text (`key` is Mithril's own: it would name the whole list)
//   selected  a Set of keys; with it each row begins with a checkbox, and onselect(key, isOn, row) is called
//   height    of a row in pixels, 36 unless given
//
// Keyboard: arrows, j and k, Page Up and Down, Home and End; Enter opens, Space ticks.

import { m } from "../lib.js";
import { isAfterPrefix } from "../keys.js";

const SPARE_ROWS = 12;

export function VirtualList({ attrs: first }) {
  const view = { top: 0, rows: 30, active: 0, isLoading: false, error: null, dom: null };
  const heightOf = (attrs) => attrs.height ?? 36;

  const measure = (attrs) => {
    const body = view.dom;
    const rows = Math.ceil(body.clientHeight / heightOf(attrs));
    const top = Math.floor(body.scrollTop / heightOf(attrs));
    const isChanged = rows !== view.rows || Math.abs(top - view.top) >= SPARE_ROWS / 2;
    if (isChanged) Object.assign(view, { rows, top });
    return isChanged;
  };

  const loadIfNear = (attrs) => {
    const end = view.dom.scrollTop / heightOf(attrs) + 2 * view.rows + SPARE_ROWS;
    if (!attrs.hasMore || view.isLoading || view.error || end < (attrs.rows?.length ?? 0)) return;
    view.isLoading = true;
    attrs.more().catch((error) => (view.error = error)).finally(() => {
      view.isLoading = false;
      m.redraw();
    });
  };

  const focusRow = (i, attrs) => {
    const height = heightOf(attrs);
    view.active = Math.max(0, Math.min(attrs.rows.length - 1, i));
    const top = view.active * height;
    if (top < view.dom.scrollTop) view.dom.scrollTop = top;
    else if (top + height > view.dom.scrollTop + view.dom.clientHeight) view.dom.scrollTop = top + height - view.dom.clientHeight;
    measure(attrs);
    view.wantsFocus = true;
    m.redraw();
  };

  const onkeydown = (event, attrs) => {
    event.redraw = false;
    const row = event.target.closest(".vrow");
    if (!row || event.target !== row || event.ctrlKey || event.metaKey || event.altKey || isAfterPrefix()) return;
    const steps = { j: 1, k: -1, ArrowDown: 1, ArrowUp: -1, PageDown: view.rows - 1, PageUp: 1 - view.rows, Home: -Infinity, End: Infinity };
    const to = attrs.href?.(attrs.rows[view.active]); // the active row, and not event.target, because the focus may not have reached the active row yet
    if (event.key === "Enter" && to) location.hash = to;
    else if (event.key === " ") row.querySelector("input[type=checkbox]")?.click();
    else if (event.key in steps) focusRow(view.active + steps[event.key], attrs);
    else return;
    event.preventDefault();
  };

  const update = ({ attrs }) => {
    if (measure(attrs)) m.redraw();
    loadIfNear(attrs);
    if (view.wantsFocus) {
      view.wantsFocus = false;
      view.dom.querySelector(`[data-row="${view.active}"]`)?.focus({ preventScroll: true });
    }
  };

  const resized = () => m.redraw();
  let current = first;
  return {
    oncreate: (vnode) => {
      view.dom = vnode.dom.querySelector(".vbody");
      window.addEventListener("resize", resized);
      update(vnode);
    },
    onupdate: (vnode) => {
      view.dom = vnode.dom.querySelector(".vbody");
      update(vnode);
    },
    onremove: () => window.removeEventListener("resize", resized),
    view: ({ attrs }) => {
      current = attrs;
      const { label, columns, rows, empty } = attrs;
      const isEmpty = rows && rows.length === 0 && !attrs.hasMore;
      const widths = { "grid-template-columns": [attrs.selected ? "2rem" : "", ...columns.map((one) => one.width ?? "1fr")].join(" ") };
      view.active = Math.min(view.active, Math.max(0, (rows?.length ?? 1) - 1));
      const count = attrs.hasMore ? -1 : (rows?.length ?? 0) + 1;
      return m(".vlist", m(".vtable", { role: "table", "aria-label": label, "aria-rowcount": String(count), "aria-busy": rows ? "false" : "true" },
        m(".vhead", { role: "row", style: widths, "aria-rowindex": "1" },
          attrs.selected ? m("span", { role: "columnheader" }, m("span.off-screen", "Selected")) : null,
          columns.map((one) => m("span", { role: "columnheader", class: one.isNumber ? "is-number" : "" }, one.title))),
        m(".vbody", {
          role: "rowgroup", tabindex: rows?.length ? -1 : 0, onkeydown: (event) => onkeydown(event, current),
          onscroll: (event) => {
            event.redraw = measure(current);
            loadIfNear(current);
          },
        }, isEmpty ? m(".vnone", { role: "row" }, m("div", { role: "cell" }, empty ?? "None")) : windowOf(attrs, view, heightOf(attrs), widths))),
        m(".vfoot", { role: "status" }, footText(attrs, view, () => {
          view.error = null;
          loadIfNear(current);
        })));
    },
  };
}

function windowOf(attrs, view, height, widths) {
  const rows = attrs.rows ?? [];
  const from = Math.max(0, view.top - SPARE_ROWS);
  const to = Math.min(rows.length, view.top + view.rows + SPARE_ROWS);
  const shown = [];
  for (let i = from; i < to; i++) shown.push(line(attrs, rows[i], i, height, widths, view));
  return m(".vspace", { role: "presentation", style: { height: `${rows.length * height}px` } }, shown);
}

function line(attrs, row, i, height, widths, view) {
  const key = (attrs.rowKey ?? attrs.key)(row);
  const to = attrs.href?.(row);
  const isSelected = attrs.selected?.has(key);
  return m(".vrow", {
    key, role: "row", tabindex: i === view.active ? 0 : -1, "data-row": i, "data-href": to, "aria-rowindex": String(i + 2),
    class: isSelected ? "is-selected" : "", style: { ...widths, transform: `translateY(${i * height}px)`, height: `${height}px` },
    onfocus: (event) => {
      event.redraw = false;
      view.active = i;
    },
    onclick: to ? (event) => open(event, to) : undefined,
  },
    attrs.selected
      ? m("span", { role: "cell" }, m("input", { type: "checkbox", tabindex: -1, checked: isSelected, "aria-label": `Select ${key}`, onchange: (event) => attrs.onselect(key, event.target.checked, row) }))
      : null,
    attrs.columns.map((column, c) =>
      m("span.vcell", { role: "cell", class: column.isNumber ? "is-number" : "" },
        c === 0 && to ? m("a.row-link", { href: to, tabindex: -1 }, column.view(row, i)) : column.view(row, i))));
}

function open(event, to) {
  if (event.target.closest("a, button, input, select, label") || String(getSelection())) {
    event.redraw = false;
    return;
  }
  location.hash = to;
}

function footText(attrs, view, retry) {
  if (view.error) return [view.error.detail || view.error.message, " ", m("button.quiet", { type: "button", onclick: retry }, "Try again")];
  if (!attrs.rows || view.isLoading) return "Loading…";
  return attrs.hasMore ? `${attrs.rows.length.toLocaleString("en-US")} loaded; scroll for more` : "";
}
