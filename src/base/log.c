#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/clock.h"
#include "base/memory.h"

enum { LINE_MAX_BYTES = 8192 };

static const char *const level_names[] = {"debug", "info", "warning", "error", "audit"};

/* One log for the whole process; every thread writes into it. */
static struct {
    char *path;
    enum log_format format;
    atomic_int fd;
    atomic_int level;
} log_state = {.fd = STDERR_FILENO, .level = LOG_LEVEL_INFO};

static int open_file(const char *path, struct problem *problem)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0640);
    if (fd < 0)
        problem_set(problem, "cannot write the log file %s: %s", path, strerror(errno));
    return fd;
}

enum status log_open(const char *path, enum log_format format, enum log_level level, struct problem *problem)
{
    log_state.format = format;
    log_set_level(level);
    if (!path)
        return STATUS_OK;
    int fd = open_file(path, problem);
    if (fd < 0)
        return STATUS_FAILED;
    free(log_state.path);
    log_state.path = slice_dup(slice_of(path));
    log_state.fd = fd;
    return STATUS_OK;
}

enum status log_reopen(struct problem *problem)
{
    if (!log_state.path)
        return STATUS_OK;
    int fd = open_file(log_state.path, problem);
    if (fd < 0)
        return STATUS_FAILED;
    /* dup2 replaces the file behind the descriptor while other threads may be writing to it. */
    dup2(fd, log_state.fd);
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
    for (size_t i = 0; i < text.size; i++) {
        unsigned char byte = (unsigned char)text.data[i];
        if (byte <= ' ' || byte == '"' || byte == '=' || byte == '\\' || byte >= 0x7f)
            return true;
    }
    return text.size == 0;
}

static void append_pair(struct buffer *line, const struct log_field *field)
{
    if (log_state.format == LOG_FORMAT_JSON) {
        buffer_append_byte(line, ',');
        buffer_append_json(line, slice_of(field->key));
        buffer_append_byte(line, ':');
    } else {
        buffer_printf(line, " %s=", field->key);
    }
    if (field->is_number)
        buffer_append_number(line, field->number);
    else if (log_state.format == LOG_FORMAT_JSON || needs_quotes(field->text))
        buffer_append_json(line, field->text);
    else
        buffer_append(line, field->text);
}

static void append_time(struct buffer *line)
{
    int64_t now_ms = clock_wall_ms();
    time_t seconds = (time_t)(now_ms / 1000);
    struct tm parts;
    char text[32];
    gmtime_r(&seconds, &parts);
    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
    buffer_printf(line, "%s.%03dZ", text, (int)(now_ms % 1000));
}

void log_event(enum log_level level, const char *event, const struct log_field *fields, size_t count)
{
    if (!log_is_on(level))
        return;
    struct buffer line;
    buffer_init(&line, LINE_MAX_BYTES);
    bool json = log_state.format == LOG_FORMAT_JSON;
    buffer_append(&line, json ? SLICE("{\"time\":\"") : SLICE("time="));
    append_time(&line);
    buffer_printf(&line, json ? "\",\"level\":\"%s\",\"event\":\"%s\"" : " level=%s event=%s",
                  level_names[level], event);
    for (size_t i = 0; i < count; i++) {
        struct buffer before = line;
        append_pair(&line, &fields[i]);
        if (line.failed) { /* leaves out a field that is too long for the line */
            line.size = before.size;
            line.failed = false;
        }
    }
    buffer_append(&line, json ? SLICE("}\n") : SLICE("\n"));
    ssize_t ignored = write(log_state.fd, line.data, line.size);
    (void)ignored;
    buffer_fini(&line);
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
