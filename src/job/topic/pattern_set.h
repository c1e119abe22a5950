/* pattern_set.h - all patterns of topics, with the texts of their settings (topic_patterns.h). One change can
 * affect the texts of several patterns. */
#ifndef DUEPOST_JOB_TOPIC_PATTERN_SET_H
#define DUEPOST_JOB_TOPIC_PATTERN_SET_H

#include "job/topic/topic_patterns.h"
#include "job/topic/topic_settings.h"

enum { PATTERN_SET_MAX = 100 };

/* A zeroed struct is an empty set. */
struct pattern_set {
    size_t count;
    struct pattern {
        struct buffer name, text; /* owned */
    } patterns[PATTERN_SET_MAX + 1];
};

void pattern_set_fini(struct pattern_set *);

/* Adds a pattern that Redis has. Returns false if the set is full. */
bool pattern_set_add(struct pattern_set *, struct slice name, struct slice text);

/* Returns the pattern's text, or "" if it has no settings. */
struct slice pattern_set_text(const struct pattern_set *, struct slice name);

enum pattern_set_end {
    PATTERN_SET_DONE,
    PATTERN_SET_FULL,       /* the set already has PATTERN_SET_MAX patterns */
    PATTERN_SET_UNREADABLE, /* duepost did not write the text of the pattern, or of a longer pattern */
    PATTERN_SET_LACKING,    /* a longer pattern needs a later version */
};

/* Sets the pattern's own settings, or removes the pattern if "own" is empty. Then writes the texts of all
 * longer patterns that match some of its topics, because these texts contain its settings. If the result is
 * not DONE, the caller must not use the set any more. */
enum pattern_set_end pattern_set_change(struct pattern_set *, struct slice name, struct slice own) MUST_USE;

#endif
