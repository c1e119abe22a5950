import { DuepostError, Invalid, Problem, type ProblemDocument } from "./errors.js";
import { events, type EventQuery } from "./events.js";
import type { components } from "./generated/contract.js";
import { MAX_WAIT, Requests, seconds, sleep, type Answer, type Duration, type PathOf, type Query, type WithDates } from "./requests.js";
import { work, type Work, type WorkOptions } from "./work.js";

type Schemas = components["schemas"];
type ItemOf<T> = NonNullable<T> extends (infer I)[] ? I : never;
type Bulk = Answer<"/jobs/run", "post">;
export type NewJob = WithDates<Schemas["NewJob"]>;
export type Job = Schemas["Job"] & { etag?: string };
/** One result of scheduleMany. */
export type Result = { input: NewJob; job: Schemas["Placed"]; problem?: undefined } | { input: NewJob; job?: undefined; problem: Problem };
export type Conditions = { ifMatch?: string; ifNoneMatch?: string };

/** The time of `wait` is over; `job` is as it was then. */
export class TimedOut extends DuepostError {
  constructor(readonly job: Job) {
    super(`${job.topic}/${job.jobId} has not ended, it is ${job.state}.`);
  }
}

const tagsOf = ({ ifMatch, ifNoneMatch }: Conditions = {}) => ({ "if-match": ifMatch, "if-none-match": ifNoneMatch });
const waitOf = (duration?: Duration) => (duration === undefined ? undefined : `${Math.round(seconds(duration) * 1000)}ms`);
const JOB = "/jobs/{topic}/{jobId}", SCHEDULE = "/schedules/{topic}/{scheduleId}", KEY = "/topics/{topic}/keys/{key}";
const MOST_JOBS = 1000, MOST_BYTES = 900_000; // of an array; below --max-body, because duepost takes few larger ones at once

export class Duepost extends Requests {
  /** Schedules a job. A repeated request cannot schedule it twice. With `wait`, returns it when it has ended, or after this time as it is then. */
  schedule(job: NewJob, options: { idempotencyKey?: string; wait: Duration }): Promise<Job>;
  schedule(job: NewJob, options?: { idempotencyKey?: string }): Promise<Schemas["Placed"]>;
  async schedule(job: NewJob, { idempotencyKey = crypto.randomUUID(), wait }: { idempotencyKey?: string; wait?: Duration } = {}) {
    const headers = { "idempotency-key": job.idempotencyKey ? undefined : idempotencyKey };
    return this.call("post", "/jobs", { body: job, query: { wait: waitOf(wait) }, wait: seconds(wait ?? 0), headers, safe: true }) as Promise<Job & Schemas["Placed"]>;
  }

  /** Schedules any number of jobs, many in a request, and yields the result of each in their order. Each job gets an idempotencyKey, so that a repeated
   * request schedules it once. Throws if the server is not reached or refuses a whole request; the results of earlier requests have been yielded then. */
  async *scheduleMany(jobs: Iterable<NewJob> | AsyncIterable<NewJob>): AsyncGenerator<Result> {
    let batch: NewJob[] = [], bytes = 0;
    for await (const job of jobs) {
      const length = new TextEncoder().encode(JSON.stringify(job)).length;
      if (batch.length === MOST_JOBS || (batch.length && bytes + length > MOST_BYTES)) {
        yield* await this.scheduleBatch(batch);
        [batch, bytes] = [[], 0];
      }
      batch.push(job);
      bytes += length;
    }
    if (batch.length) yield* await this.scheduleBatch(batch);
  }

  private async scheduleBatch(inputs: NewJob[]): Promise<Result[]> {
    const bodies = inputs.map((job) => (job.idempotencyKey || job.debounce ? job : { ...job, idempotencyKey: crypto.randomUUID() }));
    const found: Schemas["JobResult"][] = [];
    for (let attempt = 1; ; attempt++) {
      // 409 without a state: the first request with this key is still being answered.
      const isOpen = (each?: Schemas["JobResult"]) => !each || [429, 503].includes(each.status) || (each.status === 409 && !each.state);
      const open = bodies.map((_, i) => i).filter((i) => isOpen(found[i]));
      (await this.scheduleTogether(open.map((i) => bodies[i]))).forEach((result, at) => (found[open[at]] = result));
      const waits = found.filter(isOpen).map(({ retryAfter }) => retryAfter ?? 1);
      if (!waits.length || Math.max(...waits) > MAX_WAIT || attempt >= this.tries) break;
      await sleep(Math.max(...waits));
    }
    return found.map((result, i) => (result.status < 300 ? { input: inputs[i], job: result as Schemas["Placed"] }
      : { input: inputs[i], problem: Problem.of({ type: "about:blank", title: `Job ${i + 1} of ${inputs.length}`, ...result } as ProblemDocument) }));
  }

