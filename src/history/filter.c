/* filter.c - the rules of windows, see reads.h, which are the same for each database. */
#include "history/reads.h"

unsigned window_states(const struct job_filter *filter)
{
    unsigned states = filter->states ? filter->states & WINDOW_ALL_STATES : WINDOW_ALL_STATES;
    struct slice rest = filter->statuses, word;
    bool may_be_delivered = rest.size == 0;
    if (filter->reasons.size)
        states &= 1u << JOB_STATE_DEAD;
    while (rest.size) { /* only a status that begins with 2 can match delivered jobs */
        slice_cut(rest, ',', &word, &rest);
        may_be_delivered |= word.size && word.data[0] == '2';
    }
    return may_be_delivered ? states : states & ~(1u << JOB_STATE_DELIVERED);
}

bool window_is_covered(const struct window *window)
{
    const struct job_filter *filter = &window->filter;
    if (filter->reasons.size || filter->statuses.size || filter->host.size || filter->has_key)
        return false;
    if (window->is_by_prefix || filter->labels.size)
        return false;
    return filter->id_prefix.size == 0;
}

struct slice window_label(const struct window *window, struct slice *others)
{
    struct slice first;
    slice_cut(window->filter.labels, '\n', &first, others);
    return first;
}

struct history_cursor window_begin(const struct window *window)
{
    const struct job_filter *filter = &window->filter;
    const struct history_cursor *from = &window->from;
    struct history_cursor begin = {false, filter->after_ms - 1, INT64_MAX};
    if (window->is_newest_first)
        begin = (struct history_cursor){false, filter->before_ms ? filter->before_ms : INT64_MAX, 0};
    bool is_further =
        window->is_newest_first ? from->ended_ms < begin.ended_ms : from->ended_ms > begin.ended_ms;
    return from->is_set && is_further ? *from : begin;
}

/* Returns whether the url begins with this scheme and host, and the host or its port ends there. */
static bool has_origin(struct slice url, struct slice scheme, struct slice host)
{
    if (url.size < scheme.size + host.size ||
        !slice_equal_nocase(slice_from(url.data, scheme.size), scheme) ||
        !slice_equal_nocase(slice_from(url.data + scheme.size, host.size), host))
        return false;
    struct slice rest = slice_skip(url, scheme.size + host.size);
    return rest.size == 0 || memchr("/?#:", rest.data[0], 4);
}

static bool has_status(const struct history_columns *row, struct slice word)
{
    uint64_t number;
    bool is_class = word.size == 3 && word.data[0] >= '0' && word.data[0] <= '9' &&
                    slice_equal(slice_skip(word, 1), SLICE("xx"));
    if (is_class)
        return row->status && row->status / 100 == word.data[0] - '0';
    if (slice_to_number(word, 999, &number))
        return row->status && row->status == (int64_t)number;
    return slice_equal(row->error, word);
}

static bool has_reason(const struct history_columns *row, struct slice word)
{
    return slice_equal(row->reason, word);
}

static bool has_one(const struct history_columns *row, struct slice words,
                    bool (*has)(const struct history_columns *, struct slice))
{
    struct slice word;
    while (words.size) {
        slice_cut(words, ',', &word, &words);
        if (word.size && has(row, word))
            return true;
    }
    return false;
}

bool window_meets(const struct window *window, const struct history_columns *row)
{
    const struct job_filter *filter = &window->filter;
    if (!(window_states(filter) & 1u << row->outcome) ||
        (filter->topic.size && !slice_equal(row->topic, filter->topic)) ||
        !slice_starts_with(row->job_id, filter->id_prefix))
        return false;
    if (filter->host.size && !has_origin(row->url, SLICE("http://"), filter->host) &&
        !has_origin(row->url, SLICE("https://"), filter->host))
        return false;
    return (!filter->reasons.size || has_one(row, filter->reasons, has_reason)) &&
           (!filter->statuses.size || has_one(row, filter->statuses, has_status));
}
