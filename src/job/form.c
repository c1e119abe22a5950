#include "job/form.h"

#include "base/percent.h"

const struct delivery_form *delivery_form_find(const struct delivery_forms *forms, struct slice name)
{
    for (size_t i = 0; i < FORMS_MAX && forms->items[i]; i++)
        if (slice_equal(forms->items[i]->name, name))
            return forms->items[i];
    return NULL;
}

void delivery_form_judge(const struct delivery_form *form, const struct form_answer *answer,
                         struct form_judgement *judgement)
{
    *judgement = (struct form_judgement){.at_least_ms = -1};
    form->judge(answer, judgement);
}

/* ---- the standard form: Standard Webhooks, with the headers of duepost ---- */

/* Adds the headers of the signature. The timestamp in the headers is the time of the claim, by Redis's
 * clock. */
static void sign(const struct form_attempt *attempt, struct header_lines *lines)
{
    const struct topic_settings *settings = attempt->settings;
    const struct signing_keys *keys =
        settings && settings->secrets.count ? &settings->secrets : attempt->keys;
    int64_t seconds = attempt->now_ms / 1000;
    char id[WEBHOOK_ID_SIZE];
    struct buffer signature;
    if (keys->count == 0)
        return;
    webhook_id_make(attempt->id, attempt->job->created_ms, id);
    buffer_init(&signature, SIGNATURE_MAX);
    signature_write(keys, slice_of(id), seconds, attempt->payload, &signature);
    header_lines_add(lines, SLICE("webhook-id"), slice_of(id));
    header_lines_add_number(lines, SLICE("webhook-timestamp"), seconds);
    header_lines_add(lines, SLICE("webhook-signature"), buffer_slice(&signature));
    lines->text->failed |= signature.failed;
    buffer_fini(&signature);
}

static bool has_header(const struct form_attempt *attempt, struct slice name)
{
    return headers_find(attempt->headers, attempt->header_count, name);
}

static void write_content_type(const struct form_attempt *attempt, struct header_lines *lines)
{
    if (!job_needs_content_type(attempt->job) || has_header(attempt, SLICE("Content-Type")))
        return;
    struct slice type = job_content_type(attempt->job, attempt->payload);
    header_lines_add(lines, SLICE("Content-Type"), type);
    lines->text->failed |= type.size == 0;
}

static void write_headers(const struct form_attempt *attempt, struct header_lines *lines)
{
    const struct job *job = attempt->job;
    char room[3 * JOB_ID_DERIVED_MAX + 1];
    struct buffer job_id = buffer_of(room, sizeof room);
    percent_append(&job_id, job->job_id);
    write_content_type(attempt, lines);
    if (!has_header(attempt, SLICE("User-Agent")))
        header_lines_add(lines, SLICE("User-Agent"), SLICE("duepost/" DUEPOST_VERSION));
    header_lines_add(lines, SLICE("Duepost-Topic"), job->topic);
    header_lines_add(lines, SLICE("Duepost-Job-Id"), buffer_slice(&job_id));
    header_lines_add_number(lines, SLICE("Duepost-Attempt"), job->attempts + 1);
    if (job->rounds)
        header_lines_add_number(lines, SLICE("Duepost-Round"), job->rounds + 1);
#ifdef DUEPOST_TEST_NEXT
    if (job->next.size)
        header_lines_add(lines, SLICE("Duepost-Next"), job->next);
    if (attempt->settings && attempt->settings->next.size)
        header_lines_add(lines, SLICE("Duepost-Next-Topic"), attempt->settings->next);
#endif
    sign(attempt, lines);
}

/* Judges an answer with a status 2xx. If the answer has the header Duepost-Again ("not yet") with an
 * unreadable value, the attempt has failed. */
static void judge_success(const struct form_answer *answer, struct form_judgement *judgement)
{
    int64_t ended_ms = answer->result->at_ms + answer->result->duration_ms;
    if (answer->has_again && !again_parse(answer->again, ended_ms, &judgement->again_ms, judgement->room))
        judgement->again_fault = judgement->room;
}

static void standard_judge(const struct form_answer *answer, struct form_judgement *judgement)
{
    const struct attempt_result *result = answer->result;
    if (attempt_result_is_success(result))
        judge_success(answer, judgement);
    else if (result->error == FAILURE_NONE && result->status == 410)
        judgement->final = SLICE("gone");
    judgement->at_least_ms = answer->retry_after_ms;
}

const struct delivery_form delivery_form_standard = {.write_headers = write_headers, .judge = standard_judge};
