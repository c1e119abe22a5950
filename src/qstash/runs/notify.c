/* notify.c - POST /v2/notify/{eventId} and /v2/notify/{runId}/{eventId}: ends the waits of runs for an event.
 * A request to a webhook of a run also ends a wait. Also GET /v2/waiters/{eventId}. */
#include "base/encoding.h"
#include "base/memory.h"
#include "qstash/qstash_private.h"
#include "qstash/runs/runs.h"

enum {
    ROUNDS_MAX = 1000, /* maximum number of rounds, with WORKFLOW_WAITERS_MAX waiters each */
    SHOWN_MAX = 100,   /* maximum number of waiters for an event in the answer of /v2/waiters */
    ANSWER_MAX = 16 * 1024 * 1024,
    TOLD_MAX = 4 * WAITER_MAX,    /* maximum size of a waiter in the answer */
    HOOK_HEADERS_MAX = 64 * 1024, /* room for method, headers and address */
    NEXT_MAX = 4096,              /* room for the place where a page of waiters begins */
};

/* One waiter of a round. */
struct notice {
    struct notifying *notifying;
    struct buffer job, text, decoded;
    struct waiter waiter;
    char key[RUN_KEY_SIZE];
    struct run run;
    bool has_run, is_made;
    struct run_step step;
};

/* A round: reads a page of waiters ─▶ reads the run of each waiter, and creates the run's next step ─▶
 * notifies these waiters. Rounds follow until the last page. Waiters that cannot be read are skipped. If the
 * event is for one run, the last round keeps the event, unless a waiter has got it.
 *
 * A request to a webhook ends only waits for this webhook. In versions before 0.3, the event of such a wait
 * had no special name. So the first round looks for waits that these versions have stored. */
struct notifying {
    struct exchange *exchange;
    struct slice event, run_id, data; /* run_id empty: all runs */
    /* is_hook: this is a request to a webhook. is_old: this round looks for waits of versions before 0.3. */
    bool is_hook, is_old;
    struct buffer next; /* where the next page begins; empty: this page is the last one */
    bool has_told;      /* a waiter has got the event */
    bool has_skipped;   /* a page had a waiter that could not be read */
    const char *fault;  /* why a step of this round could not be created now, or NULL */
    struct buffer hook; /* name of the event for which a run waits at this webhook */
    char key[RUN_KEY_SIZE];
    struct buffer kept; /* the event as it is kept if no run waits for it: the letter d, then the data */
    struct notice *notices;
    size_t count, pending, rounds;
    struct workflow_notice sent[WORKFLOW_WAITERS_MAX]; /* sent[i] belongs to made[i] */
    const struct notice *made[WORKFLOW_WAITERS_MAX];
    size_t made_count;
    struct buffer body;
    struct json_writer json;
};

static void notify_round(struct notifying *);

static void notices_free(struct notifying *notifying)
{
    for (size_t i = 0; i < notifying->count; i++) {
        struct notice *notice = &notifying->notices[i];
        if (notice->has_run)
            run_fini(&notice->run);
        run_step_fini(&notice->step);
        buffer_fini(&notice->job);
        buffer_fini(&notice->text);
        buffer_fini(&notice->decoded);
    }
    free(notifying->notices);
    notifying->notices = NULL;
    notifying->count = 0;
}

static void notifying_free(void *arg)
{
    struct notifying *notifying = arg;
    notices_free(notifying);
    buffer_fini(&notifying->kept);
    buffer_fini(&notifying->body);
    buffer_fini(&notifying->hook);
    buffer_fini(&notifying->next);
    free(notifying);
}

/* ---- the end of a round ---- */

static void notify_answer(struct notifying *notifying)
{
    struct buffer *body = exchange_scratch(notifying->exchange);
    if (notifying->is_hook) { /* without a token, the caller gets nothing about the run */
        exchange_answer_as(notifying->exchange, 200, SLICE(""), NULL, 0, SLICE(""));
        return;
    }
    json_end_array(&notifying->json);
    buffer_append(body,
                  buffer_slice(&notifying->body)); /* copied, because notifying is freed with the exchange */
    exchange_answer(notifying->exchange, 201, NULL, 0, buffer_slice(body));
}

/* Answers that the request failed before its last round was done. */
static void notify_refuse(struct notifying *notifying, struct slice why)
{
    exchange_refuse(notifying->exchange, 503, "%.*s; %s", SLICE_ARG(why),
                    notifying->has_told
                        ? "some waiters already have the event: repeat the request for the others"
                        : "nothing changed");
}

