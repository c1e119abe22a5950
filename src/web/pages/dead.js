// Dead letters: dead jobs, grouped by the reason of their death, with actions that redrive or delete them.

import { m } from "../lib.js";
import { href, setQuery } from "../router.js";
import { session, whyNot, get } from "../api.js";
import { useClock } from "../live.js";
import { number, plural } from "../format.js";
import { BulkDialog, Operations } from "../jobs/bulk.js";
import { answerOf } from "../jobs/life.js";
import { hasHistory, needsTopic, TopicChoice } from "../jobs/list.js";
import { Empty, Button, Page, Problem } from "../parts/page.js";
import { Name, Time } from "../parts/values.js";

const LOOK_MS = 3000;
const SHOWN_JOBS = 20;

const REASONS = {
  retries_exhausted: "Each attempt failed, and no retry is left.", gone: "The receiver answered 410 Gone.", rejected: "A worker gave up the job.",
  target_refused: "Requests to its address are not allowed (--allow-target).", no_url: "Neither the job nor its topic has a url.", expired: "It expired: its time to live had passed.",
  rounds: "The receiver said “not yet” too often.", consumer_lost: "The process that delivered it was lost five times.", unreadable: "Its record cannot be read.",
  workflow_ended: "It was run again, but its workflow has ended.", not_a_workflow: "Its url is not an endpoint of the SDK for workflows.",
};

export default function Dead({ attrs: first }) {
  const page = { sample: null, selected: new Set(), jobs: new Map(), open: new Set(), dialog: null, timer: null, isRemoved: false, topic: first.query.topic };
  let stopClock = null;
  const onVisible = () => plan(page, 0);
  return {
    oninit: () => {
      stopClock = useClock();
      document.addEventListener("visibilitychange", onVisible);
      load(page, first.query.topic);
      hasHistory().then((isKept) => {
        page.hasHistory = isKept;
        m.redraw();
      });
    },
    onbeforeupdate: ({ attrs }) => {
      if (attrs.query.topic !== page.topic) load(page, attrs.query.topic);
    },
    onremove: () => {
      page.isRemoved = true;
      page.sample.close();
      clearTimeout(page.timer);
      stopClock();
      document.removeEventListener("visibilitychange", onVisible);
    },
    view: ({ attrs: { query } }) => view(page, query.by === "topic" ? "topic" : "receiver"),
  };
}
Dead.title = "Dead letters";

// Reads the dead jobs again. The jobs that were read before stay on the page until the answer arrives.
async function load(page, topic = page.topic) {
  if (page.isRemoved) return;
  const sample = new DeadSample(topic, () => m.redraw());
  if (!page.sample || page.topic !== topic) page.sample = sample;
  Object.assign(page, { loading: sample, topic });
  if (needsTopic(sample)) return;
  await sample.load();
  if (page.loading !== sample || page.isRemoved) return;
  page.sample = sample;
  page.selected.clear();
  page.jobs.clear();
  m.redraw();
  plan(page);
}

function plan(page, wait = LOOK_MS) {
  clearTimeout(page.timer);
  if (page.isRemoved || document.hidden) return;
  page.timer = setTimeout(async () => {
    const { sample } = page;
    try {
      await sample.look();
      sample.problem = null;
    } catch (error) {
      sample.problem = error;
    }
    m.redraw();
    if (sample.arrived && !sample.jobs.length) load(page);
    else plan(page);
  }, wait);
}

// ---- selection ----

const jobKey = (job) => `${job.topic}/${job.jobId}/${job.createdAt}`;

function toggle(set, key, isOn) {
  if (isOn) set.add(key);
  else set.delete(key);
}

// Returns the jobs that the buttons act on: the selected groups and jobs, else all.
function chosen({ sample, selected, jobs }, groups) {
  const whole = groups.filter((group) => selected.has(group.key));
  const single = [...jobs.values()].filter((job) => !whole.some((group) => group.jobs.includes(job)));
  if (!whole.length && !single.length) return { parts: [{ query: { ...sample.query, diedBefore: sample.until } }], text: sample.topic ? `all dead jobs of ${sample.topic}` : "all dead jobs", isAll: true };
  const parts = whole.map((group) => partOf(group, sample));
  if (single.length) parts.push({ jobs: single });
  const text = [whole.length ? plural(whole.length, "group") : "", single.length ? plural(single.length, "job") : ""].filter(Boolean).join(" and ");
  return { parts, text, isAll: false };
}

// ---- view ----

function view(page, by) {
  const { sample } = page;
  const groups = groupsOf(sample.jobs, by);
  if (needsTopic(sample)) return [m(Page, { title: "Dead letters" }), m(TopicChoice, { page: ["dead"], query: {} })];
  const isEmpty = !sample.isLoading && !sample.jobs.length && !sample.problem;
  return [
    m(Page, { title: "Dead letters", sub: m("span", { role: "status" }, sampleText(sample)), actions: isEmpty ? null : buttons(page, groups) }),
    m(Operations),
    m(Problem, { error: sample.problem }),
    sample.arrived && sample.jobs.length ? m(".notice.is-new", { role: "status" }, `${number(sample.arrived)} more since. `, m("button", { type: "button", onclick: () => load(page) }, "Show")) : null,
    isEmpty ? emptyView(page) : [groupBy(by, sample.topic), groupTable(page, groups, by)],
    isEmpty ? null : fromHistory(page),
    page.dialog ? m(BulkDialog, { ...page.dialog, onclose: () => (page.dialog = null), onend: () => load(page) }) : null,
  ];
}

