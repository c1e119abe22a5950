#include "job/topic/topic_settings.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/timestamp.h"
#include "job/alert/alert_rules.h"
#include "job/job_id.h"
#include "job/job_parse.h"
#include "job/schedule/windows.h"
#include "job/target/url.h"
#include "job/text/member.h"
#include "job/topic/topic_patterns.h"
#include "job/topic/topic_sealed.h"

/* ---- the tables ---- */

#define NAMED(text)   MEMBER_NAMED("", text)
#define FIELD(member) MEMBER_FIELD(struct topic_settings, member)
#define HAS(member)   MEMBER_HAS(struct topic_settings, member)
#define EVERYWHERE    .flags = MEMBER_EVERYWHERE
#define INHERITED     .flags = MEMBER_EVERYWHERE | MEMBER_INHERITED
#define SEALED        .flags = MEMBER_EVERYWHERE | MEMBER_SEALED
#define SEALED_BOTH   .flags = MEMBER_EVERYWHERE | MEMBER_INHERITED | MEMBER_SEALED

static const struct member rate_rows[] = {
    {MEMBER_NAMED("rate.", "jobs"), MEMBER_INTEGER, .flags = MEMBER_EVERYWHERE | MEMBER_REQUIRED,
     FIELD(rate_jobs), HAS(rate_jobs), .min = 1, .max = TOPIC_RATE_JOBS_MAX},
    {MEMBER_NAMED("rate.", "per"), MEMBER_SECONDS, .flags = MEMBER_EVERYWHERE | MEMBER_REQUIRED,
     FIELD(rate_per_ms), HAS(rate_per_ms), .min = TOPIC_RATE_PER_MIN_MS, .max = TOPIC_RATE_PER_MAX_MS},
    {MEMBER_NAMED("rate.", "burst"), MEMBER_INTEGER, EVERYWHERE, FIELD(rate_burst), HAS(rate_burst), .min = 1,
     .max = TOPIC_RATE_JOBS_MAX, .fallback = 1},
    {MEMBER_NAMED("rate.", "window"), MEMBER_BOOL, EVERYWHERE, FIELD(is_rate_window), HAS(has_rate_window)},
    {MEMBER_NAMED("rate.", "since"), MEMBER_INTEGER, .flags = MEMBER_STORED, FIELD(rate_since_ms),
     HAS(rate_since_ms), .max = TIMESTAMP_MAX_MS},
};

static const struct members rate_members = {MEMBER_ROWS(rate_rows), .noun = "setting", .prefix = "rate."};

/* Adds an error unless the text is one of two words. */
static void check_word(struct member_parse *parse, const struct member *member, const char *first,
                       const char *second)
{
    struct slice word;
    char detail[48];
    memcpy(&word, (const char *)parse->of + member->field, sizeof word);
    if (slice_equal(word, slice_of(first)) || slice_equal(word, slice_of(second)))
        return;
    snprintf(detail, sizeof detail, "must be \"%s\" or \"%s\"", first, second);
    job_errors_add(parse->errors, member->path, detail);
}

static void check_order(struct member_parse *parse, const struct member *member)
{
    check_word(parse, member, "due", "fifo");
}

static void check_head_dead(struct member_parse *parse, const struct member *member)
{
    check_word(parse, member, "go", "pause");
}

static void check_delivery(struct member_parse *parse, const struct member *member)
{
    check_word(parse, member, "push", "pull");
}

static void check_signature(struct member_parse *parse, const struct member *member)
{
    const struct topic_settings *settings = parse->of;
    if (!slice_equal(settings->signature, SLICE("standard")) &&
        !slice_equal(settings->signature, SLICE("rfc9421")) &&
        !slice_equal(settings->signature, SLICE("both")))
        job_errors_add(parse->errors, member->path, "must be \"standard\", \"rfc9421\" or \"both\"");
}

static void check_key_order(struct member_parse *parse, const struct member *member)
{
    const struct topic_settings *settings = parse->of;
    if (!slice_equal(settings->per_key.order, SLICE("fifo")))
        job_errors_add(parse->errors, member->path, "must be \"fifo\"");
}

/* Refuses a setting that orders or bounds the jobs of a topic that is delivered strictly in order. A topic
 * may get the two settings from different layers. It is fifo then, and the other setting has no effect. */
static void check_not_fifo(struct member_parse *parse, const struct member *member)
{
    if (!parse->unknown && topic_settings_are_fifo(parse->of))
        job_errors_add(parse->errors, member->path,
                       "cannot be combined with order \"fifo\", which delivers all jobs of the topic in one "
                       "line, one at a time");
}

static void check_limit(struct member_parse *parse, const struct member *member)
{
    const struct topic_settings *settings = parse->of;
    if (!limit_name_is_valid(settings->limit))
        job_errors_add(parse->errors, member->path,
                       "must be the name of a limit: 1 to 128 of the characters A-Z a-z 0-9 . _ -");
}

/* Whether the zones exist is for the caller to check. */
static void check_windows(struct member_parse *parse, const struct member *member)
{
    struct topic_settings *settings = parse->of;
    struct windows windows;
    struct problem problem;
    if (member_is_null(settings->windows))
        settings->windows = SLICE("");
    else if (windows_parse(settings->windows, &windows, &problem) != STATUS_OK)
        job_errors_add(parse->errors, member->path, problem.text);
}

