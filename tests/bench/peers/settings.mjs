// Producers and workers of the peers: PROGRAM produce|work ADDRESS [name=value ...], with the names of load.c.
// A producer schedules jobs whose bodies receiver.c understands, and prints its time; a worker POSTs each body to url.
const [role, address, ...words] = process.argv.slice(2);
const given = Object.fromEntries(words.map((word) => [word.slice(0, word.indexOf("=")), word.slice(word.indexOf("=") + 1)]));
const number = (name, otherwise) => (given[name] === undefined ? otherwise : Number(given[name]));

export const settings = {
  role,
  address,
  url: given.url,
  jobs: number("jobs", 0),
  first: number("first", 0),
  connections: number("connections", 64),
  rate: number("rate", 0),
  body: number("body", 200),
  batch: number("batch", 1),
};

// The body and the delay in ms of a job: due at due=, or after a random delay between delay_min_ms= and delay_max_ms=, or in a year.
export function nextJob(n) {
  const now = Date.now();
  const [least, most] = [number("delay_min_ms", 0), number("delay_max_ms", 0)];
  const due = number("due", 0) || now + (most ? least + Math.floor(Math.random() * (most - least)) : 365 * 86400_000);
  const head = `{"n":${n},"due":${due},"pad":"`;
  return { text: `${head}${"x".repeat(Math.max(0, settings.body - head.length - 2))}"}`, delay: Math.max(0, due - now) };
}

// Calls add(job) for all jobs: with connections= calls under way, or rate= a second. With batch=, calls addMany(jobs) instead.
export async function produce(add, addMany) {
  const began = performance.now();
  let next = settings.first;
  const end = next + settings.jobs;
  const lane = async () => {
    while (next < end) {
      if (settings.batch > 1) {
        const first = next;
        next = Math.min(end, next + settings.batch);
        await addMany(Array.from({ length: next - first }, (_, i) => nextJob(first + i)));
        continue;
      }
      const n = next++;
      const wait = settings.rate ? began + ((n - settings.first) * 1000) / settings.rate - performance.now() : 0;
      if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait));
      await add(nextJob(n));
    }
  };
  await Promise.all(Array.from({ length: settings.connections }, lane));
  const { user, system } = process.cpuUsage();
  console.log(JSON.stringify({ seconds: (performance.now() - began) / 1000, cpu: (user + system) / 1e6 }));
}
