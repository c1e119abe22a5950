import { Conflict, Invalid, Problem } from "./errors.js";
import type { components } from "./generated/contract.js";
import { Outcome } from "./outcome.js";
import { backOff, Requests, seconds, sleep, type Duration } from "./requests.js";

type Leased = components["schemas"]["LeasedJob"];
export type LeasedJob = Leased & {
  /** Aborts when the lease is lost: the job was cancelled, or another worker may have it. Stop then; the outcome is not reported. */
  signal: AbortSignal;
  /** Shows how far the work is: 0 to 1, or any JSON of at most 4 KiB. */
  progress(value: unknown): void;
};
/** Returns the job's result, or returns or throws `retry()`, `bury()` or `release()`. After any other error the job comes back by its retry schedule. */
export type Work = (job: LeasedJob) => unknown;

export interface WorkOptions {
  /** How many handlers run at once. Default 1. */
  concurrency?: number;
  /** A lease is extended while the handler runs; after a crash the job comes back when it ends. Default 30 s. */
  lease?: Duration;
  /** Stops the worker: it leases no more jobs, and ends when the running handlers have. Default: SIGTERM and SIGINT stop it. */
  signal?: AbortSignal;
  /** Gets the errors that the worker survives: of handlers, of leases that were lost, and of a server that is away. */
  onError?: (error: unknown, job?: Leased) => void;
}

const POLL = 5; // seconds that a request waits for a job; a worker may take as long to stop
type Process = Partial<Record<"on" | "off", (signal: string, listener: () => void) => void>>;

export async function work(client: Requests, topic: string, handler: Work, options: WorkOptions): Promise<void> {
  const { concurrency = 1, signal, onError = () => {} } = options, lease = seconds(options.lease ?? 30);
  const wait = Math.min(POLL, lease / 4); // by this worker's clock, a lease may have begun as early as the request for it
  const stop = new AbortController(), running = new Set<Promise<void>>();
  const host = signal ? undefined : (globalThis as { process?: Process }).process, onSignal = () => { stop.abort(); forget(); };
  const forget = () => { for (const name of ["SIGTERM", "SIGINT"]) host?.off?.(name, onSignal); }; // a second signal ends the process
  for (const name of ["SIGTERM", "SIGINT"]) host?.on?.(name, onSignal);
  signal?.addEventListener("abort", onSignal);
  if (signal?.aborted) stop.abort();
  try {
    for (let failures = 0; !stop.signal.aborted; ) {
      const free = concurrency - running.size, began = performance.now();
      if (free <= 0) { await Promise.race(running); continue; }
      try {
        // The request is not cut when the worker stops: it may just have leased jobs, which are then released.
        const { jobs } = await client.call("post", "/topics/{topic}/lease", { path: { topic }, body: { max: Math.min(free, 100), lease, wait },
          wait, headers: { "idempotency-key": crypto.randomUUID() } });
        failures = 0;
        for (const job of jobs) {
          const one: Promise<void> = (stop.signal.aborted ? end(client, job, "release") : run(client, job, handler, lease, began))
            .catch((error) => onError(error, job)).finally(() => running.delete(one));
          running.add(one);
        }
      } catch (error) {
        if (error instanceof Problem && error.status < 500 && error.status !== 429) throw error;
        onError(error);
        await sleep(backOff(++failures), stop.signal);
      }
    }
  } finally {
    await Promise.all(running);
    forget();
  }
}

async function end(client: Requests, { topic, jobId, token }: Leased, word: "complete" | "retry" | "bury" | "release", more: object = {}) {
  await client.call("post", `/topics/{topic}/${word}`, { path: { topic }, body: { jobId, token, ...more }, safe: true });
}

async function run(client: Requests, leased: Leased, handler: Work, lease: number, began: number): Promise<void> {
  const { topic, jobId, token } = leased, lost = new AbortController(), ended = new AbortController();
  let leaseEnd = began + lease * 1000, news: { progress?: unknown } = {}, wake = () => {};
  const extend = async () => {
    for (;; await sleep(Math.min(1, lease / 10), ended.signal)) { // at most one request a second
      const told = "progress" in news ? Promise.resolve() : new Promise<void>((resolve) => (wake = resolve));
      const left = (leaseEnd - performance.now()) / 1000; // after a failure less than the whole lease
      await Promise.race([sleep(Math.max(0, Math.min(lease / 3, left / 2)), ended.signal), told]);
      if (ended.signal.aborted) return;
      const asked = performance.now(), body = { jobId, token, lease, ...news };
      const signal = AbortSignal.any([ended.signal, AbortSignal.timeout(Math.ceil(Math.max(1000, leaseEnd - asked)))]);
      news = {};
      try {
        await client.call("post", "/topics/{topic}/extend", { path: { topic }, body, safe: true, signal });
        leaseEnd = asked + lease * 1000;
      } catch (error) {
        if (!ended.signal.aborted && (error instanceof Conflict || performance.now() >= leaseEnd)) return lost.abort(error);
      }
    }
  };
  const extending = extend();
  let outcome: unknown, failure: unknown;
  try {
    outcome = await handler({ ...leased, signal: lost.signal, progress: (progress) => { news = { progress }; wake(); } });
  } catch (error) {
    if (error instanceof Outcome) outcome = error;
    else [outcome, failure] = [new Outcome("retry", error instanceof Error ? error.message || error.name : String(error)), error];
  }
  ended.abort();
  await extending;
  if (lost.signal.aborted) throw lost.signal.reason;
  if (!(outcome instanceof Outcome)) {
    try {
      return await end(client, leased, "complete", { result: outcome });
    } catch (error) {
      if (!(error instanceof Invalid || error instanceof TypeError)) throw error;
      [outcome, failure] = [new Outcome("retry", `result: ${(error as Error).message}`), error]; // too large, or not JSON
    }
  }
  const { kind, message, seconds: delay } = outcome as Outcome, error = brief(message);
  if (kind === "release") await end(client, leased, kind);
  else if (kind === "bury") await end(client, leased, kind, { error });
  else await end(client, leased, "retry", { error, delay });
  if (failure !== undefined) throw failure;
}

/** The contract allows 256 bytes. */
function brief(text: string | undefined): string | undefined {
  return text === undefined ? undefined : new TextDecoder().decode(new TextEncoder().encode(text).slice(0, 250)).replace(/\uFFFD+$/, "");
}

/** Ends an attempt that a receiver answered with `defer()`, from any process: it needs only these three members of the delivery. `endUrl` comes from a
 * header that the signature does not cover; give `url`, such as https://jobs.example.com/topics/orders, where the server's own url is known. */
export function deferred({ jobId, token, endUrl }: { jobId: string; token?: string; endUrl?: string }, options: { url?: string; fetch?: typeof fetch } = {}) {
  if (!token || !(options.url ?? endUrl)) throw new TypeError("The delivery has no token or no endUrl: set `defer` in its topic, and --public-url.");
  const client = new Requests({ ...options, url: options.url ?? endUrl, token: "" });
  const tell = (word: string, more: object) => client.call("post", `/${word}` as "/topics/{topic}/complete", { body: { jobId, token, ...more }, safe: true });
  return {
    complete: (result?: unknown) => tell("complete", { result }),
    retry: (delay?: Duration, error?: string) => tell("retry", { delay: delay === undefined ? undefined : seconds(delay), error: brief(error) }),
    bury: (error?: string) => tell("bury", { error: brief(error) }),
    extend: (lease: Duration = 30, progress?: unknown) => tell("extend", { lease: seconds(lease), progress }),
  };
}
