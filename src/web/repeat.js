// repeat(load, ms): calls the async function load now, and again ms after each call has ended, while the tab is visible.
// Returns {again(), stop()}: again() calls load now, unless a call is under way. Use it in oninit and stop it in onremove.

import { m } from "./lib.js";

export function repeat(load, ms) {
  let timer = null;
  let isStopped = false;
  let isBusy = false;
  const plan = () => {
    clearTimeout(timer);
    if (!isStopped && !document.hidden) timer = setTimeout(again, ms);
  };
  const again = async () => {
    if (isBusy || isStopped) return;
    isBusy = true;
    try {
      await load();
    } finally {
      isBusy = false;
      if (!isStopped) m.redraw();
      plan();
    }
  };
  const onVisible = () => {
    if (document.hidden) clearTimeout(timer);
    else again();
  };
  document.addEventListener("visibilitychange", onVisible);
  again();
  return {
    again,
    stop: () => {
      isStopped = true;
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", onVisible);
    },
  };
}
