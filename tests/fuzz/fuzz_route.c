#include "http/route.h"

#include "api/api.h"
#include "fuzz.h"
#include "job/job_id.h"
#include "job/topic/topic_patterns.h"

static void check_method(const struct route *route, struct slice name)
{
    struct buffer allowed;
    buffer_init(&allowed, 256);
    route_allow(route, &allowed);
    const struct method *method = route_method(route, name);
    assert(!method || method->handle);
    assert(!method || memmem(allowed.data, allowed.size, name.data, name.size));
    buffer_fini(&allowed);
}

/* Input: a method and a raw target, with a space between them. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct slice name, target, query;
    struct route_names names;
    struct buffer path;
    slice_cut(input_of(data, size), ' ', &name, &target);
    buffer_init(&path, ROUTE_PATH_MAX);
    char meant[ROUTE_SUGGESTION_SIZE];
    const struct route *route = route_find(&api_dialect, target, &path, &names, &query);
    route_suggest(&api_dialect, target, meant);
    assert(meant[0] == '\0' || (meant[0] == '/' && memchr(meant, '\0', sizeof meant)));
    if (route) {
        assert(lies_in(query, target) && lies_in(names.key, buffer_slice(&path)));
        assert(names.topic.size == 0 || topic_is_valid(names.topic) || topic_pattern_is_open(names.topic));
        assert(names.job_id.size == 0 || job_id_is_valid(names.job_id));
        check_method(route, name);
    }
    buffer_fini(&path);
    return 0;
}