  /** A request that is refused as a whole, for example because it is too large, is split, so that one job does not stop the others. */
  private async scheduleTogether(jobs: NewJob[]): Promise<Schemas["JobResult"][]> {
    try {
      return ((await this.call("post", "/jobs", { body: jobs, safe: true })) as unknown as Schemas["JobResults"]).results;
    } catch (error) {
      if (!(error instanceof Invalid)) throw error;
      if (jobs.length === 1) return [error.document as Schemas["JobResult"]];
      const half = jobs.length >> 1;
      return [...(await this.scheduleTogether(jobs.slice(0, half))), ...(await this.scheduleTogether(jobs.slice(half)))];
    }
  }

  /** Reads a job. With `wait`, returns it when it has ended, or after this time. Undefined if it still has the ETag of `ifNoneMatch`. */
  get(topic: string, jobId: string, options: { wait: Duration; ifNoneMatch: string }): Promise<Job | undefined>;
  get(topic: string, jobId: string, options?: { wait?: Duration; signal?: AbortSignal }): Promise<Job>;
  async get(topic: string, jobId: string, { wait, signal, ...tags }: Conditions & { wait?: Duration; signal?: AbortSignal } = {}): Promise<Job | undefined> {
    const answer = await this.send("get", JOB, { path: { topic, jobId }, query: { wait: waitOf(wait) }, wait: seconds(wait ?? 0), headers: tagsOf(tags), signal });
    return answer.status === 304 ? undefined : { ...((await answer.json()) as Schemas["Job"]), etag: answer.headers.get("etag") ?? undefined };
  }

  /** Waits until the job has ended, and returns it: its state is delivered, cancelled or dead. Throws TimedOut, or NotFound. */
  async wait(topic: string, jobId: string, { timeout = Infinity, signal }: { timeout?: Duration; signal?: AbortSignal } = {}): Promise<Job> {
    for (const end = Date.now() + seconds(timeout) * 1000; ; ) {
      const job = await this.get(topic, jobId, { wait: Math.min(Math.max(0, end - Date.now()) / 1000, 50), signal });
      if (["delivered", "cancelled", "dead"].includes(job.state)) return job;
      if (Date.now() >= end) throw new TimedOut(job);
    }
  }

  cancel = (topic: string, jobId: string, { group, ...tags }: Conditions & { group?: string } = {}) =>
    this.call("delete", JOB, { path: { topic, jobId }, query: { group }, headers: tagsOf(tags) });
  replace = (topic: string, jobId: string, job: Omit<NewJob, "topic">, tags?: Conditions) =>
    this.call("put", JOB, { path: { topic, jobId }, body: { ...job, topic }, headers: tagsOf(tags) });
  change = (topic: string, jobId: string, patch: WithDates<Schemas["JobPatch"]>, tags?: Conditions) =>
    this.call("patch", JOB, { path: { topic, jobId }, body: patch, headers: tagsOf(tags) });
  run = (topic: string, jobId: string, { resend }: { resend?: boolean } = {}) =>
    this.call("post", "/jobs/{topic}/{jobId}/run", { path: { topic, jobId }, query: { resend }, safe: !resend });
  why = (topic: string, jobId: string) => this.call("get", "/jobs/{topic}/{jobId}/why", { path: { topic, jobId } });
  attempts = async (topic: string, jobId: string) => (await this.call("get", "/jobs/{topic}/{jobId}/attempts", { path: { topic, jobId } })).attempts;

  /** Iterates over all jobs that match, page by page. */
  list = (query: Query<"/jobs"> = {}) => this.pages("/jobs", "jobs", { query });
  /** These act on one page after the other while they are iterated, and yield the counts of each. `all: true` or a `limit` is required. */
  cancelAll = (query: Query<"/jobs", "delete">) => this.bulk("delete", "/jobs", query);
  runAll = (query: Query<"/jobs/run", "post">) => this.bulk("post", "/jobs/run", query);
  redrive = (query: Query<"/jobs/redrive", "post">) => this.bulk("post", "/jobs/redrive", query);
  reschedule = (query: Query<"/jobs/reschedule", "post">) => this.bulk("post", "/jobs/reschedule", query);

  private async *pages<P extends PathOf<"get">, K extends keyof Answer<P>>(path: P, member: K, call: { path?: object; query?: object } = {}) {
    for await (const page of this.bulk("get", path, call.query ?? {}, call.path)) yield* (page as Answer<P>)[member] as ItemOf<Answer<P>[K]>[];
  }

