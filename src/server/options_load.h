/* options_load.h - reads the options from their sources.
 *
 * Each option can be given as a flag (--max-body 2MiB, --max-body=2MiB), in the environment
 * (DUEPOST_MAX_BODY) and in a file (max-body = 2MiB). A flag takes precedence over the environment, the
 * environment over the file, and the file over the default. Every value is checked, even if another source
 * takes precedence. */
#ifndef DUEPOST_SERVER_OPTIONS_LOAD_H
#define DUEPOST_SERVER_OPTIONS_LOAD_H

#include "server/options.h"

struct options_input {
    int argc;
    char *const *argv;
    char *const *environment; /* "NAME=value", ended by NULL */
    const char *config_file;  /* default file, read if it exists and no other file was named */
};

/* Loads the options. Returns STATUS_INVALID after an error; problem then names the place ("--max-body: ..."),
 * and options need not be freed. */
enum status options_load(struct options *, const struct options_input *, struct problem *) MUST_USE;

/* Makes the checks that apply only at the start. Returns STATUS_INVALID if the token file has no tokens. At a
 * reload an empty file revokes all tokens; at the start an empty file is more likely a mistake. */
enum status options_check_start(struct options *, struct problem *) MUST_USE;

#endif
