#include "support/suite.h"

#include "job/token.h"

/* No token has this digest. */
#define DIGEST "sha256:a3c0b08f3b24bd6f6a36b3a0ee1d4ea1c5b6d0d3e5e7b0a3c2f6a1f3b8e9d7c6"

START_TEST(a_line_says_all_of_it)
{
    struct token token;
    struct problem problem;
    struct slice line =
        SLICE("\tshop.1-a_B  " DIGEST " rate=10/s\ttopics=orders-*,mail groups=g-* scopes=read,schedule  ");
    ck_assert_int_eq(token_parse(line, &token, &problem), STATUS_OK);
    ck_assert_str_eq(token.name, "shop.1-a_B");
    ck_assert_str_eq(token.topics, "orders-*,mail");
    ck_assert_str_eq(token.groups, "g-*");
    ck_assert_uint_eq(token.scopes, SCOPE_READ | SCOPE_SCHEDULE);
    ck_assert_int_eq(token.digest[0], 0xa3);
    ck_assert_int_eq(token.digest[31], 0xc6);
    ck_assert_int_eq(token.rate.step_ns, 100000000);
    token_fini(&token);
    ck_assert_ptr_null(token.name);
}
END_TEST

START_TEST(topics_and_rate_may_be_left_out)
{
    struct token token;
    struct problem problem;
    ck_assert_int_eq(token_parse(SLICE("a " DIGEST " scopes=admin"), &token, &problem), STATUS_OK);
    ck_assert_ptr_null(token.topics);
    ck_assert_ptr_null(token.groups);
    ck_assert_int_eq(token.rate.period_ns, 0);
    ck_assert_uint_eq(token.scopes, SCOPE_ADMIN);
    token_fini(&token);
}
END_TEST

/* An invalid line, and words that the problem must contain. */
static const struct {
    const char *line, *words;
} wrong[] = {
    {"a", "sha256:"},
    {"a/b " DIGEST " scopes=read", "begins with a name"},
    {"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa " DIGEST " scopes=read",
     "begins with a name"},
    {DIGEST " scopes=read", "begins with a name"},
    {"dp_0123 scopes=read", "begins with a name"},
    {"a dp_0123 scopes=read", "not the token itself"},
    {"a sha256:00 scopes=read", "64 hex digits"},
    {"a SHA256:a3c0b08f3b24bd6f6a36b3a0ee1d4ea1c5b6d0d3e5e7b0a3c2f6a1f3b8e9d7c6 scopes=read",
     "64 hex digits"},
    {"a sha256:A3c0b08f3b24bd6f6a36b3a0ee1d4ea1c5b6d0d3e5e7b0a3c2f6a1f3b8e9d7c6 scopes=read", "lower case"},
    {"a " DIGEST "0 scopes=read", "64 hex digits"},
    {"a " DIGEST, "scopes= is missing"},
    {"a " DIGEST " topics=b", "scopes= is missing"},
    {"a " DIGEST " scopes=", "scopes= takes"},
    {"a " DIGEST " scopes=read,", "scopes= takes"},
    {"a " DIGEST " scopes=Read", "scopes= takes"},
    {"a " DIGEST " scopes=read, schedule", "scopes= takes"},
    {"a " DIGEST " scopes=read scopes=cancel", "scopes= appears twice"},
    {"a " DIGEST " scopes=read topics=", "topics=: ''"},
    {"a " DIGEST " scopes=read topics=b*c", "topics=: 'b*c'"},
    {"a " DIGEST " scopes=read topics=b topics=c", "topics= appears twice"},
    {"a " DIGEST " scopes=read groups=b~c", "groups=: 'b~c'"},
    {"a " DIGEST " scopes=read groups=b groups=c", "groups= appears twice"},
    {"a " DIGEST " scopes=read rate=10", "rate= takes"},
    {"a " DIGEST " scopes=read rate=1/s rate=1/s", "rate= appears twice"},
    {"a " DIGEST " scopes=read admin", "only scopes="},
    {"a " DIGEST " scopes=read role=x", "only scopes="},
};

