// The frame around each page: rail, header, notices, dialogs; loads the page's module and moves the focus to it.

import { m } from "./lib.js";
import { route, href, onRoute, routes, findRoute } from "./router.js";
import { session, logout, connection } from "./api.js";
import { useClock } from "./live.js";
import { theme, nextTheme } from "./theme.js";
import { helpIsOpen, showHelp, allKeys } from "./keys.js";
import { duration } from "./format.js";
import { Confirmation, Dialog } from "./parts/form.js";
import { Icon, Problem, onDemand } from "./parts/page.js";
import { Toasts } from "./parts/toast.js";

const Login = onDemand(() => import("./login.js"));
const Clock = onDemand(() => import("./clock.js"));

const page = { place: "", found: null, component: null, error: null };

// Shows the page of the route; the old one stays until the new module is there.
async function openPage() {
  const place = JSON.stringify(route.segments);
  if (place === page.place && !page.error) return;
  const isFirst = page.place === "";
  page.place = place;
  const found = findRoute(route.segments);
  let component = found ? Failed : NotFound;
  let error = null;
  try {
    if (found) component = (await found.route.load()).default;
  } catch (problem) {
    error = problem;
  }
  if (page.place !== place) return;
  Object.assign(page, { found, component, error, key: place });
  document.title = titleOf(component, found);
  m.redraw();
  if (!isFirst) requestAnimationFrame(focusPage);
}

function titleOf(component, found) {
  const title = component.title ?? found?.route.name;
  const text = typeof title === "function" ? title(found?.params ?? {}) : title;
  return text ? `${text} · duepost` : "duepost";
}

function focusPage() {
  window.scrollTo(0, 0);
  document.getElementById("main")?.focus({ preventScroll: true });
}

const NotFound = {
  title: "No such page",
  view: () => m(".empty", m("h1", "No such page"), m("p", m("a", { href: href() }, "Back to the overview"))),
};

const Failed = {
  view: () => [m("h1", "No page"), m(Problem, { error: { title: "The page could not be loaded", detail: page.error?.message }, retry: openPage })],
};

export function Shell() {
  return {
    oninit: () => {
      onRoute(openPage);
      openPage();
    },
    view: () => [
      m("a.skip", { href: "#main", onclick: skip }, "Skip to content"),
      session.access?.clock === "manual" ? m(Clock) : null,
      m(Rail),
      m(Header),
      m(Lost),
      m("main#main", { tabindex: -1 }, session.isLocked ? m(Login) : content()),
      m(Toasts),
      m(Confirmation),
      helpIsOpen() ? m(KeyHelp, { onclose: () => showHelp(false) }) : null,
    ],
  };
}

function skip(event) {
  event.preventDefault();
  document.getElementById("main").focus();
}

function content() {
  if (!page.component) return null;
  return m(".page", { key: page.key }, m(page.component, { params: page.found?.params ?? {}, query: route.query }));
}

const Rail = {
  view: () =>
    m("nav.rail", { "aria-label": "Pages", oncreate: showHere, onupdate: showHere },
      m("a.brand", { href: href(), "aria-label": "duepost, overview" }, m("img", { src: new URL("./icon.svg", import.meta.url).href, alt: "", width: 24, height: 24 }), m("span", "duepost")),
      m("ul", routes.filter((one) => one.name).map(railItem),
        m("li.to-docs", m("a", { href: "docs", title: "The contract of the API" }, m(Icon, { name: "docs" }), m("span", "API"))))),
};

// On a small screen the rail scrolls. Brings the item of a newly opened page into view.
let shownHere = null;
function showHere({ dom }) {
  const here = dom.querySelector("li [aria-current]");
  if (here === shownHere || !here) return;
  shownHere = here;
  if (dom.scrollWidth > dom.clientWidth) dom.scrollLeft = here.offsetLeft + here.offsetWidth / 2 - dom.clientWidth / 2;
}

function railItem(one) {
  const isHere = (route.segments[0] ?? "") === (one.path[0] ?? "");
  return m("li", { class: one.path[0] ? `to-${one.path[0]}` : "to-overview" },
    m("a", { href: href(one.path), "aria-current": isHere ? "page" : undefined, title: `g ${one.key}` }, m(Icon, { name: one.icon }), m("span", one.name)));
}

