/* when.h - writes the due time of a job in the form that scripts expect. */
#ifndef DUEPOST_STORE_WHEN_H
#define DUEPOST_STORE_WHEN_H

#include "store/store.h"

enum { WHEN_SIZE = 24 };

void when_format(struct store_when, char text[WHEN_SIZE]);

#endif
