// Requests to duepost's public API.
//
//   const { body, etag } = await get(path`/jobs/${topic}/${jobId}`);
//   await get("/jobs", { state: "dead", limit: 100 });            a query leaves out empty members
//   await patch(path`/topics/${topic}`, { paused: true });
//   await put(path`/jobs/${topic}/${jobId}`, job, { ifMatch: etag });
//   post(path, body, { query, ifMatch, headers, signal });  del(path, body?, { … });  get(path, query, { signal, timeoutMs })
//
// Each returns {status, body, text, etag, headers} of a 2xx answer; text is body before it was parsed. Otherwise it throws an
// ApiError: status (0: no answer), title, detail, errors ([{field, detail}]), body, retryAfter (seconds, of a 429 or 503).
// A request that gets 401 waits for the login and is sent again.
//
//   can("cancel", topic)  whether the token has this scope (schedule, read, cancel, admin, lease), for this topic if
//                         one is given
//   whyNot("cancel")      the reason for a disabled button, or undefined
//
// The token is kept in this module's memory only: a reload asks for it again.

import { m } from "./lib.js";
import { queryText } from "./router.js";

export class ApiError extends Error {
  constructor(status, problem, retryAfter = 0) {
    super(problem.detail ?? problem.title ?? `HTTP ${status}`);
    this.name = "ApiError";
    this.status = status;
    this.title = problem.title ?? `HTTP ${status}`;
    this.detail = problem.detail ?? "";
    this.errors = problem.errors ?? [];
    this.body = problem;
    this.retryAfter = retryAfter;
  }
}

// session.isLocked: the server asked for a token and has not accepted one yet.
export const session = { isLocked: false, hasToken: false, access: null };

let token = null;
let unlocked = null; // resolved by the login

// Encodes the inserted values: path`/jobs/${topic}/${jobId}`.
export function path(texts, ...values) {
  return texts.reduce((all, text, i) => all + encodeURIComponent(values[i - 1]) + text);
}

export const get = (where, query, options) => request("GET", where, undefined, { ...options, query });
export const post = (where, body, options) => request("POST", where, body, options);
export const put = (where, body, options) => request("PUT", where, body, options);
export const patch = (where, body, options) => request("PATCH", where, body, options);
export const del = (where, body, options) => request("DELETE", where, body, options);

// Tries a token. Throws an ApiError if the server does not accept it.
export async function login(text) {
  const access = await send("GET", "/access", undefined, { token: text });
  token = text;
  session.access = access.body;
  session.hasToken = true;
  session.isLocked = false;
  unlocked?.resolve();
  unlocked = null;
  m.redraw();
}

// A reload drops the token and everything that was read with it.
export const logout = () => location.reload();

// Reads what this browser may do (GET /access). Called once at start.
export async function loadAccess() {
  session.access = (await get("/access")).body;
  m.redraw();
}

function can(scope, topic) {
  const access = session.access;
  if (!access?.scopes) return true;
  if (!access.scopes.includes(scope)) return false;
  return topic === undefined || !access.topics || access.topics.some((pattern) => reaches(pattern, topic));
}

export function whyNot(scope, topic) {
  if (can(scope, topic)) return undefined;
  return can(scope) ? `Your token has no access to the topic ${topic}` : `Your token lacks the scope "${scope}"`;
}

function reaches(pattern, topic) {
  const own = topic.split("~")[0];
  return pattern.endsWith("*") ? own.startsWith(pattern.slice(0, -1)) : own === pattern;
}

async function request(method, where, body, options = {}) {
  for (;;) {
    if (session.isLocked) await unlocked.promise;
    const used = token;
    try {
      return await send(method, where, body, { ...options, token: used });
    } catch (error) {
      if (error.status !== 401) throw error;
      if (used === token) lock();
    }
  }
}

function lock() {
  if (session.isLocked) return;
  session.isLocked = true;
  let resolve;
  const promise = new Promise((fulfil) => (resolve = fulfil));
  unlocked = { promise, resolve };
  m.redraw();
}

async function send(method, where, body, options) {
  const { answer, content } = await ask(method, where, body, options);
  const parsed = parse(content, answer.headers.get("Content-Type") ?? "");
  if (!answer.ok) {
    const problem = typeof parsed === "object" && parsed ? parsed : { detail: content };
    throw new ApiError(answer.status, problem, Number(answer.headers.get("Retry-After")) || 0);
  }
  return { status: answer.status, body: parsed, text: content, etag: answer.headers.get("ETag"), headers: answer.headers };
}

async function ask(method, where, body, { query, ifMatch, headers = {}, signal, timeoutMs, token: bearer }) {
  const text = queryText(query);
  const url = new URL(where.replace(/^\//, "") + (text ? `?${text}` : ""), document.baseURI);
  const all = { Accept: "application/json, application/problem+json", ...headers };
  if (body !== undefined && body !== null) all["Content-Type"] ??= "application/json";
  if (ifMatch) all["If-Match"] = ifMatch;
  if (bearer) all.Authorization = `Bearer ${bearer}`;
  try {
    const answer = await fetch(url, {
      method, headers: all, signal: timeoutMs ? AbortSignal.timeout(timeoutMs) : signal, cache: "no-store", credentials: "omit", redirect: "error",
      body: body === undefined || body === null ? undefined : typeof body === "string" ? body : JSON.stringify(body),
    });
    const content = await answer.text();
    connectionAnswered();
    return { answer, content };
  } catch (error) {
    if (error.name === "AbortError") throw error;
    connectionLost();
    throw new ApiError(0, { title: "No answer", detail: "The server did not answer. The page continues when it is back." });
  }
}

function parse(text, type) {
  if (!text || !/json/.test(type)) return text || null;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

// ---- the connection: whether the server answers. Each request reports; while the server does not answer, /healthz is polled.
//
//   connection.isOk     false from the first unanswered request until the next answered one
//   connection.since    when the connection was lost, in ms; null while the server answers

export const connection = { isOk: true, since: null };

const FIRST_WAIT_MS = 1000;
const LONGEST_WAIT_MS = 8000;

let wait = FIRST_WAIT_MS;
let timer = null;

function connectionAnswered() {
  if (connection.isOk) return;
  connection.isOk = true;
  connection.since = null;
  wait = FIRST_WAIT_MS;
  clearTimeout(timer);
  timer = null;
  m.redraw();
}

function connectionLost() {
  if (connection.isOk) {
    connection.isOk = false;
    connection.since = Date.now();
    m.redraw();
  }
  timer ??= setTimeout(probe, wait);
}

async function probe() {
  timer = null;
  wait = Math.min(wait * 2, LONGEST_WAIT_MS);
  try {
    await fetch(new URL("healthz", document.baseURI), { cache: "no-store", signal: AbortSignal.timeout(5000) });
    connectionAnswered();
  } catch {
    connectionLost();
  }
}

// When the computer wakes up, or the tab becomes visible again, try at once instead of waiting for the timer.
function probeNow() {
  if (connection.isOk || document.hidden) return;
  clearTimeout(timer);
  wait = FIRST_WAIT_MS;
  probe();
}
window.addEventListener("online", probeNow);
document.addEventListener("visibilitychange", probeNow);
