// The filter of a list of jobs, as a query of the API and as the words of the search field. Uses neither the page nor the network.

export const STATES = ["delayed", "ready", "leased", "dead", "delivered", "cancelled", "any"];
export const REASONS = [
  "retries_exhausted",
  "gone",
  "rejected",
  "target_refused",
  "no_url",
  "expired",
  "rounds",
  "consumer_lost",
  "unreadable",
  "workflow_ended",
  "not_a_workflow",
];
export const STATUSES = ["5xx", "4xx", "2xx", "429", "500", "502", "503", "504", "404", "410"];

// Words of the search field and the query parameters for which they stand. The names of times depend on the state.
const PARAMETERS = {
  state: "state",
  topic: "topic",
  id: "idPrefix",
  label: "label",
  status: "lastStatus",
  reason: "reason",
  host: "urlHost",
};
const TIMES = { due: ["dueAfter", "dueBefore"], died: ["diedAfter", "diedBefore"], ended: ["endedAfter", "endedBefore"] };
const OTHERS = ["order", "source"];
const ALL = [...Object.values(PARAMETERS), ...Object.values(TIMES).flat(), ...OTHERS];
const OF_ENDED = ["delivered", "cancelled", "any"];

export const WORDS = [...Object.keys(PARAMETERS), "after", "before"];

// Returns which time the filter of a state compares: due, died or ended.
export function timeKind(filter) {
  if (OF_ENDED.includes(filter.state) || filter.source === "history") return "ended";
  return filter.state === "dead" ? "died" : "due";
}

export function timeNames(filter) {
  return TIMES[timeKind(filter)];
}

// Whether the list has jobs of the history, which have ended and cannot be changed.
export function isEnded(filter) {
  return timeKind(filter) === "ended";
}

// Whether the list has the dead jobs of the history, including those that Redis no longer has.
export const isDeadOfHistory = (filter) => filter.state === "dead" && filter.source === "history";

// Returns the members of a query that are known and can be combined. A filter of a time that does not fit the state is
// renamed to the filter that does, such as diedAfter.
export function clean(query) {
  const filter = {};
  for (const name of ALL) if (query[name]) filter[name] = String(query[name]);
  if (!STATES.includes(filter.state)) delete filter.state;
  if (!filter.state && (filter.diedAfter || filter.diedBefore || filter.reason)) filter.state = "dead";
  if (!filter.state && (filter.endedAfter || filter.endedBefore)) filter.state = "any";
  const names = timeNames(filter);
  for (const [at, after] of ["After", "Before"].entries()) {
    const value = filter[names[at]] || filter["due" + after] || filter["died" + after] || filter["ended" + after];
    for (const kind of Object.keys(TIMES)) delete filter[kind + after];
    if (value) filter[names[at]] = value;
  }
  if (filter.reason && filter.state !== "dead" && filter.state !== "any") delete filter.reason;
  return filter;
}

// Returns the filter with some members changed; an empty value removes a member.
export function change(filter, members) {
  const changed = { ...filter, ...members };
  if ("state" in members && members.state !== filter.state) {
    delete changed.order;
    delete changed.source;
  }
  return clean(changed);
}

// The default order: ended jobs newest first, waiting jobs by their due time.
export function orderOf(filter) {
  return filter.order || (isEnded(filter) || filter.state === "dead" ? "newest" : "oldest");
}

// Returns the query of GET /jobs.
export function toQuery(filter) {
  return { ...filter, order: orderOf(filter) };
}

// Returns the query that counts the jobs.
export function toCount(filter) {
  const { order, ...query } = filter;
  return query;
}

// Whether Redis can count the jobs of the filter without reading them.
export function isCheap(filter) {
  return !filter.urlHost && !filter.lastStatus && !filter.reason && !filter.label;
}

export function isEmpty(filter) {
  return Object.keys(filter).every((name) => OTHERS.includes(name));
}

// Whether the filter has a condition other than the state.
export function isNarrow(filter) {
  return Object.keys(filter).some((name) => name !== "state" && !OTHERS.includes(name));
}

// ---- the search field ----

const quote = (value) => (/[\s"]/.test(value) ? `"${value.replace(/"/g, "")}"` : value);

// Returns the text of the search field for a filter.
export function format(filter) {
  const texts = Object.entries(PARAMETERS)
    .filter(([, name]) => filter[name])
    .map(([word, name]) => `${word}:${quote(filter[name])}`);
  const [after, before] = timeNames(filter);
  if (filter[after]) texts.push(`after:${filter[after]}`);
  if (filter[before]) texts.push(`before:${filter[before]}`);
  return texts.join(" ");
}

const UNITS = { s: 1e3, m: 60e3, h: 3600e3, d: 86400e3 };

// Returns a time such as 2026-01-31, 2026-01-31T12:00, -2h or +30m as RFC 3339; null if text is not a time. Times without a
// zone are local.
export function readTime(text, now = Date.now()) {
  const relative = /^([+-]?)(\d+)([smhd])$/.exec(text);
  if (relative) return new Date(now + (relative[1] === "+" ? 1 : -1) * relative[2] * UNITS[relative[3]]).toISOString();
  const ms = Date.parse(/^\d{4}-\d\d-\d\d$/.test(text) ? `${text}T00:00` : text);
  return Number.isNaN(ms) ? null : new Date(ms).toISOString();
}

// Splits a search into its words, each with its position in the text.
export function split(text) {
  return [...text.matchAll(/(?:([A-Za-z]+):)?("[^"]*"?|\S+)?/g)]
    .filter((found) => found[0])
    .map(([whole, word, value = ""], at, all) => ({
      word: word && WORDS.includes(word.toLowerCase()) ? word.toLowerCase() : null,
      value: value.replace(/"/g, ""),
      whole,
      from: all[at].index ?? 0,
    }));
}

// Reads a search: {filter, id, unknown}. id is the text without a word and a colon before it: an id, or the beginning of one.
export function parse(text, others = {}) {
  const members = {},
    unknown = [];
  let id = "";
  const times = {};
  for (const { word, value, whole } of split(text)) {
    if (!word) id = id ? `${id} ${whole}` : whole.replace(/"/g, "");
    else if (word === "after" || word === "before") {
      const time = readTime(value);
      if (time) times[word] = time;
      else unknown.push(whole);
    } else if (word === "state" && !STATES.includes(value)) unknown.push(whole);
    else if (value) members[PARAMETERS[word]] = value;
  }
  const filter = clean({ ...others, ...members });
  const [after, before] = timeNames(filter);
  if (times.after) filter[after] = times.after;
  if (times.before) filter[before] = times.before;
  return { filter, id, unknown };
}
