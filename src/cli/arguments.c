#include "cli/call.h"

#include <ctype.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/slice.h"
#include "job/text/job_errors.h"

static const struct {
    const char *flag, *parameter;
    enum argument_kind kind;
    const char *in; /* an option with this text in the help; NULL: only one option has the flag */
} table[ARGUMENT_COUNT] = {
    [ARGUMENT_SERVER] = {"--server", NULL, ARGUMENT_TEXT},
    [ARGUMENT_TOKEN_FILE] = {"--token-file", NULL, ARGUMENT_TEXT},
    [ARGUMENT_CA_FILE] = {"--ca-file", NULL, ARGUMENT_TEXT},
    [ARGUMENT_STATE] = {"--state", "state", ARGUMENT_TEXT},
    [ARGUMENT_TOPIC] = {"--topic", "topic", ARGUMENT_TEXT},
    [ARGUMENT_DUE_AFTER] = {"--due-after", "dueAfter", ARGUMENT_TIME},
    [ARGUMENT_DUE_BEFORE] = {"--due-before", "dueBefore", ARGUMENT_TIME},
    [ARGUMENT_DIED_AFTER] = {"--died-after", "diedAfter", ARGUMENT_TIME},
    [ARGUMENT_DIED_BEFORE] = {"--died-before", "diedBefore", ARGUMENT_TIME},
    [ARGUMENT_URL_HOST] = {"--url-host", "urlHost", ARGUMENT_TEXT},
    [ARGUMENT_ID_PREFIX] = {"--id-prefix", "idPrefix", ARGUMENT_TEXT},
    [ARGUMENT_REASON] = {"--reason", "reason", ARGUMENT_TEXT},
    [ARGUMENT_LAST_STATUS] = {"--last-status", "lastStatus", ARGUMENT_TEXT},
    [ARGUMENT_LABEL] = {"--label", "label", ARGUMENT_TEXT},
    [ARGUMENT_KEY] = {"--key", "key", ARGUMENT_TEXT},
    [ARGUMENT_PRIORITY] = {"--priority", NULL, ARGUMENT_TEXT},
    [ARGUMENT_ORDER] = {"--order", "order", ARGUMENT_TEXT},
    [ARGUMENT_PER_SECOND] = {"--per-second", "perSecond", ARGUMENT_TEXT},
    [ARGUMENT_LIMIT] = {"--limit", NULL, ARGUMENT_TEXT},
    [ARGUMENT_URL] = {"--url", NULL, ARGUMENT_TEXT},
    [ARGUMENT_METHOD] = {"--method", NULL, ARGUMENT_TEXT},
    [ARGUMENT_GROUP] = {"--group", NULL, ARGUMENT_TEXT},
    [ARGUMENT_DELAY] = {"--delay", NULL, ARGUMENT_DURATION},
    [ARGUMENT_DUE_AT] = {"--due-at", NULL, ARGUMENT_TIME},
    [ARGUMENT_TTL] = {"--ttl", NULL, ARGUMENT_DURATION},
    [ARGUMENT_RETRY] = {"--retry", NULL, ARGUMENT_TEXT},
    [ARGUMENT_TIMEOUT] = {"--timeout", NULL, ARGUMENT_DURATION},
    [ARGUMENT_ON_DELIVERED] = {"--on-delivered", NULL, ARGUMENT_TEXT},
    [ARGUMENT_ON_DEAD] = {"--on-dead", NULL, ARGUMENT_TEXT},
    [ARGUMENT_ON_ATTEMPT] = {"--on-attempt", NULL, ARGUMENT_TEXT},
    [ARGUMENT_BODY] = {"--body", NULL, ARGUMENT_TEXT},
    [ARGUMENT_BODY_BASE64] = {"--body-base64", NULL, ARGUMENT_TEXT},
    [ARGUMENT_BODY_FILE] = {"--body-file", NULL, ARGUMENT_TEXT},
    [ARGUMENT_NEXT_AFTER] = {"--next-after", "nextAfter", ARGUMENT_TIME},
    [ARGUMENT_NEXT_BEFORE] = {"--next-before", "nextBefore", ARGUMENT_TIME},
    [ARGUMENT_CRON] = {"--cron", NULL, ARGUMENT_TEXT},
    [ARGUMENT_EVERY] = {"--every", NULL, ARGUMENT_DURATION},
    [ARGUMENT_TIMEZONE] = {"--timezone", NULL, ARGUMENT_TEXT},
    [ARGUMENT_START_AT] = {"--start-at", NULL, ARGUMENT_TIME},
    [ARGUMENT_END_AT] = {"--end-at", NULL, ARGUMENT_TIME},
    [ARGUMENT_JITTER] = {"--jitter", NULL, ARGUMENT_DURATION},
    [ARGUMENT_GRACE] = {"--grace", NULL, ARGUMENT_DURATION},
    [ARGUMENT_MISFIRE] = {"--misfire", NULL, ARGUMENT_TEXT},
    [ARGUMENT_OVERLAP] = {"--overlap", NULL, ARGUMENT_TEXT},
    [ARGUMENT_EXPECT_BY] = {"--expect-by", NULL, ARGUMENT_DURATION},
    [ARGUMENT_PARALLEL] = {"--parallel", NULL, ARGUMENT_TEXT},
    [ARGUMENT_LEASE] = {"--lease", NULL, ARGUMENT_DURATION},
    [ARGUMENT_SOURCE] = {"--source", "source", ARGUMENT_TEXT},
    [ARGUMENT_ENDED_AFTER] = {"--ended-after", "endedAfter", ARGUMENT_TIME},
    [ARGUMENT_ENDED_BEFORE] = {"--ended-before", "endedBefore", ARGUMENT_TIME},
    [ARGUMENT_BEFORE] = {"--before", "before", ARGUMENT_TIME},
    [ARGUMENT_FROM] = {"--from", "from", ARGUMENT_TIME},
    [ARGUMENT_TO_URL] = {"--to", NULL, ARGUMENT_TEXT, "--to URL"},
    [ARGUMENT_TO_FILE] = {"--to", NULL, ARGUMENT_TEXT, "--to FILE"},
    [ARGUMENT_TO] = {"--to", "to", ARGUMENT_TIME},
    [ARGUMENT_STEP] = {"--step", "step", ARGUMENT_DURATION},
    [ARGUMENT_DURATION_OF] = {"--duration", "duration", ARGUMENT_DURATION},
    [ARGUMENT_COUNT_OF] = {"--count", NULL, ARGUMENT_TEXT},
    [ARGUMENT_FORMAT] = {"--format", NULL, ARGUMENT_TEXT},
    [ARGUMENT_JOBS] = {"--jobs", NULL, ARGUMENT_TEXT},
    [ARGUMENT_BATCH] = {"--batch", NULL, ARGUMENT_TEXT},
    [ARGUMENT_RECEIVER_URL] = {"--receiver-url", NULL, ARGUMENT_TEXT},
    [ARGUMENT_RECEIVER_LISTEN] = {"--receiver-listen", NULL, ARGUMENT_TEXT},
    [ARGUMENT_IDEMPOTENCY_KEY] = {"--idempotency-key", NULL, ARGUMENT_TEXT},
    [ARGUMENT_STATUS] = {"--status", NULL, ARGUMENT_TEXT},
    [ARGUMENT_DATA] = {"--data", NULL, ARGUMENT_TEXT},
    [ARGUMENT_SIGNING_SECRET_FILE] = {"--signing-secret-file", NULL, ARGUMENT_TEXT},
    [ARGUMENT_FILE] = {"--file", NULL, ARGUMENT_TEXT},
    [ARGUMENT_CLOCK] = {"--clock", NULL, ARGUMENT_TEXT},
    [ARGUMENT_METRICS_FILE] = {"--metrics-file", NULL, ARGUMENT_TEXT},
    [ARGUMENT_MOST] = {"--most", NULL, ARGUMENT_DURATION},
    [ARGUMENT_THROTTLE_KEY] = {"--throttle-key", NULL, ARGUMENT_TEXT},
    [ARGUMENT_THROTTLE_PER] = {"--throttle-per", NULL, ARGUMENT_DURATION},
    [ARGUMENT_DEBOUNCE_KEY] = {"--debounce-key", NULL, ARGUMENT_TEXT},
    [ARGUMENT_DEBOUNCE_WAIT] = {"--debounce-wait", NULL, ARGUMENT_DURATION},
    [ARGUMENT_DEBOUNCE_MAX_WAIT] = {"--debounce-max-wait", NULL, ARGUMENT_DURATION},
    [ARGUMENT_SINCE] = {"--since", NULL, ARGUMENT_PAST},
    [ARGUMENT_ACTION] = {"--action", "action", ARGUMENT_TEXT},
    [ARGUMENT_BY] = {"--by", "token", ARGUMENT_TEXT},
};

