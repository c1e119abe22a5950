/* run_letters.c - /v2/workflows/dlq, and /v2/dlq?source=workflow: lists, reads and deletes the dead
 * messages that made runs fail. */
#include "qstash/answer.h"
#include "qstash/dead_letter_delete.h"
#include "qstash/message_id.h"
#include "qstash/handler.h"
#include "qstash/run_letter.h"

static void refuse_unknown_letter(struct exchange *exchange)
{
    exchange_refuse(exchange, 404, "dead letter %.*s of a workflow run not found", SLICE_ARG(exchange->key));
}

/* ---- GET of one ---- */

static void answer_letter(void *arg, struct run_letter *letter, bool is_known)
{
    struct exchange *exchange = arg;
    if (!is_known) {
        exchange_refuse(exchange, 503, "the dead letter cannot be read now");
    } else if (!letter->is_there) {
        refuse_unknown_letter(exchange);
    } else {
        struct buffer *body = exchange_scratch(exchange);
        struct json_writer json = json_writer_to(body);
        run_letter_put(&json, letter);
        exchange_answer(exchange, 200, NULL, 0, buffer_slice(body));
    }
}

HANDLER(run_letter_handle)
{
    char room[MESSAGE_ID_MAX + 1];
    run_letter_read(app_of(exchange), dead_letter_message(exchange->key, room), answer_letter, exchange);
}

/* ---- list ---- */

static void list_letter(struct bulk *bulk, const struct run_letter *letter)
{
    struct json_writer json = bulk_writer(bulk);
    run_letter_put(&json, letter);
    bulk_end_one(bulk, STATUS_OK);
}

static void list_one(struct bulk *bulk, struct slice message_id)
{
    run_letter_act(bulk, message_id, list_letter);
}

static void answer_list(struct bulk *bulk)
{
    bulk_answer_results(bulk, 200, "messages");
}

HANDLER(run_letters_handle)
{
    static const struct bulk_kind kind = {
        .scope = BULK_OF_RUNS,
        .accepted = RUN_LETTER_FILTERS | 1U << FILTER_URL | 1U << FILTER_MESSAGE_ID | 1U << FILTER_SOURCE,
        .ids = FILTER_DLQ_ID,
        .states = 1U << JOB_STATE_DEAD,
        .is_in_order = true,
        .is_newest_first = true,
        .needs_limit = true,
        .count_max = BULK_LIST_MAX,
        .act = list_one,
        .answer = answer_list,
    };
    bulk_begin(exchange, &kind);
}

/* ---- deletion ---- */

static void delete_letter(struct bulk *bulk, const struct run_letter *letter)
{
    dead_letter_delete_of_bulk(bulk, letter->view.job.job_id);
}

static void delete_one(struct bulk *bulk, struct slice message_id)
{
    run_letter_act(bulk, message_id, delete_letter);
}

HANDLER(run_letters_delete_handle)
{
    static const struct bulk_kind kind = {
        .scope = BULK_OF_RUNS,
        .accepted = RUN_LETTER_FILTERS,
        .ids = FILTER_DLQ_ID,
        .states = 1U << JOB_STATE_DEAD,
        .is_in_order = true,
        .act = delete_one,
        .answer = dead_letters_answer_deleted,
    };
    bulk_begin(exchange, &kind);
}

static void delete_on_letter(void *arg, struct run_letter *letter, bool is_known)
{
    struct exchange *exchange = arg;
    if (is_known && letter->is_there)
        dead_letter_delete_and_answer(exchange, letter->view.job.job_id);
    else
        answer_letter(exchange, letter, is_known);
}

HANDLER(run_letter_delete_handle)
{
    char room[MESSAGE_ID_MAX + 1];
    run_letter_read(app_of(exchange), dead_letter_message(exchange->key, room), delete_on_letter, exchange);
}
