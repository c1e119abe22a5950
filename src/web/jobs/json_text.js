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
export function stringOf(value) {
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