static void check_alerts(struct member_parse *parse, const struct member *member)
{
    struct topic_settings *settings = parse->of;
    struct alert_rules rules;
    (void)member;
    if (member_is_null(settings->alerts))
        settings->alerts = SLICE("");
    else if (!parse->unknown && alert_rules_parse(parse->errors, settings->alerts, &rules))
        alert_rules_fini(&rules); /* stored rules may be those of a later version, see alert_rules_read */
}

static const struct member batch_rows[] = {
    {MEMBER_NAMED("batch.", "size"), MEMBER_INTEGER, .flags = MEMBER_EVERYWHERE | MEMBER_REQUIRED,
     FIELD(batch_size), HAS(batch_size), .min = 1, .max = TOPIC_BATCH_SIZE_MAX},
    {MEMBER_NAMED("batch.", "wait"), MEMBER_SECONDS, EVERYWHERE, FIELD(batch_wait_ms), HAS(batch_wait_ms),
     .max = TOPIC_BATCH_WAIT_MAX_MS},
    {MEMBER_NAMED("batch.", "maxBytes"), MEMBER_INTEGER, EVERYWHERE, FIELD(batch_bytes), HAS(batch_bytes),
     .min = TOPIC_BATCH_BYTES_MIN, .max = TOPIC_BATCH_BYTES_MAX},
};

static const struct members batch_members = {MEMBER_ROWS(batch_rows), .noun = "setting", .prefix = "batch."};

/* Returns the setting that lets fewer jobs begin together than a batch has, or NULL. A topic may get the
 * batch and the bound from different layers: its requests then have as many jobs as the bound allows. */
static const char *bound_below_batch(const struct topic_settings *settings)
{
    int64_t size = settings->batch_size;
    if (settings->max_in_flight && settings->max_in_flight < size)
        return "maxInFlight";
    if (settings->rate_jobs && settings->is_rate_window && settings->rate_jobs < size)
        return "rate.jobs";
    if (settings->rate_jobs && !settings->is_rate_window && settings->rate_burst < size)
        return "rate.burst";
    if (settings->per_key.max_in_flight && settings->per_key.max_in_flight < size)
        return "perKey.maxInFlight";
    if (settings->per_key.rate_jobs && settings->per_key.rate_burst < size)
        return "perKey.rate.burst";
    return NULL;
}

/* Refuses what a batch cannot keep: the order of its jobs, and a bound that is smaller than it. */
static void check_batch(struct member_parse *parse, const struct member *member)
{
    const struct topic_settings *settings = parse->of;
    const char *bound = bound_below_batch(settings);
    char detail[80];
    if (parse->unknown)
        return;
    if (topic_settings_are_fifo(settings) || topic_settings_are_pull(settings) || settings->priority_age_ms ||
        settings->has_retry_priority || settings->per_key.order.size)
        job_errors_add(
            parse->errors, member->path,
            "cannot be combined with order, perKey.order, priorityAge, retryPriority or delivery \"pull\"");
    else if (bound) {
        snprintf(detail, sizeof detail, "must not be larger than %s, which counts jobs", bound);
        job_errors_add(parse->errors, member->path, detail);
    }
}

/* A batch has one answer for all of its jobs, and a worker ends its leases anyway. */
static void check_defer(struct member_parse *parse, const struct member *member)
{
    const struct topic_settings *settings = parse->of;
    if (!parse->unknown && settings->is_deferring &&
        (settings->batch_size || topic_settings_are_pull(settings)))
        job_errors_add(parse->errors, member->path, "cannot be combined with batch or delivery \"pull\"");
}

/* The bounds of a key: in the setting perKey, and in the settings of the key itself. */
#define LANE_FIELD(member) FIELD(per_key.member)
#define LANE_HAS(member)   HAS(per_key.member)
/* clang-format off */
#define LANE_ROWS(prefix, rate_table)                                                                        \
    {MEMBER_NAMED(prefix, "maxInFlight"), MEMBER_INTEGER, EVERYWHERE, LANE_FIELD(max_in_flight),             \
     LANE_HAS(max_in_flight), .min = 1, .max = TOPIC_MAX_IN_FLIGHT_MAX},                                     \
    {MEMBER_NAMED(prefix, "rate"), MEMBER_OBJECT, EVERYWHERE, LANE_HAS(rate_jobs), .object = &(rate_table),  \
     .unknown = offsetof(struct topic_settings, per_key.rate_unknown)},                                      \
    {MEMBER_NAMED(prefix, "maxPending"), MEMBER_INTEGER, EVERYWHERE, LANE_FIELD(max_pending),                \
     LANE_HAS(has_max_pending), .max = TOPIC_MAX_PENDING_MAX},                                               \
    {MEMBER_NAMED(prefix, "weight"), MEMBER_INTEGER, EVERYWHERE, LANE_FIELD(weight), LANE_HAS(weight),       \
     .min = 1, .max = TOPIC_WEIGHT_MAX}
