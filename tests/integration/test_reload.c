/* Tests SIGHUPs in all orders, with fake reactors that answer when the test lets them. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "server/server_private.h"
#include "support/suite.h"

enum { REACTORS = 2, CALLS_MAX = 16 };

/* Stands for the reactors. Keeps each call to a reactor until the test answers it. */
static struct {
    loop_fn *on_reloaded;
    void *arg;
    const struct options *options;
} calls[CALLS_MAX];
static size_t call_count, answered;

void reactor_reload(struct reactor *reactor, const struct options *options, loop_fn *on_reloaded, void *arg)
{
    (void)reactor;
    ck_assert_int_lt(call_count, CALLS_MAX);
    calls[call_count].on_reloaded = on_reloaded;
    calls[call_count].arg = arg;
    calls[call_count++].options = options;
}

static char directory[] = "/tmp/duepost-reload-XXXXXX";
static char tokens_path[64], config_path[64];
static struct loop *loop;
static struct options *live;
static struct options_input input;
static struct reload *reload;
static struct reactor *reactors[REACTORS];
static size_t prepared;

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    fclose(file);
}

/* Writes a file with count tokens, whose names are a, b, ... */
static void write_tokens(int count)
{
    char text[1024] = "# of a test\n";
    for (int i = 0; i < count; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%c sha256:%064x scopes=read\n", 'a' + i,
                 i);
    write_file(tokens_path, text);
}

static size_t live_tokens(void)
{
    return token_table_count(live->tokens);
}

static enum status prepare(void *arg, struct options *options, struct problem *problem)
{
    (void)arg, (void)options, (void)problem;
    prepared++;
    return STATUS_OK;
}

static void answer(void)
{
    ck_assert_int_lt(answered, call_count);
    calls[answered].on_reloaded(calls[answered].arg);
    answered++;
}

static void stop(void *arg)
{
    loop_stop(arg);
}

/* Runs the callbacks that were passed to loop_post. */
static void turn(void)
{
    loop_post(loop, stop, loop);
    loop_run(loop);
}

static void answer_all(void)
{
    for (size_t i = 0; i < REACTORS; i++)
        answer();
    turn();
}

static void start(void)
{
    static char name[] = "duepost", flag[] = "--config";
    static char *arguments[] = {name, flag, config_path, NULL};
    static char home[] = "HOME=/home/u", *environment[] = {home, NULL};
    struct problem problem;
    char config[128];
    ck_assert_ptr_nonnull(mkdtemp(directory));
    snprintf(tokens_path, sizeof tokens_path, "%s/tokens", directory);
    snprintf(config_path, sizeof config_path, "%s/config", directory);
    snprintf(config, sizeof config, "tokens = %s\n", tokens_path);
    write_file(config_path, config);
    write_tokens(2);
    input = (struct options_input){3, arguments, environment, NULL};
    live = calloc(1, sizeof *live);
    ck_assert_int_eq(options_load(live, &input, &problem), STATUS_OK);
    loop = loop_new();
    reload = reload_new(loop, &input, &live, prepare, NULL);
}

static void end(void)
{
    reload_free(reload);
    options_fini(live);
    free(live);
    loop_free(loop);
    unlink(tokens_path);
    unlink(config_path);
    rmdir(directory);
}

START_TEST(what_comes_before_the_reactors_is_done_when_they_run)
{
    write_tokens(1);
    reload_run(reload);
    reload_run(reload);
    ck_assert_uint_eq(live_tokens(), 2);
    reload_use(reload, reactors, REACTORS);
    ck_assert_uint_eq(live_tokens(), 1);
    ck_assert_uint_eq(call_count, REACTORS);
    answer_all();
    ck_assert_uint_eq(prepared, 1);
    ck_assert_uint_eq(call_count, REACTORS);
}
END_TEST

START_TEST(what_comes_while_reactors_are_busy_is_done_behind_that)
{
    reload_use(reload, reactors, REACTORS);
    reload_run(reload);
    answer();
    turn();
    write_tokens(1);
    reload_run(reload);
    reload_run(reload);
    ck_assert_uint_eq(live_tokens(), 2);
    answer();
    turn();
    ck_assert_uint_eq(live_tokens(), 1);
    ck_assert_uint_eq(call_count, 2 * REACTORS);
    ck_assert_ptr_eq(calls[REACTORS].options, live);
    answer_all();
    ck_assert_uint_eq(prepared, 2);
    reload_run(reload);
    ck_assert_uint_eq(prepared, 3);
    answer_all();
}
END_TEST

START_TEST(nothing_is_begun_at_the_end)
{
    reload_use(reload, reactors, REACTORS);
    reload_run(reload);
    reload_run(reload);
    reload_use(reload, NULL, 0);
    answer_all();
    ck_assert_uint_eq(prepared, 1);
    ck_assert_uint_eq(call_count, REACTORS);
}
END_TEST

START_TEST(tokens_are_taken_whatever_is_wrong_with_the_rest)
{
    struct options *before = live;
    reload_use(reload, reactors, REACTORS);
    write_file(config_path, "listen on everything\n");
    write_tokens(1);
    reload_run(reload);
    ck_assert_ptr_eq(live, before);
    ck_assert_uint_eq(live_tokens(), 1);
    ck_assert_uint_eq(call_count, REACTORS);
    write_tokens(0);
    reload_run(reload);
    ck_assert_uint_eq(live_tokens(), 1);
    answer_all();
    ck_assert_uint_eq(live_tokens(), 0);
    answer_all();
    write_file(tokens_path, "nonsense");
    reload_run(reload);
    ck_assert_uint_eq(live_tokens(), 0);
    ck_assert_uint_eq(call_count, 2 * REACTORS);
    ck_assert_uint_eq(prepared, 0);
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("reload");
    TCase *tests = tcase_create("all");
    tcase_add_checked_fixture(tests, start, end);
    tcase_add_test(tests, what_comes_before_the_reactors_is_done_when_they_run);
    tcase_add_test(tests, what_comes_while_reactors_are_busy_is_done_behind_that);
    tcase_add_test(tests, nothing_is_begun_at_the_end);
    tcase_add_test(tests, tokens_are_taken_whatever_is_wrong_with_the_rest);
    suite_add_tcase(suite, tests);
    return suite;
}
