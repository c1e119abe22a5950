#include "api/query_values.h"

#include "app/app.h"
#include "base/timestamp.h"
#include "job/job_id.h"

const char *query_value_limit(void *max, struct slice value)
{
    uint64_t limit;
    if (!slice_to_number(value, APP_PAGE_MAX, &limit) || limit == 0)
        return "must be 1 to 1000";
    *(size_t *)max = limit;
    return NULL;
}

const char *query_value_time(void *time_ms, struct slice value)
{
    int64_t *ms = time_ms;
    if (!timestamp_parse(value, ms))
        return TIMESTAMP_EXPECTED;
    if (*ms == 0)
        *ms = 1; /* 0 stands for a parameter that is absent */
    return NULL;
}

const char *query_value_flag(void *flag, struct slice value)
{
    bool *is_set = flag;
    *is_set = slice_equal(value, SLICE("true"));
    return *is_set || slice_equal(value, SLICE("false")) ? NULL : "must be true or false";
}

const char *query_value_topic(void *topic, struct slice value)
{
    *(struct slice *)topic = value;
    return topic_is_valid(value) ? NULL : "must be a topic: 1 to 128 characters of A-Z a-z 0-9 . _ -";
}

const char *query_value_id_prefix(void *prefix, struct slice value)
{
    *(struct slice *)prefix = value;
    return value.size > 0 && value.size <= JOB_ID_MAX ? NULL : "must be 1 to 255 bytes";
}

const char *query_value_label(void *labels, struct slice value)
{
    struct job_labels *found = labels;
    if (!job_label_is_valid(value))
        return JOB_LABEL_EXPECTED;
    if (job_labels_have(found, value))
        return NULL;
    if (found->count == JOB_LABELS_MAX)
        return "must not appear more than 10 times";
    found->items[found->count++] = value;
    return NULL;
}
