// Polls the server's figures once a second while the tab is visible and a page uses them.
//
//   oninit: () => (stop = follow()), onremove: () => stop()
//   view: () => live.overview?.jobs.ready
//
//   live.overview     the latest answer of GET /overview; null before the first one. Its members may be missing.
//   live.series       the last 15 minutes in steps: {from, until, step, accepted: […], …, lateP50Ms: […]}; null without figures
//   live.error        the ApiError of the last request, or null
//   follow(onAnswer)  begins to poll; returns the function that ends it. onAnswer is called after each answer.
//   connection        see connection.js

import { m } from "./lib.js";
import { get } from "./api.js";
import { connection } from "./connection.js";

export { connection };
export const live = { overview: null, series: null, error: null };

const PERIOD_MS = 1000;
const LIMITED_PERIOD_MS = 5000; // for a token that is limited to topics: it gets no series, and each request counts against its rate
const TIMEOUT_MS = 10_000;
const KEPT_SECONDS = 900;
const STEP = 5; // seconds for each number of the series; the plots have no room for more numbers
const OVERLAP_MS = 5000; // past seconds are read again, because other processes report them a little later

const followers = new Set();
let timer = null;
let isAsking = false;

export function follow(onAnswer = () => {}) {
  const follower = { onAnswer };
  followers.add(follower);
  wake();
  return () => followers.delete(follower);
}

function wake() {
  if (timer !== null || isAsking || document.hidden || followers.size === 0) return;
  ask();
}

async function ask() {
  timer = null;
  isAsking = true;
  const began = Date.now();
  let wait = PERIOD_MS;
  try {
    const { body } = await get("/overview", { after: askAfter(), step: STEP }, { timeoutMs: TIMEOUT_MS });
    live.overview = body;
    live.series = mergeSeries(live.series, body.series);
    live.error = null;
    if (!body.series) wait = LIMITED_PERIOD_MS;
    for (const follower of [...followers]) follower.onAnswer(body);
  } catch (error) {
    live.error = error;
    wait = Math.max(PERIOD_MS, 1000 * (error.retryAfter ?? 0));
  }
  isAsking = false;
  m.redraw();
  if (followers.size > 0 && !document.hidden) timer = setTimeout(ask, Math.max(100, began + wait - Date.now()));
}

document.addEventListener("visibilitychange", () => {
  if (document.hidden) {
    clearTimeout(timer);
    timer = null;
  } else {
    wake();
  }
});

function askAfter() {
  const series = live.series;
  return series ? Math.max(series.from, series.until - OVERLAP_MS) : undefined;
}

// Returns the series old with the steps of added, at most KEPT_SECONDS long. Where both have a step, the newer figures win.
export function mergeSeries(old, added) {
  if (!added) return old;
  if (!old || old.step !== added.step) return added;
  const step = added.step * 1000;
  const end = Math.max(old.from + length(old) * step, added.from + length(added) * step);
  const from = Math.max(Math.min(old.from, added.from), end - KEPT_SECONDS * 1000);
  const merged = { ...added, from };
  for (const [name, values] of Object.entries(added)) {
    if (Array.isArray(values)) merged[name] = overlay(from, end, step, old, added, name);
  }
  return merged;
}

function overlay(from, end, step, old, added, name) {
  const values = new Array(Math.round((end - from) / step)).fill(name.startsWith("late") ? null : 0);
  for (const part of [old, added]) {
    const shift = Math.round((part.from - from) / step);
    (part[name] ?? []).forEach((value, i) => {
      if (i + shift >= 0) values[i + shift] = value;
    });
  }
  return values;
}

const length = (series) => series.accepted?.length ?? 0;
