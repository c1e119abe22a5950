// Groups: named endpoints to which a job is sent together.

import { m } from "../lib.js";
import { href } from "../router.js";
import { del, get, path, whyNot, ApiError, patch, put } from "../api.js";
import { Paged, repeat } from "../live.js";
import { plural } from "../format.js";
import { METHODS, HIDDEN, hasHiddenQuery } from "../jobs/draft.js";
import { Dialog, Field, Form } from "../parts/form.js";
import { Empty, Button, Page, Problem, Icon } from "../parts/page.js";
import { Table } from "../parts/table.js";
import { later, toast } from "../parts/toast.js";

const READ_MS = 5000;

export default function Groups() {
  const page = { list: new Paged(({ body }) => body.groups, (row) => row.group, (query) => get("/groups", query)), edited: null };
  let stop;
  return {
    oninit: () => {
      const reading = repeat(() => page.list.load(), READ_MS);
      page.reload = () => page.list.load(true).then(m.redraw);
      stop = reading.stop;
    },
    onremove: () => stop(),
    view: () =>
      m(Page, { title: "Groups", sub: "A job that is sent to a group becomes one job for each endpoint", actions: m(Button, { kind: "primary", whyNot: whyNot("admin"), onclick: () => (page.edited = { group: null }) }, "New group") },
        m(Problem, { error: page.error ?? page.list.error, retry: page.reload }),
        m(Table, {
          label: "Groups", rows: page.list.rows, rowKey: (row) => row.group, columns: columns(page),
          empty: m(Empty, { title: "No groups yet", text: "Use a group to send one job to several servers.", command: "duepost group shops north=https://north.example/hook south=https://south.example/hook" }),
          hasMore: page.list.hasMore, onmore: () => page.list.more(),
        }),
        page.edited ? m(GroupDialog, { ...page.edited, onclose: (hasChanged) => { page.edited = null; if (hasChanged) page.reload(); } }) : null),
  };
}
Groups.title = "Groups";

const columns = (page) => [
  { name: "group", title: "Group", sort: (row) => row.group, view: (row) => row.group },
  { name: "count", title: "Endpoints", isNumber: true, sort: (row) => Object.keys(row.endpoints).length, view: (row) => Object.keys(row.endpoints).length },
  { name: "endpoints", title: "", isWide: true, view: (row) => m("ul.plain", Object.entries(row.endpoints).slice(0, 5).map(([name, one]) => m("li", m("strong", name), " ", m("span.sub", `${one.method && one.method !== "POST" ? `${one.method} ` : ""}${one.url}`))), Object.keys(row.endpoints).length > 5 ? m("li.sub", `and ${Object.keys(row.endpoints).length - 5} more`) : null) },
  { name: "send", title: "", view: (row) => m("a", { href: href(["try"], { group: row.group }) }, "Send a job") },
  { name: "edit", title: "", view: (row) => m(Button, { kind: "quiet", whyNot: whyNot("admin"), label: `Change ${row.group}`, onclick: () => edit(page, row) }, "Change") },
  { name: "delete", title: "", view: (row) => m(Button, { kind: "quiet", whyNot: whyNot("admin"), label: `Delete ${row.group}`, onclick: () => remove(page, row) }, "Delete") },
];

async function edit(page, row) {
  try {
    const { body, etag } = await get(path`/groups/${row.group}`);
    page.edited = { group: body, etag };
    page.error = null;
  } catch (error) {
    page.error = error;
  }
  m.redraw();
}

async function remove(page, row) {
  try {
    await later(`Deleting ${row.group} with ${plural(Object.keys(row.endpoints).length, "endpoint")}`, () => del(path`/groups/${row.group}`));
  } catch (error) {
    toast(`Not deleted: ${error.detail || error.message}`, { kind: "bad" });
  }
  page.reload();
}

// A dialog that creates or changes a group, with a row of fields for each endpoint.

