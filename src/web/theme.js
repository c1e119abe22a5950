// The colour theme: the system's, light or dark. This browser stores the choice.
//
//   theme()         "system", "light" or "dark"
//   nextTheme()     goes to the next of the three
//   onTheme(fn)     calls fn when the colours change; returns the function that unsubscribes

const NAME = "duepost.theme";
const ORDER = ["system", "light", "dark"];

const listeners = new Set();
let chosen = read();

export const theme = () => chosen;

export function nextTheme() {
  chosen = ORDER[(ORDER.indexOf(chosen) + 1) % ORDER.length];
  try {
    localStorage.setItem(NAME, chosen);
  } catch {
    // Without storage the choice lasts until the page is closed.
  }
  apply();
}

export function onTheme(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function startTheme() {
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", notify);
  apply();
}

function read() {
  try {
    const kept = localStorage.getItem(NAME);
    return ORDER.includes(kept) ? kept : "system";
  } catch {
    return "system";
  }
}

function apply() {
  if (chosen === "system") document.documentElement.removeAttribute("data-theme");
  else document.documentElement.setAttribute("data-theme", chosen);
  notify();
}

function notify() {
  for (const listener of listeners) listener();
}
