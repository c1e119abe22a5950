#include "job/lease_text.h"

#include <openssl/crypto.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/encoding.h"
#include "job/delivery/digest.h"
#include "job/job_id.h"
#include "job/job_parse.h"
#include "job/text/json.h"
#include "job/text/members.h"

/* ---- requests for jobs ---- */

#define REQUEST(member) MEMBER_FIELD(struct lease_request, member)

static void check_key(struct member_parse *parse, const struct member *member)
{
    const struct lease_request *request = parse->of;
    if (request->key.size > 0 && !lane_key_is_valid(request->key))
        job_errors_add(parse->errors, member->path, LANE_KEY_EXPECTED ", or empty for jobs without a key");
}

static const struct member request_rows[] = {
    {MEMBER_NAMED("", "max"), MEMBER_INTEGER, .flags = MEMBER_SENT, REQUEST(max), .min = 1,
     .max = LEASE_JOBS_MAX, .fallback = 1},
    {MEMBER_NAMED("", "lease"), MEMBER_SECONDS, .flags = MEMBER_SENT, REQUEST(lease_ms), .min = LEASE_MIN_MS,
     .max = LEASE_MAX_MS, .fallback = LEASE_DEFAULT_MS},
    {MEMBER_NAMED("", "wait"), MEMBER_SECONDS, .flags = MEMBER_SENT, REQUEST(wait_ms),
     .max = LEASE_WAIT_MAX_MS},
    {MEMBER_NAMED("", "key"), MEMBER_TEXT, .flags = MEMBER_SENT, REQUEST(key),
     MEMBER_HAS(struct lease_request, has_key), .max = LANE_KEY_MAX, .check = check_key},
};

static const struct members request_members = {MEMBER_ROWS(request_rows), .noun = "field", .prefix = ""};

enum status lease_request_parse(struct slice text, struct lease_request *request, struct job_errors *errors)
{
    struct buffer room;
    *request = (struct lease_request){.max = 0};
    if (slice_trim(text).size == 0)
        text = SLICE("{}");
    buffer_init_fallible(&room, text.size);
    enum status status = job_parse_members(&request_members, text, request, &room, errors);
    if (status == STATUS_OK && request->has_key) {
        request->room[0] = '=';
        if (request->key.size > 0)
            memcpy(request->room + 1, request->key.data, request->key.size);
        request->only = slice_from(request->room, 1 + request->key.size);
        request->key = slice_skip(request->only, 1);
    }
    buffer_fini(&room);
    return status;
}

/* ---- tokens of attempts: d<nonce>.<began>.<proof> ---- */

#define DEFER_MARK 'd'

static void prove(struct slice secret, struct slice id, struct slice claim, struct buffer *token)
{
    unsigned char mac[SHA256_BYTES];
    struct buffer text;
    buffer_init(&text, JOB_KEY_MAX + DEFER_TOKEN_MAX);
    buffer_append(&text, id);
    buffer_append_byte(&text, '\0');
    buffer_append(&text, claim);
    sha256_hmac(secret, buffer_slice(&text), mac);
    buffer_fini(&text);
    base64url_append(token, slice_from((const char *)mac, sizeof mac));
}

void defer_token_write(struct slice secret, struct slice id, struct slice nonce, int64_t began_ms,
                       struct buffer *token)
{
    size_t start = token->size;
    buffer_append_byte(token, DEFER_MARK);
    buffer_append(token, nonce);
    buffer_append_byte(token, '.');
    buffer_append_number(token, began_ms);
    struct slice claim = slice_skip(buffer_slice(token), start);
    char room[DEFER_TOKEN_MAX];
    struct buffer copy = buffer_of(room, sizeof room);
    buffer_append(&copy, claim);
    buffer_append_byte(token, '.');
    prove(secret, id, buffer_slice(&copy), token);
}

