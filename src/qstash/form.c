/* form.c - how messages of QStash are delivered (job/delivery/delivery_form.h): writes the headers of a
 * delivery, and decides what the receiver's answer means. */
#include "job/delivery/delivery_form.h"

#include "job/delivery/signature.h"
#include "qstash/callback.h"
#include "qstash/form_data.h"
#include "qstash/group_messages.h"
#include "qstash/keys.h"
#include "qstash/qstash.h"
#include "qstash/retry_time.h"
#include "qstash/run.h"

enum { LIFETIME_S = 300, CLAIMS_MAX = 8 * 1024 };

/* ---- the request ---- */

static void add_text(struct header_lines *lines, struct slice name, struct slice value)
{
    if (value.size && header_value_is_valid(value))
        header_lines_add(lines, name, value);
}

/* Writes the claims of the JWT that signs a delivery. Its claim jti is made of the message's id and the
 * number of the attempt. */
static void write_claims(const struct form_attempt *attempt, struct buffer *claims)
{
    struct json_writer json = json_writer_to(claims);
    int64_t now_s = attempt->now_ms / 1000;
    json_put_object(&json);
    json_add_text(&json, "iss", SLICE("Upstash"));
    json_add_text(&json, "sub", attempt->url);
    json_add_number(&json, "exp", now_s + LIFETIME_S);
    json_add_number(&json, "nbf", now_s);
    json_add_number(&json, "iat", now_s);
    json_put_name(&json, "jti");
    buffer_printf(json_put(&json), "\"jwt_%.*s_%d\"", SLICE_ARG(attempt->job->job_id),
                  attempt->job->attempts);
    json_put_name(&json, "body");
    buffer_append_byte(json_put(&json), '"');
    jwt_append_digest(claims, attempt->payload);
    buffer_append_byte(claims, '"');
    json_end_object(&json);
}

/* Adds the signature, with the current key. A message that is delivered before keys exist has no
 * signature. */
static void form_sign(const struct form_attempt *attempt, struct header_lines *lines)
{
    struct buffer claims, token;
    struct keys keys;
    if (!attempt->settings || !keys_read(attempt->settings->form_keys, &keys))
        return;
    buffer_init(&claims, CLAIMS_MAX);
    buffer_init(&token, (size_t)2 * CLAIMS_MAX);
    write_claims(attempt, &claims);
    jwt_append(&token, keys.current, buffer_slice(&claims));
    header_lines_add(lines, SLICE("Upstash-Signature"), buffer_slice(&token));
    lines->text->failed |= claims.failed || token.failed;
    buffer_fini(&claims);
    buffer_fini(&token);
}

/* Adds the headers of a durable run. Calls do not get these headers, because their receivers do not belong to
 * the run. */
static void add_run(const struct form_attempt *attempt, const struct form_data_run *run,
                    struct header_lines *lines)
{
    int64_t made_ms = attempt->workflow_ms ? attempt->workflow_ms : run->made_ms;
    if (run->id.size == 0 || run_is_call(run))
        return;
    add_text(lines, SLICE("Upstash-Workflow-RunId"), run->id);
    header_lines_add_number(lines, SLICE("Upstash-Workflow-CreatedAt"), made_ms);
    add_text(lines, SLICE("Upstash-Workflow-Url"), run->url);
    header_lines_add(lines, SLICE("Upstash-Workflow-Init"), run->is_init ? SLICE("true") : SLICE("false"));
    if (run->is_without_sdk)
        header_lines_add(lines, SLICE("Upstash-Workflow-Unknown-Sdk"), SLICE("true"));
}

