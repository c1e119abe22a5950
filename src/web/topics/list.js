// The topics, page by page, and the patterns.

import { get } from "../api.js";
import { Paged } from "../paged.js";

export class TopicList extends Paged {
  // filter: members of the query, such as failing.
  constructor(filter = {}) {
    super(({ body }) => body.topics, (row) => row.topic, (query) => get("/topics", { ...query, ...filter }));
    this.patterns = null;
  }

  async load(isAsked) {
    await super.load(isAsked);
    if (this.error) return;
    try {
      this.patterns = (await get("/topics", { patterns: true })).body.patterns;
    } catch (error) {
      this.error = error;
    }
  }
}
