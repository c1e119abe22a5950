/* clock_preload.c - a wall clock that a test sets, for programs started with this library in LD_PRELOAD.
 *
 * The file that TEST_CLOCK names holds two 64-bit integers: a time in us since 1970 at which the clock
 * stands still, or 0; and, if the clock does not stand still, the us that are added to the real time. The
 * test may write both at any time. CLOCK_MONOTONIC and CLOCK_BOOTTIME are not changed. */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

struct test_clock {
    volatile int64_t still_us;
    volatile int64_t offset_us;
};

static const struct test_clock *test_clock;

__attribute__((constructor)) static void open_clock(void)
{
    const char *path = getenv("TEST_CLOCK");
    int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0)
        return;
    void *map = mmap(NULL, sizeof *test_clock, PROT_READ, MAP_SHARED, fd, 0);
    close(fd);
    if (map != MAP_FAILED)
        test_clock = map;
}

/* Calls the kernel directly, because this library replaces libc's functions. */
static int read_clock(clockid_t id, struct timespec *now)
{
    int result = (int)syscall(SYS_clock_gettime, id, now);
    if (result != 0 || !test_clock || (id != CLOCK_REALTIME && id != CLOCK_REALTIME_COARSE))
        return result;
    int64_t us = test_clock->still_us;
    if (us == 0)
        us = now->tv_sec * INT64_C(1000000) + now->tv_nsec / 1000 + test_clock->offset_us;
    now->tv_sec = us / 1000000;
    now->tv_nsec = us % 1000000 * 1000;
    return 0;
}

int clock_gettime(clockid_t id, struct timespec *now)
{
    return read_clock(id, now);
}

int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
    struct timespec exact;
    (void)zone;
    read_clock(CLOCK_REALTIME, &exact);
    now->tv_sec = exact.tv_sec;
    now->tv_usec = exact.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *result)
{
    struct timespec now;
    read_clock(CLOCK_REALTIME, &now);
    if (result)
        *result = now.tv_sec;
    return now.tv_sec;
}
