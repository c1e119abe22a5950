#include "store/heads.h"

#include <stdio.h>

#include "base/memory.h"
#include "job/job.h"
#include "store/list_call.h"

enum {
    STEP_TOPICS = 1000, /* maximum number of topics that one call examines */
    LAST_NAME = 1,      /* in a reply, index of the last name that was examined */
    COUNTED = 2,
    FIRST_HEAD = 3,
    HEAD_PARTS = 2, /* score, id */
};

struct head {
    double score;
    char *id;
};

struct heads_walk {
    struct shard *shard;
    const struct store_list *list;
    bool is_count;
    struct buffer behind; /* the last topic name that was examined */
    size_t looked;
    struct head *heads; /* owned; first jobs of topics found so far, in order; at most max */
    size_t count, capacity;
    struct heads_page page;
    heads_fn *fn;
    void *arg;
};

static void heads_step(struct heads_walk *);

static void heads_end(struct heads_walk *walk, enum status status)
{
    struct buffer topics;
    buffer_init(&topics, (size_t)STORE_LIST_MAX * (JOB_TOPIC_NAME_MAX + 1));
    for (size_t i = 0; i < walk->count; i++) {
        struct slice topic, job_id;
        slice_cut(slice_of(walk->heads[i].id), '/', &topic, &job_id);
        buffer_append(&topics, topic);
        buffer_append_byte(&topics, '\n');
    }
    walk->page.topics = buffer_slice(&topics);
    if (walk->count == walk->list->max) {
        const struct head *last = &walk->heads[walk->count - 1];
        snprintf(walk->page.score, sizeof walk->page.score, "%.17g", last->score);
        walk->page.id = slice_of(last->id);
    }
    walk->fn(walk->arg, status, status == STATUS_OK ? &walk->page : NULL);
    buffer_fini(&topics);
    for (size_t i = 0; i < walk->count; i++)
        free(walk->heads[i].id);
    free(walk->heads);
    buffer_fini(&walk->behind);
    free(walk);
}

/* Compares in the order that Redis uses: by score, then by id. */
static int compare_heads(const void *a, const void *b)
{
    const struct head *left = a, *right = b;
    if (left->score != right->score)
        return left->score < right->score ? -1 : 1;
    return strcmp(left->id, right->id);
}

static int compare_heads_newest(const void *a, const void *b)
{
    return compare_heads(b, a);
}

static void keep_heads(struct heads_walk *walk, const struct redis_reply *reply, size_t count)
{
    if (walk->count + count > walk->capacity) {
        walk->capacity = walk->count + count;
        walk->heads = memory_resize(walk->heads, walk->capacity * sizeof *walk->heads);
    }
    for (size_t i = 0; i < count; i++) {
        char score[40];
        size_t at = FIRST_HEAD + i * HEAD_PARTS;
        snprintf(score, sizeof score, "%.*s", SLICE_ARG(redis_reply_text(redis_reply_at(reply, at))));
        walk->heads[walk->count++] =
            (struct head){strtod(score, NULL), slice_dup(redis_reply_text(redis_reply_at(reply, at + 1)))};
    }
    if (walk->count)
        qsort(walk->heads, walk->count, sizeof *walk->heads,
              walk->list->is_newest_first ? compare_heads_newest : compare_heads);
    while (walk->count > walk->list->max)
        free(walk->heads[--walk->count].id);
}

static void on_heads_step(struct store_call *call, enum status status, const struct redis_reply *reply)
{
    struct heads_walk *walk = call->arg;
    size_t size = status == STATUS_OK ? redis_reply_size(reply) : 0;
    if (status == STATUS_OK && (size < FIRST_HEAD || (size - FIRST_HEAD) % HEAD_PARTS ||
                                size > FIRST_HEAD + STEP_TOPICS * HEAD_PARTS))
        status = reply_refuse("heads");
    if (status != STATUS_OK) {
        heads_end(walk, status);
        return;
    }
    struct slice last = redis_reply_text(redis_reply_at(reply, LAST_NAME));
    walk->page.now_us = redis_reply_integer(redis_reply_at(reply, 0));
    walk->page.count += redis_reply_integer(redis_reply_at(reply, COUNTED));
    walk->looked += STEP_TOPICS;
    keep_heads(walk, reply, (size - FIRST_HEAD) / HEAD_PARTS);
    buffer_clear(&walk->behind);
    buffer_append(&walk->behind, last);
    size_t most = walk->list->filter.owner.size ? HEADS_SIBLINGS_MAX : HEADS_TOPICS_MAX;
    walk->page.is_partial = last.size && walk->looked >= most;
    if (last.size && !walk->page.is_partial)
        heads_step(walk);
    else
        heads_end(walk, STATUS_OK);
}

static void heads_step(struct heads_walk *walk)
{
    const struct store_list *list = walk->list;
    struct store_call *call =
        store_call_alone(walk->shard, SCRIPT_HEADS, walk->shard->reads, on_heads_step, NULL, walk);
    store_call_text(call, slice_of(job_state_word(list->from.state)));
    store_call_text(call, buffer_slice(&walk->behind));
    store_call_number(call, STEP_TOPICS);
    list_call_place(call, list, walk->page.score);
    list_call_bounds(call, list);
    store_call_number(call, list->from.began_ms);
    list_call_order(call, list);
    store_call_text(call, walk->is_count ? SLICE("count") : SLICE("heads"));
    store_call_text(call, list->filter.owner);
    store_call_send(call);
}

void heads_find(struct shard *shard, const struct store_list *list, bool is_count, heads_fn *fn, void *arg)
{
    struct heads_walk *walk = NEW(struct heads_walk);
    walk->shard = shard;
    walk->list = list;
    walk->is_count = is_count;
    walk->fn = fn;
    walk->arg = arg;
    buffer_init(&walk->behind, JOB_TOPIC_NAME_MAX);
    heads_step(walk);
}
