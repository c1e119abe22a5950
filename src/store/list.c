/* list.c - pages of jobs by state, also of one topic or of an owner topic with its siblings, and their
 * numbers.
 *
 * Each topic has a bucket of waiting jobs, and a set of dead ones. A page of several topics has at most max
 * jobs, so it has jobs of at most max topics: those whose first job after the previous page (their head)
 * comes earliest. A walk finds these topics in steps of limited size, and examines a limited number of
 * topics. */
#include <assert.h>
#include <stdio.h>

#include "base/memory.h"
#include "job/job.h"
#include "store/store_private.h"

/* ---- arguments that list.lua and heads.lua have in common ---- */

enum { LIST_SCORE_SIZE = 40 };

/* Adds score and id of the job after which the list continues, or two empty texts at the beginning of the
 * list. The call borrows score until its callback. */
static void list_call_place(struct store_call *call, const struct store_list *list,
                            char score[LIST_SCORE_SIZE])
{
    score[0] = '\0';
    if (list->from.id.size)
        snprintf(score, LIST_SCORE_SIZE, "%.17g", list->from.score);
    store_call_text(call, slice_of(score));
    store_call_text(call, list->from.id);
}

static void add_bound(struct store_call *call, int64_t ms, const char *none)
{
    if (ms)
        store_call_number(call, ms);
    else
        store_call_text(call, slice_of(none));
}

/* Adds the list's limits of time: after_ms and before_ms. */
static void list_call_bounds(struct store_call *call, const struct store_list *list)
{
    add_bound(call, list->filter.after_ms, "-inf");
    add_bound(call, list->filter.before_ms, "+inf");
}

/* Adds the list's order: the word oldest or newest. */
static void list_call_order(struct store_call *call, const struct store_list *list)
{
    store_call_text(call, list->is_newest_first ? SLICE("newest") : SLICE("oldest"));
}

/* ---- the topics of a page ---- */

/* Maximum number of topics that a walk examines. */
enum {
    TOPICS_WALK_MAX = 10000,
    SIBLINGS_WALK_MAX = 100000, /* maximum number of siblings of one owner topic that a walk examines */
};

struct topics_page {
    struct slice topics; /* one per line; valid until the callback returns */
    /* The page must end at the job with this score and id, because jobs of further topics may come after
     * it. Empty if there are no further topics. */
    char score[LIST_SCORE_SIZE];
    struct slice id;
    int64_t count;   /* number of jobs, if is_count was true */
    bool is_partial; /* there are more topics than the walk examined */
    int64_t now_us;
};

/* page is NULL unless the status is OK. */
typedef void topics_fn(void *arg, enum status, const struct topics_page *page);

enum {
    STEP_TOPICS = 1000, /* maximum number of topics that one call examines */
    LAST_NAME = 1,      /* in a reply, index of the last name that was examined */
    COUNTED = 2,
    FIRST_PAIR = 3,
    PAIR_PARTS = 2, /* score, id */
};

struct first_job {
    double score;
    char *id;
};

struct topics_walk {
    struct shard *shard;
    const struct store_list *list;
    bool is_count;
    struct buffer behind; /* the last topic name that was examined */
    size_t looked;
    struct first_job *first_jobs; /* owned; first jobs of topics found so far, in order; at most max */
    size_t count, capacity;
    struct topics_page page;
    topics_fn *fn;
    void *arg;
};

static void topics_step(struct topics_walk *);

static void topics_end(struct topics_walk *walk, enum status status)
{
    struct buffer topics;
    buffer_init(&topics, (size_t)STORE_LIST_MAX * (JOB_TOPIC_NAME_MAX + 1));
    for (size_t i = 0; i < walk->count; i++) {
        struct slice topic, job_id;
        slice_cut(slice_of(walk->first_jobs[i].id), '/', &topic, &job_id);
        buffer_append(&topics, topic);
        buffer_append_byte(&topics, '\n');
    }
    walk->page.topics = buffer_slice(&topics);
    if (walk->count == walk->list->max) {
        const struct first_job *last = &walk->first_jobs[walk->count - 1];
        snprintf(walk->page.score, sizeof walk->page.score, "%.17g", last->score);
        walk->page.id = slice_of(last->id);
    }
    walk->fn(walk->arg, status, status == STATUS_OK ? &walk->page : NULL);
    buffer_fini(&topics);
    for (size_t i = 0; i < walk->count; i++)
        free(walk->first_jobs[i].id);
    free(walk->first_jobs);
    buffer_fini(&walk->behind);
    free(walk);
}

