/* answer_headers.h - writes the headers of a receiver's answer in the form that clients expect. */
#ifndef DUEPOST_QSTASH_ANSWER_HEADERS_H
#define DUEPOST_QSTASH_ANSWER_HEADERS_H

#include "base/json_writer.h"

/* Adds the headers in lines as an object. A member has the header's name in canonical form, and an array of
 * its values. Each line is "Name: value" and a newline. */
void answer_headers_add(struct json_writer *, const char *member, struct slice lines);

/* Finds the value of the first header with this name, in any case. Returns false if there is no such header.
 */
bool answer_headers_find(struct slice lines, struct slice wanted, struct slice *value);

#endif
