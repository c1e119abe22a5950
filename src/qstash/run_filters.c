#include "qstash/run_filters.h"

#include "job/target/url.h"
#include "job/text/json.h"

/* Returns the value of a setting of the run, or an empty slice. */
static struct slice setting_of(struct run *run, struct slice wanted)
{
    struct json_cursor cursor;
    struct slice key, value;
    bool is_object = run->headers.size && json_open(run->headers, &cursor) && cursor.close == '}';
    while (is_object && json_next_member(&cursor, &key, &value))
        if (key.size == wanted.size + 2 && slice_equal(slice_from(key.data + 1, wanted.size), wanted) &&
            json_is_text(value))
            return json_text(value, &run->decoded);
    return SLICE("");
}

static bool has_label(struct slice labels, struct slice wanted)
{
    struct slice label;
    while (labels.size) {
        slice_cut(labels, ',', &label, &labels);
        if (slice_equal(slice_trim(label), wanted))
            return true;
    }
    return false;
}

/* Returns the part of the run's url that a filter compares. */
static struct slice url_part(struct slice text, enum filter filter)
{
    struct url url;
    const char *ignored;
    struct slice path, query;
    if (url_parse(text, &url, &ignored) != STATUS_OK)
        return SLICE("");
    if (filter == FILTER_HOST)
        return url.host;
    slice_cut(url.target, '?', &path, &query);
    return path.size ? path : SLICE("/");
}

struct subject {
    struct slice url, caller_ip, labels, flow_key;
    bool is_url_prefix;
};

static bool word_matches(const struct filter_word *word, const struct subject *subject)
{
    switch (word->filter) {
    case FILTER_LABEL:
        return has_label(subject->labels, word->text);
    case FILTER_FLOW_KEY:
        return slice_equal(word->text, subject->flow_key);
    case FILTER_CALLER_IP:
        return slice_equal(word->text, subject->caller_ip);
    case FILTER_HOST:
        return slice_equal_nocase(word->text, url_part(subject->url, FILTER_HOST));
    case FILTER_PATH:
        return slice_equal(word->text, url_part(subject->url, FILTER_PATH));
    case FILTER_RUN_URL:
        return subject->is_url_prefix ? slice_starts_with(subject->url, word->text)
                                      : slice_equal(subject->url, word->text);
    default:
        return false;
    }
}

bool run_filters_match(const struct filters *filters, struct run *run, bool is_url_prefix)
{
    const struct subject subject = {.url = run->url,
                                    .caller_ip = run->caller_ip,
                                    .labels = setting_of(run, SLICE("Upstash-Label")),
                                    .flow_key = setting_of(run, SLICE("Upstash-Flow-Control-Key")),
                                    .is_url_prefix = is_url_prefix};
    unsigned open = filters->given & FILTERS_OF_RUNS & ~(1U << FILTER_FROM | 1U << FILTER_TO);
    for (size_t i = 0; i < filters->word_count && open; i++)
        if (open & 1U << filters->words[i].filter && word_matches(&filters->words[i], &subject))
            open &= ~(1U << filters->words[i].filter);
    return open == 0 && filters_match_time(filters, run->made_ms);
}
