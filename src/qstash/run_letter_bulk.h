/* run_letter_bulk.h - an action on many dead messages that have failed runs, one after the other. */
#ifndef DUEPOST_QSTASH_RUN_LETTER_BULK_H
#define DUEPOST_QSTASH_RUN_LETTER_BULK_H

#include "qstash/bulk.h"
#include "qstash/run_letter.h"

/* The filters of such actions. */
#define RUN_LETTER_FILTERS                                                                                   \
    (1U << FILTER_LABEL | 1U << FILTER_FLOW_KEY | 1U << FILTER_CALLER_IP | 1U << FILTER_RUN_ID |             \
     1U << FILTER_RUN_URL | 1U << FILTER_RUN_MADE | 1U << FILTER_FAILURE_STATE | 1U << FILTER_DLQ_ID |       \
     1U << FILTER_RESPONSE_STATUS | 1U << FILTER_COUNT | 1U << FILTER_CURSOR | 1U << FILTER_FROM |           \
     1U << FILTER_TO)

/* Acts on one letter that was found, and then calls bulk_end_one. */
typedef void run_letter_act_fn(struct bulk *, const struct run_letter *);

/* Reads a letter, and acts on it if it matches. Used as the member act of a bulk_kind. */
void run_letter_act(struct bulk *, struct slice message_id, run_letter_act_fn *);

#endif
