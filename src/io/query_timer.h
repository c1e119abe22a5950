/* query_timer.h - the times at which a node of a Cluster, or a Sentinel, is queried.
 *
 * A node is queried every second. After a sign that its last answer is old, it is queried more often for some
 * seconds. */
#ifndef DUEPOST_IO_QUERY_TIMER_H
#define DUEPOST_IO_QUERY_TIMER_H

#include "io/loop.h"

struct query_timer;

/* Creates a timer that does not run. The timer calls query when a query is due; query sends it, and then
 * calls query_timer_sent. Borrows arg. */
struct query_timer *query_timer_new(struct loop *, loop_fn *query, void *arg);
void query_timer_free(struct query_timer *); /* NULL is ignored */

/* Notes that a query was sent, and starts the timer for the next one. */
void query_timer_sent(struct query_timer *);

/* Stops the timer, until the next query_timer_sent. */
void query_timer_stop(struct query_timer *);
bool query_timer_is_running(const struct query_timer *);

/* Makes the queries of the next seconds more frequent. If the timer is running, the next query is due now, or
 * a short time after the last one. */
void query_timer_hurry(struct query_timer *);

#endif
