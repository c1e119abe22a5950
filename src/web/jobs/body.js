// The body of a job, and JSON as text: layout, colours, search.

import { m } from "../lib.js";
import { bytes, number } from "../format.js";
import { Copy } from "../parts/page.js";

// Body - shows the body of a job: JSON as a folding tree, text, or bytes. All of it is untrusted text.

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

// Reads the body of a job. Uses neither the page nor the network.

// Reads the body from a job's JSON text: {kind: "none" | "left_out" | "json" | "text" | "bytes", text, value, data}.
export function bodyOf(jobText) {
  const base64 = memberText(jobText, "bodyBase64");
  if (base64 !== null) return bytesOf(JSON.parse(base64));
  const text = memberText(jobText, "body");
  if (text === null) return { kind: memberText(jobText, "bodyLeftOut") === "true" ? "left_out" : "none", text: "", size: 0 };
  const value = readJson(text);
  if (value.kind !== "string") return { kind: "json", text, value, size: sizeOf(text) };
  const sent = stringOf(value),
    inner = /^\s*[[{]/.test(sent) ? readJson(sent) : null;
  return inner ? { kind: "json", text: sent, value: inner, size: sizeOf(sent) } : { kind: "text", text: sent, size: sizeOf(sent) };
}

const sizeOf = (text) => new TextEncoder().encode(text).length;

function bytesOf(base64) {
  const data = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
  return { kind: "bytes", text: base64, data, size: data.length };
}

// Reads JSON without loss: numbers stay as they were written (1.10, 12345678901234567890), and duplicate keys are kept.

const SPACE = /[ \t\r\n]*/y,
  SCALAR = /"(?:[^"\\\u0000-\u001f]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y;

// {kind: "object" | "array" | "string" | "number" | "word", text, from, to, items: [{name, value}]}; null if text is not JSON.
export function readJson(text) {
  const reader = { text, at: 0 };
  try {
    const value = readValue(reader, 0);
    skip(reader);
    return reader.at === text.length ? value : null;
  } catch (error) {
    return null;
  }
}

function skip(reader) {
  SPACE.lastIndex = reader.at;
  SPACE.test(reader.text);
  reader.at = SPACE.lastIndex;
  return reader.text[reader.at];
}

function take(reader, letter) {
  if (skip(reader) !== letter) throw new SyntaxError(`${letter} expected`);
  reader.at++;
}

function readScalar(reader) {
  SCALAR.lastIndex = reader.at;
  const found = SCALAR.exec(reader.text);
  if (!found) throw new SyntaxError("value expected");
  reader.at = SCALAR.lastIndex;
  const [text] = found;
  return { kind: text[0] === '"' ? "string" : /[tfn]/.test(text[0]) ? "word" : "number", text, from: found.index, to: reader.at };
}

function readValue(reader, depth) {
  if (depth > 200) throw new SyntaxError("too deep");
  const open = skip(reader),
    from = reader.at;
  if (open !== "{" && open !== "[") return readScalar(reader);
  const kind = open === "{" ? "object" : "array",
    close = open === "{" ? "}" : "]",
    items = [];
  reader.at++;
  while (skip(reader) !== close) {
    if (items.length) take(reader, ",");
    let name = null;
    if (kind === "object") {
      skip(reader);
      name = stringOf(readScalar(reader));
      take(reader, ":");
    }
    items.push({ name, value: readValue(reader, depth + 1) });
  }
  reader.at++;
  return { kind, from, to: reader.at, items, text: "" };
}

// Returns the text that a JSON string stands for.
function stringOf(value) {
  return JSON.parse(value.text);
}

// Returns the JSON text of an object's member, as it was written; null if the object does not have it.
export function memberText(text, name) {
  const document = readJson(text);
  const found = document?.kind === "object" && document.items.find((item) => item.name === name);
  return found ? text.slice(found.value.from, found.value.to) : null;
}

// Returns the same JSON with line breaks and indentation.
export function indent(value, depth = 0) {
  if (!value.items) return value.text;
  const [open, close] = value.kind === "object" ? "{}" : "[]";
  if (!value.items.length) return open + close;
  const space = "  ".repeat(depth + 1);
  const lines = value.items.map(
    ({ name, value: one }) => `${space}${name === null ? "" : `${JSON.stringify(name)}: `}${indent(one, depth + 1)}`,
  );
  return `${open}\n${lines.join(",\n")}\n${"  ".repeat(depth)}${close}`;
}

// Json: m(Json, {value}) or m(Json, {text}). Pretty-prints JSON as text; never as HTML. text that is not JSON is shown
// as it is. label names the block for screen readers; it has a button that copies the original.

const COLOURED_BYTES = 100_000; // larger texts are shown without colours, which is quicker

export function Json() {
  let last = {};
  return {
    view: ({ attrs: { value, text, label = "JSON" } }) => {
      if (last.value !== value || last.text !== text) last = { value, text, ...prepare(value, text) };
      return m(".json", m("pre", { tabindex: 0, "aria-label": label }, m("code", last.parts)), m(Copy, { text: last.original, label: `Copy ${label}` }));
    },
  };
}

function prepare(value, text) {
  let parsed = value;
  if (value === undefined) {
    try {
      parsed = JSON.parse(text);
    } catch {
      return { original: text ?? "", parts: text ?? "" };
    }
  }
  const pretty = JSON.stringify(parsed, null, 2) ?? "";
  return { original: text ?? pretty, parts: pretty.length > COLOURED_BYTES ? pretty : colour(pretty) };
}

const TOKEN = /("(?:[^"\\]|\\.)*")(\s*:)?|\b(?:true|false|null)\b|-?\d[\d.eE+-]*/g;

function colour(text) {
  const parts = [];
  let at = 0;
  for (const match of text.matchAll(TOKEN)) {
    if (match.index > at) parts.push(text.slice(at, match.index));
    if (match[2] !== undefined) parts.push(m("span.json-key", match[1]), match[2]);
    else parts.push(m(match[1] !== undefined ? "span.json-text" : "span.json-value", match[0]));
    at = match.index + match[0].length;
  }
  parts.push(text.slice(at));
  return parts;
}
