/* random.h - bytes from the kernel that nobody can guess. */
#ifndef DUEPOST_BASE_RANDOM_H
#define DUEPOST_BASE_RANDOM_H

#include <stddef.h>

/* Fills all of it; never fails (aborts where the kernel has no generator). */
void random_fill(void *bytes, size_t size);

#endif
