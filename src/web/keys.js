// Keyboard shortcuts of all pages. A page adds its own with useKeys.
//
//   const stop = useKeys([{keys: "r", text: "Run now", run: () => …}])     in oninit; stop() in onremove
//   helpIsOpen(), showHelp(isOpen)                                         the list that `?` shows
//
// Shortcuts do nothing while the person types or a dialog is open.

import { m } from "./lib.js";
import { go } from "./router.js";
import { routes } from "./routes.js";

const SECOND_KEY_MS = 1500;

const added = new Set();
let isOpen = false;
let prefix = null;

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
  if (event.key.length !== 1) return;
  const typed = prefix && Date.now() - prefix.at < SECOND_KEY_MS ? `${prefix.key} ${event.key}` : event.key;
  const found = allKeys().find((one) => one.keys === typed);
  prefix = !found && event.key === "g" ? { key: "g", at: Date.now() } : null;
  if (!found) return;
  event.preventDefault();
  found.run();
  m.redraw();
}

function isTyping(target) {
  return Boolean(target.closest?.("input:not([type=checkbox]):not([type=radio]), textarea, select, [contenteditable], dialog"));
}

function focusSearch() {
  const field = document.getElementById("search");
  field?.focus();
  field?.select();
}
