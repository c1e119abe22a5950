// Reads the body of a job. Uses neither the page nor the network.

import { memberText, readJson, stringOf } from "./json_text.js";

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
