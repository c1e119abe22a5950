// Charts of accepted, delivered, retried and dead jobs a second, and of lateness. The last 15 minutes are live; hours and
// days come from the history.

import { m } from "../lib.js";
import { href, route, setQuery } from "../router.js";
import { get, whyNot } from "../api.js";
import { live } from "../live.js";
import { compact, late, nowMs, number } from "../format.js";
import { Card, Problem } from "../parts/page.js";
import { Plot, Legend } from "../parts/plot.js";

const SPANS = [
  { name: "live", text: "15 min" },
  { name: "day", text: "24 h", seconds: 86_400, step: 600, reload: 60 },
  { name: "week", text: "7 days", seconds: 604_800, step: 3600, reload: 300 },
];
const FLOW = ["accepted", "delivered", "retried", "dead"];
const RECENT = 3; // the legend shows the mean of this many steps: 10 to 15 seconds
const LEAST_MS = 0.1; // drawn instead of 0, which a logarithmic scale does not have

export function Flow() {
  const past = { span: null, stats: null, error: null, timer: null };

  const load = async (span) => {
    clearTimeout(past.timer);
    if (past.span !== span) Object.assign(past, { span, stats: null, error: null });
    try {
      const to = new Date(Math.ceil(nowMs() / 1000 / span.step) * span.step * 1000);
      const from = new Date(to.getTime() - span.seconds * 1000);
      const { body } = await get("/stats", { from: from.toISOString(), to: to.toISOString(), step: span.step });
      if (past.span !== span) return;
      Object.assign(past, { stats: body, error: null });
    } catch (error) {
      if (past.span !== span) return;
      past.error = error;
    }
    past.timer = setTimeout(() => load(span), span.reload * 1000);
    m.redraw();
  };

  const choose = (span) => {
    setQuery({ ...route.query, span: span.name === "live" ? undefined : span.name });
    if (span.seconds) load(span);
    else leave();
  };

  const leave = () => {
    clearTimeout(past.timer);
    past.span = null;
  };

  return {
    oninit: () => {
      const span = SPANS.find((one) => one.name === route.query.span);
      if (span?.seconds) load(span);
    },
    onremove: leave,
    view: () => {
      const actions = m(".switch", { role: "group", "aria-label": "Span" }, SPANS.map((span) => spanButton(span, past.span ?? SPANS[0], choose)));
      return past.span ? ended(past, actions, () => load(past.span)) : flowing(actions);
    },
  };
}

function spanButton(span, chosen, choose) {
  const reason = span.seconds ? (live.overview && !live.overview.history ? "The server keeps no history (--history)" : whyNot("read")) : undefined;
  return m("button", {
    type: "button", "aria-pressed": String(span === chosen), "aria-disabled": reason ? "true" : undefined, title: reason, onclick: reason ? undefined : () => choose(span),
  }, span.text);
}

function flowing(actions) {
  const series = live.series;
  if (live.overview && !series) {
    return m(Card, { title: "Jobs a second", class: "span-all" }, m("p.faint", "Your token is limited to some topics, so it cannot read the figures of the whole server. See ", m("a", { href: href(["topics"]) }, "your topics"), "."));
  }
  const { from = 0, step = 1 } = series ?? {};
  const flow = FLOW.map((name) => ({ name, values: rates(series, name), value: rateNow(series, name), isFilled: name === "delivered" }));
  const lateness = [["p50", "lateP50Ms"], ["p99", "lateP99Ms"]].map(([name, member]) => ({ name, values: onLogScale(series?.[member] ?? []), value: last(series?.[member] ?? []) }));
  return [
    m(Card, { title: "Jobs a second", class: "two-thirds", actions },
      m(Legend, { series: flow, format: perSecond }),
      m(Plot, { label: "Jobs a second in the last 15 minutes", summary: summary(flow), from, step, series: flow, format: compact, height: 210 })),
    m(Card, { title: "Lateness", sub: "time from due until sent", class: "third" },
      m(Legend, { series: lateness, format: late }),
      m(Plot, { label: "Lateness in the last 15 minutes", summary: `p50 ${late(lateness[0].value)}, p99 ${late(lateness[1].value)}`, from, step, series: lateness, format: late, height: 210, isLog: true })),
  ];
}

function ended(past, actions, retry) {
  const { stats, error, span } = past;
  const values = (name) => stats.steps.map((one) => one[name]);
  const series = stats ? ["delivered", "dead", "cancelled"].map((name) => ({ name, values: values(name), value: values(name).reduce((all, one) => all + one, 0) })) : [];
  return m(Card, { title: "Ended jobs", sub: stats?.partial ? "the latest ones only" : `in ${span.step / 60} min each`, class: "span-all", actions },
    m(Problem, { error, retry }),
    stats
      ? [m(Legend, { series, format: number }),
         m(Plot, { label: `Ended jobs, ${span.text}`, summary: summary(series), from: Date.parse(stats.from), step: stats.step, series, format: compact, isBars: true, height: 210 })]
      : error ? null : m(".plot-wait", { role: "status" }, "Loading…"));
}

const summary = (series) => series.map((one) => `${one.name} ${number(Math.round(one.value ?? 0))}`).join(", ");
const last = (values) => values.findLast((value) => value !== null) ?? null;

// Returns the jobs per second in each step. The last step is not over yet.
function rates(series, name) {
  const values = series?.[name] ?? [];
  return values.map((value, i) => value / secondsOf(series, i));
}

const secondsOf = (series, i) => Math.max(1, Math.min(series.step, (series.until - series.from) / 1000 - i * series.step));

// Returns the mean of the latest steps.
function rateNow(series, name) {
  const values = series?.[name] ?? [];
  const first = Math.max(0, values.length - RECENT);
  const seconds = values.slice(first).reduce((all, _, i) => all + secondsOf(series, first + i), 0);
  return seconds ? values.slice(first).reduce((all, one) => all + one, 0) / seconds : 0;
}

const onLogScale = (values) => values.map((value) => (value === null ? null : Math.max(LEAST_MS, value)));

const perSecond = (n) => (n > 0 && n < 10 ? n.toFixed(1) : compact(Math.round(n)));
