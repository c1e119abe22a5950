/* data_row.h - a row of an export: a thing that Redis has and that cannot be derived from others, such as a
 * job with its place, or the settings of a topic. */
#ifndef DUEPOST_JOB_DATA_ROW_H
#define DUEPOST_JOB_DATA_ROW_H

#include "base/slice.h"

/* The texts are as Redis has them. */
struct data_row {
    struct slice kind, name;     /* such as "job", "orders/1" */
    const struct slice *members; /* name, value, name, value ... */
    size_t count;                /* number of members */
};

#endif
