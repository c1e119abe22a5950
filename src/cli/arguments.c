#include "cli/arguments.h"

#include <ctype.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/slice.h"

static const struct {
    const char *flag, *parameter;
    bool is_time;
} table[ARGUMENT_COUNT] = {
    [ARGUMENT_SERVER] = {"--server", NULL, false},
    [ARGUMENT_TOKEN_FILE] = {"--token-file", NULL, false},
    [ARGUMENT_CA_FILE] = {"--ca-file", NULL, false},
    [ARGUMENT_STATE] = {"--state", "state", false},
    [ARGUMENT_TOPIC] = {"--topic", "topic", false},
    [ARGUMENT_DUE_AFTER] = {"--due-after", "dueAfter", true},
    [ARGUMENT_DUE_BEFORE] = {"--due-before", "dueBefore", true},
    [ARGUMENT_DIED_AFTER] = {"--died-after", "diedAfter", true},
    [ARGUMENT_DIED_BEFORE] = {"--died-before", "diedBefore", true},
    [ARGUMENT_URL_HOST] = {"--url-host", "urlHost", false},
    [ARGUMENT_ID_PREFIX] = {"--id-prefix", "idPrefix", false},
    [ARGUMENT_REASON] = {"--reason", "reason", false},
    [ARGUMENT_LAST_STATUS] = {"--last-status", "lastStatus", false},
    [ARGUMENT_LABEL] = {"--label", "label", false},
    [ARGUMENT_ORDER] = {"--order", "order", false},
    [ARGUMENT_PER_SECOND] = {"--per-second", "perSecond", false},
    [ARGUMENT_LIMIT] = {"--limit", NULL, false},
    [ARGUMENT_URL] = {"--url", NULL, false},
    [ARGUMENT_METHOD] = {"--method", NULL, false},
    [ARGUMENT_GROUP] = {"--group", NULL, false},
    [ARGUMENT_DELAY] = {"--delay", NULL, false},
    [ARGUMENT_DUE_AT] = {"--due-at", NULL, true},
    [ARGUMENT_TTL] = {"--ttl", NULL, false},
    [ARGUMENT_RETRY] = {"--retry", NULL, false},
    [ARGUMENT_TIMEOUT] = {"--timeout", NULL, false},
    [ARGUMENT_ON_DELIVERED] = {"--on-delivered", NULL, false},
    [ARGUMENT_ON_DEAD] = {"--on-dead", NULL, false},
    [ARGUMENT_ON_ATTEMPT] = {"--on-attempt", NULL, false},
    [ARGUMENT_BODY] = {"--body", NULL, false},
    [ARGUMENT_BODY_BASE64] = {"--body-base64", NULL, false},
    [ARGUMENT_BODY_FILE] = {"--body-file", NULL, false},
    [ARGUMENT_NEXT_AFTER] = {"--next-after", "nextAfter", true},
    [ARGUMENT_NEXT_BEFORE] = {"--next-before", "nextBefore", true},
    [ARGUMENT_CRON] = {"--cron", NULL, false},
    [ARGUMENT_EVERY] = {"--every", NULL, false},
    [ARGUMENT_TIMEZONE] = {"--timezone", NULL, false},
    [ARGUMENT_START_AT] = {"--start-at", NULL, true},
    [ARGUMENT_END_AT] = {"--end-at", NULL, true},
    [ARGUMENT_JITTER] = {"--jitter", NULL, false},
    [ARGUMENT_GRACE] = {"--grace", NULL, false},
    [ARGUMENT_MISFIRE] = {"--misfire", NULL, false},
    [ARGUMENT_OVERLAP] = {"--overlap", NULL, false},
    [ARGUMENT_PARALLEL] = {"--parallel", NULL, false},
    [ARGUMENT_LEASE] = {"--lease", NULL, false},
    [ARGUMENT_SOURCE] = {"--source", "source", false},
    [ARGUMENT_ENDED_AFTER] = {"--ended-after", "endedAfter", true},
    [ARGUMENT_ENDED_BEFORE] = {"--ended-before", "endedBefore", true},
    [ARGUMENT_BEFORE] = {"--before", "before", true},
    [ARGUMENT_FROM] = {"--from", "from", true},
    [ARGUMENT_TO] = {"--to", "to", true},
    [ARGUMENT_STEP] = {"--step", "step", false},
    [ARGUMENT_FORMAT] = {"--format", NULL, false},
    [ARGUMENT_JOBS] = {"--jobs", NULL, false},
    [ARGUMENT_BATCH] = {"--batch", NULL, false},
    [ARGUMENT_RECEIVER_URL] = {"--receiver-url", NULL, false},
    [ARGUMENT_RECEIVER_LISTEN] = {"--receiver-listen", NULL, false},
    [ARGUMENT_IDEMPOTENCY_KEY] = {"--idempotency-key", NULL, false},
};

const char *argument_parameter(enum argument argument)
{
    return table[argument].parameter;
}

bool argument_is_time(enum argument argument)
{
    return table[argument].is_time;
}

static enum status arguments_bad(struct problem *problem, struct slice name, const char *what)
{
    problem_set(problem, "%.*s: %s", SLICE_ARG(name), what);
    return STATUS_INVALID;
}

