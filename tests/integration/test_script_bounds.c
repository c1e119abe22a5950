/* Tests scripts at their limits: a Redis that does not have the scripts or is out of memory, pages of long
 * lists, large records, and 100,000 jobs that are due at once. */
#include <stdio.h>

#include "base/memory.h"
#include "base/system.h"
#include "support/keyspace.h"
#include "support/redis_server.h"
#include "support/script_runner.h"
#include "support/suite.h"

#define NOW_MS INT64_C(1700000000123)
#define NOW_US (NOW_MS * 1000 + 456)
#define KEY    KEYSPACE_PREFIX

static struct redis_server *server;
static redisContext *redis;

static void start(void)
{
    server = redis_server_start();
    redis_server_set_time(server, NOW_US);
}

static void stop(void)
{
    redis_server_stop(server);
    server = NULL;
}

static void set_up(void)
{
    redis = redis_server_connect(server);
    redis_do(redis, "FLUSHALL");
    scripts_load(redis);
}

static void tear_down(void)
{
    redis_do(redis, "CONFIG SET maxmemory 0");
    redisFree(redis);
}

/* Runs a call of a script. Its answer must begin with this text. */
static void check_answer(const char *call, const char *beginning)
{
    struct buffer answer;
    buffer_init(&answer, 8 * 1024 * 1024);
    redisReply *reply = script_run_text(redis, call, NOW_MS);
    script_answer_text(&answer, reply, NOW_US);
    ck_assert_msg(strncmp(buffer_text(&answer), beginning, strlen(beginning)) == 0, "%s answered %.200s",
                  call, buffer_text(&answer));
    freeReplyObject(reply);
    buffer_fini(&answer);
}

static void check_keyspace(const char *expected)
{
    struct buffer text;
    buffer_init(&text, 1024 * 1024);
    keyspace_dump(redis, &text, NOW_MS);
    ck_assert_str_eq(buffer_text(&text), expected);
    buffer_fini(&text);
}

/* ---- out of memory ---- */

#define HALFWAY                                                                                              \
    "bucket:t: t/a@now-1000\n"                                                                               \
    "dead: t/c@now-5000\n"                                                                                   \
    "dead:t: t/c@now-5000\n"                                                                                 \
    "dead_due: t@inf\n"                                                                                      \
    "holders:t: t/b=n1,now-1000\n"                                                                           \
    "holders:u: u/a=n1,now-1000 u/b=n1,now-1000\n"                                                           \
    "jobs: t/a={r} t/b={r} u/a={r} u/b={r}\n"                                                                \
    "kept: t/c=dead,now-5000,0,3,{r}\n"                                                                      \
    "leases: t/b@now-1 u/a@now u/b@now\n"                                                                    \
    "turns: t@1\n"

START_TEST(a_full_redis_refuses_new_jobs_whole_and_lets_the_others_go_on)
{
    keyspace_load(redis, HALFWAY, NOW_MS);
    redis_do(redis, "CONFIG SET maxmemory 1");
    check_answer("schedule 0 t/d 0 \"x\"} t/e 0 \"y\"}", "OOM");
    check_answer("schedule 0 t/a 0 \"x\"}", "OOM");
    check_answer("replace 0 t/a 0 \"x\"} ''", "OOM");
    check_answer("change t/a * - {n}", "OOM");
    check_keyspace(HALFWAY);

    check_answer("read t/a", "(ready now-1000 {r} 0 '')");
    check_answer("list dead '' 10 '' '' 100 1000 -inf +inf '' jobs 0 '' '' '' ''", "'' '' 1 t/c now-5000");
    check_answer("audit 9", "4 1 3 1 1 1 0 1 0 now-1000 0 0 0 0");
    check_answer("survey '' 9 0 -1", "turns/-inf/ 0 -1");
    check_answer("carry me 1 256 '' 0 5000 250", "me 1 -1 0 0 ts");
    check_answer("forget 9 9", "0 0");
    check_answer("send 0 9 t/s 0 - m g 1 a x", "OOM");
    check_answer("unsend t/s g", "-1");
    check_answer("claim 1 n5 5000 2 1000 0", "0 0 1 t/a now-1000 {r}");
    check_answer("abandon n5 9 -9000 9000", "1");
    check_answer("claim 1 n5 5000 2 1000 0", "0 0 1 t/a now-1000 {r}");
    check_answer("recover consumers 5000 now 1 1 !r", "1 0");
    check_answer("renew t/a n5 5000 ''", "now+5000");
    check_answer("retry t/a n5 5000 {longer} line", "1");
    check_answer("release u/a n1 -1 now - 0", "1");
    check_answer("bury u/b n1 {d} ''", "1");
    check_answer("run 0 t/c 0 '' {r} {f}", "now");
    check_answer("complete t/b n1 ''", "1");
    check_answer("mend jobs 0", "0");
    check_answer("attempts t/a", "line\n");
    check_answer("sweep 10 0 0", "0 0 0 0 -1");
    check_answer("open 1 1 1", "1 1 now");
    check_answer("cancel t/a ''", "0");
    check_answer("report 30000 h:80 0 1 503 0 0 0 -", "(0 0 1 1 0 0 0 0 0 0 now 503 now)");
    check_answer("receivers h:80 0 1", "1 0 h:80 1 0 0");
    check_keyspace("bucket:t: t/c@now\n"
                   "bucket:u: u/a@now-1000\n"
                   "carry: at=now beat=1 owner=me\n"
                   "dead: u/b@now\n"
                   "dead:u: u/b@now\n"
                   "dead_due: u@inf\n"
                   "jobs: t/c={f} u/a={r}\n"
                   "kept: u/b=dead,now,0,3,{d}\n"
                   "meta: born=now format=1 shards=1\n"
                   "ready: t\n"
                   "receivers: h:80=1,0,0,0,0,0,0,now,503,now version=1\n"
                   "reported: h:80@1\n"
                   "turns: t@1 u@2\n");
}
END_TEST

