#include <pthread.h>

#include "support/suite.h"

#include "base/seal.h"

#define ONE   "0000000000000000000000000000000000000000000000000000000000000001"
#define TWO   "0000000000000000000000000000000000000000000000000000000000000002"
#define THREE "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAM=" /* 3, as base64 */
#define OWNER SLICE("orders/a")

enum { ROOM = 4096 };

static void use(const char *text)
{
    struct seal_keys *keys;
    struct problem problem;
    ck_assert_int_eq(seal_keys_parse(slice_of(text), &keys, &problem), STATUS_OK);
    seal_use(keys, false);
    seal_keys_free(keys);
}

static void seal(struct buffer *out, struct slice owner, struct slice plain)
{
    buffer_init(out, ROOM);
    seal_append(out, owner, plain);
    ck_assert(!out->failed);
    ck_assert_uint_le(out->size, SEAL_SIZE(plain.size));
}

static void ck_open(const struct buffer *sealed, struct slice owner, enum seal_answer wanted,
                    const char *text)
{
    struct buffer plain;
    buffer_init(&plain, ROOM);
    ck_assert_int_eq(seal_open(buffer_slice(sealed), owner, &plain), wanted);
    ck_assert_str_eq(buffer_text(&plain), text);
    buffer_fini(&plain);
}