#define LANE_RATE_ROWS(prefix)                                                                               \
    {MEMBER_NAMED(prefix, "jobs"), MEMBER_INTEGER, .flags = MEMBER_EVERYWHERE | MEMBER_REQUIRED,             \
     LANE_FIELD(rate_jobs), LANE_HAS(rate_jobs), .min = 1, .max = TOPIC_RATE_JOBS_MAX},                      \
    {MEMBER_NAMED(prefix, "per"), MEMBER_SECONDS, .flags = MEMBER_EVERYWHERE | MEMBER_REQUIRED,              \
     LANE_FIELD(rate_per_ms), LANE_HAS(rate_per_ms), .min = TOPIC_RATE_PER_MIN_MS,                           \
     .max = TOPIC_RATE_PER_MAX_MS},                                                                          \
    {MEMBER_NAMED(prefix, "burst"), MEMBER_INTEGER, EVERYWHERE, LANE_FIELD(rate_burst),                      \
     LANE_HAS(rate_burst), .min = 1, .max = TOPIC_RATE_JOBS_MAX, .fallback = 1}
/* clang-format on */

static const struct member per_key_rate_rows[] = {LANE_RATE_ROWS("perKey.rate.")};
static const struct members per_key_rate_members = {MEMBER_ROWS(per_key_rate_rows), .noun = "setting",
                                                    .prefix = "perKey.rate."};
static const struct member per_key_rows[] = {
    LANE_ROWS("perKey.", per_key_rate_members),
    {MEMBER_NAMED("perKey.", "order"), MEMBER_TEXT, .flags = MEMBER_EVERYWHERE | MEMBER_PLAIN,
     LANE_FIELD(order), LANE_HAS(order.size), .min = 1, .max = sizeof "fifo" - 1, .check = check_key_order},
};
static const struct members per_key_members = {MEMBER_ROWS(per_key_rows), .noun = "setting",
                                               .prefix = "perKey."};

static const struct member key_rate_rows[] = {LANE_RATE_ROWS("rate.")};
static const struct members key_rate_members = {MEMBER_ROWS(key_rate_rows), .noun = "setting",
                                                .prefix = "rate."};
static const struct member key_rows[] = {
    {NAMED("paused"), MEMBER_BOOL, EVERYWHERE, FIELD(is_paused), HAS(has_paused)},
    {NAMED("pauseReason"), MEMBER_TEXT, EVERYWHERE, FIELD(pause_reason), HAS(pause_reason.size), .min = 1,
     .max = TOPIC_PAUSE_REASON_MAX},
    LANE_ROWS("", key_rate_members),
};
static const struct members key_members = {MEMBER_ROWS(key_rows), .noun = "setting", .prefix = ""};

/* Number of rows that a limit has, too. */
enum { LIMIT_ROWS = 4 };

/* The rows have the order in which the text has the members. scripts/lib/fifo.lua relies on the order of the
 * first two. The first LIMIT_ROWS are also the settings of a limit. Scripts copy and compare urls as they are
 * in the text, so a url must have no escapes. */
