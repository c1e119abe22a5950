/* durability.h - what a change has reached when it is confirmed. */
#ifndef DUEPOST_STORE_DURABILITY_H
#define DUEPOST_STORE_DURABILITY_H

#include "base/slice.h"

enum durability {
    DURABILITY_UNKNOWN, /* Redis does not say */
    DURABILITY_MEMORY,  /* Redis has it */
    DURABILITY_FSYNC,   /* Redis has it on disk: append-only file, fsync always */
};

/* "unknown", "memory", "fsync" */
const char *durability_word(enum durability);

bool durability_parse(struct slice text, enum durability *);

#endif
