/* history.c - fills the history of a database, and times its lists: bench_history PATH|URL ROWS [BATCH
 * [random]].
 *
 * Prints one line of JSON. "cpu" is the processor time of this process, nearly all of which the history's
 * thread uses.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/buffer.h"
#include "base/memory.h"
#include "base/system.h"
#include "history/history.h"

enum { BATCH_MAX = 10000, ROWS_UNDER_WAY = 20000, TEXT_SIZE = 1024, ID_SIZE = 64, TRIES = 21, TOPICS = 20 };

struct bench {
    struct loop *loop;
    struct history_thread *thread;
    struct history *history;
    int64_t begin_ms; /* time at which the first job ended */
    size_t batch;
    bool is_random; /* the ids are random; otherwise they sort by time, like the ids that duepost creates */
    size_t rows, sent, under_way, waits; /* waits: number of answers of the timed call that have not come */
    struct history_cursor next;
    size_t found;
    bool has_printed;
};

static void fail(const char *why)
{
    fprintf(stderr, "bench_history: %s\n", why);
    exit(1);
}

/* ---- filling ---- */

static int write_text(const struct bench *bench, size_t n, char text[TEXT_SIZE])
{
    char record[TEXT_SIZE / 2], body[201];
    const char *state = n % 100 == 7 ? "cancelled" : n % 50 == 3 ? "dead" : "delivered";
    bool is_dead = state[1] == 'e' && state[2] == 'a';
    int64_t ended_ms = bench->begin_ms + (int64_t)n;
    memset(body, 'b', sizeof body - 1);
    body[sizeof body - 1] = '\0';
    int size =
        snprintf(record, sizeof record,
                 "{\"createdAt\":%lld,\"url\":\"https://shop.example/hooks/orders\",\"delay\":3600%s%s,"
                 "\"body\":{\"text\":\"%.186s\"}}",
                 (long long)(ended_ms - 3600000), n % 10 == 0 ? ",\"labels\":[\"europe\"]" : "",
                 is_dead ? ",\"attempts\":4,\"reason\":\"retries_exhausted\"" : "", body);
    return snprintf(text, TEXT_SIZE, "%s %lld 0 %d %s1 %lld 34 %d\n", state, (long long)ended_ms, size,
                    record, (long long)ended_ms - 34, is_dead ? 503 : 200);
}

static void write_id(const struct bench *bench, size_t n, char id[ID_SIZE])
{
    uint64_t first = bench->is_random ? (n + 1) * UINT64_C(0x9e3779b97f4a7c15) : UINT64_C(0xabc) << 52 | n;
    snprintf(id, ID_SIZE, "topic-%zu/%016llx%010zu", n % TOPICS, (unsigned long long)first, n);
}

static void send_batch(struct bench *);

static void on_appended(void *arg, enum status status, const char *why)
{
    struct bench *bench = arg;
    if (status != STATUS_OK)
        fail(why);
    bench->under_way--;
    if (bench->sent < bench->rows)
        send_batch(bench);
    else if (bench->under_way == 0)
        loop_stop(bench->loop);
}

static void send_batch(struct bench *bench)
{
    static char texts[BATCH_MAX][TEXT_SIZE], ids[BATCH_MAX][ID_SIZE];
    static struct history_entry entries[BATCH_MAX];
    size_t count = 0;
    for (; count < bench->batch && bench->sent < bench->rows; count++, bench->sent++) {
        int size = write_text(bench, bench->sent, texts[count]);
        write_id(bench, bench->sent, ids[count]);
        entries[count] =
            (struct history_entry){slice_of(ids[count]), slice_from(texts[count], (size_t)size), false};
    }
    bench->under_way++;
    history_append(bench->history, entries, count, on_appended, bench);
}