static const struct member rows[] = {
    {NAMED("paused"), MEMBER_BOOL, EVERYWHERE, FIELD(is_paused), HAS(has_paused)},
    {NAMED("pauseReason"), MEMBER_TEXT, EVERYWHERE, FIELD(pause_reason), HAS(pause_reason.size), .min = 1,
     .max = TOPIC_PAUSE_REASON_MAX},
    {NAMED("maxInFlight"), MEMBER_INTEGER, EVERYWHERE, FIELD(max_in_flight), HAS(max_in_flight), .min = 1,
     .max = TOPIC_MAX_IN_FLIGHT_MAX},
    {NAMED("rate"), MEMBER_OBJECT, EVERYWHERE, HAS(rate_jobs), .object = &rate_members,
     .unknown = offsetof(struct topic_settings, rate_unknown)},
    {NAMED("maxPending"), MEMBER_INTEGER, EVERYWHERE, FIELD(max_pending), HAS(has_max_pending),
     .max = TOPIC_MAX_PENDING_MAX},
    {NAMED("limit"), MEMBER_TEXT, .flags = MEMBER_EVERYWHERE | MEMBER_PLAIN, FIELD(limit), HAS(limit.size),
     .min = 1, .max = JOB_TOPIC_MAX, .check = check_limit},
    {NAMED("weight"), MEMBER_INTEGER, EVERYWHERE, FIELD(weight), HAS(weight), .min = 1,
     .max = TOPIC_WEIGHT_MAX},
    {NAMED("order"), MEMBER_TEXT, .flags = MEMBER_EVERYWHERE | MEMBER_PLAIN, FIELD(order), HAS(order.size),
     .min = 1, .max = sizeof "fifo" - 1, .check = check_order},
    {NAMED("onHeadDead"), MEMBER_TEXT, .flags = MEMBER_EVERYWHERE | MEMBER_PLAIN, FIELD(on_head_dead),
     HAS(on_head_dead.size), .min = 1, .max = sizeof "pause" - 1, .check = check_head_dead},
    {NAMED("perKey"), MEMBER_OBJECT, EVERYWHERE, HAS(has_per_key), .object = &per_key_members,
     .unknown = offsetof(struct topic_settings, per_key.unknown), .check = check_not_fifo},
    {NAMED("priorityAge"), MEMBER_SECONDS, .flags = MEMBER_EVERYWHERE | MEMBER_OR_OFF, FIELD(priority_age_ms),
     HAS(priority_age_ms), .min = TOPIC_PRIORITY_AGE_MIN_MS, .max = TOPIC_PRIORITY_AGE_MAX_MS,
     .check = check_not_fifo},
    {NAMED("retryPriority"), MEMBER_INTEGER, EVERYWHERE, FIELD(retry_priority), HAS(has_retry_priority),
     .max = JOB_PRIORITY_MAX, .check = check_not_fifo},
    {NAMED("windows"), MEMBER_JSON, EVERYWHERE, FIELD(windows), HAS(windows.size), .check = check_windows},
    {NAMED("delivery"), MEMBER_TEXT, .flags = MEMBER_EVERYWHERE | MEMBER_PLAIN, FIELD(delivery),
     HAS(delivery.size), .min = 1, .max = sizeof "pull" - 1, .check = check_delivery},
    {NAMED("batch"), MEMBER_OBJECT, EVERYWHERE, HAS(batch_size), .object = &batch_members,
     .unknown = offsetof(struct topic_settings, batch_unknown), .check = check_batch},
    {NAMED("defer"), MEMBER_BOOL, EVERYWHERE, FIELD(is_deferring), HAS(has_defer), .check = check_defer},
    {NAMED("results"), MEMBER_BOOL, EVERYWHERE, FIELD(are_results_kept), HAS(has_results)},
    {NAMED("events"), MEMBER_BOOL, EVERYWHERE, FIELD(are_events_kept), HAS(has_events)},
    {NAMED("retrySchedule"), MEMBER_WAITS, EVERYWHERE, FIELD(schedule), HAS(has_schedule),
     .max = JOB_WAIT_MAX_MS},
    {NAMED("timeout"), MEMBER_SECONDS, EVERYWHERE, FIELD(timeout_ms), HAS(has_timeout),
     .min = JOB_TIMEOUT_MIN_MS, .max = JOB_TIMEOUT_MAX_MS},
    {NAMED("jitter"), MEMBER_SHARE, EVERYWHERE, FIELD(jitter_ppm), HAS(jitter_ppm),
     .max = TOPIC_JITTER_MAX_PPM},
    {NAMED("url"), MEMBER_URL, .flags = MEMBER_EVERYWHERE | MEMBER_INHERITED | MEMBER_PLAIN, FIELD(url),
     HAS(url.size), .max = JOB_URL_MAX},
    {NAMED("headers"), MEMBER_HEADERS, SEALED_BOTH, FIELD(headers), HAS(header_count),
     .count = offsetof(struct topic_settings, header_count), .max = JOB_HEADERS_MAX},
    {NAMED("egressProxy"), MEMBER_PROXY, SEALED_BOTH, FIELD(egress_proxy), HAS(egress_proxy.size)},
    {NAMED("auth"), MEMBER_OBJECT, SEALED_BOTH, HAS(has_auth), .object = &topic_auth_members,
     .unknown = offsetof(struct topic_settings, auth_unknown), .check = topic_auth_check},
    {NAMED("onDelivered"), MEMBER_CALLBACK, SEALED, FIELD(on_delivered), HAS(on_delivered.size)},
    {NAMED("onDead"), MEMBER_CALLBACK, SEALED, FIELD(on_dead), HAS(on_dead.size)},
    {NAMED("onAttempt"), MEMBER_CALLBACK, SEALED, FIELD(on_attempt), HAS(on_attempt.size)},
    {NAMED("alerts"), MEMBER_JSON, SEALED, FIELD(alerts), HAS(alerts.size), .check = check_alerts,
     .show = alert_rules_show},
    {NAMED("breaker"), MEMBER_BOOL, EVERYWHERE, FIELD(is_breaker_on), HAS(has_breaker)},
    {NAMED("retention"), MEMBER_SECONDS, INHERITED, FIELD(retention_ms), HAS(retention_ms),
     .min = TOPIC_RETENTION_MIN_MS, .max = TOPIC_RETENTION_MAX_MS},
    {NAMED("secrets"), MEMBER_KEYS, SEALED_BOTH, FIELD(secrets), HAS(secrets.count), .max = SIGNING_KEYS_MAX},
    {NAMED("signature"), MEMBER_TEXT, .flags = MEMBER_EVERYWHERE | MEMBER_INHERITED | MEMBER_PLAIN,
     FIELD(signature), HAS(signature.size), .min = 1, .max = sizeof "standard" - 1, .check = check_signature},
    {NAMED("note"), MEMBER_JSON, .flags = MEMBER_STORED | MEMBER_SEALED, FIELD(note), HAS(note.size)},
    {NAMED("formKeys"), MEMBER_JSON, .flags = MEMBER_STORED | MEMBER_INHERITED | MEMBER_SEALED,
     FIELD(form_keys), HAS(form_keys.size)},
#ifdef DUEPOST_TEST_NEXT
    {NAMED("next"), MEMBER_TEXT, .flags = MEMBER_EVERYWHERE | MEMBER_PLAIN, FIELD(next), HAS(next.size)},
#endif
};

MEMBER_ROWS_FIT(rows);

const struct members topic_settings_members = {MEMBER_ROWS(rows), .noun = "setting", .prefix = ""};

static const struct members limit_members = {
    .rows = rows, .count = LIMIT_ROWS, .noun = "setting", .prefix = ""};

/* ---- reading ---- */

/* Parses a text. is_kept says that the text comes from Redis, where another version may have written it. If
 * errors already has faults, they stay there, and the result is INVALID. */
