/* options_source.h - three sources of options: defaults, flags, environment. options_file.h reads the
 * file. */
#ifndef DUEPOST_SERVER_OPTIONS_SOURCE_H
#define DUEPOST_SERVER_OPTIONS_SOURCE_H

#include "server/options_table.h"

/* The values of one source. */
struct option_layer {
    struct option_setting settings[OPTION_COUNT];
};

/* Copies text. The value of --allow-target is added to its earlier values; the value of any other option
 * replaces its earlier value. */
void option_layer_set(struct option_layer *, enum option_id, struct slice text, enum option_source,
                      unsigned line);
void option_layer_fini(struct option_layer *);

/* Fills in the default values: the defaults in the table, and the defaults that depend on this host. */
void options_fill_defaults(struct option_layer *, char *const *environment);

/* Reads the flags. Returns STATUS_INVALID after an error; problem then names the flag. */
enum status options_read_flags(struct option_layer *, int argc, char *const *argv, struct problem *) MUST_USE;

/* Reads the environment. An unknown variable becomes a warning in options. */
void options_read_environment(struct option_layer *, char *const *environment, struct options *);

#endif
