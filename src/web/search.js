// The search field of the header. It opens the list of jobs with what was typed; topic/jobId opens the job itself.

import { m } from "./lib.js";
import { go, href } from "./router.js";
import { Icon } from "./parts/icon.js";

export function Search() {
  let text = "";
  const onsubmit = (event) => {
    event.preventDefault();
    const wanted = text.trim();
    if (!wanted) return;
    location.hash = searchTarget(wanted);
    text = "";
    document.activeElement?.blur();
  };
  return {
    view: () =>
      m("form.search", { role: "search", onsubmit },
        m(Icon, { name: "search" }),
        m("input#search", {
          type: "search", value: text, placeholder: "Job, topic/id, label …", "aria-label": "Search jobs", autocomplete: "off", spellcheck: "false",
          "aria-keyshortcuts": "/", oninput: (event) => (text = event.target.value),
          onkeydown: (event) => {
            event.redraw = false;
            if (event.key === "Escape") event.target.blur();
          },
        }),
        m("kbd", { "aria-hidden": "true" }, "/")),
  };
}

// Returns the address that a search leads to: "orders/1041" a job, "label:vip" or "topic:orders" a filter, and
// everything else the search of the list of jobs.
export function searchTarget(text) {
  const filter = /^(label|topic|state|urlHost|host|jobId|jobIdPrefix):(.+)$/.exec(text);
  if (filter) return href(["jobs"], { [filter[1] === "host" ? "urlHost" : filter[1]]: filter[2].trim() });
  const slash = text.indexOf("/");
  if (slash > 0 && !text.includes("://") && !/\s/.test(text.slice(0, slash))) return href(["jobs", text.slice(0, slash), text.slice(slash + 1)]);
  return href(["jobs"], { q: text });
}

export const searchFor = (text) => go(["jobs"], { q: text });
