// bunqueue: ADDRESS is the port of its server. durable: written to SQLite before the answer, without a sync of the disk.
import { Queue, Worker } from "bunqueue/client";
import { produce, settings } from "./settings.mjs";

const connection = { port: Number(settings.address), host: "127.0.0.1" };
if (settings.role === "produce") {
  const queue = new Queue("bench", { connection });
  const options = { attempts: 10, durable: true, removeOnComplete: true };
  await produce(({ text, delay }) => queue.add("job", { text }, { delay, ...options }),
    (jobs) => queue.addBulk(jobs.map(({ text, delay }) => ({ name: "job", data: { text }, opts: { delay, ...options } }))));
  process.exit(0);
} else {
  const headers = { "content-type": "application/json" };
  const worker = new Worker("bench", async (job) => {
    const answer = await fetch(settings.url, { method: "POST", headers, body: job.data.text });
    if (!answer.ok) throw new Error(`status ${answer.status}`);
  }, { connection, concurrency: settings.connections });
  worker.on("error", () => {});
  console.log("ready");
}
