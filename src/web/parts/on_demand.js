// onDemand(load): a component whose module is loaded when it is first shown, such as onDemand(() => import("../login.js")).
// The module exports it as its default.

import { m } from "../lib.js";

const RETRY_MS = 2000;

export function onDemand(load) {
  let component = null;
  let isLoading = false;
  const begin = async () => {
    if (component || isLoading) return;
    isLoading = true;
    try {
      component = (await load()).default;
    } catch {
      setTimeout(begin, RETRY_MS);
    }
    isLoading = false;
    m.redraw();
  };
  return { oninit: begin, view: ({ attrs }) => (component ? m(component, attrs) : null) };
}
