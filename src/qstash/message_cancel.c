#include "qstash/message_cancel.h"

#include "app/jobs.h"
#include "base/memory.h"

/* A message that is being cancelled. */
struct cancelling {
    char room[MESSAGE_KEY_SIZE];
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
    return verdict->end == STATUS_OK &&
           (state == JOB_STATE_DELAYED || state == JOB_STATE_READY || state == JOB_STATE_LEASED);
}

static void on_cancelled(void *arg, const struct app_verdict *verdict)
{
    static const struct app_verdict not_found = {.end = STATUS_NOT_FOUND};
    bool is_dead = verdict->end == STATUS_STALE; /* only a dead message has this id */
    cancelling_end(arg, is_dead ? &not_found : verdict);
}

void message_cancel(struct app *app, const struct app_caller *caller, struct slice message_id,
                    app_verdict_fn *fn, void *arg)
{
    struct cancelling *cancelling = NEW(struct cancelling);
    *cancelling = (struct cancelling){.fn = fn, .arg = arg};
    struct slice key = message_id_key(message_id, cancelling->room);
    if (key.size)
        app_cancel(app, caller, key, SLICE(JOB_TAGS_ALIVE), on_cancelled, cancelling);
    else
        cancelling_end(cancelling, &(struct app_verdict){.end = STATUS_NOT_FOUND});
}
