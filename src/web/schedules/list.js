// The schedules that the token may read: {rows, hasMore}.
//
// A token that is limited to topics reads the schedules of each topic by itself. It does so of the topics that it names,
// and of those that match its patterns and have jobs or settings.

import { get, path, session } from "../api.js";

const PAGE = 1000;
const TOPICS_MAX = 50;

export async function readSchedules() {
  const own = session.access?.topics;
  if (!own) return read("/schedules");
  const topics = await namesOf(own);
  const parts = await Promise.all(topics.slice(0, TOPICS_MAX).map((topic) => read(path`/schedules/${topic}`)));
  return { rows: parts.flatMap((part) => part.rows), hasMore: topics.length > TOPICS_MAX || parts.some((part) => part.hasMore) };
}

async function read(where) {
  const { body } = await get(where, { limit: PAGE });
  return { rows: body.schedules, hasMore: Boolean(body.cursor) };
}

async function namesOf(own) {
  const { body } = await get("/topics", { limit: PAGE });
  return [...new Set([...own.filter((name) => !name.endsWith("*")), ...body.topics.map((row) => row.topic)])].filter((name) => !name.includes("~"));
}
