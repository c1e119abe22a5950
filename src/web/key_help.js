// The list of keys that `?` shows.

import { m } from "./lib.js";
import { allKeys } from "./keys.js";
import { Dialog } from "./parts/dialog.js";

const LISTS = [
  { keys: "j k ↑ ↓", text: "Go to a list, move in it" },
  { keys: "Enter", text: "Open the row" },
  { keys: "Space", text: "Select the row" },
  { keys: "Esc", text: "Close a dialog, leave the search" },
];

export default {
  view: ({ attrs: { onclose } }) =>
    m(Dialog, { title: "Keyboard", onclose }, m("dl.keys", [...allKeys(), ...LISTS].map((one) => m("div", m("dt", one.keys.split(" ").map((key) => m("kbd", key))), m("dd", one.text))))),
};
