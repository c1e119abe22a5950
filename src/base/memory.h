/* memory.h - heap memory for small objects of duepost itself.
 *
 * These functions never return NULL: out of memory is a crash, and leases recover from crashes. Use a bounded
 * buffer where a peer decides the size. */
#ifndef DUEPOST_BASE_MEMORY_H
#define DUEPOST_BASE_MEMORY_H

#include <stddef.h>
#include <stdlib.h>

/* Returns zeroed memory, to be freed with free(). When there is no memory it writes a line to stderr and
 * aborts. */
void *memory_new(size_t bytes);

/* Grows or shrinks like realloc. New bytes are not zeroed. */
void *memory_resize(void *old, size_t bytes);

#define NEW(type)              ((type *)memory_new(sizeof(type)))
#define NEW_ARRAY(type, count) ((type *)memory_new(sizeof(type) * (count)))

#endif
