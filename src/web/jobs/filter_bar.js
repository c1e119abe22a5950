// StateTabs and FilterBar: controls that show and set the filter of a list of jobs. showCurrentTab: an oncreate of such tabs.
//
//   m(StateTabs, {filter, counts})              links, so that each can be opened in a tab of its own
//   m(FilterBar, {filter, topics, seen, onfilter})

import { m } from "../lib.js";
import { compact, number } from "../format.js";
import { href } from "../router.js";
import { Icon } from "../parts/icon.js";
import { change, isNarrow, orderOf, REASONS, STATUSES, timeKind, timeNames } from "./filter.js";

const TABS = [
  { state: "", name: "All waiting and dead" },
  { state: "delayed", name: "Delayed" },
  { state: "ready", name: "Ready" },
  { state: "leased", name: "Leased" },
  { state: "dead", name: "Dead" },
  { state: "delivered", name: "Delivered" },
  { state: "cancelled", name: "Cancelled" },
  { state: "any", name: "All ended" },
];

// Scrolls to the current tab: on a small screen it may be out of view.
export function showCurrentTab({ dom }) {
  const current = dom.querySelector("[aria-current]");
  if (current) dom.scrollLeft = current.offsetLeft - 40;
}

export const StateTabs = {
  view: ({ attrs: { filter, counts } }) =>
    m("nav.tabs", { "aria-label": "State", oncreate: showCurrentTab },
      TABS.map(({ state, name }) => {
        const isHere = (filter.state ?? "") === state;
        const count = counts[state];
        return m("a", { href: href(["jobs"], change(filter, { state })), "aria-current": isHere ? "page" : undefined }, name,
          count === undefined ? null : m("span.tab-count", { title: number(count) }, compact(count)));
      })),
};

const TIME_TITLES = { due: ["Due from", "Due before"], died: ["Died from", "Died before"], ended: ["Ended from", "Ended before"] };

// Convert between a time of the API and the value of an input for local time.
function toLocal(text) {
  const at = text ? new Date(text) : null;
  return at && !Number.isNaN(at.getTime()) ? new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 19) : "";
}
const fromLocal = (text) => (text ? new Date(text).toISOString() : "");

// The page is drawn anew while a person types; meanwhile the field keeps the typed text.
function Box() {
  let typed;
  return {
    view: ({ attrs: { title, name, value, set, ...attrs } }) => m("label.filter", { class: `${value ? "is-set" : ""} ${attrs.type ? "is-time" : ""}` },
      m("span", title),
      m("input", {
        value: typed ?? value ?? "", spellcheck: "false", autocomplete: "off", ...attrs, list: attrs.list ? `filter-${name}` : undefined,
        oninput: (event) => (typed = event.target.value),
        onchange: (event) => set(event.target.value.trim()),
        onblur: () => (typed = undefined),
      }),
      attrs.list ? m("datalist", { id: `filter-${name}` }, attrs.list.map((one) => m("option", { value: one }))) : null),
  };
}
const box = (title, name, value, set, attrs) => m(Box, { title, name, value, set, ...attrs });

export function FilterBar() {
  let isOpen = window.innerWidth > 900;
  return {
    view: ({ attrs: { filter, topics, seen, hasHistory, onfilter } }) => {
      const set = (name) => (value) => onfilter(change(filter, { [name]: value }));
      const [after, before] = timeNames(filter);
      const [from, to] = TIME_TITLES[timeKind(filter)];
      const canHaveReason = filter.state === "dead" || filter.state === "any";
      return m(".filters",
        m("button.quiet.filters-toggle", { type: "button", "aria-expanded": String(isOpen), "aria-controls": "filters", onclick: () => (isOpen = !isOpen) }, m(Icon, { name: isOpen ? "up" : "down" }), "Filters"),
        m(".filter-row#filters", { hidden: !isOpen },
          box("Topic", "topic", filter.topic, set("topic"), { list: topics }),
          box("Id begins with", "idPrefix", filter.idPrefix, set("idPrefix")),
          box("Label", "label", filter.label, set("label"), { list: seen.labels }),
          box("Last status", "lastStatus", filter.lastStatus, set("lastStatus"), { list: STATUSES, placeholder: "5xx" }),
          box("Receiver host", "urlHost", filter.urlHost, set("urlHost"), { list: seen.hosts }),
          canHaveReason ? box("Reason", "reason", filter.reason, set("reason"), { list: REASONS }) : null,
          filter.state === "leased" ? null : box(from, after, toLocal(filter[after]), (text) => set(after)(fromLocal(text)), { type: "datetime-local" }),
          filter.state === "leased" ? null : box(to, before, toLocal(filter[before]), (text) => set(before)(fromLocal(text)), { type: "datetime-local" }),
          filter.state === "dead" && hasHistory ? m("label.filter", m("span", "Kept in"),
            m("select", { value: filter.source ?? "redis", onchange: (event) => set("source")(event.target.value === "history" ? "history" : "") }, m("option", { value: "redis" }, "Redis"), m("option", { value: "history" }, "History"))) : null,
          m("label.filter", m("span", "Order"),
            m("select", { value: orderOf(filter), onchange: (event) => set("order")(event.target.value) }, m("option", { value: "oldest" }, timeKind(filter) === "due" ? "Due first" : "Oldest first"), m("option", { value: "newest" }, timeKind(filter) === "due" ? "Due last" : "Newest first"))),
          isNarrow(filter) ? m("button.quiet", { type: "button", onclick: () => onfilter(change({}, { state: filter.state })) }, "Clear") : null));
    },
  };
}