static enum status parse_text(const struct members *table, struct slice text, struct topic_settings *settings,
                              struct job_errors *errors, bool is_kept)
{
    struct member_parse parse = {.table = table,
                                 .of = settings,
                                 .text = &settings->text,
                                 .errors = errors,
                                 .unknown = is_kept ? &settings->unknown : NULL,
                                 .lacks = is_kept ? &settings->lacks : NULL};
    memset(settings, 0, sizeof *settings);
    size_t most = MEMBER_HEADERS_TEXT_MAX + TOPIC_PAUSE_REASON_MAX + 3 * AUTH_PEM_MAX;
    buffer_init(&settings->text, (text.size < most ? text.size : most) + JOB_URL_MAX); /* and an origin */
    enum status status = job_parse_document(text, errors);
    if (status == STATUS_OK)
        members_parse(&parse, text);
    if (status == STATUS_OK && errors->count == 0) {
        if (!settings->is_paused)
            settings->pause_reason = SLICE("");
        return STATUS_OK;
    }
    topic_settings_fini(settings);
    if (status == STATUS_NO_MEMORY || settings->lacks.size == 0)
        return status == STATUS_OK ? STATUS_INVALID : status;
    /* Keeps only "lacks", because a later version may give known settings values that this version cannot
     * read. */
    *settings = (struct topic_settings){.lacks = settings->lacks};
    return STATUS_OK;
}

enum status topic_settings_parse(struct slice text, struct topic_settings *settings,
                                 struct job_errors *errors)
{
    job_errors_clear(errors);
    return parse_text(&topic_settings_members, text, settings, errors, false);
}

enum status limit_settings_parse(struct slice text, struct topic_settings *settings,
                                 struct job_errors *errors)
{
    job_errors_clear(errors);
    return parse_text(&limit_members, text, settings, errors, false);
}

enum status limit_settings_read(struct slice text, struct topic_settings *settings)
{
    struct job_errors errors;
    job_errors_clear(&errors);
    return parse_text(&limit_members, text.size ? text : SLICE("{}"), settings, &errors, true);
}

enum status key_settings_parse(struct slice text, struct topic_settings *settings, struct job_errors *errors)
{
    job_errors_clear(errors);
    return parse_text(&key_members, text, settings, errors, false);
}

enum status key_settings_read(struct slice text, struct topic_settings *settings)
{
    struct job_errors errors;
    job_errors_clear(&errors);
    return parse_text(&key_members, text.size ? text : SLICE("{}"), settings, &errors, true);
}

/* Reads a text that is not sealed. If OK, the settings have taken over "opened", whose text this is, or freed
 * it. */
static enum status read_open(struct slice text, struct buffer *opened, struct topic_settings *settings)
{
    struct job_errors errors;
    struct buffer united;
    job_errors_clear(&errors);
    if (text.size == 0 || text.data[0] != '[') {
        enum status status =
            parse_text(&topic_settings_members, text.size ? text : SLICE("{}"), settings, &errors, true);
        if (status == STATUS_OK)
            settings->united = *opened;
        return status;
    }
    buffer_init(&united, TOPIC_LAYERS_BYTES_MAX);
    enum status status = topic_layers_unite(text, &united) ? STATUS_OK : STATUS_INVALID;
    if (status == STATUS_OK)
        status = parse_text(&topic_settings_members, buffer_slice(&united), settings, &errors, true);
    if (status == STATUS_OK) {
        settings->united = united;
        buffer_fini(opened);
    } else {
        buffer_fini(&united);
    }
    return status;
}

/* Reads the settings of a topic, or of any topic if its name is empty. */
static enum status read_any(struct slice topic, struct slice text, struct topic_settings *settings)
{
    struct buffer opened = {.data = NULL}, lacks;
    enum status status = STATUS_INVALID;
    if (!topic_settings_are_sealed(text))
        return read_open(text, &opened, settings);
    buffer_init(&opened, TOPIC_STORED_BYTES_MAX);
    buffer_init(&lacks, sizeof JOB_LACKS_KEY + SEAL_NAME_SIZE);
    switch (topic_settings_open(topic, text, &opened, &lacks)) {
    case SEAL_OPENED:
        status = read_open(buffer_slice(&opened), &opened, settings);
        break;
    case SEAL_NO_KEY:
        *settings = (struct topic_settings){.lacks = buffer_slice(&lacks), .text = lacks};
        buffer_fini(&opened);
        return STATUS_OK;
    case SEAL_DAMAGED: /* a later version may seal in another way */
        buffer_clear(&opened);
        status = read_open(text, &opened, settings);
        if (status == STATUS_OK && settings->lacks.size == 0) {
            topic_settings_fini(settings);
            opened = (struct buffer){.data = NULL};
            status = STATUS_INVALID;
        }
        break;
    }
    if (status != STATUS_OK)
        buffer_fini(&opened);
    buffer_fini(&lacks);
    return status;
}

enum status topic_settings_read(struct slice text, struct topic_settings *settings)
{
    return read_any(SLICE(""), text, settings);
}

enum status topic_settings_read_for(struct slice topic, struct slice text, struct topic_settings *settings)
{
    enum status status = read_any(topic, text, settings);
    if (status == STATUS_OK && topic_is_sibling(topic))
        members_limit(&topic_settings_members, settings, MEMBER_INHERITED);
    return status;
}

void topic_settings_fini(struct topic_settings *settings)
{
    buffer_fini(&settings->text);
    buffer_fini(&settings->united);
}

