// Copy: m(Copy, {text, label: "Copy the command"}). A button that copies text. text may be a function.
// copyText(text) returns a promise of whether it succeeded; it also works on pages that were loaded over plain HTTP.

import { m } from "../lib.js";
import { Icon } from "./icon.js";

export async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyBySelection(text);
  }
}

// navigator.clipboard exists only on https and localhost.
function copyBySelection(text) {
  const area = document.createElement("textarea");
  area.value = text;
  area.className = "off-screen";
  const focused = document.activeElement;
  (document.querySelector("dialog[open]") ?? document.body).append(area);
  area.select();
  const isDone = document.execCommand("copy");
  area.remove();
  focused?.focus?.();
  return isDone;
}

export function Copy() {
  let done = null;
  const copy = async (text) => {
    done = (await copyText(typeof text === "function" ? text() : text)) ? "Copied" : "Copying failed";
    m.redraw();
    setTimeout(() => {
      done = null;
      m.redraw();
    }, 1500);
  };
  return {
    view: ({ attrs: { text, label = "Copy" } }) =>
      m("button.quiet.copy", { type: "button", title: label, "aria-label": done ?? label, onclick: () => copy(text) },
        m(Icon, { name: done === "Copied" ? "check" : "copy" }), done ? m("span.copy-done", done) : null),
  };
}
