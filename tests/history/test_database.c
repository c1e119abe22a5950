/* The history in SQLite, in PostgreSQL and in MongoDB: the same cases for all. */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/system.h"
#include "history/history_calls.h"
#include "job/job.h"
#include "support/mongo_server.h"
#include "support/postgres_server.h"
#include "support/suite.h"

enum { SQLITE, POSTGRES, MONGO, KINDS };

#define MINUTE_MS INT64_C(60000)

static struct postgres_server *server;
static struct mongo_server *mongo; /* NULL: there is no such server */
static char folder[] = "/tmp/duepost-history-XXXXXX";
static char path[64], url[POSTGRES_URL_SIZE];
static struct history_options options;
static struct history_world world;
static int64_t now_ms;

/* ---- fixture ---- */

static void start_server(void)
{
    server = postgres_server_new();
    mongo = mongo_server_is_there() ? mongo_server_new() : NULL;
}

static void stop_server(void)
{
    postgres_server_free(server);
    mongo_server_free(mongo);
}

static void make_place(void)
{
    now_ms = clock_wall_ms();
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/history.sqlite", folder);
}

static void remove_place(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    ck_assert_int_eq(system(command), 0);
}

/* Creates an empty database of this kind. */
static void make_database(int kind)
{
    options = (struct history_options){.max_age_ms = 7 * 24 * 60 * MINUTE_MS, .max_bytes = INT64_C(1) << 30};
    if (kind == SQLITE) {
        options.sqlite_path = path;
        return;
    }
    char name[32], sql[128];
    snprintf(name, sizeof name, "test_%d", (int)getpid());
    options.url = url;
    if (kind == MONGO) {
        mongo_server_url(mongo, name, url);
        return;
    }
    snprintf(sql, sizeof sql, "CREATE DATABASE %s", name);
    postgres_server_run(server, "postgres", sql);
    postgres_server_url(server, "postgres", name, url);
}

static void open_world(int kind)
{
    make_database(kind);
    history_world_open(&world, &options);
}

static struct ended_job delivered(int64_t ended_ms)
{
    return (struct ended_job){"delivered", ended_ms, ended_ms - 1000, "", "1 1700000000000 34 200\n"};
}

/* ---- one job ---- */

START_TEST(a_job_that_is_appended_is_found_as_it_was)
{
    const char *members =
        "\"method\":\"PUT\",\"delay\":1.5,\"headers\":{\"X-One\":\"1\"},\"labels\":[\"a\",\"\\\"b\"],"
        "\"attempts\":1,\"needs\":[\"method\"],\"body\":{\"n\":1.50,\"t\":\"\\u0000\"}";
    const char *lines =
        "1 1700000000123 246 503 \"The order is locked.\"+\n2@2 1700000001123 12 connect \"refused\"\n"
        "3@2 1700000002123 34 200\n";
    const struct ended_job ended = {"delivered", now_ms, now_ms - 5000, members, lines};
    struct history_row row;
    struct job job, same;
    char room[ENDED_TEXT_SIZE];
    open_world(_i);
    ck_assert_msg(append_job(&world, "orders/A1", &ended) == STATUS_OK, "%s", last_why());
    ck_assert(find_job(&world, "orders/A1", &row));
    ck_assert(slice_equal(row.topic, SLICE("orders")) && slice_equal(row.job_id, SLICE("A1")));
    ck_assert_int_eq(row.state, JOB_STATE_DELIVERED);
    ck_assert_int_eq(row.ended_ms, now_ms);
    ck_assert_int_eq(row.created_ms, now_ms - 5000);
    ck_assert(slice_equal(row.lines, slice_of(lines)));
    ck_assert_int_eq(job_read(row.id, row.record, &job), STATUS_OK);
    const char *record = strchr(ended_text(&ended, room).data, '{');
    ck_assert_int_eq(job_read(row.id, slice_from(record, strlen(record) - strlen(lines)), &same), STATUS_OK);
    ck_assert(job_is_same(&job, &same));
    ck_assert_int_eq(job.attempts, 1);
    job_fini(&job);
    job_fini(&same);
    ck_assert(!find_job(&world, "orders/A2", &row));
    ck_assert(!find_job(&world, "mail/A1", &row));
    history_world_close(&world);
}
END_TEST

