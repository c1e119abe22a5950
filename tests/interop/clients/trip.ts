// Schedules, reads and cancels a job with the types that openapi-typescript made: node trip.js BASE_URL.
import createClient from "openapi-fetch";
import type { components, paths } from "./types";

async function trip(): Promise<void> {
  const client = createClient<paths>({ baseUrl: process.argv[2] });
  const job: components["schemas"]["NewJob"] = {
    topic: "made", jobId: "typescript", url: "http://127.0.0.1:9/", delay: 3600.5, body: { total: 1.1 },
  };
  const path = { topic: "made", jobId: "typescript" };
  const scheduled = await client.POST("/jobs", { body: job });
  const found = await client.GET("/jobs/{topic}/{jobId}", { params: { path } });
  const cancelled = await client.DELETE("/jobs/{topic}/{jobId}", { params: { path } });
  if (!scheduled.data || "results" in scheduled.data) throw new Error(JSON.stringify(scheduled)); // results: of many jobs
  if (scheduled.data.dueAt !== found.data?.dueAt || found.data?.delay !== 3600.5) throw new Error(JSON.stringify(found));
  if (cancelled.data?.state !== "cancelled") throw new Error(JSON.stringify(cancelled));
}

trip().catch((error) => {
  console.error(error);
  process.exit(1);
});
