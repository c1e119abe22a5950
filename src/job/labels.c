#include "job/labels.h"

#include "base/utf8.h"

bool job_label_is_valid(struct slice text)
{
    return text.size <= JOB_LABEL_MAX && utf8_is_text(text.data, text.size);
}

bool job_labels_have(const struct job_labels *labels, struct slice label)
{
    for (size_t i = 0; i < labels->count; i++)
        if (slice_equal(labels->items[i], label))
            return true;
    return false;
}

bool job_labels_are_same(const struct job_labels *a, const struct job_labels *b)
{
    for (size_t i = 0; i < a->count; i++)
        if (!job_labels_have(b, a->items[i]))
            return false;
    return a->count == b->count;
}