START_TEST(of_two_ends_of_a_job_the_later_one_stays)
{
    struct ended_job dead = {"dead", now_ms - 1000, now_ms - 9000, "\"reason\":\"gone\",\"labels\":[\"x\"]",
                             ""};
    struct ended_job late = {"delivered", now_ms, now_ms - 9000, "", ""};
    struct job_filter all = {.states = 0}, labelled = {.labels = SLICE_INIT("x")};
    struct outcome_counts counts;
    struct history_row row;
    open_world(_i);
    ck_assert_int_eq(append_job(&world, "orders/1", &dead), STATUS_OK);
    ck_assert_int_eq(append_job(&world, "orders/1", &dead), STATUS_OK);
    ck_assert_int_eq(append_job(&world, "orders/1", &late), STATUS_OK);
    ck_assert_int_eq(append_job(&world, "orders/1", &dead), STATUS_OK);
    ck_assert(find_job(&world, "orders/1", &row));
    ck_assert_int_eq(row.state, JOB_STATE_DELIVERED);
    ck_assert_int_eq(count_jobs(&world, &all, &counts), STATUS_OK);
    ck_assert_int_eq(counts.delivered, 1);
    ck_assert_int_eq(counts.dead, 0);
    ck_assert_int_eq(count_jobs(&world, &labelled, &counts), STATUS_OK);
    ck_assert_int_eq(counts.delivered + counts.dead, 0);
    history_world_close(&world);
}
END_TEST

START_TEST(the_last_job_of_an_id_is_found)
{
    struct ended_job first = delivered(now_ms - 5000), second = delivered(now_ms - 1000);
    struct history_row row;
    open_world(_i);
    ck_assert_int_eq(append_job(&world, "orders/1", &second), STATUS_OK);
    ck_assert_int_eq(append_job(&world, "orders/1", &first), STATUS_OK);
    ck_assert(find_job(&world, "orders/1", &row));
    ck_assert_int_eq(row.ended_ms, now_ms - 1000);
    history_world_close(&world);
}
END_TEST

START_TEST(texts_that_duepost_did_not_write_hold_up_no_others)
{
    static const struct slice texts[] = {
        SLICE_INIT(""),
        SLICE_INIT("nonsense"),
        SLICE_INIT("dead 1 0 99999 {}"),
        SLICE_INIT("dead 1700000000000 0/nonce 2 {}"),
        SLICE_INIT("dead 1700000000000 0 6 \xff\xfe\0{}\""),
        SLICE_INIT("delivered 1700000000000 0 36 {\"createdAt\":1,\"url\":\"\",\"x\":[1,2,}]}"),
    };
    struct history_entry entries[sizeof texts / sizeof *texts];
    struct history_row row;
    char ids[sizeof texts / sizeof *texts][16];
    open_world(_i);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        snprintf(ids[i], sizeof ids[i], "orders/%zu", i);
        entries[i] = (struct history_entry){slice_of(ids[i]), texts[i], false};
        ck_assert_msg(append_text(&world, ids[i], entries[i].text) == STATUS_OK, "%zu: %s", i, last_why());
    }
    ck_assert_int_eq(append_text(&world, "no id", texts[1]), STATUS_OK);
    ck_assert(find_job(&world, "orders/1", &row));
    ck_assert(row.is_unreadable);
    ck_assert_int_eq(row.state, JOB_STATE_DEAD);
    ck_assert(slice_equal(row.record, SLICE("nonsense")));
    history_world_close(&world);
}
END_TEST

/* ---- lists ---- */

static void append_examples(void)
{
    static const struct {
        const char *id, *state, *members, *lines;
    } jobs[] = {
        {"orders/a1", "delivered", "\"key\":\"red\",\"labels\":[\"red\",\"big\"]", "1 1700000000000 5 200\n"},
        {"orders/a2", "dead", "\"reason\":\"retries_exhausted\",\"labels\":[\"red\"]",
         "4 1700000000000 5 503\n"},
        {"orders/b1", "cancelled", "", ""},
        {"mail/a3", "dead", "\"key\":\"\\u00e9\\\"\\\\\",\"labels\":[\" \"],\"reason\":\"gone\"",
         "1 1700000000000 5 410\n"},
        {"mail/b_2", "delivered", "", "1 1700000000000 5 204\n"},
        {"mail/c1", "dead", "\"reason\":\"expired\"", "2 1700000000000 5 timeout\n"},
    };
    enum { JOBS = sizeof jobs / sizeof *jobs };
    const char *ids[JOBS];
    struct ended_job ended[JOBS];
    for (size_t i = 0; i < JOBS; i++) {
        ids[i] = jobs[i].id;
        ended[i] = (struct ended_job){jobs[i].state, now_ms - 6000 + 1000 * (int64_t)i, now_ms - 60000,
                                      jobs[i].members, jobs[i].lines};
    }
    ck_assert_msg(append_jobs(&world, ids, ended, JOBS) == STATUS_OK, "%s", last_why());
}

