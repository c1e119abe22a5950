#include "job/topic_settings.h"

#include <stdio.h>

#include "base/decimal.h"
#include "job/job_id.h"
#include "job/json.h"
#include "job/member.h"
#include "job/needs.h"
#include "job/suggestion.h"

static const struct json_limits limits = {JOB_DEPTH_MAX, JOB_MEMBERS_MAX};

/* ---- reading ---- */

struct parse {
    struct topic_settings *settings;
    struct job_errors *errors;
    bool is_kept; /* the text is not a client's: another version may have written it */
};

struct member {
    const char *name;
    void (*read)(struct parse *, const char *name, struct slice value);
};

static bool read_bool(struct parse *parse, const char *name, struct slice value)
{
    bool is_true = slice_equal(value, SLICE("true"));
    if (!is_true && !slice_equal(value, SLICE("false")))
        job_errors_add(parse->errors, name, "must be true or false");
    return is_true;
}

static void read_paused(struct parse *parse, const char *name, struct slice value)
{
    parse->settings->is_paused = read_bool(parse, name, value);
}

static void read_breaker(struct parse *parse, const char *name, struct slice value)
{
    parse->settings->has_breaker = true;
    parse->settings->is_breaker_on = read_bool(parse, name, value);
}

static void read_max_in_flight(struct parse *parse, const char *name, struct slice value)
{
    member_integer(parse->errors, name, value, 1, TOPIC_MAX_IN_FLIGHT_MAX, &parse->settings->max_in_flight);
}

static void read_rate_jobs(struct parse *parse, const char *name, struct slice value)
{
    member_integer(parse->errors, name, value, 1, TOPIC_RATE_JOBS_MAX, &parse->settings->rate_jobs);
}

static void read_rate_per(struct parse *parse, const char *name, struct slice value)
{
    member_seconds(parse->errors, name, value, TOPIC_RATE_PER_MIN_MS, TOPIC_RATE_PER_MAX_MS,
                   &parse->settings->rate_per_ms);
}

static void read_rate_burst(struct parse *parse, const char *name, struct slice value)
{
    member_integer(parse->errors, name, value, 1, TOPIC_RATE_JOBS_MAX, &parse->settings->rate_burst);
}

static void read_members(struct parse *, struct slice text, const struct member *members, size_t count,
                         const char *prefix, struct carried *);

static void read_rate(struct parse *parse, const char *name, struct slice value)
{
    static const struct member members[] = {
        {"rate.jobs", read_rate_jobs}, {"rate.per", read_rate_per}, {"rate.burst", read_rate_burst}};
    struct topic_settings *settings = parse->settings;
    size_t errors_before = parse->errors->count;
    settings->rate_burst = 1;
    if (value.data[0] != '{') {
        job_errors_add(parse->errors, name, "must be an object of jobs, per and burst");
        return;
    }
    read_members(parse, value, members, sizeof members / sizeof *members, "rate.", &settings->rate_carried);
    if (parse->errors->count > errors_before)
        return;
    if (!settings->rate_jobs)
        job_errors_add(parse->errors, "rate.jobs", "is required");
    if (!settings->rate_per_ms)
        job_errors_add(parse->errors, "rate.per", "is required");
}

static void read_schedule(struct parse *parse, const char *name, struct slice value)
{
    parse->settings->has_schedule = true;
    member_schedule(parse->errors, name, value, &parse->settings->schedule);
}

static void read_timeout(struct parse *parse, const char *name, struct slice value)
{
    parse->settings->has_timeout = true;
    member_seconds(parse->errors, name, value, JOB_TIMEOUT_MIN_MS, JOB_TIMEOUT_MAX_MS,
                   &parse->settings->timeout_ms);
}

static void read_retention(struct parse *parse, const char *name, struct slice value)
{
    member_seconds(parse->errors, name, value, TOPIC_RETENTION_MIN_MS, TOPIC_RETENTION_MAX_MS,
                   &parse->settings->retention_ms);
}

