// Filters of jobs: their text, their bar, and the field that completes them.

import { m } from "../lib.js";
import { href } from "../router.js";
import { get } from "../api.js";
import { compact, nowMs, number } from "../format.js";
import { Icon } from "../parts/page.js";

// The filter of a list of jobs, as a query of the API and as the words of the search field. Uses neither the page nor the network.

const STATES = ["delayed", "ready", "leased", "dead", "delivered", "cancelled", "any"];
const REASONS = [
  "retries_exhausted",
  "gone",
  "rejected",
  "target_refused",
  "no_url",
  "expired",
  "rounds",
  "consumer_lost",
  "unreadable",
  "workflow_ended",
  "not_a_workflow",
];
const STATUSES = ["5xx", "4xx", "2xx", "429", "500", "502", "503", "504", "404", "410"];

// Words of the search field and the query parameters for which they stand. The names of times depend on the state.
const PARAMETERS = {
  state: "state",
  topic: "topic",
  id: "idPrefix",
  label: "label",
  key: "key",
  status: "lastStatus",
  reason: "reason",
  host: "urlHost",
};
const TIMES = { due: ["dueAfter", "dueBefore"], died: ["diedAfter", "diedBefore"], ended: ["endedAfter", "endedBefore"] };
const OTHERS = ["order", "source"];
const ALL = [...Object.values(PARAMETERS), ...Object.values(TIMES).flat(), ...OTHERS];
const OF_ENDED = ["delivered", "cancelled", "any"];

const WORDS = [...Object.keys(PARAMETERS), "after", "before"];

// Returns which time the filter of a state compares: due, died or ended.
function timeKind(filter) {
  if (OF_ENDED.includes(filter.state) || filter.source === "history") return "ended";
  return filter.state === "dead" ? "died" : "due";
}

function timeNames(filter) {
  return TIMES[timeKind(filter)];
}

// Whether the list has jobs of the history, which have ended and cannot be changed.
export function isEnded(filter) {
  return timeKind(filter) === "ended";
}

// Whether the list has the dead jobs of the history, including those that Redis no longer has.
export const isDeadOfHistory = (filter) => filter.state === "dead" && filter.source === "history";

// Returns the members of a query that are known and can be combined. A filter of a time that does not fit the state is
// renamed to the filter that does, such as diedAfter.
export function clean(query) {
  const filter = {};
  for (const name of ALL) if (query[name]) filter[name] = String(query[name]);
  if (!STATES.includes(filter.state)) delete filter.state;
  if (!filter.state && (filter.diedAfter || filter.diedBefore || filter.reason)) filter.state = "dead";
  if (!filter.state && (filter.endedAfter || filter.endedBefore)) filter.state = "any";
  const names = timeNames(filter);
  for (const [at, after] of ["After", "Before"].entries()) {
    const value = filter[names[at]] || filter["due" + after] || filter["died" + after] || filter["ended" + after];
    for (const kind of Object.keys(TIMES)) delete filter[kind + after];
    if (value) filter[names[at]] = value;
  }
  if (filter.reason && filter.state !== "dead" && filter.state !== "any") delete filter.reason;
  return filter;
}

// Returns the filter with some members changed; an empty value removes a member.
function change(filter, members) {
  const changed = { ...filter, ...members };
  if ("state" in members && members.state !== filter.state) {
    delete changed.order;
    delete changed.source;
  }
  return clean(changed);
}

// The default order: ended jobs newest first, waiting jobs by their due time.
function orderOf(filter) {
  return filter.order || (isEnded(filter) || filter.state === "dead" ? "newest" : "oldest");
}

// Returns the query of GET /jobs.
export function toQuery(filter) {
  return { ...filter, order: orderOf(filter) };
}

// Returns the query that counts the jobs.
export function toCount(filter) {
  const { order, ...query } = filter;
  return query;
}

// Whether Redis can count the jobs of the filter without reading them.
export function isCheap(filter) {
  return !filter.urlHost && !filter.lastStatus && !filter.reason && !filter.label && !filter.key;
}

export function isEmpty(filter) {
  return Object.keys(filter).every((name) => OTHERS.includes(name));
}

// Whether the filter has a condition other than the state.
export function isNarrow(filter) {
  return Object.keys(filter).some((name) => name !== "state" && !OTHERS.includes(name));
}

// ---- the search field ----

