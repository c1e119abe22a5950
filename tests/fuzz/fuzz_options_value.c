#include "fuzz.h"
#include "server/options/options_private.h"

/* Input: lines "name=value". */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct options options;
    struct slice line, name, value, rest = input_of(data, size);
    struct problem problem;
    options = (struct options){.is_embedded = true};
    while (rest.size) {
        slice_cut(rest, '\n', &line, &rest);
        slice_cut(line, '=', &name, &value);
        enum option_id id = option_find(name);
        if (id == OPTION_COUNT || memchr(line.data, '\0', line.size))
            continue;
        problem.text[0] = '\0';
        enum option_source source = line.size % 2 ? OPTION_SOURCE_FLAG : OPTION_SOURCE_FILE;
        if (option_set(&options, id, source, value, &problem) != STATUS_OK)
            assert(strlen(problem.text) > 0);
    }
    options_fini(&options);
    return 0;
}
