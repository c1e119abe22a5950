/* options_defaults.c - what is taken where the operator says nothing: the table's values, and those that this
 * host gives. */
#include <sched.h>

#include "server/options_table.h"

enum { REACTORS_MAX = 4 };

/* Redis wants a core, too; and fewer reactors make larger batches, so fewer fsyncs. */
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
    if (state) { /* systemd separates several by colons */
        slice_cut(slice_of(state), ':', &first, &rest);
        buffer_append(&path, first);
    } else if (base && base[0] == '/') { /* the specification has relative ones ignored */
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
