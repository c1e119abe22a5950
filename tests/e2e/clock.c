/* clock.c - preloaded into a redis-server: moves its wall clock by the nanoseconds
 * that the file $CLOCK_OFFSET_FILE holds, at any time. Calls the kernel itself, so
 * that no allocator and no symbol lookup is involved. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const volatile int64_t *offset_ns;

__attribute__((constructor)) static void clock_init(void) {
    const char *path = getenv("CLOCK_OFFSET_FILE");
    int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    void *page = fd < 0 ? MAP_FAILED : mmap(NULL, sizeof *offset_ns, PROT_READ, MAP_SHARED, fd, 0);
    if (page == MAP_FAILED) _exit(97);
    offset_ns = page;
    close(fd);
}

int clock_gettime(clockid_t id, struct timespec *ts) {
    int result = (int)syscall(SYS_clock_gettime, id, ts);
    if (result == 0 && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE) && offset_ns) {
        int64_t ns = ts->tv_sec * INT64_C(1000000000) + ts->tv_nsec + *offset_ns;
        ts->tv_sec = ns / 1000000000;
        ts->tv_nsec = ns % 1000000000;
    }
    return result;
}

int gettimeofday(struct timeval *tv, void *zone) {
    struct timespec ts;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &ts);
    tv->tv_sec = ts.tv_sec;
    tv->tv_usec = ts.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *out) {
    struct timespec ts;
    clock_gettime(CLOCK_REALTIME, &ts);
    if (out) *out = ts.tv_sec;
    return ts.tv_sec;
}
