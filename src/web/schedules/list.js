// The schedules that the token may read, page by page.
//
// With a token that is limited to topics, the schedules are read topic by topic: from the topics that the token names, and
// from those that match its patterns and have jobs or settings. A page then has the schedules of a few topics.

import { get, path, session } from "../api.js";
import { Paged } from "../paged.js";

const TOPICS_AT_ONCE = 20;

export const scheduleList = () => new Paged(({ body }) => body.schedules, (row) => `${row.topic}/${row.scheduleId}`, readPage);

const readPage = (query) => (session.access?.topics ? readOwn(query) : get("/schedules", query));

// The cursor of this list consists of the topics that have not been read yet.
async function readOwn({ cursor, limit }) {
  const topics = cursor ?? (await namesOf(session.access.topics, limit));
  const lists = await Promise.all(topics.slice(0, TOPICS_AT_ONCE).map((topic) => readTopic(topic, limit)));
  const left = topics.slice(TOPICS_AT_ONCE);
  return { body: { schedules: lists.flat(), cursor: left.length ? left : undefined } };
}

async function readTopic(topic, limit) {
  let rows = [];
  let cursor;
  do {
    const { body } = await get(path`/schedules/${topic}`, { limit, cursor });
    rows = rows.concat(body.schedules);
    cursor = body.cursor;
  } while (cursor);
  return rows;
}

async function namesOf(own, limit) {
  const { body } = await get("/topics", { limit });
  return [...new Set([...own.filter((name) => !name.endsWith("*")), ...body.topics.map((row) => row.topic)])].filter((name) => !name.includes("~"));
}
