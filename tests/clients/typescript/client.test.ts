import assert from "node:assert/strict";
import { after, test } from "node:test";
import { ConnectionFailed, Duepost, Conflict, Invalid, NotFound, TimedOut, TooMany, Unauthorized, type JobEvent, type NewJob, type Result } from "duepost";
import { start, startProxy, until } from "./support.js";

const collect = async <T>(all: AsyncIterable<T>): Promise<T[]> => {
  const found: T[] = [];
  for await (const each of all) found.push(each);
  return found;
};

test("a job is scheduled once though two answers are lost", async () => {
  const { client, url } = await start();
  const proxy = await startProxy(url), behind = new Duepost({ url: proxy.url });
  proxy.swallows = 2;
  const placed = await behind.schedule({ topic: "mail", url: "http://127.0.0.1:9/", delay: "1h", body: { to: "ada" } });
  assert.equal(proxy.swallows, 0);
  const jobs = await collect(client.list({ topic: "mail" }));
  assert.deepEqual(jobs.map((job) => job.jobId), [placed.jobId]);
  const own = { topic: "own", url: "http://127.0.0.1:9/", delay: "1h", idempotencyKey: "a key" };
  assert.equal((await behind.schedule(own)).jobId, (await behind.schedule(own)).jobId);
  proxy.swallows = 9;
  await assert.rejects(behind.change("mail", placed.jobId, { priority: 1 }), ConnectionFailed); // a PATCH is not repeated
  assert.equal(proxy.swallows, 8);
  assert.equal((await client.get("mail", placed.jobId)).priority, 1);
});

test("a request that is refused for now is repeated after Retry-After", async () => {
  const { client } = await start();
  await client.topics.put("small", { maxPending: 1 });
  const first = await client.schedule({ topic: "small", url: "http://127.0.0.1:9/", delay: 2 });
  const began = Date.now();
  setTimeout(() => void client.cancel("small", first.jobId), 500);
  await client.schedule({ topic: "small", url: "http://127.0.0.1:9/", delay: "1h" });
  assert.ok(Date.now() - began >= 1000);
  const hasty = new Duepost({ url: client.url, tries: 1 });
  await assert.rejects(hasty.schedule({ topic: "small", url: "http://127.0.0.1:9/" }), (error) => error instanceof TooMany && error.retryAfter! >= 1 && error.document.maxPending === 1);
});

test("errors have types", async () => {
  const { client } = await start();
  await assert.rejects(client.get("mail", "none"), NotFound);
  await assert.rejects(client.schedule({ topic: "mail", delay: "soon" }), (error) => error instanceof Invalid && error.errors.some(({ field }) => field === "delay"));
  await client.schedule({ topic: "mail", jobId: "one", url: "http://127.0.0.1:9/", dueAt: new Date(Date.now() + 3600_000) });
  await assert.rejects(client.schedule({ topic: "mail", jobId: "one", url: "http://127.0.0.1:9/other" }), (error) => error instanceof Conflict && error.document.state === "delayed");
  const job = await client.get("mail", "one");
  await client.change("mail", "one", { priority: 7 }, { ifMatch: job.etag });
  await assert.rejects(client.replace("mail", "one", { url: "http://127.0.0.1:9/" }, { ifMatch: job.etag }), (error) => error instanceof Conflict && error.status === 412);
  await assert.rejects(new Duepost({ url: "http://127.0.0.1:9", tries: 2 }).get("mail", "one"), ConnectionFailed);
  await assert.rejects(async () => client.get("mail", ".."), TypeError);
  assert.equal(new Unauthorized({ type: "about:blank", title: "x", status: 401, detail: "x" }).name, "Unauthorized");
});

test("2,500 jobs are scheduled together, and one bad one does not hide the others", async () => {
  const { client, url } = await start();
  const proxy = await startProxy(url), behind = new Duepost({ url: proxy.url });
  async function* jobs(): AsyncGenerator<NewJob> {
    for (let i = 0; i < 2500; i++) yield { topic: "many", url: "http://127.0.0.1:9/", delay: i === 1234 ? "soon" : "1h", body: { i, text: "é".repeat(200) } };
  }
  proxy.swallows = 1;
  const results: Result[] = await collect(behind.scheduleMany(jobs()));
  assert.equal(results.length, 2500);
  results.forEach(({ input, job, problem }, i) => {
    assert.deepEqual((input.body as { i: number }).i, i);
    assert.equal(!!problem, i === 1234);
    assert.equal(!!job, i !== 1234);
  });
  assert.ok(results[1234].problem instanceof Invalid);
  assert.equal(results[1234].problem.errors[0].field, "delay");
  assert.equal((await client.call("get", "/jobs/count", { query: { topic: "many" } })).count, 2499);
  const large = await collect(client.scheduleMany([{ topic: "many", body: "x".repeat(2 << 20), url: "http://127.0.0.1:9/" }, { topic: "many", delay: 60, url: "http://127.0.0.1:9/" }]));
  assert.deepEqual(large.map(({ problem }) => problem?.status), [413, undefined]);
  assert.equal((await collect(client.list({ topic: "many", limit: 1000 }))).length, 2500);
  const counts = await collect(client.cancelAll({ state: "delayed", topic: "many", all: true }));
  assert.deepEqual(counts.map(({ done }) => done), [1000, 1000, 500]);
});

