#include "api/route.h"

#include "fuzz.h"
#include "job/job_id.h"

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

/* A method and a raw target, with a space between. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct exchange exchange = {0};
    struct slice name, target;
    slice_cut(input_of(data, size), ' ', &name, &target);
    buffer_init(&exchange.path, EXCHANGE_PATH_MAX);
    const struct route *route = route_find(&exchange, target);
    if (route) {
        assert(lies_in(exchange.query, target) && lies_in(exchange.key, buffer_slice(&exchange.path)));
        assert(exchange.topic.size == 0 || topic_is_valid(exchange.topic));
        assert(exchange.job_id.size == 0 || job_id_is_valid(exchange.job_id));
        check_method(route, name);
    }
    buffer_fini(&exchange.path);
    return 0;
}
