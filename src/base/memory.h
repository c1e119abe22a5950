/* memory.h - the heap, for what is small and ours.
 *
 * Running out of memory for it is a crash, which leases recover from: these
 * functions never return NULL. What a peer sizes goes through a bounded buffer. */
#ifndef DUEPOST_BASE_MEMORY_H
#define DUEPOST_BASE_MEMORY_H

#include <stddef.h>
#include <stdlib.h>

/* Zeroed; aborts with a line on stderr when there is none. Free with free(). */
void *memory_new(size_t bytes);

/* Grows or shrinks like realloc; new bytes are not zeroed. */
void *memory_resize(void *old, size_t bytes);

#define NEW(type)               ((type *)memory_new(sizeof(type)))
#define NEW_ARRAY(type, count)  ((type *)memory_new(sizeof(type) * (count)))

#endif
