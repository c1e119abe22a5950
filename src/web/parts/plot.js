// Plots: lines and bars over time, their legend, bars of counts, and the small line in a row.

import { m, loadChart } from "../lib.js";
import { onTheme } from "../theme.js";
import { time, compact, number } from "../format.js";

// Plot: m(Plot, {label, from, step, series, format, height, isBars, ticks}). Chart.js, loaded with the first plot.
//
//   from, step  the time of the first value in ms, and the interval between two values in seconds
//   series      [{name: "delivered", kind: "delivered", values: [numbers or null]}]; kind gives colour and dash pattern
//   format      (value) => text, for axis and tooltip
//   isLog       a logarithmic scale, for values that differ by powers of ten
//   isBars      bars instead of lines, stacked; ticks: texts for the bars instead of times
//   summary     a sentence for screen readers
//
// It draws only when its values change and the tab is visible, without animation.

const DASHES = { retried: [6, 3], dead: [2, 2], cancelled: [8, 3, 2, 3] };

export function Plot() {
  let chart = null;
  let drawn = null;
  let styled = null; // what the chart's options were last built from; building options is the most expensive part of a redraw
  let isGone = false;
  let stopTheme = null;

  const draw = (attrs) => {
    if (!chart || document.hidden) return;
    const print = fingerprint(attrs);
    if (print === drawn) return;
    drawn = print;
    const style = `${attrs.step} ${attrs.isLog} ${attrs.ticks} ${attrs.series.map((one) => one.name)}`;
    if (style !== styled) {
      styled = style;
      restyle(chart, attrs);
    }
    fill(chart, attrs);
    chart.update("none");
  };

  const create = async (vnode) => {
    const Chart = await loadChart().catch(() => null);
    if (!Chart || isGone) return;
    chart = new Chart(vnode.dom.querySelector("canvas"), { type: vnode.attrs.isBars ? "bar" : "line", data: { labels: [], datasets: [] }, options: {} });
    draw(latest);
  };

  let latest = null;
  return {
    oncreate: (vnode) => {
      stopTheme = onTheme(() => {
        drawn = styled = null;
        draw(latest);
      });
      create(vnode);
    },
    onupdate: ({ attrs }) => draw(attrs),
    onremove: () => {
      isGone = true;
      stopTheme?.();
      chart?.destroy();
    },
    view: ({ attrs }) => {
      latest = attrs;
      return m("figure.plot", { style: { height: `${attrs.height ?? 180}px` } },
        m("canvas", { role: "img", "aria-label": attrs.summary ? `${attrs.label}. ${attrs.summary}` : attrs.label }));
    },
  };
}

function fingerprint({ from, step, series }) {
  return `${from} ${step} ${series.map((one) => `${one.name} ${one.values.join()}`).join(";")}`;
}

// Reads a colour of the theme, because a canvas cannot use CSS variables.
const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function restyle(chart, attrs) {
  chart.options = options(attrs);
  chart.data.datasets = attrs.series.map((one) => dataset(one, attrs));
}

function fill(chart, attrs) {
  const length = Math.max(0, ...attrs.series.map((one) => one.values.length));
  chart.data.labels = attrs.ticks ?? Array.from({ length }, (_, i) => attrs.from + i * attrs.step * 1000);
  attrs.series.forEach((one, i) => {
    chart.data.datasets[i].data = one.values;
  });
}

function dataset(one, attrs) {
  const colour = css(`--plot-${one.kind ?? one.name}`) || css("--accent");
  return {
    label: one.name, data: [], borderColor: colour, backgroundColor: attrs.isBars ? colour : `${colour}22`,
    borderWidth: attrs.isBars ? 0 : 1.5, borderDash: attrs.isBars ? [] : DASHES[one.kind ?? one.name] ?? [],
    pointRadius: 0, pointHitRadius: 8, tension: 0, spanGaps: false, fill: !attrs.isBars && Boolean(one.isFilled), stack: attrs.isBars ? "all" : undefined,
    barPercentage: 0.9, categoryPercentage: 0.95,
  };
}

// Labels only the powers of ten; the values between them have grid lines without a label.
const isPower = (value) => Math.abs(Math.log10(value) - Math.round(Math.log10(value))) < 1e-9;

