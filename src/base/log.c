#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/json_writer.h"
#include "base/memory.h"
#include "base/system.h"
#include "base/timestamp.h"

/* ---- the descriptor ---- */

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
        atomic_fetch_add(&sink.dropped, count_lines(slice_skip(lines, done)));
    return is_written;
}

unsigned long log_sink_take_dropped(void)
{
    return atomic_load(&sink.dropped) ? atomic_exchange(&sink.dropped, 0) : 0;
}

/* ---- events ---- */

enum { LINE_MAX_BYTES = 8192, LINE_END_BYTES = sizeof "}\n" - 1, GATHERED_MAX_BYTES = 64 * 1024 };

static const char *const level_names[] = {"debug", "info", "warning", "error", "audit"};

/* The lines that this thread has not written yet; see log_gather_begin. */
static _Thread_local struct {
    bool is_on;
    struct buffer lines;
} gathered;

/* The whole process has one log, into which every thread writes. */
static struct {
    char *path;
    enum log_format format;
    atomic_int level;
} log_state = {.level = LOG_LEVEL_INFO};

/* Opens the file with O_NONBLOCK, because open would otherwise wait until another process reads the FIFO. */
static int open_file(const char *path, struct problem *problem)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0640);
    if (fd < 0)
        problem_set(problem, "cannot write the log file %s: %s", path,
                    errno == ENXIO ? "it is a FIFO that no process reads, or a device that is not there"
                                   : strerror(errno));
    return fd;
}

enum status log_open(const char *path, enum log_format format, enum log_level level, struct problem *problem)
{
    log_state.format = format;
    log_set_level(level);
    int fd = path ? open_file(path, problem) : STDERR_FILENO;
    if (fd < 0)
        return STATUS_FAILED;
    log_sink_use(fd);
    if (!path)
        return STATUS_OK;
    free(log_state.path);
    log_state.path = slice_dup(slice_of(path));
    return STATUS_OK;
}

enum status log_reopen(struct problem *problem)
{
    if (!log_state.path)
        return STATUS_OK;
    int fd = open_file(log_state.path, problem);
    if (fd < 0)
        return STATUS_FAILED;
    /* Other threads may be writing to the descriptor. dup2 keeps its number and replaces the file behind it
     * at once. */
    dup2(fd, sink.fd);
    close(fd);
    return STATUS_OK;
}

void log_set_level(enum log_level level)
{
    log_state.level = (int)level;
}

bool log_is_on(enum log_level level)
{
    return (int)level >= log_state.level;
}

static bool needs_quotes(struct slice text)
{
    static const bool is_plain[256] = {
        ['!'] = true, ['#' ... '<'] = true, ['>' ... '['] = true, [']' ... '~'] = true};
    const char *end = slice_end(text);
    for (const char *at = text.data; at < end; at++)
        if (!is_plain[(unsigned char)*at])
            return true;
    return text.size == 0;
}

/* The functions for logfmt do not use printf, because most lines are logfmt, and printf would take most of
 * the time. */
static void put_key(struct buffer *line, const char *key)
{
    size_t size = strlen(key);
    char *at = buffer_extend(line, size + 1);
    if (!at)
        return;
    memcpy(at, key, size);
    at[size] = '=';
}

static void put_pair(struct buffer *line, const struct log_field *field)
{
    buffer_append_byte(line, ' ');
    put_key(line, field->key);
    if (field->is_number)
        buffer_append_number(line, field->number);
    else if (needs_quotes(field->text))
        buffer_append_json(line, field->text);
    else
        buffer_append(line, field->text);
}

static void put_member(struct buffer *line, const struct log_field *field)
{
    struct json_writer json = json_writer_behind(line);
    if (field->is_number)
        json_add_number(&json, field->key, field->number);
    else
        json_add_text(&json, field->key, field->text);
}

/* Writes the fields. Leaves out a field that is too long for a line. */
static void put_fields(struct buffer *line, const struct log_field *fields, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t size = line->size;
        if (log_state.format == LOG_FORMAT_JSON)
            put_member(line, &fields[i]);
        else
            put_pair(line, &fields[i]);
        if (line->failed) {
            line->size = size;
            line->failed = false;
        }
    }
}

