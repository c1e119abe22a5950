#include "worker/openings.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/log.h"
#include "base/memory.h"
#include "io/time_zones.h"
#include "job/schedule/windows.h"
#include "job/topic/topic_settings.h"
#include "worker/sweep.h"

enum {
    SPANS_TEXT_MAX = (WINDOW_SPANS_MAX + 1) * 32,
    AGAIN_MS = 600000, /* if a zone is unknown, the spans are computed again after this time */
};

/* A topic whose spans were computed, and that Redis has not stored yet. */
struct known {
    char *topic, *settings; /* owned */
    struct slice topic_text, settings_text;
    char spans[SPANS_TEXT_MAX];
};

struct openings {
    struct shard *shard;
    struct time_zones *zones;
    struct pace *pace;
    int64_t now_ms;
    bool lacks_zone; /* a zone of the topic whose spans are computed is unknown */
    size_t count;
    struct known known[SHARD_OPENINGS_MAX];
};

/* ---- computing ---- */

static const struct time_zone *find_zone(void *arg, struct slice name)
{
    struct openings *openings = arg;
    const struct time_zone *zone;
    struct problem problem;
    if (time_zones_find(openings->zones, name, &zone, &problem) == STATUS_OK)
        return zone;
    openings->lacks_zone = true;
    log_error("window_without_zone", LOG_SLICE("timezone", name), LOG_TEXT("why", problem.text),
              LOG_TEXT("then", "the window stays closed; the zone is looked for again in 10 minutes"),
              LOG_TEXT("do", "install tzdata, or change the window"));
    return NULL;
}

/* Appends the time at which the spans are computed again if a zone is unknown, or this version cannot read
 * the settings. */
static void write_spans(struct openings *openings, struct slice settings_text, char text[SPANS_TEXT_MAX])
{
    struct window_span spans[WINDOW_SPANS_MAX];
    struct topic_settings settings;
    struct windows windows;
    struct problem problem;
    size_t count = 0, size = 0;
    openings->lacks_zone = false;
    if (topic_settings_read(settings_text, &settings) == STATUS_OK) {
        if (settings.windows.size && windows_parse(settings.windows, &windows, &problem) == STATUS_OK)
            count = windows_spans(&windows, openings->now_ms, find_zone, openings, spans);
        topic_settings_fini(&settings);
    }
    for (size_t i = 0; i < count; i++)
        size += (size_t)snprintf(text + size, SPANS_TEXT_MAX - size, "%s%" PRId64 " %" PRId64, i ? " " : "",
                                 spans[i].opens_ms, spans[i].closes_ms);
    if (openings->lacks_zone || count == 0)
        snprintf(text + size, SPANS_TEXT_MAX - size, "%s- %" PRId64, size ? " " : "",
                 openings->now_ms + AGAIN_MS);
}

static void forget_known(struct openings *openings)
{
    for (size_t i = 0; i < openings->count; i++) {
        free(openings->known[i].topic);
        free(openings->known[i].settings);
    }
    openings->count = 0;
}

/* ---- steps ---- */

static void on_wanted(void *arg, enum status status, const struct shard_opening *wanted, size_t count)
{
    struct openings *openings = arg;
    forget_known(openings);
    if (status != STATUS_OK || count == 0) {
        pace_end(openings->pace);
        return;
    }
    for (; openings->count < count; openings->count++) {
        struct known *known = &openings->known[openings->count];
        const struct shard_opening *topic = &wanted[openings->count];
        known->topic = slice_dup(topic->topic);
        known->settings = slice_dup(topic->settings);
        known->topic_text = slice_from(known->topic, topic->topic.size);
        known->settings_text = slice_from(known->settings, topic->settings.size);
        write_spans(openings, known->settings_text, known->spans);
    }
    pace_continue(openings->pace, PACE_LATE_MS); /* due jobs may wait for this */
}

static void openings_step(void *arg)
{
    struct openings *openings = arg;
    struct shard_opening known[SHARD_OPENINGS_MAX];
    for (size_t i = 0; i < openings->count; i++)
        known[i] = (struct shard_opening){.topic = openings->known[i].topic_text,
                                          .settings = openings->known[i].settings_text,
                                          .spans = slice_of(openings->known[i].spans)};
    shard_openings(openings->shard, known, openings->count, on_wanted, openings);
}

void openings_run(struct openings *openings, int64_t now_ms)
{
    openings->now_ms = now_ms;
    pace_run(openings->pace);
}

/* ---- life ---- */

struct openings *openings_new(struct loop *loop, struct shard *shard)
{
    struct openings *openings = NEW(struct openings);
    openings->shard = shard;
    openings->zones = time_zones_new(TIME_ZONES_FOLDER);
    openings->pace = pace_new(loop, openings_step, openings);
    return openings;
}

void openings_free(struct openings *openings)
{
    if (!openings)
        return;
    forget_known(openings);
    pace_free(openings->pace);
    time_zones_free(openings->zones);
    free(openings);
}
