// Overview: whether jobs are delivered and on time, topics that fail, upcoming jobs, stuck jobs.

import { m } from "../lib.js";
import { live, follow } from "../live.js";
import { connection } from "../connection.js";
import { Page } from "../parts/page.js";
import { Problem } from "../parts/problem.js";
import { Status } from "../overview/status.js";
import { States, isEmptyServer } from "../overview/states.js";
import { Flow } from "../overview/flow.js";
import { Coming } from "../overview/coming.js";
import { FailingTopics, Overdue, Impaired } from "../overview/stuck.js";
import { Busy, remember } from "../overview/busy.js";
import { Server, Processes } from "../overview/server.js";
import { onDemand } from "../parts/on_demand.js";

const FirstJob = onDemand(() => import("../overview/first_job.js")); // on an empty server only

export default function Overview() {
  let stop = null;
  // Whether to show how to schedule a first job. The first answer decides this until the person leaves the page.
  let isLesson = null;
  return {
    oninit: () => (stop = follow(remember)),
    onremove: () => stop(),
    view: () => {
      const { overview } = live;
      if (overview?.jobs?.delayed !== undefined) isLesson ??= isEmptyServer(live);
      return m(Page, { title: "Overview", sub: overview ? m(Status, { overview }) : null },
        live.error && connection.isOk ? m(Problem, { error: live.error }) : null,
        isLesson ? m(FirstJob) : null,
        overview?.jobs ? m(States, { jobs: overview.jobs }) : null,
        m(".cards",
          overview?.failing ? m(FailingTopics, { failing: overview.failing }) : null,
          m(Flow),
          overview?.coming ? m(Coming, { coming: overview.coming }) : null,
          overview?.overdue ? m(Overdue, { overdue: overview.overdue }) : null,
          overview?.receivers ? m(Impaired, { receivers: overview.receivers }) : null,
          overview?.busy ? m(Busy) : null,
          overview?.redis || overview?.history ? m(Server, { overview }) : null,
          overview?.processes ? m(Processes, { processes: overview.processes }) : null));
    },
  };
}
Overview.title = "Overview";
