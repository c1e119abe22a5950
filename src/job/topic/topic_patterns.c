#include "job/topic/topic_patterns.h"

#include "job/job_id.h"

/* ---- patterns ---- */

/* Removes a '*' at the end. Returns whether the pattern had a '*'. */
static bool take_star(struct slice *pattern)
{
    bool is_open = pattern->size > 0 && pattern->data[pattern->size - 1] == '*';
    pattern->size -= is_open;
    return is_open;
}

/* Returns whether a pattern is valid. "." and ".." are not topics, but they are valid before a '*', because
 * names of topics may begin with them. */
static bool is_pattern(struct slice pattern)
{
    bool is_open = take_star(&pattern);
    bool is_dots = slice_equal(pattern, SLICE(".")) || slice_equal(pattern, SLICE(".."));
    return (topic_is_valid(pattern) && !topic_is_sibling(pattern)) ||
           (is_open && (pattern.size == 0 || is_dots));
}

bool topic_pattern_is_open(struct slice pattern)
{
    struct slice beginning = pattern;
    return take_star(&beginning) && is_pattern(pattern);
}

bool topic_pattern_contains(struct slice wide, struct slice narrow)
{
    take_star(&wide);
    return slice_starts_with(narrow, wide);
}

enum status topic_patterns_check(struct slice patterns, struct problem *problem)
{
    struct slice pattern, rest = patterns;
    bool has_more = true;
    if (patterns.size > TOPIC_PATTERNS_BYTES_MAX) {
        problem_set(problem, "are over %d bytes", TOPIC_PATTERNS_BYTES_MAX);
        return STATUS_INVALID;
    }
    for (int count = 0; has_more; count++) {
        has_more = slice_cut(rest, ',', &pattern, &rest);
        if (count == TOPIC_PATTERNS_MAX) {
            problem_set(problem, "are more than %d", TOPIC_PATTERNS_MAX);
            return STATUS_INVALID;
        }
        if (!is_pattern(pattern)) {
            problem_set(problem, "'%.*s' is neither a topic nor a pattern such as orders-*",
                        SLICE_ARG(pattern));
            return STATUS_INVALID;
        }
    }
    return STATUS_OK;
}

static bool matches(struct slice pattern, struct slice topic)
{
    bool is_open = take_star(&pattern);
    return is_open ? slice_starts_with(topic, pattern) : slice_equal(topic_owner(topic), pattern);
}

bool topic_patterns_match(struct slice patterns, struct slice topic)
{
    struct slice pattern, rest = patterns;
    bool has_more = true;
    while (has_more) {
        has_more = slice_cut(rest, ',', &pattern, &rest);
        if (matches(pattern, topic))
            return true;
    }
    return false;
}

/* Compares names by their bytes, like Redis's scripts. */
static bool precedes(struct slice a, struct slice b)
{
    size_t size = a.size < b.size ? a.size : b.size;
    int order = size ? memcmp(a.data, b.data, size) : 0;
    return order < 0 || (order == 0 && a.size < b.size);
}

enum { START_MAX = JOB_TOPIC_MAX + 1 };

/* A search for the first name after "after", in the order of names, that one of the patterns may match. */
struct start {
    struct slice after;
    char text[START_MAX];
    size_t size; /* size of the name; 0: no name was found yet */
};

static void note_start(struct start *start, struct slice name)
{
    if (!precedes(start->after, name) ||
        (start->size && !precedes(name, slice_from(start->text, start->size))))
        return;
    memcpy(start->text, name.data, name.size);
    start->size = name.size;
}

/* Returns whether "after" is inside a range of names that the pattern matches. A pattern without '*' has two
 * ranges: the topic itself, and its siblings. Other names come between these two, such as a-b between a and
 * a~c. */
static bool note_pattern(struct start *start, struct slice pattern)
{
    char text[START_MAX];
    bool is_open = take_star(&pattern);
    note_start(start, pattern);
    if (is_open)
        return slice_starts_with(start->after, pattern);
    memcpy(text, pattern.data, pattern.size);
    text[pattern.size] = JOB_SIBLING_MARK;
    struct slice siblings = slice_from(text, pattern.size + 1);
    note_start(start, siblings);
    return slice_starts_with(start->after, siblings);
}

bool topic_patterns_seek(struct slice patterns, struct slice after, struct buffer *from)
{
    struct slice pattern, rest = patterns;
    struct start start = {.after = after};
    bool has_more = true;
    buffer_clear(from);
    while (has_more) {
        has_more = slice_cut(rest, ',', &pattern, &rest);
        if (note_pattern(&start, pattern)) {
            buffer_append(from, after);
            return true;
        }
    }
    /* "from" becomes a text that comes before the start, so that no topic is between them: the start with its
     * last byte reduced by one, followed by a byte that is greater than all bytes of topics. */
    if (start.size) {
        buffer_append(from, slice_from(start.text, start.size - 1));
        buffer_append_byte(from, (char)(start.text[start.size - 1] - 1));
        buffer_append_byte(from, '\x7f');
    }
    return start.size > 0;
}