/* Writes the beginning of a line, which all lines of a millisecond with the same level share. */
static void put_opening(struct buffer *line, enum log_level level)
{
    static _Thread_local struct {
        int64_t ms;
        enum log_level level;
        size_t size;
        char text[64];
    } last;
    int64_t ms = clock_wall_ms();
    if (last.size == 0 || last.ms != ms || last.level != level) {
        char time[TIMESTAMP_SIZE];
        timestamp_format(ms, time);
        last.ms = ms;
        last.level = level;
        last.size = (size_t)snprintf(last.text, sizeof last.text, "time=%s level=%s event=", time,
                                     level_names[level]);
    }
    buffer_append(line, slice_from(last.text, last.size));
}

static void put_logfmt(struct buffer *line, enum log_level level, const char *event,
                       const struct log_field *fields, size_t count)
{
    put_opening(line, level);
    buffer_append(line, slice_of(event));
    put_fields(line, fields, count);
    line->max = LINE_MAX_BYTES;
}

static void put_json(struct buffer *line, enum log_level level, const char *event,
                     const struct log_field *fields, size_t count)
{
    struct json_writer json = json_writer_to(line);
    json_put_object(&json);
    json_add_time(&json, "time", clock_wall_ms());
    json_add_text(&json, "level", slice_of(level_names[level]));
    json_add_text(&json, "event", slice_of(event));
    put_fields(line, fields, count);
    line->max = LINE_MAX_BYTES;
    json_end_object(&json);
}

static bool write_gathered(void)
{
    bool are_written = gathered.lines.size == 0 || log_sink_write(buffer_slice(&gathered.lines));
    buffer_clear(&gathered.lines);
    return are_written;
}

/* Returns false if a line was dropped. */
static bool keep_or_write(enum log_level level, struct slice line)
{
    bool are_written = true;
    if (gathered.lines.size + line.size > GATHERED_MAX_BYTES || level > LOG_LEVEL_INFO)
        are_written = write_gathered();
    if (!gathered.is_on || level > LOG_LEVEL_INFO)
        return log_sink_write(line) && are_written;
    buffer_append(&gathered.lines, line);
    return are_written;
}

static bool write_line(enum log_level level, const char *event, const struct log_field *fields, size_t count)
{
    char room[LINE_MAX_BYTES + 1];
    struct buffer line = buffer_of(room, sizeof room);
    line.max -= LINE_END_BYTES;
    if (log_state.format == LOG_FORMAT_JSON)
        put_json(&line, level, event, fields, count);
    else
        put_logfmt(&line, level, event, fields, count);
    buffer_append_byte(&line, '\n');
    return keep_or_write(level, buffer_slice(&line));
}

static void tell_dropped(void)
{
    unsigned long lines = log_sink_take_dropped();
    if (lines == 0)
        return;
    const struct log_field field = LOG_NUMBER("lines", lines);
    if (!write_line(LOG_LEVEL_WARNING, "log_lines_dropped", &field, 1))
        /* log_sink_write has counted the warning as a dropped line, too. Subtract it. */
        atomic_fetch_add(&sink.dropped, lines - 1);
}

void log_event(enum log_level level, const char *event, const struct log_field *fields, size_t count)
{
    if (log_is_on(level) && write_line(level, event, fields, count))
        tell_dropped();
}

void log_gather_begin(void)
{
    gathered.is_on = true;
    buffer_init(&gathered.lines, GATHERED_MAX_BYTES);
}

void log_gather_end(void)
{
    log_flush();
    gathered.is_on = false;
    buffer_fini(&gathered.lines);
}

void log_flush(void)
{
    if (write_gathered())
        tell_dropped();
}

bool log_level_parse(struct slice text, enum log_level *level)
{
    for (size_t i = 0; i < LOG_LEVEL_AUDIT; i++) {
        if (slice_equal(text, slice_of(level_names[i]))) {
            *level = (enum log_level)i;
            return true;
        }
    }
    return false;
}

bool log_format_parse(struct slice text, enum log_format *format)
{
    if (slice_equal(text, SLICE("logfmt")))
        *format = LOG_FORMAT_LOGFMT;
    else if (slice_equal(text, SLICE("json")))
        *format = LOG_FORMAT_JSON;
    else
        return false;
    return true;
}
