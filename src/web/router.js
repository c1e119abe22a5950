// Routes are in the hash: #/jobs/orders/order-1041?tab=body.
//
//   route.segments         ["jobs", "orders", "order-1041"], decoded
//   route.query            {tab: "body"}
//   href(segments, query)  the hash as text, for links: m("a", {href: href(["jobs", topic, id])})
//   go(segments, query)    navigates; the browser's Back returns
//   setQuery(query)        replaces the query of this page; no entry in the browser's history
//   onRoute(fn)            calls fn after each change of the segments or the query

import { m } from "./lib.js";

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