const Header = {
  view: () =>
    m("header.top", m(Search), m(".top-end", m(Connection), who(), themeButton(),
      m("button.quiet.wide-only", { type: "button", "aria-label": "Keyboard", title: "Keyboard (?)", onclick: () => showHelp(true) }, m(Icon, { name: "keys" })))),
};

const Connection = {
  view: () => m("span.connection", { class: connection.isOk ? "is-ok" : "is-lost", title: connection.isOk ? "Connected" : "No connection" },
    m("span.dot", { "aria-hidden": "true" }), m("span", connection.isOk ? "Live" : "Offline")),
};

function who() {
  if (!session.hasToken) return null;
  const name = session.access?.name ?? "token";
  return m("span.who", m(Icon, { name: "user" }), m("span", name), m("button.quiet", { type: "button", onclick: logout }, "Log out"));
}

function themeButton() {
  const names = { system: "as the system", light: "light", dark: "dark" };
  return m("button.quiet", { type: "button", "aria-label": `Theme: ${names[theme()]}`, title: `Theme: ${names[theme()]}`, onclick: nextTheme }, m(Icon, { name: theme() }));
}

// Reports a lost connection, and a proxy that changes paths, above the page, which stays.
function Lost() {
  let stop = null;
  return {
    oninit: () => (stop = useClock()),
    onremove: () => stop(),
    view: () => m(".lost", { role: "status" },
      connection.isOk ? null : m("p", `No connection since ${duration(Math.max(1000, Date.now() - connection.since))}. The page shows the state before that. Trying again…`),
      pathCheck.warning ? m("p", pathCheck.warning, " ", m("a", { href: "docs#/server/checkPath" }, "How to configure the proxy")) : null),
  };
}

// The search field of the header. The field opens the list of jobs with the search; topic/jobId opens the job itself.

function Search() {
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
function searchTarget(text) {
  const job = /^([A-Za-z0-9._~-]{1,256})\/(.+)$/.exec(text);
  return job ? href(["jobs", job[1], job[2]]) : href(["jobs"], { q: text });
}

// The list of keys that `?` shows.

const LISTS = [
  { keys: "j k ↑ ↓", text: "Go to a list, move in it" },
  { keys: "Enter", text: "Open the row" },
  { keys: "Space", text: "Select the row" },
  { keys: "Esc", text: "Close a dialog, leave the search" },
];

const KeyHelp = {
  view: ({ attrs: { onclose } }) =>
    m(Dialog, { title: "Keyboard", onclose }, m("dl.keys", [...allKeys(), ...LISTS].map((one) => m("div", m("dt", one.keys.split(" ").map((key) => m("kbd", key))), m("dd", one.text))))),
};

// Whether a proxy before the server changes paths. An id with a slash, which is encoded as %2F, would then become another
// path, and an action could reach another job or a topic.
//
//   checkPaths()         asks the server once, at start
//   pathCheck.warning    a sentence for people, or ""

const pathCheck = { warning: "" };

// Like the encoded id a/../b%2Fc, and two slashes, which the clients of QStash's API send. Browsers send it as it is.
const SENT_ID = "a%2F..%2Fb%252Fc";
const SENT = `${SENT_ID}//d`;

// Returns the path that arrives, null for another answer, and SENT for an error of a server that is too old for this check.
async function arrived(path) {
  const answer = await fetch(new URL(`path-check/${path}`, document.baseURI), { cache: "no-store", credentials: "omit", redirect: "error" });
  if (answer.headers.get("Content-Type") === "application/problem+json") return SENT;
  const body = await answer.json().catch(() => null);
  return typeof body?.path === "string" ? body.path : null;
}

export async function checkPaths() {
  const got = await arrived(SENT);
  if (got === SENT) return;
  if (got === null) {
    if ((await arrived("a")) !== "a") return; // it is not about slashes
    pathCheck.warning = `A proxy refuses the path ${SENT}, so jobs whose ids have a slash cannot be opened.`;
  } else if (got.startsWith(SENT_ID)) {
    pathCheck.warning = `A proxy changes the path ${SENT} to ${got}. Clients of QStash's API need it as they send it.`;
  } else {
    pathCheck.warning = `A proxy changes the path ${SENT} to ${got}. An action on a job can reach another job or a topic.`;
  }
  m.redraw();
}