START_TEST(lists_keep_to_their_filters)
{
    const struct {
        struct job_filter filter;
        const char *ids;
    } lists[] = {
        {{.states = 0}, "c1 b_2 a3 b1 a2 a1"},
        {{.states = 1u << JOB_STATE_DEAD}, "c1 a3 a2"},
        {{.states = 1u << JOB_STATE_DEAD | 1u << JOB_STATE_CANCELLED}, "c1 a3 b1 a2"},
        {{.topic = SLICE("orders")}, "b1 a2 a1"},
        {{.topic = SLICE("orders"), .states = 1u << JOB_STATE_DELIVERED}, "a1"},
        {{.topic = SLICE("order")}, ""},
        {{.labels = SLICE("red")}, "a2 a1"},
        {{.labels = SLICE("red\nbig")}, "a1"},
        {{.labels = SLICE("big\nred")}, "a1"},
        {{.labels = SLICE("big\nred"), .id_prefix = SLICE("a")}, "a1"},
        {{.labels = SLICE("red\nblue")}, ""},
        {{.has_key = true, .key = SLICE("red")}, "a1"},
        {{.has_key = true, .key = SLICE("\xc3\xa9\"\\")}, "a3"},
        {{.has_key = true, .key = SLICE("\xc3\xa9\"\\"), .labels = SLICE(" ")}, "a3"},
        {{.has_key = true, .key = SLICE("red"), .labels = SLICE("big")}, "a1"},
        {{.has_key = true, .key = SLICE("red"), .id_prefix = SLICE("a")}, "a1"},
        {{.has_key = true, .key = SLICE("red"), .topic = SLICE("mail")}, ""},
        {{.has_key = true, .key = SLICE("re")}, ""},
        {{.has_key = true, .key = SLICE("big")}, ""},
        {{.has_key = true}, "c1 b_2 b1 a2"},
        {{.has_key = true, .labels = SLICE("red")}, "a2"},
        {{.has_key = true, .id_prefix = SLICE("a")}, "a2"},
        {{.has_key = true, .states = 1u << JOB_STATE_DEAD, .topic = SLICE("mail")}, "c1"},
        {{.labels = SLICE("red"), .states = 1u << JOB_STATE_DEAD}, "a2"},
        {{.labels = SLICE("red"), .topic = SLICE("mail")}, ""},
        {{.labels = SLICE("big"), .id_prefix = SLICE("a")}, "a1"},
        {{.id_prefix = SLICE("a")}, "a3 a2 a1"},
        {{.id_prefix = SLICE("a"), .topic = SLICE("mail")}, "a3"},
        {{.id_prefix = SLICE("b_")}, "b_2"},
        {{.id_prefix = SLICE("\xc3\xa4")}, ""},
        {{.reasons = SLICE("gone,expired")}, "c1 a3"},
        {{.statuses = SLICE("503")}, "a2"},
        {{.statuses = SLICE("4xx,5xx")}, "a3 a2"},
        {{.statuses = SLICE("2xx")}, "b_2 a1"},
        {{.statuses = SLICE("timeout")}, "c1"},
        {{.statuses = SLICE("503"), .topic = SLICE("mail")}, ""},
        {{.reasons = SLICE("gone"), .states = 1u << JOB_STATE_DELIVERED}, ""},
        {{.host = SLICE("shop.example")}, "c1 b_2 a3 b1 a2 a1"},
        {{.host = SLICE("shop.exampl")}, ""},
        {{.host = SLICE("shop.example:443")}, ""},
        {{.host = SLICE("shop_example")}, ""},
        {{.host = SLICE("shop.example"), .id_prefix = SLICE("a"), .topic = SLICE("mail")}, "a3"},
        {{.host = SLICE("shop.example"), .labels = SLICE("red"), .statuses = SLICE("5xx")}, "a2"},
        {{.after_ms = now_ms - 4000, .before_ms = now_ms - 2000}, "a3 b1"},
        {{.after_ms = now_ms - 4000, .before_ms = now_ms - 2000, .id_prefix = SLICE("a")}, "a3"},
    };
    char found[FOUND_SIZE];
    struct history_cursor next;
    open_world(_i);
    append_examples();
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        const struct history_list list = {.filter = lists[i].filter, .is_newest_first = true, .max = 10};
        struct outcome_counts counts;
        size_t expected = lists[i].ids[0] != '\0';
        for (const char *at = lists[i].ids; *at; at++)
            expected += *at == ' ';
        ck_assert_msg(list_jobs(&world, &list, found, &next) == STATUS_OK, "%zu: %s", i, last_why());
        ck_assert_msg(strcmp(found, lists[i].ids) == 0, "%zu: %s instead of %s", i, found, lists[i].ids);
        ck_assert_msg(!next.is_set, "%zu", i);
        ck_assert_int_eq(count_jobs(&world, &lists[i].filter, &counts), STATUS_OK);
        ck_assert_msg((size_t)(counts.dead + counts.delivered + counts.cancelled) == expected, "%zu", i);
        ck_assert(!counts.is_partial);
    }
    history_world_close(&world);
}
END_TEST