bool defer_token_is_one(struct slice token)
{
    return token.size > 1 && token.data[0] == DEFER_MARK && memchr(token.data, '.', token.size);
}

bool defer_token_read(struct slice secret, struct slice id, struct slice token, struct slice *nonce,
                      int64_t *began_ms)
{
    struct slice rest, began, proof;
    uint64_t number;
    char room[DEFER_TOKEN_MAX];
    struct buffer expected = buffer_of(room, sizeof room);
    if (secret.size == 0 || !defer_token_is_one(token) || token.size > DEFER_TOKEN_MAX ||
        !slice_cut(slice_skip(token, 1), '.', nonce, &rest) || !slice_cut(rest, '.', &began, &proof) ||
        !slice_to_number(began, INT64_MAX, &number))
        return false;
    *began_ms = (int64_t)number;
    prove(secret, id, slice_from(token.data, token.size - proof.size - 1), &expected);
    return !expected.failed && expected.size == proof.size &&
           CRYPTO_memcmp(expected.data, proof.data, proof.size) == 0;
}

/* ---- ends ---- */

static void check_job_id(struct member_parse *parse, const struct member *member)
{
    const struct lease_end_text *end = parse->of;
    if (!job_id_is_valid(end->job_id))
        job_errors_add(parse->errors, member->path,
                       "must be UTF-8 of 1 to 255 bytes without control characters, and not . or ..");
}

static void check_token(struct member_parse *parse, const struct member *member)
{
    const struct lease_end_text *end = parse->of;
    if (end->token.size == 0 || end->token.size > LEASE_TOKEN_MAX)
        job_errors_add(parse->errors, member->path, "must be the token of a lease");
}

#define END(member) MEMBER_FIELD(struct lease_end_text, member)
#define HAS(member) MEMBER_HAS(struct lease_end_text, member)
#define JOB_ID_ROW                                                                                           \
    {                                                                                                        \
        MEMBER_NAMED("", "jobId"), MEMBER_TEXT, .flags = MEMBER_SENT | MEMBER_REQUIRED, END(job_id),         \
                                                HAS(job_id.size), .check = check_job_id                      \
    }
#define TOKEN_ROW                                                                                            \
    {                                                                                                        \
        MEMBER_NAMED("", "token"), MEMBER_TEXT, .flags = MEMBER_SENT | MEMBER_REQUIRED, END(token),          \
                                                HAS(token.size), .check = check_token                        \
    }
#define ERROR_ROW                                                                                            \
    {                                                                                                        \
        MEMBER_NAMED("", "error"), MEMBER_TEXT, .flags = MEMBER_SENT, END(error), HAS(error.size),           \
                                                .max = LEASE_ERROR_MAX                                       \
    }

static void check_size(struct member_parse *parse, const struct member *member, struct slice value,
                       size_t max)
{
    char detail[48];
    if (value.size <= max)
        return;
    snprintf(detail, sizeof detail, "must be JSON of at most %zu bytes", max);
    job_errors_add(parse->errors, member->path, detail);
}

static void check_result(struct member_parse *parse, const struct member *member)
{
    const struct lease_end_text *end = parse->of;
    check_size(parse, member, end->result, LEASE_RESULT_MAX);
}

/* A number is a share of the work. */
static void check_progress(struct member_parse *parse, const struct member *member)
{
    const struct lease_end_text *end = parse->of;
    char first = end->progress.size ? end->progress.data[0] : 'n', text[32];
    check_size(parse, member, end->progress, LEASE_PROGRESS_MAX);
    if (first != '-' && (first < '0' || first > '9'))
        return;
    snprintf(text, sizeof text, "%.*s", SLICE_ARG(end->progress));
    double share = strtod(text, NULL);
    if (end->progress.size >= sizeof text || share < 0 || share > 1)
        job_errors_add(parse->errors, member->path, "must be a number from 0 to 1, or other JSON");
}

