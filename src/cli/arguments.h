/* arguments.h - the words and options that follow the name of a command. */
#ifndef DUEPOST_CLI_ARGUMENTS_H
#define DUEPOST_CLI_ARGUMENTS_H

#include <stdbool.h>

#include "base/status.h"

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
    ARGUMENT_PARALLEL,
    ARGUMENT_LEASE,
    ARGUMENT_SOURCE,
    ARGUMENT_ENDED_AFTER,
    ARGUMENT_ENDED_BEFORE,
    ARGUMENT_BEFORE,
    ARGUMENT_FROM,
    ARGUMENT_TO,
    ARGUMENT_STEP,
    ARGUMENT_FORMAT,
    ARGUMENT_JOBS,
    ARGUMENT_BATCH,
    ARGUMENT_RECEIVER_URL,
    ARGUMENT_RECEIVER_LISTEN,
    ARGUMENT_IDEMPOTENCY_KEY,
    ARGUMENT_STATUS,
    ARGUMENT_DATA,
    ARGUMENT_SINCE,
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
        wants_help;
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

#endif
