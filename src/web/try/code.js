// A request to POST /jobs as code in several languages. The code reads the token from $TOKEN and never contains it.
//
//   LANGUAGES            [{name: "curl", write: (job, {url, hasToken}) => text}]

import { JsonText, jobText } from "./draft.js";

export const LANGUAGES = [
  { name: "curl", write: curl },
  { name: "Python", write: python },
  { name: "Node", write: node },
];

function curl(job, { url, hasToken }) {
  const lines = [`curl ${shellWord(url)}`, "-H 'Content-Type: application/json'"];
  if (hasToken) lines.push('-H "Authorization: Bearer $TOKEN"');
  lines.push(`-d ${shellWord(jsonLiteral(job, "  "))}`);
  return lines.join(" \\\n  ");
}

// Quotes text for sh.
export function shellWord(text) {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

function python(job, { url, hasToken }) {
  const headers = hasToken
    ? '{"Content-Type": "application/json", "Authorization": "Bearer " + os.environ["TOKEN"]}'
    : '{"Content-Type": "application/json"}';
  return `import json${hasToken ? ", os" : ""}, urllib.request

job = ${pythonLiteral(job)}
headers = ${headers}
request = urllib.request.Request(${JSON.stringify(url)}, json.dumps(job).encode(), headers)
with urllib.request.urlopen(request) as answer:
    print(answer.status, json.load(answer))`;
}

const PYTHON_WORDS = new Map([[null, "None"], [true, "True"], [false, "False"]]);

export const pythonLiteral = (value) =>
  literal(value, "", "    ", ",", (one, indent) => (one instanceof JsonText ? indented(pythonOfJson(one.text), indent) : pythonWord(one)));
export const jsonLiteral = (value, step) =>
  literal(value, "", step, "", (one, indent) => (one instanceof JsonText ? indented(one.text, indent) : JSON.stringify(one)));

const pythonWord = (value) => PYTHON_WORDS.get(value) ?? JSON.stringify(value);

// Rewrites strings, because Python has other escapes. Numbers stay as they are: Python's integers have no limit.
const pythonOfJson = (text) => text.replace(/"(?:[^"\\]|\\.)*"|\b(?:true|false|null)\b/g, (token) => pythonWord(JSON.parse(token)));

// No string of JSON contains a line break.
const indented = (text, indent) => text.replaceAll("\n", `\n${indent}`);

// Whether JavaScript's numbers would change the body.
const isInexact = ({ body }) => body instanceof JsonText && /\d[\d.]{15,}/.test(body.text.replace(/"(?:[^"\\]|\\.)*"/g, ""));

// Writes a JSON value: on one line if it fits, else with a line for each item; `end` follows the last item.
function literal(value, indent, step, end, word) {
  if (value === null || typeof value !== "object" || value instanceof JsonText) return word(value, indent);
  const deeper = indent + step;
  const isList = Array.isArray(value);
  const items = isList
    ? value.map((one) => literal(one, deeper, step, end, word))
    : Object.entries(value).map(([name, one]) => `${JSON.stringify(name)}: ${literal(one, deeper, step, end, word)}`);
  const [open, close] = isList ? "[]" : "{}";
  const short = open + items.join(", ") + close;
  if (short.length + indent.length <= 76 && !short.includes("\n")) return short;
  return `${open}\n${items.map((item) => deeper + item).join(",\n")}${end}\n${indent}${close}`;
}

function node(job, { url, hasToken }) {
  const headers = hasToken
    ? '{ "Content-Type": "application/json", Authorization: `Bearer ${process.env.TOKEN}` }'
    : '{ "Content-Type": "application/json" }';
  const text = isInexact(job)
    ? `const text = ${JSON.stringify(jobText(job))}; // numbers that JavaScript would round`
    : `const text = JSON.stringify(${jsonLiteral(job, "  ")});`;
  return `${text}
const answer = await fetch(${JSON.stringify(url)}, {
  method: "POST",
  headers: ${headers},
  body: text,
});
console.log(answer.status, await answer.json());`;
}
