// Jobs: search, the list of jobs, and actions on all jobs of a filter.

import { m } from "../lib.js";
import { go, href, setQuery } from "../router.js";
import { get, whyNot } from "../api.js";
import { number, plural } from "../format.js";
import { ACTIONS, BulkDialog, Operations } from "../jobs/bulk.js";
import { clean, format, isCheap, isDeadOfHistory, isEmpty, isEnded, isNarrow, parse, FilterBar, StateTabs, SearchField } from "../jobs/filter.js";
import { answerOf, endedAt } from "../jobs/life.js";
import { hasHistory, JobSource, keyOf, needsTopic, TopicChoice } from "../jobs/list.js";
import { Empty, Button, Page, Problem } from "../parts/page.js";
import { Name, State, Time } from "../parts/values.js";
import { VirtualList } from "../parts/virtual_list.js";

const LOOK_MS = 2000;
const DEAR_LOOK_MS = 10_000; // if Redis has to read the jobs to count them, the page counts less often
const POOL_STATES = ["delayed", "ready", "leased", "dead"];
const OUTCOMES = ["delivered", "cancelled"];

export default function Jobs({ attrs: first }) {
  const page = { source: null, counts: {}, countsOf: null, topics: [], dialog: null, timer: null, isRemoved: false, asked: null, unknown: [] };
  const follow = (query) => {
    if (query.q) {
      if (query.q !== page.asked) searchFor(page, query.q);
      return;
    }
    page.asked = null;
    const filter = clean(query);
    if (page.source && JSON.stringify(page.source.filter) === JSON.stringify(filter)) return;
    list(page, filter);
  };
  const onVisible = () => plan(page, 0);
  follow(first.query);
  loadTopics(page);
  hasHistory().then((isKept) => {
    page.hasHistory = isKept;
    m.redraw();
  });
  document.addEventListener("visibilitychange", onVisible);
  return {
    onbeforeupdate: ({ attrs }) => follow(attrs.query),
    onremove: () => {
      page.isRemoved = true;
      page.source?.close();
      clearTimeout(page.timer);
      document.removeEventListener("visibilitychange", onVisible);
    },
    view: () => (page.source ? view(page) : null),
  };
}
Jobs.title = "Jobs";

// Starts a new list for the filter.
function list(page, filter) {
  if (page.isRemoved) return;
  page.source?.close();
  page.source = new JobSource(filter, () => m.redraw());
  if (needsTopic(filter)) return;
  const { source } = page;
  source.recount().then(m.redraw, () => {});
  countStates(page, filter);
  plan(page);
}

const reload = (page) => list(page, page.source.filter);

function plan(page, wait = isCheap(page.source.filter) ? LOOK_MS : DEAR_LOOK_MS) {
  clearTimeout(page.timer);
  if (page.isRemoved || document.hidden || needsTopic(page.source.filter)) return;
  page.timer = setTimeout(async () => {
    const { source } = page;
    await source.look();
    if (source !== page.source) return;
    if (source.arrived && !source.rows.length) reload(page);
    else plan(page);
  }, wait);
}

async function loadTopics(page) {
  try {
    page.topics = (await get("/topics", { limit: 1000 })).body.topics.map((one) => one.topic);
  } catch {
    page.topics = []; // the field then has no suggestions
  }
}

// Reads the number of jobs in each state, if Redis can count them without reading them.
async function countStates(page, filter) {
  const { state, order, source, reason, ...rest } = filter;
  const others = Object.fromEntries(Object.entries(rest).filter(([name]) => !/(After|Before)$/.test(name)));
  const key = JSON.stringify(others);
  if (page.countsOf !== key) page.counts = {};
  page.countsOf = key;
  if (!isCheap(filter)) return;
  const count = async (query, names) => {
    try {
      const { body } = await get("/jobs/count", { ...others, ...query });
      if (page.countsOf === key) for (const [name, member] of names) page.counts[name] = body[member];
    } catch {
      // The tabs stay without counts; the list reports the error.
    }
  };
  await Promise.all([
    count({}, [["", "count"]]),
    ...POOL_STATES.map((one) => count({ state: one }, [[one, "count"]])),
    hasHistory().then((isKept) => isKept && count({ state: "any" }, [["any", "count"], ...OUTCOMES.map((one) => [one, one])])),
  ]);
  m.redraw();
}

// ---- search ----

