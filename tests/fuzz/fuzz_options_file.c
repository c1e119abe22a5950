#include "fuzz.h"
#include "server/options/options_private.h"

/* Each option that is read from an accepted file must have a line number, and the file must have a line with
 * this number. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct option_layer layer = {0};
    struct problem problem;
    enum status status = options_read_file(&layer, "duepost.conf", input_of(data, size), &problem);
    assert(status == STATUS_OK || strlen(problem.text) > 0);
    for (enum option_id id = 0; id < OPTION_COUNT; id++)
        if (layer.settings[id].text)
            assert(layer.settings[id].line > 0 && layer.settings[id].line <= size + 1);
    option_layer_fini(&layer);
    return 0;
}