/* Compares in the order that Redis uses: by score, then by id. */
static int compare_first_jobs(const void *a, const void *b)
{
    const struct first_job *left = a, *right = b;
    if (left->score != right->score)
        return left->score < right->score ? -1 : 1;
    return strcmp(left->id, right->id);
}

static int compare_first_jobs_newest(const void *a, const void *b)
{
    return compare_first_jobs(b, a);
}

static void keep_first_jobs(struct topics_walk *walk, const struct redis_reply *reply, size_t count)
{
    if (walk->count + count > walk->capacity) {
        walk->capacity = walk->count + count;
        walk->first_jobs = memory_resize(walk->first_jobs, walk->capacity * sizeof *walk->first_jobs);
    }
    for (size_t i = 0; i < count; i++) {
        char score[40];
        size_t at = FIRST_PAIR + i * PAIR_PARTS;
        snprintf(score, sizeof score, "%.*s", SLICE_ARG(redis_reply_text(redis_reply_at(reply, at))));
        walk->first_jobs[walk->count++] = (struct first_job){
            strtod(score, NULL), slice_dup(redis_reply_text(redis_reply_at(reply, at + 1)))};
    }
    if (walk->count)
        qsort(walk->first_jobs, walk->count, sizeof *walk->first_jobs,
              walk->list->is_newest_first ? compare_first_jobs_newest : compare_first_jobs);
    while (walk->count > walk->list->max)
        free(walk->first_jobs[--walk->count].id);
}

static void on_topics_step(struct store_call *call, enum status status, const struct redis_reply *reply)
{
    struct topics_walk *walk = call->arg;
    size_t size = status == STATUS_OK ? redis_reply_size(reply) : 0;
    if (status == STATUS_OK && (size < FIRST_PAIR || (size - FIRST_PAIR) % PAIR_PARTS ||
                                size > FIRST_PAIR + STEP_TOPICS * PAIR_PARTS))
        status = reply_refuse("heads");
    if (status != STATUS_OK) {
        topics_end(walk, status);
        return;
    }
    struct slice last = redis_reply_text(redis_reply_at(reply, LAST_NAME));
    walk->page.now_us = redis_reply_integer(redis_reply_at(reply, 0));
    walk->page.count += redis_reply_integer(redis_reply_at(reply, COUNTED));
    walk->looked += STEP_TOPICS;
    keep_first_jobs(walk, reply, (size - FIRST_PAIR) / PAIR_PARTS);
    buffer_clear(&walk->behind);
    buffer_append(&walk->behind, last);
    size_t most = walk->list->filter.owner.size ? SIBLINGS_WALK_MAX : TOPICS_WALK_MAX;
    walk->page.is_partial = last.size && walk->looked >= most;
    if (last.size && !walk->page.is_partial)
        topics_step(walk);
    else
        topics_end(walk, STATUS_OK);
}

