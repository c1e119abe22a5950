#include "job/topic/pattern_set.h"

#include <stdlib.h>

#include "job/topic/topic_patterns.h"

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

static void add_pattern(struct pattern_set *set, struct slice name, struct slice text)
{
    struct pattern *pattern = &set->patterns[set->count++];
    buffer_init(&pattern->name, name.size);
    buffer_init(&pattern->text, text.size > TOPIC_LAYERS_BYTES_MAX ? text.size : TOPIC_LAYERS_BYTES_MAX);
    buffer_append(&pattern->name, name);
    buffer_append(&pattern->text, text);
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

/* ---- changing ---- */

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

static bool inherit(struct pattern_set *set, size_t index)
{
    const struct pattern *parent = parent_of(set, index);
    struct buffer *text = &set->patterns[index].text, merged;
    if (!parent)
        return true;
    buffer_init(&merged, TOPIC_LAYERS_BYTES_MAX);
    bool is_merged = topic_layers_merge(buffer_slice(text), buffer_slice(&parent->text),
                                        buffer_slice(&parent->name), &merged);
    buffer_clear(text);
    buffer_append(text, buffer_slice(&merged));
    buffer_fini(&merged);
    return is_merged && !text->failed;
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
    for (size_t i = 0; i < set->count; i++)
        if (topic_pattern_contains(name, name_of(set, i)) && !inherit(set, i))
            return PATTERN_SET_UNREADABLE;
    return PATTERN_SET_DONE;
}
