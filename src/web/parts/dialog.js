// Dialog: m(Dialog, {title, onclose, isWide}, children). Modal while it is in the tree; Escape calls onclose.
// confirm({title, text, action, decline, danger}): a promise of whether the person agreed. text may be vnodes; action and
//   decline are the texts of the buttons.

import { m } from "../lib.js";
import { Icon } from "./icon.js";

export function Dialog() {
  let focused;
  return {
    oncreate: ({ dom }) => {
      focused = document.activeElement;
      dom.showModal();
      (dom.querySelector("[autofocus]") ?? dom.querySelector("input, select, textarea, .dialog-actions button"))?.focus();
    },
    onremove: ({ dom }) => {
      dom.close(); // while the dialog is open, nothing behind it can have the focus
      if (focused?.isConnected) focused.focus({ preventScroll: true });
    },
    view: ({ attrs: { title, onclose, isWide }, children }) =>
      m("dialog.dialog", { class: isWide ? "is-wide" : "", "aria-label": title, oncancel: (event) => { event.preventDefault(); onclose(); } },
        m("header", m("h2", title), m("button.quiet", { type: "button", "aria-label": "Close", onclick: onclose }, m(Icon, { name: "close" }))),
        m(".dialog-body", children)),
  };
}

let asked = null;

export function confirm({ title, text, action = "OK", decline = "Cancel", danger = false }) {
  asked?.answer(false);
  return new Promise((resolve) => {
    asked = {
      title, text, action, decline, danger,
      answer: (isAgreed) => {
        asked = null;
        resolve(isAgreed);
        m.redraw();
      },
    };
    m.redraw();
  });
}

// Shown once, by the shell.
export const Confirmation = {
  view: () =>
    asked
      ? m(Dialog, { title: asked.title, onclose: () => asked.answer(false) },
          typeof asked.text === "string" ? m("p", asked.text) : asked.text,
          m(".dialog-actions",
            m("button", { type: "button", onclick: () => asked.answer(false) }, asked.decline),
            m(`button.${asked.danger ? "danger" : "primary"}`, { type: "button", autofocus: true, onclick: () => asked.answer(true) }, asked.action)))
      : null,
};
