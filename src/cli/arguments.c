#include "cli/arguments.h"

#include <stdlib.h>
#include <string.h>

#include "base/slice.h"

static const struct {
    const char *flag, *parameter;
} table[ARGUMENT_COUNT] = {
    [ARGUMENT_SERVER] = {"--server", NULL},
    [ARGUMENT_TOKEN_FILE] = {"--token-file", NULL},
    [ARGUMENT_CA_FILE] = {"--ca-file", NULL},
    [ARGUMENT_STATE] = {"--state", "state"},
    [ARGUMENT_TOPIC] = {"--topic", "topic"},
    [ARGUMENT_DUE_AFTER] = {"--due-after", "dueAfter"},
    [ARGUMENT_DUE_BEFORE] = {"--due-before", "dueBefore"},
    [ARGUMENT_URL_HOST] = {"--url-host", "urlHost"},
    [ARGUMENT_PER_SECOND] = {"--per-second", "perSecond"},
    [ARGUMENT_LIMIT] = {"--limit", "limit"},
};

const char *argument_parameter(enum argument argument)
{
    return table[argument].parameter;
}

static enum status bad(struct problem *problem, struct slice name, const char *what)
{
    problem_set(problem, "%.*s: %s", SLICE_ARG(name), what);
    return STATUS_INVALID;
}

static enum status read_option(int argc, char *const *argv, int *index, struct arguments *arguments,
                               struct problem *problem)
{
    struct slice name, value;
    bool has_value = slice_cut(slice_of(argv[*index]), '=', &name, &value);
    for (int i = 0; i < ARGUMENT_COUNT; i++) {
        if (!slice_equal(name, slice_of(table[i].flag)))
            continue;
        if (!has_value && *index + 1 >= argc)
            return bad(problem, name, "needs a value");
        arguments->values[i] = has_value ? value.data : argv[++*index];
        return STATUS_OK;
    }
    if (slice_equal(name, SLICE("--json")) && !has_value)
        arguments->is_json = true;
    else if (slice_equal(name, SLICE("--all")) && !has_value)
        arguments->is_all = true;
    else
        return bad(problem, name, "there is no such option; duepost help lists all");
    return STATUS_OK;
}

enum status arguments_parse(int argc, char *const *argv, struct arguments *arguments, struct problem *problem)
{
    *arguments = (struct arguments){.word = NULL};
    for (int i = 0; i < argc; i++) {
        enum status status = STATUS_OK;
        if (strncmp(argv[i], "--", 2) == 0)
            status = read_option(argc, argv, &i, arguments, problem);
        else if (arguments->word)
            status = bad(problem, slice_of(argv[i]), "is one word too many");
        else
            arguments->word = argv[i];
        if (status != STATUS_OK)
            return status;
    }
    if (!arguments->values[ARGUMENT_SERVER])
        arguments->values[ARGUMENT_SERVER] = getenv("DUEPOST_SERVER");
    return STATUS_OK;
}
