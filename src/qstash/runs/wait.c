/* wait.c - POST /v2/wait/{eventId}: a run waits for an event, or takes an event that was kept for it. */
#include "base/memory.h"
#include "job/text/sealed.h"
#include "qstash/qstash_private.h"
#include "qstash/runs/runs.h"

enum { ROUNDS_MAX = 10 /* maximum number of tries while other requests change the kept event */ };

/* Steps: read the run ─▶ create the job for the deadline ─▶ store the wait ─▶ (if an event was kept: create
 * the job for this event ─▶ store the wait again) */
struct waiting {
    struct exchange *exchange;
    struct message_settings settings;
    struct waiter waiter;
    int64_t timeout_ms;
    char key[RUN_KEY_SIZE];
    struct run run;
    bool has_run;
    struct run_step deadline, with_kept;
    struct buffer decoded, text, kept, event;
    int rounds;
};

static void waiting_free(void *arg)
{
    struct waiting *waiting = arg;
    message_settings_fini(&waiting->settings);
    if (waiting->has_run)
        run_fini(&waiting->run);
    run_step_fini(&waiting->deadline);
    run_step_fini(&waiting->with_kept);
    buffer_fini(&waiting->decoded);
    buffer_fini(&waiting->text);
    buffer_fini(&waiting->kept);
    buffer_fini(&waiting->event);
    free(waiting);
}

static void wait_begin(struct waiting *);

static void refuse_inactive(const struct waiting *waiting)
{
    exchange_refuse(waiting->exchange, 400, "the workflow run %.*s is not active",
                    SLICE_ARG(waiting->settings.run.id));
}

/* Creates a step that ends the wait. data: the data of the event; NULL: the deadline has come. */
static const char *make_step(struct waiting *waiting, struct run_step *step, struct slice url,
                             const struct slice *data)
{
    struct buffer body;
    buffer_init_fallible(&body, JOB_RECORD_MAX);
    waiter_write_step(&waiting->waiter, data, &body);
    const struct run_notice notice = {.id = waiting->waiter.run_id,
                                      .url = url,
                                      .headers = waiting->waiter.timeout_headers,
                                      .body = buffer_slice(&body)};
    const char *fault = body.failed ? "there is no memory for the step"
                                    : run_step_make_notice(step, &waiting->run, &notice,
                                                           app_now_ms(app_of(waiting->exchange)));
    buffer_fini(&body);
    return fault;
}

static void on_waiting(void *arg, const struct app_verdict *verdict, struct slice kept)
{
    struct waiting *waiting = arg;
    if (verdict->end == STATUS_STALE) {
        /* Another request has taken the event that this request had read. Tries again with the event that is
         * kept now. */
        struct sealed_values opened = {.blocks = NULL};
        char room[WORKFLOW_SEAL_MAX];
        struct slice owner = workflow_seal_owner(slice_of(waiting->key), room);
        struct slice data = slice_skip(sealed_values_open(&opened, owner, kept), 1);
        run_step_fini(&waiting->with_kept);
        run_step_init(&waiting->with_kept);
        buffer_fini(&waiting->kept);
        buffer_init_fallible(&waiting->kept, kept.size + 1);
        buffer_append(&waiting->kept, kept);
        const char *fault = waiting->kept.failed
                                ? "there is no memory for the event"
                                : make_step(waiting, &waiting->with_kept, waiting->waiter.url, &data);
        if (opened.has_shut)
            fault = "the server lacks the key with which an event is encrypted";
        sealed_values_fini(&opened);
        if (fault)
            exchange_refuse(waiting->exchange, 503, "%s; nothing changed", fault);
        else if (++waiting->rounds > ROUNDS_MAX)
            exchange_refuse(waiting->exchange, 503, "other requests change the events of the run; try again");
        else
            wait_begin(waiting);
    } else if (verdict->end == STATUS_NOT_FOUND) {
        refuse_inactive(waiting);
    } else {
        answer_done(waiting->exchange, verdict);
    }
}

static void wait_begin(struct waiting *waiting)
{
    struct slice kept = buffer_slice(&waiting->kept);
    const struct workflow_wait wait = {.id = slice_of(waiting->key),
                                       .event = buffer_slice(&waiting->event),
                                       .text = buffer_slice(&waiting->text),
                                       .deadline = waiting->deadline.entry,
                                       .kept = kept,
                                       .with_kept = waiting->with_kept.entry};
    app_workflow_wait(app_of(waiting->exchange), &wait, on_waiting, waiting);
}

static void wait_in_run(struct waiting *waiting)
{
    struct waiter *waiter = &waiting->waiter;
    waiter->run_id = waiting->settings.run.id;
    waiter->event_id = waiting->exchange->key;
    if (waiter_is_of_webhook(waiter))
        waiter_write_webhook(waiter->event_id, &waiting->event);
    else
        buffer_append(&waiting->event, waiter->event_id);
    waiter->created_ms = waiting->run.made_ms;
    waiter->deadline_ms = app_now_ms(app_of(waiting->exchange)) + waiting->timeout_ms;
    waiter_write(waiter, &waiting->text);
    const char *fault = make_step(waiting, &waiting->deadline, waiter->timeout_url, NULL);
    if (fault || waiting->text.failed) {
        exchange_refuse(waiting->exchange, 400, "%s", fault ? fault : "the waiter is too large");
        return;
    }
    waiting->deadline.entry.when = (struct job_when){false, waiting->timeout_ms};
    wait_begin(waiting);
}

static void on_run(void *arg, const struct app_verdict *verdict, const struct workflow *workflow)
{
    struct waiting *waiting = arg;
    if (workflow ? workflow->state != WORKFLOW_ACTIVE : verdict->end == STATUS_NOT_FOUND) {
        refuse_inactive(waiting);
    } else if (!workflow) {
        answer_refuse_verdict(waiting->exchange, verdict);
    } else {
        waiting->has_run = run_read(workflow->settings, workflow->made_ms, &waiting->run);
        if (waiting->has_run)
            wait_in_run(waiting);
        else
            exchange_refuse(waiting->exchange, 503,
                            "the settings of the run cannot be read; nothing changed");
    }
}

static void take_header(void *settings, struct slice name, struct slice value)
{
    message_settings_take(settings, name, value);
}

HANDLER(wait_handle)
{
    struct waiting *waiting = NEW(struct waiting);
    struct slice body = http_request_body(exchange->request);
    waiting->exchange = exchange;
    message_settings_init(&waiting->settings);
    run_step_init(&waiting->deadline);
    run_step_init(&waiting->with_kept);
    buffer_init_fallible(&waiting->decoded, body.size + 1);
    buffer_init_fallible(&waiting->text, (size_t)2 * WAITER_MAX);
    buffer_init(&waiting->event, WAITER_EVENT_MAX);
    exchange_keep(exchange, waiting, waiting_free);
    buffer_reserve(&waiting->decoded,
                   body.size); /* the buffer must not move later, because slices point into it */
    http_request_each_header(exchange->request, take_header, &waiting->settings);
    const char *fault = waiter_read_request(body, &waiting->waiter, &waiting->timeout_ms, &waiting->decoded);
    if (waiting->settings.fault[0])
        exchange_refuse(exchange, waiting->settings.fault_status, "%s", waiting->settings.fault);
    else if (waiting->settings.run.id.size == 0)
        exchange_refuse(exchange, 400, "Upstash-Workflow-RunId must name the run that waits");
    else if (fault)
        exchange_refuse(exchange, 400, "%s", fault);
    else
        app_workflow_read(app_of(exchange), run_key(waiting->settings.run.id, waiting->key), false, on_run,
                          waiting);
}
