#include "qstash/event_cursor.h"

static const char letters[] = {
    [EVENTS_OF_IDS] = 'i', [EVENTS_OF_POOL] = 'p', [EVENTS_OF_HISTORY] = 'h', [EVENTS_END] = 'e'};

void event_cursor_write(struct buffer *text, const struct event_cursor *cursor)
{
    buffer_printf(text, "%c~%zu~%d~%.*s~%.*s", letters[cursor->place], cursor->ids, cursor->number,
                  SLICE_ARG(cursor->list), SLICE_ARG(cursor->message_id));
}

static bool take_place(struct slice *rest, enum event_place *place)
{
    struct slice word;
    if (!slice_cut(*rest, '~', &word, rest) || word.size != 1)
        return false;
    const char *found = memchr(letters, word.data[0], sizeof letters);
    *place = found ? (enum event_place)(found - letters) : EVENTS_END;
    return found != NULL;
}

static bool take_number(struct slice *rest, uint64_t *number)
{
    struct slice word;
    return slice_cut(*rest, '~', &word, rest) && slice_to_number(word, INT32_MAX, number);
}

bool event_cursor_parse(struct slice text, struct event_cursor *cursor)
{
    uint64_t ids, number;
    *cursor = (struct event_cursor){.place = EVENTS_END};
    if (!take_place(&text, &cursor->place) || !take_number(&text, &ids) || !take_number(&text, &number) ||
        !slice_cut(text, '~', &cursor->list, &cursor->message_id) ||
        cursor->list.size > EVENT_LIST_CURSOR_MAX)
        return false;
    cursor->ids = ids;
    cursor->number = (int)number;
    return true;
}
