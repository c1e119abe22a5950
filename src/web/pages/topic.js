// One topic, or a pattern of topics: its figures, the reason why due jobs wait, and its settings.

import { m } from "../lib.js";
import { href } from "../router.js";
import { del, get, path } from "../api.js";
import { useClock, follow, repeat } from "../live.js";
import { number, time } from "../format.js";
import { hasHistory } from "../jobs/list.js";
import { Button, Card, Page, Problem } from "../parts/page.js";
import { Bars } from "../parts/plot.js";
import { later, toast } from "../parts/toast.js";
import { Name, State, Time } from "../parts/values.js";
import { Keys } from "../topics/keys.js";
import { SettingDialog, SettingTable } from "../topics/settings.js";
import { rememberBusy, failingText, Limits, setPaused, whyNotSet } from "../topics/state.js";

const READ_MS = 2000;

export default function Topic({ attrs: { params } }) {
  const { topic } = params;
  const page = { topic, state: null, error: null, setting: null };
  const stops = [];
  return {
    oninit: () => {
      const reading = repeat(() => load(page), READ_MS);
      page.reload = reading.again;
      stops.push(reading.stop, useClock(), follow(rememberBusy));
    },
    onremove: () => stops.forEach((stop) => stop()),
    view: () =>
      m(Page, { title: m(Name, { text: topic, most: 100 }), sub: topic.includes("*") ? "Pattern of topics" : page.state?.failing ? m("span", m(State, { state: "bad", text: "failing" }), ` ${failingText(page.state.failing)}.`) : "Topic", actions: page.state ? actions(page) : null },
        m(Problem, { error: page.error, retry: page.reload }),
        page.state?.jobs ? m(".cards", numbers(page.state), waiting(page.state)) : null,
        page.state?.jobs ? m(Keys, { topic, settings: page.state.settings, whyNot: whyNotSet(topic) }) : null,
        page.state?.jobs ? m(Hour, { topic }) : null,
        page.state ? settings(page) : null,
        page.setting ? dialog(page) : null),
  };
}
Topic.title = (params) => params.topic;

async function load(page) {
  try {
    page.state = (await get(path`/topics/${page.topic}`)).body;
    page.error = null;
  } catch (error) {
    page.error = error;
  }
}

function actions(page) {
  const isPaused = Boolean(page.state.settings.paused);
  const why = whyNotSet(page.topic);
  return [
    m(Button, { whyNot: why, icon: isPaused ? "play" : "pause", onclick: () => setPaused(page.topic, !isPaused).then(page.reload) }, isPaused ? "Resume" : "Pause"),
    m(Button, { kind: "danger", whyNot: why, onclick: () => reset(page) }, "Remove settings"),
  ];
}

async function reset(page) {
  try {
    if (await later(`Removing all settings of ${page.topic}`, () => del(path`/topics/${page.topic}`))) toast(`${page.topic} has no settings of its own now.`);
    page.reload();
  } catch (error) {
    toast(`Not removed: ${error.detail || error.message}`, { kind: "bad" });
  }
}

const STATES = ["ready", "delayed", "held", "leased", "dead"];

const numbers = ({ topic, jobs, lastHour }) =>
  m(Card, { title: "Jobs", class: "half" },
    m("dl.pairs", STATES.map((state) => [
      m("dt", m(State, { state })),
      m("dd", m("a", { href: href(["jobs"], { topic, state: state === "held" ? "delayed" : state }) }, number(jobs[state]))),
    ]), ["delivered", "retried", "dead"].map((name) => [m("dt", `${name} in the last hour`), m("dd", number(lastHour[name]))])));

const HELD_BY = {
  paused: "The topic is paused.", settings: "Its settings cannot be read: save them again.", maxInFlight: "As many attempts run as the topic allows.",
  rate: "The rate of the topic is used up.", batch: "The jobs wait for others, which are sent in the same request.", order: "An earlier job has to end first.", windows: "The windows of the topic are closed.",
  noUrl: "Jobs without a url wait until the topic has a url, or workers lease its jobs (delivery).",
};

function waiting(state) {
  const { topic, overdue, oldestOverdueAt, oldestDueAt, heldBy, heldUntil, head, jobs, settings, quota } = state;
  const { pauseReason } = settings;
  return m(Card, { title: "What waits", class: "half" },
    m("dl.pairs",
      m("dt", "Overdue"), m("dd", overdue ? [`${number(overdue)}, the oldest due `, m(Time, { at: oldestOverdueAt, style: "ago" })] : "none"),
      m("dt", "Next due"), m("dd", oldestDueAt ? m(Time, { at: oldestDueAt, style: "relative" }) : "no job waits"),
      heldBy ? [m("dt", "Held"), m("dd", HELD_BY[heldBy] ?? heldBy, heldUntil ? [" Until ", m(Time, { at: heldUntil }), "."] : null)] : null,
      settings.maxInFlight || settings.rate ? [m("dt", "Limits"), m("dd", m(Limits, { topic, settings, leased: jobs.leased }))] : null,
      quota ? [m("dt", "Quota"), m("dd", `${number(quota.pending)} of ${number(quota.maxPending)} jobs`)] : null,
      pauseReason ? [m("dt", "Reason"), m("dd", pauseReason)] : null,
      head ? [m("dt", "Head"), m("dd", m("a", { href: href(["jobs", topic, head]) }, head))] : null));
}

const settings = (page) =>
  m(Card, { title: "Settings", sub: page.state.from ? "a setting that a topic does not have comes from the longest matching pattern" : "they apply to all topics whose names match" },
    m(SettingTable, { settings: page.state.settings, from: page.state.from ?? null, whyNot: whyNotSet(page.topic), onchange: (setting) => (page.setting = setting) }));

const dialog = (page) =>
  m(SettingDialog, {
    topic: page.topic, setting: page.setting, value: page.state.settings[page.setting.name],
    from: page.state.from ? page.state.from[page.setting.name] : page.setting.name in page.state.settings ? "topic" : "default",
    onclose: (hasChanged) => {
      page.setting = null;
      if (hasChanged) page.reload();
    },
  });

// Hour: the jobs of a topic that ended within the last hour, by minute, from the history. Without a history, it shows nothing.

const HOUR_MS = 30_000;
const KINDS = ["delivered", "dead", "cancelled"];

// attrs: topic.
function Hour({ attrs }) {
  let stats = null;
  let stop;
  let isGone = false;
  const load = async () => {
    try {
      stats = (await get("/stats", { topic: attrs.topic })).body;
    } catch {
      // After an error, the last answer stays on the page.
    }
  };
  return {
    oninit: async () => {
      if ((await hasHistory()) && !isGone) stop = repeat(load, HOUR_MS).stop;
    },
    onremove: () => {
      isGone = true;
      stop?.();
    },
    view: () => {
      if (!stats) return null;
      const { steps, partial } = stats;
      const texts = steps.map((step) => time(step.at));
      return m(Card, { title: "Last hour", sub: partial ? "by minutes; only the latest jobs are counted" : "by minutes, from the history" },
        m(".hour", KINDS.map((kind) => m(Bars, { label: kind[0].toUpperCase() + kind.slice(1), values: steps.map((step) => step[kind]), texts, first: "an hour ago", last: "now" }))));
    },
  };
}
