// Formats figures and times for people. Takes times in ms or as the API's text.
//
//   time(at)      "14:03:22", with the date if it is not today     utc(at)   "2030-01-01 13:03:22.000 UTC"
//   ago(at)       "3 min ago"     until(at)  "in 3 min"            relative(at)  whichever of the two is right
//   duration(ms)  "1.2 s", "3 min", "2 h 5 min"                    late(ms)  the same with at most two figures
//   number(n)     "12,345"        compact(n) "12.3k"               bytes(n)  "1.2 MiB"
//   nowMs()       the time that these texts count from, in ms: that of this host, or of the server's manual clock (standAt)
//   jobPath(job)  the path of a job's page, for href() and go(): ["jobs", topic, jobId]
//   plural(n, "job")  "1 job", "2 jobs"
//   LOCAL_RECEIVER  where the command "duepost receive" listens

export const LOCAL_RECEIVER = "http://127.0.0.1:9000/";

export const toMs = (at) => (typeof at === "number" ? at : Date.parse(at));

let standing = null; // the time of a manual clock

export const nowMs = () => standing ?? Date.now();

export const standAt = (ms) => (standing = ms);

const sameDay = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });
const otherDay = new Intl.DateTimeFormat(undefined, {
  year: "numeric", month: "short", day: "numeric", hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23",
});
const grouped = new Intl.NumberFormat("en-US");

export function time(at) {
  const date = new Date(toMs(at));
  if (Number.isNaN(date.getTime())) return "";
  return (date.toDateString() === new Date(nowMs()).toDateString() ? sameDay : otherDay).format(date);
}

export function utc(at) {
  const date = new Date(toMs(at));
  return Number.isNaN(date.getTime()) ? "" : date.toISOString().replace("T", " ").replace("Z", " UTC");
}

export function ago(at) {
  const ms = nowMs() - toMs(at);
  return ms < 1000 ? "just now" : `${duration(ms)} ago`;
}

export function until(at) {
  const ms = toMs(at) - nowMs();
  return ms < 1000 ? "now" : `in ${duration(ms)}`;
}

export const relative = (at) => (toMs(at) > nowMs() ? until(at) : ago(at));

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

export function duration(ms) {
  if (ms === null || ms === undefined || Number.isNaN(ms)) return "";
  if (ms < 0) return `-${duration(-ms)}`;
  if (ms < SECOND) return `${Math.round(ms)} ms`;
  if (ms < 10 * SECOND) return `${trim(ms / SECOND, 1)} s`;
  if (ms < MINUTE) return `${Math.floor(ms / SECOND)} s`;
  if (ms < HOUR) return two(ms, MINUTE, "min", SECOND, "s", 10 * MINUTE);
  if (ms < DAY) return two(ms, HOUR, "h", MINUTE, "min", DAY);
  return two(ms, DAY, "d", HOUR, "h", 10 * DAY);
}

export function late(ms) {
  if (ms === null || ms === undefined) return "–";
  if (ms < SECOND) return `${trim(ms, ms < 10 ? 1 : 0)} ms`;
  if (ms < MINUTE) return `${trim(ms / SECOND, ms < 10 * SECOND ? 1 : 0)} s`;
  return duration(ms);
}

export const number = (n) => (n === null || n === undefined ? "–" : grouped.format(n));

export function compact(n) {
  if (n === null || n === undefined) return "–";
  if (n < 10_000) return grouped.format(n);
  if (n < 1_000_000) return `${trim(n / 1000, n < 100_000 ? 1 : 0)}k`;
  return `${trim(n / 1_000_000, n < 100_000_000 ? 1 : 0)}M`;
}

export function bytes(n) {
  if (n === null || n === undefined) return "–";
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  while (n >= 1024 && unit < units.length - 1) {
    n /= 1024;
    unit++;
  }
  return `${trim(n, unit > 0 && n < 100 ? 1 : 0)} ${units[unit]}`;
}

export const plural = (n, word, words = `${word}s`) => `${number(n)} ${n === 1 ? word : words}`;

export const jobPath = (job) => ["jobs", job.topic, job.jobId];

const trim = (n, digits) => grouped.format(Number(n.toFixed(digits)));

function two(ms, unit, name, part, partName, both) {
  const whole = Math.floor(ms / unit);
  const rest = Math.floor((ms % unit) / part);
  return ms < both && rest > 0 ? `${whole} ${name} ${rest} ${partName}` : `${whole} ${name}`;
}