static void form_write_headers(const struct form_attempt *attempt, struct header_lines *lines)
{
    char room[JOB_FORM_DATA_MAX];
    struct buffer text = buffer_of(room, sizeof room);
    struct form_data data;
    form_data_read(attempt->job->form_data, &data, &text);
    if (!headers_find(attempt->headers, attempt->header_count, SLICE("User-Agent")))
        header_lines_add(lines, SLICE("User-Agent"), SLICE("Upstash-QStash"));
    header_lines_add(lines, SLICE("Upstash-Message-Id"), attempt->job->job_id);
    header_lines_add_number(lines, SLICE("Upstash-Retried"), attempt->job->attempts);
    form_sign(attempt, lines);
    add_text(lines, SLICE("Upstash-Topic-Name"), data.group);
    add_text(lines, SLICE("Upstash-Schedule-Id"), data.schedule_id);
    add_text(lines, SLICE("Upstash-Caller-Ip"), data.caller_ip);
    add_run(attempt, &data.run, lines);
}

/* ---- the answer ---- */

/* Returns the value of a header of the answer, or an empty slice. */
static struct slice header_of(const struct form_answer *answer, struct slice name)
{
    struct slice line, own_name, value, rest = answer->headers;
    while (rest.size) {
        slice_cut(rest, '\n', &line, &rest);
        slice_cut(line, ':', &own_name, &value);
        if (slice_equal_nocase(own_name, name))
            return slice_trim(value);
    }
    return SLICE("");
}

/* Returns why a 2xx to the first message of a run is an error, in QStash's words, or an empty text.
 *
 * The SDK for durable runs sends its version in each answer. If POST /v2/trigger has created the run, the SDK
 * starts the run again before it answers. After that, this message does not belong to the run any more, so
 * its answer is not checked. If the message still belongs to the run, the SDK is too old to start the run
 * again. */
static struct slice error_of_beginning(const struct form_answer *answer)
{
    char room[JOB_FORM_DATA_MAX];
    struct buffer text = buffer_of(room, sizeof room);
    struct form_data data;
    if (!answer->job || answer->job->workflow.size == 0)
        return SLICE("");
    form_data_read(answer->job->form_data, &data, &text);
    if (!data.run.is_init)
        return SLICE("");
    if (header_of(answer, SLICE("Upstash-Workflow-Sdk-Version")).size == 0)
        return SLICE(
            "detected a non-workflow destination for trigger/invoke. make sure you are sending the request "
            "to the correct endpoint");
    return data.run.is_without_sdk
               ? SLICE("trigger rest api is only usable with sdk versions after v1.0.0 major version")
               : SLICE("");
}

static void judge_success(const struct form_answer *answer, struct form_judgement *judgement)
{
    judgement->detail = error_of_beginning(answer);
    if (judgement->detail.size)
        judgement->final = SLICE("not_a_workflow");
}

static void form_judge(const struct form_answer *answer, struct form_judgement *judgement)
{
    static const struct slice names[] = {SLICE_INIT("Retry-After"), SLICE_INIT("X-RateLimit-Reset"),
                                         SLICE_INIT("X-RateLimit-Reset-Requests"),
                                         SLICE_INIT("X-RateLimit-Reset-Tokens")};
    const struct attempt_result *result = answer->result;
    if (attempt_result_is_success(result))
        judge_success(answer, judgement);
    if (result->error != FAILURE_NONE || attempt_result_is_success(result))
        return;
    if (result->status == 489 &&
        slice_equal_nocase(header_of(answer, SLICE("Upstash-NonRetryable-Error")), SLICE("true")))
        judgement->final = SLICE("rejected");
    for (size_t i = 0; i < sizeof names / sizeof *names && !judgement->has_wait; i++)
        judgement->has_wait = retry_time_parse(header_of(answer, names[i]),
                                               result->at_ms + result->duration_ms, &judgement->wait_ms);
}

const struct delivery_form qstash_form = {
    .name = SLICE_INIT(QSTASH_FORM),
    .wants_headers = true,
    .write_headers = form_write_headers,
    .judge = form_judge,
    .write_callback = callback_write,
    .write_group_jobs = group_messages_write,
};
