#include "job/delivery/delivery_form.h"

#include <assert.h>
#include <stdio.h>

#include "base/duration.h"
#include "base/encoding.h"
#include "base/timestamp.h"
#include "job/lease_text.h"

/* ---- dates in headers ---- */

enum { DATE_MAX = 40 };

/* The parts of a date, as texts. */
struct date_parts {
    char day[3], month[4], year[5], hour[3], minute[3], second[3];
};

static int month_number(const char *name)
{
    static const char names[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    for (int i = 0; i < 12; i++)
        if (strncmp(name, names + (size_t)3 * (size_t)i, 3) == 0)
            return i + 1;
    return 0;
}

/* Splits a date in one of the three forms of RFC 9110: "Sun, 06 Nov 1994 08:49:37 GMT",
 * "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994". */
static bool split_date(const char *text, struct date_parts *date)
{
    int end = 0;
    char year[3];
    if (sscanf(text, "%*3[A-Za-z], %2[0-9] %3[A-Za-z] %4[0-9] %2[0-9]:%2[0-9]:%2[0-9] GMT%n", date->day,
               date->month, date->year, date->hour, date->minute, date->second, &end) == 6 &&
        end && !text[end])
        return true;
    end = 0;
    if (sscanf(text, "%*9[A-Za-z], %2[0-9]-%3[A-Za-z]-%2[0-9] %2[0-9]:%2[0-9]:%2[0-9] GMT%n", date->day,
               date->month, year, date->hour, date->minute, date->second, &end) == 6 &&
        end && !text[end]) {
        snprintf(date->year, sizeof date->year, "20%s", year);
        return true;
    }
    end = 0;
    return sscanf(text, "%*3[A-Za-z] %3[A-Za-z] %2[0-9] %2[0-9]:%2[0-9]:%2[0-9] %4[0-9]%n", date->month,
                  date->day, date->hour, date->minute, date->second, date->year, &end) == 6 &&
           end && !text[end];
}

bool http_date_parse(struct slice value, int64_t *ms)
{
    char text[DATE_MAX + 1], stamp[2 * DATE_MAX];
    struct date_parts date;
    if (value.size > DATE_MAX || (value.size && memchr(value.data, '\0', value.size)))
        return false;
    snprintf(text, sizeof text, "%.*s", SLICE_ARG(value));
    if (!split_date(text, &date))
        return false;
    snprintf(stamp, sizeof stamp, "%s-%02d-%s%sT%s:%s:%sZ", date.year, month_number(date.month),
             date.day[1] ? "" : "0", date.day, date.hour, date.minute, date.second);
    return timestamp_parse(slice_of(stamp), ms);
}

enum { SHOWN_MAX = 50 /* maximum number of bytes of the header's value that an error shows */ };

/* Copies the beginning of the header's value for an error, without bytes that an error must not have (see
 * delivery_form.h). */
static void show(struct slice value, char shown[SHOWN_MAX + sizeof "..."])
{
    bool is_cut = value.size > SHOWN_MAX;
    size_t size = is_cut ? SHOWN_MAX : value.size;
    for (size_t i = 0; i < size; i++) {
        char byte = value.data[i];
        bool is_shown = byte >= ' ' && byte <= '~' && byte != '"' && byte != '\\';
        shown[i] = is_shown ? byte : '?';
    }
    snprintf(shown + size, sizeof "...", "%s", is_cut ? "..." : "");
}

/* Parses a time from now on: 1 s to max_ms. */
static bool parse_ahead(struct slice value, int64_t now_ms, int64_t max_ms, const char *name,
                        const char *most, int64_t *wait_ms, char detail[AGAIN_DETAIL_SIZE])
{
    char shown[SHOWN_MAX + sizeof "..."];
    int64_t ms = 0;
    bool is_date = http_date_parse(value, &ms);
    *wait_ms = is_date ? ms - now_ms : 0;
    if ((is_date || duration_parse(value, max_ms, wait_ms)) && *wait_ms >= AGAIN_MIN_MS && *wait_ms <= max_ms)
        return true;
    show(value, shown);
    snprintf(detail, AGAIN_DETAIL_SIZE,
             "The answer has %s: %s; expected are seconds, a duration such as 5m, or an HTTP date, "
             "1 s to %s ahead",
             name, shown, most);
    return false;
}

bool again_parse(struct slice value, int64_t now_ms, int64_t *wait_ms, char detail[AGAIN_DETAIL_SIZE])
{
    return parse_ahead(value, now_ms, AGAIN_MAX_MS, "Duepost-Again", "365 days", wait_ms, detail);
}

bool defer_parse(struct slice value, int64_t now_ms, int64_t *lease_ms, char detail[AGAIN_DETAIL_SIZE])
{
    return parse_ahead(value, now_ms, LEASE_MAX_MS, "Duepost-Defer", "12 hours", lease_ms, detail);
}

/* ---- lines of headers ---- */

void header_lines_add(struct header_lines *lines, struct slice name, struct slice value)
{
    assert(lines->count < HEADER_LINES_MAX);
    lines->starts[lines->count++] = lines->text->size;
    buffer_append(lines->text, name);
    buffer_append(lines->text, SLICE(": "));
    buffer_append(lines->text, value);
    lines->starts[lines->count] = lines->text->size;
}

void header_lines_add_number(struct header_lines *lines, struct slice name, int64_t value)
{
    char digits[24];
    struct buffer number = buffer_of(digits, sizeof digits);
    buffer_append_number(&number, value);
    header_lines_add(lines, name, buffer_slice(&number));
}

struct slice header_lines_at(const struct header_lines *lines, size_t index)
{
    return slice_from(lines->text->data + lines->starts[index],
                      lines->starts[index + 1] - lines->starts[index]);
}

/* ---- forms ---- */

const struct delivery_form *delivery_form_find(const struct delivery_forms *forms, struct slice name)
{
    for (size_t i = 0; i < FORMS_MAX && forms->items[i]; i++)
        if (slice_equal(forms->items[i]->name, name))
            return forms->items[i];
    return NULL;
}

void delivery_form_judge(const struct delivery_form *form, const struct form_answer *answer,
                         struct form_judgement *judgement)
{
    *judgement = (struct form_judgement){.at_least_ms = -1};
    form->judge(answer, judgement);
}

/* ---- the standard form: Standard Webhooks, with the headers of duepost ---- */

enum { BATCH_NAME_SIZE = 480 /* bytes, for the claim of a batch and the id of its first job */ };

/* Writes the webhook id of the request. A claim may have several batches, so its nonce is not enough. */
static void write_webhook_id(const struct form_attempt *attempt, char id[WEBHOOK_ID_SIZE])
{
    char named[BATCH_NAME_SIZE];
    struct slice of = attempt->id;
    if (attempt->batch_count) {
        snprintf(named, sizeof named, "%.*s %.*s", SLICE_ARG(attempt->batch_id), SLICE_ARG(attempt->id));
        of = slice_of(named);
    }
    webhook_id_make(of, attempt->job->created_ms, id);
}

/* Adds a signature of Standard Webhooks. */
static void sign_body(const struct form_attempt *attempt, const struct signing_keys *keys, struct slice id,
                      int64_t seconds, struct header_lines *lines)
{
    struct buffer signature;
    buffer_init(&signature, SIGNATURE_MAX);
    signature_write(keys, id, seconds, attempt->payload, &signature);
    header_lines_add_number(lines, SLICE("webhook-timestamp"), seconds);
    header_lines_add(lines, SLICE("webhook-signature"), buffer_slice(&signature));
    lines->text->failed |= signature.failed;
    buffer_fini(&signature);
}

/* Adds a signature of RFC 9421. A digest of the job's own is signed as it is. */
static void sign_message(const struct form_attempt *attempt, const struct signing_keys *keys, struct slice id,
                         int64_t seconds, struct header_lines *lines)
{
    char digest_room[CONTENT_DIGEST_MAX];
    char input_room[MESSAGE_SIGNATURE_MAX], signature_room[MESSAGE_SIGNATURE_MAX];
    struct buffer digest = buffer_of(digest_room, sizeof digest_room);
    struct buffer input = buffer_of(input_room, sizeof input_room);
    struct buffer signature = buffer_of(signature_room, sizeof signature_room);
    const struct slice *own = headers_find(attempt->headers, attempt->header_count, SLICE("Content-Digest"));
    if (!own) {
        content_digest_write(attempt->payload, &digest);
        header_lines_add(lines, SLICE("content-digest"), buffer_slice(&digest));
    }
    const struct signed_message message = {
        .method = slice_of(attempt->batch_count ? "POST" : job_method_word(attempt->job->method)),
        .url = attempt->url,
        .digest = own ? slice_trim(*own) : buffer_slice(&digest),
        .webhook_id = id,
        .seconds = seconds,
    };
    signed_message_write(keys, &message, &input, &signature);
    header_lines_add(lines, SLICE("signature-input"), buffer_slice(&input));
    header_lines_add(lines, SLICE("signature"), buffer_slice(&signature));
    lines->text->failed |= input.failed || signature.failed;
}

/* Adds the headers of the signatures. Their time is that of the claim, by Redis's clock. */
static void add_signatures(const struct form_attempt *attempt, struct header_lines *lines)
{
    const struct topic_settings *settings = attempt->settings;
    const struct signing_keys *keys =
        settings && settings->secrets.count ? &settings->secrets : attempt->keys;
    bool is_message =
        settings && settings->signature.size && !slice_equal(settings->signature, SLICE("standard"));
    int64_t seconds = attempt->now_ms / 1000;
    char id[WEBHOOK_ID_SIZE];
    if (keys->count == 0)
        return;
    write_webhook_id(attempt, id);
    header_lines_add(lines, SLICE("webhook-id"), slice_of(id));
    if (!is_message || slice_equal(settings->signature, SLICE("both")))
        sign_body(attempt, keys, slice_of(id), seconds, lines);
    if (is_message)
        sign_message(attempt, keys, slice_of(id), seconds, lines);
}

static bool has_header(const struct form_attempt *attempt, struct slice name)
{
    return headers_find(attempt->headers, attempt->header_count, name);
}

static void write_headers(const struct form_attempt *attempt, struct header_lines *lines)
{
    const struct job *job = attempt->job;
    char room[3 * JOB_ID_DERIVED_MAX + 1];
    struct buffer job_id = buffer_of(room, sizeof room);
    percent_append(&job_id, job->job_id);
    if (attempt->batch_count && !has_header(attempt, SLICE("Content-Type")))
        header_lines_add(lines, SLICE("Content-Type"), SLICE("application/json"));
    if (!attempt->batch_count && job_needs_content_type(job) && !has_header(attempt, SLICE("Content-Type"))) {
        struct slice type = job_content_type(job, attempt->payload);
        header_lines_add(lines, SLICE("Content-Type"), type);
        lines->text->failed |= type.size == 0;
    }
    if (!has_header(attempt, SLICE("User-Agent")))
        header_lines_add(lines, SLICE("User-Agent"), SLICE("duepost/" DUEPOST_VERSION));
    header_lines_add(lines, SLICE("Duepost-Topic"), job->topic);
    if (attempt->batch_count) {
        header_lines_add_number(lines, SLICE("Duepost-Batch"), (int64_t)attempt->batch_count);
    } else {
        header_lines_add(lines, SLICE("Duepost-Job-Id"), buffer_slice(&job_id));
        header_lines_add_number(lines, SLICE("Duepost-Attempt"), job->attempts + 1);
    }
    if (job->rounds && !attempt->batch_count)
        header_lines_add_number(lines, SLICE("Duepost-Round"), job->rounds + 1);
#ifdef DUEPOST_TEST_NEXT
    if (job->next.size)
        header_lines_add(lines, SLICE("Duepost-Next"), job->next);
    if (attempt->settings && attempt->settings->next.size)
        header_lines_add(lines, SLICE("Duepost-Next-Topic"), attempt->settings->next);
#endif
    if (attempt->token.size)
        header_lines_add(lines, SLICE("Duepost-Token"), attempt->token);
    if (attempt->token.size && attempt->end_url.size)
        header_lines_add(lines, SLICE("Duepost-End-Url"), attempt->end_url);
    add_signatures(attempt, lines);
}

/* A receiver that wants to end the attempt later must be able to: without the token, or with another status,
 * its job would count as delivered. So such an answer is a failed attempt. */
static void judge_defer(const struct form_answer *answer, int64_t ended_ms, struct form_judgement *judgement)
{
    if (!answer->may_defer)
        judgement->reply_fault =
            "The answer has Duepost-Defer, but the request had no Duepost-Token: set defer of the topic to "
            "true; requests of a topic with batch have none";
    else if (answer->result->status != 202)
        judgement->reply_fault = "The answer has Duepost-Defer, which needs the status 202";
    else if (!defer_parse(answer->defer, ended_ms, &judgement->defer_ms, judgement->room))
        judgement->reply_fault = judgement->room;
}

static void standard_judge(const struct form_answer *answer, struct form_judgement *judgement)
{
    const struct attempt_result *result = answer->result;
    if (attempt_result_is_success(result)) {
        /* If the value of Duepost-Again ("not yet") is unreadable, the attempt has failed. */
        int64_t ended_ms = result->at_ms + result->duration_ms;
        if (answer->has_again && !again_parse(answer->again, ended_ms, &judgement->again_ms, judgement->room))
            judgement->reply_fault = judgement->room;
        else if (answer->has_defer && !answer->has_again)
            judge_defer(answer, ended_ms, judgement);
    } else if (result->error == FAILURE_NONE && result->status == 410) {
        judgement->final = SLICE("gone");
    }
    judgement->at_least_ms = answer->retry_after_ms;
}

const struct delivery_form delivery_form_standard = {.write_headers = write_headers, .judge = standard_judge};
