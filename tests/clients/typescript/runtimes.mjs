// The client, a receiver and a worker in Bun and in Deno, with the servers of each.
import { Duepost, deferred, defer, notYet } from "duepost";
import { receiver } from "duepost/fetch";
import { startDuepost } from "duepost/testing";

const SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const test = await startDuepost({ clock: "host" });
const receive = receiver((job) => {
  if (job.jobId === "later") {
    setTimeout(() => void deferred(job).complete({ pages: 3 }), 50);
    return defer("1m");
  }
  return job.round === 1 ? notYet("1s") : { runtime: job.body };
}, { secrets: SECRET, seen: new Set() });
const server = globalThis.Bun ? Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: receive }) : Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, receive);
const port = server.port ?? server.addr.port, client = new Duepost({ url: test.url });
await client.topics.put("orders", { url: `http://127.0.0.1:${port}/`, secrets: [SECRET], results: true, defer: true, events: true, retention: 60 });
const stop = new AbortController(), came = [];
const reading = (async () => { for await (const event of client.events({ topics: "orders", signal: stop.signal })) came.push(event.type); })();
const job = await client.schedule({ topic: "orders", jobId: "one", body: globalThis.Bun ? "Bun" : "Deno" }, { wait: 60 });
const later = await client.schedule({ topic: "orders", jobId: "later" }, { wait: 60 });
await client.topics.put("mail", { delivery: "pull", retention: 60 });
await client.schedule({ topic: "mail", jobId: "two", body: 7 });
const working = client.work("mail", (leased) => leased.body + 1, { signal: stop.signal });
const mail = await client.wait("mail", "two", { timeout: 60 });
stop.abort();
await Promise.all([working, reading]);
await (server.shutdown?.() ?? server.stop(true));
await test.stop();
const found = JSON.stringify([job.result.runtime, later.result, mail.result, came.includes("delivered")]);
if (!/^\["(Bun|Deno)",\{"pages":3\},8,true\]$/.test(found)) throw new Error(found);
