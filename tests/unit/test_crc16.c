/* Compares the results of crc16 with the published check value, and with slots that redis-server 7.0 computes
 * (CLUSTER KEYSLOT). */
#include "base/hash.h"
#include "support/suite.h"

enum { SLOTS = 16384 };

START_TEST(known_values)
{
    static const struct {
        const char *text;
        unsigned sum;
    } cases[] = {{"", 0}, {"123456789", 0x31c3}, {"A", 0x58e5}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        ck_assert_uint_eq(crc16(slice_of(cases[i].text)), cases[i].sum);
}
END_TEST

START_TEST(slots_of_shards)
{
    static const struct {
        const char *tag;
        unsigned slot;
    } cases[] = {{"0", 13907}, {"1", 9842}, {"7", 1716}, {"15", 4178}, {"31", 14004}, {"a", 15495}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        ck_assert_uint_eq(crc16(slice_of(cases[i].tag)) % SLOTS, cases[i].slot);
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("crc16");
    TCase *tests = tcase_create("crc16");
    tcase_add_test(tests, known_values);
    tcase_add_test(tests, slots_of_shards);
    suite_add_tcase(suite, tests);
    return suite;
}
