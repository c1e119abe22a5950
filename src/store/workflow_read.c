/* workflow_read.c - reads and lists workflows. */
#include <assert.h>

#include "base/memory.h"
#include "store/store_private.h"
#include "store/workflow.h"

enum {
    LOOKS_MAX = 1000 /* maximum number of workflows that one call examines */,
    PARTS = 4,
    OPEN_PARTS = 3,
    FIRST_OF_PAGE = 2
};

static const struct slice states[] = {[WORKFLOW_ACTIVE] = SLICE_INIT("active"),
                                      [WORKFLOW_SUCCEEDED] = SLICE_INIT("succeeded"),
                                      [WORKFLOW_FAILED] = SLICE_INIT("failed"),
                                      [WORKFLOW_CANCELLED] = SLICE_INIT("cancelled")};

static bool read_state(struct slice word, enum workflow_state *state)
{
    for (size_t i = 0; i < sizeof states / sizeof *states; i++) {
        if (slice_equal(word, states[i])) {
            *state = (enum workflow_state)i;
            return true;
        }
    }
    return false;
}

/* ---- one ---- */

struct reading {
    struct slice id, hook;
    bool with_jobs;
    workflow_read_fn *fn;
    void *arg;
};

/* Reads the hash: name, value, name, value ... */
static bool read_fields(const struct redis_reply *fields, const struct reading *reading,
                        struct sealed_values *values, struct workflow *workflow)
{
    char room[WORKFLOW_SEAL_MAX];
    struct slice hook = reading->hook, owner = workflow_seal_owner(reading->id, room);
    bool has_state = false;
    struct slice parent = SLICE("");
    for (size_t i = 0; i + 1 < redis_reply_size(fields); i += 2) {
        struct slice name = redis_reply_text(redis_reply_at(fields, i));
        const struct redis_reply *value = redis_reply_at(fields, i + 1);
        const struct {
            struct slice name;
            struct slice *text;
            int64_t *number;
        } rows[] = {
            {SLICE("createdAt"), NULL, &workflow->made_ms},
            {SLICE("endedAt"), NULL, &workflow->ended_ms},
            {SLICE("settings"), &workflow->settings, NULL},
            {SLICE("result"), &workflow->result, NULL},
            {SLICE("parent"), &parent, NULL},
            {SLICE("failedBy"), &workflow->failed_by, NULL},
            {SLICE("first"), &workflow->first_job, NULL},
            {SLICE("bytes"), NULL, &workflow->bytes},
            {SLICE("previous"), NULL, &workflow->previous_ms},
        };
        workflow->has_hook |= hook.size && slice_equal(name, hook);
        if (slice_equal(name, SLICE("state")))
            has_state = read_state(redis_reply_text(value), &workflow->state);
        for (size_t row = 0; row < sizeof rows / sizeof *rows; row++) {
            if (!slice_equal(name, rows[row].name))
                continue;
            if (rows[row].text)
                *rows[row].text = sealed_values_open(values, owner, redis_reply_text(value));
            else
                *rows[row].number = redis_reply_integer(value);
        }
    }
    if (!workflow_place_parse(parent, &workflow->parent, &workflow->parent_made_ms))
        workflow->parent = SLICE("");
    return has_state && workflow->made_ms > 0;
}

static struct slice take_word(struct slice *text)
{
    struct slice word;
    slice_cut(*text, ' ', &word, text);
    return word;
}

static int64_t take_number(struct slice *text)
{
    uint64_t number;
    return slice_to_number(take_word(text), INT64_MAX, &number) ? (int64_t)number : 0;
}

/* Reads 'kind time bytes job'. */
static void read_element_job(struct slice text, struct workflow_element *element)
{
    element->is_call = slice_equal(take_word(&text), SLICE("c"));
    element->at_ms = take_number(&text);
    element->bytes = (size_t)take_number(&text);
    element->job = text;
}

static struct workflow_element *read_elements(const struct redis_reply *texts, const struct redis_reply *jobs,
                                              size_t count, struct slice owner, struct sealed_values *values)
{
    struct workflow_element *elements = NEW_ARRAY(struct workflow_element, count + 1);
    for (size_t i = 0; i < count; i++) {
        struct slice text = redis_reply_text(redis_reply_at(texts, i));
        elements[i].is_call = slice_starts_with(text, SLICE("c"));
        elements[i].text = sealed_values_open(values, owner, slice_skip(text, text.size > 0));
        struct slice job = redis_reply_text(redis_reply_at(jobs, i));
        if (job.size)
            read_element_job(job, &elements[i]);
    }
    return elements;
}

