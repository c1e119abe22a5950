/* bulk_cancel.c - DELETE /v2/messages: cancels the messages with these ids, or those that the filters find. A
 * message that has ended meanwhile is skipped. */
#include "qstash/bulk.h"
#include "qstash/handler.h"
#include "qstash/message_cancel.h"

static void on_cancelled(void *arg, const struct app_verdict *verdict)
{
    bulk_end_one(arg, verdict->end);
}

static void bulk_cancel_one(struct bulk *bulk, struct slice message_id)
{
    message_cancel(app_of(bulk->exchange), &bulk->exchange->caller, message_id, on_cancelled, bulk);
}

static void answer_cancelled(struct bulk *bulk)
{
    bulk_answer_count(bulk, "cancelled");
}

HANDLER(messages_cancel_handle)
{
    static const struct bulk_kind kind = {
        .accepted = FILTERS_OF_MESSAGES | 1U << FILTER_COUNT | 1U << FILTER_CURSOR | 1U << FILTER_FROM |
                    1U << FILTER_TO,
        .ids = FILTER_MESSAGE_ID,
        .states = 1U << JOB_STATE_DELAYED | 1U << JOB_STATE_READY | 1U << JOB_STATE_LEASED,
        .act = bulk_cancel_one,
        .answer = answer_cancelled,
    };
    bulk_begin(exchange, &kind);
}
