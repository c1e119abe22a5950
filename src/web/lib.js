// The two libraries. Both are classic scripts, since neither comes as a module that works without a bundler.
//
// Use only what Mithril 1.1 and 2.2 share: m(), m.mount, m.redraw, m.render, m.fragment, closure components and
// lifecycle hooks. Not m.route, m.request, m.redraw.sync, and never m.trust.

export const m = window.m.version?.startsWith("1.") ? asMithril2(window.m) : window.m;

// Mithril 1 differs in two ways. It keeps an attribute, such as aria-current, whose value becomes undefined or null. And it
// reuses removed elements and moves their neighbours to do so: a dialog that is moved is no longer modal. It does not reuse
// elements that have an onremove.
function asMithril2(original) {
  const isAttributes = (value) => value !== null && typeof value === "object" && !Array.isArray(value) && value.tag === undefined;
  const given = (attrs) => Object.fromEntries(Object.entries(attrs).filter(([, value]) => value !== undefined && value !== null));
  const onremove = () => {};
  const hyperscript = (selector, ...rest) => {
    if (typeof selector !== "string") return original(selector, ...rest);
    const attrs = isAttributes(rest[0]) ? given(rest.shift()) : {};
    return original(selector, { onremove, ...attrs }, ...rest);
  };
  return Object.assign(hyperscript, original);
}

let chart;

// Returns a promise of Chart.js's constructor. Loads the file with the first call, after the page has been painted, because
// such a large script would delay the first paint.
export function loadChart() {
  chart ??= painted().then(loadScript).catch((error) => {
    chart = undefined;
    throw error;
  });
  return chart;
}

const painted = () => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve, 0)));

const loadScript = () =>
  new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = new URL("./lib/chart.min.js", import.meta.url).href;
    script.onload = () => resolve(window.Chart);
    script.onerror = () => reject(new Error("Chart.js could not be loaded"));
    document.head.append(script);
  });
