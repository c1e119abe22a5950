// The two libraries. Both are classic scripts, since neither comes as a module that works without a bundler.
//
// Use only what Mithril 1.1 and 2.2 share: m(), m.mount, m.redraw, m.render, m.fragment, closure components and
// lifecycle hooks. Not m.route, m.request, m.redraw.sync, and never m.trust.

export const m = window.m.version?.startsWith("1.") ? withoutEmptyAttributes(window.m) : window.m;

// Mithril 1 leaves an attribute in the page whose value becomes undefined or null, for example aria-current; it removes one
// that is no longer given.
function withoutEmptyAttributes(original) {
  const isAttributes = (value) => value !== null && typeof value === "object" && !Array.isArray(value) && value.tag === undefined;
  const given = (attrs) => Object.fromEntries(Object.entries(attrs).filter(([, value]) => value !== undefined && value !== null));
  const hyperscript = (selector, ...rest) =>
    typeof selector === "string" && isAttributes(rest[0]) ? original(selector, given(rest[0]), ...rest.slice(1)) : original(selector, ...rest);
  return Object.assign(hyperscript, original);
}

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