// A search from elsewhere, such as the header.
function searchFor(page, text) {
  page.asked = text;
  const wanted = parse(text);
  page.unknown = wanted.unknown;
  search(wanted);
}

const TOPIC = /^[A-Za-z0-9._~-]+$/;

// topic/jobId, or a complete jobId, opens the job. Other texts list the jobs whose id begins with them.
async function search({ filter, id }) {
  if (!id) return setQuery(filter);
  const slash = id.indexOf("/");
  if (slash > 0 && TOPIC.test(id.slice(0, slash)) && !id.includes(" ")) return go(["jobs", id.slice(0, slash), id.slice(slash + 1)]);
  const topic = await topicOf(filter, id);
  return topic ? go(["jobs", topic, id]) : setQuery(clean({ ...filter, idPrefix: id }));
}

// Returns the topic of the only job with exactly this id; null if there is no such job or several, or if
// the filter has a state.
async function topicOf({ topic, state }, id) {
  const found = new Set();
  const look = async (query) => {
    const { body } = await get("/jobs", { topic, idPrefix: id, limit: 20, ...query });
    for (const job of body.jobs) if (job.jobId === id) found.add(job.topic);
  };
  try {
    await look({});
    if (await hasHistory()) await look({ state: "any" });
  } catch {
    return null; // the list reports the error
  }
  return found.size === 1 && !state ? [...found][0] : null;
}

// ---- the list ----

const isNarrowScreen = () => window.innerWidth < 700;

function columns() {
  if (isNarrowScreen())
    return [
      { title: "Job", width: "minmax(0, 1fr)", view: (job) => m(".two-lines", m("span", m(Name, { text: job.jobId })), m("span.sub", m(Name, { text: job.topic }))) },
      { title: "State", width: "8rem", view: (job) => m(".two-lines", m(State, { state: job.state }), m("span.sub", whenOf(job))) },
    ];
  const id = { title: "Id", width: "minmax(9rem, 2fr)", view: (job) => m(Name, { text: job.jobId }) };
  const state = { title: "State", width: "7rem", view: (job) => m(State, { state: job.state }) };
  const when = { title: "When", width: "8.5rem", view: whenOf };
  return [
    id,
    { title: "Topic", width: "minmax(7rem, 1fr)", view: (job) => m("a", { href: href(["topics", job.topic]) }, m(Name, { text: job.topic, most: 20 })) },
    state, when,
    { title: "Attempts", width: "4.5rem", isNumber: true, view: (job) => number(job.attempts) },
    { title: "Last answer", width: "minmax(6rem, 1fr)", view: answerView },
    ...(window.innerWidth > 1250 ? [{ title: "Labels", width: "minmax(6rem, 1fr)", view: (job) => (job.labels ?? []).map((label) => m("span.label", label)) }] : []),
  ];
}

function whenOf(job) {
  if (job.hasLeft) return m("span.faint", "has left the list");
  const at = endedAt(job) ?? job.dueAt;
  return at ? m(Time, { at, style: "relative" }) : m("span.faint", job.state === "leased" ? "under way" : "");
}

function answerView({ lastAttempt, state, reason }) {
  if (!lastAttempt) return m("span.faint", reason ? reason.replaceAll("_", " ") : "none yet");
  const isGood = state === "delivered" || (lastAttempt.status >= 200 && lastAttempt.status < 300);
  return m("span.result", { class: isGood ? "" : "is-failed", title: lastAttempt.errorDetail ?? "" }, `${isGood ? "✓" : "✕"} ${answerOf(lastAttempt)}`,
    reason && reason !== "retries_exhausted" ? m("span.faint", ` ${reason.replaceAll("_", " ")}`) : null);
}