/* ---- writing ---- */

/* Writes the names of the features that an earlier version must not ignore. A callback onDead that is a plain
 * url is no such feature, because earlier versions know it. */
static void write_needs(const struct topic_settings *settings, struct json_writer *json)
{
    struct needs_writer needs = {json, false};
    if (settings->on_delivered.size || settings->on_attempt.size ||
        slice_starts_with(settings->on_dead, SLICE("{")))
        needs_add(&needs, "callbacks");
    if (topic_settings_are_fifo(settings))
        needs_add(&needs, "fifo");
    if (topic_settings_are_pull(settings))
        needs_add(&needs, "pull");
    if (settings->rate_jobs && settings->is_rate_window)
        needs_add(&needs, "rateWindow");
    if (settings->limit.size)
        needs_add(&needs, "limits");
    if (settings->batch_size)
        needs_add(&needs, "batch");
    if (settings->is_deferring)
        needs_add(&needs, "defer");
    if (settings->are_events_kept)
        needs_add(&needs, "events");
    if (settings->windows.size)
        needs_add(&needs, "windows");
    if (settings->signature.size && !slice_equal(settings->signature, SLICE("standard")))
        needs_add(&needs, "signature");
    if (settings->has_auth || settings->egress_proxy.size)
        needs_add(&needs, "auth");
    if (settings->has_per_key || settings->priority_age_ms || settings->has_retry_priority)
        needs_add(&needs, "keys");
#ifdef DUEPOST_TEST_NEXT
    if (slice_starts_with(settings->next, SLICE("needed")))
        needs_add(&needs, "next");
#endif
    needs_end(&needs);
}

static void put_settings(const struct members *table, const struct topic_settings *settings,
                         struct buffer *out, enum members_for whom)
{
    struct json_writer json = json_writer_to(out);
    json_put_object(&json);
    members_write(table, settings, whom, &json);
    if (whom == MEMBERS_FOR_REDIS) {
        write_needs(settings, &json);
        unknown_members_write(&settings->unknown, &json);
    }
    json_end_object(&json);
}

/* If no setting is set, writes nothing. */
static void write_any(const struct members *table, const struct topic_settings *settings, struct buffer *out)
{
    size_t start = out->size;
    put_settings(table, settings, out, MEMBERS_FOR_REDIS);
    if (!out->failed && out->size == start + sizeof "{}" - 1)
        out->size = start;
}

void topic_settings_write(const struct topic_settings *settings, struct buffer *out)
{
    write_any(&topic_settings_members, settings, out);
}

void key_settings_write(const struct topic_settings *settings, struct buffer *out)
{
    write_any(&key_members, settings, out);
}

void limit_settings_write(const struct topic_settings *settings, struct buffer *out)
{
    put_settings(&limit_members, settings, out, MEMBERS_FOR_REDIS);
}

void key_settings_show(const struct topic_settings *settings, struct buffer *out)
{
    put_settings(&key_members, settings, out, MEMBERS_FOR_PEOPLE);
}

void topic_settings_show(const struct topic_settings *settings, struct buffer *out)
{
    put_settings(&topic_settings_members, settings, out, MEMBERS_FOR_PEOPLE);
}

/* ---- changing ---- */

static void merge(const struct members *table, const struct topic_settings *old, struct slice patch,
                  struct buffer *text, struct job_errors *errors)
{
    struct member_values old_values, values;
    struct buffer known;
    buffer_init(&known, TOPIC_SETTINGS_BYTES_MAX);
    put_settings(table, old, &known, MEMBERS_FOR_PATCH);
    members_find(table, MEMBER_PATCHED, buffer_slice(&known), &old_values, NULL);
    members_find(table, MEMBER_PATCHED, patch, &values, errors);
    members_merge(table, &old_values, &values, text, errors);
    buffer_fini(&known);
}

/* Applies a patch, and keeps the members that clients do not see. */
static enum status patch_settings(const struct members *table, const struct topic_settings *old,
                                  struct slice patch, struct buffer *text, struct topic_settings *settings,
                                  struct job_errors *errors)
{
    job_errors_clear(errors);
    if (patch.size > TOPIC_PATCH_BYTES_MAX) {
        char detail[48];
        snprintf(detail, sizeof detail, "must be at most %d bytes", TOPIC_PATCH_BYTES_MAX);
        job_errors_add(errors, "", detail);
        return STATUS_INVALID;
    }
    enum status status = job_parse_document(patch, errors);
    if (status != STATUS_OK)
        return status;
    merge(table, old, patch, text, errors);
    if (text->failed)
        return STATUS_NO_MEMORY;
    status = parse_text(table, buffer_slice(text), settings, errors, false);
    if (status != STATUS_OK)
        return status;
    topic_auth_check_patch(old, settings, patch, errors);
    if (errors->count) {
        topic_settings_fini(settings);
        return STATUS_INVALID;
    }
    settings->unknown = old->unknown;
    settings->note = old->note;
    settings->form_keys = old->form_keys;
    if (settings->has_auth)
        settings->auth_unknown = old->auth_unknown;
    if (settings->batch_size)
        settings->batch_unknown = old->batch_unknown;
    if (settings->rate_jobs)
        settings->rate_unknown = old->rate_unknown;
    settings->per_key.unknown = old->per_key.unknown;
    if (settings->per_key.rate_jobs)
        settings->per_key.rate_unknown = old->per_key.rate_unknown;
    return STATUS_OK;
}

