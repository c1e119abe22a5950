// WhenFields: m(WhenFields, {when}). Fields for a due time: a delay from now, or a local time.
// Changes when in place, to {delay: "15m"} or {at: "2030-01-01T09:00"}.
// whenQuery(when) returns the query for the API: {delay} or {dueAt}.

import { m } from "../lib.js";
import { Field } from "../parts/form.js";
import { utc } from "../format.js";

const DELAYS = ["0s", "1m", "15m", "1h", "6h", "1d"];

export const whenQuery = ({ delay, at }) => (at ? { dueAt: new Date(at).toISOString() } : { delay: delay.trim() });

export const isWhen = ({ delay, at }) => (at ? !Number.isNaN(Date.parse(at)) : Boolean(delay?.trim()));

export const WhenFields = {
  view: ({ attrs: { when, error } }) =>
    m(".when",
      m(".when-delays", { role: "group", "aria-label": "Due in" },
        DELAYS.map((delay) =>
          m("button", { type: "button", "aria-pressed": String(!when.at && when.delay === delay), onclick: () => Object.assign(when, { delay, at: "" }) }, delay === "0s" ? "now" : delay))),
      m(Field, { label: "Due in", value: when.at ? "" : when.delay, placeholder: "1h30m", error, oninput: (delay) => Object.assign(when, { delay, at: "" }) }),
      m(Field, { label: "or at (local time)", type: "datetime-local", step: "1", value: when.at ?? "", help: when.at ? utc(when.at) : "", oninput: (at) => Object.assign(when, { at }) })),
};
