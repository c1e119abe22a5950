/* export.h - writes the jobs of the history to standard output, one per line. */
#ifndef DUEPOST_CLI_EXPORT_H
#define DUEPOST_CLI_EXPORT_H

#include "cli/call.h"

/* Writes one job, which is the text of an object from the API, as a line. Returns false without memory. */
typedef bool export_write_fn(struct buffer *line, struct slice job);

/* As NDJSON: the text of the object, which keeps its numbers and its body byte for byte. A line break between
 * the tokens of a body becomes a blank. */
bool export_write_ndjson(struct buffer *line, struct slice job);

/* As CSV (RFC 4180), with the columns of export_csv_head. An array or an object is its JSON text. */
bool export_write_csv(struct buffer *line, struct slice job);
extern const char export_csv_head[];

/* Writes all jobs that match the filter of the call, with a progress bar on standard error. */
bool export_run(struct call *);

#endif
