/* call.h - a running command: the words and options that follow its name, and functions that several commands
 * use: targets of requests, names, members of answers. */
#ifndef DUEPOST_CLI_CALL_H
#define DUEPOST_CLI_CALL_H

#include <stdbool.h>

#include "base/buffer.h"
#include "base/status.h"
#include "base/timestamp.h"
#include "cli/remote.h"

/* ---- arguments.c ---- */

/* The words and options that follow the name of a command. */

enum argument {
    ARGUMENT_SERVER,
    ARGUMENT_TOKEN_FILE,
    ARGUMENT_CA_FILE,
    ARGUMENT_STATE,
    ARGUMENT_TOPIC,
    ARGUMENT_DUE_AFTER,
    ARGUMENT_DUE_BEFORE,
    ARGUMENT_DIED_AFTER,
    ARGUMENT_DIED_BEFORE,
    ARGUMENT_URL_HOST,
    ARGUMENT_ID_PREFIX,
    ARGUMENT_REASON,
    ARGUMENT_LAST_STATUS,
    ARGUMENT_LABEL,
    ARGUMENT_KEY,
    ARGUMENT_PRIORITY,
    ARGUMENT_ORDER,
    ARGUMENT_PER_SECOND,
    ARGUMENT_LIMIT,
    ARGUMENT_URL,
    ARGUMENT_METHOD,
    ARGUMENT_GROUP,
    ARGUMENT_DELAY,
    ARGUMENT_DUE_AT,
    ARGUMENT_TTL,
    ARGUMENT_RETRY,
    ARGUMENT_TIMEOUT,
    ARGUMENT_ON_DELIVERED,
    ARGUMENT_ON_DEAD,
    ARGUMENT_ON_ATTEMPT,
    ARGUMENT_BODY,
    ARGUMENT_BODY_BASE64,
    ARGUMENT_BODY_FILE,
    ARGUMENT_NEXT_AFTER,
    ARGUMENT_NEXT_BEFORE,
    ARGUMENT_CRON,
    ARGUMENT_EVERY,
    ARGUMENT_TIMEZONE,
    ARGUMENT_START_AT,
    ARGUMENT_END_AT,
    ARGUMENT_JITTER,
    ARGUMENT_GRACE,
    ARGUMENT_MISFIRE,
    ARGUMENT_OVERLAP,
    ARGUMENT_EXPECT_BY,
    ARGUMENT_PARALLEL,
    ARGUMENT_LEASE,
    ARGUMENT_SOURCE,
    ARGUMENT_ENDED_AFTER,
    ARGUMENT_ENDED_BEFORE,
    ARGUMENT_BEFORE,
    ARGUMENT_FROM,
    ARGUMENT_TO_URL,
    ARGUMENT_TO_FILE,
    ARGUMENT_TO,
    ARGUMENT_STEP,
    ARGUMENT_COUNT_OF,
    ARGUMENT_DURATION_OF,
    ARGUMENT_FORMAT,
    ARGUMENT_JOBS,
    ARGUMENT_BATCH,
    ARGUMENT_RECEIVER_URL,
    ARGUMENT_RECEIVER_LISTEN,
    ARGUMENT_IDEMPOTENCY_KEY,
    ARGUMENT_STATUS,
    ARGUMENT_DATA,
    ARGUMENT_SINCE,
    ARGUMENT_SIGNING_SECRET_FILE,
    ARGUMENT_FILE,
    ARGUMENT_CLOCK,
    ARGUMENT_METRICS_FILE,
    ARGUMENT_MOST,
    ARGUMENT_THROTTLE_KEY,
    ARGUMENT_THROTTLE_PER,
    ARGUMENT_DEBOUNCE_KEY,
    ARGUMENT_DEBOUNCE_WAIT,
    ARGUMENT_DEBOUNCE_MAX_WAIT,
    ARGUMENT_ACTION,
    ARGUMENT_BY,
    ARGUMENT_COUNT
};

enum { ARGUMENT_WORDS_MAX = 32, ARGUMENT_HEADERS_MAX = 50, ARGUMENT_LABELS_MAX = 20 };

/* The arguments of a command. The texts are parts of argv and the environment. */
struct arguments {
    const char *word; /* first word that is not an option; NULL: none */
    const char *words[ARGUMENT_WORDS_MAX];
    int word_count;
    const char *values[ARGUMENT_COUNT];        /* NULL: not given */
    const char *headers[ARGUMENT_HEADERS_MAX]; /* "Name: value", from --header */
    int header_count;
    const char *labels[ARGUMENT_LABELS_MAX - 1]; /* values of --label, except the first value */
    int label_count;
    char *const *command; /* the words after --; NULL: the command line has no -- */
    bool is_json, is_all, is_dry_run, is_removal, is_paused, is_once, until_empty, is_resend, is_agreed,
        is_taking, is_pruning, is_installing, is_rewriting, is_resuming, is_moving, wants_help;
};

/* Parses at most words_max words, and the options. help is the help text of the command, which names its
 * options; NULL: the command has only the options that every command has. Returns STATUS_INVALID after an
 * error; problem then says what is wrong. */
enum status arguments_parse(int argc, char *const *argv, int words_max, const char *help, struct arguments *,
                            struct problem *) MUST_USE;

/* Checks that the command's help text names each given option, because a command would ignore any other
 * option. Also checks that no two given options exclude each other. name is the command, for the problem.
 * Returns STATUS_INVALID after an error. */
enum status arguments_check(struct arguments *, const char *help, const char *name,
                            struct problem *) MUST_USE;

/* Returns the option as a user writes it, such as "--delay". */
const char *argument_flag(enum argument);

/* Returns the first given option that only actions on several jobs have: a filter, --limit, --all or
 * --dry-run. Returns NULL if no such option is given. */
const char *arguments_bulk_flag(const struct arguments *);

/* Returns the query parameter that this option sets, or NULL if it sets none. */
const char *argument_parameter(enum argument);

enum argument_kind {
    ARGUMENT_TEXT,
    ARGUMENT_TIME,     /* RFC 3339, "now", or a duration: "-1h" is before now, "+15m" is after now */
    ARGUMENT_PAST,     /* like a time, but a bare duration is before now */
    ARGUMENT_DURATION, /* such as "90s", "15m" or "1h" */
};
enum argument_kind argument_kind(enum argument);

/* ---- call.c ---- */

/* A running command, and functions that several commands use: targets of requests, names, members
 * of answers. */

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
    int exit_status; /* exit status of a command that has another one than usual; 0: it has the usual one */
    const struct cli_option *server_options; /* options of the server, see cli.h */
    size_t server_option_count;
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

/* Prints a line about a job: "orders/a is delayed, due in 2 h, at ...", followed by more. */
void call_print_job(const json_t *job, const char *more);

/* Prints the last answer of the server as JSON. */
void call_print_answer(const struct call *);

/* Returns the settings of a topic, or one of them, as JSON in one line. The caller frees it. */
char *call_setting(const json_t *);

/* Return whether text is a name of this kind. If it is not, or is NULL, the problem of the call says what is
 * expected. */
bool name_is_topic(struct call *, const char *text);

bool name_is_topic_or_pattern(struct call *, const char *text);

bool name_is_group(struct call *, const char *text);

bool name_is_limit(struct call *, const char *text);

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
