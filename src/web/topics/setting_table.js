// All settings of a topic, each with its value, the origin of the value, and a button that changes it.

import { m } from "../lib.js";
import { href } from "../router.js";
import { Button } from "../parts/page.js";
import { Table } from "../parts/table.js";
import { SETTINGS, textOf } from "./settings.js";

// attrs: topic, settings, from ({name: "topic", a pattern, or "default"}; null for a pattern), whyNot, onchange(setting)
export const SettingTable = {
  view: ({ attrs: { settings, from, whyNot, onchange } }) =>
    m(Table, {
      label: "Settings",
      rows: SETTINGS,
      rowKey: (setting) => setting.name,
      columns: [
        { name: "title", title: "Setting", view: (setting) => [setting.title, m(".sub", setting.help)] },
        { name: "value", title: "Value", isWide: true, view: (setting) => valueText(setting, settings[setting.name]) },
        ...(from ? [{ name: "from", title: "From", view: (setting) => origin(from[setting.name], settings[setting.name]) }] : []),
        { name: "change", title: "", view: (setting) => m(Button, { kind: "quiet", whyNot, label: `Change ${setting.title}`, onclick: () => onchange(setting) }, "Change") },
      ],
    }),
};

function valueText(setting, value) {
  if (value === undefined) return m("span.faint", setting.preset ?? "–");
  if (setting.kind === "bool") return value ? "yes" : "no";
  return m("code", setting.kind === "json" ? JSON.stringify(value) : textOf(setting, value));
}

function origin(from, value) {
  if (from === "topic" || (!from && value !== undefined)) return "this topic";
  if (!from || from === "default") return m("span.faint", "default");
  return m("a", { href: href(["topics", from]) }, from);
}
