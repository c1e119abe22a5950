// Schedules, reads and cancels jobs and a schedule with the types that openapi-typescript made: node trip.js BASE_URL.
import createClient from "openapi-fetch";
import type { components, paths } from "./types";

async function trip(): Promise<void> {
  const client = createClient<paths>({ baseUrl: process.argv[2] });
  const job: components["schemas"]["NewJob"] = {
    topic: "made", jobId: "typescript", url: "http://127.0.0.1:9/", delay: 3600.5, body: { total: 1.1 },
    onDead: { url: "http://127.0.0.1:9/dead", method: "PUT" },
  };
  const path = { topic: "made", jobId: "typescript" };
  const scheduled = await client.POST("/jobs", { body: job });
  const found = await client.GET("/jobs/{topic}/{jobId}", { params: { path } });
  const cancelled = await client.DELETE("/jobs/{topic}/{jobId}", { params: { path } });
  if (!scheduled.data || "results" in scheduled.data) throw new Error(JSON.stringify(scheduled)); // results: of many jobs
  if (scheduled.data.dueAt !== found.data?.dueAt || found.data?.delay !== 3600.5) throw new Error(JSON.stringify(found));
  if (cancelled.data?.state !== "cancelled") throw new Error(JSON.stringify(cancelled));

  // The job of the README, as it stands there.
  const readme = await client.POST("/jobs", { body: README_JOB });
  if (readme.response.status !== 201) throw new Error(JSON.stringify(readme));

  const monthly = { params: { path: { topic: "made", scheduleId: "monthly" } } };
  const put = await client.PUT("/schedules/{topic}/{scheduleId}", {
    ...monthly,
    body: { cron: "0 6 1 * *", grace: "5m", job: { url: "http://127.0.0.1:9/", ttl: "1h30m", onDead: "http://127.0.0.1:9/" } },
  });
  if (put.data?.next.length !== 5) throw new Error(JSON.stringify(put));
  const changed = await client.PATCH("/schedules/{topic}/{scheduleId}", { ...monthly, body: { grace: null, paused: true } });
  if (changed.data?.paused !== true) throw new Error(JSON.stringify(changed));
  await client.DELETE("/schedules/{topic}/{scheduleId}", monthly);
  const topic = await client.GET("/topics/{topic}", { params: { path: { topic: "made" } } });
  if (topic.data?.jobs?.dead !== 0) throw new Error(JSON.stringify(topic));
}

trip().catch((error) => {
  console.error(error);
  process.exit(1);
});