static const struct member name_rows[] = {JOB_ID_ROW, TOKEN_ROW};
static const struct member complete_rows[] = {
    JOB_ID_ROW,
    TOKEN_ROW,
    {MEMBER_NAMED("", "result"), MEMBER_JSON, .flags = MEMBER_SENT, END(result), HAS(result.size),
     .check = check_result},
};
static const struct member retry_rows[] = {
    JOB_ID_ROW,
    TOKEN_ROW,
    {MEMBER_NAMED("", "delay"), MEMBER_SECONDS, .flags = MEMBER_SENT, END(delay_ms), HAS(has_delay),
     .max = JOB_WAIT_MAX_MS},
    ERROR_ROW,
};
static const struct member bury_rows[] = {JOB_ID_ROW, TOKEN_ROW, ERROR_ROW};
static const struct member extend_rows[] = {
    JOB_ID_ROW,
    TOKEN_ROW,
    {MEMBER_NAMED("", "lease"), MEMBER_SECONDS, .flags = MEMBER_SENT, END(lease_ms), .min = LEASE_MIN_MS,
     .max = LEASE_MAX_MS, .fallback = LEASE_DEFAULT_MS},
    {MEMBER_NAMED("", "progress"), MEMBER_JSON, .flags = MEMBER_SENT, END(progress), HAS(progress.size),
     .check = check_progress},
};

static const struct members ends[LEASE_END_COUNT] = {
    [LEASE_END_COMPLETE] = {MEMBER_ROWS(complete_rows), .noun = "field", .prefix = ""},
    [LEASE_END_RETRY] = {MEMBER_ROWS(retry_rows), .noun = "field", .prefix = ""},
    [LEASE_END_BURY] = {MEMBER_ROWS(bury_rows), .noun = "field", .prefix = ""},
    [LEASE_END_EXTEND] = {MEMBER_ROWS(extend_rows), .noun = "field", .prefix = ""},
    [LEASE_END_RELEASE] = {MEMBER_ROWS(name_rows), .noun = "field", .prefix = ""},
};

enum status lease_end_parse(enum lease_end_kind kind, struct slice text, struct lease_end_text *end,
                            struct job_errors *errors)
{
    *end = (struct lease_end_text){.has_delay = false};
    buffer_init_fallible(&end->text, text.size);
    enum status status = job_parse_members(&ends[kind], text, end, &end->text, errors);
    if (status != STATUS_OK)
        lease_end_fini(end);
    return status;
}

void lease_end_fini(struct lease_end_text *end)
{
    buffer_fini(&end->text);
}

/* ---- arrays ---- */

bool lease_ends_are_many(struct slice text)
{
    struct json_cursor cursor;
    return json_open(text, &cursor) && cursor.close == ']';
}

static enum status refuse_array(struct job_errors *errors, const char *detail)
{
    job_errors_add(errors, "", detail);
    return STATUS_INVALID;
}

enum status lease_ends_cut(struct slice text, struct lease_end_items *items, struct job_errors *errors)
{
    static const struct json_limits limits = {JOB_DEPTH_MAX + 1, JOB_MEMBERS_MAX};
    struct json_fault fault;
    struct json_cursor cursor;
    struct slice item;
    char detail[JOB_ERROR_TEXT_SIZE];
    job_errors_clear(errors);
    items->count = 0;
    enum status status = json_check(text, &limits, &fault);
    if (status == STATUS_NO_MEMORY)
        return status;
    if (status != STATUS_OK) {
        snprintf(detail, sizeof detail, "%s, at byte %zu", fault.detail, fault.offset);
        return refuse_array(errors, detail);
    }
    for (bool is_open = json_open(text, &cursor); is_open && json_next_item(&cursor, &item);) {
        if (items->count == LEASE_JOBS_MAX)
            return refuse_array(errors, "must have at most 100 items");
        items->items[items->count++] = item;
    }
    return items->count > 0 ? STATUS_OK : refuse_array(errors, "must have at least one item");
}