/* ---- large records ---- */

enum { LARGE = 1024 * 1024 };

static void store_large(const char *id, char *record)
{
    redis_do(redis, "HSET " KEY "jobs %s %b", id, record, (size_t)LARGE);
    redis_do(redis, "ZADD " KEY "bucket:t 1 %s", id);
}

START_TEST(answers_stay_below_a_few_mib_and_say_what_to_ask_for_again)
{
    static const char *const read[] = {"read", "t/0", "t/1", "t/2", "t/3", "t/4", "t/no", "t/5"};
    static const char *const schedule[] = {"schedule", "0",      "86400000", "t/0", "0", "x}", "-", "t/1",
                                           "0",        "x}",     "-",        "t/2", "0", "x}", "-", "t/3",
                                           "0",        "x}",     "-",        "t/4", "0", "x}", "-", "t/6",
                                           "5",        "\"x\"}", "-",        "t/5", "0", "x}", "-"};
    char *record = memory_new(LARGE);
    memset(record, 'r', LARGE);
    for (size_t i = 1; i <= 5; i++)
        store_large(read[i], record);
    store_large("t/5", record);

    redisReply *reply = script_run(redis, 8, read);
    ck_assert_uint_eq(reply->elements, 8);
    for (size_t i = 1; i <= 4; i++)
        ck_assert_uint_eq(reply->element[i]->element[2]->len, LARGE);
    ck_assert_int_eq(reply->element[5]->integer, -2);
    ck_assert_int_eq(reply->element[6]->type, REDIS_REPLY_ARRAY);
    ck_assert_uint_eq(reply->element[6]->elements, 0);
    ck_assert_int_eq(reply->element[7]->integer, -2);
    freeReplyObject(reply);

    reply = script_run(redis, sizeof schedule / sizeof *schedule, schedule);
    ck_assert_uint_eq(reply->elements, 8);
    for (size_t i = 1; i <= 4; i++)
        ck_assert_uint_eq(reply->element[i]->element[2]->len, LARGE);
    ck_assert_int_eq(reply->element[5]->integer, -2);
    ck_assert_int_eq(reply->element[6]->integer, NOW_MS + 6);
    ck_assert_int_eq(reply->element[7]->integer, -2);
    freeReplyObject(reply);
    free(record);
}
END_TEST

enum { READ_AT_ONCE = 4 }; /* number of records of 1 MiB that one call reads */

static void store_large_ones(const char *beginning, int count)
{
    char *record = memory_new(LARGE);
    memset(record, 'r', LARGE);
    memcpy(record, beginning, strlen(beginning));
    for (int i = 0; i < count; i++) {
        char id[16];
        snprintf(id, sizeof id, "t/%d", i);
        store_large(id, record);
    }
    free(record);
}

/* Returns how often Redis has run a command since the last CONFIG RESETSTAT. */
static long calls_of(const char *command)
{
    char field[64];
    redisReply *reply = redis_command(redis, "INFO commandstats");
    snprintf(field, sizeof field, "cmdstat_%s:calls=", command);
    const char *found = strstr(reply->str, field);
    long calls = found ? strtol(found + strlen(field), NULL, 10) : 0;
    freeReplyObject(reply);
    return calls;
}

/* Makes the job with this id dead. Its record moves from the key jobs to the key kept. */
static void let_die(const char *id)
{
    struct buffer text;
    redisReply *record = redis_command(redis, "HGET " KEY "jobs %s", id);
    buffer_init(&text, LARGE + 100);
    buffer_printf(&text, "dead 1 0 %zu ", record->len);
    buffer_append(&text, slice_from(record->str, record->len));
    redis_do(redis, "HSET " KEY "kept %s %b", id, text.data, text.size);
    buffer_fini(&text);
    redis_do(redis, "ZADD " KEY "dead 1 %s", id);
    redis_do(redis, "ZADD " KEY "dead:t 1 %s", id);
    redis_do(redis, "HDEL " KEY "jobs %s", id);
    redis_do(redis, "ZREM " KEY "bucket:t %s", id);
    freeReplyObject(record);
}