enum status topic_settings_patch(const struct topic_settings *old, struct slice patch, struct buffer *text,
                                 struct topic_settings *settings, struct job_errors *errors)
{
    return patch_settings(&topic_settings_members, old, patch, text, settings, errors);
}

enum status limit_settings_patch(const struct topic_settings *old, struct slice patch, struct buffer *text,
                                 struct topic_settings *settings, struct job_errors *errors)
{
    return patch_settings(&limit_members, old, patch, text, settings, errors);
}

enum status key_settings_patch(const struct topic_settings *old, struct slice patch, struct buffer *text,
                               struct topic_settings *settings, struct job_errors *errors)
{
    return patch_settings(&key_members, old, patch, text, settings, errors);
}

/* ---- using ---- */

enum topic_service topic_settings_service(struct slice text)
{
    struct topic_settings settings;
    switch (topic_settings_read(text, &settings)) {
    case STATUS_OK:
        break;
    case STATUS_NO_MEMORY:
        return TOPIC_SERVED;
    default:
        return TOPIC_UNREADABLE;
    }
    bool is_lacking = settings.lacks.size > 0, is_paused = settings.is_paused;
    topic_settings_fini(&settings);
    return is_lacking ? TOPIC_LACKING : is_paused ? TOPIC_PAUSED : TOPIC_SERVED;
}

bool topic_settings_are_fifo(const struct topic_settings *settings)
{
    return slice_equal(settings->order, SLICE("fifo"));
}

bool topic_settings_are_pull(const struct topic_settings *settings)
{
    return slice_equal(settings->delivery, SLICE("pull"));
}

int64_t topic_settings_wait_ms(const struct topic_settings *settings, int64_t wait_ms, uint32_t random)
{
    /* This does not overflow: a year in ms, times a million, fits into 64 bits. */
    int64_t most_ms = wait_ms * settings->jitter_ppm / TOPIC_JITTER_MAX_PPM;
    return wait_ms + (int64_t)((double)most_ms * random / UINT32_MAX);
}

/* ---- defaults of jobs ---- */

struct slice topic_defaults_url(const struct topic_settings *settings, const struct job *job)
{
    return job->url.size || !settings ? job->url : settings->url;
}

int64_t topic_defaults_timeout_ms(const struct topic_settings *settings, const struct job *job)
{
    return !job->has_timeout && settings && settings->has_timeout ? settings->timeout_ms : job->timeout_ms;
}

const struct retry_schedule *topic_defaults_schedule(const struct topic_settings *settings,
                                                     const struct retry_schedule *ours)
{
    return settings && settings->has_schedule ? &settings->schedule : ours;
}

/* Returns whether the job gets the topic's headers. These headers may hold secrets, so they are sent only to
 * the topic's own origin. Otherwise a client that can schedule a job could read them by pointing url at its
 * own server. */
static bool has_headers_for(const struct topic_settings *settings, const struct job *job)
{
    struct url own, topics;
    const char *ignored;
    if (settings->header_count == 0 || settings->url.size == 0 || job->url.size == 0)
        return settings->header_count > 0;
    return url_parse(job->url, &own, &ignored) == STATUS_OK &&
           url_parse(settings->url, &topics, &ignored) == STATUS_OK && url_is_same_origin(&own, &topics);
}

size_t topic_defaults_headers(const struct topic_settings *settings, const struct job *job,
                              struct job_header headers[TOPIC_DEFAULTS_HEADERS_MAX])
{
    size_t count = 0;
    for (size_t i = 0; i < job->header_count; i++)
        headers[count++] = job->headers[i];
    if (!settings || !has_headers_for(settings, job))
        return count;
    for (size_t i = 0; i < settings->header_count; i++)
        if (!job_header(job, settings->headers[i].name))
            headers[count++] = settings->headers[i];
    return count;
}

/* ---- the set of all patterns ---- */

static void pattern_fini(struct pattern *pattern)
{
    buffer_fini(&pattern->name);
    buffer_fini(&pattern->text);
}

void pattern_set_fini(struct pattern_set *set)
{
    for (size_t i = 0; i < set->count; i++)
        pattern_fini(&set->patterns[i]);
    set->count = 0;
}

/* A text that does not open stays as it is. */
static void open_pattern(struct slice text, struct buffer *out)
{
    char room[sizeof JOB_LACKS_KEY + SEAL_NAME_SIZE];
    struct buffer ignored = buffer_of(room, sizeof room);
    if (topic_settings_open(SLICE(""), text, out, &ignored) == SEAL_OPENED)
        return;
    buffer_clear(out);
    buffer_append(out, text);
}

static void add_pattern(struct pattern_set *set, struct slice name, struct slice text)
{
    struct pattern *pattern = &set->patterns[set->count++];
    buffer_init(&pattern->name, name.size);
    buffer_init(&pattern->text, text.size > TOPIC_STORED_BYTES_MAX ? text.size : TOPIC_STORED_BYTES_MAX);
    buffer_append(&pattern->name, name);
    open_pattern(text, &pattern->text);
}

bool pattern_set_add(struct pattern_set *set, struct slice name, struct slice text)
{
    if (set->count < PATTERN_SET_MAX)
        add_pattern(set, name, text);
    else
        return false;
    return true;
}

