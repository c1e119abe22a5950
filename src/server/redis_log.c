#include "server/redis_log.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/slice.h"

enum { TAIL_BYTES = 4096 };

/* Reads the last bytes of the log file. */
static struct slice read_tail(int dir_fd, char bytes[TAIL_BYTES])
{
    struct stat log;
    ssize_t size = -1;
    int fd = openat(dir_fd, REDIS_LOG_NAME, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd >= 0 && fstat(fd, &log) == 0)
        size = pread(fd, bytes, TAIL_BYTES, log.st_size > TAIL_BYTES ? log.st_size - TAIL_BYTES : 0);
    if (fd >= 0)
        close(fd);
    return slice_from(bytes, size > 0 ? (size_t)size : 0);
}

/* Returns the text of a warning "4711:M 27 Nov 2026 03:07:07.435 # text", or an empty slice if the line is
 * not a warning of this process. */
static struct slice warning_of(struct slice line, pid_t pid)
{
    char begin[16];
    snprintf(begin, sizeof begin, "%d:", (int)pid);
    const char *level = memmem(line.data, line.size, " # ", 3);
    if (!level || !slice_starts_with(line, slice_of(begin)))
        return SLICE("");
    return slice_skip(line, (size_t)(level - line.data) + 3);
}

void redis_log_last_words(int dir_fd, pid_t pid, char words[REDIS_LOG_WORDS_MAX])
{
    char bytes[TAIL_BYTES];
    struct slice tail = read_tail(dir_fd, bytes), before = SLICE(""), last = SLICE("");
    for (struct slice line; tail.size;) {
        slice_cut(tail, '\n', &line, &tail);
        if (line.size == 0)
            continue;
        before = last;
        last = warning_of(line, pid);
    }
    if (last.size == 0)
        before = SLICE("");
    snprintf(words, REDIS_LOG_WORDS_MAX, "%.*s%s%.*s", SLICE_ARG(last), before.size ? "; before: " : "",
             SLICE_ARG(before));
}
