/* options_table.h - the table of all options. The parsers, --help, --print-config and config/duepost.conf are
 * generated from this table. */
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
    OPTION_KIND_HISTORY,
    OPTION_KIND_HISTORY_BODIES,
    OPTION_KIND_SCHEDULE,
    OPTION_KIND_HOSTS,
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
    bool is_shared; /* processes on one Redis need the same value, see shared_options.h */
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

#endif