/* A page of any kind ends after a few MiB of records, even if no job matches. The next page continues after
 * these records.
 */
static void check_large_pages(const char *state, const char *topic)
{
    static const char *const tell[] = {"jobs", "seen", "count"}, *const hosts[] = {"h", "other", ""};
    for (size_t i = 0; i < 9; i++) {
        const char *host = hosts[i / 3];
        if (!host[0] && strcmp(tell[i % 3], "count") == 0)
            continue; /* a count without a host reads no records */
        const char *words[] = {"list", state, topic,       "100", "", "", "10000", "4194304", "-inf",
                               "+inf", host,  tell[i % 3], "0",   "", "", "",      ""};
        redisReply *page = script_run(redis, 17, words);
        ck_assert_str_eq(page->element[2]->str, "t/3");
        ck_assert_int_eq(page->element[3]->integer, strcmp(host, "other") == 0 ? 0 : READ_AT_ONCE);
        freeReplyObject(page);
        words[4] = "1";
        words[5] = "t/3";
        page = script_run(redis, 17, words);
        ck_assert_str_eq(page->element[2]->str, "");
        ck_assert_int_eq(page->element[3]->integer, strcmp(host, "other") == 0 ? 0 : 2);
        freeReplyObject(page);
    }
}

START_TEST(a_list_reads_a_few_mib_of_records_at_a_time)
{
    store_large_ones("{\"createdAt\":1,\"head\":\"1 0 0 0 - 19 \",\"url\":\"http://h/\",", 6);
    check_large_pages("ready", "t");
    for (int i = 0; i < 6; i++) {
        char id[16];
        snprintf(id, sizeof id, "t/%d", i);
        let_die(id);
    }
    check_large_pages("dead", "");
    check_large_pages("dead", "t");
}
END_TEST

/* The script run reads a record only if the job is dead and the call contains a record to compare it with. */
START_TEST(run_reads_no_record_for_which_it_has_no_use)
{
    store_large_ones("", 3);
    redis_do(redis, "ZADD " KEY "leases 1 t/1");
    redis_do(redis, "HSET " KEY "holders:t t/1 %s", "n1 1");
    redis_do(redis, "ZREM " KEY "bucket:t t/1");
    let_die("t/0");
    redis_do(redis, "CONFIG RESETSTAT");
    check_answer("run 0 t/0 0 '' '' '' t/1 0 '' '' '' t/2 0 '' '' '' t/3 0 '' '' ''", "-9 -3 1 -1");
    ck_assert_int_eq(calls_of("hget"), 1); /* each call reads the format of the data, see check.lua */
    check_answer("run 0 t/0 0 '' {x} {f}", "-9");
    ck_assert_int_eq(calls_of("hget"), 3);
    redis_do(redis, "HSET " KEY "jobs t/0 {r}");
    let_die("t/0");
    check_answer("run 0 t/0 0 '' {r} {f}", "now");
}
END_TEST

/* Makes the active workflows t/w1 to t/w6, each with 1,000 waiting jobs, and turns the history on. The first
 * job of each workflow is leased. */
static void make_large_workflows(void)
{
    static const char script[] =
        "for w = 1, 6 do local place = 't/w' .. w .. '/' .. ARGV[2] "
        "for j = 1, 1000 do local id = 't/w' .. w .. '-' .. j "
        "redis.call('HSET', ARGV[1] .. 'jobs', id, '{r}') "
        "redis.call('HSET', ARGV[1] .. 'workflow_jobs', id, 's 1 3 ' .. place) "
        "redis.call('HSET', ARGV[1] .. 'open:' .. place, id, '') "
        "if j > 1 then redis.call('ZADD', ARGV[1] .. 'bucket:t', 1, id) end end "
        "redis.call('ZADD', ARGV[1] .. 'leases', ARGV[3], 't/w' .. w .. '-1') "
        "redis.call('HSET', ARGV[1] .. 'holders:t', 't/w' .. w .. '-1', 'n1 1') "
        "redis.call('HSET', ARGV[1] .. 'workflows', 't/w' .. w, ARGV[2]) "
        "redis.call('HSET', ARGV[1] .. 'workflow:' .. place, 'state', 'active', 'createdAt', ARGV[2]) end "
        "redis.call('HSET', ARGV[1] .. 'history', 'backlog', 1000000000, 'bodies', 'on')";
    redis_do(redis, "FLUSHALL");
    redis_do(redis, "EVAL %s 0 %s %lld %lld", script, KEY, (long long)NOW_MS - 9, (long long)NOW_MS + 9);
}

static int64_t number(const char *command)
{
    redisReply *reply = redis_command(redis, command);
    int64_t result = reply->integer;
    freeReplyObject(reply);
    return result;
}

