// The two libraries. Both are classic scripts, since neither comes as a module that works without a bundler.
//
// Use only what Mithril 1.1 and 2.2 share: m(), m.mount, m.redraw, m.render, m.fragment, closure components and
// lifecycle hooks. Not m.route, m.request, m.redraw.sync, and never m.trust.

export const m = window.m;

let chart;

// Returns a promise of Chart.js's constructor. Loads the file with the first call.
export function loadChart() {
  chart ??= new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = new URL("./lib/chart.min.js", import.meta.url).href;
    script.onload = () => resolve(window.Chart);
    script.onerror = () => {
      chart = undefined;
      reject(new Error("Chart.js could not be loaded"));
    };
    document.head.append(script);
  });
  return chart;
}
