/* counter.h - a number that one thread raises and any thread reads. */
#ifndef DUEPOST_BASE_COUNTER_H
#define DUEPOST_BASE_COUNTER_H

#include <stdatomic.h>
#include <stdint.h>

/* Raises the number. Only one thread writes it, so loading and storing may be two separate steps. */
static inline void counter_raise(_Atomic uint64_t *number, uint64_t by)
{
    uint64_t old = atomic_load_explicit(number, memory_order_relaxed);
    atomic_store_explicit(number, old + by, memory_order_relaxed);
}

#endif
