/* log.h - events, one line each, as logfmt or JSON.
 *
 * An event is a snake_case name and fields. Bodies, secrets and the query of a URL must never be logged, not
 * even inside a text from outside. Thread-safe: each line is written to a file whole. If the log is a pipe
 * and no process reads it, lines are dropped (log_sink_write). Later, the event log_lines_dropped says how
 * many.
 *
 * A thread may gather its lines of the levels debug and info and write them together, because a write for
 * each line would cost more than the line. A line of a higher level is written at once, after the gathered
 * lines. If the process is killed, the gathered lines are lost. */
#ifndef DUEPOST_BASE_LOG_H
#define DUEPOST_BASE_LOG_H

#include <stdbool.h>

#include "base/slice.h"
#include "base/status.h"

/* Audit events record who changed what. Audit events are written at every log level. */
enum log_level { LOG_LEVEL_DEBUG, LOG_LEVEL_INFO, LOG_LEVEL_WARNING, LOG_LEVEL_ERROR, LOG_LEVEL_AUDIT };
enum log_format { LOG_FORMAT_LOGFMT, LOG_FORMAT_JSON };

struct log_field {
    const char *key;
    struct slice text;
    int64_t number;
    bool is_number;
};

#define LOG_TEXT(key, string)   ((struct log_field){(key), slice_of(string), 0, false})
#define LOG_SLICE(key, slice)   ((struct log_field){(key), (slice), 0, false})
#define LOG_NUMBER(key, number) ((struct log_field){(key), {NULL, 0}, (int64_t)(number), true})

/* log_info("redis_lost", LOG_TEXT("why", why), LOG_NUMBER("after_ms", ms)); An event needs at least one
 * field. */
#define LOG_EVENT(level, event, ...)                                                                         \
    log_event((level), (event), (const struct log_field[]){__VA_ARGS__},                                     \
              sizeof((const struct log_field[]){__VA_ARGS__}) / sizeof(struct log_field))
#define log_debug(event, ...)   LOG_EVENT(LOG_LEVEL_DEBUG, event, __VA_ARGS__)
#define log_info(event, ...)    LOG_EVENT(LOG_LEVEL_INFO, event, __VA_ARGS__)
#define log_warning(event, ...) LOG_EVENT(LOG_LEVEL_WARNING, event, __VA_ARGS__)
#define log_error(event, ...)   LOG_EVENT(LOG_LEVEL_ERROR, event, __VA_ARGS__)
#define log_audit(event, ...)   LOG_EVENT(LOG_LEVEL_AUDIT, event, __VA_ARGS__)

/* Returns whether an event of this level would be written. Call it before computing expensive fields. */
bool log_is_on(enum log_level);

void log_event(enum log_level, const char *event, const struct log_field *fields, size_t count);

/* log_gather_begin lets this thread gather its lines. log_flush writes the gathered lines. log_gather_end
 * writes them and ends the gathering.
 * */
void log_gather_begin(void);
void log_gather_end(void);
void log_flush(void);

/* Opens the log. Call it before any thread starts. A path of NULL means stderr. */
enum status log_open(const char *path, enum log_format, enum log_level, struct problem *) MUST_USE;

/* Opens the same file again, for log rotation. If that fails, the log keeps the old file. */
enum status log_reopen(struct problem *) MUST_USE;

void log_set_level(enum log_level);

/* Parses a level. The level audit cannot be configured and is refused. */
bool log_level_parse(struct slice text, enum log_level *);
bool log_format_parse(struct slice text, enum log_format *);

/* ---- the descriptor ---- */

/* Lines are written to the log's descriptor, and never wait long for their reader.
 *
 * The log may be a pipe or a socket, such as stderr of a service or a container. If nothing reads there, a
 * write waits up to LOG_SINK_WAIT_MS. After that, lines are dropped at once, until there is room again,
 * because a process that waits for its log would lose the leases of its jobs. If only a part of a line was
 * written, the next line begins with a line break. Thread-safe. */

enum { LOG_SINK_WAIT_MS = 100 };

/* Borrows fd. Without this call, lines go to stderr. */
void log_sink_use(int fd);

/* Writes whole lines. A file gets them in one piece. A pipe, to which other processes may also write, gets
 * pieces of at most PIPE_BUF bytes, which end with a whole line unless a line is longer than PIPE_BUF.
 * Returns false if lines were dropped, and counts these. */
bool log_sink_write(struct slice lines);

/* Returns the number of lines that were dropped since the last call, or 0. */
unsigned long log_sink_take_dropped(void);

#endif
