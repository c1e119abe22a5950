// Paged: a list that the API returns in pages, loaded as far as the person has scrolled.
//
//   const list = new Paged(({ body }) => body.groups, (row) => row.group, (query) => get("/groups", query));
//   repeat(() => list.load(), 5000)      reads the loaded pages again
//   m(Table, {rows: list.rows, hasMore: list.hasMore, onmore: () => list.more(), …})
//
// read(query) resolves to an answer of get(), and rowsOf returns the rows of that answer; query is {limit, cursor}.

const PAGE = 1000;

export class Paged {
  // pages: the number of pages to read at first.
  constructor(rowsOf, keyOf, read, pages = 1) {
    Object.assign(this, { rowsOf, keyOf, read, pages, rows: null, hasMore: false, error: null, cursor: undefined, pagesRead: 1, turns: 0 });
  }

  // Reads all loaded pages again. With n loaded pages, only every n-th call reads, so that a long list costs the server no more
  // than a short one. If reading fails, the old rows stay. isAsked: reads in any case, because a person asked for it.
  async load(isAsked = false) {
    if (!isAsked && this.rows && ++this.turns % this.pagesRead) return;
    try {
      let rows = [];
      let cursor;
      let page = 0;
      do {
        const answer = await this.read({ limit: PAGE, cursor });
        rows = rows.concat(this.rowsOf(answer));
        cursor = answer.body.cursor;
      } while (++page < this.pages && cursor);
      this.pagesRead = page;
      this.take(rows, cursor);
    } catch (error) {
      this.error = error;
    }
  }

  // Reads the next page.
  async more() {
    try {
      const answer = await this.read({ limit: PAGE, cursor: this.cursor });
      this.pages = Math.max(this.pages, this.pagesRead) + 1;
      this.pagesRead += 1;
      this.take(this.rows.concat(this.rowsOf(answer)), answer.body.cursor);
    } catch (error) {
      this.error = error;
      throw error;
    }
  }

  // Drops the second copy of a row that moved from one page to another while they were read.
  take(rows, cursor) {
    this.rows = [...new Map(rows.map((row) => [this.keyOf(row), row])).values()];
    this.cursor = cursor;
    this.hasMore = Boolean(cursor);
    this.error = null;
  }
}
