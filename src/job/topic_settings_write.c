/* topic_settings_write.c - the settings of a topic as text: for Redis, and for people. */
#include "base/json_writer.h"
#include "job/member.h"
#include "job/topic_settings.h"
#include "job/url.h"

static void put_rate(struct json_writer *json, const struct topic_settings *settings, bool is_carrying)
{
    json_add_object(json, "rate");
    json_add_number(json, "jobs", settings->rate_jobs);
    json_add_seconds(json, "per", settings->rate_per_ms);
    json_add_number(json, "burst", settings->rate_burst);
    if (is_carrying)
        carried_write(&settings->rate_carried, json);
    json_end_object(json);
}

static void put_url(struct json_writer *json, const char *name, struct slice url, bool is_hidden)
{
    if (url.size == 0)
        return;
    json_put_name(json, name);
    if (is_hidden)
        url_show(url, json_put(json));
    else
        json_put_text(json, url);
}

static void put_target(struct json_writer *json, const struct topic_settings *settings, bool is_hidden)
{
    put_url(json, "url", settings->url, is_hidden);
    if (settings->header_count) {
        json_put_name(json, "headers");
        member_write_headers(json_put(json), settings->headers, settings->header_count, is_hidden);
    }
    put_url(json, "onDead", settings->on_dead, is_hidden);
}

static void put_secrets(struct json_writer *json, const struct signing_keys *keys, bool is_hidden)
{
    json_add_array(json, "secrets");
    for (size_t i = 0; i < keys->count; i++) {
        struct buffer *out = json_put(json);
        buffer_append_byte(out, '"');
        if (is_hidden)
            signing_key_show(&keys->items[i], out);
        else
            signing_key_write(&keys->items[i], out);
        buffer_append_byte(out, '"');
    }
    json_end_array(json);
}

static void put_jitter(struct json_writer *json, int64_t jitter_ppm)
{
    json_put_name(json, "jitter");
    buffer_printf(json_put(json), "%g", (double)jitter_ppm / TOPIC_JITTER_MAX_PPM);
}

static void put_members(struct json_writer *json, const struct topic_settings *settings, bool is_hidden,
                        bool is_carrying)
{
    if (settings->is_paused)
        json_add_bool(json, "paused", true);
    if (settings->max_in_flight)
        json_add_number(json, "maxInFlight", settings->max_in_flight);
    if (settings->rate_jobs)
        put_rate(json, settings, is_carrying);
    if (settings->has_schedule) {
        json_put_name(json, "retrySchedule");
        retry_schedule_write(&settings->schedule, json_put(json));
    }
    if (settings->has_timeout)
        json_add_seconds(json, "timeout", settings->timeout_ms);
    if (settings->jitter_ppm)
        put_jitter(json, settings->jitter_ppm);
    put_target(json, settings, is_hidden);
    if (settings->has_breaker)
        json_add_bool(json, "breaker", settings->is_breaker_on);
    if (settings->retention_ms)
        json_add_seconds(json, "retention", settings->retention_ms);
    if (settings->secrets.count)
        put_secrets(json, &settings->secrets, is_hidden);
#ifdef DUEPOST_TEST_NEXT
    if (settings->next.size) {
        json_add_text(json, "next", settings->next);
        if (slice_starts_with(settings->next, SLICE("needed")) && is_carrying)
            json_add_raw(json, "needs", SLICE("[\"next\"]"));
    }
#endif
}

/* Members that are carried are not shown: only a later version knows whether they may be. */
static void put_settings(const struct topic_settings *settings, struct buffer *out, bool is_hidden,
                         bool is_carrying)
{
    struct json_writer json = json_writer_to(out);
    json_put_object(&json);
    put_members(&json, settings, is_hidden, is_carrying);
    if (is_carrying)
        carried_write(&settings->carried, &json);
    json_end_object(&json);
}

/* Where nothing is set there is no text. */
void topic_settings_write(const struct topic_settings *settings, struct buffer *out)
{
    size_t start = out->size;
    put_settings(settings, out, false, true);
    if (!out->failed && out->size == start + sizeof "{}" - 1)
        out->size = start;
}

void topic_settings_write_known(const struct topic_settings *settings, struct buffer *out)
{
    put_settings(settings, out, false, false);
}

void topic_settings_show(const struct topic_settings *settings, struct buffer *out)
{
    put_settings(settings, out, true, false);
}

void topic_settings_carry(struct topic_settings *settings, const struct topic_settings *old)
{
    settings->carried = old->carried;
    if (settings->rate_jobs)
        settings->rate_carried = old->rate_carried;
}