static void notify_next(struct notifying *notifying)
{
    notices_free(notifying);
    if (++notifying->rounds < ROUNDS_MAX)
        notify_round(notifying);
    else
        notify_answer(notifying);
}

/* Begins again with the first page. */
static void notify_again(struct notifying *notifying)
{
    buffer_clear(&notifying->next);
    notifying->has_skipped = false;
    notify_next(notifying);
}

/* Called when a page is done. After the last page with waits of versions before 0.3, the normal rounds
 * follow, unless a wait has ended. */
static void notify_end_page(struct notifying *notifying)
{
    if (notifying->next.size) {
        notify_next(notifying);
    } else if (notifying->is_old && !notifying->has_told) {
        notifying->is_old = false;
        notifying->event = buffer_slice(&notifying->hook);
        notify_again(notifying);
    } else {
        notify_answer(notifying);
    }
}

static void on_notified(void *arg, const struct app_verdict *verdict, const bool *was_waiting)
{
    struct notifying *notifying = arg;
    if (verdict->end == STATUS_STALE && notifying->has_skipped && notifying->made_count == 0) {
        notify_refuse(notifying, SLICE("the waits for this event cannot be read"));
    } else if (verdict->end == STATUS_STALE) {
        notify_again(notifying);
    } else if (verdict->end == STATUS_NOT_FOUND) {
        notify_answer(notifying); /* the run has ended, so the event is dropped */
    } else if (verdict->end == STATUS_UNAVAILABLE) {
        notify_refuse(notifying, verdict->why);
    } else if (verdict->end != STATUS_OK) {
        answer_refuse_verdict(notifying->exchange, verdict);
    } else {
        for (size_t i = 0; i < notifying->made_count; i++) {
            struct json_writer *json = &notifying->json;
            const struct notice *notice = notifying->made[i];
            /* A waiter for which the answer has no room is left out. */
            if (was_waiting[i] && json->out->size <= ANSWER_MAX - TOLD_MAX) {
                json_put_object(json);
                json_put_name(json, "waiter");
                waiter_put(&notice->waiter, json);
                json_add_text(json, "messageId", notice->step.job.job_id);
                json_add_raw(json, "error", SLICE("null")); /* the Go client fails if this is a string */
                json_add_text(json, "workflowRunId", notice->waiter.run_id);
                json_add_number(json, "workflowCreatedAt", notice->waiter.created_ms);
                json_end_object(json);
            }
            notifying->has_told |= was_waiting[i];
        }
        notify_end_page(notifying);
    }
}

static void notify_all(struct notifying *notifying)
{
    bool is_last = notifying->next.size == 0 && !notifying->is_old;
    bool keeps_event = notifying->run_id.size > 0 && is_last && !notifying->has_told;
    notifying->made_count = 0;
    for (size_t i = 0; i < notifying->count; i++) {
        const struct notice *notice = &notifying->notices[i];
        if (!notice->is_made)
            continue;
        size_t at = notifying->made_count++;
        notifying->made[at] = notice;
        notifying->sent[at] = (struct workflow_notice){buffer_slice(&notice->job), notice->step.entry};
    }
    notifying->has_skipped |= notifying->made_count < notifying->count;
    if (notifying->fault) {
        notify_refuse(notifying, slice_of(notifying->fault));
        return;
    }
    if (notifying->made_count == 0 && !keeps_event) {
        notify_end_page(notifying);
        return;
    }
    const struct workflow_notify notify = {
        .owner = SLICE(QSTASH_TOPIC),
        .event = notifying->event,
        .id = keeps_event ? slice_of(notifying->key) : SLICE(""),
        .data = keeps_event ? buffer_slice(&notifying->kept) : SLICE(""),
        .notices = notifying->sent,
        .count = notifying->made_count,
    };
    app_workflow_notify(app_of(notifying->exchange), &notify, on_notified, notifying);
}

static void notify_end_one(struct notifying *notifying)
{
    if (--notifying->pending == 0)
        notify_all(notifying);
}

/* ---- the steps ---- */

