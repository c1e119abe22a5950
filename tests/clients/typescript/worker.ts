/** A worker as a process of its own, for work.test.ts. */
import { setTimeout as sleep } from "node:timers/promises";
import { Duepost } from "duepost";

await new Duepost().work("mail", async (job) => {
  console.log("begun", job.jobId);
  await sleep(1500);
  console.log("done", job.jobId);
}, { lease: Number(process.env.LEASE) });
console.log("drained");
