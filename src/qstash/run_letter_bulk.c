#include "qstash/run_letter_bulk.h"

#include "base/memory.h"
#include "qstash/handler.h"

struct action {
    struct bulk *bulk;
    run_letter_act_fn *act;
};

/* Returns whether the failure callback has one of the requested states. */
static bool has_state(const struct bulk *bulk, struct slice state)
{
    struct slice word;
    bool is_asked = false;
    for (size_t at = 0; (word = filters_next(&bulk->filters, FILTER_FAILURE_STATE, &at)).size;) {
        is_asked = true;
        if (slice_equal(word, state))
            return true;
    }
    return !is_asked;
}

/* Returns whether the request has ids, which override the filters. */
static bool has_ids(const struct bulk *bulk)
{
    return bulk->filters.given & 1U << FILTER_DLQ_ID;
}

static void action_on_letter(void *arg, struct run_letter *letter, bool is_known)
{
    struct action *action = arg;
    struct bulk *bulk = action->bulk;
    if (!is_known)
        bulk_end_one(bulk, APP_UNKNOWN);
    else if (!letter->is_there)
        bulk_end_one(bulk, APP_NOT_FOUND);
    else if (!has_ids(bulk) && !has_state(bulk, letter->state))
        bulk_skip_one(bulk);
    else
        action->act(bulk, letter);
    free(action);
}

void run_letter_act(struct bulk *bulk, struct slice message_id, run_letter_act_fn *act)
{
    struct action *action = NEW(struct action);
    action->bulk = bulk;
    action->act = act;
    run_letter_read(app_of(bulk->exchange), message_id, action_on_letter, action);
}
