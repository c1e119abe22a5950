#include "support/suite.h"

#include "base/list.h"

struct item {
    int number;
    struct list link;
};

static struct list list;
static struct item items[3];

static void set_up(void)
{
    list_init(&list);
    for (int i = 0; i < 3; i++) {
        items[i].number = i;
        list_append(&list, &items[i].link);
    }
}

static int take(struct list *from)
{
    struct list *link = list_take(from);
    return link ? LIST_ENTRY(link, struct item, link)->number : -1;
}

START_TEST(takes_in_order)
{
    ck_assert(!list_is_empty(&list));
    ck_assert_int_eq(take(&list), 0);
    ck_assert_int_eq(take(&list), 1);
    ck_assert_int_eq(take(&list), 2);
    ck_assert(list_is_empty(&list));
    ck_assert_int_eq(take(&list), -1);
}
END_TEST

START_TEST(removes_from_the_middle_and_twice)
{
    list_remove(&items[1].link);
    list_remove(&items[1].link);
    ck_assert(list_is_empty(&items[1].link));
    ck_assert_int_eq(take(&list), 0);
    ck_assert_int_eq(take(&list), 2);
    ck_assert_int_eq(take(&list), -1);
}
END_TEST

START_TEST(moves_everything)
{
    struct list other;
    list_move(&list, &other);
    ck_assert(list_is_empty(&list));
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(take(&other), i);
    list_move(&list, &other);
    ck_assert(list_is_empty(&other));
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("list");
    TCase *tests = tcase_create("list");
    tcase_add_checked_fixture(tests, set_up, NULL);
    tcase_add_test(tests, takes_in_order);
    tcase_add_test(tests, removes_from_the_middle_and_twice);
    tcase_add_test(tests, moves_everything);
    suite_add_tcase(suite, tests);
    return suite;
}
