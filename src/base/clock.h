/* clock.h - this host's clocks. Due times never come from here: those are Redis's. */
#ifndef DUEPOST_BASE_CLOCK_H
#define DUEPOST_BASE_CLOCK_H

#include <stdint.h>

/* Microseconds since boot, suspended time included (CLOCK_BOOTTIME): never
 * steps, so leases are measured with it. */
int64_t clock_boot_us(void);

/* Microseconds, suspended time left out (CLOCK_MONOTONIC): what the loop counts with. */
int64_t clock_steady_us(void);

/* Milliseconds since 1970 by the wall clock, which may step. For logs, new job ids and signatures. */
int64_t clock_wall_ms(void);

#endif
