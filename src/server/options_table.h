/* options_table.h - what is to be known about each option, and the steps of
 * options_load; for the options_*.c only. */
#ifndef DUEPOST_SERVER_OPTIONS_TABLE_H
#define DUEPOST_SERVER_OPTIONS_TABLE_H

#include "server/options.h"

enum option_kind {
    OPTION_KIND_TEXT,
    OPTION_KIND_NUMBER,
    OPTION_KIND_SIZE,     /* bytes */
    OPTION_KIND_DURATION, /* ms */
    OPTION_KIND_ON_OFF,
    OPTION_KIND_LISTEN,
    OPTION_KIND_REDIS,
    OPTION_KIND_DURABILITY,
    OPTION_KIND_SCHEDULE,
    OPTION_KIND_HOSTS,
    OPTION_KIND_TARGETS, /* may be given more than once; the values add up */
    OPTION_KIND_PROXY,
    OPTION_KIND_PREFIX,
    OPTION_KIND_LOG_FORMAT,
    OPTION_KIND_LOG_LEVEL,
    OPTION_KIND_SWITCH, /* a flag without a value, and nothing but a flag */
};

struct option {
    const char *name;
    const char *placeholder; /* NULL for a switch */
    enum option_kind kind;
    size_t offset;        /* of its member in struct options, for the kinds that need one */
    int64_t min, max;     /* of numbers, sizes and durations */
    const char *fallback; /* NULL: computed, or none */
    const char *help;     /* one line; NULL: not shown */
    const char *text;     /* for the reference, after the line of help; may be NULL */
    bool may_reload;
};

extern const struct option option_table[OPTION_COUNT];

/* The option of that name, or OPTION_COUNT. */
enum option_id option_find(struct slice name);

/* "DUEPOST_MAX_BODY" */
enum { OPTION_VARIABLE_MAX = 64 };
void option_variable(const struct option *, char variable[OPTION_VARIABLE_MAX]);

/* The values of one source. */
struct option_layer {
    struct option_setting settings[OPTION_COUNT];
};

/* Copies text; a second value of targets is added to the first, else it replaces it. */
void option_layer_set(struct option_layer *, enum option_id, struct slice text, enum option_source,
                      unsigned line);
void option_layer_fini(struct option_layer *);

/* options_defaults.c, options_flags.c, options_environment.c, options_file.c: one source each. The problem names
 * the place. */
void options_fill_defaults(struct option_layer *, char *const *environment);
enum status options_read_flags(struct option_layer *, int argc, char *const *argv, struct problem *) MUST_USE;
void options_read_environment(struct option_layer *, char *const *environment, struct options *);
enum status options_read_file(struct option_layer *, const char *path, struct slice content,
                              struct problem *) MUST_USE;

/* For the log, once it is open. Copies text. */
void options_warn(struct options *, const char *text);

/* The value of a variable of environment, or NULL when it is absent or empty. Borrowed. */
const char *environment_get(char *const *environment, const char *name);

/* Fills content, also when it fails, with what a file holds; at most max_bytes. */
enum status options_slurp(const char *path, size_t max_bytes, struct buffer *content,
                          struct problem *) MUST_USE;

/* options_value.c: text becomes the member of options. The problem says what is wrong, not where. */
enum status option_set(struct options *, enum option_id, enum option_source, struct slice text,
                       struct problem *) MUST_USE;

/* options_print.c */
void options_print_help(FILE *);
void options_print_config(const struct options *, FILE *);
void options_print_reference(FILE *);

#endif
