// Runs a text of JavaScript with the client of QStash: node run.mjs CLIENT '{"baseUrl": ..., names of the text}' <TEXT
// Prints what the text returns, as JSON.
import { readFileSync } from "node:fs";

console.log = console.error; // the client prints lines of its own
const [clientFile, valuesText] = process.argv.slice(2);
const { Client, Receiver } = await import(clientFile);
const { baseUrl, ...values } = JSON.parse(valuesText);
const client = new Client({ baseUrl, token: "any", retry: false });
const AsyncFunction = (async () => {}).constructor;
const names = { client, Client, Receiver, baseUrl, ...values };
const run = new AsyncFunction(...Object.keys(names), readFileSync(0, "utf8"));
let result;
try {
  result = await run(...Object.values(names));
} catch (error) {
  result = { error: error.message, status: error.status };
}
process.stdout.write(JSON.stringify(result ?? null));
