// The topics, page by page, and the patterns.

import { get } from "../api.js";

const PAGE = 1000;
const PAGES_AT_ONCE = 2;

export class TopicList {
  constructor() {
    this.rows = null;
    this.patterns = null;
    this.hasMore = false;
    this.error = null;
    this.pages = PAGES_AT_ONCE;
  }

  // Reads as many pages as are shown. What was shown stays if that fails.
  async load() {
    try {
      let rows = [];
      let cursor;
      for (let page = 0; page < this.pages; page++) {
        const { body } = await get("/topics", { limit: PAGE, cursor });
        rows = rows.concat(body.topics);
        cursor = body.cursor;
        if (!cursor) break;
      }
      this.rows = rows;
      this.hasMore = Boolean(cursor);
      this.patterns = (await get("/topics", { patterns: true })).body.patterns;
      this.error = null;
    } catch (error) {
      this.error = error;
    }
  }

  showMore() {
    this.pages += PAGES_AT_ONCE;
    return this.load();
  }
}