START_TEST(too_many_words_are_refused)
{
    struct history_list list = {.filter.reasons = SLICE("a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q"), .max = 10};
    char found[FOUND_SIZE];
    struct history_cursor next;
    open_world(_i);
    ck_assert_int_eq(list_jobs(&world, &list, found, &next), STATUS_INVALID);
    list.filter.reasons = SLICE("a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p");
    list.filter.statuses = SLICE("1xx,2xx,3xx,4xx,5xx,6xx,7xx,8xx,9xx,a,b,c,d,e,f,g");
    list.filter.topic = SLICE("orders");
    ck_assert_msg(list_jobs(&world, &list, found, &next) == STATUS_OK, "%s", last_why());
    history_world_close(&world);
}
END_TEST

/* Reads all pages. Each job must be on one page. */
static void check_pages(struct history_list *list, size_t jobs)
{
    char found[FOUND_SIZE], seen[64] = "";
    size_t count = 0;
    do {
        ck_assert_msg(list_jobs(&world, list, found, &list->from) == STATUS_OK, "%s", last_why());
        for (char *rest = found, *id; (id = strtok_r(rest, " ", &rest));) {
            size_t number = (size_t)atoi(id + 1);
            ck_assert_msg(!seen[number], "%s twice", id);
            ck_assert_uint_eq(number, list->is_newest_first ? jobs - 1 - count : count);
            seen[number] = 1;
            count++;
        }
    } while (list->from.is_set);
    ck_assert_uint_eq(count, jobs);
}

START_TEST(pages_have_each_job_once)
{
    enum { JOBS = 23 };
    struct ended_job jobs[JOBS];
    char texts[JOBS][32];
    const char *ids[JOBS];
    open_world(_i);
    for (int i = 0; i < JOBS; i++) {
        jobs[i] = delivered(now_ms - 10000 + i / 4); /* four jobs end in the same ms */
        jobs[i].members = "\"labels\":[\"all\"]";
        snprintf(texts[i], sizeof texts[i], "orders/j%02d", i);
        ids[i] = texts[i];
    }
    ck_assert_int_eq(append_jobs(&world, ids, jobs, JOBS), STATUS_OK);
    for (int way = 0; way < 2; way++) {
        const struct job_filter filters[] = {{.topic = SLICE("orders")},
                                             {.states = 0},
                                             {.labels = SLICE("all")},
                                             {.id_prefix = SLICE("j")},
                                             {.statuses = SLICE("200")}};
        for (size_t i = 0; i < sizeof filters / sizeof *filters; i++)
            for (size_t max = 3; max <= JOBS; max += 5) {
                struct history_list list = {.filter = filters[i], .is_newest_first = way, .max = max};
                check_pages(&list, JOBS);
            }
    }
    history_world_close(&world);
}
END_TEST

