// Short notices at the bottom. Screen readers announce them politely (aria-live).
//
//   toast("Paused orders.")                              gone after 5 s
//   toast("Deleted.", {undo: () => …, seconds: 5})        with a button "Undo"
//   toast("Not saved", {kind: "bad"})                    stays 10 s
//   later("Deleting 3 jobs", send, {seconds: 5})         for actions without a way back: offers "Undo" first, then calls send.
//       Returns a promise: true after send was called (its errors are thrown), false after Undo.

import { m } from "../lib.js";
import { Icon } from "./page.js";

let toasts = [];
let nextId = 1;

export function toast(text, { undo, seconds, kind = "ok", onend } = {}) {
  const one = { id: nextId++, text, undo, kind, onend };
  const wait = seconds ?? (kind === "bad" ? 10 : 5);
  one.seconds = wait;
  one.timer = setTimeout(() => end(one), wait * 1000);
  toasts = [...withRoom(toasts), one];
  m.redraw();
  return () => end(one);
}

// Keeps at most three of the other notices. A notice with "Undo" always stays until its time is over, because it then
// calls send.
const withRoom = (others) => others.filter((other, i) => other.undo || other.onend || i >= others.length - 3);

export function later(text, send, { seconds = 5 } = {}) {
  return new Promise((resolve, reject) => {
    let isUndone = false;
    const close = keepOpen(); // closing the tab now would cancel send
    toast(text, {
      seconds,
      undo: () => {
        isUndone = true;
      },
      onend: () => {
        close();
        if (isUndone) resolve(false);
        else Promise.resolve().then(send).then(() => resolve(true), reject);
      },
    });
  });
}

function end(one) {
  if (!toasts.includes(one)) return;
  clearTimeout(one.timer);
  toasts = toasts.filter((other) => other !== one);
  one.onend?.();
  m.redraw();
}

function undo(one) {
  one.undo();
  end(one);
}

export const Toasts = {
  view: () =>
    m(".toasts", { role: "status", "aria-live": "polite", "aria-label": "Notices" },
      toasts.map((one) =>
        m(`.toast.is-${one.kind}`, { key: one.id },
          m("span", one.text),
          one.undo ? m("button.quiet", { type: "button", onclick: () => undo(one) }, "Undo") : null,
          one.undo ? null : m("button.quiet", { type: "button", "aria-label": "Dismiss", onclick: () => end(one) }, m(Icon, { name: "close" }))))),
};

// keepOpen(): makes the browser ask before it closes the tab. Call it when an action begins that closing the tab would cancel,
// and call the function that it returns when the action is over. The browser asks only if the person has used the page, and in
// its own words.

let reasons = 0;

function onbeforeunload(event) {
  event.preventDefault();
  event.returnValue = true; // Chromium before 119
}

export function keepOpen() {
  if (reasons++ === 0) window.addEventListener("beforeunload", onbeforeunload);
  let isOver = false;
  return () => {
    if (isOver) return;
    isOver = true;
    if (--reasons === 0) window.removeEventListener("beforeunload", onbeforeunload);
  };
}
