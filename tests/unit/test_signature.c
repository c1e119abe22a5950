#include "support/suite.h"

#include <stdio.h>

#include "job/delivery/signature.h"

/* Test vectors that two implementations of Standard Webhooks use. */
#define SHARED_1 "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
#define SHARED_2 "whsec_plJ3nmyCDGBKInavdOK15jsl"
#define PRIVATE_1                                                                                            \
    "whsk_6Xb/dCcHpPea21PS1N9VY/NZW723CEc77N4rJCubMbfVKIDij2HKpMKkioLlX0dRqSKJp4AJ6p9lMicMFs6Kvg=="
#define SIGNED_1 "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
#define SIGNED_A                                                                                             \
    "v1a,hnO3f9T8Ytu9HwrXslvumlUpqtNVqkhqw/enGzPCXe5BdqzCInXqYXFymVJaA7AZdpXwVLPo3mNl8EM+m7TBAg=="

static struct signing_keys keys;
static struct problem problem;

static void check_signed(const char *lines, const char *id, int64_t seconds, const char *body,
                         const char *expected)
{
    struct buffer out;
    buffer_init(&out, 4096);
    ck_assert_msg(signing_keys_parse(slice_of(lines), &keys, &problem) == STATUS_OK, "%s", problem.text);
    signature_write(&keys, slice_of(id), seconds, slice_of(body), &out);
    ck_assert_str_eq(buffer_text(&out), expected);
    buffer_fini(&out);
}

START_TEST(signs_the_vectors)
{
    static const char id[] = "msg_p5jXN8AQM9LWM0D4loKWxJek", body[] = "{\"test\": 2432232314}";
    check_signed(SHARED_1, id, 1614265330, body, SIGNED_1);
    check_signed(SHARED_2, "msg_loFOjxBNrRLzqYUf", 1731705121,
                 "{\"event_type\":\"ping\",\"data\":{\"success\":true}}",
                 "v1,rAvfW3dJ/X/qxhsaXPOyyCGmRKsaKWcsNccKXlIktD0=");
    check_signed(PRIVATE_1, id, 1614265330, body, SIGNED_A);
    check_signed("# new\n" SHARED_1 "\r\n\n  " PRIVATE_1 "  \n", id, 1614265330, body, SIGNED_1 " " SIGNED_A);
}
END_TEST

START_TEST(says_what_is_wrong_with_a_key)
{
    static const char *const cases[][2] = {
        {"", "it has no key; a key is whsec_ and base64 of 24 to 64 random bytes"},
        {"# only this\n", "it has no key; a key is whsec_ and base64 of 24 to 64 random bytes"},
        {"\nMfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "line 2: a key must begin with whsec_ or whsk_"},
        {"whsec_", "line 1: a key must be whsec_ and base64 of 16 to 64 bytes"},
        {"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaS",
         "line 1: a key must be whsec_ and base64 of 16 to 64 bytes"},
        {"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLb==",
         "line 1: a key must be whsec_ and base64 of 16 to 64 bytes"},
        {"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLa w",
         "line 1: a key must be whsec_ and base64 of 16 to 64 bytes"},
        /* An ed25519 key whose public half does not belong to its private half. */
        {"whsk_6Xb/dCcHpPea21PS1N9VY/NZW723CEc77N4rJCubMbfVKIDij2HKpMKkioLlX0dRqSKJp4AJ6p9lMicMFs6Kvw==",
         "line 1: a key must be whsk_ and base64 of an ed25519 seed of 32 bytes and its public key"},
        {"whsk_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
         "line 1: a key must be whsk_ and base64 of an ed25519 seed of 32 bytes and its public key"},
        {SHARED_1 "\n" SHARED_1 "\n" SHARED_1 "\n" SHARED_1 "\n" SHARED_1 "\n" SHARED_1 "\n" SHARED_1
                  "\n" SHARED_1 "\n" SHARED_1,
         "line 9: at most 8 keys sign at once"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ck_assert_int_eq(signing_keys_parse(slice_of(cases[i][0]), &keys, &problem), STATUS_INVALID);
        ck_assert_str_eq(problem.text, cases[i][1]);
    }
}
END_TEST

START_TEST(takes_keys_of_16_to_64_bytes)
{
    static const char letters[] =
        "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
    char text[128];
    struct signing_key key;
    const char *detail;
    for (int size = 12; size <= 69; size += 3) {
        snprintf(text, sizeof text, "whsec_%.*s", size / 3 * 4, letters);
        ck_assert_int_eq(signing_key_parse(slice_of(text), &key, &detail) == STATUS_OK,
                         size >= 16 && size <= 64);
    }
}
END_TEST

START_TEST(a_key_is_written_as_it_was_and_shown_without_its_secret)
{
    struct buffer out;
    buffer_init(&out, 4096);
    ck_assert_int_eq(signing_keys_parse(SLICE(SHARED_1 "\n" PRIVATE_1), &keys, &problem), STATUS_OK);
    for (size_t i = 0; i < keys.count; i++) {
        signing_key_write(&keys.items[i], &out);
        buffer_append_byte(&out, ' ');
        signing_key_show(&keys.items[i], &out);
        buffer_append_byte(&out, '\n');
    }
    ck_assert_str_eq(buffer_text(&out), SHARED_1 " whsec_***\n" PRIVATE_1
                                                 " whpk_1SiA4o9hyqTCpIqC5V9HUakiiaeACeqfZTInDBbOir4=\n");
    buffer_fini(&out);
}
END_TEST

START_TEST(an_id_is_that_of_one_life_of_a_job)
{
    char first[WEBHOOK_ID_SIZE], other[WEBHOOK_ID_SIZE];
    webhook_id_make(SLICE("t/a.b"), 1, first);
    ck_assert_uint_eq(strlen(first), WEBHOOK_ID_SIZE - 1);
    ck_assert_ptr_null(strchr(first, '.'));
    ck_assert_int_eq(strncmp(first, "msg_", 4), 0);
    webhook_id_make(SLICE("t/a.b"), 1, other);
    ck_assert_str_eq(first, other);
    webhook_id_make(SLICE("t/a.b"), 2, other);
    ck_assert_str_ne(first, other);
    webhook_id_make(SLICE("t/a"), 1, other);
    ck_assert_str_ne(first, other);
}
END_TEST

Suite *suite(void)
{
    Suite *all = suite_create("signature");
    TCase *tests = tcase_create("all");
    tcase_add_test(tests, signs_the_vectors);
    tcase_add_test(tests, says_what_is_wrong_with_a_key);
    tcase_add_test(tests, takes_keys_of_16_to_64_bytes);
    tcase_add_test(tests, a_key_is_written_as_it_was_and_shown_without_its_secret);
    tcase_add_test(tests, an_id_is_that_of_one_life_of_a_job);
    suite_add_tcase(all, tests);
    return all;
}
