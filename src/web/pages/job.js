// A job: its timeline, why it waits or how it ended, its attempts, its body, and the actions on it.

import { m } from "../lib.js";
import { href } from "../router.js";
import { del, path, post, session, whyNot } from "../api.js";
import { useClock } from "../live.js";
import { useKeys } from "../keys.js";
import { nowMs, number, plural, until } from "../format.js";
import { Body } from "../jobs/body.js";
import { curlOf, waitText } from "../jobs/draft.js";
import { EditDialog, ResendDialog, RescheduleDialog } from "../jobs/edit.js";
import { attemptsOf, endedAt, Retries } from "../jobs/life.js";
import { Attempts, Timeline } from "../jobs/timeline.js";
import { JobWatch, inPageWords } from "../jobs/watch.js";
import { Copy, copyText, Empty, Button, Card, Page, Problem } from "../parts/page.js";
import { later, toast } from "../parts/toast.js";
import { Name, shown, State, Time } from "../parts/values.js";

const HAS_ENDED = ["delivered", "cancelled"];

export default function Job({ attrs: { params } }) {
  const page = { dialog: null, busy: null, error: null };
  const watch = new JobWatch(params.topic, params.jobId, () => m.redraw());
  let stopClock = null;
  let stopKeys = null;
  return {
    oninit: () => {
      stopClock = useClock();
      stopKeys = useKeys([
        { keys: "r", text: "Run this job now", run: () => actIfAllowed(runAction(watch, page)) },
        { keys: "e", text: "Edit this job", run: () => actIfAllowed(editAction(watch, page)) },
      ]);
    },
    onremove: () => {
      watch.stop();
      stopClock();
      stopKeys();
    },
    view: () => (watch.job ? jobView(watch, page) : firstView(watch)),
  };
}
Job.title = ({ topic, jobId }) => shown(`${topic}/${jobId}`);

// Shown until the job has been read.
function firstView({ topic, jobId, problem, round }) {
  if (!problem) return m(".loading", { role: "status" }, "Loading…");
  if (problem.status !== 404) return [m(Page, { title: m(Name, { text: `${topic}/${jobId}`, most: 100 }) }), m(Problem, { error: problem })];
  return [
    m(Page, { title: m(Name, { text: `${topic}/${jobId}`, most: 100 }) }),
    m(Empty, { title: "There is no such job", text: "It never existed, or it was delivered or cancelled: ended jobs are kept only with a history, or with a retention of their topic. If it is scheduled now, it appears here." },
      m("p", m("a", { href: href(["jobs"], { topic, idPrefix: jobId }) }, "Jobs whose id begins like this"), " · ",
        m("a", { href: href(["jobs"], { topic, state: "any" }) }, `Ended jobs of ${topic}`))),
  ];
}

function jobView(watch, page) {
  const { job, text, attempts, isGone } = watch;
  const now = nowMs();
  const isOver = endedAt(job) !== null;
  return [
    m(Page, { title: [m(Name, { text: job.jobId, most: 100 }), " ", m(Copy, { text: job.jobId, label: "Copy the id" })], sub: subtitle(job), actions: isGone ? null : actions(watch, page) }),
    isGone ? m(".notice", { role: "status" }, "The job is no longer in the pool: it was delivered or cancelled, and is not kept. This page shows its last known state.") : null,
    m(Problem, { error: watch.problem ?? page.error }),
    isGone ? null : whyView(watch),
    m(Card, { title: "Life", class: "life" }, m(Timeline, { job, attempts, why: isGone ? null : watch.why, now })),
    m(".cards",
      m(".two-thirds.stack",
        m(Card, { title: "Attempts", sub: attemptCount(job) }, m(Attempts, { job, attempts: attemptsOf(job, attempts), isRead: attempts.length > 0 })),
        job.result === undefined ? null : m(Card, { title: "Result" }, m("pre.result", JSON.stringify(job.result, null, 2))),
        m(Card, { title: "Body" }, m(Body, { text, isHidden: isSibling(job) }))),
      m(".third.stack",
        m(Card, { title: "Job" }, facts(job)),
        isOver || isGone ? null : m(Card, { title: "Next attempts" }, m(Retries, { job, now })),
        m(Card, { title: "Headers" }, headers(job)))),
    dialogOf(watch, page),
  ];
}