const char *argument_parameter(enum argument argument)
{
    return table[argument].parameter;
}

enum argument_kind argument_kind(enum argument argument)
{
    return table[argument].kind;
}

const char *argument_flag(enum argument argument)
{
    return table[argument].flag;
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
    {"--install", offsetof(struct arguments, is_installing)},
    {"--until-empty", offsetof(struct arguments, until_empty)},
    {"--resend", offsetof(struct arguments, is_resend)},
    {"--prune", offsetof(struct arguments, is_pruning)},
    {"--write-hidden", offsetof(struct arguments, is_rewriting)},
    {"--take", offsetof(struct arguments, is_taking)},
    {"--resume", offsetof(struct arguments, is_resuming)},
    {"--moving", offsetof(struct arguments, is_moving)},
    {"--yes", offsetof(struct arguments, is_agreed)},
    {"--help", offsetof(struct arguments, wants_help)},
    {"-h", offsetof(struct arguments, wants_help)},
};

enum { SWITCHES = sizeof switches / sizeof *switches };

static bool *switch_place(struct arguments *arguments, size_t index)
{
    return (bool *)((char *)arguments + switches[index].offset);
}

/* Returns whether the help text names the flag itself, and not only a longer flag that begins with it. */
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

/* Reports an unknown option, and names the most similar option of the command. */
static enum status refuse_unknown(struct slice name, const char *help, struct problem *problem)
{
    struct suggestion meant = {.name = name};
    char detail[SUGGESTION_DETAIL_SIZE];
    const char *flag = "--header";
    for (int i = -1; i < ARGUMENT_COUNT + SWITCHES; i++) {
        if (i >= 0)
            flag = i < ARGUMENT_COUNT ? table[i].flag : switches[i - ARGUMENT_COUNT].flag;
        if (is_common(flag) || names_flag(help, flag))
            suggestion_weigh(&meant, flag);
    }
    suggestion_write(&meant, "unknown option", detail);
    return arguments_bad(problem, name, detail);
}

