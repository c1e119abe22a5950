// Body - shows the body of a job: JSON as a folding tree, text, or bytes. All of it is untrusted text.
import { m } from "../lib.js";
import { bytes, number } from "../format.js";
import { Copy } from "../parts/copy.js";
import { bodyOf } from "./body_text.js";
import { indent } from "./json_text.js";

const SHOWN = 100,
  LONG = 20000;

// A member or element. Objects and arrays fold, and draw their contents when they are first opened.
function Node({ attrs }) {
  let isOpen = attrs.depth < 3 && attrs.value.items?.length <= 50,
    shown = SHOWN;
  return {
    view({ attrs: { name, value, depth } }) {
      const title = name === null ? null : [m("span.json-name", JSON.stringify(name)), ": "];
      if (!value.items) return m("div.json-line", title, m("span", { class: `json-${value.kind}` }, value.text));
      const [open, close] = value.kind === "object" ? "{}" : "[]";
      if (!value.items.length) return m("div.json-line", title, open + close);
      return m(
        "details.json-node",
        {
          open: isOpen,
          ontoggle: (event) => {
            if (event.target.open !== isOpen) isOpen = event.target.open;
            else event.redraw = false;
          },
        },
        m("summary", title, open, m("span.json-count", ` ${number(value.items.length)} ${close}`)),
        isOpen
          ? m(
              "div.json-items",
              value.items.slice(0, shown).map((item) => m(Node, { name: item.name, value: item.value, depth: depth + 1 })),
              value.items.length > shown
                ? m(
                    "button.link",
                    {
                      type: "button",
                      onclick: () => {
                        shown += 10 * SHOWN;
                      },
                    },
                    `${number(value.items.length - shown)} more`,
                  )
                : null,
            )
          : null,
      );
    },
  };
}

// 16 bytes a line, as hexdump -C shows them.
function hex(data, most = 1024) {
  const lines = [];
  for (let at = 0; at < Math.min(data.length, most); at += 16) {
    const row = [...data.slice(at, at + 16)];
    const digits = row
      .map((byte) => byte.toString(16).padStart(2, "0"))
      .join(" ")
      .padEnd(47);
    lines.push(
      `${at.toString(16).padStart(6, "0")}  ${digits}  ${row.map((byte) => (byte > 31 && byte < 127 ? String.fromCharCode(byte) : ".")).join("")}`,
    );
  }
  if (data.length > most) lines.push(`… ${number(data.length - most)} bytes more`);
  return lines.join("\n");
}

// Shows text. A long text is cut until the person asks for all of it.
function LongText() {
  let isWhole = false;
  return {
    view({ attrs: { text } }) {
      const isLong = text.length > LONG && !isWhole;
      return [
        m("pre.body-text", { tabindex: 0 }, isLong ? text.slice(0, LONG) : text),
        isLong
          ? m(
              "button.link",
              {
                type: "button",
                onclick: () => {
                  isWhole = true;
                },
              },
              `Show all ${number(text.length)} characters`,
            )
          : null,
      ];
    },
  };
}

const KINDS = { json: "JSON", text: "text", bytes: "bytes (Base64)" };

// attrs: text, the JSON text of the job from the API; isHidden, whether the API leaves out bodies of the topic.
export function Body() {
  let view = "tree",
    read = null,
    of = null;
  const button = (name, title) =>
    m(
      "button",
      {
        type: "button",
        "aria-pressed": String(view === name),
        onclick: () => {
          view = name;
        },
      },
      title,
    );
  return {
    view({ attrs: { text, isHidden } }) {
      if (of !== text) [read, of] = [bodyOf(text), text];
      if (read.kind === "none") return m("p.faint", isHidden ? "Bodies of jobs that the server creates are not shown." : "This job has no body.");
      if (read.kind === "left_out")
        return m("p.faint", "The job had a body, which this server's history does not keep (", m("code", "--history-bodies off"), ").");
      return m(
        "div.body",
        m(
          "div.body-head",
          m("span.faint", `${KINDS[read.kind]}, ${bytes(read.size)}`),
          read.kind === "json"
            ? m(
                "span.toggle",
                { role: "group", "aria-label": "Show as" },
                button("tree", "Tree"),
                button("text", "Text"),
                button("sent", "As sent"),
              )
            : null,
          m(Copy, { text: read.text, label: "Copy the body" }),
        ),
        read.kind === "bytes"
          ? m(LongText, { text: hex(read.data) })
          : read.kind === "text" || view === "sent"
            ? m(LongText, { text: read.text })
            : view === "text"
              ? m(LongText, { text: indent(read.value) })
              : m("div.json-tree", { tabindex: 0, role: "group", "aria-label": "Body" }, m(Node, { name: null, value: read.value, depth: 0 })),
      );
    },
  };
}
