#include "base/system.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

/* ---- clocks ---- */

static int64_t read_us(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

int64_t clock_boot_us(void)
{
    return read_us(CLOCK_BOOTTIME);
}

int64_t clock_steady_us(void)
{
    return read_us(CLOCK_MONOTONIC);
}

int64_t clock_wall_ms(void)
{
    return read_us(CLOCK_REALTIME) / 1000;
}

int64_t clock_wall_us(void)
{
    return read_us(CLOCK_REALTIME);
}

/* ---- unpredictable bytes ---- */

void random_fill(void *bytes, size_t size)
{
    char *at = bytes;
    while (size) {
        ssize_t got = getrandom(at, size, 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            abort();
        at += got;
        size -= (size_t)got;
    }
}
