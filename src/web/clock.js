// One timer for all texts such as "3 s ago". Redraws the page once a second while such a text is shown and the tab is
// visible.
//
//   oninit: () => (stop = useClock()), onremove: () => stop()

import { m } from "./lib.js";

let users = 0;
let timer = null;

export function useClock() {
  users++;
  update();
  return () => {
    users--;
    update();
  };
}

function update() {
  const isNeeded = users > 0 && !document.hidden;
  if (isNeeded && timer === null) {
    timer = setInterval(() => m.redraw(), 1000);
  } else if (!isNeeded && timer !== null) {
    clearInterval(timer);
    timer = null;
  }
}

document.addEventListener("visibilitychange", () => {
  if (!document.hidden && users > 0) m.redraw();
  update();
});
