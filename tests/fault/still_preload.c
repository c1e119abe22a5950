/* still_preload.c - CLOCK_BOOTTIME stands still for a program that is started with this in LD_PRELOAD. */
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t id, struct timespec *now)
{
    int result = (int)syscall(SYS_clock_gettime, id, now);
    if (id == CLOCK_BOOTTIME)
        *now = (struct timespec){.tv_sec = 1000000};
    return result;
}
