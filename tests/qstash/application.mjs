// An application with durable workflows, served with the unmodified client:
//
//   node application.mjs MODULES PORT DUEPOST_URL KEYS EFFECTS
//
// MODULES: the folder of the clients. PORT may be 0. KEYS: {"current", "next"} of the server. EFFECTS: a file to which each effect
// of a step is appended, a line {"run", "step"} each. Prints a line when it listens.
import { appendFileSync } from "node:fs";
import { randomUUID } from "node:crypto";
import http from "node:http";

const [modules, port, duepost, keys, effects] = process.argv.slice(2);
const { Client, Receiver } = await import(`${modules}/@upstash/qstash/index.mjs`);
const { serve, WorkflowNonRetryableError, WorkflowRetryAfterError } = await import(`${modules}/@upstash/workflow/index.mjs`);
const { current, next } = JSON.parse(keys);
const token = Buffer.from(JSON.stringify({ UserID: "somebody", Password: "any" })).toString("base64");
const qstashClient = new Client({ baseUrl: duepost, token, retry: false });
const receiver = new Receiver({ currentSigningKey: current, nextSigningKey: next });

const note = (run, step, more = {}) => appendFileSync(effects, JSON.stringify({ run, step, ...more }) + "\n");
const failures = new Map(); // how often a step has failed, by run and step

// Throws an error at the first attempts of a step: as many as times says.
function failAtFirst(run, step, times) {
  const key = `${run}/${step}`;
  failures.set(key, (failures.get(key) ?? 0) + 1);
  if (failures.get(key) <= times) throw new Error(`${step} fails`);
}

const step = (context, name, result) => context.run(name, () => {
  note(context.workflowRunId, name);
  return typeof result === "function" ? result() : result;
});

async function finish(context, result) {
  await step(context, "end", () => note(context.workflowRunId, "result", { result }));
  return result;
}

const workflows = {
  async plain(context) {
    const { first } = context.requestPayload;
    const two = await step(context, "add", first + 1);
    const four = await step(context, "double", two * 2);
    return finish(context, { sum: four, header: context.headers.get("x-shop") });
  },
  async sleeps(context) {
    await step(context, "begin", 1);
    await context.sleep("a second", 1);
    await context.sleepUntil("a little more", Date.now() / 1000 + 1);
    return finish(context, "slept");
  },
  async parallel(context) {
    const [a, b, c] = await Promise.all([step(context, "a", 1), step(context, "b", 2), context.sleep("c", 1)]);
    const [d, e] = await Promise.all([step(context, "d", a + 10), step(context, "e", b + 20)]);
    return finish(context, [a, b, d, e]);
  },
  async calls(context) {
    const { url } = context.requestPayload;
    const { status, body, header } = await context.call("third party", { url, method: "POST", body: { of: "us" }, headers: { "x-own": "1" } });
    const refused = await context.call("refuses", { url: `${url}-refuses`, retries: 1, retryDelay: "10" });
    return finish(context, { status, body, header: header["X-Theirs"], refused: refused.status });
  },
  async waits(context) {
    const { event, timeout } = context.requestPayload;
    const { eventData, timeout: isOver } = await context.waitForEvent("for news", event, { timeout });
    return finish(context, { eventData, isOver });
  },
  async notifies(context) {
    const { event, run } = context.requestPayload;
    const { notifyResponse } = await context.notify("tell", event, { news: "good" }, run);
    return finish(context, notifyResponse.length);
  },
  async webhook(context) {
    const webhook = await context.createWebhook("make");
    await step(context, "tell", () => note(context.workflowRunId, "webhook", { url: webhook.webhookUrl }));
    const { request, timeout } = await context.waitForWebhook("await", webhook, "30s");
    const own = request ? { method: request.method, query: new URL(request.url).search, header: request.headers.get("x-own"), body: await request.text() } : null;
    return finish(context, { timeout, ...own });
  },
  async invokes(context) {
    const { how } = context.requestPayload;
    const answer = await context.invoke("child", { workflow: invoked[how === "plain" ? "child" : how], body: { first: 5 }, retries: 0 });
    return finish(context, answer);
  },
  async fails(context) {
    await step(context, "before", 1);
    await context.run("breaks", () => {
      note(context.workflowRunId, "breaks");
      throw new Error("broken for good");
    });
  },
  async fails_at_once(context) {
    await context.run("breaks", () => {
      note(context.workflowRunId, "breaks");
      throw new WorkflowNonRetryableError("not again");
    });
  },
  async breaks_once(context) {
    const { number } = context.requestPayload;
    const before = await step(context, "before", context.workflowRunId);
    await context.run("breaks", () => {
      note(context.workflowRunId, "breaks");
      failAtFirst(`of ${number} at`, "broken at first", 1);
    });
    return finish(context, { number, shop: context.headers.get("x-shop"), before });
  },
  async breaks_in_parallel(context) {
    const results = await Promise.all([step(context, "a", 1), context.run("b", () => {
      failAtFirst("parallel", "broken at first", 1);
      return 2;
    }), step(context, "c", 3)]);
    return finish(context, results);
  },
  async recovers(context) {
    await step(context, "before", 1);
    const value = await context.run("flaky", () => {
      failAtFirst(context.workflowRunId, "flaky", 2);
      return "well";
    });
    const later = await context.run("asks for time", () => {
      failures.set("time", (failures.get("time") ?? 0) + 1);
      if (failures.get("time") === 1) throw new WorkflowRetryAfterError("not yet", 1);
      return "then";
    });
    return finish(context, [value, later]);
  },
  async cancels(context) {
    await step(context, "before", 1);
    await context.cancel();
  },
  async large(context) {
    const text = "x".repeat(400_000);
    for (const name of ["one", "two", "three", "four"]) await step(context, name, text);
    return finish(context, "large");
  },
  // Each result is a random text, so that a test can see which effect of a step was kept.
  async texts(context) {
    const run = (name) => context.run(name, () => {
      const text = randomUUID();
      note(context.workflowRunId, name, { result: text });
      return text;
    });
    const found = [];
    for (let i = 0; i < context.requestPayload.steps; i++) found.push(await run(`step ${i}`));
    found.push(...await Promise.all([run("a"), run("b")]), await run("last"));
    note(context.workflowRunId, "result", { result: { texts: found } });
  },
  async long(context) {
    const { steps } = context.requestPayload;
    let sum = 0;
    for (let i = 1; i <= steps; i++) sum += await step(context, `step ${i}`, i);
    return finish(context, sum);
  },
};

