/* options_table.h - all facts about each option, once. The parsers, --help, --print-config and
 * config/duepost.conf are made from it. */
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
    size_t offset;        /* of its member in struct options, for kinds that need one */
    int64_t min, max;     /* for numbers, sizes and durations */
    const char *fallback; /* NULL: computed, or without a default */
    const char *help;     /* one line; NULL: hidden */
    const char *text;     /* for the reference, after the line of help; may be NULL */
    bool may_reload;
};

extern const struct option option_table[OPTION_COUNT];

/* Returns the option of that name, or OPTION_COUNT. */
enum option_id option_find(struct slice name);

/* "DUEPOST_MAX_BODY" */
enum { OPTION_VARIABLE_MAX = 64 };
void option_variable(const struct option *, char variable[OPTION_VARIABLE_MAX]);

/* Appends the names of the options that differ, separated by spaces: those that may change while duepost runs
 * to changed, the others to fixed. */
void options_compare(const struct options *live, const struct options *fresh, struct buffer *changed,
                     struct buffer *fixed);

#endif
