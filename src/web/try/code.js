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
  lines.push(`-d ${shellWord(JSON.stringify(job, null, 2))}`);
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

job = ${pythonLiteral(job, "")}
headers = ${headers}
request = urllib.request.Request(${JSON.stringify(url)}, json.dumps(job).encode(), headers)
with urllib.request.urlopen(request) as answer:
    print(answer.status, json.load(answer))`;
}

// Writes a JSON value as Python does.
export function pythonLiteral(value, indent) {
  if (value === null) return "None";
  if (value === true) return "True";
  if (value === false) return "False";
  if (typeof value !== "object") return JSON.stringify(value);
  const deeper = `${indent}    `;
  const isList = Array.isArray(value);
  const items = isList
    ? value.map((one) => pythonLiteral(one, deeper))
    : Object.entries(value).map(([name, one]) => `${JSON.stringify(name)}: ${pythonLiteral(one, deeper)}`);
  const [open, close] = isList ? "[]" : "{}";
  const short = open + items.join(", ") + close;
  if (short.length + indent.length <= 76 && !short.includes("\n")) return short;
  return `${open}\n${items.map((item) => deeper + item).join(",\n")},\n${indent}${close}`;
}

function node(job, { url, hasToken }) {
  const headers = hasToken
    ? '{ "Content-Type": "application/json", Authorization: `Bearer ${process.env.TOKEN}` }'
    : '{ "Content-Type": "application/json" }';
  return `const job = ${JSON.stringify(job, null, 2)};
const answer = await fetch(${JSON.stringify(url)}, {
  method: "POST",
  headers: ${headers},
  body: JSON.stringify(job),
});
console.log(answer.status, await answer.json());`;
}
