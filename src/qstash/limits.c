#include "qstash/limits.h"

#include <stddef.h>

#include "base/json_writer.h"
#include "job/text/json.h"

/* ---- the note ---- */

static const struct {
    const char *name;
    size_t field;
} note_numbers[] = {
    {"createdAt", offsetof(struct limits, created_ms)},
    {"updatedAt", offsetof(struct limits, updated_ms)},
    {"parallelism", offsetof(struct limits, asked.parallelism)},
    {"rate", offsetof(struct limits, asked.rate)},
    {"period", offsetof(struct limits, asked.period_s)},
};
enum { NOTE_NUMBERS = sizeof note_numbers / sizeof *note_numbers };

static int64_t *number_of(struct limits *limits, size_t row)
{
    return (int64_t *)((char *)limits + note_numbers[row].field);
}

static void read_note_member(struct limits *limits, struct slice name, struct slice value)
{
    uint64_t number;
    if (slice_equal(name, SLICE("pinnedParallelism")))
        limits->is_pinned_parallelism = slice_equal(value, SLICE("true"));
    if (slice_equal(name, SLICE("pinnedRate")))
        limits->is_pinned_rate = slice_equal(value, SLICE("true"));
    for (size_t i = 0; i < NOTE_NUMBERS; i++)
        if (slice_equal(name, slice_of(note_numbers[i].name)) && slice_to_number(value, INT64_MAX, &number))
            *number_of(limits, i) = (int64_t)number;
}

static void read_note(struct limits *limits, struct slice note)
{
    struct json_cursor cursor;
    struct slice key, value;
    bool is_open = note.size && json_open(note, &cursor) && cursor.close == '}';
    while (is_open && json_next_member(&cursor, &key, &value))
        if (key.size > 2)
            read_note_member(limits, slice_from(key.data + 1, key.size - 2), value);
}

static struct slice write_note(const struct limits *limits, char room[LIMITS_NOTE_SIZE])
{
    struct buffer text = buffer_of(room, LIMITS_NOTE_SIZE);
    struct json_writer json = json_writer_to(&text);
    struct limits copy = *limits;
    json_put_object(&json);
    for (size_t i = 0; i < NOTE_NUMBERS; i++)
        if (*number_of(&copy, i))
            json_add_number(&json, note_numbers[i].name, *number_of(&copy, i));
    if (limits->is_pinned_parallelism)
        json_add_bool(&json, "pinnedParallelism", true);
    if (limits->is_pinned_rate)
        json_add_bool(&json, "pinnedRate", true);
    json_end_object(&json);
    return buffer_slice(&text);
}

/* ---- the settings ---- */

struct limits limits_new(bool is_queue, int64_t now_ms)
{
    return (struct limits){.is_queue = is_queue,
                           .parallelism = is_queue ? 1 : 0,
                           .period_s = 1,
                           .asked = {.period_s = 1},
                           .created_ms = now_ms,
                           .updated_ms = now_ms};
}

struct limits limits_read(bool is_queue, const struct topic_settings *settings)
{
    struct limits limits = limits_new(is_queue, 0);
    bool is_fifo = topic_settings_are_fifo(settings);
    limits.is_paused = settings->is_paused;
    limits.parallelism = is_fifo ? 1 : settings->max_in_flight;
    limits.rate = settings->rate_jobs;
    limits.period_s = settings->rate_jobs ? settings->rate_per_ms / 1000 : 1;
    limits.since_ms = settings->rate_since_ms;
    read_note(&limits, settings->note);
    return limits;
}

struct limits limits_read_text(bool is_queue, struct slice text)
{
    struct topic_settings settings;
    if (topic_settings_read(text, &settings) != STATUS_OK)
        return limits_new(is_queue, 0);
    struct limits limits = limits_read(is_queue, &settings);
    topic_settings_fini(&settings);
    return limits;
}

void limits_write(const struct limits *limits, char note[LIMITS_NOTE_SIZE], struct topic_settings *settings)
{
    bool is_fifo = limits->is_queue && limits->parallelism == 1;
    settings->has_paused = settings->is_paused = limits->is_paused;
    settings->pause_reason = SLICE("");
    settings->order = is_fifo ? SLICE("fifo") : SLICE("");
    settings->max_in_flight = is_fifo ? 0 : limits->parallelism;
    settings->rate_jobs = limits->rate;
    settings->rate_per_ms = limits->rate ? limits->period_s * 1000 : 0;
    settings->rate_burst = limits->rate ? 1 : 0;
    settings->has_rate_window = settings->is_rate_window = limits->rate > 0;
    settings->rate_since_ms = limits->rate ? limits->since_ms : 0;
    settings->note = write_note(limits, note);
}

/* ---- requests of messages ---- */

static void put_in_force(struct limits *limits)
{
    if (!limits->is_pinned_parallelism && !limits->is_queue)
        limits->parallelism = limits->asked.parallelism;
    if (!limits->is_pinned_rate) {
        limits->rate = limits->asked.rate;
        limits->period_s = limits->asked.period_s;
    }
}

bool limits_ask(struct limits *limits, const struct settings_flow *flow)
{
    const struct settings_flow *asked = &limits->asked;
    bool is_same = asked->parallelism == flow->parallelism && asked->rate == flow->rate &&
                   asked->period_s == flow->period_s;
    if (is_same || (flow->parallelism == 0 && flow->rate == 0))
        return false;
    limits->asked = *flow;
    limits->asked.key = SLICE("");
    put_in_force(limits);
    return true;
}

void limits_unpin(struct limits *limits, bool parallelism, bool rate)
{
    limits->is_pinned_parallelism = limits->is_pinned_parallelism && !parallelism;
    limits->is_pinned_rate = limits->is_pinned_rate && !rate;
    put_in_force(limits);
}
