#include <check.h>
#include <stdio.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/system.h"
#include "history/history_calls.h"

#ifdef DUEPOST_SANITIZED
enum { DEADLINE_S = 100 };
#else
enum { DEADLINE_S = 20 };
#endif
enum { LOOK_AGAIN_US = 2000 };

static char last[512];

void history_world_open(struct history_world *world, const struct history_options *options)
{
    world->loop = loop_new();
    world->thread = history_thread_start(options);
    world->history = history_new(world->loop, world->thread);
}

void history_world_close(struct history_world *world)
{
    history_free(world->history);
    history_thread_stop(world->thread);
    loop_free(world->loop);
}

void history_world_await(const struct history_world *world, bool is_available)
{
    int64_t deadline_us = clock_boot_us() + DEADLINE_S * INT64_C(1000000);
    struct history_state state;
    for (;;) {
        history_thread_state(world->thread, &state);
        if (is_available ? state.is_available : state.why[0] != '\0')
            return;
        ck_assert_msg(clock_boot_us() < deadline_us, "not %s in time: %s",
                      is_available ? "available" : "unavailable", state.why);
        usleep(LOOK_AGAIN_US);
    }
}

struct slice ended_text(const struct ended_job *job, char room[ENDED_TEXT_SIZE])
{
    char record[ENDED_TEXT_SIZE / 2];
    int size =
        snprintf(record, sizeof record, "{\"createdAt\":%lld,\"url\":\"https://shop.example/hook\"%s%s}",
                 (long long)job->created_ms, job->members && job->members[0] ? "," : "",
                 job->members ? job->members : "");
    int all = snprintf(room, ENDED_TEXT_SIZE, "%s %lld 0 %d %s%s", job->state, (long long)job->ended_ms, size,
                       record, job->lines ? job->lines : "");
    ck_assert_int_lt(all, ENDED_TEXT_SIZE);
    return slice_from(room, (size_t)all);
}

/* The answer of a call. */
struct answer {
    struct loop *loop;
    bool has_come;
    enum status status;
    char *found;
    struct history_cursor next;
    struct outcome_counts *counts;
    size_t count;
    bool has_row;
    bool has_more;
};

static void end(struct answer *answer, enum status status, const char *why)
{
    answer->has_come = true;
    answer->status = status;
    ck_assert((status == STATUS_OK) == (why[0] == '\0'));
    if (status != STATUS_OK)
        snprintf(last, sizeof last, "%s", why);
    loop_stop(answer->loop);
}

static enum status await_answer(struct answer *answer)
{
    ck_assert(!answer->has_come); /* a callback never runs within its call */
    loop_run(answer->loop);
    ck_assert(answer->has_come);
    return answer->status;
}

static void on_done(void *arg, enum status status, const char *why)
{
    end(arg, status, why);
}

enum status append_text(struct history_world *world, const char *id, struct slice text)
{
    struct answer answer = {.loop = world->loop};
    const struct history_entry entry = {slice_of(id), text, false};
    history_append(world->history, &entry, 1, on_done, &answer);
    return await_answer(&answer);
}

enum status append_job(struct history_world *world, const char *id, const struct ended_job *job)
{
    char room[ENDED_TEXT_SIZE];
    return append_text(world, id, ended_text(job, room));
}

enum status append_jobs(struct history_world *world, const char *const *ids, const struct ended_job *jobs,
                        size_t count)
{
    static char rooms[APPEND_MAX][ENDED_TEXT_SIZE];
    struct answer answer = {.loop = world->loop};
    struct history_entry entries[APPEND_MAX];
    for (size_t i = 0; i < count; i++)
        entries[i] = (struct history_entry){slice_of(ids[i]), ended_text(&jobs[i], rooms[i]), false};
    history_append(world->history, entries, count, on_done, &answer);
    return await_answer(&answer);
}

static struct history_row found_row;
static char *found_texts[3];

static struct slice keep(size_t place, struct slice text)
{
    free(found_texts[place]);
    found_texts[place] = slice_dup(text);
    return slice_from(found_texts[place], text.size);
}

static void on_found(void *arg, enum status status, const struct history_row *row, const char *why)
{
    struct answer *answer = arg;
    answer->has_row = row != NULL;
    if (row) {
        found_row = *row;
        found_row.id = keep(0, row->id);
        found_row.topic = slice_from(found_row.id.data, row->topic.size);
        found_row.job_id = slice_skip(found_row.id, row->topic.size + 1);
        found_row.record = keep(1, row->record);
        found_row.lines = keep(2, row->lines);
    }
    end(answer, status, why);
}

