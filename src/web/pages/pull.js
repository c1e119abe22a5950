// Pull topics: workers that wait, jobs they have leased, and how to start a worker.

import { m } from "../lib.js";
import { href } from "../router.js";
import { useClock, follow, live, repeat } from "../live.js";
import { number } from "../format.js";
import { Command, Empty, Card, Page, Problem } from "../parts/page.js";
import { Table } from "../parts/table.js";
import { Time } from "../parts/values.js";
import { TopicList } from "../topics/state.js";

const READ_MS = 2000;

export default function Pull() {
  const list = new TopicList();
  const stops = [];
  return {
    oninit: () => stops.push(repeat(() => list.load(), READ_MS).stop, useClock(), follow()),
    onremove: () => stops.forEach((stop) => stop()),
    view: () => {
      const rows = list.rows?.filter((row) => row.settings.delivery === "pull");
      const workers = live.overview?.workers;
      return m(Page, { title: "Pull topics", sub: workers ? `Workers waiting: ${number(workers.waiting)}, jobs leased: ${number(workers.leases)}` : "Workers lease these jobs over HTTP" },
        m(Problem, { error: list.error }),
        m(Table, {
          label: "Pull topics", rows, rowKey: (row) => row.topic, href: (row) => href(["topics", row.topic]), columns: COLUMNS,
          hasMore: list.hasMore, onmore: () => list.more(),
          empty: m(Empty, { title: "No pull topics", text: "Jobs of a pull topic are not POSTed: workers lease them, also from behind a firewall.", command: "duepost set thumbnails delivery=pull" }),
        }),
        rows?.length ? m(Card, { title: "A worker in one line", sub: "runs a command for each job, which is on its standard input" }, m(Command, { text: `duepost work ${rows[0].topic} -- ./handle-job` })) : null);
    },
  };
}
Pull.title = "Pull topics";

const figure = (name, title, of) => ({ name, title, isNumber: true, sort: (row) => of(row) ?? 0, view: (row) => (of(row) === undefined ? m("span.faint", "–") : number(of(row))) });

const COLUMNS = [
  { name: "topic", title: "Topic", sort: (row) => row.topic, view: (row) => row.topic },
  figure("waiting", "Workers waiting", (row) => row.pull?.waiting),
  figure("leases", "Leases", (row) => row.pull?.leases ?? row.jobs.leased),
  figure("ready", "Ready", (row) => row.jobs.ready),
  { name: "overdue", title: "Oldest overdue", view: (row) => (row.oldestOverdueAt ? m(Time, { at: row.oldestOverdueAt, style: "ago" }) : m("span.faint", "–")) },
  figure("hour", "Delivered last hour", (row) => row.lastHour.delivered),
  figure("dead", "Dead", (row) => row.jobs.dead),
];
