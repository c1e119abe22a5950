// The search field of the header. The field opens the list of jobs with the search; topic/jobId opens the job itself.

import { m } from "./lib.js";
import { href } from "./router.js";
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
          type: "search", value: text, placeholder: "topic/id, or topic:orders state:dead", "aria-label": "Search jobs", autocomplete: "off", spellcheck: "false",
          "aria-keyshortcuts": "/", oninput: (event) => (text = event.target.value),
          onkeydown: (event) => {
            event.redraw = false;
            if (event.key === "Escape") event.target.blur();
          },
        }),
        m("kbd", { "aria-hidden": "true" }, "/")),
  };
}

// Returns the address of a search: "orders/order-1041" opens a job. Other searches, such as "topic:orders state:dead", open
// the list of jobs.
export function searchTarget(text) {
  const job = /^([A-Za-z0-9._~-]{1,256})\/(.+)$/.exec(text);
  return job ? href(["jobs", job[1], job[2]]) : href(["jobs"], { q: text });
}
