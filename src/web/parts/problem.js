// Problem: m(Problem, {error, retry}). An ApiError (or any Error) for people; nothing while error is null.
// retry, a function, adds a button "Try again".

import { m } from "../lib.js";

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
