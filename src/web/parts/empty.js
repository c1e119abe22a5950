// Empty: m(Empty, {title, text, command}, children). Shown in place of an empty list. command is a line for a
// terminal, with a button that copies it.

import { m } from "../lib.js";
import { Copy } from "./copy.js";

export const Command = {
  view: ({ attrs: { text, label = "Copy the command" } }) =>
    m(".command", m("pre", { tabindex: 0 }, m("code", text)), m(Copy, { text, label })),
};

export const Empty = {
  view: ({ attrs: { title, text, command }, children }) =>
    m(".empty", title ? m("h2", title) : null, text ? m("p", text) : null, command ? m(Command, { text: command }) : null, children),
};