function options({ format = String, ticks, step, isBars, isLog }) {
  const text = css("--text-soft");
  const lines = css("--line");
  const font = { family: css("--font"), size: 11 };
  const yTicks = isLog ? { callback: (value) => (isPower(value) ? format(value) : null) } : { maxTicksLimit: 5, callback: (value) => format(value) };
  const label = (at) => (ticks ? at : plotTime(at, step));
  return {
    animation: false, responsive: true, maintainAspectRatio: false, normalized: true, events: ["mousemove", "mouseout"],
    interaction: { mode: "index", intersect: false },
    scales: {
      x: { stacked: isBars, grid: { display: false, borderColor: lines }, ticks: { color: text, font, maxRotation: 0, autoSkipPadding: 24, callback(value) { return label(this.getLabelForValue(value)); } } },
      y: { type: isLog ? "logarithmic" : "linear", stacked: isBars, beginAtZero: !isLog, grid: { color: lines, drawBorder: false }, ticks: { color: text, font, ...yTicks } },
    },
    plugins: {
      legend: { display: false },
      tooltip: {
        animation: false, callbacks: {
          title: (items) => (items.length ? (ticks ? items[0].label : time(Number(items[0].label))) : ""),
          label: (item) => ` ${item.dataset.label}: ${format(item.raw)}`,
        },
      },
    },
  };
}

// Created once, because creating a format costs far more than using it.
const days = new Intl.DateTimeFormat(undefined, { month: "short", day: "numeric" });
const hours = new Intl.DateTimeFormat(undefined, { weekday: "short", hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
const minutes = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });

const plotTime = (at, step) => (step >= 86_400 ? days : step >= 3600 ? hours : minutes).format(at);

// Legend: m(Legend, {series: [{name, kind, value}], format}). The lines of a plot with their latest figures, and with the
// dash pattern next to the name, so that readers do not depend on colour.

const SIGN_DASHES = { retried: "6 3", dead: "2 2", cancelled: "8 3 2 3" };

export const Legend = {
  view: ({ attrs: { series, format = String } }) =>
    m("ul.legend", series.map((one) => m("li", m("svg.legend-line", { viewBox: "0 0 24 8", "aria-hidden": "true" },
      m("path", { class: `is-${one.kind ?? one.name}`, d: "M0 4H24", "stroke-dasharray": SIGN_DASHES[one.kind ?? one.name] })),
    one.name, one.value === undefined ? null : m("strong", format(one.value))))),
};

// Bars: m(Bars, {label, values, texts, format}). A small histogram of plain elements. texts[i] says what bar i covers;
// it is shown on hover. `first` and `last` are shown under the first and the last bar.

export const Bars = {
  view: ({ attrs: { label, values, texts = [], first, last, noun = "jobs" } }) => {
    const top = Math.max(1, ...values);
    const sum = values.reduce((all, value) => all + value, 0);
    return m("figure.bars",
      m("figcaption", m("span", label), m("strong", compact(sum))),
      m(".bars-box", { role: "img", "aria-label": `${label}: ${number(sum)} ${noun}. ${describe(values, texts)}` },
        values.map((value, i) => m(".bar", { title: `${texts[i] ?? ""}: ${number(value)} ${noun}` }, m(".bar-fill", { class: value ? "" : "is-none", style: { height: `${(100 * value) / top}%` } })))),
      m(".bars-axis", { "aria-hidden": "true" }, m("span", first ?? texts[0]), m("span", last ?? texts[texts.length - 1])));
  },
};

function describe(values, texts) {
  const top = Math.max(...values);
  return top > 0 ? `Most ${texts[values.indexOf(top)] ?? ""}: ${number(top)}.` : "None.";
}

// Sparkline: m(Sparkline, {values, label, kind: "delivered"}). A small line of SVG; kind gives the colour of a state.
// Values that are null at the beginning are left out.

const WIDTH = 100;
const HEIGHT = 24;

export const Sparkline = {
  view: ({ attrs: { values = [], label, kind = "delivered" } }) =>
    m("svg.sparkline", {
      class: `is-${kind}`, viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img", "aria-label": label ?? extremes(values),
    }, drawing(values)),
};

function drawing(values) {
  const first = values.findIndex((value) => value !== null);
  if (first < 0 || first > values.length - 2) return null;
  const step = WIDTH / (values.length - 1);
  const path = line(values, first, step);
  return [m("path.area", { d: `${path}L${WIDTH} ${HEIGHT}L${first * step} ${HEIGHT}Z` }), m("path.line", { d: path })];
}

const extremes = (values) => `Highest ${Math.max(0, ...values)}, latest ${values[values.length - 1] ?? 0}`;

function line(values, first, step) {
  const top = Math.max(1, ...values);
  const point = (value, i) => `${i ? "L" : "M"}${((first + i) * step).toFixed(1)} ${(HEIGHT - 1 - ((value ?? 0) / top) * (HEIGHT - 2)).toFixed(1)}`;
  return values.slice(first).map(point).join("");
}
