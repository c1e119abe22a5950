/* clock.h - this host's clocks. Due times do not come from here: they follow the clock of Redis. */
#ifndef DUEPOST_BASE_CLOCK_H
#define DUEPOST_BASE_CLOCK_H

#include <stdint.h>

/* Returns microseconds since boot, including suspended time (CLOCK_BOOTTIME). It never steps, so leases are
 * measured with it. */
int64_t clock_boot_us(void);

/* Returns microseconds without suspended time (CLOCK_MONOTONIC). The event loop counts with it. */
int64_t clock_steady_us(void);

/* Returns milliseconds since 1970 by the wall clock, which may step. For logs, new job ids and signatures. */
int64_t clock_wall_ms(void);

#endif