// attrs: group (a GroupState, or null for a new one), etag, onclose(hasChanged)
function GroupDialog({ attrs: { group, etag, onclose } }) {
  const state = { name: group?.group ?? "", endpoints: group ? draftOf(group) : [newEndpoint()], error: null, isBusy: false };
  const send = () => {
    const where = path`/groups/${state.name.trim()}`;
    if (group) return patch(where, { endpoints: patchOf(state.endpoints, group) }, { ifMatch: etag });
    return put(where, { endpoints: endpointsOf(state.endpoints) }, { headers: { "If-None-Match": "*" } });
  };
  const onsubmit = async () => {
    const errors = faultsOf(state.endpoints);
    state.error = errors.length ? { title: "Not sent", detail: "Some fields are not right.", errors } : null;
    if (state.error) return;
    state.isBusy = true;
    try {
      await send();
      toast(`${state.name.trim()} is saved.`);
      onclose(true);
    } catch (problem) {
      state.error = problem.status === 412 ? new ApiError(412, { title: "Not saved", detail: group ? "The group has changed since you opened it. Close this dialog and open it again." : "A group with this name exists already." }) : problem;
    }
    state.isBusy = false;
    m.redraw();
  };
  return {
    view: () =>
      m(Dialog, { title: group ? `Group ${group.group}` : "New group", onclose: () => onclose(false), isWide: true },
        m(Form, { onsubmit, error: state.error, isBusy: state.isBusy, oncancel: () => onclose(false) },
          group ? null : m(Field, { label: "Group", value: state.name, isRequired: true, oninput: (text) => (state.name = text), help: "Letters, digits, . _ -, as in the name of a topic." }),
          m(".endpoints", state.endpoints.map((one, i) => endpoint(state.endpoints, one, i))),
          m("div", m("button", { type: "button", onclick: () => state.endpoints.push(newEndpoint()) }, "Add an endpoint")),
          state.endpoints.some(hasHidden) ? m("p.sub", "*** stands for a hidden value. Leave *** to keep the value.") : null)),
  };
}

function endpoint(endpoints, one, i) {
  const change = (name) => (text) => (one[name] = text);
  const name = one.name || `endpoint ${i + 1}`;
  return m(".endpoint", { key: one.key, role: "group", "aria-label": name },
    m(Field, { label: "Name", value: one.name, isRequired: true, placeholder: "north", oninput: change("name") }),
    m(Field, { label: "Method", type: "select", options: METHODS, value: one.method, oninput: change("method") }),
    m(Field, { label: "URL", value: one.url, isRequired: true, isCode: true, placeholder: "https://north.example/hook", oninput: change("url") }),
    m("button.quiet", { type: "button", "aria-label": `Remove ${name}`, title: endpoints.length < 2 ? "A group has at least one endpoint" : undefined, disabled: endpoints.length < 2, onclick: () => endpoints.splice(i, 1) }, m(Icon, { name: "close" })),
    m(".endpoint-headers", m(Field, { label: "Headers, one per line", type: "textarea", rows: Math.max(1, one.headers.split("\n").length), isCode: true, value: one.headers, placeholder: "Authorization: Bearer …", oninput: change("headers") })));
}

// A group as the form edits it, and its JSON for the API. Uses neither the page nor the network.
//
// The draft does not have hidden values (a url's query, headers). A field that the person does not change is not sent, so
// the server keeps its value.

let nextKey = 1;

const newEndpoint = () => ({ key: nextKey++, was: null, name: "", method: "POST", url: "", headers: "" });

const headerLines = (headers = {}) => Object.entries(headers).map(([name, value]) => `${name}: ${value}`).join("\n");

// Returns the endpoints of a group; was: the name that the server has, before: the endpoint that the server has.
const draftOf = (group) =>
  Object.entries(group.endpoints).map(([name, one]) => ({ key: nextKey++, was: name, before: one, name, method: one.method ?? "POST", url: one.url, headers: headerLines(one.headers) }));

// Returns the faults that this page can explain better than the server: [{field, detail}].
function faultsOf(endpoints) {
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
const endpointsOf = (endpoints) => Object.fromEntries(endpoints.map((one) => [one.name.trim(), endpointOf(one)]));

// Returns the merge patch of the changes. A renamed endpoint is a new one.
function patchOf(endpoints, group) {
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

const hasHidden = (one) => one.url.includes(HIDDEN) || one.headers.includes(HIDDEN);
