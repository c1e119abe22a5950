// The number of jobs in each state, each with a link to its list.

import { m } from "../lib.js";
import { href } from "../router.js";
import { compact, number } from "../format.js";
import { stateSign } from "../parts/state.js";

const STATES = [
  { name: "delayed", text: "Delayed", to: href(["jobs"], { state: "delayed" }), help: "Jobs that wait for their first attempt" },
  { name: "retrying", text: "Retrying", sign: "retried", to: href(["topics"], { failing: "true" }), help: "Jobs that an attempt was made for, and that wait for another one" },
  { name: "ready", text: "Ready", to: href(["jobs"], { state: "ready" }), help: "Jobs that are due and wait for a free slot" },
  { name: "held", text: "Held", to: href(["receivers"]), help: "Jobs that are due and wait for an impaired receiver" },
  { name: "leased", text: "In flight", to: href(["jobs"], { state: "leased" }), help: "Jobs that are being delivered" },
  { name: "pulled", text: "Pulled", to: href(["pull"]), help: "Jobs of pull topics that workers have leased" },
  { name: "dead", text: "Dead", to: href(["dead"]), help: "Jobs that were given up and are kept" },
];

export const States = {
  view: ({ attrs }) => {
    const jobs = withoutOverlap(attrs.jobs);
    return m("section.states", { "aria-label": "Jobs by state" }, STATES.filter((one) => jobs[one.name] !== undefined).map((one) =>
      m("a.figure", { class: `is-${one.name} ${jobs[one.name] ? "" : "is-zero"}`, href: one.to, title: `${one.help}: ${number(jobs[one.name])}` },
        m("span.figure-name", stateSign(one.sign ?? one.name), one.text), m("strong", compact(jobs[one.name])))));
  },
};

// The server counts pulled jobs among the leased ones, and retrying jobs in the state that each has. Those that cannot be in
// another state are taken out of the delayed ones.
function withoutOverlap(jobs) {
  const leased = jobs.leased - (jobs.pulled ?? 0);
  const delayed = jobs.delayed === undefined ? undefined : Math.max(0, jobs.delayed - Math.max(0, (jobs.retrying ?? 0) - jobs.held - jobs.leased - (jobs.ready ?? 0)));
  return { ...jobs, leased, delayed };
}

export function isEmptyServer({ overview, series }) {
  if (overview?.jobs?.delayed === undefined || Object.values(overview.jobs).some((count) => count > 0)) return false;
  return !(series?.accepted ?? []).some((count) => count > 0) && !(series?.delivered ?? []).some((count) => count > 0);
}