static void read_jitter(struct parse *parse, const char *name, struct slice value)
{
    if (!decimal_parse(value, TOPIC_JITTER_MAX_PPM, TOPIC_JITTER_MAX_PPM, &parse->settings->jitter_ppm, NULL))
        job_errors_add(parse->errors, name, "must be a number from 0 to 1");
}

/* The scripts put urls into records, or compare them, as they stand here, so they must stand here without
 * escapes. */
static void read_plain_url(struct parse *parse, const char *name, struct slice value, struct slice *url)
{
    struct slice text = json_is_text(value) ? slice_from(value.data + 1, value.size - 2) : value;
    if (!json_is_text(value) || json_has_escapes(value))
        job_errors_add(parse->errors, name, "must be a string without escapes");
    else if (member_url(parse->errors, name, text))
        *url = text;
}

static void read_url(struct parse *parse, const char *name, struct slice value)
{
    read_plain_url(parse, name, value, &parse->settings->url);
}

static void read_on_dead(struct parse *parse, const char *name, struct slice value)
{
    read_plain_url(parse, name, value, &parse->settings->on_dead);
}

static void read_headers(struct parse *parse, const char *name, struct slice value)
{
    struct topic_settings *settings = parse->settings;
    bool is_short = value.size < MEMBER_HEADERS_TEXT_MAX;
    buffer_init(&settings->text, is_short ? value.size : MEMBER_HEADERS_TEXT_MAX);
    settings->header_count = member_headers(parse->errors, name, value, settings->headers, &settings->text);
}

static void read_secrets(struct parse *parse, const char *name, struct slice value)
{
    struct signing_keys *keys = &parse->settings->secrets;
    struct json_cursor cursor;
    struct slice item;
    char field[32];
    bool is_open = value.data[0] == '[' && json_open(value, &cursor);
    if (!is_open)
        job_errors_add(parse->errors, name, "must be an array of keys");
    for (int i = 0; is_open && json_next_item(&cursor, &item); i++) {
        const char *detail = "must be a string without escapes";
        struct slice text = json_is_text(item) ? slice_from(item.data + 1, item.size - 2) : item;
        snprintf(field, sizeof field, "secrets[%d]", i);
        if (i >= SIGNING_KEYS_MAX) {
            job_errors_add(parse->errors, name, "must have at most 8 keys");
            return;
        }
        if (!json_is_text(item) || json_has_escapes(item) ||
            signing_key_parse(text, &keys->items[i], &detail) != STATUS_OK)
            job_errors_add(parse->errors, field, detail);
        keys->count = (size_t)i + 1;
    }
}

#ifdef DUEPOST_TEST_NEXT
static void read_next(struct parse *parse, const char *name, struct slice value)
{
    if (!json_is_text(value) || json_has_escapes(value))
        job_errors_add(parse->errors, name, "must be a string without escapes");
    else
        parse->settings->next = slice_from(value.data + 1, value.size - 2);
}
#endif

static const struct member all_members[] = {
#ifdef DUEPOST_TEST_NEXT
    {"next", read_next},
#endif
    {"paused", read_paused},   {"maxInFlight", read_max_in_flight},
    {"rate", read_rate},       {"retrySchedule", read_schedule},
    {"timeout", read_timeout}, {"jitter", read_jitter},
    {"url", read_url},         {"headers", read_headers},
    {"onDead", read_on_dead},  {"breaker", read_breaker},
    {"secrets", read_secrets}, {"retention", read_retention},
};

static void report_unknown(struct parse *parse, struct slice name, const char *prefix,
                           const struct member *members, size_t count)
{
    struct suggestion meant = {.name = name};
    char detail[SUGGESTION_DETAIL_SIZE];
    for (size_t i = 0; i < count; i++)
        suggestion_weigh(&meant, members[i].name + strlen(prefix));
    suggestion_write(&meant, "unknown setting", detail);
    job_errors_add_named(parse->errors, prefix, name, detail);
}

