#include "server/options_source.h"

#include <sched.h>

#include "base/memory.h"
#include "job/text/job_errors.h"

enum { TEXTS_MAX = 1 << 24, REACTORS_MAX = 4 };

void option_layer_set(struct option_layer *layer, enum option_id id, struct slice text,
                      enum option_source source, unsigned line)
{
    struct option_setting *setting = &layer->settings[id];
    struct buffer sum;
    buffer_init(&sum, TEXTS_MAX);
    if (setting->text && option_table[id].kind == OPTION_KIND_TARGETS)
        buffer_printf(&sum, "%s,", setting->text);
    buffer_append(&sum, text);
    free(setting->text);
    *setting = (struct option_setting){slice_dup(buffer_slice(&sum)), source, line};
    buffer_fini(&sum);
}

void option_layer_fini(struct option_layer *layer)
{
    for (enum option_id id = 0; id < OPTION_COUNT; id++)
        free(layer->settings[id].text);
}

/* Returns the value of a variable, or NULL when it is absent or empty. */
static const char *environment_get(char *const *environment, const char *name)
{
    size_t size = strlen(name);
    for (; *environment; environment++)
        if (strncmp(*environment, name, size) == 0 && (*environment)[size] == '=')
            return (*environment)[size + 1] ? *environment + size + 1 : NULL;
    return NULL;
}

/* ---- defaults ---- */

/* Sets the default number of reactors: one core is left for Redis, and there are at most 4 reactors, because
 * few reactors send larger batches, which need fewer fsyncs. */
static void default_reactors(struct option_layer *defaults)
{
    cpu_set_t cores;
    char text[16];
    int count = sched_getaffinity(0, sizeof cores, &cores) == 0 ? CPU_COUNT(&cores) - 1 : 1;
    count = count < 1 ? 1 : count > REACTORS_MAX ? REACTORS_MAX : count;
    snprintf(text, sizeof text, "%d", count);
    option_layer_set(defaults, OPTION_REACTORS, slice_of(text), OPTION_SOURCE_DEFAULT, 0);
}

static void default_data(struct option_layer *defaults, char *const *environment)
{
    const char *state = environment_get(environment, "STATE_DIRECTORY");
    const char *base = environment_get(environment, "XDG_STATE_HOME");
    const char *home = environment_get(environment, "HOME");
    struct buffer path;
    struct slice first, rest;
    buffer_init(&path, 4096);
    if (state) { /* systemd separates several directories by colons */
        slice_cut(slice_of(state), ':', &first, &rest);
        buffer_append(&path, first);
    } else if (base && base[0] == '/') { /* relative paths are ignored, as the XDG specification requires */
        buffer_printf(&path, "%s/duepost", base);
    } else if (home) {
        buffer_printf(&path, "%s/.local/state/duepost", home);
    }
    if (path.size)
        option_layer_set(defaults, OPTION_DATA, buffer_slice(&path), OPTION_SOURCE_DEFAULT, 0);
    buffer_fini(&path);
}

void options_fill_defaults(struct option_layer *defaults, char *const *environment)
{
    for (enum option_id id = 0; id < OPTION_COUNT; id++)
        if (option_table[id].fallback)
            option_layer_set(defaults, id, slice_of(option_table[id].fallback), OPTION_SOURCE_DEFAULT, 0);
    default_reactors(defaults);
    default_data(defaults, environment);
}

/* ---- flags ---- */

static enum status bad_flag(struct problem *problem, struct slice name, const char *what)
{
    problem_set(problem, "--%.*s: %s", SLICE_ARG(name), what);
    return STATUS_INVALID;
}

/* Returns whether the flag belongs to the commands that call a running server (cli/). */
static bool is_flag_of_clients(struct slice name)
{
    return slice_equal(name, SLICE("server")) || slice_equal(name, SLICE("token-file")) ||
           slice_equal(name, SLICE("ca-file")) || slice_equal(name, SLICE("json"));
}

