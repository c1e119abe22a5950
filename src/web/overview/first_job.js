// Shown on a server without jobs: commands that start a receiver and schedule the first job, and then the progress of that job.

import { m } from "../lib.js";
import { href } from "../router.js";
import { get, session } from "../api.js";
import { live } from "../live.js";
import { LOCAL_RECEIVER } from "../format.js";
import { isEmptyServer } from "../pages/overview.js";
import { Command } from "../parts/page.js";

function firstCommand() {
  const base = new URL("jobs", document.baseURI).href;
  const token = session.hasToken ? ` \\\n  -H "Authorization: Bearer $TOKEN"` : "";
  return `curl ${base} -H 'Content-Type: application/json'${token} \\\n  -d '{"topic": "hello", "delay": "10s", "url": "${LOCAL_RECEIVER}", "body": {"hello": "world"}}'`;
}

export default function FirstJob() {
  let job = null;
  let Follow = null; // loaded with the first job: other visits need it on the page "Try it" only
  let isAsking = false;
  const look = async () => {
    isAsking = true;
    try {
      ({ Follow } = await import("../try/follow.js"));
      job = (await get("/jobs", { limit: 1 })).body.jobs[0] ?? null;
    } catch {
      // The next overview asks again.
    }
    isAsking = false;
    if (job) m.redraw();
  };
  return {
    onupdate: () => {
      if (live.overview && !job && !isAsking && !isEmptyServer(live)) look();
    },
    view: () => (job ? m(Follow, { job }) :
      m("section.first", { "aria-label": "The first job" },
        m("h2", "Schedule the first job"),
        m("p", "This server has no jobs yet. On the server's host, run this in a terminal to print each callback that arrives there:"),
        m(Command, { text: "duepost receive" }),
        m("p", "In another terminal, schedule a POST to it in ten seconds:"),
        m(Command, { text: firstCommand() }),
        m("p.waits", { role: "status" }, m("span.pulse", { "aria-hidden": "true" }), "Waiting for the first job. It appears here automatically."),
        m("p", "A server sends to loopback addresses only if --allow-target permits it, as ", m("code", "duepost dev"), " does. No terminal at hand? ",
          m("a", { href: href(["try"]) }, "Compose one here"), "."))),
  };
}
