import { DuepostError } from "./errors.js";
import type { operations } from "./generated/contract.js";
import { Outcome, retry } from "./outcome.js";
import { seconds, type Duration } from "./requests.js";

/** A request that no secret has signed, or that is too old. */
export class SignatureError extends DuepostError {
  constructor(readonly reason: "missing" | "timestamp" | "signature", message: string) {
    super(message);
  }
}

/** A request of duepost. The signature covers `id`, `at` and the body. The other members are from headers that it does not cover: a client
 * that replays a request within the tolerance can change them. */
export interface Delivery {
  /** The webhook-id: the same in all attempts of a job. Empty if the request has no signature. */
  id: string;
  at: Date;
  /** JSON, a text, or the bytes; undefined without a body. `raw`: the bytes. */
  body: unknown;
  raw: Uint8Array;
  /** The body of a batch. */
  jobs?: operations["deliverBatch"]["requestBody"]["content"]["application/json"];
  topic: string;
  /** Empty for a batch. */
  jobId: string;
  attempt: number;
  /** From 1; each notYet() ends a round. */
  round: number;
  /** What `deferred` needs, in a topic with `defer`. */
  token?: string;
  endUrl?: string;
  headers: Headers;
}

type AnyHeaders = HeadersInit | Record<string, string | string[] | undefined>;
export interface VerifyOptions {
  /** How far the timestamp may be from the clock. Default 5 minutes. */
  tolerance?: Duration;
  now?: Date;
}

function bytesOf(base64: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(atob(base64), (each) => each.charCodeAt(0));
  } catch {
    return undefined; // not base64
  }
}

/** Checks the signature of a request, as Standard Webhooks describes it. secrets: `whsec_...`, or `whpk_...` for ed25519; one valid signature by one of
 * them is enough. body: the bytes as they came, because a JSON parser may change them. Throws SignatureError. */
export async function verify(body: Uint8Array | string, headers: AnyHeaders, secrets: string | string[], options: VerifyOptions = {}): Promise<Delivery> {
  const { tolerance = 300, now = new Date() } = options;
  const all = headersOf(headers), raw = typeof body === "string" ? new TextEncoder().encode(body) : body;
  const [id, at, signatures] = ["webhook-id", "webhook-timestamp", "webhook-signature"].map((name) => all.get(name) ?? "");
  if (!id || !at || !signatures) throw new SignatureError("missing", "The request has no signature.");
  const isNear = /^\d{1,12}$/.test(at) && Math.abs(now.getTime() / 1000 - Number(at)) <= seconds(tolerance);
  if (!isNear) throw new SignatureError("timestamp", `The timestamp ${at} is too far from the clock.`);
  const signed = joined([new TextEncoder().encode(`${id}.${at}.`), raw]);
  for (const secret of [secrets].flat()) {
    const version = secret.startsWith("whpk_") ? "v1a," : "v1,", algorithm = version === "v1," ? { name: "HMAC", hash: "SHA-256" } : { name: "Ed25519" };
    const bytes = bytesOf(secret.replace(/^wh(sec|pk)_/, ""));
    if (!bytes?.length) throw new TypeError("A secret is not whsec_ or whpk_ with base64."); // an empty key would let anyone sign
    const key = await crypto.subtle.importKey("raw", bytes, algorithm, false, ["verify"]);
    for (const signature of signatures.split(" ").filter((each) => each.startsWith(version))) {
      const given = bytesOf(signature.slice(version.length));
      if (given && (await crypto.subtle.verify(algorithm.name, key, given, signed))) return deliveryOf(raw, all); // in constant time
    }
  }
  throw new SignatureError("signature", "None of the signatures is valid.");
}

export function headersOf(headers: AnyHeaders): Headers {
  if (headers instanceof Headers || Array.isArray(headers)) return new Headers(headers as HeadersInit);
  return new Headers(Object.entries(headers).flatMap(([name, value]) => (value === undefined ? [] : [[name, [value].flat().join(", ")] as [string, string]])));
}

