/* clock.h - this host's clocks. Due times do not use these clocks; they follow the clock of Redis. */
#ifndef DUEPOST_BASE_CLOCK_H
#define DUEPOST_BASE_CLOCK_H

#include <stdint.h>

/* Returns microseconds since boot, including suspended time (CLOCK_BOOTTIME). This clock never steps, so
 * leases are measured with it. */
int64_t clock_boot_us(void);

/* Returns microseconds without suspended time (CLOCK_MONOTONIC). The event loop uses this clock. */
int64_t clock_steady_us(void);

/* Returns milliseconds since 1970 by the wall clock, which may step. Logs, new job ids and signatures use
 * this clock. */
int64_t clock_wall_ms(void);

/* Returns the same time in microseconds. Spans and measurements use it. */
int64_t clock_wall_us(void);

#endif
