#include "fuzz.h"
#include "io/redis/redis.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct redis_address address;
    struct problem problem;
    if (redis_address_parse(input_of(data, size), &address, &problem) != STATUS_OK) {
        assert(strlen(problem.text) > 0 && !address.password);
        return 0;
    }
    assert((address.host != NULL) + (address.path != NULL) + (address.seed_count > 0) == 1);
    assert(!address.host || (strlen(address.host) < REDIS_HOST_MAX && address.port > 0));
    redis_address_fini(&address);
    return 0;
}
