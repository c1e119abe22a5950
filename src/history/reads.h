/* reads.h - finds, lists and counts rows with any driver. Each function is one call of history.h, in the
 * history's thread. */
#ifndef DUEPOST_HISTORY_READS_H
#define DUEPOST_HISTORY_READS_H

#include "history/driver.h"

/* Rows that were read. */
struct read_rows {
    struct history_kept_row *items;
    size_t count, capacity;
};

void read_rows_fini(struct read_rows *);

/* Finds the row of the job with this topic/jobId that ended last. The result is at most one row. */
enum status read_one(struct driver *, struct slice id, struct read_rows *, struct problem *);

enum status read_list(struct driver *, const struct history_list *, struct read_rows *,
                      struct history_cursor *next, struct problem *);

enum status read_counts(struct driver *, const struct job_filter *, struct outcome_counts *,
                        struct problem *);

/* Fills the counts of all steps, which the caller has set to 0. */
enum status read_stats(struct driver *, const struct outcome_steps *, struct outcome_counts *steps,
                       size_t count, struct problem *);

/* Reads the ids of at most max rows that match the filter, the oldest first. Stops before the rows have more
 * than max_bytes together, but reads at least one row. */
enum status read_oldest(struct driver *, const struct job_filter *, int64_t max_bytes, int64_t *ids,
                        size_t max, size_t *count, struct problem *);

#endif
