/* Tests the guard with a real freeze: a child process stops itself inside the guard, and its parent continues
 * it. */
#include "io/freeze_guard.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "support/suite.h"

static volatile sig_atomic_t is_taken_away;

static void take_away(void *arg, const void *what)
{
    (void)arg, (void)what;
    is_taken_away = 1;
}

static void sleep_ms(long ms)
{
    struct timespec time = {ms / 1000, ms % 1000 * 1000000};
    while (nanosleep(&time, &time) != 0)
        continue;
}

enum { BITS_TAKEN = 1, BITS_STRUCK = 2, BITS_STRUCK_AGAIN = 4, BITS_OTHER = 8 };

/* Returns the exit status of a child process that was frozen right after it entered the guard, or, if
 * is_inside is false, after it left the guard. */
static int freeze_child(long frozen_ms, bool is_inside)
{
    pid_t child = fork();
    if (child == 0) {
        int what, other, seen = 0;
        struct freeze_guard *guard = freeze_guard_new(take_away, NULL);
        freeze_guard_enter(guard, &what);
        if (!is_inside)
            freeze_guard_leave(guard);
        kill(getpid(), SIGSTOP);
        seen |= is_taken_away ? BITS_TAKEN : 0;
        seen |= freeze_guard_has_struck(guard, &other) ? BITS_OTHER : 0;
        seen |= freeze_guard_has_struck(guard, &what) ? BITS_STRUCK : 0;
        seen |= freeze_guard_has_struck(guard, &what) ? BITS_STRUCK_AGAIN : 0;
        freeze_guard_free(guard);
        _exit(seen);
    }
    int status;
    ck_assert_int_eq(waitpid(child, &status, WUNTRACED), child);
    ck_assert(WIFSTOPPED(status));
    sleep_ms(frozen_ms);
    kill(child, SIGCONT);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFEXITED(status));
    return WEXITSTATUS(status);
}

START_TEST(a_long_freeze_is_noticed_before_the_next_instruction)
{
    ck_assert_int_eq(freeze_child(FREEZE_GUARD_US / 1000 + 200, true), BITS_TAKEN | BITS_STRUCK);
}
END_TEST

START_TEST(a_short_freeze_takes_nothing_away)
{
    ck_assert_int_eq(freeze_child(100, true), 0);
}
END_TEST

START_TEST(outside_of_the_guard_a_freeze_does_not_matter)
{
    ck_assert_int_eq(freeze_child(FREEZE_GUARD_US / 1000 + 200, false), 0);
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("freeze_guard");
    TCase *tests = tcase_create("all");
    tcase_add_test(tests, a_long_freeze_is_noticed_before_the_next_instruction);
    tcase_add_test(tests, a_short_freeze_takes_nothing_away);
    tcase_add_test(tests, outside_of_the_guard_a_freeze_does_not_matter);
    suite_add_tcase(suite, tests);
    return suite;
}
