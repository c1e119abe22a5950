// changesOf(old, now, isMerged): the JSON merge patch (RFC 7396) that turns the object old into now.
//
// Leaves out unchanged members, so that the server keeps values that the API hides (***). isMerged(name) returns whether
// the server merges the member's object; other members are sent whole.

export function changesOf(old = {}, now = {}, isMerged = () => true) {
  const patch = {};
  for (const name of new Set([...Object.keys(old), ...Object.keys(now)])) {
    if (JSON.stringify(old[name]) === JSON.stringify(now[name])) continue;
    const isObject = isPlain(old[name]) && isPlain(now[name]);
    patch[name] = isObject && isMerged(name) ? changesOf(old[name], now[name], isMerged) : now[name] ?? null;
  }
  return patch;
}

export const isPlain = (value) => value !== null && typeof value === "object" && !Array.isArray(value);