const subtitle = (job) =>
  m(".job-sub", m(State, { state: job.state }), m("a", { href: href(["topics", job.topic]) }, m(Name, { text: job.topic })),
    (job.labels ?? []).map((label) => m("a.label", { href: href(["jobs"], { topic: job.topic, label }) }, label)));

function whyView({ why, job }) {
  if (!why) return null;
  const wait = why.until && Date.parse(why.until) > nowMs() && job.state !== "leased" ? until(why.until) : null;
  return m(".why", { class: `is-${job.state}`, role: "status", "aria-label": "Why" }, m("p", inPageWords(why.detail)), wait ? m("p.why-until", m("strong", wait), " ", m(Time, { at: why.until })) : null);
}

const attemptCount = (job) => `${plural(job.attempts, "attempt")}${HAS_ENDED.includes(job.state) ? "" : ` of at most ${number(job.retry + 1)}`}${job.rounds ? `, after ${plural(job.rounds, "round")}` : ""}`;

// ---- facts ----

// A number from 0 to 1 is a share of the work.
function progress(value) {
  if (value === undefined) return null;
  if (typeof value !== "number") return ["Progress", m("code", JSON.stringify(value))];
  return ["Progress", [m("progress", { max: 1, value, "aria-label": "Progress" }), m("span.sub", ` ${Math.round(value * 100)} %`)]];
}

function facts(job) {
  const callback = (name) => (job[name] ? [name, m("code", typeof job[name] === "string" ? job[name] : `${job[name].method ?? "POST"} ${job[name].url}`)] : null);
  const at = (title, value) => (value ? [title, [m(Time, { at: value }), m("span.sub", " ", m(Time, { at: value, style: "relative" }))]] : null);
  const pairs = [
    ["Receiver", job.url ? m("code", `${job.method ?? "POST"} ${job.url}`) : "none: workers lease it"],
    at("Accepted", job.createdAt), at("Due", job.dueAt), at("Delivered", job.deliveredAt), at("Cancelled", job.cancelledAt), at("Died", job.deadAt),
    job.state === "cancelled" && job.reason ? ["Reason", "replaced by a PUT during an attempt"] : job.reason ? ["Reason", m("a", { href: href(["jobs"], { state: "dead", reason: job.reason }) }, job.reason.replaceAll("_", " "))] : null,
    at("Leased until", job.leaseUntil), progress(job.progress),
    at("Expires", job.expiresAt), at("Kept until", job.keptUntil),
    job.key ? ["Key", m("a", { href: href(["jobs"], { topic: job.topic, key: job.key }) }, m(Name, { text: job.key }))] : null,
    ["Priority", number(job.priority)],
    ["Timeout", waitText(job.timeout)],
    ["Retries", [number(job.retry), job.retryWait ? [m("span.sub", " after "), m("code", job.retryWait), m("span.sub", " ms")] : job.retrySchedule.length ? m("span.sub", ` after ${job.retrySchedule.slice(0, 12).map(waitText).join(" ")}${job.retrySchedule.length > 12 ? " …" : ""}`) : null]],
    job.form ? ["Sent as", { qstash: "a message of QStash" }[job.form] ?? job.form] : null,
    job.workflow ? ["Workflow", m("a", { href: href(["workflows", job.topic.split("~")[0], job.workflow]) }, job.workflow)] : null,
    callback("onDelivered"), callback("onDead"), callback("onAttempt"),
  ];
  return m("dl.pairs", pairs.filter(Boolean).map(([title, value]) => [m("dt", title), m("dd", value)]));
}

function headers(job) {
  const all = Object.entries(job.headers);
  if (!all.length) return m("p.faint", "None of its own.");
  return m("dl.pairs", all.map(([name, value]) => [m("dt", m("code", name)), m("dd", value === "***" ? m("span.faint", { title: "The API does not show values of headers" }, "hidden") : m("code", value))]));
}

// ---- actions ----

const ENDED = "The job has ended";
const LEASED = "An attempt is under way";
const SIBLING = "Only the server writes jobs of this topic";