/* Returns whether the option may be given several times. Sets *place to where its next value is stored, or
 * to NULL if the option has too many values already. */
static bool find_list(struct slice name, struct arguments *arguments, const char ***place, int *max)
{
    bool is_label = slice_equal(name, SLICE("--label")), is_header = slice_equal(name, SLICE("--header"));
    *max = is_label ? ARGUMENT_LABELS_MAX : ARGUMENT_HEADERS_MAX;
    *place = NULL;
    if (is_header && arguments->header_count < ARGUMENT_HEADERS_MAX)
        *place = &arguments->headers[arguments->header_count++];
    else if (is_label && !arguments->values[ARGUMENT_LABEL])
        *place = &arguments->values[ARGUMENT_LABEL];
    else if (is_label && arguments->label_count < ARGUMENT_LABELS_MAX - 1)
        *place = &arguments->labels[arguments->label_count++];
    return is_label || is_header;
}

static enum status read_option(int argc, char *const *argv, int *index, const char *help,
                               struct arguments *arguments, struct problem *problem)
{
    struct slice name, value;
    const char **place = NULL; /* where the value is stored */
    int max, i = 0;
    for (size_t n = 0; n < SWITCHES; n++)
        if (strcmp(argv[*index], switches[n].flag) == 0) {
            *switch_place(arguments, n) = true;
            return STATUS_OK;
        }
    bool has_value = slice_cut(slice_of(argv[*index]), '=', &name, &value);
    if (slice_equal(name, SLICE("-f")))
        name = SLICE("--file");
    if (find_list(name, arguments, &place, &max)) {
        if (!place) {
            problem_set(problem, "%.*s: appears more than %d times", SLICE_ARG(name), max);
            return STATUS_INVALID;
        }
    } else {
        while (i < ARGUMENT_COUNT &&
               (!slice_equal(name, slice_of(table[i].flag)) || (table[i].in && !strstr(help, table[i].in))))
            i++;
        if (i == ARGUMENT_COUNT)
            return refuse_unknown(name, help, problem);
        place = &arguments->values[i];
    }
    /* A word that begins with -- is probably the next option, because the user forgot this option's value. */
    if (!has_value && (*index + 1 >= argc || strncmp(argv[*index + 1], "--", 2) == 0))
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

enum status arguments_parse(int argc, char *const *argv, int words_max, const char *help,
                            struct arguments *arguments, struct problem *problem)
{
    *arguments = (struct arguments){.word = NULL};
    for (int i = 0; i < argc; i++) {
        if (strcmp(argv[i], "--") == 0) {
            arguments->command = argv + i + 1;
            break;
        }
        bool is_option = argv[i][0] == '-' && argv[i][1];
        enum status status = is_option ? read_option(argc, argv, &i, help ? help : "", arguments, problem)
                                       : read_word(argv[i], words_max, arguments, problem);
        if (status != STATUS_OK)
            return status;
    }
    return STATUS_OK;
}

/* ---- the options of a command ---- */

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

/* Returns false if two of the given options exclude each other. */
static bool are_together(const struct arguments *arguments, struct problem *problem)
{
    static const enum argument pairs[][2] = {
        {ARGUMENT_DUE_AT, ARGUMENT_DELAY},     {ARGUMENT_EVERY, ARGUMENT_CRON},
        {ARGUMENT_GROUP, ARGUMENT_URL},        {ARGUMENT_BODY_FILE, ARGUMENT_BODY},
        {ARGUMENT_BODY_BASE64, ARGUMENT_BODY}, {ARGUMENT_BODY_FILE, ARGUMENT_BODY_BASE64},
        {ARGUMENT_SINCE, ARGUMENT_DIED_AFTER}, {ARGUMENT_SINCE, ARGUMENT_ENDED_AFTER},
        {ARGUMENT_SINCE, ARGUMENT_FROM},       {ARGUMENT_DEBOUNCE_KEY, ARGUMENT_THROTTLE_KEY},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        if (!arguments->values[pairs[i][0]] || !arguments->values[pairs[i][1]])
            continue;
        problem_set(problem, "%s cannot be combined with %s", table[pairs[i][0]].flag,
                    table[pairs[i][1]].flag);
        return false;
    }
    return true;
}

enum status arguments_check(struct arguments *arguments, const char *help, const char *name,
                            struct problem *problem)
{
    const char *flag = unnamed_flag(arguments, help);
    if (flag)
        problem_set(problem, "%s: not an option of %s", flag, name);
    return !flag && are_together(arguments, problem) ? STATUS_OK : STATUS_INVALID;
}

const char *arguments_bulk_flag(const struct arguments *arguments)
{
    for (int i = 0; i < ARGUMENT_COUNT; i++)
        if (arguments->values[i] && (table[i].parameter || i == ARGUMENT_LIMIT || i == ARGUMENT_SINCE))
            return table[i].flag;
    return arguments->is_all ? "--all" : arguments->is_dry_run ? "--dry-run" : NULL;
}
