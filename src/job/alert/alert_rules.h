/* alert_rules.h - the setting alerts of a topic or pattern: which states are reported, and where to.
 *
 *     [{"on":"died","url":"https://example.com/alerts"},
 *      {"on":"overdue","after":"10m","url":"https://hooks.example.com/x","form":"slack"}]
 *
 * The settings store this value as text. The text is parsed only when the rules are needed. */
#ifndef DUEPOST_JOB_ALERT_ALERT_RULES_H
#define DUEPOST_JOB_ALERT_ALERT_RULES_H

#include "base/buffer.h"
#include "base/status.h"
#include "job/text/job_errors.h"

enum { ALERT_RULES_MAX = 16, ALERT_RULES_BYTES_MAX = 32 * 1024 };

enum alert_kind {
    ALERT_DIED,
    ALERT_FAILING,
    ALERT_OVERDUE,
    ALERT_QUOTA_REACHED,
    ALERT_MISSED, /* about a schedule of the topic */
    /* These belong to no topic. Only the pattern "*" may have them. */
    ALERT_BREAKER_OPENED,
    ALERT_HISTORY_BEHIND,
    ALERT_DURABILITY_LOST,
    ALERT_CERTIFICATE_ENDS,
    ALERT_KINDS,
};

/* Returns the word of a kind, such as "died". */
const char *alert_kind_word(enum alert_kind);

/* Finds the kind of a word. */
bool alert_kind_parse(struct slice word, enum alert_kind *);

/* Returns whether each topic may have alerts of this kind. */
static inline bool alert_kind_is_of_topic(enum alert_kind kind)
{
    return kind < ALERT_BREAKER_OPENED;
}

/* A rule. Members that its kind does not use are 0. */
struct alert_rule {
    enum alert_kind kind;
    struct slice on, url, form; /* form: "json", "slack"; empty: not set, which means "json" */
    bool is_slack;
    bool has_after, has_before, has_share, has_attempts; /* set by the client */
    int64_t after_ms;  /* OVERDUE, HISTORY_BEHIND: how long the oldest job has waited */
    int64_t before_ms; /* CERTIFICATE_ENDS: how long before the end */
    int64_t share_ppm; /* FAILING: more than this share of the attempts fail, in millionths */
    int64_t attempts;  /* FAILING: the least number of attempts */
    struct slice text; /* the rule as JSON */
};

/* The slices borrow the text that was parsed, and the buffer. */
struct alert_rules {
    size_t count;
    struct alert_rule items[ALERT_RULES_MAX];
    struct buffer text; /* owned: decoded strings */
};

/* Parses a JSON value. If it is not valid, adds the faults to errors, under names that begin with "alerts",
 * and returns false; the rules then have nothing to free. */
bool alert_rules_parse(struct job_errors *, struct slice value, struct alert_rules *) MUST_USE;

/* Reads a value that alert_rules_parse accepted before. A rule that this version does not know is left out.
 */
bool alert_rules_read(struct slice value, struct alert_rules *) MUST_USE;

void alert_rules_fini(struct alert_rules *);

/* Writes the value as clients may see it: the queries of urls are masked. */
void alert_rules_show(struct slice value, struct buffer *out);

#endif
