/* attempts_json.h - converts the attempts of a job to a JSON array for the database, and back, without I/O.
 *
 *     [{"attempt":3,"at":1700000000123,"durationMs":246,"status":503,"answer":"locked","isAnswerCut":true},
 *      {"attempt":1,"round":2,"at":1700000030456,"durationMs":12,"error":"connect","errorDetail":"refused"}]
 */
#ifndef DUEPOST_HISTORY_ATTEMPTS_JSON_H
#define DUEPOST_HISTORY_ATTEMPTS_JSON_H

#include "base/buffer.h"
#include "job/attempt_line.h"

/* Writes the array. Stops at the first line that duepost did not write. Writes nothing if there is no
 * line. *last becomes the last attempt, if there is one. Returns the number of attempts. */
size_t attempts_json_write(struct slice lines, struct buffer *, struct attempt_line *last);

/* Writes a line (attempt_line.h) for each object of the array, up to the first object that is not an
 * attempt. */
void attempts_json_read(struct slice json, struct buffer *lines);

#endif
