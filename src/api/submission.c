#include "api/submission.h"

#include <stdio.h>

#include "api/problem.h"
#include "api/view.h"
#include "base/percent.h"

enum { CONSEQUENCE_MAX = 64 + JOB_KEY_MAX + 64 };

/* Writes what a repeated request does, for a client that does not know the outcome. */
static void write_consequence(const struct app_submission *submission, char text[CONSEQUENCE_MAX])
{
    if (submission->once.size)
        snprintf(text, CONSEQUENCE_MAX, "Repeating it with the same Idempotency-Key is safe.");
    else if (submission->is_id_new)
        snprintf(text, CONSEQUENCE_MAX,
                 "Repeating it without a jobId may schedule a second job; this one is %.*s.",
                 SLICE_ARG(submission->id));
    else
        snprintf(text, CONSEQUENCE_MAX, "Repeating the same request is safe: it schedules %.*s once.",
                 SLICE_ARG(submission->id));
}

void submission_write_location(struct buffer *location, const struct exchange *exchange, struct slice id,
                               struct slice group)
{
    struct slice path, query, topic, job_id;
    slice_cut(http_request_target(exchange->request), '?', &path, &query);
    slice_cut(id, '/', &topic, &job_id);
    for (size_t i = 1; i < path.size; i++)
        if (path.data[i] == '/')
            buffer_append(location, SLICE("../"));
    buffer_append(location, SLICE("jobs/"));
    buffer_append(location, topic);
    buffer_append_byte(location, '/');
    percent_append(location, job_id);
    if (group.size)
        buffer_append(location, SLICE("?group="));
    buffer_append(location, group);
}

unsigned submission_write(struct buffer *members, const struct exchange *exchange,
                          const struct app_submission *submission, const struct app_verdict *verdict)
{
    char consequence[CONSEQUENCE_MAX];
    if (verdict->end == STATUS_OK || verdict->end == STATUS_REPEATED || verdict->end == STATUS_SAME) {
        struct json_writer json = json_writer_to(members);
        view_add_placed(&json, &verdict->job);
        return verdict->end == STATUS_SAME ? 200 : 201;
    }
    write_consequence(submission, consequence);
    return problem_write_verdict(members, exchange, verdict, &(struct problem_words){"job", consequence});
}