/* Reads for each open job: its id, 'role position bytes place', and the text of its wait. */
static struct workflow_open *read_open(const struct redis_reply *jobs, size_t count, struct slice owner,
                                       struct sealed_values *values)
{
    struct workflow_open *open = NEW_ARRAY(struct workflow_open, count + 1);
    for (size_t i = 0; i < count; i++) {
        struct slice text = redis_reply_text(redis_reply_at(jobs, OPEN_PARTS * i + 1));
        struct slice letter = take_word(&text);
        open[i] = (struct workflow_open){
            .job = redis_reply_text(redis_reply_at(jobs, OPEN_PARTS * i)),
            .wait =
                sealed_values_open(values, owner, redis_reply_text(redis_reply_at(jobs, OPEN_PARTS * i + 2))),
            .role = slice_equal(letter, SLICE("c"))   ? WORKFLOW_CALL
                    : slice_equal(letter, SLICE("a")) ? WORKFLOW_ANSWER
                                                      : WORKFLOW_STEP,
            .is_wait = slice_equal(letter, SLICE("w")),
            .position = (size_t)take_number(&text),
        };
    }
    return open;
}

/* Calls back with the elements and the jobs that were requested. */
static void reading_end(const struct reading *reading, const struct redis_reply *reply,
                        struct sealed_values *values, struct workflow *workflow)
{
    char room[WORKFLOW_SEAL_MAX];
    struct slice owner = workflow_seal_owner(reading->id, room);
    const struct redis_reply *texts = redis_reply_at(reply, 4), *jobs = redis_reply_at(reply, 5);
    const struct redis_reply *open = redis_reply_at(reply, 6);
    struct workflow_element *elements = NULL;
    struct workflow_open *opened = NULL;
    size_t known =
        redis_reply_size(texts) > redis_reply_size(jobs) ? redis_reply_size(texts) : redis_reply_size(jobs);
    workflow->open_count = (size_t)redis_reply_integer(redis_reply_at(reply, 2));
    workflow->element_count = (size_t)redis_reply_integer(redis_reply_at(reply, 3));
    if (known > 0) {
        workflow->element_count = known;
        workflow->elements = elements = read_elements(texts, jobs, known, owner, values);
    }
    if (reading->with_jobs) {
        workflow->open_count = redis_reply_size(open) / OPEN_PARTS;
        workflow->open = opened = read_open(open, workflow->open_count, owner, values);
    }
    /* Without its settings, a run would continue as another one. */
    reading->fn(reading->arg, values->lacks_key ? STATUS_UNAVAILABLE : STATUS_OK,
                values->lacks_key ? NULL : workflow);
    free(elements);
    free(opened);
}

static void on_read(struct store_call *call, enum status status, const struct redis_reply *reply)
{
    struct reading *reading = call->arg;
    struct workflow workflow = {.id = reading->id};
    if (status == STATUS_OK && redis_reply_size(reply) < 7)
        status = redis_reply_size(reply) == 1 ? STATUS_NOT_FOUND : reply_refuse("workflow");
    else if (status == STATUS_OK &&
             !read_fields(redis_reply_at(reply, 1), reading, &call->secrets, &workflow))
        status = reply_refuse("workflow");
    if (status == STATUS_OK)
        reading_end(reading, reply, &call->secrets, &workflow);
    else
        reading->fn(reading->arg, status == STATUS_NOT_FOUND ? status : STATUS_UNAVAILABLE, NULL);
    free(reading);
}

void workflow_read(struct store *store, const struct workflow_query *query, workflow_read_fn *fn, void *arg)
{
    struct shard *shard = store_shard_of(store, query->id);
    struct reading *reading = NEW(struct reading);
    struct store_call *call = store_call_alone(shard, SCRIPT_WORKFLOW, shard->reads, on_read, NULL, reading);
    *reading = (struct reading){query->id, query->hook, query->with_jobs, fn, arg};
    store_call_text(call, query->id);
    if (query->made_ms)
        store_call_number(call, query->made_ms);
    else
        store_call_text(call, SLICE(""));
    store_call_text(call, query->with_jobs ? SLICE("1") : SLICE("0"));
    store_call_number(call, query->texts_max ? (int64_t)query->texts_max : -1);
    store_call_send(call);
}