function sampleText({ total, jobs, isLoading, isWhole }) {
  if (isLoading) return total ? `Reading ${number(jobs.length)} of ${number(total)} …` : "Reading …";
  return isWhole ? plural(total ?? jobs.length, "dead job") : `${plural(total, "dead job")}; the groups are of the newest ${number(jobs.length)}`;
}

const groupBy = (by, topic) =>
  m(".dead-head", m(".toggle", { role: "group", "aria-label": "Group by" },
    [["receiver", "By receiver"], ["topic", "By topic"]].map(([name, title]) => m("button", { type: "button", "aria-pressed": String(by === name), onclick: () => setQuery({ topic, by: name === "topic" ? name : undefined }) }, title))),
    topic ? m("span", "Topic ", m("strong", topic), " ", m("button.link", { type: "button", onclick: () => setQuery({ by: by === "topic" ? by : undefined }) }, session.access?.topics ? "Another topic" : "All topics")) : null);

function buttons(page, groups) {
  const { parts, text, isAll } = chosen(page, groups);
  const open = (action) => () => (page.dialog = { action, parts, text });
  const what = isAll ? "all" : text;
  return [
    m(Button, { kind: "primary", icon: "play", whyNot: whyNot("admin", page.topic), onclick: open("redrive") }, `Redrive ${what}`),
    m(Button, { kind: "danger", icon: "trash", whyNot: whyNot("cancel", page.topic), onclick: open("delete") }, `Delete ${what}`),
  ];
}

function groupTable(page, groups, by) {
  const { selected } = page;
  const isAllOn = groups.length > 0 && groups.every((group) => selected.has(group.key));
  const most = groups[0]?.jobs.length ?? 1;
  return m(".table-box", m("table.dead", { "aria-label": "Dead jobs in groups" },
    m("thead", m("tr",
      m("th", m("input", { type: "checkbox", "aria-label": "Select all groups", checked: isAllOn, onchange: (event) => groups.forEach((group) => toggle(selected, group.key, event.target.checked)) })),
      m("th.is-number", { scope: "col" }, "Jobs"), ["Reason", "Last answer", by === "topic" ? "Topic" : "Receiver"].map((title) => m("th", { scope: "col" }, title)),
      m("th", { scope: "col" }, "Last died"), m("th", m("span.off-screen", "Jobs of the group")))),
    m("tbody", groups.map((group) => groupRows(page, group, most)))));
}

function groupRows(page, group, most) {
  const { selected, open } = page;
  const isOpen = open.has(group.key);
  const name = `${(group.reason ?? "").replaceAll("_", " ")}, ${group.answer || "no answer"}, ${group.place || "no url"}`;
  return [
    m("tr", { class: selected.has(group.key) ? "is-selected" : "" },
      m("td", m("input", { type: "checkbox", "aria-label": `Select ${name}`, checked: selected.has(group.key), onchange: (event) => toggle(selected, group.key, event.target.checked) })),
      m("td.is-number", m("span", number(group.jobs.length)), m("svg.share", { viewBox: "0 0 100 4", preserveAspectRatio: "none", "aria-hidden": "true" }, m("rect", { width: (100 * group.jobs.length) / most, height: 4 }))),
      m("td", { title: REASONS[group.reason] }, (group.reason ?? "").replaceAll("_", " ")),
      m("td", group.answer ? m("span.result.is-failed", `✕ ${group.answer}`) : m("span.faint", "none")),
      m("td.place", group.place || m("span.faint", "no url")),
      m("td", m(Time, { at: group.newest, style: "relative" })),
      m("td", m("button.link", { type: "button", "aria-expanded": String(isOpen), "aria-label": `${isOpen ? "Hide jobs" : "Jobs"}: ${name}`, onclick: () => toggle(open, group.key, !isOpen) }, isOpen ? "Hide jobs" : "Jobs"))),
    isOpen ? m("tr.detail", m("td"), m("td", { colspan: 6 }, groupJobs(page, group))) : null,
  ];
}