static void on_run(void *arg, const struct app_verdict *verdict, const struct workflow *workflow)
{
    struct notice *notice = arg;
    bool is_active = verdict->end == STATUS_OK && workflow->state == WORKFLOW_ACTIVE;
    if (verdict->end != STATUS_OK && verdict->end != STATUS_NOT_FOUND)
        notice->notifying->fault = "the runs that wait cannot be read now";
    notice->has_run = is_active && run_read(workflow->settings, workflow->made_ms, &notice->run);
    if (notice->has_run) {
        struct buffer body;
        const struct waiter *waiter = &notice->waiter;
        buffer_init_fallible(&body, JOB_RECORD_MAX);
        waiter_write_step(waiter, &notice->notifying->data, &body);
        const struct run_notice step = {.id = waiter->run_id,
                                        .url = waiter->url,
                                        .headers = waiter->timeout_headers,
                                        .body = buffer_slice(&body)};
        notice->is_made =
            !body.failed && !run_step_make_notice(&notice->step, &notice->run, &step,
                                                  app_now_ms(app_of(notice->notifying->exchange)));
        if (body.failed || notice->step.texts.base64.failed || notice->step.stored.failed ||
            notice->step.element.failed)
            notice->notifying->fault = "there is no memory for the steps";
        buffer_fini(&body);
    }
    notify_end_one(notice->notifying);
}

static void copy_text(struct buffer *copy, struct slice text)
{
    buffer_init(copy, text.size + 1);
    buffer_append(copy, text);
}

static void on_waiters(void *arg, const struct app_verdict *verdict, const struct workflow_waiter *waiters,
                       size_t count, struct slice next)
{
    struct notifying *notifying = arg;
    if (verdict->end != STATUS_OK) {
        notify_refuse(notifying, verdict->why);
        return;
    }
    buffer_clear(&notifying->next);
    buffer_append(&notifying->next, next);
    notifying->notices = NEW_ARRAY(struct notice, count + 1);
    notifying->count = count;
    notifying->pending = count + 1;
    for (size_t i = 0; i < count; i++) {
        struct notice *notice = &notifying->notices[i];
        notice->notifying = notifying;
        const struct workflow_waiter *waiter = &waiters[i];
        copy_text(&notice->job, waiter->job);
        copy_text(&notice->text, waiter->text);
        run_step_init(&notice->step);
        buffer_init(&notice->decoded, waiter->text.size + 1);
        /* The buffer must not move later, because slices point into it. */
        buffer_reserve(&notice->decoded, waiter->text.size);
        bool is_read = waiter_read(buffer_slice(&notice->text), &notice->waiter, &notice->decoded) &&
                       notice->waiter.run_id.size <= RUN_ID_MAX;
        bool is_meant = is_read && (!notifying->is_hook || waiter_is_of_webhook(&notice->waiter));
        if (is_meant)
            app_workflow_read(app_of(notifying->exchange), run_key(notice->waiter.run_id, notice->key), false,
                              on_run, notice);
        else
            notify_end_one(notifying);
    }
    notify_end_one(notifying);
}

static void notify_round(struct notifying *notifying)
{
    const struct workflow_waiters_query query = {
        .owner = SLICE(QSTASH_TOPIC),
        .event = notifying->event,
        .id = notifying->run_id.size ? slice_of(notifying->key) : SLICE(""),
        .from = buffer_slice(&notifying->next),
        .max = WORKFLOW_WAITERS_MAX,
    };
    app_workflow_waiters(app_of(notifying->exchange), &query, on_waiters, notifying);
}

/* The caller appends the data of the event to kept, and then calls notify_start. room: maximum size of this
 * data. */
static struct notifying *notifying_new(struct exchange *exchange, struct slice run_id, struct slice event,
                                       size_t room)
{
    struct notifying *notifying = NEW(struct notifying);
    notifying->exchange = exchange;
    notifying->event = event;
    notifying->run_id = run_id;
    buffer_init(&notifying->body, ANSWER_MAX);
    buffer_init(&notifying->hook, WAITER_EVENT_MAX);
    buffer_init(&notifying->next, NEXT_MAX);
    buffer_init_fallible(&notifying->kept, room + 1);
    notifying->json = json_writer_to(&notifying->body);
    exchange_keep(exchange, notifying, notifying_free);
    buffer_append_byte(&notifying->kept,
                       'd'); /* a letter before the data, because a kept event must not be empty */
    return notifying;
}

static void notify_start(struct notifying *notifying)
{
    notifying->data = slice_skip(buffer_slice(&notifying->kept), 1);
    run_key(notifying->run_id, notifying->key);
    json_put_array(&notifying->json);
    if (notifying->kept.failed)
        exchange_refuse(notifying->exchange, 503, "there is no memory for the event; nothing changed");
    else
        notify_round(notifying);
}