static struct slice name_of(const struct pattern_set *set, size_t index)
{
    return buffer_slice(&set->patterns[index].name);
}

static size_t index_of(const struct pattern_set *set, struct slice name)
{
    size_t index = 0;
    while (index < set->count && !slice_equal(name_of(set, index), name))
        index++;
    return index;
}

struct slice pattern_set_text(const struct pattern_set *set, struct slice name)
{
    size_t index = index_of(set, name);
    return index < set->count ? buffer_slice(&set->patterns[index].text) : SLICE("");
}

/* ---- a change of the set ---- */

/* The text of a pattern also contains the settings of shorter patterns. Replaces the text by the pattern's
 * own settings only. */
static enum pattern_set_end keep_own(struct buffer *text)
{
    struct topic_settings settings;
    struct buffer own;
    enum pattern_set_end end = PATTERN_SET_UNREADABLE;
    if (topic_settings_read(buffer_slice(text), &settings) != STATUS_OK)
        return end;
    bool is_lacking = settings.lacks.size > 0;
    topic_settings_fini(&settings);
    if (is_lacking)
        return PATTERN_SET_LACKING;
    buffer_init(&own, TOPIC_LAYERS_BYTES_MAX);
    if (topic_layers_own(buffer_slice(text), &own) &&
        topic_settings_read(buffer_slice(&own), &settings) == STATUS_OK) {
        buffer_clear(text);
        topic_settings_write(&settings, text);
        topic_settings_fini(&settings);
        end = text->failed ? PATTERN_SET_UNREADABLE : PATTERN_SET_DONE;
    }
    buffer_fini(&own);
    return end;
}

static int compare_patterns(const void *a, const void *b)
{
    const struct pattern *left = a, *right = b;
    if (left->name.size != right->name.size)
        return left->name.size > right->name.size ? 1 : -1;
    return memcmp(left->name.data, right->name.data, left->name.size);
}

/* Among the shorter patterns that match all topics of the given pattern, returns the longest, or NULL. The
 * set must be sorted, shorter patterns first. */
static const struct pattern *parent_of(const struct pattern_set *set, size_t index)
{
    for (size_t i = index; i-- > 0;)
        if (topic_pattern_contains(name_of(set, i), name_of(set, index)))
            return &set->patterns[i];
    return NULL;
}

/* Returns why a text did not open. */
static enum pattern_set_end lack_of(const struct buffer *text)
{
    return topic_settings_service(buffer_slice(text)) == TOPIC_LACKING ? PATTERN_SET_LACKING
                                                                       : PATTERN_SET_UNREADABLE;
}

static enum pattern_set_end inherit(struct pattern_set *set, size_t index)
{
    const struct pattern *parent = parent_of(set, index);
    struct buffer *text = &set->patterns[index].text, merged;
    if (!parent)
        return PATTERN_SET_DONE;
    if (topic_settings_are_sealed(buffer_slice(&parent->text)))
        return lack_of(&parent->text);
    buffer_init(&merged, TOPIC_LAYERS_BYTES_MAX);
    bool is_merged = topic_layers_merge(buffer_slice(text), buffer_slice(&parent->text),
                                        buffer_slice(&parent->name), &merged);
    buffer_clear(text);
    buffer_append(text, buffer_slice(&merged));
    buffer_fini(&merged);
    return is_merged && !text->failed ? PATTERN_SET_DONE : PATTERN_SET_UNREADABLE;
}

/* Replaces the texts by those that Redis is to have. */
static bool seal_all(struct pattern_set *set)
{
    bool is_whole = true;
    for (size_t i = 0; i < set->count && seal_is_on(); i++) {
        struct buffer sealed, *text = &set->patterns[i].text;
        buffer_init(&sealed, text->max);
        topic_settings_seal(name_of(set, i), buffer_slice(text), &sealed);
        is_whole = is_whole && !sealed.failed;
        buffer_fini(text);
        *text = sealed;
    }
    return is_whole;
}

enum pattern_set_end pattern_set_change(struct pattern_set *set, struct slice name, struct slice own)
{
    if (own.size && index_of(set, name) == set->count && set->count == PATTERN_SET_MAX)
        return PATTERN_SET_FULL;
    for (size_t i = 0; i < set->count; i++) {
        bool is_longer = name_of(set, i).size > name.size && topic_pattern_contains(name, name_of(set, i));
        enum pattern_set_end end = is_longer ? keep_own(&set->patterns[i].text) : PATTERN_SET_DONE;
        if (end != PATTERN_SET_DONE)
            return end;
    }
    size_t index = index_of(set, name);
    if (index < set->count) {
        pattern_fini(&set->patterns[index]);
        set->patterns[index] = set->patterns[--set->count];
    }
    if (own.size)
        add_pattern(set, name, own);
    qsort(set->patterns, set->count, sizeof *set->patterns, compare_patterns);
    for (size_t i = 0; i < set->count; i++) {
        bool is_changed = topic_pattern_contains(name, name_of(set, i));
        enum pattern_set_end end = is_changed ? inherit(set, i) : PATTERN_SET_DONE;
        if (end != PATTERN_SET_DONE)
            return end;
    }
    return seal_all(set) ? PATTERN_SET_DONE : PATTERN_SET_UNREADABLE;
}
