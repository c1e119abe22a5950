#include "qstash/message_cancel.h"
#include "qstash/answer.h"

#include "app/jobs.h"
#include "base/memory.h"

enum { TRIES_MAX = 10 }; /* maximum number of tries if the message changes each time */

/* A message that is being cancelled. It is read first. The message is cancelled only if it has not changed
 * since it was read. If it has changed, for example because an attempt has ended, it is read again. */
struct cancelling {
    struct app *app;
    const struct app_caller *caller;
    char room[MESSAGE_KEY_SIZE], tag[JOB_TAG_SIZE];
    struct slice key;
    int tries;
    app_verdict_fn *fn;
    void *arg;
};

static void cancelling_end(struct cancelling *cancelling, const struct app_verdict *verdict)
{
    cancelling->fn(cancelling->arg, verdict);
    free(cancelling);
}

bool message_is_alive(const struct app_verdict *verdict)
{
    enum job_state state = verdict->job.state;
    return verdict->end == APP_DONE &&
           (state == JOB_STATE_DELAYED || state == JOB_STATE_READY || state == JOB_STATE_LEASED);
}

static void on_read(void *arg, const struct app_verdict *);

static void on_cancelled(void *arg, const struct app_verdict *verdict)
{
    struct cancelling *cancelling = arg;
    if (verdict->end == APP_MISMATCH && ++cancelling->tries < TRIES_MAX)
        app_read(cancelling->app, cancelling->key, on_read, cancelling);
    else if (verdict->end == APP_MISMATCH)
        cancelling_end(cancelling, &(struct app_verdict){
                                       .end = APP_CONTENDED,
                                       .why = SLICE("other requests keep changing the message; try again")});
    else
        cancelling_end(cancelling, verdict);
}

static void on_read(void *arg, const struct app_verdict *verdict)
{
    struct cancelling *cancelling = arg;
    if (message_is_alive(verdict)) {
        app_job_tag(&verdict->job, cancelling->tag);
        app_cancel(cancelling->app, cancelling->caller, cancelling->key, slice_of(cancelling->tag),
                   on_cancelled, cancelling);
    } else if (answer_is_known(verdict)) {
        cancelling_end(cancelling, &(struct app_verdict){.end = APP_NOT_FOUND});
    } else {
        cancelling_end(cancelling, verdict);
    }
}

void message_cancel(struct app *app, const struct app_caller *caller, struct slice message_id,
                    app_verdict_fn *fn, void *arg)
{
    struct cancelling *cancelling = NEW(struct cancelling);
    *cancelling = (struct cancelling){.app = app, .caller = caller, .fn = fn, .arg = arg};
    cancelling->key = message_id_key(message_id, cancelling->room);
    if (cancelling->key.size)
        app_read(app, cancelling->key, on_read, cancelling);
    else
        cancelling_end(cancelling, &(struct app_verdict){.end = APP_NOT_FOUND});
}