/* False: it is to be reported. */
static bool read_unknown(struct parse *parse, struct slice key, struct slice value, const char *prefix,
                         struct carried *carried)
{
    struct slice name = slice_from(key.data + 1, key.size - 2);
    bool is_needs = parse->is_kept && !prefix[0] && slice_equal(name, SLICE("needs"));
    if (is_needs && !needs_read(value, &parse->settings->lacks))
        job_errors_add(parse->errors, "needs", "must be an array of names");
    else if (is_needs && parse->settings->lacks.size == 0)
        return true; /* a version that knows all of the names writes it anew */
    else
        return parse->is_kept && carried_add(carried, key, value);
    return true;
}

/* Names of members, "rate.jobs" for jobs within rate. A name with escapes is none of ours. */
static void read_members(struct parse *parse, struct slice text, const struct member *members, size_t count,
                         const char *prefix, struct carried *carried)
{
    struct json_cursor cursor;
    struct slice key, value;
    bool is_open = json_open(text, &cursor);
    while (is_open && json_next_member(&cursor, &key, &value)) {
        struct slice name = slice_from(key.data + 1, key.size - 2);
        size_t i = 0;
        while (i < count && !slice_equal(name, slice_of(members[i].name + strlen(prefix))))
            i++;
        if (i < count && !member_is_absent(value))
            members[i].read(parse, members[i].name, value);
        else if (i == count && !read_unknown(parse, key, value, prefix, carried))
            report_unknown(parse, name, prefix, members, count);
    }
}

static enum status parse_text(struct parse *parse, struct slice text)
{
    struct topic_settings *settings = parse->settings;
    struct job_errors *errors = parse->errors;
    struct json_fault fault;
    struct json_cursor top;
    char detail[96];
    memset(settings, 0, sizeof *settings);
    errors->count = 0;
    enum status status = json_check(text, &limits, &fault);
    if (status == STATUS_NO_MEMORY)
        return status;
    if (status != STATUS_OK) {
        snprintf(detail, sizeof detail, "%s, at byte %zu", fault.detail, fault.offset);
        job_errors_add(errors, "", detail);
    } else if (!json_open(text, &top) || top.close != '}') {
        job_errors_add(errors, "", "must be an object");
    } else {
        read_members(parse, text, all_members, sizeof all_members / sizeof *all_members, "",
                     &settings->carried);
    }
    if (errors->count == 0)
        return STATUS_OK;
    topic_settings_fini(settings);
    if (settings->lacks.size == 0)
        return STATUS_INVALID;
    /* A later version may give settings that are known here other values, too: then only that is told. */
    *settings = (struct topic_settings){.lacks = settings->lacks};
    return STATUS_OK;
}

enum status topic_settings_parse(struct slice text, struct topic_settings *settings,
                                 struct job_errors *errors)
{
    struct parse parse = {.settings = settings, .errors = errors};
    return parse_text(&parse, text);
}

enum status topic_settings_read(struct slice text, struct topic_settings *settings)
{
    struct job_errors errors;
    struct parse parse = {.settings = settings, .errors = &errors, .is_kept = true};
    return parse_text(&parse, text.size ? text : SLICE("{}"));
}

static void limit_to_sibling(struct topic_settings *settings)
{
    settings->is_paused = false;
    settings->max_in_flight = 0;
    settings->rate_jobs = 0;
    settings->has_schedule = false;
    settings->has_timeout = false;
    settings->on_dead = SLICE("");
    settings->jitter_ppm = 0;
    settings->has_breaker = false;
}

enum status topic_settings_read_for(struct slice topic, struct slice text, struct topic_settings *settings)
{
    enum status status = topic_settings_read(text, settings);
    if (status == STATUS_OK && topic_is_sibling(topic))
        limit_to_sibling(settings);
    return status;
}

void topic_settings_fini(struct topic_settings *settings)
{
    buffer_fini(&settings->text);
}

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

int64_t topic_settings_wait_ms(const struct topic_settings *settings, int64_t wait_ms, uint32_t random)
{
    /* At most a year of milliseconds times a million fits 64 bits. */
    int64_t most_ms = wait_ms * settings->jitter_ppm / TOPIC_JITTER_MAX_PPM;
    return wait_ms + (int64_t)((double)most_ms * random / UINT32_MAX);
}
