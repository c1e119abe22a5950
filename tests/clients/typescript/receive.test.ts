import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import { type AddressInfo } from "node:net";
import { after, test } from "node:test";
import { serve } from "@hono/node-server";
import { bury, defer, deferred, notYet, results, retry, SignatureError, verify, type Delivery, type Handler, type ReceiverOptions } from "duepost";
import { receiver as onExpress } from "duepost/express";
import { receiver as onFetch } from "duepost/fetch";
import express from "express";
import { Hono } from "hono";
import { SECRET, start, until } from "./support.js";

const headers = { "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek", "webhook-timestamp": "1614265330",
  "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=", "content-type": "application/json", "Duepost-Topic": "orders",
  "Duepost-Job-Id": "a%20b", "Duepost-Attempt": "2" };
const body = '{"test": 2432232314}', now = new Date(1614265330_000);

test("a signed request is verified", async () => {
  const delivery = await verify(body, headers, SECRET, { now });
  assert.deepEqual([delivery.id, delivery.topic, delivery.jobId, delivery.attempt, delivery.round, delivery.body], ["msg_p5jXN8AQM9LWM0D4loKWxJek", "orders", "a b", 2, 1, { test: 2432232314 }]);
  await verify(new TextEncoder().encode(body), new Headers(headers), ["whsec_plJ3nmyCDGBKInavdOK15jsl", SECRET], { now });
  await verify(body, { ...headers, "webhook-signature": `v1,bm90IGl0 v9,x v1,%% ${headers["webhook-signature"]}` }, SECRET, { now: new Date(now.getTime() + 299_000) });
  const ed25519 = { ...headers, "webhook-signature": "v1a,hnO3f9T8Ytu9HwrXslvumlUpqtNVqkhqw/enGzPCXe5BdqzCInXqYXFymVJaA7AZdpXwVLPo3mNl8EM+m7TBAg==" };
  await verify(body, ed25519, "whpk_1SiA4o9hyqTCpIqC5V9HUakiiaeACeqfZTInDBbOir4=", { now });
});

test("a request that is not signed, changed, old or signed by another key is refused", async () => {
  const refused = (reason: string, changed: string, changes: object, secrets: string | string[] = SECRET, options = { now }) =>
    assert.rejects(verify(changed, { ...headers, ...changes }, secrets, options), (error) => error instanceof SignatureError && error.reason === reason);
  await refused("signature", body, {}, "whsec_plJ3nmyCDGBKInavdOK15jsl");
  await refused("signature", body, {}, []);
  await refused("signature", `${body} `, {});
  await refused("signature", body, { "webhook-id": "msg_other" });
  await refused("timestamp", body, {}, SECRET, { now: new Date(now.getTime() + 301_000) });
  await refused("timestamp", body, {}, SECRET, { now: new Date(now.getTime() - 301_000) });
  await refused("timestamp", body, { "webhook-timestamp": "1614265330x" });
  await refused("missing", body, { "webhook-signature": undefined });
  await refused("missing", body, { "webhook-id": "" });
});

type Mount = (handler: Handler, options: ReceiverOptions) => Promise<string>;