static void notify_with_body(struct exchange *exchange, struct slice run_id, struct slice event)
{
    struct slice data = http_request_body(exchange->request);
    struct notifying *notifying = notifying_new(exchange, run_id, event, data.size + 1);
    buffer_append(&notifying->kept, data);
    notify_start(notifying);
}

HANDLER(notify_handle)
{
    notify_with_body(exchange, SLICE(""), exchange->key);
}

HANDLER(notify_run_handle)
{
    struct slice run_id, event;
    slice_cut(exchange->key, '/', &run_id, &event);
    if (run_id.size == 0 || run_id.size > RUN_ID_MAX || event.size == 0)
        exchange_refuse(exchange, 400, "the path must be /v2/notify/<runId>/<eventId>");
    else
        notify_with_body(exchange, run_id, event);
}

/* ---- webhooks ---- */

/* The headers of a request to a webhook, while they are written as JSON. Headers with the same name become
 * one member, as the client expects. */
struct hook_headers {
    struct json_writer *json;
    const struct http_request *request;
    struct slice name; /* name of the member that is being written; empty: none */
    struct slice seen[JOB_HEADERS_MAX];
    size_t seen_count;
};

static void put_value(void *arg, struct slice name, struct slice value)
{
    struct hook_headers *headers = arg;
    if (slice_equal_nocase(name, headers->name))
        json_put_text(headers->json, value);
}

static void put_header(void *arg, struct slice name, struct slice value)
{
    struct hook_headers *headers = arg;
    (void)value;
    for (size_t i = 0; i < headers->seen_count; i++)
        if (slice_equal_nocase(headers->seen[i], name))
            return;
    if (headers->seen_count == JOB_HEADERS_MAX)
        return;
    headers->seen[headers->seen_count++] = name;
    headers->name = name;
    json_put_name_text(headers->json, name);
    json_put_array(headers->json);
    http_request_each_header(headers->request, put_value, headers);
    json_end_array(headers->json);
}

/* Cuts <userId>/<runId>/<eventId>. */
static void cut_hook(struct slice path, struct slice *run_id, struct slice *event)
{
    struct slice user, rest;
    slice_cut(path, '/', &user, &rest);
    slice_cut(rest, '/', run_id, event);
}

/* A look at a run, before the body of a request to one of its webhooks is read. */
struct hook_look {
    struct exchange *exchange;
    char key[RUN_KEY_SIZE];
    char hook[WAITER_EVENT_MAX];
};

static void on_looked(void *arg, const struct app_verdict *verdict, const struct workflow *workflow)
{
    struct hook_look *look = arg;
    struct exchange *exchange = look->exchange;
    struct run run;
    bool has_hook = workflow && workflow->state == WORKFLOW_ACTIVE && workflow->has_hook;
    /* Versions before 0.3 did not note the webhooks of a run. */
    if (workflow && workflow->state == WORKFLOW_ACTIVE && !has_hook &&
        run_read(workflow->settings, workflow->made_ms, &run)) {
        has_hook = !run.knows_hooks;
        run_fini(&run);
    }
    if (verdict->end != STATUS_OK && verdict->end != STATUS_NOT_FOUND)
        exchange_refuse(exchange, 503, "%.*s; nothing changed", SLICE_ARG(verdict->why));
    else if (!has_hook)
        exchange_refuse(exchange, 404, "no active run has this webhook");
    else {
        exchange_keep(exchange, NULL, NULL);
        free(look);
        exchange_proceed(exchange);
    }
}

/* A request to a webhook needs no token: its address is secret, because the client makes the event's id at
 * random. Requests to other addresses are refused here, so they cannot take the room of those with tokens. */
HANDLER(hook_admit)
{
    struct slice run_id, event;
    cut_hook(exchange->key, &run_id, &event);
    if (run_id.size == 0 || run_id.size > RUN_ID_MAX || event.size == 0) {
        exchange_refuse(exchange, 400, "the path must be /v2/workflows/hooks/<userId>/<runId>/<eventId>");
        return;
    }
    struct hook_look *look = NEW(struct hook_look);
    struct buffer hook = buffer_of(look->hook, sizeof look->hook);
    look->exchange = exchange;
    exchange_keep(exchange, look, free);
    waiter_write_webhook(event, &hook);
    const struct workflow_query query = {.id = run_key(run_id, look->key), .hook = buffer_slice(&hook)};
    app_workflow_find(app_of(exchange), &query, on_looked, look);
}

