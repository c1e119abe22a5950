/* arguments.h - what stands behind the name of a command: words, and options with a value. */
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
    ARGUMENT_URL_HOST,
    ARGUMENT_PER_SECOND,
    ARGUMENT_LIMIT,
    ARGUMENT_COUNT
};

/* Texts are borrowed from argv and the environment. */
struct arguments {
    const char *word;                   /* the one that is no option; NULL: none */
    const char *values[ARGUMENT_COUNT]; /* NULL: not given */
    bool is_json, is_all;
};

/* INVALID: problem says what is wrong. */
enum status arguments_parse(int argc, char *const *argv, struct arguments *, struct problem *) MUST_USE;

/* The name of the query's parameter that this one is; NULL: none. */
const char *argument_parameter(enum argument);

#endif
