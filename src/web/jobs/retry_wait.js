// waitBefore(job, retried): the seconds before a retry, as the server computes them (src/job/retry.h).
// retried is the number of retries before it. A job has either retryWait (an expression) or retrySchedule.

const LONGEST = 31_536_000_000; // ms

const FUNCTIONS = { abs: Math.abs, ceil: Math.ceil, exp: Math.exp, floor: Math.floor, max: Math.max, min: Math.min, pow: Math.pow, round: Math.round, sqrt: Math.sqrt };

export function waitBefore(job, retried) {
  const ms = job.retryWait ? evaluate(job.retryWait, retried) : NaN;
  if (!Number.isNaN(ms)) return Math.round(Math.min(LONGEST, Math.max(0, ms))) / 1000;
  const waits = job.retrySchedule ?? [];
  return waits[Math.min(retried, waits.length - 1)] ?? 0;
}

// Returns NaN for a text that is not an expression.
function evaluate(text, retried) {
  const parts = text.match(/(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|[A-Za-z]+|\S/g) ?? [];
  let at = 0;
  const take = (...wanted) => (wanted.includes(parts[at]) ? parts[at++] : null);
  const sum = () => {
    let value = product();
    for (let sign; (sign = take("+", "-")); ) value = sign === "+" ? value + product() : value - product();
    return value;
  };
  const product = () => {
    let value = factor();
    for (let sign; (sign = take("*", "/")); ) value = sign === "*" ? value * factor() : value / factor();
    return value;
  };
  const list = () => {
    const values = [];
    do values.push(sum());
    while (take(","));
    return take(")") ? values : [NaN];
  };
  const factor = () => {
    if (take("+")) return factor();
    if (take("-")) return -factor();
    if (take("(")) return list()[0];
    const part = parts[at++];
    if (part === "retried") return retried;
    if (Object.hasOwn(FUNCTIONS, part)) return take("(") ? FUNCTIONS[part](...list()) : NaN;
    return part === undefined ? NaN : Number(part);
  };
  const value = sum();
  return at === parts.length ? value : NaN;
}