static const struct {
    const char *flag;
    size_t offset;
} switches[] = {
    {"--json", offsetof(struct arguments, is_json)},
    {"--all", offsetof(struct arguments, is_all)},
    {"--dry-run", offsetof(struct arguments, is_dry_run)},
    {"--remove", offsetof(struct arguments, is_removal)},
    {"--paused", offsetof(struct arguments, is_paused)},
    {"--once", offsetof(struct arguments, is_once)},
    {"--until-empty", offsetof(struct arguments, until_empty)},
    {"--resend", offsetof(struct arguments, is_resend)},
    {"--help", offsetof(struct arguments, wants_help)},
    {"-h", offsetof(struct arguments, wants_help)},
};

enum { SWITCHES = sizeof switches / sizeof *switches };

static bool *switch_place(struct arguments *arguments, size_t index)
{
    return (bool *)((char *)arguments + switches[index].offset);
}

static bool read_switch(const char *word, struct arguments *arguments)
{
    for (size_t i = 0; i < SWITCHES; i++)
        if (strcmp(word, switches[i].flag) == 0)
            return *switch_place(arguments, i) = true;
    return false;
}

/* Returns where to store the value of an option. Returns NULL if the option is unknown or there are too many
 * headers or labels. */
static const char **place_of(struct slice name, struct arguments *arguments)
{
    if (slice_equal(name, SLICE("--label")) && arguments->values[ARGUMENT_LABEL])
        return arguments->label_count < ARGUMENT_LABELS_MAX ? &arguments->labels[arguments->label_count++]
                                                            : NULL;
    for (int i = 0; i < ARGUMENT_COUNT; i++)
        if (slice_equal(name, slice_of(table[i].flag)))
            return &arguments->values[i];
    if (slice_equal(name, SLICE("--header")) && arguments->header_count < ARGUMENT_HEADERS_MAX)
        return &arguments->headers[arguments->header_count++];
    return NULL;
}

static enum status read_option(int argc, char *const *argv, int *index, struct arguments *arguments,
                               struct problem *problem)
{
    struct slice name, value;
    bool has_value = slice_cut(slice_of(argv[*index]), '=', &name, &value);
    const char **place;
    if (read_switch(argv[*index], arguments))
        return STATUS_OK;
    place = place_of(name, arguments);
    if (!place)
        return arguments_bad(problem, name, "unknown option");
    if (!has_value && *index + 1 >= argc)
        return arguments_bad(problem, name, "needs a value");
    *place = has_value ? value.data : argv[++*index];
    return STATUS_OK;
}

static enum status read_word(const char *word, int words_max, struct arguments *arguments,
                             struct problem *problem)
{
    if (arguments->word_count == words_max || arguments->word_count == ARGUMENT_WORDS_MAX)
        return arguments_bad(problem, slice_of(word), "unexpected argument");
    arguments->words[arguments->word_count++] = word;
    arguments->word = arguments->words[0];
    return STATUS_OK;
}

enum status arguments_parse(int argc, char *const *argv, int words_max, struct arguments *arguments,
                            struct problem *problem)
{
    *arguments = (struct arguments){.word = NULL};
    for (int i = 0; i < argc; i++) {
        if (strcmp(argv[i], "--") == 0) {
            arguments->command = argv + i + 1;
            break;
        }
        bool is_option = argv[i][0] == '-' && argv[i][1];
        enum status status = is_option ? read_option(argc, argv, &i, arguments, problem)
                                       : read_word(argv[i], words_max, arguments, problem);
        if (status != STATUS_OK)
            return status;
    }
    if (!arguments->values[ARGUMENT_SERVER])
        arguments->values[ARGUMENT_SERVER] = getenv("DUEPOST_SERVER");
    return STATUS_OK;
}

/* ---- the options of a command ---- */

/* Returns whether the text names the flag, and not only a longer one. */
static bool names_flag(const char *help, const char *flag)
{
    size_t size = strlen(flag);
    for (const char *at = strstr(help, flag); at; at = strstr(at + size, flag))
        if (!isalnum((unsigned char)at[size]) && at[size] != '-')
            return true;
    return false;
}

static bool is_common(const char *flag)
{
    return names_flag("--server --token-file --ca-file --json --help -h", flag);
}

static const char *unnamed_flag(struct arguments *arguments, const char *help)
{
    for (size_t i = 0; i < SWITCHES; i++)
        if (*switch_place(arguments, i) && !is_common(switches[i].flag) &&
            !names_flag(help, switches[i].flag))
            return switches[i].flag;
    for (int i = 0; i < ARGUMENT_COUNT; i++)
        if (arguments->values[i] && !is_common(table[i].flag) && !names_flag(help, table[i].flag))
            return table[i].flag;
    return arguments->header_count && !names_flag(help, "--header") ? "--header" : NULL;
}

enum status arguments_check(struct arguments *arguments, const char *help, struct problem *problem)
{
    const char *flag = unnamed_flag(arguments, help ? help : "");
    return flag ? arguments_bad(problem, slice_of(flag), "not an option of this command") : STATUS_OK;
}

const char *arguments_bulk_flag(const struct arguments *arguments)
{
    for (int i = 0; i < ARGUMENT_COUNT; i++)
        if (arguments->values[i] && (table[i].parameter || i == ARGUMENT_LIMIT))
            return table[i].flag;
    return arguments->is_all ? "--all" : arguments->is_dry_run ? "--dry-run" : NULL;
}
