/* receiver_world.h - what stands around a reactor's knowledge of receivers: a clock, a loop and a store that
 * a test moves.
 *
 * They take the place of the real ones in the program that links this. */
#ifndef DUEPOST_TESTS_RECEIVER_WORLD_H
#define DUEPOST_TESTS_RECEIVER_WORLD_H

#include "store/store.h"

#define WORLD_RECEIVER "h:80"

void world_begin(void);

/* The clock goes on; a timer whose time has come strikes. */
void world_pass(int64_t us);

/* Reports leave. */
void world_end_turn(void);

/* The report that is under way; one at most. fn NULL: none. */
struct world_asked {
    struct store_report report;
    store_report_fn *fn;
    void *arg;
};
const struct world_asked *world_asked(void);

/* The reading of what is new that is under way; one at most. fn NULL: none. */
struct world_reading {
    int64_t version;
    store_news_fn *fn;
    void *arg;
};
const struct world_reading *world_reading(void);

/* What Redis says of the receiver now. */
struct store_receiver world_closed(void);
struct store_receiver world_open(int64_t probe_in_ms); /* since the clock began */
struct store_receiver world_limited(int64_t limit);

/* version: that of the shard; probe: the number of the one that is granted, or 0. */
void world_answer_report(enum status, int64_t version, int64_t probe, struct store_receiver);
void world_answer_reading(enum status, int64_t version, struct store_receiver);

#endif