bool find_job(struct history_world *world, const char *id, struct history_row *row)
{
    struct answer answer = {.loop = world->loop};
    history_find(world->history, slice_of(id), on_found, &answer);
    bool is_found = await_answer(&answer) == STATUS_OK && answer.has_row;
    if (is_found)
        *row = found_row;
    return is_found;
}

static void on_page(void *arg, enum status status, const struct history_page *page, const char *why)
{
    struct answer *answer = arg;
    size_t used = 0;
    answer->found[0] = '\0';
    for (size_t i = 0; i < page->count; i++)
        used += (size_t)snprintf(answer->found + used, FOUND_SIZE - used, "%s%.*s", i ? " " : "",
                                 SLICE_ARG(page->rows[i].job_id));
    ck_assert_uint_lt(used, FOUND_SIZE);
    answer->next = page->next;
    end(answer, status, why);
}

enum status list_jobs(struct history_world *world, const struct history_list *list, char found[FOUND_SIZE],
                      struct history_cursor *next)
{
    struct answer answer = {.loop = world->loop, .found = found};
    history_list(world->history, list, on_page, &answer);
    enum status status = await_answer(&answer);
    *next = answer.next;
    return status;
}

static void on_counts(void *arg, enum status status, const struct outcome_counts *counts, const char *why)
{
    struct answer *answer = arg;
    *answer->counts = *counts;
    end(answer, status, why);
}

enum status count_jobs(struct history_world *world, const struct job_filter *filter,
                       struct outcome_counts *counts)
{
    struct answer answer = {.loop = world->loop, .counts = counts};
    history_count(world->history, filter, on_counts, &answer);
    return await_answer(&answer);
}

static void on_stats(void *arg, enum status status, const struct outcome_counts *steps, size_t count,
                     const char *why)
{
    struct answer *answer = arg;
    ck_assert_uint_le(count, answer->count);
    for (size_t i = 0; i < count; i++)
        answer->counts[i] = steps[i];
    end(answer, status, why);
}

enum status plot_jobs(struct history_world *world, const struct outcome_steps *stats,
                      struct outcome_counts *counts, size_t max)
{
    struct answer answer = {.loop = world->loop, .counts = counts, .count = max};
    history_stats(world->history, stats, on_stats, &answer);
    return await_answer(&answer);
}

static void on_deleted(void *arg, enum status status, size_t deleted, bool has_more, const char *why)
{
    struct answer *answer = arg;
    answer->count = deleted;
    answer->has_more = has_more;
    end(answer, status, why);
}

enum status delete_jobs(struct history_world *world, const struct job_filter *filter, size_t *deleted,
                        bool *has_more)
{
    struct answer answer = {.loop = world->loop};
    history_delete(world->history, filter, on_deleted, &answer);
    enum status status = await_answer(&answer);
    *deleted = answer.count;
    *has_more = answer.has_more;
    return status;
}

const char *last_why(void)
{
    return last;
}

enum status note_lines(struct history_world *world, const char *const *lines, size_t count)
{
    struct answer answer = {.loop = world->loop};
    struct slice texts[APPEND_MAX];
    for (size_t i = 0; i < count; i++)
        texts[i] = slice_of(lines[i]);
    history_note(world->history, texts, count, on_done, &answer);
    return await_answer(&answer);
}

static struct trail_query *next_query;

static void on_lines(void *arg, enum status status, const struct trail_entry *lines, size_t count,
                     bool has_more, const char *why)
{
    struct answer *answer = arg;
    for (size_t i = 0; i < count; i++) {
        size_t size = strlen(answer->found);
        ck_assert(lines[i].json.size >= 2);
        snprintf(answer->found + size, FOUND_SIZE - size, "%s%s", size ? " " : "",
                 lines[i].id + strspn(lines[i].id, "0"));
    }
    next_query->max = has_more ? next_query->max : 0;
    if (has_more) {
        next_query->after.is_set = true;
        next_query->after.at_ms = lines[count - 1].at_ms;
        memcpy(next_query->after.id, lines[count - 1].id, sizeof next_query->after.id);
    }
    end(answer, status, why);
}

enum status list_lines(struct history_world *world, const struct trail_query *query, char found[FOUND_SIZE],
                       struct trail_query *next)
{
    struct answer answer = {.loop = world->loop, .found = found};
    found[0] = '\0';
    *next = *query;
    next_query = next;
    history_trail(world->history, query, on_lines, &answer);
    return await_answer(&answer);
}