#define BEGIN(n) " {s} '' '' '' 1 '' 0 0 s t/new" n " 0 \"r\"} e '' ''"
#define EACH(before, after)                                                                                  \
    before "1" after " " before "2" after " " before "3" after " " before "4" after " " before "5" after     \
           " " before "6" after

/* One call of these scripts ends two workflows with 1,000 jobs each, and then no other one. */
START_TEST(ends_of_workflows_end_a_bounded_number_of_jobs)
{
    static const struct {
        const char *call, *answer;
        int64_t jobs, ended;
    } calls[] = {
        {"conclude " EACH("t/w", " cancelled '' ''"), "now-9 now-9 -2 -2 -2 -2", 4000, 2000},
        {"bury " EACH("t/w", "-1 n1 {d} ''"), "1 1 -2 -2 -2 -2", 4000, 2000},
        {"begin 0 t/w1" BEGIN("1") " t/w2" BEGIN("2") " t/w3" BEGIN("3"), "(1 now-9) (1 now-9) -2", 4002,
         2000},
    };
    make_large_workflows();
    check_answer(calls[_i].call, calls[_i].answer);
    ck_assert_int_eq(number("HLEN " KEY "jobs"), calls[_i].jobs);
    ck_assert_int_eq(number("HLEN " KEY "ended"), calls[_i].ended);
    ck_assert_int_eq(number("LLEN " KEY "ended_ids"), calls[_i].ended);
}
END_TEST

START_TEST(a_workflow_waits_only_while_it_may_have_more_elements)
{
    static const char script[] =
        "for _ = 1, 9999 do redis.call('RPUSH', ARGV[1] .. 'elements:t/w/' .. ARGV[2], 'se') end "
        "redis.call('HSET', ARGV[1] .. 'workflows', 't/w', ARGV[2]) "
        "redis.call('HSET', ARGV[1] .. 'workflow:t/w/' .. ARGV[2], 'state', 'active', 'createdAt', ARGV[2])";
    redis_do(redis, "EVAL %s 0 %s %lld", script, KEY, (long long)NOW_MS - 9);
    check_answer("wait 0 t/w e x t/a 9 r e '' t/a r e ''", "1");
    check_answer("append 0 t/w 1 s t/b 0 r e '' ''", "now-9");
    check_answer("append 0 t/w 1 s t/c 0 r e '' ''", "-7");
    check_answer("wait 0 t/w e x t/c 9 r e '' t/c r e ''", "-7");
}
END_TEST

/* The topic keeps ended jobs, so each end of a job moves its record. With records of 1 MiB, one call ends
 * four of five jobs. */
START_TEST(ends_move_a_few_mib_at_a_time)
{
    static const char *const complete[] = {"complete", "t/1", "n1",  "",   "t/2", "n1",  "",   "t/3",
                                           "n1",       "",    "t/4", "n1", "",    "t/5", "n1", ""};
    static const char *const cancel[] = {"cancel", "t/1", "", "t/2", "", "t/3", "", "t/4", "", "t/5", ""};
    static const struct {
        const char *const *words;
        size_t count;
    } calls[] = {{complete, 16}, {cancel, 11}};
    char *record = memory_new(LARGE);
    memset(record, 'r', LARGE);
    for (size_t call = 0; call < 2; call++) {
        redis_do(redis, "FLUSHALL");
        redis_do(redis, "HSET " KEY "topics t {\"retention\":10}");
        for (int i = 1; i <= 5; i++) {
            char id[16];
            snprintf(id, sizeof id, "t/%d", i);
            store_large(id, record);
            if (calls[call].words == complete)
                redis_do(redis, "HSET " KEY "crashes %s %s", id, "1 n1");
        }
        redisReply *reply = script_run(redis, calls[call].count, calls[call].words);
        for (size_t i = 1; i <= 4; i++)
            ck_assert_int_ne(reply->element[i]->integer, -2);
        ck_assert_int_eq(reply->element[5]->integer, -2);
        freeReplyObject(reply);
        reply = redis_command(redis, "HLEN " KEY "kept");
        ck_assert_int_eq(reply->integer, 4);
        freeReplyObject(reply);
        reply = script_run(redis, calls[call].count, calls[call].words);
        ck_assert_int_ne(reply->element[5]->integer, -2);
        freeReplyObject(reply);
    }
    free(record);
}
END_TEST

/* ---- pages ---- */

enum { LISTED = 2000, PAGE = 7, CHANGED_A_PAGE = 10 };

/* Adds a dead job. While the test reads page after page, jobs with even numbers stay, and the others are
 * added and removed. Forty jobs have the same time. */
static void put_dead(int number)
{
    redis_do(redis, "ZADD " KEY "dead:t %d t/%d", 1000 + number / 40, number);
    redis_do(redis, "HSET " KEY "kept t/%d %s", number, "dead 1 0 2 {}");
}