START_TEST(steps_are_counted_by_outcome)
{
    const struct outcome_steps stats = {SLICE_INIT(""), now_ms - 6000, now_ms, 3000};
    const struct outcome_steps of_topic = {SLICE_INIT("mail"), now_ms - 6000, now_ms, 2500};
    struct outcome_counts steps[3];
    open_world(_i);
    append_examples();
    ck_assert_msg(plot_jobs(&world, &stats, steps, 2) == STATUS_OK, "%s", last_why());
    ck_assert_int_eq(steps[0].delivered, 1);
    ck_assert_int_eq(steps[0].dead, 1);
    ck_assert_int_eq(steps[0].cancelled, 1);
    ck_assert_int_eq(steps[1].delivered, 1);
    ck_assert_int_eq(steps[1].dead, 2);
    ck_assert_int_eq(plot_jobs(&world, &of_topic, steps, 3), STATUS_OK);
    ck_assert_int_eq(steps[0].delivered + steps[0].dead, 0);
    ck_assert_int_eq(steps[1].delivered + steps[1].dead, 2);
    ck_assert_int_eq(steps[2].dead, 1);
    history_world_close(&world);
}
END_TEST

/* ---- removal ---- */

START_TEST(jobs_of_a_topic_are_deleted_up_to_a_time)
{
    const struct job_filter filter = {.topic = SLICE_INIT("orders"), .before_ms = now_ms - 4000};
    char found[FOUND_SIZE];
    struct history_cursor next;
    struct history_list list = {.is_newest_first = true, .max = 10};
    size_t deleted;
    bool has_more;
    open_world(_i);
    append_examples();
    ck_assert_msg(delete_jobs(&world, &filter, &deleted, &has_more) == STATUS_OK, "%s", last_why());
    ck_assert_uint_eq(deleted, 2);
    ck_assert(!has_more);
    ck_assert_int_eq(list_jobs(&world, &list, found, &next), STATUS_OK);
    ck_assert_str_eq(found, "c1 b_2 a3 b1");
    list.filter.labels = SLICE("red");
    ck_assert_int_eq(list_jobs(&world, &list, found, &next), STATUS_OK);
    ck_assert_str_eq(found, "");
    history_world_close(&world);
}
END_TEST

/* Waits until the history has this many jobs. */
static void await_jobs(int64_t at_least, int64_t at_most)
{
    const struct job_filter all = {.states = 0};
    struct outcome_counts counts;
    int64_t jobs, deadline_us = clock_boot_us() + INT64_C(30000000);
    do {
        history_prune(world.history, now_ms);
        ck_assert_int_eq(count_jobs(&world, &all, &counts), STATUS_OK);
        jobs = counts.delivered + counts.dead;
        ck_assert_int_ge(jobs, at_least);
        ck_assert_msg(clock_boot_us() < deadline_us, "there are %lld jobs", (long long)jobs);
        usleep(10000);
    } while (jobs > at_most);
}

/* Returns the number of jobs after some steps of upkeep. prune_ms: time of calls of history_prune; 0: none is
 * made. */
static int64_t keeps_for_a_while(int64_t prune_ms)
{
    const struct job_filter all = {.states = 0};
    struct outcome_counts counts;
    for (int i = 0; i < 25; i++) {
        if (prune_ms)
            history_prune(world.history, prune_ms);
        ck_assert_int_eq(count_jobs(&world, &all, &counts), STATUS_OK);
        usleep(100000);
    }
    return counts.delivered + counts.dead;
}

START_TEST(old_jobs_go)
{
    struct ended_job old = delivered(now_ms - 120000), young = delivered(now_ms);
    old.state = "dead";
    make_database(_i);
    history_world_open(&world, &options);
    ck_assert_int_eq(append_job(&world, "orders/old", &old), STATUS_OK);
    ck_assert_int_eq(append_job(&world, "orders/young", &young), STATUS_OK);
    await_jobs(2, 2);
    history_world_close(&world);
    options.max_age_ms = 60000;
    history_world_open(&world, &options);
    /* Only the process that calls history_prune removes jobs, and by the time of this call. */
    ck_assert_int_eq(keeps_for_a_while(0), 2);
    ck_assert_int_eq(keeps_for_a_while(now_ms - 70000), 2);
    history_world_close(&world);
    history_world_open(&world, &options); /* the next round of removals would be a minute later */
    await_jobs(1, 1);
    history_world_close(&world);
}
END_TEST

