#include "base/memory.h"
#include "server/options_table.h"

const char *environment_get(char *const *environment, const char *name)
{
    size_t size = strlen(name);
    for (; *environment; environment++)
        if (strncmp(*environment, name, size) == 0 && (*environment)[size] == '=')
            return (*environment)[size + 1] ? *environment + size + 1 : NULL;
    return NULL;
}

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

static void warn(struct options *options, struct slice variable)
{
    struct buffer text;
    buffer_init(&text, 1024);
    buffer_append(&text, variable);
    buffer_append(&text, SLICE(": duepost has no such option; the variable does nothing"));
    options_warn(options, buffer_text(&text));
    buffer_fini(&text);
}

/* An unknown variable is no error: it may be meant for an older or newer duepost on the same host. */
void options_read_environment(struct option_layer *layer, char *const *environment, struct options *options)
{
    for (; *environment; environment++) {
        struct slice variable, value;
        slice_cut(slice_of(*environment), '=', &variable, &value);
        if (!slice_starts_with(variable, SLICE("DUEPOST_")))
            continue;
        enum option_id id = find_variable(variable);
        if (id == OPTION_COUNT)
            warn(options, variable);
        else if (value.size) /* an empty variable is how compose files spell an absent one */
            option_layer_set(layer, id, value, OPTION_SOURCE_ENVIRONMENT, 0);
    }
}
