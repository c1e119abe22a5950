// Prints the public methods of the clients in JavaScript, as JSON: node methods.mjs MODULES
// A method is public unless the client's declarations say otherwise.
import { readdirSync, readFileSync } from "node:fs";

const [modules] = process.argv.slice(2);
const TRANSPORT = ["http", "client"]; // members that all parts share

// Returns the private members of the classes of a package, as a Map from a class's name to a Set of names.
function privateMembers(name) {
  const classes = new Map();
  for (const file of readdirSync(`${modules}/${name}`).filter((each) => each.endsWith(".d.ts"))) {
    let members = null;
    for (const line of readFileSync(`${modules}/${name}/${file}`, "utf8").split("\n")) {
      const [, begins] = /^(?:export )?declare (?:abstract )?class (\w+)/.exec(line) ?? [];
      if (begins) classes.set(begins, (members = classes.get(begins) ?? new Set()));
      else if (line === "}") members = null;
      const [, member] = /^ {4}(?:private|protected) (?:static |abstract |readonly )*(\w+)/.exec(line) ?? [];
      if (members && member) members.add(member);
    }
  }
  return classes;
}

function chain(object) {
  const prototypes = [];
  for (let one = object; one && one !== Object.prototype; one = Object.getPrototypeOf(one)) prototypes.push(one);
  return prototypes;
}

// Adds the methods of an object and of its parts to found. Each class is added once.
function addMethods(found, object, path, hidden, seen = new Set()) {
  const name = object.constructor.name.replace(/^_/, "");
  if (!hidden.has(name)) throw new Error(`class ${name} is not declared`);
  if (seen.has(name)) return;
  seen.add(name);
  for (const one of chain(object)) {
    for (const [member, property] of Object.entries(Object.getOwnPropertyDescriptors(one))) {
      if (member === "constructor" || TRANSPORT.includes(member) || hidden.get(name).has(member)) continue;
      if (typeof property.value === "function") found.push(path + member);
      else if (property.get && one !== object) addMethods(found, object[member], `${path}${member}.`, hidden, seen);
    }
  }
}

const qstash = await import(`${modules}/@upstash/qstash/index.mjs`);
const workflow = await import(`${modules}/@upstash/workflow/index.mjs`);
const ofQstash = privateMembers("@upstash/qstash"), ofWorkflow = privateMembers("@upstash/workflow");
const config = { baseUrl: "http://localhost", token: "any", enableTelemetry: false };

const client = [], runs = [], steps = [];
const one = new qstash.Client(config);
addMethods(client, one, "", ofQstash);
addMethods(client, one.queue({ queueName: "any" }), "queue().", ofQstash);
addMethods(client, one.chat(), "chat().", ofQstash);
addMethods(client, new qstash.Receiver({ currentSigningKey: "a", nextSigningKey: "b" }), "Receiver.", ofQstash);
addMethods(runs, new workflow.Client(config), "", ofWorkflow);
for (const [member, property] of Object.entries(Object.getOwnPropertyDescriptors(workflow.WorkflowContext.prototype)))
  if (member !== "constructor" && typeof property.value === "function" && !ofWorkflow.get("WorkflowContext").has(member)) steps.push(member);
console.log(JSON.stringify({ client, runs, steps }));
