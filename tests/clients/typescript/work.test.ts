import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { bury, Conflict, Duepost, release, retry, type LeasedJob } from "duepost";
import { start, startProxy, until } from "./support.js";

test("a worker reports results, retries, deaths and progress", async () => {
  const { client } = await start(), stop = new AbortController(), errors: unknown[] = [];
  after(() => stop.abort());
  await client.topics.put("mail", { delivery: "pull", retention: 3600 });
  let running = 0, most = 0, finish = () => {};
  const mayEnd = new Promise<void>((resolve) => (finish = resolve));
  const worker = client.work("mail", async (job) => {
    most = Math.max(most, ++running);
    try {
      switch (job.jobId) {
        case "retry": if (job.attempt === 1) throw retry(0.1, "later"); return undefined;
        case "bury": return bury("no such address");
        case "release": return release();
        case "long": throw new Error(`${"é".repeat(300)}\ud800\n\0`);
        case "large": return job.attempt === 1 ? "x".repeat(70_000) : 1;
        case "big": return job.attempt === 1 ? 1n : 2;
        case "throws": if (job.attempt === 1) throw new Error("a fault"); return "second";
        case "progress": job.progress(0.25); await mayEnd; return { pages: 3 };
        default: return { to: (job.body as { to: string }).to };
      }
    } finally {
      running--;
    }
  }, { concurrency: 3, signal: stop.signal, onError: (error) => errors.push(error) });
  await client.schedule({ topic: "mail", jobId: "long", retry: 0 });
  for (const jobId of ["large", "big", "plain", "retry", "bury", "throws", "progress"]) await client.schedule({ topic: "mail", jobId, body: { to: "ada" }, retrySchedule: [0] });
  const ended = async (jobId: string) => client.wait("mail", jobId, { timeout: 60 });
  await until(async () => (await client.get("mail", "progress")).progress === 0.25, "progress");
  finish();
  assert.deepEqual((await ended("progress")).result, { pages: 3 });
  assert.deepEqual((await ended("plain")).result, { to: "ada" });
  assert.equal((await ended("retry")).state, "delivered");
  assert.equal((await client.attempts("mail", "retry"))[0].errorDetail, "later");
  assert.deepEqual([(await ended("bury")).state, (await ended("bury")).reason], ["dead", "rejected"]);
  assert.equal((await ended("throws")).result, "second");
  assert.equal((await ended("long")).state, "dead");
  assert.match((await client.attempts("mail", "long"))[0].errorDetail!, /^é{100,128}$/);
  assert.deepEqual([(await ended("large")).result, (await ended("big")).result], [1, 2]);
  assert.equal(errors.filter((error) => (error as Error).message === "a fault").length, 1);
  assert.equal(errors.length, 4);
  assert.ok(most <= 3);
  stop.abort();
  await worker;
});

test("a lost lease aborts the handler, and nothing is reported", async () => {
  const { client } = await start(), stop = new AbortController(), errors: unknown[] = [];
  after(() => stop.abort());
  await client.topics.put("mail", { delivery: "pull", retention: 3600 });
  await client.schedule({ topic: "mail", jobId: "one", body: 1 });
  let aborted = false;
  const worker = client.work("mail", async (job: LeasedJob) => {
    await client.cancel("mail", job.jobId);
    await once(job.signal, "abort");
    aborted = true;
    return "too late";
  }, { lease: 3, signal: stop.signal, onError: (error) => errors.push(error) });
  await until(() => errors.length, "the lease is lost");
  assert.ok(aborted && errors[0] instanceof Conflict);
  assert.equal((await client.get("mail", "one")).state, "cancelled");
  stop.abort();
  await worker;
});

test("a lease that cannot be extended is lost by the worker's clock", async () => {
  const { client, url } = await start(), proxy = await startProxy(url), stop = new AbortController(), errors: unknown[] = [];
  after(() => stop.abort());
  await client.topics.put("mail", { delivery: "pull" });
  await client.schedule({ topic: "mail", jobId: "one", body: 1 });
  let attempts = 0, reason: unknown;
  const worker = new Duepost({ url: proxy.url }).work("mail", async (job) => {
    if (++attempts > 1) return;
    proxy.swallows = 1000;
    await once(job.signal, "abort");
    reason = job.signal.reason;
    proxy.swallows = 0;
  }, { lease: 2, signal: stop.signal, onError: (error) => errors.push(error) });
  await until(() => attempts === 2, "the job comes again");
  assert.ok(reason instanceof Error);
  stop.abort();
  await worker;
});

test("a job that comes while the worker stops is released", async () => {
  const { client } = await start(), stop = new AbortController();
  await client.topics.put("mail", { delivery: "pull" });
  const worker = client.work("mail", () => assert.fail("the worker has stopped"), { signal: stop.signal });
  await until(async () => (await client.topics.get("mail")).pull?.waiting, "a request waits for a job");
  stop.abort();
  const { jobId } = await client.schedule({ topic: "mail", body: 1 });
  await worker;
  const job = await client.get("mail", jobId);
  assert.deepEqual([job.state, job.attempts], ["ready", 0]);
});

/** Starts worker.js as a process of its own, whose jobs take 1.5 s. */
function startWorker(url: string, lease: number) {
  const child = spawn(process.execPath, [fileURLToPath(new URL("./worker.js", import.meta.url))], { env: { ...process.env, DUEPOST_SERVER: url, LEASE: String(lease) }, stdio: ["ignore", "pipe", "inherit"] });
  const lines: string[] = [];
  child.stdout.on("data", (text) => lines.push(...String(text).trim().split("\n")));
  return { child, lines, exit: once(child, "exit") };
}

test("SIGTERM: the running handler finishes, and no other job is lost", async () => {
  const { client, url } = await start();
  await client.topics.put("mail", { delivery: "pull", retention: 3600 });
  for (const jobId of ["a", "b", "c"]) await client.schedule({ topic: "mail", jobId, body: jobId });
  const worker = startWorker(url, 60);
  await until(() => worker.lines.length > 0, "a job has begun");
  worker.child.kill("SIGTERM");
  assert.deepEqual((await worker.exit)[0], 0);
  assert.deepEqual(worker.lines, ["begun a", "done a", "drained"]);
  const states = await Promise.all(["a", "b", "c"].map(async (jobId) => (({ state, attempts }) => [state, attempts])(await client.get("mail", jobId))));
  assert.deepEqual(states, [["delivered", 1], ["ready", 0], ["ready", 0]]);
});

test("a worker that is killed: the job comes again after its lease", async () => {
  const { client, url } = await start();
  await client.topics.put("mail", { delivery: "pull", retention: 3600, retrySchedule: [0] });
  await client.schedule({ topic: "mail", jobId: "a", body: "a" });
  const first = startWorker(url, 3);
  await until(() => first.lines.includes("begun a"), "the job has begun");
  first.child.kill("SIGKILL");
  const second = startWorker(url, 3);
  await until(() => second.lines.includes("done a"), "the job has come again");
  second.child.kill("SIGTERM");
  await second.exit;
  const attempts = await client.attempts("mail", "a");
  assert.equal(attempts[0].error, "lease_expired");
});
