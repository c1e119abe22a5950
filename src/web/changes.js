// changesOf(old, now, isMerged): the JSON merge patch (RFC 7396) that turns the object old into now.
//
// Members that are as they were are left out, so that values which the API hides (***) stay as the server has them.
// isMerged(name) says for which members the server merges objects; others are sent whole.

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
