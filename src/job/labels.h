/* labels.h - labels of jobs: short texts that a client chooses, and with which it can filter lists of
 * jobs. */
#ifndef DUEPOST_JOB_LABELS_H
#define DUEPOST_JOB_LABELS_H

#include <stdbool.h>

#include "base/slice.h"

enum {
    JOB_LABELS_MAX = 10,
    JOB_LABEL_MAX = 64, /* bytes */
};

struct job_labels {
    struct slice items[JOB_LABELS_MAX];
    size_t count;
};

#define JOB_LABEL_FORM     "UTF-8 of 1 to 64 bytes without control characters"
#define JOB_LABEL_EXPECTED "must be " JOB_LABEL_FORM

/* Returns whether text is a label: UTF-8 of 1 to JOB_LABEL_MAX bytes without control characters. */
bool job_label_is_valid(struct slice);

bool job_labels_have(const struct job_labels *, struct slice label);

/* Returns whether both lists have the same labels, in any order. No list has a label twice. */
bool job_labels_are_same(const struct job_labels *, const struct job_labels *);

#endif
