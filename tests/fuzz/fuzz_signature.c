#include "job/delivery/signature.h"

#include "fuzz.h"

static void check_key(const struct signing_key *key)
{
    struct buffer text;
    struct signing_key again;
    const char *detail;
    buffer_init(&text, 1024);
    signing_key_write(key, &text);
    enum status status = signing_key_parse(buffer_slice(&text), &again, &detail);
    assert(status == STATUS_OK && again.size == key->size && again.is_private == key->is_private);
    assert(memcmp(again.bytes, key->bytes, key->size) == 0);
    buffer_clear(&text);
    signing_key_show(key, &text);
    assert(!text.failed && text.size > 0);
    buffer_fini(&text);
}

/* Input: a file of keys. The keys of an accepted file sign a text. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct signing_keys keys;
    struct problem problem;
    struct buffer text;
    if (signing_keys_parse(input_of(data, size), &keys, &problem) != STATUS_OK) {
        assert(strlen(problem.text) > 0);
        return 0;
    }
    assert(keys.count > 0 && keys.count <= SIGNING_KEYS_MAX);
    for (size_t i = 0; i < keys.count; i++)
        check_key(&keys.items[i]);
    buffer_init(&text, SIGNATURE_MAX);
    signature_write(&keys, SLICE("msg_1"), 1, SLICE("{}"), &text);
    assert(!text.failed && text.size > 0);
    buffer_fini(&text);
    return 0;
}