HANDLER(hook_handle)
{
    struct slice run_id, event;
    cut_hook(exchange->key, &run_id, &event);
    size_t room = 2 * http_request_body(exchange->request).size + HOOK_HEADERS_MAX;
    struct notifying *notifying = notifying_new(exchange, run_id, event, room);
    notifying->is_hook = notifying->is_old = true;
    waiter_write_webhook(event, &notifying->hook);
    /* the request that came to the webhook */
    struct buffer *text = &notifying->kept;
    const struct http_request *request = exchange->request;
    struct json_writer json = json_writer_to(text);
    struct hook_headers headers = {.json = &json, .request = request};
    json_put_object(&json);
    json_add_text(&json, "method", http_request_method(request));
    json_add_object(&json, "header");
    http_request_each_header(request, put_header, &headers);
    json_end_object(&json);
    json_put_name(&json, "body");
    buffer_append_byte(json_put(&json), '"');
    base64_append(text, http_request_body(request));
    buffer_append_byte(text, '"');
    json_add_text(&json, "proto", SLICE("http"));
    json_add_text(&json, "host", http_request_header(request, "Host"));
    json_add_text(&json, "url", http_request_target(request));
    json_end_object(&json);
    notify_start(notifying);
}

/* ---- /v2/waiters ---- */

/* Writes a waiter. Returns false if it cannot be read. */
static bool put_waiter(struct json_writer *json, struct slice text)
{
    struct waiter waiter;
    struct buffer decoded;
    buffer_init(&decoded, text.size + 1);
    buffer_reserve(&decoded, text.size); /* the buffer must not move later, because slices point into it */
    bool is_read = waiter_read(text, &waiter, &decoded);
    if (is_read)
        waiter_put(&waiter, json);
    buffer_fini(&decoded);
    return is_read;
}

/* A list of waiters. First, the waiters for the event with this name are read, page by page until SHOWN_MAX
 * of them are in the list, then in the same way the waiters for the webhook with this name. */
struct waiter_list {
    struct exchange *exchange;
    struct buffer hook, next, body;
    struct json_writer json;
    bool has_hooks; /* the waiters for the webhook are being read, or are in the list already */
    size_t shown, rounds;
};

static void waiter_list_free(void *arg)
{
    struct waiter_list *list = arg;
    buffer_fini(&list->hook);
    buffer_fini(&list->next);
    buffer_fini(&list->body);
    free(list);
}

static void waiter_list_read(struct waiter_list *);

static void on_all_waiters(void *arg, const struct app_verdict *verdict,
                           const struct workflow_waiter *waiters, size_t count, struct slice next)
{
    struct waiter_list *list = arg;
    struct exchange *exchange = list->exchange;
    if (verdict->end != STATUS_OK) {
        answer_refuse_verdict(exchange, verdict);
        return;
    }
    for (size_t i = 0; i < count && list->shown < SHOWN_MAX; i++)
        list->shown += put_waiter(&list->json, waiters[i].text);
    buffer_clear(&list->next);
    buffer_append(&list->next, next);
    if (next.size && list->shown < SHOWN_MAX && ++list->rounds < ROUNDS_MAX) {
        waiter_list_read(list);
        return;
    }
    if (!list->has_hooks) {
        list->has_hooks = true;
        list->shown = list->rounds = 0;
        buffer_clear(&list->next);
        waiter_list_read(list);
        return;
    }
    json_end_array(&list->json);
    struct buffer *body = exchange_scratch(exchange);
    buffer_append(body, buffer_slice(&list->body)); /* copied, because list is freed with the exchange */
    exchange_answer(exchange, 200, NULL, 0, buffer_slice(body));
}

static void waiter_list_read(struct waiter_list *list)
{
    const struct workflow_waiters_query query = {
        .owner = SLICE(QSTASH_TOPIC),
        .event = list->has_hooks ? buffer_slice(&list->hook) : list->exchange->key,
        .from = buffer_slice(&list->next),
        .max = WORKFLOW_WAITERS_MAX,
    };
    app_workflow_waiters(app_of(list->exchange), &query, on_all_waiters, list);
}

HANDLER(waiters_handle)
{
    struct waiter_list *list = NEW(struct waiter_list);
    list->exchange = exchange;
    buffer_init(&list->hook, WAITER_EVENT_MAX);
    buffer_init(&list->next, NEXT_MAX);
    buffer_init(&list->body, ANSWER_MAX);
    waiter_write_webhook(exchange->key, &list->hook);
    list->json = json_writer_to(&list->body);
    json_put_array(&list->json);
    exchange_keep(exchange, list, waiter_list_free);
    waiter_list_read(list);
}
