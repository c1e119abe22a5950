/* check_private.h - the lines of duepost check, as text or JSON, and the functions that add them. */
#ifndef DUEPOST_SERVER_CHECK_CHECK_PRIVATE_H
#define DUEPOST_SERVER_CHECK_CHECK_PRIVATE_H

#include <stdbool.h>

#include "base/buffer.h"
#include "base/json_writer.h"
#include "server/options/options.h"

enum check_result { CHECK_OK, CHECK_WARNING, CHECK_FAILURE, CHECK_RESULTS };

struct check_report {
    bool is_json;
    unsigned counts[CHECK_RESULTS];
    struct buffer text; /* text of the JSON */
    struct json_writer json;
};

/* ---- report.c ---- */

void check_report_begin(struct check_report *, bool is_json);

/* Adds a line to stdout. name is the checked object, one word. The text says what was found, and for a
 * warning or a failure also what was expected and what to do. Control bytes in the text are replaced. */
void check_add(struct check_report *, enum check_result, const char *name, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Prints the last line, the summary. Returns true unless a check has failed. */
bool check_report_end(struct check_report *);

/* ---- host.c ---- */

void check_tokens(struct check_report *, struct options *);
void check_targets(struct check_report *, const struct options *);
void check_ports(struct check_report *, const struct options *);
void check_proxy(struct check_report *, const char *url); /* url: where clients reach a running server */
void check_certificate(struct check_report *, const struct options *);
void check_files(struct check_report *, const struct options *);
void check_names(struct check_report *);
void check_time_zones(struct check_report *);
void check_history(struct check_report *, const struct options *);
void check_outbox(struct check_report *, const char *source); /* NULL: no outbox; adds no line */

/* ---- redis.c ---- */

/* Connects to Redis as the server does, and judges its properties with the functions of the server. Changes
 * no data in Redis: the only write is a script that writes a key and removes it again. Does not start a
 * private Redis that does not run. Takes about 15 s at most. */
void check_redis(struct check_report *, const struct options *);

#endif