const quote = (value) => (/[\s"]/.test(value) ? `"${value.replace(/"/g, "")}"` : value);

// Returns the text of the search field for a filter.
export function format(filter) {
  const texts = Object.entries(PARAMETERS)
    .filter(([, name]) => filter[name])
    .map(([word, name]) => `${word}:${quote(filter[name])}`);
  const [after, before] = timeNames(filter);
  if (filter[after]) texts.push(`after:${filter[after]}`);
  if (filter[before]) texts.push(`before:${filter[before]}`);
  return texts.join(" ");
}

const UNITS = { s: 1e3, m: 60e3, h: 3600e3, d: 86400e3 };

// Returns a time such as 2026-01-31, 2026-01-31T12:00, -2h or +30m as RFC 3339; null if text is not a time. Times without a
// zone are local.
function readTime(text, now = nowMs()) {
  const relative = /^([+-]?)(\d+)([smhd])$/.exec(text);
  if (relative) return new Date(now + (relative[1] === "+" ? 1 : -1) * relative[2] * UNITS[relative[3]]).toISOString();
  const ms = Date.parse(/^\d{4}-\d\d-\d\d$/.test(text) ? `${text}T00:00` : text);
  return Number.isNaN(ms) ? null : new Date(ms).toISOString();
}

// Splits a search into its words, each with its position in the text.
function split(text) {
  return [...text.matchAll(/(?:([A-Za-z]+):)?("[^"]*"?|\S+)?/g)]
    .filter((found) => found[0])
    .map(([whole, word, value = ""], at, all) => ({
      word: word && WORDS.includes(word.toLowerCase()) ? word.toLowerCase() : null,
      value: value.replace(/"/g, ""),
      whole,
      from: all[at].index ?? 0,
    }));
}

// Reads a search: {filter, id, unknown}. id is the text without a word and a colon before it: an id, or the beginning of one.
export function parse(text, others = {}) {
  const members = {},
    unknown = [];
  let id = "";
  const times = {};
  for (const { word, value, whole } of split(text)) {
    if (!word) id = id ? `${id} ${whole}` : whole.replace(/"/g, "");
    else if (word === "after" || word === "before") {
      const time = readTime(value);
      if (time) times[word] = time;
      else unknown.push(whole);
    } else if (word === "state" && !STATES.includes(value)) unknown.push(whole);
    else if (value) members[PARAMETERS[word]] = value;
  }
  const filter = clean({ ...others, ...members });
  const [after, before] = timeNames(filter);
  if (times.after) filter[after] = times.after;
  if (times.before) filter[before] = times.before;
  return { filter, id, unknown };
}

// StateTabs and FilterBar: controls that show and set the filter of a list of jobs. showCurrentTab: an oncreate of such tabs.
//
//   m(StateTabs, {filter, counts})              links, so that each can be opened in a tab of its own
//   m(FilterBar, {filter, topics, seen, onfilter})

const TABS = [
  { state: "", name: "All waiting and dead" },
  { state: "delayed", name: "Delayed" },
  { state: "ready", name: "Ready" },
  { state: "leased", name: "Leased" },
  { state: "dead", name: "Dead" },
  { state: "delivered", name: "Delivered" },
  { state: "cancelled", name: "Cancelled" },
  { state: "any", name: "All ended" },
];

// Scrolls to the current tab: on a small screen it may be out of view.
export function showCurrentTab({ dom }) {
  const current = dom.querySelector("[aria-current]");
  if (current) dom.scrollLeft = current.offsetLeft - 40;
}

export const StateTabs = {
  view: ({ attrs: { filter, counts } }) =>
    m("nav.tabs", { "aria-label": "State", oncreate: showCurrentTab },
      TABS.map(({ state, name }) => {
        const isHere = (filter.state ?? "") === state;
        const count = counts[state];
        return m("a", { href: href(["jobs"], change(filter, { state })), "aria-current": isHere ? "page" : undefined }, name,
          count === undefined ? null : m("span.tab-count", { title: number(count) }, compact(count)));
      })),
};

const TIME_TITLES = { due: ["Due from", "Due before"], died: ["Died from", "Died before"], ended: ["Ended from", "Ended before"] };

// Convert between a time of the API and the value of an input for local time.
function toLocal(text) {
  const at = text ? new Date(text) : null;
  return at && !Number.isNaN(at.getTime()) ? new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 19) : "";
}
const fromLocal = (text) => (text ? new Date(text).toISOString() : "");

// The page is drawn anew while a person types; meanwhile the field keeps the typed text.
function Box() {
  let typed;
  return {
    view: ({ attrs: { title, name, value, set, ...attrs } }) => m("label.filter", { class: `${value ? "is-set" : ""} ${attrs.type ? "is-time" : ""}` },
      m("span", title),
      m("input", {
        value: typed ?? value ?? "", spellcheck: "false", autocomplete: "off", ...attrs, list: attrs.list ? `filter-${name}` : undefined,
        oninput: (event) => (typed = event.target.value),
        onchange: (event) => set(event.target.value.trim()),
        onblur: () => (typed = undefined),
      }),
      attrs.list ? m("datalist", { id: `filter-${name}` }, attrs.list.map((one) => m("option", { value: one }))) : null),
  };
}
const box = (title, name, value, set, attrs) => m(Box, { title, name, value, set, ...attrs });

export function FilterBar() {
  let isOpen = window.innerWidth > 900;
  return {
    view: ({ attrs: { filter, topics, seen, hasHistory, onfilter } }) => {
      const set = (name) => (value) => onfilter(change(filter, { [name]: value }));
      const [after, before] = timeNames(filter);
      const [from, to] = TIME_TITLES[timeKind(filter)];
      const canHaveReason = filter.state === "dead" || filter.state === "any";
      return m(".filters",
        m("button.quiet.filters-toggle", { type: "button", "aria-expanded": String(isOpen), "aria-controls": "filters", onclick: () => (isOpen = !isOpen) }, m(Icon, { name: isOpen ? "up" : "down" }), "Filters"),
        m(".filter-row#filters", { hidden: !isOpen },
          box("Topic", "topic", filter.topic, set("topic"), { list: topics }),
          box("Id begins with", "idPrefix", filter.idPrefix, set("idPrefix")),
          box("Label", "label", filter.label, set("label"), { list: seen.labels }),
          box("Key", "key", filter.key, set("key"), { list: seen.keys }),
          box("Last status", "lastStatus", filter.lastStatus, set("lastStatus"), { list: STATUSES, placeholder: "5xx" }),
          box("Receiver host", "urlHost", filter.urlHost, set("urlHost"), { list: seen.hosts }),
          canHaveReason ? box("Reason", "reason", filter.reason, set("reason"), { list: REASONS }) : null,
          filter.state === "leased" ? null : box(from, after, toLocal(filter[after]), (text) => set(after)(fromLocal(text)), { type: "datetime-local" }),
          filter.state === "leased" ? null : box(to, before, toLocal(filter[before]), (text) => set(before)(fromLocal(text)), { type: "datetime-local" }),
          filter.state === "dead" && hasHistory ? m("label.filter", m("span", "Kept in"),
            m("select", { value: filter.source ?? "redis", onchange: (event) => set("source")(event.target.value === "history" ? "history" : "") }, m("option", { value: "redis" }, "Redis"), m("option", { value: "history" }, "History"))) : null,
          m("label.filter", m("span", "Order"),
            m("select", { value: orderOf(filter), onchange: (event) => set("order")(event.target.value) }, m("option", { value: "oldest" }, timeKind(filter) === "due" ? "Due first" : "Oldest first"), m("option", { value: "newest" }, timeKind(filter) === "due" ? "Due last" : "Newest first"))),
          isNarrow(filter) ? m("button.quiet", { type: "button", onclick: () => onfilter(change({}, { state: filter.state })) }, "Clear") : null));
    },
  };
}

// SearchField: the search field for jobs. Completes its words and their values.
//
//   m(SearchField, {filter, seen, onsearch})   onsearch({filter, id}) with Enter. seen: {labels, keys, hosts} of the list.

const HELP = {
  state: "delayed, ready, leased, dead …", topic: "a topic", id: "beginning of the id", label: "a label", key: "a key", status: "status of the last answer: 5xx, 404",
  reason: "why it died", host: "of the receiver", after: "a time: 2026-01-31, -2h", before: "a time: 2026-01-31, +1d",
};
const MOST = 10;

let topics = null; // names of topics, read when they are first needed

// Calls then() when the topics have been read.
async function loadTopics(then) {
  if (topics) return;
  topics = [];
  try {
    topics = (await get("/topics", { limit: 1000 })).body.topics.map((one) => one.topic);
  } catch {
    topics = null; // without the names, topics are not completed; the next call tries again
  }
  then();
  m.redraw();
}

function valuesOf(word, seen) {
  const values = { state: STATES, status: STATUSES, reason: REASONS, topic: topics ?? [], label: seen.labels, key: seen.keys, host: seen.hosts, after: ["-15m", "-1h", "-1d"], before: ["-1h", "+1h", "+1d"] };
  return values[word] ?? [];
}

// Returns the completions at the cursor, [{text, help}], and the position of the text that they replace.
function completions(text, cursor, seen) {
  const before = text.slice(0, cursor);
  const last = split(before).pop();
  const isOpen = last && !/\s$/.test(before);
  const from = isOpen ? cursor - last.whole.length : cursor;
  if (!isOpen) return { from, options: WORDS.map((word) => ({ text: `${word}:`, help: HELP[word] })).filter((one) => !text.includes(one.text)) };
  if (last.word) {
    const wanted = last.value.toLowerCase();
    const found = valuesOf(last.word, seen).filter((value) => value.toLowerCase().includes(wanted) && value !== last.value);
    return { from, options: found.slice(0, MOST).map((value) => ({ text: `${last.word}:${/\s/.test(value) ? `"${value}"` : value} `, help: "" })) };
  }
  const words = WORDS.filter((word) => word.startsWith(last.whole.toLowerCase()));
  const names = last.whole.length > 1 && topics ? topics.filter((name) => name.startsWith(last.whole)).slice(0, 5) : [];
  return { from, options: [...words.map((word) => ({ text: `${word}:`, help: HELP[word] })), ...names.map((name) => ({ text: `topic:${name} `, help: "topic" }))] };
}

export function SearchField({ attrs: first }) {
  const state = { text: format(first.filter), of: first.filter, isOpen: false, at: -1, found: { from: 0, options: [] }, unknown: [] };
  let input = null;

  const look = (attrs) => {
    loadTopics(() => input === document.activeElement && look(attrs));
    state.found = completions(state.text, input.selectionStart ?? state.text.length, attrs.seen);
    state.at = -1;
    state.isOpen = state.found.options.length > 0;
  };
  const take = (option, attrs) => {
    const cursor = input.selectionStart ?? state.text.length;
    const head = state.text.slice(0, state.found.from) + option.text;
    state.text = head + state.text.slice(cursor).replace(/^\s+/, "");
    input.value = state.text;
    input.focus();
    input.setSelectionRange(head.length, head.length);
    look(attrs);
  };
  const search = (attrs) => {
    const wanted = parse(state.text, { order: attrs.filter.order, source: attrs.filter.source });
    state.unknown = wanted.unknown;
    if (!wanted.unknown.length) attrs.onsearch(wanted);
    state.isOpen = false;
  };
  const onkeydown = (event, attrs) => {
    const { options } = state.found;
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      if (!state.isOpen) return look(attrs);
      state.at = (state.at + (event.key === "ArrowDown" ? 1 : options.length) + (state.at < 0 && event.key === "ArrowUp" ? 1 : 0)) % options.length;
    } else if (event.key === "Enter" && state.isOpen && state.at >= 0) {
      take(options[state.at], attrs);
    } else if (event.key === "Tab" && state.isOpen && !event.shiftKey && state.text && !/\s$/.test(state.text)) {
      take(options[Math.max(state.at, 0)], attrs);
    } else if (event.key === "Escape" && state.isOpen) {
      state.isOpen = false;
    } else {
      event.redraw = false;
      return undefined;
    }
    return event.preventDefault();
  };

  return {
    oncreate: ({ dom }) => (input = dom.querySelector("input")),
    view: ({ attrs }) => {
      if (JSON.stringify(attrs.filter) !== JSON.stringify(state.of)) Object.assign(state, { text: format(attrs.filter), of: attrs.filter, unknown: [] });
      const { options } = state.found;
      return m("form.job-search", { role: "search", "aria-label": "Jobs", onsubmit: (event) => { event.preventDefault(); search(attrs); } },
        m(Icon, { name: "search" }),
        m("input", {
          type: "text", role: "combobox", "aria-label": "Search jobs by id and by words such as topic: and state:", "aria-autocomplete": "list", "aria-controls": "job-search-list",
          "aria-expanded": String(state.isOpen), "aria-activedescendant": state.isOpen && state.at >= 0 ? `job-search-${state.at}` : undefined,
          autocomplete: "off", spellcheck: "false", placeholder: "order-10   topic:orders state:dead status:5xx label:eu host:shop.example", value: state.text,
          oninput: (event) => { state.text = event.target.value; look(attrs); },
          onclick: () => look(attrs), onkeydown: (event) => onkeydown(event, attrs), onblur: () => (state.isOpen = false),
        }),
        m("ul#job-search-list", { role: "listbox", "aria-label": "Completions", hidden: !state.isOpen },
          options.map((option, i) =>
            m(`li#job-search-${i}`, { role: "option", "aria-selected": String(i === state.at), onmousedown: (event) => { event.preventDefault(); take(option, attrs); } },
              m("code", option.text.trim()), option.help ? m("span.sub", ` ${option.help}`) : null))),
        state.unknown.length ? m("p.field-error", { role: "alert" }, `Not understood: ${state.unknown.join(" ")}`) : null);
    },
  };
}
