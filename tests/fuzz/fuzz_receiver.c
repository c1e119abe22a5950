#include "job/target/receiver.h"

#include "fuzz.h"

/* Input: a byte that selects a failure, then a name of a receiver. Names of the same receiver must be
 * converted to one spelling. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char name[RECEIVER_HOST_SIZE], again[RECEIVER_HOST_SIZE], path_name[RECEIVER_NAME_SIZE],
        cause[RECEIVER_CAUSE_SIZE];
    if (size == 0)
        return 0;
    struct attempt_result result = {.error = data[0] % (FAILURE_PROTOCOL + 1)};
    result.status = result.error == FAILURE_NONE ? 100 + data[0] * 2 : 0;
    enum receiver_health health = receiver_health(&result);
    assert(health != RECEIVER_FAILING || result.status == 0);
    health = receiver_path_health(&result);
    assert(health != RECEIVER_FAILING || result.status == 0 || result.status >= 500);
    assert(!receiver_is_overloaded(&result) || result.status > 0);
    receiver_cause(&result, cause);
    struct url url;
    const char *detail;
    if (url_parse(input_of(data + 1, size - 1), &url, &detail) == STATUS_OK) {
        receiver_name(&url, name);
        receiver_path_name(&url, path_name);
        struct slice whole = slice_of(path_name);
        assert(slice_equal(receiver_host_of(whole), slice_of(name)) && receiver_path_of(whole).size > 0);
        assert(memchr(path_name, '?', whole.size) == NULL);
    }
    if (!receiver_name_parse(input_of(data + 1, size - 1), name))
        return 0;
    bool is_name = receiver_name_parse(slice_of(name), again);
    assert(is_name && strcmp(name, again) == 0);
    return 0;
}