static enum status unknown_flag(struct problem *problem, struct slice name)
{
    struct suggestion meant = {.name = name};
    char detail[SUGGESTION_DETAIL_SIZE], best[OPTION_VARIABLE_MAX];
    if (is_flag_of_clients(name)) {
        problem_set(problem,
                    "--%.*s: is an option of commands and follows the command, such as duepost jobs --%.*s",
                    SLICE_ARG(name), SLICE_ARG(name));
        return STATUS_INVALID;
    }
    for (enum option_id id = 0; id < OPTION_COUNT; id++)
        if (option_table[id].help)
            suggestion_weigh(&meant, option_table[id].name);
    if (meant.best) {
        snprintf(best, sizeof best, "--%s", meant.best);
        meant.best = best;
    }
    suggestion_write_hint(&meant, "unknown option", "--help lists all options", detail);
    return bad_flag(problem, name, detail);
}

/* Reads one flag at argv[*index]. If the value is a separate argument, moves *index to the value. */
static enum status read_flag(struct option_layer *layer, int argc, char *const *argv, int *index,
                             struct problem *problem)
{
    struct slice name, value;
    bool has_value = slice_cut(slice_skip(slice_of(argv[*index]), 2), '=', &name, &value);
    enum option_id id = option_find(name);
    if (id == OPTION_COUNT)
        return unknown_flag(problem, name);
    bool is_switch = option_table[id].kind == OPTION_KIND_SWITCH;
    if (is_switch && has_value)
        return bad_flag(problem, name, "does not take a value");
    if (!is_switch && !has_value) {
        /* A value that begins with -- is more likely the next flag after a forgotten value. */
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
        if (strcmp(argv[i], "-h") == 0) {
            option_layer_set(layer, OPTION_HELP, slice_of("true"), OPTION_SOURCE_FLAG, 0);
            continue;
        }
        if (strncmp(argv[i], "--", 2) != 0) {
            problem_set(problem, "%s: unexpected argument; options begin with --, see --help", argv[i]);
            return STATUS_INVALID;
        }
        enum status status = read_flag(layer, argc, argv, &i, problem);
        if (status != STATUS_OK)
            return status;
    }
    return STATUS_OK;
}

/* ---- environment ---- */

static enum option_id find_variable(struct slice variable)
{
    for (enum option_id id = 0; id < OPTION_COUNT; id++) {
        char name[OPTION_VARIABLE_MAX];
        option_variable(&option_table[id], name);
        if (option_table[id].kind != OPTION_KIND_SWITCH && slice_equal(variable, slice_of(name)))
            return id;
    }
    return OPTION_COUNT;
}

/* Returns whether the variable belongs to the commands that call a running server (cli/). */
static bool is_for_clients(struct slice variable)
{
    return slice_equal(variable, SLICE("DUEPOST_SERVER")) || slice_equal(variable, SLICE("DUEPOST_TOKEN"));
}

static void warn_unknown(struct options *options, struct slice variable)
{
    static const struct slice prefix = SLICE_INIT("DUEPOST_");
    struct suggestion meant = {.name = slice_skip(variable, prefix.size)};
    char detail[SUGGESTION_DETAIL_SIZE], best[OPTION_VARIABLE_MAX];
    struct buffer text;
    for (enum option_id id = 0; id < OPTION_COUNT; id++)
        if (option_table[id].kind != OPTION_KIND_SWITCH && option_table[id].help)
            suggestion_weigh(&meant, option_table[id].name);
    if (meant.best) {
        option_variable(&option_table[option_find(slice_of(meant.best))], best);
        meant.best = best;
    }
    suggestion_write(&meant, " has no effect: unknown option", detail);
    buffer_init(&text, 1024);
    buffer_append(&text, variable);
    buffer_append(&text, slice_of(detail));
    options_warn(options, buffer_text(&text));
    buffer_fini(&text);
}

/* An unknown variable is not an error, because it may belong to an older or newer duepost on the same
 * host. */
void options_read_environment(struct option_layer *layer, char *const *environment, struct options *options)
{
    for (; *environment; environment++) {
        struct slice variable, value;
        slice_cut(slice_of(*environment), '=', &variable, &value);
        if (!slice_starts_with(variable, SLICE("DUEPOST_")))
            continue;
        enum option_id id = find_variable(variable);
        if (id == OPTION_COUNT && !is_for_clients(variable))
            warn_unknown(options, variable);
        else if (id != OPTION_COUNT &&
                 value.size) /* an empty value counts as absent, because Compose files produce empty values */
            option_layer_set(layer, id, value, OPTION_SOURCE_ENVIRONMENT, 0);
    }
}
