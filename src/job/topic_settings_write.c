/* topic_settings_write.c - the settings of a topic as text: for Redis, and for people. */
#include "job/member.h"
#include "job/seconds.h"
#include "job/topic_settings.h"
#include "job/url.h"

static void put_name(struct buffer *out, size_t start, const char *name)
{
    buffer_append_byte(out, out->size == start ? '{' : ',');
    buffer_printf(out, "\"%s\":", name);
}

static void put_rate(struct buffer *out, const struct topic_settings *settings, bool is_carrying)
{
    buffer_printf(out, "{\"jobs\":%lld,\"per\":", (long long)settings->rate_jobs);
    seconds_append(out, settings->rate_per_ms);
    buffer_printf(out, ",\"burst\":%lld", (long long)settings->rate_burst);
    if (is_carrying)
        carried_write(&settings->rate_carried, out);
    buffer_append_byte(out, '}');
}

static void put_url(struct buffer *out, struct slice url, bool is_hidden)
{
    if (is_hidden)
        url_show(url, out);
    else
        buffer_append_json(out, url);
}

static void put_target(struct buffer *out, size_t start, const struct topic_settings *settings,
                       bool is_hidden)
{
    if (settings->url.size) {
        put_name(out, start, "url");
        put_url(out, settings->url, is_hidden);
    }
    if (settings->header_count) {
        put_name(out, start, "headers");
        member_write_headers(out, settings->headers, settings->header_count, is_hidden);
    }
    if (settings->on_dead.size) {
        put_name(out, start, "onDead");
        put_url(out, settings->on_dead, is_hidden);
    }
}

static void put_secrets(struct buffer *out, const struct signing_keys *keys, bool is_hidden)
{
    for (size_t i = 0; i < keys->count; i++) {
        buffer_append(out, i ? SLICE(",\"") : SLICE("[\""));
        if (is_hidden)
            signing_key_show(&keys->items[i], out);
        else
            signing_key_write(&keys->items[i], out);
        buffer_append_byte(out, '"');
    }
    buffer_append_byte(out, ']');
}

/* What is carried is nobody's to see: whether it may be shown, only a later version knows. */
static void put_settings(const struct topic_settings *settings, struct buffer *out, bool is_hidden,
                         bool is_carrying)
{
    size_t start = out->size;
    if (settings->is_paused) {
        put_name(out, start, "paused");
        buffer_append(out, SLICE("true"));
    }
    if (settings->max_in_flight) {
        put_name(out, start, "maxInFlight");
        buffer_append_number(out, settings->max_in_flight);
    }
    if (settings->rate_jobs) {
        put_name(out, start, "rate");
        put_rate(out, settings, is_carrying);
    }
    if (settings->has_schedule) {
        put_name(out, start, "retrySchedule");
        retry_schedule_write(&settings->schedule, out);
    }
    if (settings->has_timeout) {
        put_name(out, start, "timeout");
        seconds_append(out, settings->timeout_ms);
    }
    if (settings->jitter_ppm) {
        put_name(out, start, "jitter");
        buffer_printf(out, "%g", (double)settings->jitter_ppm / TOPIC_JITTER_MAX_PPM);
    }
    put_target(out, start, settings, is_hidden);
    if (settings->has_breaker) {
        put_name(out, start, "breaker");
        buffer_append(out, settings->is_breaker_on ? SLICE("true") : SLICE("false"));
    }
    if (settings->retention_ms) {
        put_name(out, start, "retention");
        seconds_append(out, settings->retention_ms);
    }
    if (settings->secrets.count) {
        put_name(out, start, "secrets");
        put_secrets(out, &settings->secrets, is_hidden);
    }
#ifdef DUEPOST_TEST_NEXT
    if (settings->next.size) {
        put_name(out, start, "next");
        buffer_append_json(out, settings->next);
        if (slice_starts_with(settings->next, SLICE("needed")) && is_carrying)
            buffer_append(out, SLICE(",\"needs\":[\"next\"]"));
    }
#endif
    if (is_carrying && settings->carried.count) {
        size_t before = out->size;
        carried_write(&settings->carried, out);
        if (before == start && !out->failed)
            out->data[start] = '{'; /* in the place of its comma */
    }
    if (out->size > start)
        buffer_append_byte(out, '}');
}

void topic_settings_write(const struct topic_settings *settings, struct buffer *out)
{
    put_settings(settings, out, false, true);
}

void topic_settings_write_known(const struct topic_settings *settings, struct buffer *out)
{
    size_t start = out->size;
    put_settings(settings, out, false, false);
    if (out->size == start)
        buffer_append(out, SLICE("{}"));
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
