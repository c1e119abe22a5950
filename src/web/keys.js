// Keyboard shortcuts of all pages. A page adds its own with useKeys.
//
//   const stop = useKeys([{keys: "r", text: "Run now", run: () => …}])     in oninit; stop() in onremove
//   helpIsOpen(), showHelp(isOpen)                                         the list that `?` shows
//
// Shortcuts do nothing while the person types or a dialog is open.

import { m } from "./lib.js";
import { go, routes } from "./router.js";

const SECOND_KEY_MS = 1500;

const added = new Set();
let isOpen = false;
let prefix = null;

// Whether the next key is the second one of a shortcut such as `g j`.
export const isAfterPrefix = () => prefix !== null && Date.now() - prefix.at < SECOND_KEY_MS;

export const helpIsOpen = () => isOpen;

export function showHelp(isShown) {
  isOpen = isShown;
  m.redraw();
}

export function useKeys(keys) {
  added.add(keys);
  return () => added.delete(keys);
}

// Returns [{keys, text, run}] of all keys, for the help.
export function allKeys() {
  const places = routes.filter((route) => route.key).map((route) => ({ keys: `g ${route.key}`, text: `Go to ${route.name}`, run: () => go(route.path) }));
  return [
    { keys: "/", text: "Search", run: focusSearch },
    { keys: "?", text: "Show these keys", run: () => showHelp(true) },
    ...places,
    ...[...added].flat(),
  ];
}

export function startKeys() {
  document.addEventListener("keydown", onKey);
}

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || isTyping(event.target)) return;
  // In a list, the list itself handles these keys; elsewhere, they go to its first row.
  if (["j", "k", "ArrowDown", "ArrowUp"].includes(event.key) && !isAfterPrefix() && isNowhere(document.activeElement)) {
    const row = firstRow();
    if (row) {
      event.preventDefault();
      row.focus();
    }
    return;
  }
  if (event.key.length !== 1) return;
  const typed = isAfterPrefix() ? `${prefix.key} ${event.key}` : event.key;
  const found = allKeys().find((one) => one.keys === typed);
  prefix = !found && event.key === "g" ? { key: "g", at: Date.now() } : null;
  if (!found) return;
  event.preventDefault();
  found.run();
  m.redraw();
}

const isNowhere = (focused) => !focused || focused === document.body || focused.matches("main, h1");

// The row of the page's first list that Tab would reach.
const firstRow = () => document.querySelector("main :is(tr, [data-row])[tabindex='0']");

function isTyping(target) {
  return Boolean(target.closest?.("input:not([type=checkbox]):not([type=radio]), textarea, select, [contenteditable], dialog"));
}

function focusSearch() {
  const field = document.getElementById("search");
  field?.focus();
  field?.select();
}
