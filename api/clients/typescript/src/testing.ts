/** A duepost for tests: on a free port, with a clock that stands still until the test turns it, and a receiver. Needs Node, Bun or Deno. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, open, readFile, rm } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Duepost } from "./client.js";
import { receiver } from "./express.js";
import type { components } from "./generated/contract.js";
import type { Delivery, Handler } from "./receive.js";
import { sleep, type Duration } from "./requests.js";

export interface TestOptions {
  /** What the receiver answers. Default: each job is delivered. */
  handler?: Handler;
  /** The program. Default: the environment variable DUEPOST_BINARY, else duepost on PATH. */
  binary?: string;
  /** `host`: a clock that runs. Default manual. */
  clock?: "manual" | "host";
  /** More options of the server. */
  arguments?: string[];
}

export type TestServer = Awaited<ReturnType<typeof startDuepost>>;

/** Starts a server and a receiver. `stop()` ends both and removes all data. */
export async function startDuepost({ handler, binary = process.env.DUEPOST_BINARY ?? "duepost", clock = "manual", arguments: more = [] }: TestOptions = {}) {
  const directory = await mkdtemp(join(tmpdir(), "duepost-")), log = await open(join(directory, "log"), "w");
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("DUEPOST_"))); // these are options of the server
  const words = ["--listen", "127.0.0.1:0", "--data", join(directory, "data"), "--allow-target", "127.0.0.0/8,::1", ...(clock === "manual" ? ["--clock", clock] : []), ...more];
  const child = spawn(binary, words, { env, stdio: ["ignore", "pipe", log.fd] }), exit = once(child, "exit").catch((error: Error) => error);
  const kill = () => void child.kill("SIGKILL");
  process.on("exit", kill);
  const end = async () => {
    child.kill();
    await exit;
    process.off("exit", kill);
    await log.close();
    await rm(directory, { recursive: true, force: true });
  };
  const line = await Promise.race([once(child.stdout!, "data").then(String), exit]), url = /http:\/\/\S+/.exec(String(line))?.[0];
  if (!url) {
    const text = line instanceof Error ? line.message : await readFile(join(directory, "log"), "utf8");
    await end();
    throw new Error(`${binary} did not start: ${text.slice(-2000)}`);
  }
  while (!(await fetch(`${url}/readyz`)).ok) await sleep(0.05);
  const received: Delivery[] = [], answers: { /** What the receiver answers from now on. */ handler?: Handler } = { handler };
  const server = createServer(receiver((delivery) => { received.push(delivery); return answers.handler?.(delivery); }, { secrets: false }));
  await once(server.listen(0, "127.0.0.1"), "listening");
  const client = new Duepost({ url, token: "" });
  const turn = async (move: components["schemas"]["ClockTurn"]) => {
    for (const fired: components["schemas"]["Fired"][] = []; ; ) {
      const answer = await client.call("post", "/clock", { body: move, wait: 60 });
      fired.push(...answer.fired);
      if (answer.reached && !answer.more) return fired;
      move = { untilIdle: move.untilIdle, to: answer.to };
    }
  };
  return Object.assign(answers, {
    url,
    client,
    /** The receiver's address, for the `url` of a job; anything may follow. */
    receiver: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    /** What came to the receiver, in this order. */
    deliveries: (topic?: string) => received.filter((each) => topic === undefined || each.topic === topic),
    /** Turns the clock; what is due on the way happens, and is returned. */
    advance: (time: Duration) => turn({ advance: time }),
    to: (time: Date | string) => turn({ to: new Date(time).toISOString() }),
    /** Turns the clock until no job waits for a time. */
    untilIdle: () => turn({ untilIdle: true }),
    stop: async () => {
      server.close();
      server.closeAllConnections();
      await end();
    },
  });
}
