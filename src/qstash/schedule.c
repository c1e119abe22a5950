#include "qstash/schedule.h"

static bool is_name(struct slice text)
{
    for (size_t i = 0; i < text.size; i++) {
        char byte = text.data[i];
        bool is_letter = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z');
        if (!is_letter && !(byte >= '0' && byte <= '9') && byte != '.' && byte != '_' && byte != '-')
            return false;
    }
    return text.size > 0 && text.size <= RECURRING_ID_MAX;
}

struct slice schedule_key(struct slice schedule_id, char room[SCHEDULE_KEY_SIZE])
{
    struct buffer key = buffer_of(room, SCHEDULE_KEY_SIZE);
    if (!is_name(schedule_id) || !recurring_id_is_valid(schedule_id))
        return SLICE("");
    buffer_append(&key, SLICE(SCHEDULES_TOPIC "/"));
    buffer_append(&key, schedule_id);
    return buffer_slice(&key);
}

void schedule_cut_cron(struct slice text, struct slice *timezone, struct slice *cron)
{
    static const struct slice words[] = {SLICE_INIT("CRON_TZ="), SLICE_INIT("TZ=")};
    *timezone = (struct slice){NULL, 0};
    *cron = slice_trim(text);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (!slice_starts_with(*cron, words[i]))
            continue;
        slice_cut(slice_skip(*cron, words[i].size), ' ', timezone, cron);
        *cron = slice_trim(*cron);
        return;
    }
}
