/* call.h - a command under way, and what several commands need: targets of requests, members of answers. */
#ifndef DUEPOST_CLI_CALL_H
#define DUEPOST_CLI_CALL_H

#include "base/buffer.h"
#include "cli/arguments.h"
#include "cli/remote.h"

enum { CALL_TARGET_MAX = 8192, CALL_PAGE_MAX = 1000 }; /* bytes; the most jobs of a page, see openapi.yaml */

struct call {
    int word_count; /* what stands behind the name of the command */
    char *const *words;
    struct arguments arguments;
    long long left; /* jobs and topics still wanted, of --limit; LLONG_MAX: all */
    struct remote *remote;
    struct problem problem; /* why it failed; empty until then */
    bool is_refused;        /* of a command without a server: it was called rightly */
};

/* Appends text as a segment of a path, or a value of a query. */
void call_add_encoded(struct buffer *target, const char *text);

/* Reads --limit, and checks the times. False: problem says what is wrong. */
bool call_begin(struct call *);

/* Path, and the filter that was given, in pages of what is left to be wanted; cursor may be NULL. */
void call_make_target(const struct call *, struct buffer *target, const char *path, const char *cursor);

/* A page had this many: fewer are left to be wanted. */
void call_took(struct call *, long long number);

/* Members of an object: NULL and 0 when they are not there. */
const char *call_text(const json_t *object, const char *name);
long long call_number(const json_t *object, const char *name);

void call_print_json(const json_t *);

#endif
