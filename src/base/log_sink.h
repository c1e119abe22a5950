/* log_sink.h - writes lines to the log's descriptor and never waits long for their reader.
 *
 * The log may be a pipe or a socket, such as stderr of a service or a container. If nothing reads there, a
 * write waits up to LOG_SINK_WAIT_MS. After that, lines are dropped at once, until there is room again,
 * because a process that waits for its log would lose the leases of its jobs. If only a part of a line was
 * written, the next line begins with a line break. Thread-safe. */
#ifndef DUEPOST_BASE_LOG_SINK_H
#define DUEPOST_BASE_LOG_SINK_H

#include <stdbool.h>

#include "base/slice.h"

enum { LOG_SINK_WAIT_MS = 100 };

/* Borrows fd. Without this call, lines go to stderr. */
void log_sink_use(int fd);
int log_sink_fd(void);

/* Writes whole lines. A file gets them in one piece. A pipe, to which other processes may also write, gets
 * pieces of at most PIPE_BUF bytes, which end with a whole line unless a line is longer than PIPE_BUF.
 * Returns false if lines were dropped, and counts these. */
bool log_sink_write(struct slice lines);

/* Returns the number of lines that were dropped since the last call, or 0. */
unsigned long log_sink_take_dropped(void);

/* Adds to the number of dropped lines. Used when the line that reports this number is dropped, too. */
void log_sink_add_dropped(unsigned long lines);

#endif