const options = {
  qstashClient, receiver, verbose: false, disableTelemetry: true,
  failureFunction: async ({ context, failStatus, failResponse, failHeaders }) => {
    note(context.workflowRunId, "failure", { failStatus, failResponse, payload: context.requestPayload, shop: context.headers.get("x-shop") });
    failAtFirst(context.workflowRunId, "failure", context.requestPayload?.failureFails ?? 0);
  },
};

// Workflows that other workflows invoke. The client needs the workflow's function, its options, and its id, which is the end of
// its address.
const invoked = {};
function invokable(id, route) {
  invoked[id] = { routeFunction: route, workflowId: id, options, useJSONContent: false, callback: undefined };
}
invokable("child", async (context) => {
  const six = await step(context, "child adds", context.requestPayload.first + 1);
  return { six };
});
invokable("child_fails", async (context) => {
  await context.run("child breaks", () => {
    throw new Error("the child is broken");
  });
});

const handlers = Object.fromEntries([...Object.entries(workflows), ...Object.entries(invoked).map(([id, one]) => [id, one.routeFunction])]
  .map(([name, route]) => [name, serve(route, { ...options, url: undefined }).handler]));

async function answerOf(request, chunks) {
  const url = new URL(request.url, `http://${request.headers.host}`);
  const headers = new Headers();
  for (let i = 0; i < request.rawHeaders.length; i += 2) headers.append(request.rawHeaders[i], request.rawHeaders[i + 1]);
  const handler = handlers[url.pathname.slice(1)];
  if (!handler) return new Response("no such workflow", { status: 404 });
  return handler(new Request(url, { method: "POST", headers, body: chunks.length ? Buffer.concat(chunks) : undefined }));
}

const server = http.createServer((request, response) => {
  const chunks = [];
  request.on("data", (chunk) => chunks.push(chunk));
  request.on("end", async () => {
    try {
      const answer = await answerOf(request, chunks);
      response.writeHead(answer.status, Object.fromEntries(answer.headers));
      response.end(Buffer.from(await answer.arrayBuffer()));
    } catch (error) {
      console.error(error);
      response.writeHead(500).end(String(error));
    }
  });
});
server.listen(Number(port), "127.0.0.1", () => console.log(`listening on ${server.address().port}`));
