/* memory.h - heap memory for small objects of duepost itself.
 *
 * These functions never return NULL. If there is no memory, the process crashes; jobs survive crashes because
 * of their leases. Where a peer decides the size, use a buffer instead, which has a maximum. */
#ifndef DUEPOST_BASE_MEMORY_H
#define DUEPOST_BASE_MEMORY_H

#include <stddef.h>
#include <stdlib.h>

/* Returns zeroed memory. The caller frees it with free(). If there is no memory, writes a line to stderr and
 * aborts. */
void *memory_new(size_t bytes);

/* Grows or shrinks like realloc. New bytes are not zeroed. */
void *memory_resize(void *old, size_t bytes);

#define NEW(type)              ((type *)memory_new(sizeof(type)))
#define NEW_ARRAY(type, count) ((type *)memory_new(sizeof(type) * (count)))

#endif
