// What every page is made of: its frame, cards, buttons, icons; problems, empty lists, progress; parts that load on demand.

import { m } from "../lib.js";
import { number } from "../format.js";

// Page: m(Page, {title, sub, actions}, children). The heading that each page begins with. actions are buttons.
// Card: m(Card, {title, sub, actions, class}, children). A box with a heading.
// Button: m(Button, {onclick, whyNot, kind: "primary" | "danger" | "quiet", icon}, "Pause"). With whyNot, a reason, it
//   is disabled and shows the reason (see whyNot() of api.js).

export const Page = {
  view: ({ attrs: { title, sub, actions }, children }) => [
    m("header.page-head", m(".page-title", m("h1", title), sub ? m(".sub", sub) : null), actions ? m(".actions", actions) : null),
    children,
  ],
};

export const Card = {
  view: ({ attrs: { title, sub, actions, class: name = "" }, children }) =>
    m("section.card", { class: name, "aria-label": title },
      title || actions ? m("header.card-head", m("h2", title), sub ? m("span.sub", sub) : null, actions ? m(".actions", actions) : null) : null,
      children),
};

export const Button = {
  view: ({ attrs: { onclick, whyNot, kind = "", icon, title, isDisabled, label, pressed }, children }) =>
    m("button", {
      type: "button", class: kind, onclick: whyNot ? undefined : onclick, title: whyNot ?? title, "aria-label": label,
      "aria-pressed": pressed === undefined ? undefined : String(pressed),
      "aria-disabled": whyNot ? "true" : undefined, disabled: isDisabled || undefined,
    }, icon ? m(Icon, { name: icon }) : null, children),
};

// Problem: m(Problem, {error, retry}). An ApiError (or any Error) for people; nothing while error is null.
// retry, a function, adds a button "Try again".

export const Problem = {
  view: ({ attrs: { error, retry } }) =>
    error
      ? m(".problem", { role: "alert" },
          m("p", m("strong", error.title ?? "Error"), error.status ? m("span.faint", ` ${error.status}`) : null),
          m("p", error.detail || error.message),
          error.errors?.length ? m("ul", error.errors.map(faultItem)) : null,
          retry ? m("button", { type: "button", onclick: retry }, "Try again") : null)
      : null,
};

const faultItem = (fault) => m("li", fault.field ? [m("code", fault.field), " "] : null, fault.detail);

// Empty: m(Empty, {title, text, command}, children). Shown in place of an empty list. command is a line for a
// terminal, with a button that copies it.

export const Command = {
  view: ({ attrs: { text, label = "Copy the command" } }) =>
    m(".command", m("pre", { tabindex: 0 }, m("code", text)), m(Copy, { text, label })),
};

export const Empty = {
  view: ({ attrs: { title, text, command }, children }) =>
    m(".empty", title ? m("h2", title) : null, text ? m("p", text) : null, command ? m(Command, { text: command }) : null, children),
};

// Progress: m(Progress, {done, total, text}). Without total it only shows activity.

export const Progress = {
  view: ({ attrs: { done = 0, total, text } }) =>
    m(".progress",
      m("progress", { value: total === undefined ? undefined : Math.min(done, total), max: total === undefined ? undefined : total || 1, "aria-label": text ?? "Progress" }),
      m("span.progress-text", text ? `${text} ` : "", total === undefined ? number(done) : `${number(done)} of ${number(total)}`)),
};

// Icon: m(Icon, {name: "jobs"}). Drawn with the colour of the text; hidden from screen readers, so put a word next to it.

