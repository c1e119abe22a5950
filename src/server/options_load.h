/* options_load.h - reads the options from their sources.
 *
 * Each option can be given as a flag (--max-body 2MiB, --max-body=2MiB), in the environment
 * (DUEPOST_MAX_BODY) and in a file (max-body = 2MiB), in this order of precedence, with a default beneath.
 * Every source is checked, also where another one wins. */
#ifndef DUEPOST_SERVER_OPTIONS_LOAD_H
#define DUEPOST_SERVER_OPTIONS_LOAD_H

#include "server/options.h"

struct options_input {
    int argc;
    char *const *argv;
    char *const *environment; /* "NAME=value", ended by NULL */
    const char *config_file;  /* read if it is there and no other was named */
};

/* STATUS_INVALID: problem names the place ("--max-body: ..."), and options hold nothing. */
enum status options_load(struct options *, const struct options_input *, struct problem *) MUST_USE;

/* INVALID: what is fine later, but at the start rather a mistake, is a file of tokens that holds none. */
enum status options_check_start(struct options *, struct problem *) MUST_USE;

#endif
