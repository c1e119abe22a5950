// One schedule: its next times, its last time, its job.

import { m } from "../lib.js";
import { go, href, route } from "../router.js";
import { get, path, whyNot } from "../api.js";
import { useClock, repeat } from "../live.js";
import { jobPath } from "../format.js";
import { Json } from "../jobs/body.js";
import { hasHistory } from "../jobs/list.js";
import { Button, Card, Page, Problem } from "../parts/page.js";
import { Name, shown, State, Time } from "../parts/values.js";
import { ScheduleDialog, CronWords } from "../schedules/form.js";
import { pause, remove, runNow, outcome, timesText } from "../schedules/state.js";

const READ_MS = 3000;

export default function Schedule({ attrs: { params } }) {
  const page = { ...params, schedule: null, etag: null, error: null, isEdited: false };
  const stops = [];
  return {
    oninit: () => {
      const reading = repeat(() => load(page), READ_MS);
      page.reload = reading.again;
      stops.push(reading.stop, useClock());
    },
    onremove: () => stops.forEach((stop) => stop()),
    view: () =>
      m(Page, { title: m(Name, { text: page.scheduleId, most: 100 }), sub: ["Schedule of ", m("a", { href: href(["topics", page.topic]) }, m(Name, { text: page.topic }))], actions: page.schedule ? actions(page) : null },
        m(Problem, { error: page.error, retry: page.reload }),
        page.schedule ? content(page.schedule) : null,
        page.isEdited ? m(ScheduleDialog, { schedule: page.schedule, etag: page.etag, onclose: () => { page.isEdited = false; page.reload(); } }) : null),
  };
}
Schedule.title = (params) => shown(params.scheduleId);

async function load(page) {
  try {
    const { body, etag } = await get(path`/schedules/${page.topic}/${page.scheduleId}`);
    if (!page.isEdited) [page.schedule, page.etag] = [body, etag];
    page.error = null;
  } catch (error) {
    page.error = error;
  }
}

// Whether the person is still on this page: a schedule is deleted five seconds after the click on Delete.
const isShown = (page) => route.segments[1] === page.topic && route.segments[2] === page.scheduleId;

function actions(page) {
  const { schedule, reload } = page;
  const why = whyNot("schedule", page.topic);
  return [
    m(Button, { whyNot: why, icon: "play", onclick: () => runNow(schedule).then(reload) }, "Run now"),
    m(Button, { whyNot: why, onclick: () => pause(schedule, !schedule.paused).then(reload) }, schedule.paused ? "Resume" : "Pause"),
    m(Button, { whyNot: why, onclick: () => (page.isEdited = true) }, "Change"),
    m(Button, { kind: "danger", whyNot: whyNot("cancel", page.topic) ?? why, onclick: () => remove(schedule).then((isDeleted) => isDeleted && isShown(page) && go(["schedules"])) }, "Delete"),
  ];
}

const content = (schedule) => [
  m(".cards",
    m(Card, { title: "Times", class: "half" },
      m("dl.pairs",
        m("dt", "When"), m("dd", m(CronWords, { cron: schedule.cron, timezone: schedule.timezone }), timesText(schedule), schedule.paused ? [" ", m(State, { state: "paused" })] : null),
        m("dt", "Last time"), m("dd", outcome(schedule)),
        m("dt", "Missed times"), m("dd", { one: "one job for all", skip: "no job", all: "a job for each" }[schedule.misfire]),
        m("dt", "Overlap"), m("dd", schedule.overlap === "skip" ? "no job while the last one waits" : "allowed"),
        schedule.expectBy ? [m("dt", "Expected by"), m("dd", `${schedule.expectBy} s after it is due`, schedule.missed ? [" ", m(State, { state: "bad", text: "missed" })] : null)] : null,
        schedule.deliveredAt ? [m("dt", "Last delivery"), m("dd", m(Time, { at: schedule.deliveredAt }))] : null,
        schedule.grace ? [m("dt", "Grace"), m("dd", `${schedule.grace} s`)] : null,
        schedule.jitter ? [m("dt", "Jitter"), m("dd", `${schedule.jitter} s`)] : null,
        schedule.startAt ? [m("dt", "Start"), m("dd", m(Time, { at: schedule.startAt }))] : null,
        schedule.endAt ? [m("dt", "End"), m("dd", m(Time, { at: schedule.endAt }))] : null)),
    m(Card, { title: "Next", class: "half", actions: m("a", { href: href(["jobs"], { topic: schedule.topic, idPrefix: `${schedule.scheduleId}~` }) }, "Its jobs") },
      schedule.next.length ? m("ol", schedule.next.map((at) => m("li", m(Time, { at }), m("span.sub", " ", m(Time, { at, style: "until" }))))) : m("p.sub", schedule.paused ? "It is paused." : "It has no more times."))),
  m(".cards",
    m(Card, { title: "Job", class: "half" }, m(Json, { value: schedule.job ?? {}, label: "The job" })),
    m(Card, { title: "Its latest jobs", class: "half" }, m(Occurrences, { schedule }))),
];

// Occurrences: the latest jobs that a schedule has created, the newest first: the waiting and dead ones, and, if there is a
// history, the ended ones.
//
//   m(Occurrences, {schedule})

const OCCURRENCES_MS = 5000;
const SHOWN = 10;

const keyOf = (job) => `${job.jobId} ${job.createdAt}`;

async function read({ topic, scheduleId }) {
  const query = { topic, idPrefix: `${scheduleId}~`, limit: SHOWN, order: "newest" };
  const { body: { jobs } } = await get("/jobs", query);
  if (!(await hasHistory())) return newestFirst(jobs);
  const { body: ended } = await get("/jobs", { ...query, state: "any" });
  const known = new Set(jobs.map(keyOf));
  return newestFirst([...jobs, ...ended.jobs.filter((job) => !known.has(keyOf(job)))]);
}

const newestFirst = (jobs) => jobs.sort((a, b) => Date.parse(b.createdAt) - Date.parse(a.createdAt)).slice(0, SHOWN);

function Occurrences({ attrs: { schedule } }) {
  let jobs = null;
  let error = null;
  let reading;
  const load = async () => {
    try {
      jobs = await read(schedule);
      error = null;
    } catch (problem) {
      error = problem;
    }
  };
  return {
    oninit: () => (reading = repeat(load, OCCURRENCES_MS)),
    onremove: () => reading.stop(),
    view: () => {
      if (error) return m(Problem, { error, retry: reading.again });
      if (!jobs) return m(".loading", { role: "status" }, "Loading…");
      if (!jobs.length) return m("p.sub", "No job of this schedule is waiting, dead or in the history.");
      return m("ul.plain", jobs.map((job) => m("li", { key: keyOf(job) }, m(State, { state: job.state }), " ", m("a", { href: href(jobPath(job)) }, m(Name, { text: job.jobId })), " ", m("span.sub", m(Time, { at: job.createdAt, style: "ago" })))));
    },
  };
}
