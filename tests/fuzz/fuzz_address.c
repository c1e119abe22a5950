#include "job/target/url.h"

#include <arpa/inet.h>

#include "fuzz.h"

/* An IPv4 address must be judged the same if it is embedded in an IPv6 address. */
static void check_embedded(const struct address *v4)
{
    static const uint8_t prefixes[2][12] = {{[10] = 0xff, [11] = 0xff}, {0x00, 0x64, 0xff, 0x9b}};
    for (size_t i = 0; i < 2; i++) {
        struct address v6 = {.is_v6 = true};
        memcpy(v6.bytes, prefixes[i], 12);
        memcpy(v6.bytes + 12, v4->bytes, 4);
        assert(address_is_public(&v6) == address_is_public(v4) && address_equal(&v6, v4));
    }
}

/* libc reads the text again when the client connects, so our parser must find the same address as libc's
 * inet_aton. */
static void check_loose(const char *text, bool is_loose, const struct address *address)
{
    struct in_addr in;
    if (strchr(text, ':') || strpbrk(text, " \t\n\v\f\r"))
        return;
    bool is_theirs = inet_aton(text, &in) != 0;
    assert(is_theirs == is_loose);
    assert(!is_theirs || memcmp(&in, address->bytes, 4) == 0);
}

static void check_address(const struct address *address)
{
    struct address_block block = {*address, address->is_v6 ? 128 : 32};
    assert(address_equal(address, address));
    if (!address->is_v6) {
        assert(address_block_has(&block, address));
        check_embedded(address);
    }
    uint8_t first = address->bytes[0];
    if (!address->is_v6 && (first == 0 || first == 10 || first == 127 || first >= 224))
        assert(!address_is_public(address));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct slice text = input_of(data, size);
    struct address address, strict;
    struct address_block block;
    bool is_loose = address_parse_loose(text, &address);
    if (is_loose)
        check_address(&address);
    if (address_parse(text, &strict)) {
        assert(is_loose && address_equal(&strict, &address));
        bool is_block = address_block_parse(text, &block);
        assert(is_block && address_block_has(&block, &strict));
    }
    if (address_block_parse(text, &block) &&
        !block.base.is_v6) /* other blocks may begin at an address that embeds an IPv4 address */
        assert(address_block_has(&block, &block.base));
    if (size < 64 && !memchr(data, '\0', size)) {
        char *copy = slice_dup(text);
        check_loose(copy, is_loose, &address);
        free(copy);
    }
    if (size == sizeof address.bytes) { /* the input is an address in binary, as a resolver answers it */
        address = (struct address){.is_v6 = true};
        memcpy(address.bytes, data, size);
        check_address(&address);
    }
    return 0;
}
