/* check_report.h - the lines of duepost check, as text or JSON. */
#ifndef DUEPOST_SERVER_CHECK_REPORT_H
#define DUEPOST_SERVER_CHECK_REPORT_H

#include <stdbool.h>

#include "base/buffer.h"
#include "base/json_writer.h"

enum { CHECK_TEXT_SIZE = 256 }; /* size of one part of a line */

enum check_result { CHECK_OK, CHECK_WARNING, CHECK_FAILURE, CHECK_RESULTS };

struct check_report {
    bool is_json;
    unsigned counts[CHECK_RESULTS];
    struct buffer text; /* text of the JSON */
    struct json_writer json;
};

void check_report_begin(struct check_report *, bool is_json);

/* Adds a line to stdout. name is the checked object, one word. The text says what was found, and for a
 * warning or a failure also what was expected and what to do. Control bytes in the text are replaced. */
void check_add(struct check_report *, enum check_result, const char *name, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Prints the last line, the summary. Returns true unless a check has failed. */
bool check_report_end(struct check_report *);

#endif
