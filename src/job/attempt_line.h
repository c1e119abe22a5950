/* attempt_line.h - the record of one attempt: a line of text that only duepost writes and reads.
 *
 *     3 1700000000123 246 503 "The order is locked."+
 *     1@2 1700000030456 12 200
 *
 * The fields are: the number of the attempt (from the second round on, with '@' and the round); its start and
 * its duration, both in ms; and the status of the answer or the word for the error. A JSON string may follow:
 * the detail of the error, or the beginning of the answer's body. A '+' after the string means that the body
 * was longer. The lines of a job are in the order of its attempts, each with a newline at its end.
 *
 *     1 1700000000123 246 500 "\u001f/9j/4A=="
 *
 * A body that is not UTF-8 is in the string as base64, after U+001F, which no other string here contains. The
 * base64 is inside the string because versions up to 0.2 stop reading at a line with an unknown field; they
 * show the string as the answer's text. */
#ifndef DUEPOST_JOB_ATTEMPT_LINE_H
#define DUEPOST_JOB_ATTEMPT_LINE_H

#include "base/json_writer.h"
#include "job/job.h"

enum {
    ATTEMPT_ANSWER_MAX = 1024,                       /* maximum size of the answer's body in a line */
    ATTEMPT_LINE_MAX = 4 * ATTEMPT_ANSWER_MAX + 320, /* also for a sealed answer */
    ATTEMPT_OWNER_MAX = 128,
};

struct attempt_line {
    int round;  /* from 1 */
    int number; /* number of the attempt in its round, from 1; starts at 1 again when a dead job is run again
                 */
    struct attempt_result result;
    struct slice answer; /* a JSON string, with its quotes, or empty; read it with the functions below */
    struct slice owner;  /* the line up to the answer, for which the answer may be sealed (text/sealed.h) */
    struct slice base64; /* the bytes of a body that is not UTF-8, else empty */
    bool is_answer_cut;
};

/* Writes the line, without its newline. answer may be any bytes; only its first ATTEMPT_ANSWER_MAX bytes are
 * used. U+FFFD replaces control characters except tabs and line ends. */
void attempt_line_write(struct buffer *, int round, int number, const struct attempt_result *,
                        struct slice answer, bool is_answer_cut);

/* Takes the first line from *lines. The result's slices point into the text of *lines. Returns false if there
 * are no more lines, or if duepost did not write the line. */
bool attempt_line_take(struct slice *lines, struct attempt_line *);

/* Returns whether the answer is sealed. Its base64 is not known then. */
bool attempt_line_is_sealed(const struct attempt_line *);

/* Returns the body as a text, in which U+FFFD replaces bytes that are not UTF-8, or the body's bytes. scratch
 * needs room for ATTEMPT_LINE_MAX bytes. */
struct slice attempt_line_text(const struct attempt_line *, struct buffer *scratch);
struct slice attempt_line_bytes(const struct attempt_line *, struct buffer *scratch);

/* Adds the text as the member "answer", if there was a body. */
void attempt_line_add_answer(struct json_writer *, const struct attempt_line *);

#endif
