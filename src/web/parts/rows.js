// moveAmongRows: onkeydown of a body of rows. The focused row moves with the arrows, j and k, Home and End; Enter opens its
// data-href, Space ticks its checkbox.

import { isAfterPrefix } from "../keys.js";

const STEPS = { j: 1, k: -1, ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10, Home: -Infinity, End: Infinity };

export function moveAmongRows(event) {
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
