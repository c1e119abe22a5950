#include "base/log_sink.h"

#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <unistd.h>

static struct {
    pthread_mutex_t lock; /* guards is_stuck and is_torn, and keeps the pieces of a line together */
    atomic_int fd;
    atomic_bool is_file;
    bool is_stuck; /* nothing could be written for LOG_SINK_WAIT_MS */
    bool is_torn;  /* only the beginning of the last line was written */
    atomic_ulong dropped;
} sink = {.lock = PTHREAD_MUTEX_INITIALIZER, .fd = STDERR_FILENO};

void log_sink_use(int fd)
{
    struct stat stat;
    sink.is_file = fstat(fd, &stat) == 0 && S_ISREG(stat.st_mode);
    sink.fd = fd;
}

int log_sink_fd(void)
{
    return sink.fd;
}

/* Returns whether the descriptor accepts PIPE_BUF bytes without waiting. */
static bool sink_has_room(int fd)
{
    struct pollfd ready = {.fd = fd, .events = POLLOUT};
    sink.is_stuck = poll(&ready, 1, sink.is_stuck ? 0 : LOG_SINK_WAIT_MS) == 0;
    return !sink.is_stuck;
}

/* Returns the number of bytes that were written. */
static size_t sink_put(int fd, struct slice bytes)
{
    size_t done = 0;
    while (done < bytes.size) {
        size_t left = bytes.size - done;
        size_t piece = sink.is_file || left < PIPE_BUF ? left : PIPE_BUF;
        if (!sink.is_file && !sink_has_room(fd))
            break;
        ssize_t written = write(fd, bytes.data + done, piece);
        if (written <= 0)
            break;
        done += (size_t)written;
    }
    return done;
}

static bool sink_end_torn_line(int fd)
{
    sink.is_torn = sink.is_torn && sink_put(fd, SLICE("\n")) == 0;
    return !sink.is_torn;
}

bool log_sink_write(struct slice line)
{
    pthread_mutex_lock(&sink.lock);
    int fd = sink.fd;
    size_t done = sink_end_torn_line(fd) ? sink_put(fd, line) : 0;
    bool is_written = done == line.size;
    if (done > 0)
        sink.is_torn = !is_written;
    pthread_mutex_unlock(&sink.lock);
    if (!is_written)
        log_sink_add_dropped(1);
    return is_written;
}

unsigned long log_sink_take_dropped(void)
{
    return atomic_load(&sink.dropped) ? atomic_exchange(&sink.dropped, 0) : 0;
}

void log_sink_add_dropped(unsigned long lines)
{
    atomic_fetch_add(&sink.dropped, lines);
}