static double cpu_us(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1e6 +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

static void put_figure(struct bench *bench, const char *name, double value)
{
    printf("%s\"%s\":%.3f", bench->has_printed ? "," : "{", name, value);
    bench->has_printed = true;
}

static void fill(struct bench *bench)
{
    double cpu = cpu_us();
    int64_t begin_us = clock_steady_us();
    while (bench->under_way * bench->batch < ROWS_UNDER_WAY && bench->sent < bench->rows)
        send_batch(bench);
    loop_run(bench->loop);
    put_figure(bench, "append_us", (cpu_us() - cpu) / (double)bench->rows);
    put_figure(bench, "rows_s", (double)bench->rows / ((double)(clock_steady_us() - begin_us) / 1e6));
}

/* ---- timing ---- */

static void on_page(void *arg, enum status status, const struct history_page *page, const char *why)
{
    struct bench *bench = arg;
    if (status != STATUS_OK)
        fail(why);
    bench->found = page->count;
    bench->next = page->next;
    loop_stop(bench->loop);
}

static void on_counts(void *arg, enum status status, const struct outcome_counts *counts, const char *why)
{
    struct bench *bench = arg;
    if (status != STATUS_OK)
        fail(why);
    bench->found = (size_t)(counts->dead + counts->delivered + counts->cancelled);
    loop_stop(bench->loop);
}

static void on_stats(void *arg, enum status status, const struct outcome_counts *steps, size_t count,
                     const char *why)
{
    struct bench *bench = arg;
    (void)steps, (void)count;
    if (status != STATUS_OK)
        fail(why);
    loop_stop(bench->loop);
}

static void on_found(void *arg, enum status status, const struct history_row *row, const char *why)
{
    struct bench *bench = arg;
    if (status != STATUS_OK || !row)
        fail(why);
    loop_stop(bench->loop);
}

static int compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

typedef void call_fn(struct bench *, const void *arg);

/* Times a call several times, and prints the median and the longest time in ms. */
static void time_call(struct bench *bench, const char *name, call_fn *call, const void *arg)
{
    int64_t times_us[TRIES];
    char text[64];
    for (size_t i = 0; i < TRIES; i++) {
        int64_t begin_us = clock_steady_us();
        call(bench, arg);
        loop_run(bench->loop);
        times_us[i] = clock_steady_us() - begin_us;
    }
    qsort(times_us, TRIES, sizeof *times_us, compare);
    snprintf(text, sizeof text, "%s_ms", name);
    put_figure(bench, text, (double)times_us[TRIES / 2] / 1000);
    snprintf(text, sizeof text, "%s_max_ms", name);
    put_figure(bench, text, (double)times_us[TRIES - 1] / 1000);
}

static void call_list(struct bench *bench, const void *arg)
{
    history_list(bench->history, arg, on_page, bench);
}

static void call_count(struct bench *bench, const void *arg)
{
    history_count(bench->history, arg, on_counts, bench);
}

static void call_stats(struct bench *bench, const void *arg)
{
    history_stats(bench->history, arg, on_stats, bench);
}

static void call_find(struct bench *bench, const void *arg)
{
    history_find(bench->history, slice_of(arg), on_found, bench);
}

static void time_all(struct bench *bench)
{
    const int64_t end_ms = bench->begin_ms + (int64_t)bench->rows,
                  middle_ms = end_ms - (int64_t)bench->rows / 2;
    const struct {
        const char *name;
        struct job_filter filter;
    } lists[] = {
        {"all", {.states = 0}},
        {"middle", {.before_ms = middle_ms}},
        {"topic", {.topic = SLICE("topic-3")}},
        {"dead", {.states = 1u << JOB_STATE_DEAD}},
        {"topic_dead", {.topic = SLICE("topic-3"), .states = 1u << JOB_STATE_DEAD}},
        {"label", {.labels = SLICE("europe")}},
        {"label_dead",
         {.labels = SLICE("europe"),
          .states =
              1u << JOB_STATE_DEAD}}, /* no row matches, so a call examines the maximum number of rows */
        {"status_5xx", {.statuses = SLICE("5xx")}},
        {"status_204",
         {.statuses = SLICE("204")}}, /* no row matches, so a call examines the maximum number of rows */
        {"prefix_few", {.id_prefix = SLICE("abc1")}},
        {"prefix_many", {.id_prefix = SLICE("a")}},
    };
    char id[ID_SIZE];
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        const struct history_list list = {.filter = lists[i].filter, .is_newest_first = true, .max = 100};
        time_call(bench, lists[i].name, call_list, &list);
    }
    write_id(bench, bench->rows / 3, id);
    time_call(bench, "find", call_find, id);
    time_call(bench, "count", call_count, &lists[0].filter);
    time_call(bench, "count_topic", call_count, &lists[2].filter);
    const struct outcome_steps hour = {SLICE("topic-3"), end_ms - 3600000, end_ms, 60000};
    const struct outcome_steps all = {SLICE_INIT(""), bench->begin_ms, end_ms,
                                      (end_ms - bench->begin_ms) / 100 + 1};
    time_call(bench, "stats_topic_hour", call_stats, &hour);
    time_call(bench, "stats_all", call_stats, &all);
}

int main(int argc, char **argv)
{
    struct bench bench = {.loop = loop_new()};
    struct history_state state;
    if (argc < 3 || argc > 5)
        fail("usage: bench_history PATH|URL ROWS [BATCH [random]]");
    bool is_url = strstr(argv[1], "://") != NULL;
    bench.rows = (size_t)atoll(argv[2]);
    bench.batch = argc > 3 ? (size_t)atoll(argv[3]) : 500;
    bench.is_random = argc > 4;
    if (bench.rows == 0 || bench.batch == 0 || bench.batch > BATCH_MAX)
        fail("ROWS must be at least 1, and BATCH 1 to 10,000");
    bench.begin_ms = clock_wall_ms() - (int64_t)bench.rows;
    const struct history_options options = {.sqlite_path = is_url ? NULL : argv[1],
                                            .url = is_url ? argv[1] : NULL,
                                            .max_age_ms = INT64_C(86400000) * 365,
                                            .max_bytes = INT64_C(1) << 50};
    bench.thread = history_thread_start(&options);
    bench.history = history_new(bench.loop, bench.thread);
    fill(&bench);
    time_all(&bench);
    history_thread_state(bench.thread, &state);
    put_figure(&bench, "row_bytes", (double)state.bytes / (double)bench.rows);
    printf("}\n");
    history_free(bench.history);
    history_thread_stop(bench.thread);
    loop_free(bench.loop);
    return 0;
}