START_TEST(a_wrong_line_is_told_by_its_field)
{
    struct token token;
    struct problem problem;
    ck_assert_int_eq(token_parse(slice_of(wrong[_i].line), &token, &problem), STATUS_INVALID);
    ck_assert_msg(strstr(problem.text, wrong[_i].words), "%s: %s", wrong[_i].line, problem.text);
    ck_assert_ptr_null(token.name);
}
END_TEST

START_TEST(what_could_be_a_token_is_not_repeated)
{
    static const char *const lines[] = {
        "a dp_5ec4e7 scopes=read",
        "dp_5ec4e7",
        "a " DIGEST " dp_5ec4e7",
        "a " DIGEST " scopes=dp_5ec4e7",
        "a " DIGEST " scopes=read rate=dp_5ec4e7",
        "a sha256:dp_5ec4e7",
    };
    struct token token;
    struct problem problem;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        ck_assert_int_eq(token_parse(slice_of(lines[i]), &token, &problem), STATUS_INVALID);
        ck_assert_msg(!strstr(problem.text, "5ec4e7"), "%s", problem.text);
    }
}
END_TEST

START_TEST(a_new_token_and_its_line_belong_together)
{
    uint8_t random[TOKEN_RANDOM_BYTES] = {0x00, 0x9f, 0xab};
    char text[TOKEN_TEXT_SIZE];
    struct token token;
    struct problem problem;
    struct buffer line;
    buffer_init(&line, 1000);
    token_make(random, text);
    ck_assert(slice_equal(slice_from(text, 9), SLICE("dp_009fab")));
    for (size_t i = 9; i < TOKEN_TEXT_SIZE; i++)
        ck_assert_int_eq(text[i], '0');
    token_write(&line, SLICE("a"), slice_from(text, sizeof text), SLICE("scopes=read"));
    ck_assert_int_eq(token_parse(buffer_slice(&line), &token, &problem), STATUS_OK);
    uint8_t digest[TOKEN_DIGEST_BYTES];
    token_digest(slice_from(text, sizeof text), digest);
    ck_assert_mem_eq(token.digest, digest, sizeof digest);
    token_fini(&token);
    buffer_fini(&line);
}
END_TEST

START_TEST(the_digest_is_sha_256)
{
    static const uint8_t abc[] = {0xba, 0x78, 0x16, 0xbf}, nothing[] = {0xe3, 0xb0, 0xc4, 0x42};
    uint8_t digest[TOKEN_DIGEST_BYTES];
    token_digest(SLICE("abc"), digest);
    ck_assert_mem_eq(digest, abc, sizeof abc);
    token_digest((struct slice){NULL, 0}, digest);
    ck_assert_mem_eq(digest, nothing, sizeof nothing);
}
END_TEST

START_TEST(scopes_are_spelt_in_one_order)
{
    char text[TOKEN_SCOPES_SIZE];
    token_scopes_text(SCOPE_LEASE | SCOPE_ADMIN | SCOPE_READ | SCOPE_CANCEL | SCOPE_SCHEDULE, text);
    ck_assert_str_eq(text, "schedule,read,cancel,admin,lease");
    token_scopes_text(SCOPE_CANCEL, text);
    ck_assert_str_eq(text, "cancel");
    token_scopes_text(0, text);
    ck_assert_str_eq(text, "");
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("token");
    TCase *tests = tcase_create("all");
    tcase_add_test(tests, a_line_says_all_of_it);
    tcase_add_test(tests, topics_and_rate_may_be_left_out);
    tcase_add_loop_test(tests, a_wrong_line_is_told_by_its_field, 0, sizeof wrong / sizeof *wrong);
    tcase_add_test(tests, what_could_be_a_token_is_not_repeated);
    tcase_add_test(tests, a_new_token_and_its_line_belong_together);
    tcase_add_test(tests, the_digest_is_sha_256);
    tcase_add_test(tests, scopes_are_spelt_in_one_order);
    suite_add_tcase(suite, tests);
    return suite;
}