static void change_others(uint64_t *chance)
{
    for (int i = 0; i < CHANGED_A_PAGE; i++) {
        *chance = *chance * UINT64_C(6364136223846793005) + 1442695040888963407u;
        int number = (int)(*chance >> 33) % LISTED | 1;
        if (*chance & UINT64_C(1) << 40) {
            put_dead(number);
        } else {
            redis_do(redis, "ZREM " KEY "dead:t t/%d", number);
            redis_do(redis, "HDEL " KEY "kept t/%d", number);
        }
    }
}

START_TEST(pages_show_each_job_that_stays_exactly_once)
{
    int seen[LISTED + 2] = {0}, pages = 0;
    uint64_t chance = 1;
    char score[40] = "", last[40] = "";
    for (int i = 0; i < LISTED; i++)
        put_dead(i);
    do {
        const char *const words[] = {"list", "dead", "t",    "7", score, last, "10000", "1000000", "-inf",
                                     "+inf", "",     "jobs", "0", "",    "",   "",      ""};
        redisReply *page = script_run(redis, 17, words);
        ck_assert_uint_le((page->elements - 4) / 7, PAGE);
        for (size_t i = 4; i < page->elements; i += 7)
            seen[atoi(page->element[i]->str + 2)]++;
        snprintf(score, sizeof score, "%s", page->element[1]->str);
        snprintf(last, sizeof last, "%s", page->element[2]->str);
        freeReplyObject(page);
        change_others(&chance);
        ck_assert_int_lt(pages++, LISTED);
    } while (last[0]);
    for (int i = 0; i < LISTED; i++) {
        ck_assert_msg(i % 2 || seen[i] == 1, "t/%d was shown %d times", i, seen[i]);
        ck_assert_int_le(seen[i], 1);
    }
}
END_TEST

/* Renewals would move leases between pages that are sorted by deadline. So leases are found in steps, and
 * returned in the order of their ids. */
START_TEST(leased_finds_each_lease_that_stays)
{
    enum { LEASED = 3000, STEP = 700 };
    int seen[LEASED] = {0}, steps = 0;
    char at[32] = "0";
    redis_do(redis, "FLUSHALL");
    for (int i = 0; i < LEASED; i++)
        redis_do(redis, "ZADD " KEY "leases %d t/%d", i, i);
    redis_do(redis, "ZADD " KEY "leases 1 u/1");
    do {
        const char *const words[] = {"leased", "t", "t/1", at, "700"};
        redisReply *reply = script_run(redis, 5, words);
        ck_assert_uint_le(reply->elements, 2 + 2 * STEP);
        for (size_t i = 2; i < reply->elements; i++)
            seen[atoi(reply->element[i]->str + 2)]++;
        snprintf(at, sizeof at, "%s", reply->element[1]->str);
        freeReplyObject(reply);
        for (int i = steps++; i < LEASED; i += 3)
            redis_do(redis, "ZADD " KEY "leases %d t/%d", LEASED + steps, i);
    } while (strcmp(at, "0") != 0);
    ck_assert_int_ge(steps, 3);
    for (int i = 0; i < LEASED; i++)
        ck_assert_msg((seen[i] > 0) == (i > 1), "t/%d was found %d times", i,
                      seen[i]); /* only jobs whose ids come after t/1 */
}
END_TEST

/* ---- many topics ---- */

enum { TOPICS = 600, TOPIC_PARTS = 23, FIRST_TOPIC = 2 };

/* Writes the name of the topic with this number. Many names have the same beginning, and some names are the
 * beginning of others. */
static void name_topic(int number, char name[64])
{
    snprintf(name, 64, "a-name-that-begins-as-%s-do%.*d", number % 2 ? "all-others" : "others",
             1 + number % 7, number);
}

START_TEST(pages_of_topics_are_in_order_and_whole)
{
    char name[64], last[64] = "";
    int seen = 0;
    for (int i = 0; i < TOPICS; i++) {
        name_topic(i, name);
        const char *const words[] = {"settings", name, "", "{}"};
        freeReplyObject(script_run(redis, 4, words));
    }
    for (bool has_more = true; has_more;) {
        const char *const words[] = {"topics", "", last, "7"};
        redisReply *page = script_run(redis, 4, words);
        has_more = page->element[1]->integer == 1;
        ck_assert_uint_le(page->elements, FIRST_TOPIC + PAGE * TOPIC_PARTS);
        for (size_t i = FIRST_TOPIC; i < page->elements; i += TOPIC_PARTS, seen++) {
            ck_assert_int_gt(strcmp(page->element[i]->str, last), 0);
            snprintf(last, sizeof last, "%s", page->element[i]->str);
        }
        freeReplyObject(page);
    }
    ck_assert_int_eq(seen, TOPICS);
}
END_TEST

