#include "support/suite.h"

#include <stdio.h>

#include "job/token.h"

/* Adds a line for the token "secret-<name>". */
static void add(struct buffer *text, const char *name)
{
    char secret[64];
    snprintf(secret, sizeof secret, "secret-%s", name);
    token_write(text, slice_of(name), slice_of(secret), SLICE("scopes=read"));
    buffer_append_byte(text, '\n');
}

static struct token_table *parse(struct buffer *text, const char *words)
{
    struct token_table *table = NULL;
    struct problem problem;
    enum status status = token_table_parse("FILE", buffer_slice(text), &table, &problem);
    ck_assert_int_eq(status, words ? STATUS_INVALID : STATUS_OK);
    if (words)
        ck_assert_msg(strstr(problem.text, words), "%s", problem.text);
    return table;
}

START_TEST(each_token_is_found_and_no_other)
{
    struct buffer text;
    buffer_init(&text, TOKENS_FILE_BYTES_MAX);
    buffer_append(&text, SLICE("# a comment\r\n\n  \t\n"));
    add(&text, "a");
    buffer_append(&text, SLICE(" # another one\n"));
    add(&text, "b");
    add(&text, "c");
    text.size--; /* the last line may lack its end */
    struct token_table *table = parse(&text, NULL);
    ck_assert_uint_eq(token_table_count(table), 3);
    ck_assert_str_eq(token_table_find(table, SLICE("secret-a"))->name, "a");
    ck_assert_str_eq(token_table_find(table, SLICE("secret-b"))->name, "b");
    ck_assert_str_eq(token_table_find(table, SLICE("secret-c"))->name, "c");
    ck_assert_ptr_null(token_table_find(table, SLICE("secret-d")));
    ck_assert_ptr_null(token_table_find(table, SLICE("secret-a ")));
    ck_assert_ptr_null(token_table_find(table, SLICE("")));
    ck_assert_ptr_null(token_table_find(table, SLICE("a")));
    token_table_release(table);
    buffer_fini(&text);
}
END_TEST

START_TEST(a_wrong_line_is_told_by_its_number)
{
    struct buffer text;
    buffer_init(&text, TOKENS_FILE_BYTES_MAX);
    add(&text, "a");
    buffer_append(&text, SLICE("\nb nonsense\n"));
    parse(&text, "FILE:3: after the name");
    buffer_fini(&text);
}
END_TEST

START_TEST(a_name_or_a_token_stands_there_once)
{
    struct buffer text;
    buffer_init(&text, TOKENS_FILE_BYTES_MAX);
    add(&text, "a");
    token_write(&text, SLICE("a"), SLICE("other"), SLICE("scopes=read"));
    parse(&text, "FILE:2: an earlier line has this name");
    buffer_clear(&text);
    add(&text, "a");
    token_write(&text, SLICE("b"), SLICE("secret-a"), SLICE("scopes=read"));
    parse(&text, "FILE:2: an earlier line has this token");
    buffer_fini(&text);
}
END_TEST

START_TEST(a_table_without_a_token_finds_none)
{
    struct buffer text;
    buffer_init(&text, TOKENS_FILE_BYTES_MAX);
    token_table_release(parse(&text, NULL));
    buffer_append(&text, SLICE("# all revoked\n\n"));
    struct token_table *table = parse(&text, NULL);
    ck_assert_uint_eq(token_table_count(table), 0);
    ck_assert_ptr_null(token_table_find(table, SLICE("")));
    ck_assert_ptr_null(token_table_find(table, SLICE("secret-a")));
    token_table_release(table);
    buffer_fini(&text);
}
END_TEST

START_TEST(a_token_of_another_table_is_found_by_its_text)
{
    struct buffer text;
    buffer_init(&text, TOKENS_FILE_BYTES_MAX);
    add(&text, "a");
    add(&text, "b");
    struct token_table *old = parse(&text, NULL);
    buffer_clear(&text);
    token_write(&text, SLICE("a"), SLICE("other"), SLICE("scopes=read"));
    buffer_append_byte(&text, '\n');
    token_write(&text, SLICE("renamed"), SLICE("secret-b"), SLICE("scopes=read"));
    struct token_table *table = parse(&text, NULL);
    ck_assert_ptr_null(token_table_find_same(table, token_table_at(old, 0)));
    ck_assert_str_eq(token_table_find_same(table, token_table_at(old, 1))->name, "renamed");
    token_table_release(old);
    token_table_release(table);
    buffer_fini(&text);
}
END_TEST

START_TEST(there_is_a_bound)
{
    struct buffer text;
    char name[16];
    buffer_init(&text, TOKENS_FILE_BYTES_MAX);
    for (int i = 0; i < TOKENS_MAX; i++) {
        snprintf(name, sizeof name, "t%d", i);
        add(&text, name);
    }
    struct token_table *table = parse(&text, NULL);
    ck_assert_str_eq(token_table_find(table, SLICE("secret-t999"))->name, "t999");
    token_table_release(table);
    add(&text, "more");
    parse(&text, "FILE:1001: there are more than 1000 tokens");
    buffer_fini(&text);
}
END_TEST

START_TEST(it_lives_as_long_as_somebody_holds_it)
{
    struct buffer text;
    buffer_init(&text, TOKENS_FILE_BYTES_MAX);
    add(&text, "a");
    struct token_table *table = parse(&text, NULL);
    ck_assert_ptr_eq(token_table_share(table), table);
    token_table_release(table);
    ck_assert_str_eq(token_table_find(table, SLICE("secret-a"))->name, "a");
    token_table_release(table);
    token_table_release(NULL);
    buffer_fini(&text);
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("token_table");
    TCase *tests = tcase_create("all");
    tcase_add_test(tests, each_token_is_found_and_no_other);
    tcase_add_test(tests, a_wrong_line_is_told_by_its_number);
    tcase_add_test(tests, a_name_or_a_token_stands_there_once);
    tcase_add_test(tests, a_table_without_a_token_finds_none);
    tcase_add_test(tests, a_token_of_another_table_is_found_by_its_text);
    tcase_add_test(tests, there_is_a_bound);
    tcase_add_test(tests, it_lives_as_long_as_somebody_holds_it);
    suite_add_tcase(suite, tests);
    return suite;
}