static void ignore_done(void *arg, enum status status, const char *why)
{
    size_t *answers = arg;
    ck_assert_msg(status == STATUS_OK, "%s", why);
    ++*answers;
}

START_TEST(the_oldest_jobs_go_beyond_the_maximum_size)
{
    enum { JOBS = 300 };
    static char body[3000], members[3100], texts[ENDED_TEXT_SIZE];
    size_t answers = 0;
    struct history_row row;
    struct history_state state;
    make_database(_i);
    options.max_bytes = 500000;
    history_world_open(&world, &options);
    memset(body, 'x', sizeof body - 1);
    snprintf(members, sizeof members, "\"body\":\"%s\"", body);
    for (int i = 0; i < JOBS; i++) {
        char id[32];
        struct ended_job job = delivered(now_ms - JOBS + i);
        job.members = members;
        snprintf(id, sizeof id, "orders/%d", i);
        const struct history_entry entry = {slice_of(id), ended_text(&job, texts), false};
        history_append(world.history, &entry, 1, ignore_done, &answers);
    }
    while (answers < JOBS)
        find_job(&world, "orders/299", &row); /* only to run the loop */
    await_jobs(50, 180);
    ck_assert_msg(find_job(&world, "orders/299", &row), "%s", last_why());
    ck_assert(!find_job(&world, "orders/0", &row));
    history_thread_state(world.thread, &state);
    ck_assert_int_ge(state.pruned, 120);
    ck_assert_int_eq(state.appended, JOBS);
    history_world_close(&world);
}
END_TEST

START_TEST(bodies_are_kept_as_the_option_says)
{
    static const enum history_bodies bodies[] = {HISTORY_BODIES_OFF, HISTORY_BODIES_ERRORS};
    const struct ended_job dead = {"dead", now_ms, now_ms - 10, "\"body\":1", ""};
    const struct ended_job good = {"delivered", now_ms, now_ms - 10,
                                   "\"bodyBase64\":\"\",\"needs\":[\"bodyBase64\"]", ""};
    struct history_row row;
    make_database(_i);
    for (size_t i = 0; i < 2; i++) {
        options.bodies = bodies[i];
        history_world_open(&world, &options);
        ck_assert_int_eq(append_job(&world, "orders/dead", &dead), STATUS_OK);
        ck_assert_int_eq(append_job(&world, "orders/good", &good), STATUS_OK);
        ck_assert(find_job(&world, "orders/good", &row));
        ck_assert(row.is_body_left_out);
        ck_assert(find_job(&world, "orders/dead", &row));
        ck_assert_int_eq(row.is_body_left_out, i == 0);
        history_world_close(&world);
    }
}
END_TEST

/* ---- several processes, versions ---- */

START_TEST(two_processes_share_a_database)
{
    struct history_world other;
    struct ended_job job = delivered(now_ms);
    struct history_row row;
    open_world(_i);
    history_world_open(&other, &options);
    if (_i == MONGO) { /* FerretDB 1.24 may fail for one of two clients that make the same collection */
        history_world_await(&world, true);
        history_world_await(&other, true);
    }
    for (int i = 0; i < 3; i++) {
        char id[32];
        snprintf(id, sizeof id, "orders/%d", i);
        ck_assert_msg(append_job(i % 2 ? &other : &world, id, &job) == STATUS_OK, "%s", last_why());
        ck_assert(find_job(&other, id, &row) && find_job(&world, id, &row));
    }
    history_world_close(&other);
    history_world_close(&world);
}
END_TEST

START_TEST(calls_under_way_end_with_the_history)
{
    struct ended_job job = delivered(now_ms);
    char text[ENDED_TEXT_SIZE];
    size_t answers = 0;
    const struct history_entry entry = {SLICE_INIT("orders/1"), ended_text(&job, text), false};
    open_world(_i);
    for (int i = 0; i < 100; i++)
        history_append(world.history, &entry, 1, ignore_done, &answers);
    history_world_close(&world);
    ck_assert_uint_eq(answers, 0);
}
END_TEST

/* ---- lines of the audit log ---- */

#define ID "00000000000000000000000"