static void topics_step(struct topics_walk *walk)
{
    const struct store_list *list = walk->list;
    struct store_call *call =
        store_call_alone(walk->shard, SCRIPT_HEADS, walk->shard->reads, on_topics_step, NULL, walk);
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

/* Finds the topics for the next page of this list. The page begins at the list's cursor. Borrows the list
 * until the callback. */
static void topics_find(struct shard *shard, const struct store_list *list, bool is_count, topics_fn *fn,
                        void *arg)
{
    struct topics_walk *walk = NEW(struct topics_walk);
    walk->shard = shard;
    walk->list = list;
    walk->is_count = is_count;
    walk->fn = fn;
    walk->arg = arg;
    buffer_init(&walk->behind, JOB_TOPIC_NAME_MAX);
    topics_step(walk);
}

/* list.c - walks through jobs page by page: one state after the other, and in each state one shard after
 * the other. */

/* ---- pages ---- */

enum {
    LOOK_MAX = 10000,  /* maximum number of entries that one call examines */
    MERGED_MAX = 500,  /* maximum number of jobs in a page of all topics, so that a call takes a few ms */
    LEASED_MAX = 2000, /* maximum number of ids of leased jobs in one call */
    FOUND = 3,         /* in a reply, index of the number of jobs */
    FIRST_JOB = 4,     /* index of the first job */
    JOB_PARTS = 7, /* id, time, record, lost consumers (number), topic's settings, kept until, last attempt */
    SEEN_PARTS = 2, /* id, tag */
};

/* The kind of result that a walk returns. */
enum walk_kind { WALK_JOBS, WALK_SEEN, WALK_COUNT };
static const char *const kind_words[] = {"jobs", "seen", "count"};

struct walk {
    const struct store *store;
    struct store_list list; /* from.shard is the shard of the current call */
    char score[LIST_SCORE_SIZE];
    /* The next two members are for leased jobs. */
    struct buffer ids; /* ids of the page's jobs, one per line */
    bool has_more;     /* more ids follow these */
    /* For waiting jobs of all topics, ids has names of topics instead. The page then ends at the job with
     * this score and id. */
    char last_score[LIST_SCORE_SIZE];
    struct buffer last_id;
    char key[2 * LANE_KEY_MAX + 3]; /* the filter's key for list.lua; empty: any key */
    bool is_partial;
    int64_t counted; /* number of jobs counted so far */
    enum walk_kind kind;
    union {
        store_list_fn *jobs;
        store_seen_fn *seen;
        store_count_fn *count;
    } fn;
    void *arg;
};

static void list_ask(struct walk *);
static void list_begin(struct walk *);

/* A walk lists the jobs of one state after the other, in this order. */
static const enum job_state order[] = {JOB_STATE_LEASED, JOB_STATE_READY,     JOB_STATE_DELAYED,
                                       JOB_STATE_DEAD,   JOB_STATE_DELIVERED, JOB_STATE_CANCELLED};
enum { STATES = sizeof order / sizeof *order };

enum job_state store_first_state(unsigned states)
{
    size_t i = 0;
    while (i + 1 < STATES && !(states & 1U << order[i]))
        i++;
    return order[i];
}

/* Moves the cursor next to the next shard, or after the last shard to the next state in the first shard. */
static void leave_shard(const struct walk *walk, struct list_cursor *next)
{
    const struct store_list *list = &walk->list;
    bool is_behind = false;
    next->has_more = true;
    bool is_of_one_shard = list->filter.topic.size + list->filter.owner.size > 0;
    if (!is_of_one_shard && next->shard + 1 < store_shards(walk->store)) {
        next->shard++;
        return;
    }
    if (!is_of_one_shard)
        next->shard = 0;
    for (size_t i = 0; i < STATES; i++) {
        if (is_behind && list->filter.states & 1U << order[i]) {
            next->state = order[i];
            return;
        }
        is_behind = is_behind || order[i] == list->from.state;
    }
    next->has_more = false;
}

static int64_t read_now_ms(const struct redis_reply *reply)
{
    return redis_reply_integer(redis_reply_at(reply, 0)) / 1000;
}

static struct slice last_line(struct slice lines)
{
    const char *newline = memrchr(lines.data, '\n', lines.size);
    return newline ? slice_skip(lines, (size_t)(newline + 1 - lines.data)) : lines;
}

static struct list_cursor read_cursor(struct walk *walk, const struct redis_reply *reply)
{
    struct list_cursor next = walk->list.from;
    char score[40];
    if (!next.began_ms) /* rounded up, like the createdAt of a job that has just been created */
        next.began_ms = (redis_reply_integer(redis_reply_at(reply, 0)) + 999) / 1000;
    next.id = redis_reply_text(redis_reply_at(reply, 2));
    if (next.id.size == 0 && walk->has_more)
        next.id = last_line(buffer_slice(&walk->ids));
    next.is_partial = walk->is_partial;
    next.has_more = true;
    if (next.id.size == 0) {
        leave_shard(walk, &next);
        return next;
    }
    snprintf(score, sizeof score, "%.*s", SLICE_ARG(redis_reply_text(redis_reply_at(reply, 1))));
    next.score = strtod(score, NULL);
    return next;
}

static void give_jobs(const struct walk *walk, enum status status, const struct redis_reply *reply,
                      size_t count, struct list_cursor next)
{
    struct stored_job *jobs = calloc(count + 1, sizeof *jobs);
    if (!jobs) {
        walk->fn.jobs(walk->arg, STATUS_NO_MEMORY, NULL, 0, next);
        return;
    }
    size_t kept = 0;
    for (size_t n = 0; n < count; n++) {
        size_t at = FIRST_JOB + n * JOB_PARTS, i = kept;
        jobs[i].state = walk->list.from.state;
        jobs[i].id = redis_reply_text(redis_reply_at(reply, at));
        jobs[i].at_ms = redis_reply_integer(redis_reply_at(reply, at + 1));
        jobs[i].record = redis_reply_text(redis_reply_at(reply, at + 2));
        jobs[i].losses = redis_reply_integer(redis_reply_at(reply, at + 3));
        jobs[i].settings = redis_reply_text(redis_reply_at(reply, at + 4));
        jobs[i].until_ms = redis_reply_integer(redis_reply_at(reply, at + 5));
        jobs[i].last_lines = redis_reply_text(redis_reply_at(reply, at + 6));
        jobs[i].now_ms = read_now_ms(reply);
        shard_bound_age(store_shard(walk->store, walk->list.from.shard), &jobs[i]);
        kept += reply_has_id(jobs[i].id);
    }
    walk->fn.jobs(walk->arg, status, jobs, kept, next);
    free(jobs);
}

static void give_seen(const struct walk *walk, enum status status, const struct redis_reply *reply,
                      size_t count, struct list_cursor next)
{
    struct store_seen *jobs = calloc(count + 1, sizeof *jobs);
    if (!jobs) {
        walk->fn.seen(walk->arg, STATUS_NO_MEMORY, NULL, 0, next, 0);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        size_t at = FIRST_JOB + i * SEEN_PARTS;
        jobs[i].id = redis_reply_text(redis_reply_at(reply, at));
        jobs[i].tag = redis_reply_text(redis_reply_at(reply, at + 1));
    }
    walk->fn.seen(walk->arg, status, jobs, count, next, status == STATUS_OK ? read_now_ms(reply) : 0);
    free(jobs);
}

static void walk_end(struct walk *walk, enum status status, const struct redis_reply *reply, size_t count,
                     struct list_cursor next)
{
    if (walk->kind == WALK_JOBS)
        give_jobs(walk, status, reply, count, next);
    else if (walk->kind == WALK_SEEN)
        give_seen(walk, status, reply, count, next);
    else
        walk->fn.count(walk->arg, status, walk->counted + (int64_t)count, next);
    buffer_fini(&walk->ids);
    buffer_fini(&walk->last_id);
    free(walk);
}

/* Returns whether the walk counts jobs without reading their records. */
static bool is_plain_count(const struct walk *walk)
{
    const struct job_filter *filter = &walk->list.filter;
    return walk->kind == WALK_COUNT && filter->host.size + filter->id_prefix.size + filter->reasons.size +
                                               filter->statuses.size + filter->labels.size +
                                               filter->has_key ==
                                           0;
}

/* Returns whether the walk continues at once, without calling back: at the end of a shard or state, if the
 * page was empty, or if its jobs were counted without reading records. So clients need not request such
 * pages. */
static bool may_go_on(const struct walk *walk, size_t count, const struct list_cursor *next)
{
    return next->has_more && next->id.size == 0 && (count == 0 || is_plain_count(walk));
}

static void page_end(struct walk *walk, enum status status, const struct redis_reply *reply)
{
    static const size_t parts[] = {[WALK_JOBS] = JOB_PARTS, [WALK_SEEN] = SEEN_PARTS};
    struct list_cursor next = {.score = 0};
    size_t count = 0;
    if (status == STATUS_OK && walk->kind == WALK_COUNT)
        count = (size_t)llabs(redis_reply_integer(redis_reply_at(reply, FOUND)));
    else if (status == STATUS_OK &&
             !reply_count(reply, FOUND, FIRST_JOB, parts[walk->kind], walk->list.max, &count))
        status = reply_refuse("list");
    if (status == STATUS_OK)
        next = read_cursor(walk, reply);
    if (status == STATUS_OK && may_go_on(walk, count, &next)) {
        walk->counted += walk->kind == WALK_COUNT ? (int64_t)count : 0;
        walk->list.from = next;
        list_begin(walk);
        return;
    }
    walk_end(walk, status, reply, count, next);
}

static void on_page(struct store_call *call, enum status status, const struct redis_reply *reply)
{
    page_end(call->arg, status, reply);
}

static void list_ask(struct walk *walk)
{
    const struct store_list *list = &walk->list;
    struct shard *shard = store_shard(walk->store, list->from.shard);
    struct store_call *call = store_call_alone(shard, SCRIPT_LIST, shard->reads, on_page, NULL, walk);
    store_call_text(call, slice_of(job_state_word(list->from.state)));
    store_call_text(call, list->filter.topic);
    store_call_number(call, walk->kind == WALK_COUNT ? LOOK_MAX : (int64_t)list->max);
    list_call_place(call, list, walk->score);
    store_call_number(call, LOOK_MAX);
    store_call_number(call, BATCH_BYTES_MAX);
    list_call_bounds(call, list);
    store_call_text(call, list->filter.host);
    store_call_text(call, slice_of(kind_words[walk->kind]));
    store_call_number(call, list->from.began_ms);
    store_call_text(call, buffer_slice(&walk->ids));
    store_call_text(call, list->filter.id_prefix);
    store_call_text(call, list->filter.reasons);
    store_call_text(call, list->filter.statuses);
    list_call_order(call, list);
    store_call_text(call, slice_of(walk->last_score));
    store_call_text(call, buffer_slice(&walk->last_id));
    store_call_text(call, list->filter.labels);
    store_call_text(call, list->leaves_begun ? SLICE("unbegun") : SLICE(""));
    store_call_text(call, list->filter.owner);
    store_call_text(call, slice_of(walk->key));
    store_call_send(call);
}

static void on_leased(void *arg, enum status status, const struct leased_page *page)
{
    struct walk *walk = arg;
    if (status != STATUS_OK) {
        page_end(walk, status, NULL);
        return;
    }
    for (size_t i = 0; i < page->count; i++) {
        if (i)
            buffer_append_byte(&walk->ids, '\n');
        buffer_append(&walk->ids, page->ids[i]);
    }
    walk->has_more = page->has_more;
    if (walk->ids.failed)
        page_end(walk, STATUS_NO_MEMORY, NULL);
    else
        list_ask(walk);
}

/* Adds the number of jobs that topics_find has counted, and continues with the next shard or state. */
static void add_topics_counted(struct walk *walk, const struct topics_page *page)
{
    struct list_cursor next = walk->list.from;
    if (!next.began_ms)
        next.began_ms = (page->now_us + 999) / 1000;
    next.id = (struct slice){NULL, 0};
    walk->is_partial |= page->is_partial;
    next.is_partial = walk->is_partial;
    leave_shard(walk, &next);
    walk->counted += page->count;
    walk->list.from = next;
    if (next.has_more)
        list_begin(walk);
    else
        walk_end(walk, STATUS_OK, NULL, 0, next);
}

static void on_topics(void *arg, enum status status, const struct topics_page *page)
{
    struct walk *walk = arg;
    if (status != STATUS_OK) {
        page_end(walk, status, NULL);
        return;
    }
    if (is_plain_count(walk)) {
        add_topics_counted(walk, page);
        return;
    }
    walk->is_partial |= page->is_partial;
    buffer_append(&walk->ids, page->topics);
    buffer_append(&walk->last_id, page->id);
    snprintf(walk->last_score, sizeof walk->last_score, "%s", page->id.size ? page->score : "");
    if (walk->ids.failed || walk->last_id.failed)
        page_end(walk, STATUS_NO_MEMORY, NULL);
    else
        list_ask(walk);
}

/* Begins a page. If it lists leased jobs, first finds their ids. If it lists waiting jobs of all topics,
 * or jobs of an owner topic and its siblings that are not leased, first finds the topics. A plain count of
 * all leased jobs of a shard needs neither ids nor topics. */
static void list_begin(struct walk *walk)
{
    const struct store_list *list = &walk->list;
    struct shard *shard = store_shard(walk->store, list->from.shard);
    enum job_state state = list->from.state;
    bool is_of_all = list->filter.topic.size == 0;
    buffer_clear(&walk->ids);
    buffer_clear(&walk->last_id);
    walk->last_score[0] = '\0';
    walk->has_more = false;
    if (state == JOB_STATE_LEASED && !(is_of_all && !list->filter.owner.size && is_plain_count(walk))) {
        leased_find(shard, list->filter.topic, list->filter.owner, list->from.id,
                    walk->kind == WALK_COUNT ? LEASED_MAX : list->max, on_leased, walk);
    } else if (is_of_all &&
               (list->filter.owner.size || state == JOB_STATE_DELAYED || state == JOB_STATE_READY)) {
        walk->list.max = list->max < MERGED_MAX ? list->max : MERGED_MAX;
        topics_find(shard, list, is_plain_count(walk), on_topics, walk);
    } else {
        list_ask(walk);
    }
}

/* Writes the key as a JSON string, as list.lua expects it. */
static void write_key(const struct job_filter *filter, char key[2 * LANE_KEY_MAX + 3])
{
    struct buffer text = buffer_of(key, 2 * LANE_KEY_MAX + 3);
    if (!filter->has_key)
        return;
    buffer_append_json(&text, filter->key);
    assert(!text.failed);
    (void)buffer_text(&text);
}

static struct walk *walk_new(struct store *store, const struct store_list *list, enum walk_kind kind,
                             void *arg)
{
    struct walk *walk = NEW(struct walk);
    walk->store = store;
    walk->list = *list;
    walk->kind = kind;
    walk->arg = arg;
    write_key(&list->filter, walk->key);
    buffer_init_fallible(&walk->ids, (size_t)LEASED_MAX * (JOB_KEY_MAX + 1));
    buffer_init_fallible(&walk->last_id, JOB_KEY_MAX);
    if (!list->from.began_ms)
        walk->list.from.state = store_first_state(list->filter.states);
    if (list->filter.topic.size)
        walk->list.from.shard = store_shard_of(store, list->filter.topic)->number;
    else if (list->filter.owner.size)
        walk->list.from.shard = store_shard_of(store, list->filter.owner)->number;
    assert(walk->list.from.shard < store_shards(store));
    return walk;
}

void store_list(struct store *store, const struct store_list *list, store_list_fn *fn, void *arg)
{
    struct walk *walk = walk_new(store, list, WALK_JOBS, arg);
    walk->fn.jobs = fn;
    list_begin(walk);
}

void store_see(struct store *store, const struct store_list *list, store_seen_fn *fn, void *arg)
{
    struct walk *walk = walk_new(store, list, WALK_SEEN, arg);
    walk->fn.seen = fn;
    list_begin(walk);
}

void store_count(struct store *store, const struct store_list *list, store_count_fn *fn, void *arg)
{
    struct walk *walk = walk_new(store, list, WALK_COUNT, arg);
    walk->fn.count = fn;
    list_begin(walk);
}
