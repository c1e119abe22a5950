// What is read again and again: the server's figures, anything else that a page repeats, the texts that name an age, and
// lists in pages. Nothing is read while the tab is hidden.

import { m } from "./lib.js";
import { get } from "./api.js";

// Polls the server's figures once a second while the tab is visible and a page uses them.
//
//   oninit: () => (stop = follow()), onremove: () => stop()
//   view: () => live.overview?.jobs.ready
//
//   live.overview     the latest answer of GET /overview; null before the first one. Its members may be missing.
//   live.series       the last 15 minutes in steps: {from, until, step, accepted: […], …, lateP50Ms: […]}; null without figures
//   live.error        the ApiError of the last request, or null
//   follow(onAnswer)  begins to poll; returns the function that ends it. onAnswer is called after each answer.

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

// repeat(load, ms): calls the async function load now, and again ms after each call has ended, while the tab is visible.
// Returns {again(), stop()}: again() calls load now, unless a call is under way. Use it in oninit and stop it in onremove.

export function repeat(load, ms) {
  let timer = null;
  let isStopped = false;
  let isBusy = false;
  const plan = () => {
    clearTimeout(timer);
    if (!isStopped && !document.hidden) timer = setTimeout(again, ms);
  };
  const again = async () => {
    if (isBusy || isStopped) return;
    isBusy = true;
    try {
      await load();
    } finally {
      isBusy = false;
      if (!isStopped) m.redraw();
      plan();
    }
  };
  const onVisible = () => {
    if (document.hidden) clearTimeout(timer);
    else again();
  };
  document.addEventListener("visibilitychange", onVisible);
  again();
  return {
    again,
    stop: () => {
      isStopped = true;
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", onVisible);
    },
  };
}

// One redrawTimer for all texts such as "3 s ago". Redraws the page once a second while such a text is shown and the tab is
// visible.
//
//   oninit: () => (stop = useClock()), onremove: () => stop()

let users = 0;
let redrawTimer = null;

export function useClock() {
  users++;
  update();
  return () => {
    users--;
    update();
  };
}

function update() {
  const isNeeded = users > 0 && !document.hidden;
  if (isNeeded && redrawTimer === null) {
    redrawTimer = setInterval(() => m.redraw(), 1000);
  } else if (!isNeeded && redrawTimer !== null) {
    clearInterval(redrawTimer);
    redrawTimer = null;
  }
}

document.addEventListener("visibilitychange", () => {
  if (!document.hidden && users > 0) m.redraw();
  update();
});

// Paged: a list that the API returns in pages, loaded as far as the person has scrolled.
//
//   const list = new Paged(({ body }) => body.groups, (row) => row.group, (query) => get("/groups", query));
//   repeat(() => list.load(), 5000)      reads the loaded pages again
//   m(Table, {rows: list.rows, hasMore: list.hasMore, onmore: () => list.more(), …})
//
// read(query) resolves to an answer of get(), and rowsOf returns the rows of that answer; query is {limit, cursor}.

const PAGE = 1000;

export class Paged {
  // pages: the number of pages to read at first.
  constructor(rowsOf, keyOf, read, pages = 1) {
    Object.assign(this, { rowsOf, keyOf, read, pages, rows: null, hasMore: false, error: null, cursor: undefined, pagesRead: 1, turns: 0 });
  }

  // Reads all loaded pages again. With n loaded pages, only every n-th call reads, so that a long list costs the server no more
  // than a short one. If reading fails, the old rows stay. isAsked: reads in any case, because a person asked for it.
  async load(isAsked = false) {
    if (!isAsked && this.rows && ++this.turns % this.pagesRead) return;
    try {
      let rows = [];
      let cursor;
      let page = 0;
      do {
        const answer = await this.read({ limit: PAGE, cursor });
        rows = rows.concat(this.rowsOf(answer));
        cursor = answer.body.cursor;
      } while (++page < this.pages && cursor);
      this.pagesRead = page;
      this.take(rows, cursor);
    } catch (error) {
      this.error = error;
    }
  }

  // Reads the next page.
  async more() {
    try {
      const answer = await this.read({ limit: PAGE, cursor: this.cursor });
      this.pages = Math.max(this.pages, this.pagesRead) + 1;
      this.pagesRead += 1;
      this.take(this.rows.concat(this.rowsOf(answer)), answer.body.cursor);
    } catch (error) {
      this.error = error;
      throw error;
    }
  }

  // Drops the second copy of a row that moved from one page to another while they were read.
  take(rows, cursor) {
    this.rows = [...new Map(rows.map((row) => [this.keyOf(row), row])).values()];
    this.cursor = cursor;
    this.hasMore = Boolean(cursor);
    this.error = null;
  }
}
