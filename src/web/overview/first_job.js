// Shown on a server without jobs: a command that schedules the first job, and then the progress of that job.

import { m } from "../lib.js";
import { get, session } from "../api.js";
import { live } from "../live.js";
import { href } from "../router.js";
import { jobPath } from "../format.js";
import { Command } from "../parts/empty.js";
import { State } from "../parts/state.js";
import { Time } from "../parts/time.js";

export function isEmptyServer({ overview, series }) {
  if (overview?.jobs?.delayed === undefined || Object.values(overview.jobs).some((count) => count > 0)) return false;
  return !(series?.accepted ?? []).some((count) => count > 0) && !(series?.delivered ?? []).some((count) => count > 0);
}

export function firstCommand() {
  const base = new URL("jobs", document.baseURI).href;
  const token = session.hasToken ? ` \\\n  -H "Authorization: Bearer $TOKEN"` : "";
  return `curl ${base} -H 'Content-Type: application/json'${token} \\\n  -d '{"topic": "hello", "delay": "10s", "url": "https://example.com/hook", "body": {"hello": "world"}}'`;
}

export function FirstJob() {
  let job = null;
  let isAsking = false;
  const look = async () => {
    if (isAsking) return;
    isAsking = true;
    try {
      if (!job) job = (await get("/jobs", { limit: 1 })).body.jobs[0] ?? null;
      else job = (await get(`/jobs/${encodeURIComponent(job.topic)}/${encodeURIComponent(job.jobId)}`)).body;
    } catch (error) {
      if (job && error.status === 404) job = { ...job, state: "delivered" };
    }
    isAsking = false;
  };
  return {
    onupdate: () => {
      if (live.overview && (job ? job.state !== "delivered" && job.state !== "dead" : !isEmptyServer(live))) look();
    },
    view: () =>
      m("section.first", { "aria-label": "The first job" },
        m("h2", job ? "It arrived" : "Schedule the first job"),
        job ? arrived(job) : [
          m("p", "This server has no jobs yet. Run this in a terminal to schedule a POST in ten seconds."),
          m(Command, { text: firstCommand() }),
          m("p.waits", { role: "status" }, m("span.pulse", { "aria-hidden": "true" }), "Waiting for the first job. It appears here automatically."),
          m("p", "No terminal at hand? ", m("a", { href: href(["try"]) }, "Compose one here"), "."),
        ]),
  };
}

function arrived(job) {
  return m("p.arrived", { role: "status" }, m("a", { href: href(jobPath(job)) }, `${job.topic}/${job.jobId}`), " ", m(State, { state: job.state }),
    job.dueAt ? [" due ", m(Time, { at: job.dueAt, style: "relative" })] : null,
    job.lastAttempt ? ` · ${job.attempts} ${job.attempts === 1 ? "attempt" : "attempts"}, the last one ${job.lastAttempt.status ?? job.lastAttempt.error}` : null);
}