  private async *bulk<M extends "get" | "delete" | "post", P extends PathOf<M>>(method: M, path: P, query: object, names?: object): AsyncGenerator<Bulk> {
    for (let cursor: string | undefined, isFirst = true; isFirst || cursor; isFirst = false) {
      // The first page of a POST is chosen anew when it is repeated; the later pages are those of the first.
      const page = (await this.call(method, path, { path: names, query: cursor ? { ...query, cursor } : query, safe: !isFirst || method !== "post" } as object)) as Bulk;
      yield page;
      cursor = page.cursor;
    }
  }

  readonly schedules = {
    list: (query: Query<"/schedules"> = {}) => this.pages("/schedules", "schedules", { query }),
    get: (topic: string, scheduleId: string) => this.call("get", SCHEDULE, { path: { topic, scheduleId } }),
    put: (topic: string, scheduleId: string, body: WithDates<Schemas["NewSchedule"]>, tags?: Conditions) =>
      this.call("put", SCHEDULE, { path: { topic, scheduleId }, body, headers: tagsOf(tags) }),
    change: (topic: string, scheduleId: string, body: WithDates<Schemas["SchedulePatch"]>, tags?: Conditions) =>
      this.call("patch", SCHEDULE, { path: { topic, scheduleId }, body, headers: tagsOf(tags) }),
    delete: (topic: string, scheduleId: string, tags?: Conditions) => this.call("delete", SCHEDULE, { path: { topic, scheduleId }, headers: tagsOf(tags) }),
    run: (topic: string, scheduleId: string, idempotencyKey: string = crypto.randomUUID()) =>
      this.call("post", "/schedules/{topic}/{scheduleId}/run", { path: { topic, scheduleId }, headers: { "idempotency-key": idempotencyKey } }),
  };
  readonly topics = {
    list: (query: Query<"/topics"> = {}) => this.pages("/topics", "topics", { query }),
    get: (topic: string) => this.call("get", "/topics/{topic}", { path: { topic } }),
    put: (topic: string, body: Schemas["Settings"]) => this.call("put", "/topics/{topic}", { path: { topic }, body }),
    change: (topic: string, body: Schemas["SettingsPatch"]) => this.call("patch", "/topics/{topic}", { path: { topic }, body }),
    reset: (topic: string) => this.call("delete", "/topics/{topic}", { path: { topic } }),
  };
  readonly keys = {
    list: (topic: string) => this.pages("/topics/{topic}/keys", "keys", { path: { topic } }),
    get: (topic: string, key: string) => this.call("get", KEY, { path: { topic, key } }),
    put: (topic: string, key: string, body: Schemas["KeySettings"], tags?: Conditions) => this.call("put", KEY, { path: { topic, key }, body, headers: tagsOf(tags) }),
    change: (topic: string, key: string, body: Schemas["KeyPatch"], tags?: Conditions) => this.call("patch", KEY, { path: { topic, key }, body, headers: tagsOf(tags) }),
    reset: (topic: string, key: string, tags?: Conditions) => this.call("delete", KEY, { path: { topic, key }, headers: tagsOf(tags) }),
  };
  readonly limits = {
    list: () => this.pages("/limits", "limits"),
    get: (limit: string) => this.call("get", "/limits/{limit}", { path: { limit } }),
    put: (limit: string, body: Schemas["LimitSettings"], tags?: Conditions) => this.call("put", "/limits/{limit}", { path: { limit }, body, headers: tagsOf(tags) }),
    change: (limit: string, body: Schemas["LimitPatch"], tags?: Conditions) => this.call("patch", "/limits/{limit}", { path: { limit }, body, headers: tagsOf(tags) }),
    delete: (limit: string, tags?: Conditions) => this.call("delete", "/limits/{limit}", { path: { limit }, headers: tagsOf(tags) }),
  };
  readonly groups = {
    list: () => this.pages("/groups", "groups"),
    get: (group: string) => this.call("get", "/groups/{group}", { path: { group } }),
    put: (group: string, body: Schemas["Group"], tags?: Conditions) => this.call("put", "/groups/{group}", { path: { group }, body, headers: tagsOf(tags) }),
    change: (group: string, body: Schemas["GroupPatch"], tags?: Conditions) => this.call("patch", "/groups/{group}", { path: { group }, body, headers: tagsOf(tags) }),
    delete: (group: string, tags?: Conditions) => this.call("delete", "/groups/{group}", { path: { group }, headers: tagsOf(tags) }),
  };

  /** Works on the jobs of a pull topic until it is stopped: by `signal`, else by SIGTERM or SIGINT. */
  work = (topic: string, handler: Work, options: WorkOptions = {}) => work(this, topic, handler, options);
  /** Iterates over what happens to the jobs of topics with the setting `events`, without an end; connects again after a lost connection. */
  events = (query: EventQuery) => events(this, query);
}
