// A group as the form edits it, and its JSON for the API. Uses neither the page nor the network.
//
// The draft does not have hidden values (a url's query, headers). A field that the person does not change is not sent, so
// the server keeps its value.

import { HIDDEN, hasHiddenQuery } from "../jobs/draft.js";

let nextKey = 1;

export const newEndpoint = () => ({ key: nextKey++, was: null, name: "", method: "POST", url: "", headers: "" });

const headerLines = (headers = {}) => Object.entries(headers).map(([name, value]) => `${name}: ${value}`).join("\n");

// Returns the endpoints of a group; was: the name that the server has, before: the endpoint that the server has.
export const draftOf = (group) =>
  Object.entries(group.endpoints).map(([name, one]) => ({ key: nextKey++, was: name, before: one, name, method: one.method ?? "POST", url: one.url, headers: headerLines(one.headers) }));

// Returns the faults that this page can explain better than the server: [{field, detail}].
export function faultsOf(endpoints) {
  const names = endpoints.map((one) => one.name.trim());
  const faults = [];
  for (const [i, one] of endpoints.entries()) {
    const headers = readHeaders(one.headers);
    const isMoved = one.was !== names[i] || one.url !== one.before?.url;
    if (names.indexOf(names[i]) !== i) faults.push({ field: names[i], detail: "two endpoints have this name" });
    if (isMoved && hasHiddenQuery(one.url)) faults.push({ field: names[i], detail: "the query of its URL is hidden: type the whole URL" });
    if (one.was !== names[i] && headers && Object.values(headers).includes(HIDDEN)) faults.push({ field: names[i], detail: "it has a new name: type its hidden headers again" });
    if (!headers) faults.push({ field: names[i], detail: "write each header on a line of its own, as Name: value" });
  }
  return faults;
}

// Returns the endpoints of a new group.
export const endpointsOf = (endpoints) => Object.fromEntries(endpoints.map((one) => [one.name.trim(), endpointOf(one)]));

// Returns the merge patch of the changes. A renamed endpoint is a new one.
export function patchOf(endpoints, group) {
  const left = endpoints.map((one) => one.name.trim());
  const patch = Object.fromEntries(Object.keys(group.endpoints).filter((name) => !left.includes(name)).map((name) => [name, null]));
  for (const one of endpoints) {
    const change = one.was === one.name.trim() ? changeOf(one) : endpointOf(one);
    if (Object.keys(change).length) patch[one.name.trim()] = change;
  }
  return patch;
}

function endpointOf({ url, method, headers }) {
  const all = readHeaders(headers);
  return { url: url.trim(), ...(method === "POST" ? {} : { method }), ...(Object.keys(all).length ? { headers: all } : {}) };
}

function changeOf({ before, url, method, headers }) {
  const change = {};
  if (url.trim() !== before.url) change.url = url.trim();
  if (method !== (before.method ?? "POST")) change.method = method;
  const now = readHeaders(headers);
  const old = before.headers ?? {};
  const changed = [...new Set([...Object.keys(now), ...Object.keys(old)])].filter((name) => now[name] !== old[name]);
  if (changed.length) change.headers = Object.fromEntries(changed.map((name) => [name, now[name] ?? null]));
  return change;
}

// Returns {name: value} of the lines; null if one of them is not a header.
function readHeaders(text) {
  const headers = {};
  for (const line of text.split("\n").filter((one) => one.trim())) {
    const colon = line.indexOf(":");
    if (colon <= 0) return null;
    headers[line.slice(0, colon).trim()] = line.slice(colon + 1).trim();
  }
  return headers;
}

export const hasHidden = (one) => one.url.includes(HIDDEN) || one.headers.includes(HIDDEN);
