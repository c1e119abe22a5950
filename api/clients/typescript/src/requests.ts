/** Requests of the contract, typed by it, and repeated where that is safe. */
import { ConnectionFailed, Problem, type ProblemDocument } from "./errors.js";
import type { paths } from "./generated/contract.js";

/** Seconds, or a text such as "15m" or "1h30m". */
export type Duration = number | string;

export interface Options {
  /** Default: the environment variable DUEPOST_SERVER, else http://127.0.0.1:7700. */
  url?: string;
  /** Default: the environment variable DUEPOST_TOKEN, else no token. */
  token?: string;
  /** How long to wait for each answer. Default 30 s. A request that waits for something may take this much longer. */
  timeout?: Duration;
  /** At most this many tries of a request. Default 4. */
  tries?: number;
  /** Headers of each request, such as `traceparent`. */
  headers?: Record<string, string>;
  fetch?: typeof fetch;
}

type Method = "get" | "put" | "post" | "patch" | "delete";
export type PathOf<M extends Method> = { [P in keyof paths]: paths[P] extends Record<M, object> ? P : never }[keyof paths];
type OperationOf<P extends keyof paths, M extends Method> = paths[P] extends Record<M, infer O> ? O : never;
type Parameters<O, Kind extends string> = O extends { parameters: { [K in Kind]?: infer T } } ? NonNullable<T> : never;
type AnswersOf<O> = O extends { responses: infer R } ? R[keyof R & (200 | 201 | 202 | 207)] : never;
type Json<T> = T extends { content: { "application/json": infer J } } ? J : never;
/** The same members; times may also be dates. */
export type WithDates<T> = { [K in keyof T]: K extends `${string}After` | `${string}Before` | `${string}At` | "from" | "to" ? T[K] | Date : T[K] };
/** The JSON of an operation's successful answers. */
export type Answer<P extends PathOf<M>, M extends Method = "get"> = Json<AnswersOf<OperationOf<P, M>>>;
/** The query parameters of an operation. */
export type Query<P extends PathOf<M>, M extends Method = "get"> = WithDates<Parameters<OperationOf<P, M>, "query">>;
/** The JSON of an operation's request. */
export type Body<P extends PathOf<M>, M extends Method> = OperationOf<P, M> extends { requestBody?: infer B } ? WithDates<Json<NonNullable<B>>> : never;

export interface Call<P extends PathOf<M>, M extends Method> {
  path?: Parameters<OperationOf<P, M>, "path">;
  query?: Query<P, M>;
  /** One document, or many where the contract takes an array of them. */
  body?: Body<P, M> | Body<P, M>[];
  headers?: Record<string, string | undefined>;
  /** Whether to repeat the request after a lost answer. Default: of a GET, of a PUT or DELETE without a condition, and with an Idempotency-Key. */
  safe?: boolean;
  /** Seconds that the answer may take longer than usual. */
  wait?: number;
  signal?: AbortSignal;
}

const UNITS: Record<string, number> = { d: 86400, h: 3600, m: 60, s: 1, ms: 0.001 };
export const MAX_WAIT = 60; // seconds of one Retry-After; a longer one is the caller's decision

/** Returns the seconds of a duration. */
export function seconds(duration: Duration): number {
  if (typeof duration === "number") return duration;
  const pieces = [...duration.matchAll(/(\d+(?:\.\d+)?)(ms|[dhms])/g)];
  if (!duration || pieces.map(([piece]) => piece).join("") !== duration) throw new TypeError(`'${duration}' is not a duration such as 15m or 1h30m`);
  return pieces.reduce((sum, [, count, unit]) => sum + Number(count) * UNITS[unit], 0);
}

/** Ends early, without an error, when the signal aborts. */
export function sleep(time: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = () => { clearTimeout(timer); signal?.removeEventListener("abort", end); resolve(); };
    const timer = setTimeout(end, signal?.aborted ? 0 : time * 1000);
    signal?.addEventListener("abort", end);
  });
}

/** Seconds to wait after this many failures in a row, so that clients do not come back at the same moment. */
export const backOff = (failures: number) => Math.min(10, 0.25 * 2 ** failures) * (0.5 + Math.random());

export class Requests {
  readonly url: string;
  readonly tries: number;
  private readonly headers: Record<string, string>;
  private readonly fetch: typeof fetch;
  private readonly timeout: number;