START_TEST(a_file_has_keys)
{
    static const struct {
        const char *text, *problem;
    } cases[] = {
        {ONE, NULL},
        {"# the old one\n\n" TWO "\r\n  " THREE "  \n", NULL},
        {"", "it has no key; a key is 64 hexadecimal digits or base64 of 32 random bytes"},
        {"# none\n", "it has no key; a key is 64 hexadecimal digits or base64 of 32 random bytes"},
        {ONE "\n" ONE, "line 2: the key is in an earlier line, too"},
        {THREE "\n0000000000000000000000000000000000000000000000000000000000000003",
         "line 2: the key is in an earlier line, too"},
        {"12", "line 1: a key is 64 hexadecimal digits or base64 of 32 random bytes"},
        {"x" ONE, "line 1: a key is 64 hexadecimal digits or base64 of 32 random bytes"},
        {"AAAA", "line 1: a key is 64 hexadecimal digits or base64 of 32 random bytes"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct seal_keys *keys;
        struct problem problem = {.text = ""};
        enum status status = seal_keys_parse(slice_of(cases[i].text), &keys, &problem);
        ck_assert_int_eq(status, cases[i].problem ? STATUS_INVALID : STATUS_OK);
        if (cases[i].problem)
            ck_assert_str_eq(problem.text, cases[i].problem);
        seal_keys_free(keys);
    }
}
END_TEST

START_TEST(what_was_sealed_opens_for_its_owner_only)
{
    struct buffer sealed, empty;
    use(ONE);
    ck_assert(seal_is_on());
    seal(&sealed, OWNER, SLICE("the body"));
    ck_open(&sealed, OWNER, SEAL_OPENED, "the body");
    ck_open(&sealed, SLICE("orders/b"), SEAL_DAMAGED, "");
    seal(&empty, OWNER, SLICE(""));
    ck_open(&empty, OWNER, SEAL_OPENED, "");
    buffer_fini(&sealed);
    buffer_fini(&empty);
}
END_TEST

START_TEST(no_changed_text_opens)
{
    struct buffer sealed, plain;
    use(ONE);
    buffer_init(&plain, ROOM);
    seal(&sealed, OWNER, SLICE("the body"));
    for (size_t i = 0; i < sealed.size; i++) {
        char was = sealed.data[i];
        sealed.data[i] = was == 'A' ? 'B' : 'A';
        ck_assert_int_ne(seal_open(buffer_slice(&sealed), OWNER, &plain), SEAL_OPENED);
        sealed.data[i] = was;
        ck_assert_int_eq(seal_open(slice_from(sealed.data, i), OWNER, &plain), SEAL_DAMAGED);
    }
    ck_assert_uint_eq(plain.size, 0);
    ck_open(&sealed, OWNER, SEAL_OPENED, "the body");
    buffer_fini(&sealed);
    buffer_fini(&plain);
}
END_TEST

START_TEST(the_first_key_seals_and_each_opens)
{
    struct buffer old, fresh;
    char name[SEAL_NAME_SIZE], other[SEAL_NAME_SIZE];
    use(ONE);
    seal(&old, OWNER, SLICE("old"));
    ck_assert(seal_is_current(buffer_slice(&old)));
    use(TWO "\n" ONE);
    seal(&fresh, OWNER, SLICE("fresh"));
    ck_assert(!seal_is_current(buffer_slice(&old)));
    ck_assert(seal_is_current(buffer_slice(&fresh)));
    ck_open(&old, OWNER, SEAL_OPENED, "old");
    ck_open(&fresh, OWNER, SEAL_OPENED, "fresh");
    use(TWO);
    ck_open(&old, OWNER, SEAL_NO_KEY, "");
    ck_assert(seal_name(buffer_slice(&old), name));
    ck_assert(seal_name(buffer_slice(&fresh), other));
    ck_assert_str_ne(name, other);
    seal_use(NULL, false);
    ck_assert(!seal_is_on());
    ck_open(&fresh, OWNER, SEAL_NO_KEY, "");
    ck_assert(!seal_name(SLICE("AAAA"), name));
    buffer_fini(&old);
    buffer_fini(&fresh);
}
END_TEST

/* Each thread has a data key of its own, so its texts begin with a salt of its own, and its nonces count. */
static void *seal_two(void *arg)
{
    struct buffer *texts = arg;
    seal(&texts[0], OWNER, SLICE("one"));
    seal(&texts[1], OWNER, SLICE("one"));
    return NULL;
}

START_TEST(threads_never_share_a_nonce)
{
    enum { SALT_DIGITS = 49 /* format, name and salt */ };
    struct buffer mine[2], others[2];
    pthread_t thread;
    use(ONE);
    ck_assert_int_eq(pthread_create(&thread, NULL, seal_two, others), 0);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    seal_two(mine);
    ck_assert_int_eq(memcmp(mine[0].data, mine[1].data, SALT_DIGITS), 0);
    ck_assert(!slice_equal(buffer_slice(&mine[0]), buffer_slice(&mine[1])));
    ck_assert_int_ne(memcmp(mine[0].data, others[0].data, SALT_DIGITS), 0);
    for (int i = 0; i < 2; i++) {
        ck_open(&mine[i], OWNER, SEAL_OPENED, "one");
        ck_open(&others[i], OWNER, SEAL_OPENED, "one");
        buffer_fini(&mine[i]);
        buffer_fini(&others[i]);
    }
}
END_TEST

START_TEST(more_data_keys_than_a_thread_keeps)
{
    enum { MANY = 150 };
    struct buffer texts[MANY];
    for (int i = 0; i < MANY; i++) {
        use(ONE); /* a new data key */
        seal(&texts[i], OWNER, SLICE("text"));
    }
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < MANY; i++)
            ck_open(&texts[i], OWNER, SEAL_OPENED, "text");
    for (int i = 0; i < MANY; i++)
        buffer_fini(&texts[i]);
}
END_TEST

START_TEST(a_digest_stays_while_keys_are_added_in_front)
{
    unsigned char one[SEAL_DIGEST_BYTES], same[SEAL_DIGEST_BYTES], other[SEAL_DIGEST_BYTES];
    use(ONE);
    seal_digest(SLICE("text"), one);
    use(TWO "\n" ONE);
    seal_digest(SLICE("text"), same);
    use(TWO);
    seal_digest(SLICE("text"), other);
    ck_assert_mem_eq(one, same, sizeof one);
    ck_assert_mem_ne(one, other, sizeof one);
}
END_TEST

Suite *suite(void)
{
    Suite *all = suite_create("seal");
    TCase *tests = tcase_create("seal");
    tcase_add_test(tests, a_file_has_keys);
    tcase_add_test(tests, what_was_sealed_opens_for_its_owner_only);
    tcase_add_test(tests, no_changed_text_opens);
    tcase_add_test(tests, the_first_key_seals_and_each_opens);
    tcase_add_test(tests, threads_never_share_a_nonce);
    tcase_add_test(tests, more_data_keys_than_a_thread_keeps);
    tcase_add_test(tests, a_digest_stays_while_keys_are_added_in_front);
    suite_add_tcase(all, tests);
    return all;
}