/* Settings of topics may be long. */
START_TEST(a_page_of_topics_tells_a_few_mib_of_settings)
{
    enum {
        SETTINGS_BYTES = 512 * 1024,
        LONG = 8
    }; /* each text is returned twice: as the topic's own settings, and as the settings that are completed by
          patterns */
    char *settings = memory_new(SETTINGS_BYTES + 1);
    memset(settings, ' ', SETTINGS_BYTES);
    memcpy(settings, "{}", 2);
    for (int i = 0; i < LONG; i++) {
        char name[16];
        snprintf(name, sizeof name, "t%d", i);
        const char *const words[] = {"settings", name, "", settings};
        freeReplyObject(script_run(redis, 4, words));
    }
    const char *const words[] = {"topics", "", "", "100"};
    redisReply *page = script_run(redis, 4, words);
    ck_assert_int_eq(page->element[1]->integer, 1);
    ck_assert_uint_ge(page->elements, FIRST_TOPIC + 3 * TOPIC_PARTS);
    ck_assert_uint_le(page->elements, FIRST_TOPIC + 4 * TOPIC_PARTS);
    freeReplyObject(page);
    free(settings);
}
END_TEST

/* With large records, mend needs several steps, and reads each job once. A step reads whole buckets of
 * Redis's hash table, and ends after the bucket that fills the step's limit. In Valkey 8.1, a bucket holds
 * seven records and more. */
START_TEST(mend_reads_a_few_mib_of_records_in_a_step)
{
    enum { BYTES = 1024 * 1024, NUMBER = 48, STEP_MAX = 16 };
    char *record = memory_new(BYTES + 1), cursor[32] = "0";
    size_t steps = 0, lost = 0;
    memset(record, 'x', BYTES);
    for (int i = 0; i < NUMBER; i++)
        redis_do(redis, "HSET " KEY "jobs t/%d %s", i, record);
    do {
        const char *const words[] = {"mend", "jobs", cursor};
        redisReply *reply = script_run(redis, 3, words);
        snprintf(cursor, sizeof cursor, "%s", reply->element[1]->str);
        lost += reply->elements - 2;
        freeReplyObject(reply);
        ck_assert_uint_le(++steps, NUMBER);
    } while (strcmp(cursor, "0") != 0);
    ck_assert_uint_ge(steps, NUMBER / STEP_MAX);
    ck_assert_uint_eq(lost, NUMBER);
    free(record);
}
END_TEST

/* Runs mend until the end of a walk. Returns the number of repairs. */
static size_t mend_all(const char *walk)
{
    enum { STEP_MAX = 100 };
    char cursor[32] = "0";
    size_t repairs = 0, steps = 0;
    do {
        const char *const words[] = {"mend", walk, cursor};
        redisReply *reply = script_run(redis, 3, words);
        snprintf(cursor, sizeof cursor, "%s", reply->element[1]->str);
        ck_assert_uint_le(reply->elements, 2 + STEP_MAX);
        repairs += reply->elements - 2;
        freeReplyObject(reply);
        ck_assert_uint_le(++steps, 1000);
    } while (strcmp(cursor, "0") != 0);
    return repairs;
}

/* In one step, the holders of a topic whose workers have many leases would keep Redis busy for a second. As
 * soon as the topic has fewer jobs in flight than its limit, it moves from due to turns. */
START_TEST(mend_visits_a_bounded_number_of_holders_in_a_step)
{
    redis_do(redis, "ZADD " KEY "due inf t");
    redis_do(redis, "ZADD " KEY "bucket:t 1 t/a");
    redis_do(redis, "HSET " KEY "jobs t/a {}");
    redis_do(redis, "EVAL %s 1 " KEY "holders:t",
             "for i = 1, 3000 do redis.call('HSET', KEYS[1], 't/' .. i, 'n') end");
    size_t in_due = mend_all("due");
    ck_assert_uint_gt(in_due, 1000);
    ck_assert_uint_eq(in_due + mend_all("turns"), 3000);
}
END_TEST

/* ---- many dead jobs ---- */

static void bury_many(int from, int to)
{
    static const char fill[] =
        "for i = ARGV[1], ARGV[2] do local id = 't/dead-' .. i redis.call('HSET', KEYS[1] .. 'kept', id, "
        "'dead 1 0 3 {r}') "
        "redis.call('ZADD', KEYS[1] .. 'dead', i, id) redis.call('ZADD', KEYS[1] .. 'dead:t', i, id) end";
    redis_do(redis, "EVAL %s 1 " KEY " %d %d", fill, from, to - 1);
}

/* Runs a script, and appends the commands that it runs, with their arguments, as MONITOR shows them. */
static void note_commands(size_t count, const char *const *words, struct buffer *commands)
{
    redisContext *monitor = redis_server_connect(server);
    redisReply *reply;
    redis_do(monitor, "MONITOR");
    freeReplyObject(script_run(redis, count, words));
    redis_do(redis, "ECHO end");
    do {
        ck_assert_int_eq(redisGetReply(monitor, (void **)&reply), REDIS_OK);
        const char *words_of_lua = strstr(reply->str, " lua] ");
        bool is_end = strstr(reply->str, "\"ECHO\"") != NULL;
        buffer_append(commands, slice_of(words_of_lua ? words_of_lua : ""));
        freeReplyObject(reply);
        if (is_end)
            break;
    } while (true);
    redisFree(monitor);
}