const isSibling = (job) => job.topic.includes("~");

// Returns {text, whyNot, run, kind} for a button. reason: why the action is not possible now. Without one, a scope may be
// missing.
const action = (name, run, { scope, job, reason, kind }) => ({ name, run, kind, whyNot: reason || whyNot(scope, job.topic) });

const actIfAllowed = (one) => one && !one.whyNot && one.run();

function runAction(watch, page) {
  const { job } = watch;
  if (!job) return null;
  const isResend = HAS_ENDED.includes(job.state);
  const reason = job.state === "leased" ? LEASED : job.bodyLeftOut ? "The history does not have its body" : "";
  const run = () => send(watch, page, null, () => post(`${whereOf(job)}/run`, null, { query: isResend ? { resend: true } : {} }), "It is due now.");
  return action(isResend ? "Send again" : "Run now", run, { scope: "schedule", job, reason, kind: "primary" });
}

function editAction(watch, page) {
  const { job } = watch;
  if (!job) return null;
  const reason = HAS_ENDED.includes(job.state) ? ENDED : job.state === "leased" ? LEASED : isSibling(job) ? SIBLING : "";
  return action("Edit", () => (page.dialog = { kind: "edit", job, text: watch.text, etag: watch.etag }), { scope: "schedule", job, reason });
}

function actions(watch, page) {
  const { job, etag, text } = watch;
  const isOver = HAS_ENDED.includes(job.state);
  const changeable = isOver ? ENDED : job.state === "leased" ? LEASED : isSibling(job) ? SIBLING : "";
  const all = [
    runAction(watch, page),
    editAction(watch, page),
    action("Reschedule", () => (page.dialog = { kind: "reschedule", job, etag }), { scope: "schedule", job, reason: changeable || (job.state === "dead" ? "A dead job has no due time: run it" : "") }),
    action("Send as new", () => (page.dialog = { kind: "resend", job, text }), { scope: "schedule", job, reason: isSibling(job) ? SIBLING : "" }),
    isOver ? null : action(job.state === "dead" ? "Delete" : "Cancel", () => send(watch, page, `${job.state === "dead" ? "Deleting" : "Cancelling"} ${shown(job.jobId)} in 5 s`, () => del(whereOf(job)), job.state === "dead" ? "Deleted." : "Cancelled."), { scope: "cancel", job, kind: "danger" }),
  ];
  return [
    all.filter(Boolean).map((one) => m(Button, { onclick: one.run, whyNot: one.whyNot, kind: one.kind, isDisabled: page.busy === one.name }, one.name)),
    m(Button, { onclick: () => copyCurl(job, text), kind: "quiet", icon: "copy" }, "curl"),
  ];
}

const whereOf = (job) => path`/jobs/${job.topic}/${job.jobId}`;

// An action that takes something away has a text, and offers "Undo" for five seconds before it is sent; another one is sent at once.
async function send(watch, page, text, request, done) {
  page.error = null;
  try {
    if (text && !(await later(text, request))) return;
    if (!text) await request();
    toast(done);
  } catch (error) {
    page.error = error;
  }
  await watch.refresh();
}

async function copyCurl(job, text) {
  const server = new URL(".", document.baseURI).href.replace(/\/$/, "");
  const isCopied = await copyText(curlOf(job, text, server, session.hasToken));
  toast(isCopied ? "Copied. Hidden values are shown as ***: fill them in." : "Copying failed", { kind: isCopied ? "ok" : "bad" });
}

function dialogOf(watch, page) {
  const { dialog } = page;
  if (!dialog) return null;
  const onclose = () => (page.dialog = null);
  const onsaved = () => watch.refresh();
  if (dialog.kind === "edit") return m(EditDialog, { job: dialog.job, text: dialog.text, etag: dialog.etag, onclose, onsaved });
  if (dialog.kind === "reschedule") return m(RescheduleDialog, { job: dialog.job, etag: dialog.etag, onclose, onsaved });
  return m(ResendDialog, { job: dialog.job, text: dialog.text, isFree: endedAt(dialog.job) !== null, onclose, onsent: onsaved });
}
