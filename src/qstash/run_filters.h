/* run_filters.h - decides which runs a list or a bulk action selects. The functions are pure: no clock, no
 * I/O. */
#ifndef DUEPOST_QSTASH_RUN_FILTERS_H
#define DUEPOST_QSTASH_RUN_FILTERS_H

#include "qstash/filters.h"
#include "qstash/run.h"

/* The filters of runs, as bits 1 << filter. fromDate and toDate limit the time at which a run was created. */
#define FILTERS_OF_RUNS                                                                                      \
    (1U << FILTER_LABEL | 1U << FILTER_FLOW_KEY | 1U << FILTER_CALLER_IP | 1U << FILTER_HOST |               \
     1U << FILTER_PATH | 1U << FILTER_RUN_URL | 1U << FILTER_FROM | 1U << FILTER_TO)

/* Returns whether the run matches. If is_url_prefix is true, it is enough that the run's url begins with a
 * word of workflowUrl. */
bool run_filters_match(const struct filters *, struct run *, bool is_url_prefix);

#endif
