// A request to POST /jobs as programs write it. The token is never part of it: it is read from $TOKEN.
//
//   LANGUAGES            [{name: "curl", write: (job, {url, hasToken}) => text}]

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

export const pythonLiteral = (value) => literal(value, "", "    ", ",", (one) => PYTHON_WORDS.get(one) ?? JSON.stringify(one));
export const jsonLiteral = (value, step) => literal(value, "", step, "", JSON.stringify);

// Writes a JSON value: on one line if it fits, else each item on its own; `end` follows the last of them.
function literal(value, indent, step, end, word) {
  if (value === null || typeof value !== "object") return word(value);
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
  return `const job = ${jsonLiteral(job, "  ")};
const answer = await fetch(${JSON.stringify(url)}, {
  method: "POST",
  headers: ${headers},
  body: JSON.stringify(job),
});
console.log(answer.status, await answer.json());`;
}
