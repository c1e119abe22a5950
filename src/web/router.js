// The pages and their addresses.

import { m } from "./lib.js";

// The pages, one line each: path (a segment that begins with ":" is a parameter), module, and for the rail name, icon
// and key (`g` and this key go there). A page's default export is a component; it gets {params, query}. Its `title`
// is a text or a function of params, shown as the document's title.

export const routes = [
  { path: [], load: () => import("./pages/overview.js"), name: "Overview", icon: "overview", key: "o" },
  { path: ["topics"], load: () => import("./pages/topics.js"), name: "Topics", icon: "topics", key: "t" },
  { path: ["topics", ":topic"], load: () => import("./pages/topic.js") },
  { path: ["jobs"], load: () => import("./pages/jobs.js"), name: "Jobs", icon: "jobs", key: "j" },
  { path: ["jobs", ":topic", ":jobId"], load: () => import("./pages/job.js") },
  { path: ["dead"], load: () => import("./pages/dead.js"), name: "Dead", icon: "dead", key: "d" },
  { path: ["schedules"], load: () => import("./pages/schedules.js"), name: "Schedules", icon: "schedules", key: "s" },
  { path: ["schedules", ":topic", ":scheduleId"], load: () => import("./pages/schedule.js") },
  { path: ["forecast"], load: () => import("./pages/forecast.js"), name: "Forecast", icon: "forecast", key: "f" },
  { path: ["workflows"], load: () => import("./pages/workflows.js"), name: "Workflows", icon: "workflows", key: "w" },
  { path: ["workflows", ":topic", ":workflowId"], load: () => import("./pages/workflow.js") },
  { path: ["limits"], load: () => import("./pages/limits.js"), name: "Limits", icon: "limits", key: "l" },
  { path: ["groups"], load: () => import("./pages/groups.js"), name: "Groups", icon: "groups", key: "g" },
  { path: ["receivers"], load: () => import("./pages/receivers.js"), name: "Receivers", icon: "receivers", key: "r" },
  { path: ["pull"], load: () => import("./pages/pull.js"), name: "Pull topics", icon: "pull", key: "p" },
  { path: ["tokens"], load: () => import("./pages/tokens.js"), name: "Tokens", icon: "tokens", key: "k" },
  { path: ["audit"], load: () => import("./pages/audit.js"), name: "Audit log", icon: "audit", key: "a" },
  { path: ["try"], load: () => import("./pages/try.js"), name: "Try it", icon: "try", key: "y" },
];

// Returns {route, params} of the page for these segments, or null.
export function findRoute(segments) {
  for (const one of routes) {
    const params = matchPath(one.path, segments);
    if (params) return { route: one, params };
  }
  return null;
}

function matchPath(pattern, segments) {
  if (pattern.length !== segments.length) return null;
  const params = {};
  for (const [i, part] of pattern.entries()) {
    if (part.startsWith(":")) params[part.slice(1)] = segments[i];
    else if (part !== segments[i]) return null;
  }
  return params;
}

// Routes are in the hash: #/jobs/orders/order-1041?tab=body.
//
//   route.segments         ["jobs", "orders", "order-1041"], decoded
//   route.query            {tab: "body"}
//   href(segments, query)  the hash as text, for links: m("a", {href: href(["jobs", topic, id])})
//   go(segments, query)    navigates; the browser's Back returns
//   setQuery(query)        replaces the query of this page; no entry in the browser's history
//   onRoute(fn)            calls fn after each change of the segments or the query

export const route = { segments: [], query: {} };

const listeners = [];

export function href(segments = [], query = {}) {
  const path = segments.map((segment) => encodeURIComponent(segment)).join("/");
  const text = queryText(query);
  return `#/${path}${text ? `?${text}` : ""}`;
}

export function go(segments, query) {
  location.hash = href(segments, query);
}

export function setQuery(query) {
  history.replaceState(history.state, "", href(route.segments, query));
  read();
}

export function onRoute(listener) {
  listeners.push(listener);
}

// Reads the address and begins to follow it.
export function startRouter() {
  window.addEventListener("hashchange", read);
  read();
}

// Returns query as text. Leaves out members that are empty.
export function queryText(query) {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(query ?? {})) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one !== undefined && one !== null && one !== "") params.append(name, String(one));
    }
  }
  return params.toString().replaceAll("+", "%20"); // the API would read + as a plus sign, not as a space
}

function read() {
  const text = location.hash.replace(/^#\/?/, "");
  const [path, query = ""] = splitAt(text, "?");
  route.segments = path.split("/").filter(Boolean).map(decode);
  route.query = Object.fromEntries(new URLSearchParams(query));
  for (const listener of listeners) listener(route);
  m.redraw();
}

function splitAt(text, mark) {
  const at = text.indexOf(mark);
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + 1)];
}

function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