function groupJobs({ jobs, selected, sample }, group) {
  const isWhole = selected.has(group.key);
  const filter = filterOf(group, sample) ?? { state: "dead", reason: group.reason, ...(group.place && { [group.by === "topic" ? "topic" : "urlHost"]: group.place }) };
  const detail = group.jobs.find((job) => job.lastAttempt?.errorDetail)?.lastAttempt.errorDetail;
  return m(".stack",
    m("p.faint", REASONS[group.reason] ?? "", detail ? [" ", m("code", detail)] : null),
    m("ul.group-jobs", group.jobs.slice(0, SHOWN_JOBS).map((job) =>
      m("li", m("input", { type: "checkbox", "aria-label": `Select ${job.topic}/${job.jobId}`, disabled: isWhole, checked: isWhole || jobs.has(jobKey(job)),
        onchange: (event) => (event.target.checked ? jobs.set(jobKey(job), job) : jobs.delete(jobKey(job))) }),
      m("a", { href: href(["jobs", job.topic, job.jobId]) }, m(Name, { text: `${job.topic}/${job.jobId}`, most: 80 })), m("span.sub", m(Time, { at: job.deadAt, style: "relative" }))))),
    m("p", m("a", { href: href(["jobs"], filter) }, group.jobs.length > SHOWN_JOBS ? `All ${number(group.jobs.length)} in the list of jobs` : "In the list of jobs")));
}

// Jobs that Redis no longer has can be run again as long as the history has them.
const fromHistory = ({ hasHistory, topic }) =>
  hasHistory ? m("p.sub", "The history also has dead jobs that Redis no longer has. You can run these again: ", m("a", { href: href(["jobs"], { state: "dead", source: "history", topic }) }, "dead jobs of the history"), ".") : null;

const emptyView = (page) =>
  m(Empty, { title: "No dead letters", text: "A job is dead when its attempts are used up, when its receiver answers 410, when it expires, or when requests to its address are not allowed. It is kept here until it is run again or deleted. From a terminal, this runs all of them again, ten a second:",
    command: `curl -X POST '${new URL(".", document.baseURI).href}jobs/redrive?state=dead&all=true&perSecond=10'` }, fromHistory(page));

// DeadSample: dead jobs, read page by page from the newest and grouped by the reason of their death. If there are very
// many, only the newest are read, and the page says so.

const PAGE = 1000;
const MOST = 10_000;

const hostOf = (job) => /^https?:\/\/([^/?#]+)/i.exec(job.url ?? "")?.[1] ?? "";

class DeadSample {
  // If topic is set, reads only the jobs of this topic.
  constructor(topic, changed) {
    Object.assign(this, { topic, changed, jobs: [], total: null, isLoading: true, isWhole: false, isClosed: false, arrived: 0, problem: null });
  }

  close() {
    this.isClosed = true;
  }

  async load() {
    try {
      this.total = (await get("/jobs/count", this.query)).body.count;
      let cursor;
      do {
        const { body } = await get("/jobs", { ...this.query, order: "newest", limit: PAGE, cursor });
        for (const job of body.jobs) this.jobs.push(slim(job));
        cursor = body.cursor;
        this.changed();
      } while (cursor && this.jobs.length < MOST && !this.isClosed);
      this.isWhole = !cursor;
    } catch (error) {
      this.problem = error;
    }
    this.isLoading = false;
    this.changed();
  }

  get query() {
    return { state: "dead", topic: this.topic };
  }

  // Returns the time just after the newest of these jobs died. As the upper limit of a query, this time leaves out jobs that die later.
  get until() {
    return this.jobs.length ? new Date(Date.parse(this.jobs[0].deadAt) + 1).toISOString() : undefined;
  }

  // Counts the jobs that have died after these jobs.
  async look() {
    if (this.isLoading || this.isClosed) return;
    const [fresh, all] = await Promise.all([get("/jobs/count", { ...this.query, diedAfter: this.until }), get("/jobs/count", this.query)]);
    this.arrived = fresh.body.count;
    this.total = all.body.count;
  }
}

const slim = ({ topic, jobId, reason, lastAttempt, deadAt, url, attempts, createdAt }) => ({ topic, jobId, reason, lastAttempt, deadAt, url, attempts, createdAt });

// Groups jobs by reason, last answer, and the receiver or the topic. The largest group comes first.
function groupsOf(jobs, by) {
  const groups = new Map();
  for (const job of jobs) {
    const answer = job.lastAttempt ? answerOf(job.lastAttempt) : "";
    const place = by === "topic" ? job.topic : hostOf(job);
    const key = JSON.stringify([job.reason, answer, place]);
    if (!groups.has(key)) groups.set(key, { key, reason: job.reason, answer, place, by, status: job.lastAttempt?.status, jobs: [], newest: job.deadAt });
    const group = groups.get(key);
    group.jobs.push(job);
    group.oldest = job.deadAt;
  }
  return [...groups.values()].sort((a, b) => b.jobs.length - a.jobs.length);
}

// Returns the filter of a group; null if the API cannot filter for it: for an error without a status, or for no url.
function filterOf(group, sample) {
  if (!group.status || !group.place) return null;
  const place = group.by === "topic" ? { topic: group.place } : { topic: sample.topic, urlHost: group.place };
  return { state: "dead", reason: group.reason, lastStatus: String(group.status), diedBefore: sample.until, ...place };
}

// Returns the part of an operation that acts on the group.
const partOf = (group, sample) => {
  const query = filterOf(group, sample);
  return query ? { query } : { jobs: group.jobs };
};