/* The scripts behind GET /topics/t and GET /jobs/t/a/why count the dead jobs of the topic, and read none. */
START_TEST(a_topic_and_why_run_the_same_commands_for_any_number_of_dead_jobs)
{
    const char *const scripts[][4] = {{"topics", "t", "", "1"}, {"read", "t/a"}};
    static const size_t counts[] = {4, 2};
    check_answer("schedule 0 86400000 t/a 60000 \"x\":1} -", "now+60001");
    for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++) {
        struct buffer few, many;
        buffer_init(&few, 1024 * 1024);
        buffer_init(&many, 1024 * 1024);
        bury_many(0, 3);
        note_commands(counts[i], scripts[i], &few);
        bury_many(3, 3000);
        note_commands(counts[i], scripts[i], &many);
        ck_assert_uint_gt(few.size, 0);
        ck_assert_str_eq(buffer_text(&few), buffer_text(&many));
        ck_assert_msg(!strstr(buffer_text(&many), "\"-1\""), "a whole range is read: %s", buffer_text(&many));
        redis_do(redis, "DEL " KEY "dead " KEY "dead:t " KEY "kept");
        buffer_fini(&few);
        buffer_fini(&many);
    }
}
END_TEST

/* ---- more receivers than are kept ---- */

enum { RECEIVERS = 10100, KEPT = 10000, REPORTED_AT_ONCE = 100, REPORT_WORDS = 8 };

static void report_failures(int from)
{
    static char names[REPORTED_AT_ONCE][32];
    const char *words[2 + REPORTED_AT_ONCE * REPORT_WORDS] = {"report", "30000"};
    size_t used = 2;
    for (int i = 0; i < REPORTED_AT_ONCE; i++) {
        snprintf(names[i], sizeof names[i], "h%d:80", from + i);
        const char *const item[REPORT_WORDS] = {names[i], "0", "20", "connect", "0", "0", "0", "-"};
        memcpy(words + used, item, sizeof item);
        used += REPORT_WORDS;
    }
    redisReply *reply = script_run(redis, used, words);
    ck_assert_uint_eq(reply->elements, 1 + REPORTED_AT_ONCE);
    freeReplyObject(reply);
}

START_TEST(of_too_many_receivers_those_are_forgotten_that_were_reported_first)
{
    for (int i = 0; i < RECEIVERS; i += REPORTED_AT_ONCE)
        report_failures(i);
    redisReply *count = redis_command(redis, "ZCARD " KEY "reported");
    ck_assert_int_eq(count->integer, KEPT);
    freeReplyObject(count);
    count = redis_command(redis, "HLEN " KEY "receivers");
    ck_assert_int_eq(count->integer, KEPT + 1); /* the hash also has the field "version" */
    freeReplyObject(count);
    check_answer("receivers h99:80 0 1", "10100 0");
    check_answer("receivers h100:80 0 1", "10100 0 h100:80");
    check_answer("receivers '' 0 1", "10100 101 h100:80");
    check_answer("receivers '' 10099 1000", "10100 10100 h10099:80");
}
END_TEST

/* ---- 100,000 jobs due at one instant ---- */

enum { CROWD = 100 * 1000, OTHERS = 100, AT_ONCE = 128 };

/* The longest time of a call of each script, from its sending to its reply. */
static int64_t longest_us[SCRIPT_COUNT];

static redisReply *run_timed(enum script_id script, size_t count, const char *const *words)
{
    int64_t before_us = clock_boot_us();
    redisReply *reply = script_run(redis, count, words);
    int64_t us = clock_boot_us() - before_us;
    ck_assert_str_eq(words[0], script_texts[script].name);
    if (us > longest_us[script])
        longest_us[script] = us;
    return reply;
}

static void print_longest(void)
{
    printf("longest calls, us:");
    for (size_t i = 0; i < SCRIPT_COUNT; i++)
        if (longest_us[i] > 0)
            printf(" %s %lld", script_texts[i].name, (long long)longest_us[i]);
    printf("\n");
}

static void schedule_many(const char *topic, int count)
{
    enum { BATCH = 256, WORDS = 4 };
    static char ids[BATCH][32];
    for (int done = 0; done < count;) {
        const char *words[3 + BATCH * WORDS] = {"schedule", "0", "86400000"};
        size_t used = 3;
        for (int i = 0; i < BATCH && done < count; i++, done++) {
            snprintf(ids[i], sizeof ids[i], "%s/%d", topic, done);
            words[used++] = ids[i];
            words[used++] = "60000";
            words[used++] = "\"url\":\"http://127.0.0.1:8000/hook\",\"body\":\"something to be said\"}";
            words[used++] = "-";
        }
        freeReplyObject(run_timed(SCRIPT_SCHEDULE, used, words));
    }
}

