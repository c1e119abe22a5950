/* options_private.h - the table of all options, and the parsers that are made from it. The parsers, --help,
 * --print-config and config/duepost.conf are generated from the table. */
#ifndef DUEPOST_SERVER_OPTIONS_OPTIONS_PRIVATE_H
#define DUEPOST_SERVER_OPTIONS_OPTIONS_PRIVATE_H

#include "server/options/options.h"

/* ---- table.c ---- */

enum option_kind {
    OPTION_KIND_TEXT,
    OPTION_KIND_NUMBER,
    OPTION_KIND_SIZE,     /* bytes */
    OPTION_KIND_DURATION, /* ms */
    OPTION_KIND_ON_OFF,
    OPTION_KIND_LISTEN,
    OPTION_KIND_REDIS,
    OPTION_KIND_CLOCK,
    OPTION_KIND_DURABILITY,
    OPTION_KIND_HISTORY,
    OPTION_KIND_HISTORY_BODIES,
    OPTION_KIND_OUTBOX,
    OPTION_KIND_SCHEDULE,
    OPTION_KIND_HOSTS,
    OPTION_KIND_SITE,
    OPTION_KIND_TARGETS, /* may be given several times; all values are used */
    OPTION_KIND_PROXY,
    OPTION_KIND_PLAIN_HTTP,
    OPTION_KIND_PREFIX,
    OPTION_KIND_LOG_FORMAT,
    OPTION_KIND_LOG_LEVEL,
    OPTION_KIND_SWITCH, /* a flag without a value; not allowed in the file or the environment */
};

struct option {
    const char *name;
    const char *placeholder; /* NULL for a switch */
    enum option_kind kind;
    size_t offset;    /* offset, in struct options, of the member that gets the value; unused by some kinds */
    int64_t min, max; /* limits of numbers, sizes and durations */
    const char *fallback; /* default value; NULL: computed, or no default */
    const char *help;     /* one line for --help; NULL: the option is hidden */
    const char *text;     /* further text for config/duepost.conf; may be NULL */
    bool may_reload;
    bool is_shared; /* processes on one Redis need the same value, see shared_options_write */
};

extern const struct option option_table[OPTION_COUNT];

/* Returns the option with this name, or OPTION_COUNT. */
enum option_id option_find(struct slice name);

/* Writes the name of the option's environment variable, such as "DUEPOST_MAX_BODY". */
enum { OPTION_VARIABLE_MAX = 64 };
void option_variable(const struct option *, char variable[OPTION_VARIABLE_MAX]);

/* Appends the names of the options that differ, separated by spaces. Options that may change while duepost
 * runs are appended to changed, all others to fixed. */
void options_compare(const struct options *live, const struct options *fresh, struct buffer *changed,
                     struct buffer *fixed);

/* ---- sources.c ---- */

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

/* Reads the content of the file at path into the layer. Returns STATUS_INVALID after an error; problem then
 * names path and line. */
enum status options_read_file(struct option_layer *, const char *path, struct slice content,
                              struct problem *) MUST_USE;

/* ---- value.c ---- */

/* Parses a value. Returns STATUS_INVALID after an error; problem then describes the error without the place
 * of the option. */
enum status option_set(struct options *, enum option_id, enum option_source, struct slice text,
                       struct problem *) MUST_USE;

#endif
