/* system.h - this host: its clocks, unpredictable bytes, processes, and the versions of libraries. */
#ifndef DUEPOST_BASE_SYSTEM_H
#define DUEPOST_BASE_SYSTEM_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

/* ---- clocks ---- */

/* This host's clocks. Due times do not use these clocks; they follow the clock of Redis. */

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

/* ---- unpredictable bytes ---- */

/* Fills all size bytes. Never fails, but aborts if the kernel has no generator. */
void random_fill(void *bytes, size_t size);

static inline uint32_t random_bits(void)
{
    uint32_t bits;
    random_fill(&bits, sizeof bits);
    return bits;
}

/* ---- processes ---- */

/* Names a process by a descriptor. Unlike a pid, it never names a later process. The functions of
 * this file make the system calls directly, because glibc has functions for them only since version 2.36. */

/* Returns a descriptor, which the caller closes, or -1 with errno. */
static inline int pidfd_of(pid_t pid)
{
    return (int)syscall(SYS_pidfd_open, pid, 0);
}

/* Returns 0, or -1 with errno: ESRCH if the process has ended. */
static inline int pidfd_signal(int pidfd, int signal)
{
    return (int)syscall(SYS_pidfd_send_signal, pidfd, signal, NULL, 0);
}

/* ---- libraries ---- */

/* A library and the version that the program runs with. */

enum { LIBRARY_VERSION_SIZE = 32 };

struct library {
    const char *name;
    char version[LIBRARY_VERSION_SIZE];
};

static inline void library_set(struct library *library, const char *name, const char *version)
{
    library->name = name;
    snprintf(library->version, sizeof library->version, "%s", version ? version : "unknown");
}

static inline void library_set_numbers(struct library *library, const char *name, int major, int minor)
{
    library->name = name;
    snprintf(library->version, sizeof library->version, "%d.%d", major, minor);
}

#endif
