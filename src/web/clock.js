// One timer for everything that shows how long ago something was. It redraws once a second while it is needed and
// the tab is visible.
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