test("many jobs are delivered once, though the answer was lost and the first was delivered before the repeat", async () => {
  const { client, url, receiver, deliveries } = await start();
  const proxy = await startProxy(url);
  proxy.swallows = 1;
  const jobs = Array.from({ length: 50 }, (_, i) => ({ topic: "now", url: receiver, body: i }));
  const results = await collect(new Duepost({ url: proxy.url }).scheduleMany(jobs));
  assert.deepEqual([proxy.swallows, results.filter(({ job }) => job).length], [0, 50]);
  await until(() => deliveries().length >= 50, "all deliveries");
  await until(async () => (await collect(client.list({ topic: "now" }))).length === 0, "all have ended");
  assert.equal(deliveries().length, 50);
});

test("jobs that a quota refuses are sent again", async () => {
  const { client } = await start();
  await client.topics.put("small", { maxPending: 2 });
  const [first] = await collect(client.scheduleMany([{ topic: "small", url: "http://127.0.0.1:9/", delay: 2 }]));
  setTimeout(() => void client.cancel("small", first.job!.jobId), 300);
  const results = await collect(client.scheduleMany([1, 2].map(() => ({ topic: "small", url: "http://127.0.0.1:9/", delay: 60 }))));
  assert.deepEqual(results.map(({ job }) => job?.state), ["delayed", "delayed"]);
});

test("waiting for the end of a job", async () => {
  const { client, receiver } = await start();
  const job = await client.schedule({ topic: "mail", url: receiver, delay: 0.3 }, { wait: "60s" });
  assert.equal(job.state, "delivered");
  const slow = await client.schedule({ topic: "mail", url: receiver, delay: "1h" });
  await assert.rejects(client.wait("mail", slow.jobId, { timeout: 0.2 }), (error) => error instanceof TimedOut && error.job.state === "delayed");
  setTimeout(() => void client.run("mail", slow.jobId), 300);
  assert.equal((await client.wait("mail", slow.jobId, { timeout: "1m" })).state, "delivered");
  const later = await client.schedule({ topic: "mail", url: receiver, delay: "1h" });
  const { etag } = await client.get("mail", later.jobId);
  assert.equal(await client.get("mail", later.jobId, { wait: 0.1, ifNoneMatch: etag! }), undefined);
  await client.run("mail", later.jobId);
  assert.equal((await client.wait("mail", later.jobId)).state, "delivered");
});

test("settings, keys, limits, groups and schedules", async () => {
  const { client, receiver } = await start();
  await client.limits.put("crm", { maxInFlight: 5 });
  assert.deepEqual((await collect(client.limits.list())).map(({ limit }) => limit), ["crm"]);
  await client.topics.put("orders", { url: receiver, limit: "crm" });
  await client.topics.change("orders", { paused: true });
  const one = await client.schedule({ topic: "orders", key: "shop/7", body: 1 });
  assert.equal((await client.why("orders", one.jobId)).why, "paused");
  await client.keys.put("orders", "shop/7", { paused: true });
  assert.deepEqual((await collect(client.keys.list("orders"))).map(({ key }) => key), ["shop/7"]);
  await client.keys.reset("orders", "shop/7");
  await client.topics.change("orders", { paused: null });
  await client.wait("orders", one.jobId).catch((error) => assert.ok(error instanceof NotFound)); // it may have been delivered before
  await client.groups.put("shops", { endpoints: { a: { url: receiver } } });
  assert.deepEqual((await collect(client.groups.list())).map(({ group }) => group), ["shops"]);
  await client.schedules.put("orders", "nightly", { cron: "0 3 * * *", job: { body: { close: true } } });
  await client.schedules.run("orders", "nightly");
  assert.deepEqual((await collect(client.schedules.list())).map(({ scheduleId }) => scheduleId), ["nightly"]);
  await client.schedules.delete("orders", "nightly");
  const dead = await client.schedule({ topic: "dead", url: "http://127.0.0.1:9/", retry: 0 });
  assert.equal((await client.wait("dead", dead.jobId)).state, "dead");
  assert.equal((await client.attempts("dead", dead.jobId))[0].error, "connect");
  assert.deepEqual((await collect(client.redrive({ topic: "dead", all: true }))).map(({ done }) => done), [1]);
});

test("events come, also those during a lost connection", async () => {
  const { client, url, receiver } = await start();
  const proxy = await startProxy(url), behind = new Duepost({ url: proxy.url }), stop = new AbortController(), came: JobEvent[] = [];
  after(() => stop.abort());
  await assert.rejects(collect(behind.events({ topics: "mail" })), Conflict);
  await client.topics.put("mail", { url: receiver, events: true });
  const reading = (async () => { for await (const event of behind.events({ topics: "mail", types: ["delivered"], signal: stop.signal })) came.push(event); })();
  let before = 0;
  await until(async () => {
    await client.schedule({ topic: "mail", jobId: `early-${before++}` });
    return came.length > 0;
  }, "the first event");
  proxy.cut();
  for (let i = 0; i < 5; i++) await client.schedule({ topic: "mail", jobId: `late-${i}` }, { wait: 60 });
  await until(() => came.filter(({ jobId }) => jobId!.startsWith("late")).length === 5, "five events");
  assert.equal(new Set(came.map(({ id }) => id)).size, came.length);
  assert.equal(came.at(-1)!.lastAttempt!.status, 200);
  stop.abort();
  await reading;
});
