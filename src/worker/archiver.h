/* archiver.h - moves ended jobs of one shard from its outbox in Redis to the history database.
 *
 * The process that owns the carry lock of the shard (carry_worker.h) runs the archiver. The archiver reads
 * the outbox in bounded steps (sweep.h), adds each batch to the history, and removes the batch from the
 * outbox when the history has it on disk:
 *
 *     read ──▶ append ──▶ remove        several batches may be under way at the same time
 *       ▲         │ append failed, or another archiver removed texts, or Redis's answer was lost
 *       └─ wait ──┴── until no batch is under way
 *
 * If the process dies at any point, the next archiver reads the same texts again, and the history replaces
 * the rows of the jobs that it already has. While the database is unreachable, texts wait in the outbox and
 * not in the archiver, so the archiver's memory is bounded. The option --history-backlog limits the
 * outbox.
 *
 * It does the same with the trail, the lines of the audit log that are not in the history yet (outbox.h). */
#ifndef DUEPOST_WORKER_ARCHIVER_H
#define DUEPOST_WORKER_ARCHIVER_H

#include "history/history.h"
#include "store/outbox.h"

struct archiver;

struct archiver_options {
    struct shard *shard;
    struct metrics *metrics;
    struct history
        *history; /* NULL: there is no history, so scripts must not write ended jobs to the outbox */
};

/* Borrows the pointers. */
struct archiver *archiver_new(struct loop *, const struct archiver_options *);

/* Called each second by the owner of the carry lock. has_texts: the outbox is not empty; has_lines: the trail
 * is not. now_ms: Redis's time, by which the archiver of the first shard removes old jobs from the history,
 * for all processes; 0: nothing may be removed by age now. NULL is ignored. */
void archiver_tick(struct archiver *, bool has_texts, bool has_lines, int64_t now_ms);

/* Stops reading batches. Texts that were read and not removed stay in the outbox. NULL is ignored. */
void archiver_stop(struct archiver *);

/* Call it when the store is freed and the loop has stopped. NULL is ignored. */
void archiver_free(struct archiver *);

#endif
