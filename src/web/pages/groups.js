// Groups: named endpoints to which a job is sent together.

import { m } from "../lib.js";
import { del, get, path, whyNot } from "../api.js";
import { plural } from "../format.js";
import { Paged } from "../paged.js";
import { repeat } from "../repeat.js";
import { href } from "../router.js";
import { Empty } from "../parts/empty.js";
import { Button, Page } from "../parts/page.js";
import { Problem } from "../parts/problem.js";
import { Table } from "../parts/table.js";
import { later, toast } from "../parts/toast.js";
import { GroupDialog } from "../groups/edit.js";

const READ_MS = 5000;

export default function Groups() {
  const page = { list: new Paged(({ body }) => body.groups, (row) => row.group, (query) => get("/groups", query)), edited: null };
  let stop;
  return {
    oninit: () => {
      const reading = repeat(() => page.list.load(), READ_MS);
      page.reload = () => page.list.load(true).then(m.redraw);
      stop = reading.stop;
    },
    onremove: () => stop(),
    view: () =>
      m(Page, { title: "Groups", sub: "A job that is sent to a group becomes one job for each endpoint", actions: m(Button, { kind: "primary", whyNot: whyNot("admin"), onclick: () => (page.edited = { group: null }) }, "New group") },
        m(Problem, { error: page.error ?? page.list.error, retry: page.reload }),
        m(Table, {
          label: "Groups", rows: page.list.rows, rowKey: (row) => row.group, columns: columns(page),
          empty: m(Empty, { title: "No groups yet", text: "Use a group to send one job to several servers.", command: "duepost group shops north=https://north.example/hook south=https://south.example/hook" }),
          hasMore: page.list.hasMore, onmore: () => page.list.more(),
        }),
        page.edited ? m(GroupDialog, { ...page.edited, onclose: (hasChanged) => { page.edited = null; if (hasChanged) page.reload(); } }) : null),
  };
}
Groups.title = "Groups";

const columns = (page) => [
  { name: "group", title: "Group", sort: (row) => row.group, view: (row) => row.group },
  { name: "count", title: "Endpoints", isNumber: true, sort: (row) => Object.keys(row.endpoints).length, view: (row) => Object.keys(row.endpoints).length },
  { name: "endpoints", title: "", isWide: true, view: (row) => m("ul.plain", Object.entries(row.endpoints).slice(0, 5).map(([name, one]) => m("li", m("strong", name), " ", m("span.sub", `${one.method && one.method !== "POST" ? `${one.method} ` : ""}${one.url}`))), Object.keys(row.endpoints).length > 5 ? m("li.sub", `and ${Object.keys(row.endpoints).length - 5} more`) : null) },
  { name: "send", title: "", view: (row) => m("a", { href: href(["try"], { group: row.group }) }, "Send a job") },
  { name: "edit", title: "", view: (row) => m(Button, { kind: "quiet", whyNot: whyNot("admin"), label: `Change ${row.group}`, onclick: () => edit(page, row) }, "Change") },
  { name: "delete", title: "", view: (row) => m(Button, { kind: "quiet", whyNot: whyNot("admin"), label: `Delete ${row.group}`, onclick: () => remove(page, row) }, "Delete") },
];

async function edit(page, row) {
  try {
    const { body, etag } = await get(path`/groups/${row.group}`);
    page.edited = { group: body, etag };
    page.error = null;
  } catch (error) {
    page.error = error;
  }
  m.redraw();
}

async function remove(page, row) {
  try {
    await later(`Deleting ${row.group} with ${plural(Object.keys(row.endpoints).length, "endpoint")}`, () => del(path`/groups/${row.group}`));
  } catch (error) {
    toast(`Not deleted: ${error.detail || error.message}`, { kind: "bad" });
  }
  page.reload();
}
