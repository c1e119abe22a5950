// BullMQ: ADDRESS is the path of Redis's socket. The worker has as many jobs under way as duepost has for a topic.
import { Queue, Worker } from "bullmq";
import { Redis } from "ioredis";
import { Pool } from "undici";
import { produce, settings } from "./settings.mjs";

const connection = new Redis({ path: settings.address, maxRetriesPerRequest: null });
if (settings.role === "produce") {
  const queue = new Queue("bench", { connection });
  const options = { attempts: 10, removeOnComplete: true };
  await produce(({ text, delay }) => queue.add("job", text, { delay, ...options }),
    (jobs) => queue.addBulk(jobs.map(({ text, delay }) => ({ name: "job", data: text, opts: { delay, ...options } }))));
  await queue.close();
  connection.disconnect();
} else {
  const { origin, pathname } = new URL(settings.url);
  const pool = new Pool(origin, { connections: settings.connections });
  const headers = { "content-type": "application/json" };
  const worker = new Worker("bench", async (job) => {
    const { statusCode, body } = await pool.request({ path: pathname, method: "POST", headers, body: job.data });
    await body.dump();
    if (statusCode >= 300) throw new Error(`status ${statusCode}`);
  }, { connection, concurrency: settings.connections });
  worker.on("error", () => {}); // of connections, when Redis is killed
  await worker.waitUntilReady();
  console.log("ready");
}
