#include "support/suite.h"

#include "job/request.h"

#define TRACE  "4bf92f3577b34da6a3ce929d0e0e4736"
#define SPAN   "00f067aa0ba902b7"
#define PARENT "00-" TRACE "-" SPAN "-01"

START_TEST(reads_a_traceparent)
{
    static const struct {
        const char *header, *parent; /* NULL: none */
    } cases[] = {
        {PARENT, PARENT},
        {"00-" TRACE "-" SPAN "-ff", "00-" TRACE "-" SPAN "-ff"},
        /* If a traceparent has a later version, the parts that this version knows are read. */
        {"cc-" TRACE "-" SPAN "-01", PARENT},
        {"cc-" TRACE "-" SPAN "-01-more", PARENT},
        {"cc-" TRACE "-" SPAN "-01.more", NULL},
        {PARENT "-more", NULL},
        {"ff-" TRACE "-" SPAN "-01", NULL},
        {"", NULL},
        {"00-" TRACE "-" SPAN "-0", NULL},
        {"00-00000000000000000000000000000000-" SPAN "-01", NULL},
        {"00-" TRACE "-0000000000000000-01", NULL},
        {"00-4BF92F3577B34DA6A3CE929D0E0E4736-" SPAN "-01", NULL},
        {"00-" TRACE "-" SPAN "-0x", NULL},
        {"0x-" TRACE "-" SPAN "-01", NULL},
        {"00_" TRACE "-" SPAN "-01", NULL},
        {"00-" TRACE "_" SPAN "-01", NULL},
        {"00-" TRACE "-" SPAN "_01", NULL},
    };
    char parent[TRACE_PARENT_BYTES];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bool is_read = trace_parent_read(slice_of(cases[i].header), parent);
        ck_assert_msg(is_read == (cases[i].parent != NULL), "%s", cases[i].header);
        if (is_read)
            ck_assert(slice_equal(slice_from(parent, sizeof parent), slice_of(cases[i].parent)));
    }
}
END_TEST

START_TEST(an_attempt_is_a_span_of_its_own)
{
    static const uint8_t span[] = {0, 1, 2, 0xfe, 0xff, 0x10, 0, 9};
    char next[TRACE_PARENT_BYTES];
    trace_parent_next(SLICE(PARENT), span, next);
    ck_assert(slice_equal(slice_from(next, sizeof next), SLICE("00-" TRACE "-000102feff100009-01")));
}
END_TEST

START_TEST(a_flag_says_whether_a_trace_is_sampled)
{
    ck_assert(trace_parent_is_sampled(SLICE(PARENT)));
    ck_assert(trace_parent_is_sampled(SLICE("00-" TRACE "-" SPAN "-ff")));
    ck_assert(trace_parent_is_sampled(SLICE("00-" TRACE "-" SPAN "-0b")));
    ck_assert(!trace_parent_is_sampled(SLICE("00-" TRACE "-" SPAN "-00")));
    ck_assert(!trace_parent_is_sampled(SLICE("00-" TRACE "-" SPAN "-0a")));
    ck_assert(!trace_parent_is_sampled(SLICE("00-" TRACE "-" SPAN "-f2")));
}
END_TEST

static void check_state(const char *header, const char *expected)
{
    struct buffer state;
    buffer_init(&state, 4096);
    trace_state_read(slice_of(header), &state);
    ck_assert_str_eq(buffer_text(&state), expected);
    buffer_fini(&state);
}

#define TEN     "0123456789"
#define HUNDRED TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN
#define NINETY  TEN TEN TEN TEN TEN TEN TEN TEN TEN
#define FOUR    "a=" HUNDRED ",b=" HUNDRED ",c=" HUNDRED ",d=" HUNDRED
#define LONG    "l=" HUNDRED TEN TEN TEN

START_TEST(keeps_whole_members_of_a_tracestate)
{
    check_state("", "");
    check_state(" a=1 , b=2,,c=3 ", "a=1,b=2,c=3");
    check_state(LONG ",a=1", LONG ",a=1");
    /* The tracestate is too long: first the long members are dropped, then the last ones. */
    check_state("a=1," LONG ",b=" HUNDRED ",c=" HUNDRED ",d=" HUNDRED ",e=" HUNDRED,
                "a=1,b=" HUNDRED ",c=" HUNDRED ",d=" HUNDRED ",e=" HUNDRED);
    check_state("a=" HUNDRED ",b=" HUNDRED ",c=" HUNDRED ",d=" HUNDRED ",e=" HUNDRED ",f=1",
                "a=" HUNDRED ",b=" HUNDRED ",c=" HUNDRED ",d=" HUNDRED);
    /* The tracestate has 512 bytes, and then 513. */
    check_state(FOUR ",e=" NINETY "01234567", FOUR ",e=" NINETY "01234567");
    check_state(FOUR ",e=" NINETY "012345678", FOUR);
    check_state(
        "a=1,a=1,a=1,a=1,a=1,a=1,a=1,a=1,a=1,a=1,a=1,a=1,a=1,a=1,a=1,a=1,a=1,a=1,a=1,a=1,a=1,a=1,a=1,a=1,"
        "a=1,a=1,a=1,a=1,a=1,a=1,a=1,a=1,b=2",
        "a=1,a=1,a=1,a=1,a=1,a=1,a=1,a=1,a=1,a=1,a=1,a=1,a=1,a=1,a=1,a=1,a=1,a=1,a=1,a=1,a=1,a=1,a=1,a=1,"
        "a=1,a=1,a=1,a=1,a=1,a=1,a=1,a=1");
}
END_TEST

Suite *suite(void)
{
    Suite *all = suite_create("trace");
    TCase *tests = tcase_create("all");
    tcase_add_test(tests, reads_a_traceparent);
    tcase_add_test(tests, an_attempt_is_a_span_of_its_own);
    tcase_add_test(tests, a_flag_says_whether_a_trace_is_sampled);
    tcase_add_test(tests, keeps_whole_members_of_a_tracestate);
    suite_add_tcase(all, tests);
    return all;
}
