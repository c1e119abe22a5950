/* random.h - unpredictable bytes from the kernel. */
#ifndef DUEPOST_BASE_RANDOM_H
#define DUEPOST_BASE_RANDOM_H

#include <stddef.h>

/* Fills all size bytes. Never fails, but aborts if the kernel has no generator. */
void random_fill(void *bytes, size_t size);

#endif
