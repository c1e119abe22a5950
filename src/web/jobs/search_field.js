// SearchField: the search field for jobs. Completes its words and their values.
//
//   m(SearchField, {filter, seen, onsearch})   onsearch({filter, id}) with Enter. seen: {labels, hosts} of the list.

import { m } from "../lib.js";
import { get } from "../api.js";
import { Icon } from "../parts/icon.js";
import { format, parse, REASONS, split, STATES, STATUSES, WORDS } from "./filter.js";

const HELP = {
  state: "delayed, ready, leased, dead …", topic: "a topic", id: "beginning of the id", label: "a label", status: "status of the last answer: 5xx, 404",
  reason: "why it died", host: "of the receiver", after: "a time: 2026-01-31, -2h", before: "a time: 2026-01-31, +1d",
};
const MOST = 10;

let topics = null; // names of topics, read when they are first needed

// Calls then() when the topics have been read.
async function loadTopics(then) {
  if (topics) return;
  topics = [];
  try {
    topics = (await get("/topics", { limit: 1000 })).body.topics.map((one) => one.topic);
  } catch {
    topics = null; // without the names, topics are not completed; the next call tries again
  }
  then();
  m.redraw();
}

function valuesOf(word, seen) {
  const values = { state: STATES, status: STATUSES, reason: REASONS, topic: topics ?? [], label: seen.labels, host: seen.hosts, after: ["-15m", "-1h", "-1d"], before: ["-1h", "+1h", "+1d"] };
  return values[word] ?? [];
}

// Returns the completions at the cursor, [{text, help}], and the position of the text that they replace.
export function completions(text, cursor, seen) {
  const before = text.slice(0, cursor);
  const last = split(before).pop();
  const isOpen = last && !/\s$/.test(before);
  const from = isOpen ? cursor - last.whole.length : cursor;
  if (!isOpen) return { from, options: WORDS.map((word) => ({ text: `${word}:`, help: HELP[word] })).filter((one) => !text.includes(one.text)) };
  if (last.word) {
    const wanted = last.value.toLowerCase();
    const found = valuesOf(last.word, seen).filter((value) => value.toLowerCase().includes(wanted) && value !== last.value);
    return { from, options: found.slice(0, MOST).map((value) => ({ text: `${last.word}:${/\s/.test(value) ? `"${value}"` : value} `, help: "" })) };
  }
  const words = WORDS.filter((word) => word.startsWith(last.whole.toLowerCase()));
  const names = last.whole.length > 1 && topics ? topics.filter((name) => name.startsWith(last.whole)).slice(0, 5) : [];
  return { from, options: [...words.map((word) => ({ text: `${word}:`, help: HELP[word] })), ...names.map((name) => ({ text: `topic:${name} `, help: "topic" }))] };
}

export function SearchField({ attrs: first }) {
  const state = { text: format(first.filter), of: first.filter, isOpen: false, at: -1, found: { from: 0, options: [] }, unknown: [] };
  let input = null;

  const look = (attrs) => {
    loadTopics(() => input === document.activeElement && look(attrs));
    state.found = completions(state.text, input.selectionStart ?? state.text.length, attrs.seen);
    state.at = -1;
    state.isOpen = state.found.options.length > 0;
  };
  const take = (option, attrs) => {
    const cursor = input.selectionStart ?? state.text.length;
    const head = state.text.slice(0, state.found.from) + option.text;
    state.text = head + state.text.slice(cursor).replace(/^\s+/, "");
    input.value = state.text;
    input.focus();
    input.setSelectionRange(head.length, head.length);
    look(attrs);
  };
  const search = (attrs) => {
    const wanted = parse(state.text, { order: attrs.filter.order, source: attrs.filter.source });
    state.unknown = wanted.unknown;
    if (!wanted.unknown.length) attrs.onsearch(wanted);
    state.isOpen = false;
  };
  const onkeydown = (event, attrs) => {
    const { options } = state.found;
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      if (!state.isOpen) return look(attrs);
      state.at = (state.at + (event.key === "ArrowDown" ? 1 : options.length) + (state.at < 0 && event.key === "ArrowUp" ? 1 : 0)) % options.length;
    } else if (event.key === "Enter" && state.isOpen && state.at >= 0) {
      take(options[state.at], attrs);
    } else if (event.key === "Tab" && state.isOpen && !event.shiftKey && state.text && !/\s$/.test(state.text)) {
      take(options[Math.max(state.at, 0)], attrs);
    } else if (event.key === "Escape" && state.isOpen) {
      state.isOpen = false;
    } else {
      event.redraw = false;
      return undefined;
    }
    return event.preventDefault();
  };

  return {
    oncreate: ({ dom }) => (input = dom.querySelector("input")),
    view: ({ attrs }) => {
      if (JSON.stringify(attrs.filter) !== JSON.stringify(state.of)) Object.assign(state, { text: format(attrs.filter), of: attrs.filter, unknown: [] });
      const { options } = state.found;
      return m("form.job-search", { role: "search", "aria-label": "Jobs", onsubmit: (event) => { event.preventDefault(); search(attrs); } },
        m(Icon, { name: "search" }),
        m("input", {
          type: "text", role: "combobox", "aria-label": "Search jobs by id and by words such as topic: and state:", "aria-autocomplete": "list", "aria-controls": "job-search-list",
          "aria-expanded": String(state.isOpen), "aria-activedescendant": state.isOpen && state.at >= 0 ? `job-search-${state.at}` : undefined,
          autocomplete: "off", spellcheck: "false", placeholder: "order-10   topic:orders state:dead status:5xx label:eu host:shop.example", value: state.text,
          oninput: (event) => { state.text = event.target.value; look(attrs); },
          onclick: () => look(attrs), onkeydown: (event) => onkeydown(event, attrs), onblur: () => (state.isOpen = false),
        }),
        m("ul#job-search-list", { role: "listbox", "aria-label": "Completions", hidden: !state.isOpen },
          options.map((option, i) =>
            m(`li#job-search-${i}`, { role: "option", "aria-selected": String(i === state.at), onmousedown: (event) => { event.preventDefault(); take(option, attrs); } },
              m("code", option.text.trim()), option.help ? m("span.sub", ` ${option.help}`) : null))),
        state.unknown.length ? m("p.field-error", { role: "alert" }, `Not understood: ${state.unknown.join(" ")}`) : null);
    },
  };
}