function deliveryOf(raw: Uint8Array, headers: Headers): Delivery {
  const number = (name: string) => Number(headers.get(name) ?? 1), type = headers.get("content-type") ?? "", text = () => new TextDecoder().decode(raw);
  const body = !raw.length ? undefined : /^application\/(.*\+)?json/i.test(type) ? JSON.parse(text()) : /^text\//i.test(type) ? text() : raw;
  return {
    id: headers.get("webhook-id") ?? "", at: new Date(Number(headers.get("webhook-timestamp") ?? Date.now() / 1000) * 1000), body, raw,
    jobs: headers.has("duepost-batch") ? body : undefined, topic: headers.get("duepost-topic") ?? "", jobId: decodeURIComponent(headers.get("duepost-job-id") ?? ""),
    attempt: number("duepost-attempt"), round: number("duepost-round"),
    token: headers.get("duepost-token") ?? undefined, endUrl: headers.get("duepost-end-url") ?? undefined, headers,
  };
}

/** Returns or throws an outcome; after any other error the job comes again. Otherwise it is delivered; in a topic with `results`, JSON is kept as its result. */
export type Handler = (delivery: Delivery) => unknown;

export interface ReceiverOptions extends VerifyOptions {
  /** Several while keys are being rotated. `false` accepts requests without a signature: only for topics that do not sign, behind a wall. */
  secrets: string | string[] | false;
  /** The ids of handled deliveries: one that it has is answered 200 without the handler, and one is added after the handler has succeeded. A Set
   * serves one process for a short time; use a table of the database. */
  seen?: { has(id: string): boolean | Promise<boolean>; add(id: string): unknown };
  /** Larger bodies are answered 413. Default 5 MiB. */
  maxBytes?: number;
  /** Gets what a handler threw. */
  onError?: (error: unknown, delivery: Delivery) => void;
}

export type Reply = { status: number; headers: Record<string, string>; body: string };

/** What a receiver answers: for adapters to other frameworks than those of `duepost/fetch` and `duepost/express`. */
export async function answer(pieces: AsyncIterable<Uint8Array> | Iterable<Uint8Array>, headers: Headers, handler: Handler, options: ReceiverOptions): Promise<Reply> {
  const read: Uint8Array[] = [];
  let length = 0, delivery: Delivery;
  for await (const piece of pieces) {
    if ((length += piece.length) > (options.maxBytes ?? 5 << 20)) return reply(413, "", { connection: "close" });
    read.push(piece);
  }
  try {
    delivery = options.secrets === false ? deliveryOf(joined(read), headers) : await verify(joined(read), headers, options.secrets, options);
  } catch (error) {
    if (error instanceof SignatureError) return reply(401, error.message);
    if (error instanceof SyntaxError || error instanceof URIError) return reply(400, "The body or a header cannot be read.");
    throw error;
  }
  const id = delivery.round > 1 ? `${delivery.id}:${delivery.round}` : delivery.id; // each round of a job has the same webhook-id
  if (id && (await options.seen?.has(id))) return reply(200);
  let result: unknown;
  try {
    result = await handler(delivery);
  } catch (error) {
    if (!(error instanceof Outcome)) options.onError?.(error, delivery);
    result = error instanceof Outcome ? error : retry(undefined, error instanceof Error ? error.message : String(error));
  }
  // An attempt that is open, or comes again, has to reach the handler again.
  if (id && (!(result instanceof Outcome) || ["bury", "results"].includes(result.kind))) await options.seen?.add(id);
  return replyOf(result);
}

function joined(pieces: Uint8Array[]): Uint8Array<ArrayBuffer> {
  const all = new Uint8Array(pieces.reduce((sum, piece) => sum + piece.length, 0));
  pieces.reduce((at, piece) => (all.set(piece, at), at + piece.length), 0);
  return all;
}

const reply = (status: number, body = "", headers = {}): Reply => ({ status, body, headers: { "content-type": "text/plain; charset=utf-8", ...headers } });
const json = (body: unknown) => reply(200, JSON.stringify(body), { "content-type": "application/json" });

function replyOf(result: unknown): Reply {
  if (!(result instanceof Outcome)) return result === undefined ? reply(200) : json(result);
  const span = result.seconds === undefined ? "" : String(Math.max(1, Math.ceil(result.seconds)));
  switch (result.kind) {
    case "notYet": return reply(200, "", { "duepost-again": span });
    case "defer": return reply(202, "", { "duepost-defer": span });
    case "bury": return reply(410, result.message);
    case "results": return json({ results: result.results });
    default: return span ? reply(503, result.message, { "retry-after": span }) : reply(500, result.message);
  }
}