const PATHS = {
  overview: "M3 12h4l3-8 4 16 3-8h4",
  topics: "M4 6h16M4 12h16M4 18h10",
  jobs: "M4 5h16v5H4zM4 14h16v5H4z",
  dead: "M5 5l14 14M19 5L5 19",
  schedules: "M12 7v5l3 2M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18z",
  forecast: "M4 20V10M9 20V5M14 20v-8M19 20v-4M3 20h18",
  limits: "M4 16a8 8 0 0 1 16 0M12 16l4-5M4 20h16",
  groups: "M12 4v5M12 9L5 15M12 9l7 6M3 15h4v4H3zM17 15h4v4h-4zM10 2h4v3h-4z",
  workflows: "M4 5h5v5H4zM15 14h5v5h-5zM9 7.500h4v9h2",
  receivers: "M4 12h10M10 7l5 5-5 5M18 4h2v16h-2",
  pull: "M20 12H9M13 7l-5 5 5 5M4 4v16",
  tokens: "M8 11a4 4 0 1 1 3.5 4L9 17.500H7V20H4v-3l4.300-4.300",
  try: "M4 4l16 8-16 8 3-8zM7 12h7",
  search: "M10.500 4a6.500 6.500 0 1 0 0 13 6.500 6.500 0 0 0 0-13zM15.500 15.500L21 21",
  light: "M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM12 2v2M12 20v2M2 12h2M20 12h2M5 5l1.500 1.500M17.500 17.500L19 19M5 19l1.500-1.500M17.500 6.500L19 5",
  dark: "M20 14.500A8.500 8.500 0 0 1 9.500 4 8.500 8.500 0 1 0 20 14.500z",
  system: "M3 5h18v11H3zM9 20h6M12 16v4",
  copy: "M9 9h11v11H9zM5 15H4V4h11v1",
  check: "M4 12.500l5 5L20 6.500",
  close: "M6 6l12 12M18 6L6 18",
  user: "M12 4a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM4 20c1-4 4-6 8-6s7 2 8 6",
  more: "M5 12h.01M12 12h.01M19 12h.01",
  keys: "M3 7h18v10H3zM7 11h.01M11 11h.01M15 11h.01M8 14h8",
  up: "M12 19V6M6 11l6-6 6 6",
  down: "M12 5v13M6 13l6 6 6-6",
  pause: "M8 5v14M16 5v14",
  play: "M7 5l11 7-11 7z",
  refresh: "M20 5v5h-5M4 19v-5h5M19 10a7.500 7.500 0 0 0-14-1M5 14a7.500 7.500 0 0 0 14 1",
  edit: "M4 20l1-4L16 5l3 3L8 19zM14 7l3 3",
  trash: "M4 7h16M9 7V4h6v3M6 7l1 13h10l1-13",
  warning: "M12 4L2.500 20h19zM12 10v5M12 17.500h.01",
  audit: "M6 3h12v18H6zM9 8h6M9 12h6M9 16h3",
  docs: "M6 3h9l4 4v14H6zM14 3v5h5M9 13h7M9 17h7",
};

export const Icon = {
  view: ({ attrs }) =>
    m("svg.icon", { viewBox: "0 0 24 24", "aria-hidden": "true", focusable: "false" }, m("path", { d: PATHS[attrs.name] ?? PATHS.more })),
};

// Copy: m(Copy, {text, label: "Copy the command"}). A button that copies text. text may be a function.
// copyText(text) returns a promise of whether it succeeded; it also works on pages that were loaded over plain HTTP.

export async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyBySelection(text);
  }
}

// navigator.clipboard exists only on https and localhost.
function copyBySelection(text) {
  const area = document.createElement("textarea");
  area.value = text;
  area.className = "off-screen";
  const focused = document.activeElement;
  (document.querySelector("dialog[open]") ?? document.body).append(area);
  area.select();
  const isDone = document.execCommand("copy");
  area.remove();
  focused?.focus?.();
  return isDone;
}

export function Copy() {
  let done = null;
  const copy = async (text) => {
    done = (await copyText(typeof text === "function" ? text() : text)) ? "Copied" : "Copying failed";
    m.redraw();
    setTimeout(() => {
      done = null;
      m.redraw();
    }, 1500);
  };
  return {
    view: ({ attrs: { text, label = "Copy" } }) =>
      m("button.quiet.copy", { type: "button", title: label, "aria-label": done ?? label, onclick: () => copy(text) },
        m(Icon, { name: done === "Copied" ? "check" : "copy" }), done ? m("span.copy-done", done) : null),
  };
}

// onDemand(load): a component whose module is loaded when it is first shown, such as onDemand(() => import("../login.js")).
// The module exports it as its default.

const RETRY_MS = 2000;

export function onDemand(load) {
  let component = null;
  let isLoading = false;
  const begin = async () => {
    if (component || isLoading) return;
    isLoading = true;
    try {
      component = (await load()).default;
    } catch {
      setTimeout(begin, RETRY_MS);
    }
    isLoading = false;
    m.redraw();
  };
  return { oninit: begin, view: ({ attrs }) => (component ? m(component, attrs) : null) };
}