static void expect_lines(struct trail_query query, const char *ids)
{
    char found[FOUND_SIZE];
    struct trail_query next;
    query.max = query.max ? query.max : 100;
    ck_assert_msg(list_lines(&world, &query, found, &next) == STATUS_OK, "%s", last_why());
    ck_assert_str_eq(found, ids);
}

START_TEST(lines_are_found_by_their_filters)
{
    static const char *const lines[] = {ID "1 1000 ops settings_changed orders {\"a\":1}",
                                        ID "2 2000 - settings_changed orders-* {\"text\":\"\\u0000\"}",
                                        ID "3 2000 ops job_run orders {\"a\":\"\xc3\xa9\"}",
                                        ID "4 3000 ops export - {}"};
    open_world(_i);
    ck_assert_msg(note_lines(&world, lines, 4) == STATUS_OK, "%s", last_why());
    ck_assert_int_eq(note_lines(&world, lines + 1, 2), STATUS_OK); /* a line that exists stays */
    expect_lines((struct trail_query){.max = 100}, "4 3 2 1");
    expect_lines((struct trail_query){.from_ms = 2000}, "4 3 2");
    expect_lines((struct trail_query){.to_ms = 2000}, "1");
    expect_lines((struct trail_query){.from_ms = 1001, .to_ms = 2001}, "3 2");
    expect_lines((struct trail_query){.who = SLICE("ops")}, "4 3 1");
    expect_lines((struct trail_query){.who = SLICE("-")}, "2");
    expect_lines((struct trail_query){.action = SLICE("settings_changed")}, "2 1");
    expect_lines((struct trail_query){.topic = SLICE("orders")}, "3 1");
    expect_lines((struct trail_query){.topic = SLICE("orders-*")}, "2");
    expect_lines((struct trail_query){.topic = SLICE("-")}, "");
    expect_lines(
        (struct trail_query){.topic = SLICE("orders"), .who = SLICE("ops"), .action = SLICE("job_run")}, "3");
    history_world_close(&world);
}
END_TEST

START_TEST(pages_have_each_line_once)
{
    static char rooms[APPEND_MAX][64];
    const char *lines[APPEND_MAX];
    for (size_t i = 0; i < APPEND_MAX; i++) { /* several lines have the same time */
        snprintf(rooms[i], sizeof rooms[i], "%024zx %zu ops job_run t {}", i + 1, 1000 + i / 5);
        lines[i] = rooms[i];
    }
    open_world(_i);
    ck_assert_int_eq(note_lines(&world, lines, APPEND_MAX), STATUS_OK);
    for (size_t max = 1; max < 40; max += 6) {
        struct trail_query query = {.max = max, .who = SLICE("ops")};
        size_t left = APPEND_MAX;
        while (query.max) {
            char found[FOUND_SIZE], *at = found;
            struct trail_query next;
            ck_assert_int_eq(list_lines(&world, &query, found, &next), STATUS_OK);
            for (char *id; (id = strsep(&at, " ")) && *id;)
                ck_assert_uint_eq(strtoul(id, NULL, 16), left--);
            query = next;
        }
        ck_assert_uint_eq(left, 0);
    }
    history_world_close(&world);
}
END_TEST

START_TEST(lines_that_duepost_did_not_write_hold_up_no_others)
{
    static const char *const lines[] = {"nonsense",
                                        ID "1 1000 ops job_run t {}",
                                        ID "2 x ops job_run t {}",
                                        ID "3 1000 ops job_run t {\"a\":\"\xff\"}",
                                        "4 1000 ops job_run t {}",
                                        ID "5 1000 ops job_run t 1"};
    open_world(_i);
    ck_assert_int_eq(note_lines(&world, lines, 6), STATUS_OK);
    expect_lines((struct trail_query){.max = 100}, "1");
    history_world_close(&world);
}
END_TEST

