#include "server/options_table.h"

static enum status bad_flag(struct problem *problem, struct slice name, const char *what)
{
    problem_set(problem, "--%.*s: %s", SLICE_ARG(name), what);
    return STATUS_INVALID;
}

/* One flag at argv[*index], which moves on to its value when that is an argument of its own. */
static enum status read_flag(struct option_layer *layer, int argc, char *const *argv, int *index,
                             struct problem *problem)
{
    struct slice name, value;
    bool has_value = slice_cut(slice_skip(slice_of(argv[*index]), 2), '=', &name, &value);
    enum option_id id = option_find(name);
    if (id == OPTION_COUNT)
        return bad_flag(problem, name, "there is no such option; --help lists all");
    bool is_switch = option_table[id].kind == OPTION_KIND_SWITCH;
    if (is_switch && has_value)
        return bad_flag(problem, name, "takes no value");
    if (!is_switch && !has_value) {
        /* A value that begins with -- is more likely the next flag after a forgotten one. */
        if (*index + 1 >= argc || strncmp(argv[*index + 1], "--", 2) == 0)
            return bad_flag(problem, name, "needs a value");
        value = slice_of(argv[++*index]);
    }
    option_layer_set(layer, id, value, OPTION_SOURCE_FLAG, 0);
    return STATUS_OK;
}

enum status options_read_flags(struct option_layer *layer, int argc, char *const *argv,
                               struct problem *problem)
{
    for (int i = 1; i < argc; i++) {
        if (strncmp(argv[i], "--", 2) != 0) {
            problem_set(problem, "%s: options begin with --; --help lists all", argv[i]);
            return STATUS_INVALID;
        }
        enum status status = read_flag(layer, argc, argv, &i, problem);
        if (status != STATUS_OK)
            return status;
    }
    return STATUS_OK;
}
