#include "base/test_point.h"

#ifdef DUEPOST_TEST_POINTS

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { POINTS_MAX = 128, NAME_MAX_BYTES = 48, DELAY_US = 200 * 1000 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char seen[POINTS_MAX][NAME_MAX_BYTES];
static size_t seen_count;
static unsigned times; /* how often the selected point was reached */

static bool is_new(const char *name)
{
    for (size_t i = 0; i < seen_count; i++)
        if (strcmp(seen[i], name) == 0)
            return false;
    if (seen_count == POINTS_MAX)
        abort();
    memcpy(seen[seen_count++], name, NAME_MAX_BYTES);
    return true;
}

static void test_point_tell(const char *name)
{
    const char *path = getenv("DUEPOST_TEST_POINTS_HIT");
    char line[NAME_MAX_BYTES + 1];
    int size = snprintf(line, sizeof line, "%s\n", name);
    int fd = path ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600) : -1;
    if (fd < 0)
        return;
    if (write(fd, line, (size_t)size) != size)
        abort();
    close(fd);
}

static void test_point_act(const char *action)
{
    if (strcmp(action, "delay") == 0)
        usleep(DELAY_US);
    else
        /* Only reached by kill: the signal ends the process here. */
        raise(strcmp(action, "stop") == 0 ? SIGSTOP : SIGKILL);
}

void test_point(const char *when, const char *call)
{
    const char *order = getenv("DUEPOST_TEST_POINT");
    char name[NAME_MAX_BYTES], wanted[2][NAME_MAX_BYTES / 2], action[16];
    unsigned time;
    snprintf(name, sizeof name, "%s %s", when, call);
    bool is_ordered = order && sscanf(order, "%23s %23s %u %15s", wanted[0], wanted[1], &time, action) == 4 &&
                      strcmp(wanted[0], when) == 0 && strcmp(wanted[1], call) == 0;
    pthread_mutex_lock(&lock);
    if (is_new(name))
        test_point_tell(name);
    bool is_now = is_ordered && ++times == time;
    pthread_mutex_unlock(&lock);
    if (is_now)
        test_point_act(action);
}

#else

typedef int test_points_are_off; /* a C file must declare something */

#endif