START_TEST(old_lines_go)
{
    char old[128], young[128], found[FOUND_SIZE];
    struct trail_query next;
    const char *const lines[] = {old, young};
    snprintf(old, sizeof old, ID "1 %lld ops job_run t {}", (long long)now_ms - 120000);
    snprintf(young, sizeof young, ID "2 %lld ops job_run t {}", (long long)now_ms);
    make_database(_i);
    options.max_age_ms = 60000;
    history_world_open(&world, &options);
    ck_assert_int_eq(note_lines(&world, lines, 2), STATUS_OK);
    expect_lines((struct trail_query){.max = 100}, "2 1");
    for (int64_t until_us = clock_steady_us() + 20000000; clock_steady_us() < until_us;) {
        history_prune(world.history, now_ms);
        ck_assert_int_eq(list_lines(&world, &(struct trail_query){.max = 100}, found, &next), STATUS_OK);
        if (strcmp(found, "2") == 0)
            break;
        usleep(10000);
    }
    ck_assert_str_eq(found, "2");
    history_world_close(&world);
}
END_TEST

START_TEST(a_database_of_an_earlier_version_gets_the_table)
{
    static const char *const lines[] = {ID "1 1000 ops job_run t {}"};
    struct ended_job job = delivered(now_ms);
    struct history_row row;
    open_world(_i);
    ck_assert_int_eq(append_job(&world, "orders/1", &job), STATUS_OK);
    history_world_close(&world);
    if (_i == SQLITE) {
        sqlite3 *db;
        ck_assert_int_eq(sqlite3_open(path, &db), SQLITE_OK);
        ck_assert_int_eq(
            sqlite3_exec(db, "DROP TABLE duepost_audit; DELETE FROM duepost_meta WHERE name = 'audit'", NULL,
                         NULL, NULL),
            SQLITE_OK);
        sqlite3_close(db);
    } else {
        char name[32];
        snprintf(name, sizeof name, "test_%d", (int)getpid());
        postgres_server_run(server, name, "DROP TABLE duepost_audit");
        postgres_server_run(server, name, "DELETE FROM duepost_meta WHERE name = 'audit'");
    }
    history_world_open(&world, &options);
    ck_assert_msg(note_lines(&world, lines, 1) == STATUS_OK, "%s", last_why());
    expect_lines((struct trail_query){.max = 100}, "1");
    ck_assert(find_job(&world, "orders/1", &row));
    history_world_close(&world);
}
END_TEST

Suite *suite(void)
{
    Suite *made = suite_create("history database");
    TCase *all = tcase_create("all");
    const int kinds = mongo_server_is_there() ? KINDS : MONGO;
    tcase_add_unchecked_fixture(all, start_server, stop_server);
    tcase_add_checked_fixture(all, make_place, remove_place);
    tcase_set_timeout(all, 60);
    tcase_add_loop_test(all, a_job_that_is_appended_is_found_as_it_was, 0, kinds);
    tcase_add_loop_test(all, of_two_ends_of_a_job_the_later_one_stays, 0, kinds);
    tcase_add_loop_test(all, the_last_job_of_an_id_is_found, 0, kinds);
    tcase_add_loop_test(all, texts_that_duepost_did_not_write_hold_up_no_others, 0, kinds);
    tcase_add_loop_test(all, lists_keep_to_their_filters, 0, kinds);
    tcase_add_loop_test(all, too_many_words_are_refused, 0, kinds);
    tcase_add_loop_test(all, pages_have_each_job_once, 0, kinds);
    tcase_add_loop_test(all, steps_are_counted_by_outcome, 0, kinds);
    tcase_add_loop_test(all, jobs_of_a_topic_are_deleted_up_to_a_time, 0, kinds);
    tcase_add_loop_test(all, old_jobs_go, 0, kinds);
    tcase_add_loop_test(all, the_oldest_jobs_go_beyond_the_maximum_size, 0, kinds);
    tcase_add_loop_test(all, bodies_are_kept_as_the_option_says, 0, kinds);
    tcase_add_loop_test(all, two_processes_share_a_database, 0, kinds);
    tcase_add_loop_test(all, calls_under_way_end_with_the_history, 0, kinds);
    tcase_add_loop_test(all, lines_are_found_by_their_filters, 0, kinds);
    tcase_add_loop_test(all, pages_have_each_line_once, 0, kinds);
    tcase_add_loop_test(all, lines_that_duepost_did_not_write_hold_up_no_others, 0, kinds);
    tcase_add_loop_test(all, old_lines_go, 0, kinds);
    tcase_add_loop_test(all, a_database_of_an_earlier_version_gets_the_table, 0, MONGO);
    suite_add_tcase(made, all);
    return made;
}
