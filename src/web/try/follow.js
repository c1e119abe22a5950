// A card that follows a sent job until it ends: state, time until it is due, attempts, the reason why it waits.
//
//   m(Follow, {job: {topic, jobId}})

import { m } from "../lib.js";
import { href } from "../router.js";
import { get, path } from "../api.js";
import { duration, jobPath } from "../format.js";
import { inPageWords } from "../jobs/watch.js";
import { Card, Problem } from "../parts/page.js";
import { Table } from "../parts/table.js";
import { State, Time } from "../parts/values.js";

const PERIOD_MS = 1000;
const GONE_ASKS = 4; // failed reads after which a job counts as gone; the history has a job a second or two after its end
const ENDED = ["delivered", "dead", "cancelled"];
const HEADS = {
  delayed: "It waits for its time", ready: "It is due", held: "It is held", leased: "It is on its way", pulled: "A worker has it",
  delivered: "It arrived", dead: "It is dead", cancelled: "It was cancelled",
};

export function Follow({ attrs: { job: sent } }) {
  let job = sent;
  let why = null;
  let attempts = [];
  let error = null;
  let misses = 0;
  let timer = null;

  const isGone = () => misses >= GONE_ASKS;
  const isOver = () => ENDED.includes(job.state) || isGone();

  const head = () => {
    if (isGone()) return "It has ended";
    if (job.state === "delayed" && job.attempts > 0) return "It failed and is tried again";
    return HEADS[job.state] ?? "It was accepted";
  };

  const ask = async () => {
    try {
      const where = path`/jobs/${sent.topic}/${sent.jobId}`;
      const one = await get(where);
      // The reason and the attempts are read after the job. So if the job has ended, they include its last attempt.
      const [reason, tries] = await Promise.all([get(`${where}/why`), get(`${where}/attempts`)]);
      job = one.body;
      why = reason.body.detail;
      attempts = tries.body.attempts;
      misses = 0;
      error = null;
    } catch (problem) {
      if (problem.status === 404) misses++;
      else error = problem;
    }
    m.redraw();
    if (!isOver()) timer = setTimeout(ask, PERIOD_MS);
  };

  return {
    oninit: ask,
    onremove: () => clearTimeout(timer),
    view: () =>
      m(Card, { title: head() }, m(".follow", { role: "status" },
        m("p.followed", m("a", { href: href(jobPath(sent)) }, `${sent.topic}/${sent.jobId}`), " ",
          isGone() ? m(State, { state: "ok", text: "gone" }) : job.state ? m(State, { state: job.state }) : null,
          job.dueAt && !isOver() ? [" due ", m(Time, { at: job.dueAt, style: "relative" })] : null),
        m("p", isGone() ? "It was delivered or cancelled. The server keeps no history, so it has no more details." : why && inPageWords(why)),
        attempts.length ? m(Table, { label: "Attempts", columns: COLUMNS, rows: attempts, rowKey: (row) => row.at }) : null,
        m(Problem, { error }))),
  };
}

const COLUMNS = [
  { name: "attempt", title: "Attempt", view: (row) => row.attempt },
  { name: "at", title: "At", view: (row) => m(Time, { at: row.at }) },
  { name: "took", title: "Took", isNumber: true, view: (row) => duration(row.durationMs) },
  { name: "answer", title: "Answer", view: (row) => row.status ?? row.error },
  { name: "text", title: "Text", isWide: true, view: (row) => m("code.answer", row.answer ?? row.errorDetail ?? "") },
];
