#include "job/delivery/digest.h"

#include <stdio.h>
#include <string.h>

#include "support/suite.h"

static void check_hex(const unsigned char digest[SHA256_BYTES], const char *expected)
{
    char text[2 * SHA256_BYTES + 1];
    for (size_t i = 0; i < SHA256_BYTES; i++)
        snprintf(text + 2 * i, 3, "%02x", digest[i]);
    ck_assert_str_eq(text, expected);
}

/* FIPS 180-2, B.1 and B.2. */
START_TEST(digests)
{
    static const struct {
        struct slice bytes;
        const char *digest;
    } cases[] = {
        {{NULL, 0}, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {SLICE("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {SLICE("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
         "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        unsigned char digest[SHA256_BYTES];
        sha256(cases[i].bytes, digest);
        check_hex(digest, cases[i].digest);
    }
}
END_TEST

/* RFC 4231, 4.3, 4.4, 4.7 and 4.8. */
START_TEST(signs)
{
    char aa[131], dd[50];
    memset(aa, 0xaa, sizeof aa);
    memset(dd, 0xdd, sizeof dd);
    const struct {
        struct slice key, bytes;
        const char *mac;
    } cases[] = {
        {SLICE("Jefe"), SLICE("what do ya want for nothing?"),
         "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"},
        {slice_from(aa, 20), slice_from(dd, sizeof dd),
         "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe"},
        {slice_from(aa, sizeof aa), SLICE("Test Using Larger Than Block-Size Key - Hash Key First"),
         "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"},
        {slice_from(aa, sizeof aa),
         SLICE("This is a test using a larger than block-size key and a larger than block-size data. The key "
               "needs to be hashed before being used by the HMAC algorithm."),
         "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        unsigned char mac[SHA256_BYTES];
        sha256_hmac(cases[i].key, cases[i].bytes, mac);
        check_hex(mac, cases[i].mac);
    }
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("sha256");
    TCase *tests = tcase_create("sha256");
    tcase_add_test(tests, digests);
    tcase_add_test(tests, signs);
    suite_add_tcase(suite, tests);
    return suite;
}