/* ---- pages ---- */

struct listing {
    struct store *store;
    struct workflow_list list; /* from.shard is the shard of the current call */
    workflow_list_fn *fn;
    void *arg;
};

static void listing_ask(struct listing *);

/* Reads {state, createdAt, endedAt, first, failedBy, result, settings}. */
static bool read_item(const struct redis_reply *reply, size_t at, struct sealed_values *secrets,
                      struct workflow *workflow)
{
    char room[WORKFLOW_SEAL_MAX];
    struct slice owner = workflow_seal_owner(redis_reply_text(redis_reply_at(reply, at)), room);
    const struct redis_reply *values = redis_reply_at(reply, at + 1);
    *workflow = (struct workflow){
        .ended_ms = redis_reply_integer(redis_reply_at(values, 2)),
        .first_job = redis_reply_text(redis_reply_at(values, 3)),
        .failed_by = redis_reply_text(redis_reply_at(values, 4)),
        .result = sealed_values_open(secrets, owner, redis_reply_text(redis_reply_at(values, 5))),
        .settings = sealed_values_open(secrets, owner, redis_reply_text(redis_reply_at(values, 6))),
        .open_count = (size_t)redis_reply_integer(redis_reply_at(reply, at + 2)),
        .element_count = (size_t)redis_reply_integer(redis_reply_at(reply, at + 3))};
    return read_state(redis_reply_text(redis_reply_at(values, 0)), &workflow->state) &&
           workflow_place_parse(redis_reply_text(redis_reply_at(reply, at)), &workflow->id,
                                &workflow->made_ms);
}

static struct workflow_cursor next_of(const struct listing *listing, struct slice looked)
{
    size_t shard = listing->list.from.shard;
    if (looked.size)
        return (struct workflow_cursor){.shard = shard, .place = looked};
    bool has_next_shard = listing->list.owner.size == 0 && shard + 1 < store_shards(listing->store);
    return (struct workflow_cursor){.shard = has_next_shard ? shard + 1 : 0};
}

static void on_page(struct store_call *call, enum status status, const struct redis_reply *reply)
{
    struct listing *listing = call->arg;
    struct workflow workflows[WORKFLOW_PAGE_MAX];
    struct workflow_cursor next = {.shard = 0};
    size_t count = 0;
    if (status == STATUS_OK && redis_reply_size(reply) < FIRST_OF_PAGE)
        status = reply_refuse("workflow_list");
    if (status == STATUS_OK) {
        next = next_of(listing, redis_reply_text(redis_reply_at(reply, 1)));
        for (size_t at = FIRST_OF_PAGE; at + PARTS <= redis_reply_size(reply) && count < WORKFLOW_PAGE_MAX;
             at += PARTS)
            count += read_item(reply, at, &call->secrets, &workflows[count]);
    }
    if (status == STATUS_OK && count == 0 && next.shard > listing->list.from.shard) {
        listing->list.from = next;
        listing_ask(listing);
        return;
    }
    listing->fn(listing->arg, status == STATUS_OK ? status : STATUS_UNAVAILABLE, workflows, count, next);
    free(listing);
}

static void listing_ask(struct listing *listing)
{
    const struct workflow_list *list = &listing->list;
    struct shard *shard = store_shard(listing->store, list->from.shard);
    struct store_call *call =
        store_call_alone(shard, SCRIPT_WORKFLOW_LIST, shard->reads, on_page, NULL, listing);
    store_call_text(call, list->owner);
    store_call_text(call, list->prefix);
    store_call_text(call, list->has_state ? states[list->state] : SLICE(""));
    store_call_text(call, list->from.place);
    store_call_number(call, list->max < WORKFLOW_PAGE_MAX ? (int64_t)list->max : WORKFLOW_PAGE_MAX);
    store_call_number(call, LOOKS_MAX);
    store_call_send(call);
}

void workflow_list(struct store *store, const struct workflow_list *list, workflow_list_fn *fn, void *arg)
{
    struct listing *listing = NEW(struct listing);
    *listing = (struct listing){.store = store, .list = *list, .fn = fn, .arg = arg};
    if (list->owner.size)
        listing->list.from.shard = store_shard_of(store, list->owner)->number;
    assert(listing->list.from.shard < store_shards(store));
    listing_ask(listing);
}
