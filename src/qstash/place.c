#include "qstash/place.h"

#include "qstash/message_id.h"

void place_find(struct app *app, const struct app_caller *caller, struct slice queue,
                const struct settings_flow *flow, place_fn *fn, void *arg)
{
    (void)app;
    (void)caller;
    (void)queue;
    (void)flow;
    fn(arg, &(struct app_verdict){.end = APP_DONE}, SLICE(QSTASH_TOPIC_MESSAGES));
}
