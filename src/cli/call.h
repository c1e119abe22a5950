/* call.h - a running command, and functions that several commands use: targets of requests, names, members
 * of answers. */
#ifndef DUEPOST_CLI_CALL_H
#define DUEPOST_CLI_CALL_H

#include "base/buffer.h"
#include "base/timestamp.h"
#include "cli/arguments.h"
#include "cli/remote.h"

enum {
    CALL_TARGET_MAX = 8192,
    CALL_PAGE_MAX = 1000
}; /* bytes of a target; number of jobs in a page of the API */

struct call {
    int word_count; /* the words and options after the name of the command */
    char *const *words;
    struct arguments arguments;
    long long
        left;     /* number of jobs or topics still to fetch until --limit is reached; LLONG_MAX: no limit */
    bool is_bulk; /* the command is a bulk action: the API itself applies --limit, and the command requires
                     --limit or --all */
    char since[TIMESTAMP_SIZE]; /* the time of --since; empty: not given */
    struct remote *remote;
    struct problem problem; /* why the command failed; empty until then */
    bool
        has_sent; /* a request was sent, so the arguments were correct, and a later error has another cause */
};

/* Appends text encoded for a segment of a path or a value of a query. */
void call_add_encoded(struct buffer *target, const char *text);

/* Reads --limit, and checks the times and durations. Returns false after an error; problem then says what is
 * wrong. */
bool call_begin(struct call *);

/* Replaces --since by another option for the beginning of a span. */
void call_use_since(struct call *, enum argument);

/* Writes a target from path, the filter and the page size. cursor may be NULL. */
void call_make_target(const struct call *, struct buffer *target, const char *path, const char *cursor);

/* Subtracts the number of entries on a page from the number still to fetch. */
void call_took(struct call *, long long number);

/* Return a member of a JSON object. If the member is missing, return NULL, or 0 for a number. */
const char *call_text(const json_t *object, const char *name);

long long call_number(const json_t *object, const char *name);

/* Returns the text of a member of a JSON object, or of nothing. */
struct slice call_member(struct slice object, const char *name);

/* Returns whether text is JSON that duepost would take. Numbers of any size are JSON. */
bool call_is_json(struct slice text);

/* Prints JSON with an indentation. Each name, number and string is printed as it is in the text. */
void call_print_json(struct slice text);

/* Prints the last answer of the server as JSON. */
void call_print_answer(const struct call *);

/* Returns the settings of a topic, or one of them, as JSON in one line. The caller frees it. */
char *call_setting(const json_t *);

/* Return whether text is a name of this kind. If it is not, or is NULL, the problem of the call says what is
 * expected. */
bool name_is_topic(struct call *, const char *text);

bool name_is_topic_or_pattern(struct call *, const char *text);

bool name_is_group(struct call *, const char *text);

/* Appends topic/id, encoded for a path. what is "job" or "schedule", for the problem. Returns false if text
 * is not TOPIC/ID. */
bool name_add_id(struct buffer *target, struct call *, const char *text, const char *what);

/* Sends a request and prints one member of the answer. Prints the whole answer with --json, or if the answer
 * does not have this member. body and member may be NULL. Returns false after an error; problem then says
 * why. */
bool ask(struct call *, const char *method, const char *target, const char *body, const char *member);

/* Writes the target of a request, "/jobs/topic/jobId" followed by suffix. topic/jobId is the command's first
 * word. Returns false if this word is not a topic/jobId. */
bool ask_make_job_target(struct buffer *target, struct call *, const char *suffix);

/* Writes the target of a request, "/topics/topic". topic is the command's first word. Returns false if the
 * command has no word. */
bool ask_make_topic_target(struct buffer *target, struct call *);

#endif