async function listening(server: Server): Promise<string> {
  if (!server.listening) await once(server, "listening");
  after(() => { server.close(); server.closeAllConnections(); });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/close`;
}

const MOUNTS: Record<string, Mount> = {
  "Express": (handler, options) => {
    const app = express();
    app.post("/close", onExpress(handler, options));
    app.use(express.json());
    return listening(app.listen(0, "127.0.0.1"));
  },
  "Express behind a raw parser": (handler, options) => {
    const app = express();
    app.use(express.raw({ type: "*/*" }));
    app.post("/close", onExpress(handler, options));
    return listening(app.listen(0, "127.0.0.1"));
  },
  "node:http": (handler, options) => listening(createServer(onExpress(handler, options)).listen(0, "127.0.0.1")),
  "Hono": (handler, options) => {
    const app = new Hono(), receive = onFetch(handler, options);
    app.post("/close", (context) => receive(context.req.raw));
    return listening(serve({ fetch: app.fetch, port: 0, hostname: "127.0.0.1" }) as Server);
  },
};

for (const [name, mount] of Object.entries(MOUNTS)) {
  test(`${name}: done, not yet, again later, dead, deferred, and a batch`, async () => {
    const { client, stop } = await start({ arguments: ["--history", "off"] });
    after(stop);
    const seen = new Set<string>(), came: Delivery[] = [], failures: unknown[] = [];
    const url = await mount(async (delivery) => {
      came.push(delivery);
      if (delivery.jobs) return results(delivery.jobs.map(({ jobId, body }) => (body === "bad" ? { jobId, bury: "bad" } : body === "slow" && delivery.jobs!.length > 1 ? { jobId, retry: 1 } : { jobId, ok: true })));
      switch (delivery.jobId) {
        case "not-yet": return delivery.round < 3 ? notYet("1s") : { rounds: delivery.round };
        case "retry": if (delivery.attempt === 1) throw retry(1, "the database is locked"); return undefined;
        case "throws": throw new Error("a fault");
        case "bury": return bury("there is no such order");
        case "defer": {
          const { jobId, token, endUrl } = JSON.parse(JSON.stringify(delivery)) as Delivery;
          setTimeout(() => void deferred({ jobId, token, endUrl }).extend("1m", 0.5).then(() => deferred({ jobId, token, endUrl }).complete({ pages: 3 })), 50);
          return defer("1m");
        }
        default: return { order: (delivery.body as { order: number }).order };
      }
    }, { secrets: ["whsec_plJ3nmyCDGBKInavdOK15jsl", SECRET], seen, onError: (error) => failures.push(error) });
    await client.topics.put("orders", { url, secrets: [SECRET], defer: true, results: true, retention: 3600 });
    await client.topics.put("forged", { url, secrets: ["whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"], retention: 3600 });
    await client.topics.put("batches", { url, secrets: [SECRET], batch: { size: 3, wait: 1 }, retention: 3600, paused: true, retrySchedule: [1] });
    for (const jobId of ["done", "not-yet", "retry", "bury", "defer"]) await client.schedule({ topic: "orders", jobId, body: { order: 1041 }, retrySchedule: [0] });
    await client.schedule({ topic: "orders", jobId: "throws", retry: 0 });
    await client.schedule({ topic: "forged", jobId: "one", retry: 0, body: 1 });
    for (const body of ["good", "bad", "slow"]) await client.schedule({ topic: "batches", jobId: body, body });
    await client.topics.change("batches", { paused: null });
    const ended = async (topic: string, jobId: string) => client.wait(topic, jobId, { timeout: 60 });
    assert.deepEqual((await ended("orders", "done")).result, { order: 1041 });
    assert.deepEqual((await ended("orders", "not-yet")).result, { rounds: 3 });
    assert.equal((await ended("orders", "retry")).state, "delivered");
    assert.equal((await client.attempts("orders", "retry"))[0].answer, "the database is locked");
    assert.equal((await ended("orders", "bury")).reason, "gone");
    assert.deepEqual((await ended("orders", "defer")).result, { pages: 3 });
    assert.equal((await ended("orders", "throws")).state, "dead");
    assert.deepEqual(failures.map(String), ["Error: a fault"]);
    assert.equal((await ended("forged", "one")).lastAttempt!.status, 401);
    assert.ok(!came.some(({ topic }) => topic === "forged"));
    assert.deepEqual([(await ended("batches", "good")).state, (await ended("batches", "bad")).reason, (await ended("batches", "slow")).state], ["delivered", "rejected", "delivered"]);
    assert.ok([...seen].some((id) => id.endsWith(":3"))); // the last round
    const done = came.find(({ jobId }) => jobId === "done")!, before = came.length;
    assert.ok(seen.has(done.id));
    const again = await fetch(url, { method: "POST", headers: done.headers, body: done.raw as Uint8Array<ArrayBuffer> });
    assert.deepEqual([again.status, came.length], [200, before]); // a repeat does not reach the handler
    const forged = await fetch(url, { method: "POST", headers: done.headers, body: '{"order":1042}' });
    assert.equal(forged.status, 401);
    assert.equal((await fetch(url, { method: "POST", body: Buffer.alloc(6 << 20) })).status, 413);
  });
}

test("Express: a body that was read before is an error that says so", async () => {
  const app = express(), errors: Error[] = [];
  app.use(express.json());
  app.post("/close", onExpress(() => {}, { secrets: SECRET }));
  app.use(((error, _request, response, _next) => { errors.push(error); response.status(500).end(); }) as express.ErrorRequestHandler);
  const url = await listening(app.listen(0, "127.0.0.1"));
  assert.equal((await fetch(url, { method: "POST", headers: { "content-type": "application/json" }, body: "{}" })).status, 500);
  assert.match(errors[0].message, /before express.json/);
});

test("the manual clock: days of retries in one call", async () => {
  const { startDuepost } = await import("duepost/testing");
  const duepost = await startDuepost({ handler: () => { throw new Error("closed"); } });
  after(() => duepost.stop());
  await duepost.client.schedule({ topic: "orders", jobId: "1041", url: `${duepost.receiver}close`, body: { order: 1041 }, delay: "3d" });
  assert.deepEqual(await duepost.advance("2d"), []);
  const fired = await duepost.untilIdle();
  assert.equal(fired.at(-1)!.outcome, "dead");
  assert.deepEqual(duepost.deliveries("orders").map(({ attempt }) => attempt), [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
  assert.deepEqual(duepost.deliveries("other"), []);
  await until(() => duepost.deliveries().length === 10, "all");
  await assert.rejects(startDuepost({ binary: "/nowhere/duepost" }), /ENOENT/);
  await assert.rejects(startDuepost({ arguments: ["--no-such-option"] }), /did not start/);
});
