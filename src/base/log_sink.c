#include "base/log_sink.h"

#include <errno.h>
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
    bool is_stuck; /* no byte could be written for LOG_SINK_WAIT_MS */
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

/* Returns whether the descriptor accepts PIPE_BUF bytes without waiting. A signal ends poll early, and then
 * poll is called again. Otherwise write would wait for a full pipe while this thread holds the lock. */
static bool sink_has_room(int fd)
{
    struct pollfd ready = {.fd = fd, .events = POLLOUT};
    int count;
    do
        count = poll(&ready, 1, sink.is_stuck ? 0 : LOG_SINK_WAIT_MS);
    while (count < 0 && errno == EINTR);
    sink.is_stuck = count <= 0;
    return !sink.is_stuck;
}

/* Returns the size of the next piece, which is written by one call of write. */
static size_t piece_of(struct slice bytes)
{
    if (sink.is_file || bytes.size <= PIPE_BUF)
        return bytes.size;
    const char *last = memrchr(bytes.data, '\n', PIPE_BUF);
    return last ? (size_t)(last - bytes.data) + 1 : PIPE_BUF;
}

/* Returns the number of bytes that were written. */
static size_t sink_put(int fd, struct slice bytes)
{
    size_t done = 0;
    while (done < bytes.size) {
        size_t piece = piece_of(slice_skip(bytes, done));
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

static unsigned long count_lines(struct slice bytes)
{
    unsigned long lines = 0;
    for (size_t i = 0; i < bytes.size; i++)
        lines += bytes.data[i] == '\n';
    return lines;
}

bool log_sink_write(struct slice lines)
{
    pthread_mutex_lock(&sink.lock);
    int fd = sink.fd;
    size_t done = sink_end_torn_line(fd) ? sink_put(fd, lines) : 0;
    bool is_written = done == lines.size;
    if (done > 0)
        sink.is_torn = lines.data[done - 1] != '\n';
    pthread_mutex_unlock(&sink.lock);
    if (!is_written)
        log_sink_add_dropped(count_lines(slice_skip(lines, done)));
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