  constructor(options: Options = {}) {
    const variables = (globalThis as { process?: { env?: Record<string, string | undefined> } }).process?.env ?? {}, token = options.token ?? variables.DUEPOST_TOKEN;
    this.url = (options.url ?? variables.DUEPOST_SERVER ?? "http://127.0.0.1:7700").replace(/\/+$/, "");
    this.headers = { ...options.headers, ...(token ? { authorization: `Bearer ${token}` } : {}) };
    this.fetch = options.fetch ?? ((...all) => globalThis.fetch(...all));
    this.timeout = seconds(options.timeout ?? 30);
    this.tries = options.tries ?? 4;
  }

  /** Sends any request of the contract: `call("get", "/jobs/{topic}/{jobId}/why", {path: {topic, jobId}})`. Throws Problem or ConnectionFailed. */
  async call<M extends Method, P extends PathOf<M>>(method: M, path: P, call: Call<P, M> = {}): Promise<Answer<P, M>> {
    return (await (await this.send(method, path, call)).json()) as Answer<P, M>;
  }

  /** The same, with the answer as it came: for its headers, its status, or a stream. A 304 is not a problem. */
  async send<M extends Method, P extends PathOf<M>>(method: M, path: P, call: Call<P, M> = {}): Promise<Response> {
    const given = { ...this.headers, ...call.headers, ...(call.body === undefined ? {} : { "content-type": "application/json" }) };
    const headers = new Headers(Object.entries(given).filter((each): each is [string, string] => each[1] !== undefined));
    const isConditional = headers.has("if-match") || headers.has("if-none-match");
    const isSafe = call.safe ?? (method === "get" || headers.has("idempotency-key") || (["put", "delete"].includes(method) && !isConditional));
    const target = this.url + filled(path, (call.path ?? {}) as Record<string, string>) + textOf((call.query ?? {}) as Record<string, unknown>);
    const request = { method: method.toUpperCase(), headers, body: JSON.stringify(call.body), redirect: "manual" } as const;
    for (let attempt = 1; ; attempt++) {
      const answer = await this.sendOnce(target, request, call);
      if (answer instanceof Response && (answer.ok || answer.status === 304)) return answer;
      const problem = answer instanceof Response ? await problemOf(answer) : undefined, retryAfter = problem?.retryAfter ?? 0;
      // 409 after a lost answer: the first request with this key is still being answered.
      const isBusy = method === "post" && attempt > 1 && problem?.status === 409 && !problem.document.state;
      const mayRepeat = problem?.status === 429 || (isSafe && (!problem || isBusy || [502, 503, 504].includes(problem.status)));
      if (!mayRepeat || retryAfter > MAX_WAIT || attempt >= this.tries || call.signal?.aborted) {
        throw problem ?? new ConnectionFailed(`${request.method} ${target}: no answer after ${attempt} tries`, { cause: answer });
      }
      await sleep(Math.max(retryAfter, backOff(attempt)), call.signal);
    }
  }

  private async sendOnce(target: string, request: RequestInit, { wait = 0, signal }: { wait?: number; signal?: AbortSignal }): Promise<Response | Error> {
    const signals = [...(wait < Infinity ? [AbortSignal.timeout(Math.ceil((this.timeout + wait) * 1000))] : []), ...(signal ? [signal] : [])];
    try {
      const answer = await this.fetch(target, { ...request, signal: AbortSignal.any(signals) });
      if (answer.headers.get("content-type")?.startsWith("text/event-stream")) return answer;
      const bytes = await answer.arrayBuffer(); // an answer that breaks off here is a lost one, too
      return new Response(bytes.byteLength ? bytes : null, answer);
    } catch (error) {
      return error as Error;
    }
  }
}

async function problemOf(answer: Response): Promise<Problem> {
  const { status, statusText } = answer, text = await answer.text(), after = answer.headers.get("retry-after") ?? "";
  const wait = /^\d+$/.test(after) ? Number(after) : after ? Math.max(0, (Date.parse(after) - Date.now()) / 1000) || undefined : undefined;
  const unknown = { type: "about:blank", title: statusText || String(status), status, detail: text.slice(0, 500) || statusText || "no text" }; // from a proxy
  const isProblem = answer.headers.get("content-type")?.startsWith("application/problem+json");
  return Problem.of(isProblem ? { ...unknown, ...(JSON.parse(text) as ProblemDocument) } : unknown, wait);
}

function filled(path: string, values: Record<string, string>): string {
  return path.replace(/\{(\w+)\}/g, (_, name) => {
    if (/^\.{0,2}$/.test(values[name] ?? "")) throw new TypeError(`${path} needs a ${name}, not '${values[name]}'`); // it would name another path
    return encodeURIComponent(values[name]);
  });
}

function textOf(query: Record<string, unknown>): string {
  const text = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    for (const each of [value].flat()) if (each !== undefined && each !== null) text.append(name, each instanceof Date ? each.toISOString() : String(each));
  }
  return String(text) && `?${text}`;
}