// Returns labels, keys and hosts of the loaded jobs, for completion.
function seenIn(rows) {
  const labels = new Set();
  const keys = new Set();
  const hosts = new Set();
  for (const job of rows.slice(0, 500)) {
    for (const label of job.labels ?? []) labels.add(label);
    if (job.key) keys.add(job.key);
    const host = /^https?:\/\/([^/?#]+)/i.exec(job.url ?? "");
    if (host) hosts.add(host[1]);
  }
  return { labels: [...labels].slice(0, 50), keys: [...keys].slice(0, 50), hosts: [...hosts].slice(0, 50) };
}

function countText({ count, rows, isDone, isCountPartial, source }) {
  const total = count ?? (isDone ? rows.length : null);
  if (total === null) return "";
  return `${isCountPartial ? "at least " : ""}${plural(total, "job")}${source === "history" ? ", from the history" : ""}`;
}

function view(page) {
  const { source } = page;
  const { filter, rows } = source;
  const seen = seenIn(rows);
  return [
    m(Page, { title: "Jobs", sub: m("span", { role: "status" }, countText(source)), actions: bulkButtons(page) }),
    m(Operations),
    m(SearchField, { filter, seen, onsearch: search }),
    page.unknown.length ? m("p.field-error", { role: "alert" }, `Not understood: ${page.unknown.join(" ")}`) : null,
    m(StateTabs, { filter, counts: page.counts }),
    m(FilterBar, { filter, topics: page.topics, seen, hasHistory: page.hasHistory, onfilter: setQuery }),
    needsTopic(filter) ? m(TopicChoice, { page: ["jobs"], query: filter }) : listView(page),
    page.dialog ? m(BulkDialog, { ...page.dialog, onclose: () => (page.dialog = null), onend: () => reload(page) }) : null,
  ];
}

function listView(page) {
  const { source } = page;
  return [
    m(Problem, { error: source.problem }),
    source.isPartial ? m("p.hint", "There are more than 10,000 topics, and this list has the jobs of only 10,000. Choose a topic.") : null,
    m(".list-box",
      source.arrived ? m("button.new-rows", { type: "button", onclick: () => reload(page) }, `${number(source.arrived)} new`) : null,
      [m(".list", { key: source.id }, m(VirtualList, {
        label: "Jobs", columns: columns(), rows: source.isFirst ? null : source.rows, rowKey: keyOf, hasMore: source.hasMore, more: () => source.more(),
        empty: emptyView(page), height: isNarrowScreen() ? 52 : 36, href: (job) => href(["jobs", job.topic, job.jobId]),
      }))]),
    source.isPaused ? m("p.notice", { role: "status" }, "Many jobs were read, and none matched. ", m("button", { type: "button", onclick: () => { source.isPaused = false; } }, "Search on")) : null,
  ];
}

function emptyView({ source, counts }) {
  const { filter } = source;
  if (isEmpty(filter))
    return m(Empty, { title: "No jobs", text: "No jobs are waiting or dead. This command schedules one, which then appears here:",
      command: `curl ${new URL(".", document.baseURI).href}jobs -H 'Content-Type: application/json' \\\n  -d '{"topic": "orders", "url": "https://example.com/hook", "delay": "30s", "body": {"order": 1}}'` });
  const query = { ...filter, state: "any" };
  const hasEnded = !isEnded(filter) && counts.any > 0;
  return m(Empty, { title: "No job matches", text: isNarrow(filter) ? `The filter is: ${format(filter)}` : `No job is ${filter.state === "any" ? "in the history" : filter.state} now.` },
    hasEnded ? m("p", m("a", { href: href(["jobs"], clean(query)) }, `${plural(counts.any, "job")} that ended`), counts.any === 1 ? " matches." : " match.") : null);
}

// ---- actions for all ----

function bulkButtons(page) {
  const { filter, count } = page.source;
  return ["run", "reschedule", "redrive", "cancel", "delete"]
    .filter((action) => (isDeadOfHistory(filter) ? action === "redrive" : filter.state === "dead" ? action !== "cancel" && action !== "run" : action !== "delete" && action !== "redrive"))
    .map((action) => m(Button, { kind: action === "cancel" || action === "delete" ? "danger" : "", whyNot: whyNotAll(action, filter, count), onclick: () => (page.dialog = { action, parts: [{ query: bulkQuery(filter) }], text: format(filter) }) },
      `${ACTIONS[action].name} all`));
}

function whyNotAll(action, filter, count) {
  const { states, scope } = ACTIONS[action];
  if (isEnded(filter) && !isDeadOfHistory(filter)) return "These jobs have ended";
  if (!filter.state) return `Choose a state first: ${states.join(", ")}`;
  if (!states.includes(filter.state)) return `Not for ${filter.state} jobs`;
  return whyNot(scope, filter.topic) ?? (count === 0 ? "No job matches" : undefined);
}

// Returns the query of an action on all jobs of the filter. Dead jobs of the history, including those that Redis no longer has,
// are redriven: the API then names the filters of their time diedAfter and diedBefore.
function bulkQuery({ source, endedAfter, endedBefore, ...filter }) {
  return source === "history" ? { ...filter, source, diedAfter: endedAfter, diedBefore: endedBefore } : filter;
}
