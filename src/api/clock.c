/* clock.c - GET /clock and POST /clock: shows and turns the manual clock (--clock manual) */
#include "app/clock.h"
#include "api/api_private.h"
#include "base/json_writer.h"
#include "base/memory.h"
#include "job/job_parse.h"
#include "job/text/members.h"

enum { FIRED_MAX = 16 * 1024 * 1024 }; /* bytes of an answer */

static bool has_clock(struct exchange *exchange)
{
    if (app_of(exchange)->clock)
        return true;
    exchange_refuse(
        exchange, 404,
        "Jobs of this server become due by the clock of Redis, which no request can turn. For tests, "
        "start a server of their own with a clock that stands still: duepost --clock manual.");
    return false;
}

static void add_shown(struct json_writer *json, const struct app_clock_shown *shown)
{
    json_add_time(json, "now", shown->now_ms);
    if (shown->next_ms >= 0)
        json_add_time(json, "next", shown->next_ms);
    json_add_number(json, "inFlight", shown->in_flight);
}

static void on_shown(void *arg, const struct app_verdict *verdict, const struct app_clock_shown *shown)
{
    struct exchange *exchange = arg;
    if (verdict->end != STATUS_OK) {
        problem_answer_verdict(exchange, verdict, &problem_of_read);
        return;
    }
    struct buffer *body = exchange_scratch(exchange);
    struct json_writer json = json_writer_to(body);
    json_put_object(&json);
    json_add_text(&json, "clock", SLICE("manual"));
    add_shown(&json, shown);
    json_end_object(&json);
    exchange_answer(exchange, 200, NULL, 0, buffer_slice(body));
}

HANDLER(clock_handle)
{
    if (has_clock(exchange))
        app_clock_show(app_of(exchange), on_shown, exchange);
}

/* ---- POST /clock ---- */

/* A request that has no answer yet. */
struct turning {
    struct exchange *exchange;
    struct app_turn *turn; /* NULL: the turn has ended */
    struct turn_request {
        bool has_advance, has_to, is_until_idle;
        int64_t advance_ms, to_ms, limit;
    } request;
};

#define REQUEST(member) MEMBER_FIELD(struct turn_request, member)
#define HAS(member)     MEMBER_HAS(struct turn_request, member)

enum { ROW_LIMIT, ROW_ADVANCE, ROW_TO, ROW_UNTIL_IDLE };

static const struct member rows[] = {
    [ROW_LIMIT] = {MEMBER_NAMED("", "limit"), MEMBER_INTEGER, .flags = MEMBER_SENT, REQUEST(limit), .min = 1,
                   .max = APP_PAGE_MAX, .fallback = APP_PAGE_MAX},
    [ROW_ADVANCE] = {MEMBER_NAMED("", "advance"), MEMBER_SECONDS, .flags = MEMBER_SENT, REQUEST(advance_ms),
                     HAS(has_advance), .max = JOB_DELAY_MAX_MS},
    [ROW_TO] = {MEMBER_NAMED("", "to"), MEMBER_TIME, .flags = MEMBER_SENT, REQUEST(to_ms), HAS(has_to),
                .rival = ROW_ADVANCE},
    [ROW_UNTIL_IDLE] = {MEMBER_NAMED("", "untilIdle"), MEMBER_BOOL, .flags = MEMBER_SENT,
                        REQUEST(is_until_idle)},
};

static const struct members request_members = {MEMBER_ROWS(rows), .noun = "field", .prefix = ""};

static enum status parse_request(struct slice text, struct turn_request *request, struct job_errors *errors)
{
    struct buffer room;
    buffer_init_fallible(&room, text.size);
    enum status status = job_parse_members(&request_members, text, request, &room, errors);
    buffer_fini(&room);
    if (status != STATUS_OK || request->has_advance || request->has_to || request->is_until_idle)
        return status;
    job_errors_add(errors, "advance",
                   "is required, unless the request has to or untilIdle: true; such as {\"advance\":\"1h\"}");
    return STATUS_INVALID;
}

static void free_turning(void *arg)
{
    struct turning *turning = arg;
    if (turning->turn)
        app_clock_drop(turning->turn);
    free(turning);
}

static void put_fired(void *arg, const struct app_fired *fired)
{
    struct json_writer *json = arg;
    json_put_object(json);
    json_add_time(json, "at", fired->at_ms);
    json_add_text(json, "topic", fired->topic);
    json_add_text(json, "jobId", fired->job_id);
    json_add_text(json, "event", fired->event);
    json_add_nonempty(json, "schedule", fired->schedule);
    json_add_nonzero(json, "attempt", fired->attempt);
    json_add_nonzero(json, "status", fired->status);
    json_add_nonempty(json, "error", fired->error);
    json_add_nonempty(json, "outcome", fired->outcome);
    if (fired->next_ms)
        json_add_time(json, "nextAt", fired->next_ms);
    json_end_object(json);
}

/* Answers with a page of what fired. If the client has left, the entries stay for the next request. */
static void answer_turned(const struct turning *turning, const struct app_clock_shown *shown)
{
    struct exchange *exchange = turning->exchange;
    struct buffer body;
    uint64_t lost = 0;
    buffer_init(&body, FIRED_MAX);
    struct json_writer json = json_writer_to(&body);
    json_put_object(&json);
    add_shown(&json, shown);
    if (shown->to_ms)
        json_add_time(&json, "to", shown->to_ms);
    json_add_bool(&json, "reached", shown->is_reached);
    json_add_array(&json, "fired");
    bool has_more = http_request_has_left(exchange->request) ||
                    app_clock_take((size_t)turning->request.limit, put_fired, &json, &lost);
    json_end_array(&json);
    json_add_bool(&json, "more", has_more);
    json_add_nonzero(&json, "lost", (int64_t)lost);
    json_end_object(&json);
    exchange_answer(exchange, 200, NULL, 0, buffer_slice(&body));
    buffer_fini(&body);
}

static void on_turned(void *arg, const struct app_verdict *verdict, const struct app_clock_shown *shown)
{
    static const struct problem_words words = {
        "request", "The clock may have moved: GET /clock shows it. Repeat the request with the time to reach "
                   "(to), because advance begins at the time that the clock shows."};
    struct turning *turning = arg;
    turning->turn = NULL;
    if (verdict->end == STATUS_OK)
        answer_turned(turning, shown);
    else if (verdict->end == STATUS_CONTENDED)
        exchange_refuse(
            turning->exchange, 409,
            "Another request turns the clock now; nothing changed. Send the request again when that "
            "one is answered.");
    else
        problem_answer_verdict(turning->exchange, verdict, &words);
}

HANDLER(clock_turn_handle)
{
    struct job_errors errors;
    if (!has_clock(exchange))
        return;
    struct turning *turning = NEW(struct turning);
    const struct turn_request *request = &turning->request;
    turning->exchange = exchange;
    exchange_keep(exchange, turning, free_turning);
    enum status status = parse_request(http_request_body(exchange->request), &turning->request, &errors);
    if (status != STATUS_OK) {
        problem_answer_unparsed(exchange, status, "request", &errors);
        return;
    }
    const struct app_clock_move move = {
        .caller = &exchange->caller,
        .has_to = request->has_to,
        .has_advance = request->has_advance,
        .to_ms = request->to_ms,
        .advance_ms = request->advance_ms,
        .is_until_idle = request->is_until_idle,
        .max = (size_t)request->limit,
    };
    struct app_turn *turn = app_clock_turn(app_of(exchange), &move, on_turned, turning);
    if (turn) /* if turn is NULL, the answer has already freed turning */
        turning->turn = turn;
}
