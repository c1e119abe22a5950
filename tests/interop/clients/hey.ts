// Schedules, reads, lists and cancels a job with the client that @hey-api/openapi-ts made: node hey.js BASE_URL.
import { client } from "./hey/client.gen";
import { cancelJob, listJobs, readJob, scheduleJob } from "./hey/sdk.gen";

async function trip(): Promise<void> {
  client.setConfig({ baseUrl: process.argv[2] as "http://127.0.0.1:7700" });
  const path = { topic: "made", jobId: "hey" };
  const scheduled = await scheduleJob({ body: { ...path, url: "http://127.0.0.1:9/", delay: "1h", body: { total: 1.1 } } });
  const found = await readJob({ path });
  const listed = await listJobs({ query: { topic: "made", label: undefined } });
  const cancelled = await cancelJob({ path });
  if (scheduled.response?.status !== 201 || found.data?.delay !== 3600) throw new Error(JSON.stringify(found));
  if (!listed.data?.jobs.some((job) => job.jobId === "hey")) throw new Error(JSON.stringify(listed));
  if (cancelled.data?.state !== "cancelled") throw new Error(JSON.stringify(cancelled));
}

trip().catch((error) => {
  console.error(error);
  process.exit(1);
});