struct served {
    size_t crowd, others;
};

static struct served claim_and_complete(void)
{
    static const char *const claim[] = {"claim", "128", "n1", "5000", "16", "4194304", "0"};
    const char *ends[1 + 3 * AT_ONCE] = {"complete"};
    struct served served = {0, 0};
    size_t used = 1;
    redisReply *claimed = run_timed(SCRIPT_CLAIM, 7, claim);
    for (size_t i = 4; i < claimed->elements; i += 3) {
        ends[used++] = claimed->element[i]->str;
        ends[used++] = "n1";
        ends[used++] = "";
        if (claimed->element[i]->str[0] == 'c')
            served.crowd++;
        else
            served.others++;
    }
    freeReplyObject(run_timed(SCRIPT_COMPLETE, used, ends));
    freeReplyObject(claimed);
    return served;
}

START_TEST(a_crowd_delays_nobody_elses_jobs)
{
    scripts_limit = 256;
    schedule_many("crowd", CROWD);
    schedule_many("others", OTHERS);
    redis_server_set_time(server, NOW_US + 61 * INT64_C(1000000));
    const char *const carry[] = {"carry", "me", "1", "256", "", "0", "5000", "250"};
    redisReply *reply = run_timed(SCRIPT_CARRY, 8, carry);
    ck_assert_int_eq(reply->element[5]->integer,
                     2); /* the number is that of the due topics, not of the due jobs */
    freeReplyObject(reply);

    struct served all = {0, 0};
    size_t calls = 0;
    for (; all.others < OTHERS; calls++) {
        struct served served = claim_and_complete();
        all.crowd += served.crowd;
        all.others += served.others;
    }
    ck_assert_uint_le(calls, 2 * OTHERS / AT_ONCE + 1); /* the topics take turns */

    const char *const page[] = {"list", "ready", "crowd", "100", "", "", "10000", "4194304", "-inf",
                                "+inf", "",      "jobs",  "0",   "", "", "",      ""};
    const char *const none[] = {"list", "dead", "none", "100", "", "", "10000", "4194304", "-inf",
                                "+inf", "",     "jobs", "0",   "", "", "",      ""};
    const char *const audit[] = {"audit", "1000"}, *const mend[] = {"mend", "jobs", "0"};
    freeReplyObject(run_timed(SCRIPT_LIST, 17, page));
    freeReplyObject(run_timed(SCRIPT_LIST, 17, none));
    freeReplyObject(run_timed(SCRIPT_MEND, 3, mend));
    reply = run_timed(SCRIPT_AUDIT, 2, audit);
    ck_assert_int_eq(reply->element[1]->integer, (long long)(CROWD - all.crowd));
    ck_assert_int_eq(reply->element[2]->integer, (long long)(CROWD - all.crowd));
    freeReplyObject(reply);
    print_longest();
    scripts_limit = RUNNER_LIMIT;
    redis_server_set_time(server, NOW_US);
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("script_bounds");
    TCase *group = tcase_create("script_bounds");
    tcase_add_unchecked_fixture(group, start, stop);
    tcase_add_checked_fixture(group, set_up, tear_down);
    tcase_set_timeout(group, 60);
    tcase_add_test(group, a_full_redis_refuses_new_jobs_whole_and_lets_the_others_go_on);
    tcase_add_test(group, answers_stay_below_a_few_mib_and_say_what_to_ask_for_again);
    tcase_add_test(group, a_list_reads_a_few_mib_of_records_at_a_time);
    tcase_add_test(group, run_reads_no_record_for_which_it_has_no_use);
    tcase_add_loop_test(group, ends_of_workflows_end_a_bounded_number_of_jobs, 0, 3);
    tcase_add_test(group, a_workflow_waits_only_while_it_may_have_more_elements);
    tcase_add_test(group, ends_move_a_few_mib_at_a_time);
    tcase_add_test(group, pages_show_each_job_that_stays_exactly_once);
    tcase_add_test(group, leased_finds_each_lease_that_stays);
    tcase_add_test(group, pages_of_topics_are_in_order_and_whole);
    tcase_add_test(group, a_page_of_topics_tells_a_few_mib_of_settings);
    tcase_add_test(group, mend_reads_a_few_mib_of_records_in_a_step);
    tcase_add_test(group, mend_visits_a_bounded_number_of_holders_in_a_step);
    tcase_add_test(group, a_topic_and_why_run_the_same_commands_for_any_number_of_dead_jobs);
    tcase_add_test(group, of_too_many_receivers_those_are_forgotten_that_were_reported_first);
    tcase_add_test(group, a_crowd_delays_nobody_elses_jobs);
    suite_add_tcase(suite, group);
    return suite;
}
