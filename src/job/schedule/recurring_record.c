/* recurring_record.c - a definition in its record, the times and ids of its occurrences, and what clients see
 * of it. */
#include <assert.h>
#include <openssl/evp.h>

#include "base/encoding.h"
#include "base/timestamp.h"
#include "job/delivery/delivery_form.h"
#include "job/group.h"
#include "job/job_id.h"
#include "job/job_members.h"
#include "job/job_parse.h"
#include "job/schedule/recurring.h"
#include "job/text/json.h"
#include "job/text/sealed.h"

enum { DIGEST_BYTES = 20 };

bool recurring_id_is_valid(struct slice id)
{
    return id.size <= RECURRING_ID_MAX && job_id_is_valid(id);
}

void recurring_fini(struct recurring *recurring)
{
    buffer_fini(&recurring->text);
}

/* ---- words ---- */

static const struct slice misfire_words[] = {
    [MISFIRE_ONE] = SLICE_INIT("one"),
    [MISFIRE_SKIP] = SLICE_INIT("skip"),
    [MISFIRE_ALL] = SLICE_INIT("all"),
};
static const struct slice overlap_words[] = {
    [OVERLAP_ALLOW] = SLICE_INIT("allow"),
    [OVERLAP_SKIP] = SLICE_INIT("skip"),
};

/* Returns the index of a word, or -1. */
static int find_in(const struct slice *words, int count, struct slice text)
{
    for (int i = 0; i < count; i++)
        if (slice_equal(words[i], text))
            return i;
    return -1;
}

#define FIND_IN(words, text) find_in(words, sizeof words / sizeof *words, text)

bool misfire_parse(struct slice text, enum misfire *misfire)
{
    int found = FIND_IN(misfire_words, text);
    *misfire = found < 0 ? MISFIRE_ONE : (enum misfire)found;
    return found >= 0;
}

bool overlap_parse(struct slice text, enum overlap *overlap)
{
    int found = FIND_IN(overlap_words, text);
    *overlap = found < 0 ? OVERLAP_ALLOW : (enum overlap)found;
    return found >= 0;
}

struct slice misfire_word(enum misfire misfire)
{
    return misfire_words[misfire];
}

struct slice overlap_word(enum overlap overlap)
{
    return overlap_words[overlap];
}

enum misfire recurring_misfire(const struct recurring *recurring)
{
    enum misfire misfire;
    (void)misfire_parse(recurring->misfire_word, &misfire);
    return misfire;
}

enum overlap recurring_overlap(const struct recurring *recurring)
{
    enum overlap overlap;
    (void)overlap_parse(recurring->overlap_word, &overlap);
    return overlap;
}

/* ---- records ---- */

/* Returns whether the members of a record are a complete definition. */
static bool is_whole(struct recurring *recurring)
{
    struct problem ignored;
    return recurring->created_ms && recurring->has_cron != recurring->has_every &&
           (!recurring->has_every || recurring->every_ms >= RECURRENCE_EVERY_MIN_MS) &&
           (!recurring->has_cron ||
            cron_parse(recurring->cron_text, &recurring->cron, &ignored) == STATUS_OK) &&
           (recurring->timezone.size == 0 || time_zone_name_is_valid(recurring->timezone)) &&
           recurring->job.size >= 2 && recurring->job.data[0] == '{';
}

enum status recurring_read(struct slice record, struct recurring *recurring)
{
    struct record_reading reading = {.table = &recurring_members,
                                     .of = recurring,
                                     .text = &recurring->text,
                                     .unknown = &recurring->unknown,
                                     .lacks = &recurring->lacks};
    *recurring = (struct recurring){.grace_ms = RECURRING_GRACE_MS};
    buffer_init(&recurring->text, record.size);
    if (members_read(&reading, record) && recurring->lacks.size == 0 && is_whole(recurring))
        return STATUS_OK;
    recurring_fini(recurring);
    *recurring = (struct recurring){.grace_ms = RECURRING_GRACE_MS};
    return needs_find(record, &recurring->lacks) ? STATUS_OK : STATUS_INVALID;
}

/* The owner of a sealed job: the schedule's creation, which is in the same record. */
enum { OWNER_SIZE = 32 };

static struct slice owner_of(const struct recurring *recurring, char text[OWNER_SIZE])
{
    int size = snprintf(text, OWNER_SIZE, "schedule %lld", (long long)recurring->created_ms);
    return slice_from(text, (size_t)size);
}

enum status recurring_read_job(const struct recurring *recurring, struct slice topic, struct job *job)
{
    char owner[OWNER_SIZE];
    bool ignored;
    *job = (struct job){.timeout_ms = JOB_TIMEOUT_MS, .topic = topic};
    if (job_members_read(owner_of(recurring, owner), recurring->job, NULL, job, &ignored)) {
        job->group = recurring->group;
        return STATUS_OK;
    }
    job_fini(job);
    *job = (struct job){.timeout_ms = JOB_TIMEOUT_MS, .topic = topic};
    return needs_find(recurring->job, &job->lacks) ? STATUS_OK : STATUS_INVALID;
}

void recurring_write(const struct recurring *recurring, const struct job *job, struct buffer *out)
{
    struct members before_job = recurring_members;
    char owner[OWNER_SIZE];
    struct needs_writer needs;
    struct json_writer json = json_writer_to(out);
    assert(recurring->created_ms && job->created_ms == 0);
    json_put_object(&json);
    before_job.count = RECURRING_JOB;
    members_write(&before_job, recurring, MEMBERS_FOR_REDIS, &json);
    /* the names of the features that earlier versions must not ignore */
    needs = (struct needs_writer){&json, false};
    if (recurring->into.size || recurring->delay_ms)
        needs_add(&needs, "occurrences");
    if (recurring->windows.size)
        needs_add(&needs, "windows");
    if (recurring->group.size)
        needs_add(&needs, topic_is_sibling(recurring->group) ? "formGroups" : "groups");
    needs_end(&needs);
    unknown_members_write(&recurring->unknown, &json);
    json_put_name(&json, "job");
    buffer_append_byte(json_put(&json), '{');
    job_write_definition(job, owner_of(recurring, owner), out); /* this also writes the closing brace */
    json_end_object(&json);
}

enum status recurring_send(const struct recurring *recurring, struct slice id, struct slice text,
                           const struct delivery_forms *forms, struct group_jobs *jobs, char mark[])
{
    struct slice topic, job_id;
    struct job job;
    slice_cut(id, '/', &topic, &job_id);
    enum status status = recurring_read_job(recurring, topic, &job);
    if (status != STATUS_OK)
        return STATUS_UNREADABLE;
    job.job_id = job_id;
    status = job.lacks.size ? STATUS_LACKING : group_jobs_mark(&job, mark);
    if (status == STATUS_OK && !topic_is_sibling(job.group)) {
        status = group_jobs_write(jobs, text, &job);
    } else if (status == STATUS_OK) {
        const struct delivery_form *form = delivery_form_find(forms, job.form);
        status = form && form->write_group_jobs ? form->write_group_jobs(&job, text, jobs) : STATUS_LACKING;
    }
    job_fini(&job);
    return status;
}

/* A sealed text opens only as the job of its definition. */
static struct slice unchanged_record(const struct recurring *recurring)
{
    struct slice sealed;
    return sealed_find(recurring->job, &sealed) ? SLICE("") : slice_skip(recurring->job, 1);
}

struct slice recurring_job_record(const struct recurring *recurring, struct slice id, struct buffer *text)
{
    struct slice topic, job_id;
    struct job job;
    slice_cut(id, '/', &topic, &job_id);
    if (recurring_read_job(recurring, topic, &job) != STATUS_OK)
        return unchanged_record(recurring);
    job.job_id = job_id;
    buffer_clear(text);
    if (job.lacks.size == 0)
        job_write(&job, text);
    job_fini(&job);
    return text->failed || text->size == 0 ? unchanged_record(recurring) : buffer_slice(text);
}

void recurring_tag(struct slice record, char tag[RECURRING_TAG_SIZE])
{
    unsigned char digest[DIGEST_BYTES];
    size_t size = 0;
    int ok = EVP_Q_digest(NULL, "SHA1", NULL, record.data ? record.data : "", record.size, digest, &size);
    assert(ok && size == DIGEST_BYTES);
    hex_write(tag, digest, DIGEST_BYTES);
    tag[RECURRING_TAG_SIZE - 1] = '\0';
}

/* ---- times ---- */

void recurring_recurrence(const struct recurring *recurring, struct slice id, const struct time_zone *zone,
                          struct recurrence *recurrence)
{
    int64_t created_ms = recurring->created_ms;
    assert(created_ms);
    *recurrence = (struct recurrence){
        .every_ms = recurring->every_ms,
        .cron = recurring->cron,
        .zone = zone,
        .base_ms = recurring->has_start_at ? recurring->start_at_ms : created_ms,
        /* Without startAt, the first time is later than the creation. */
        .first_ms = recurring->has_start_at ? recurring->start_at_ms : created_ms + 1,
        .last_ms = recurring->has_end_at ? recurring->end_at_ms : RECURRENCE_NEVER_MS,
        .jitter_ms = recurring->jitter_ms,
        .seed = recurrence_seed(id),
        .grace_ms = recurring->grace_ms,
        .misfire = recurring_misfire(recurring),
    };
    struct problem problem;
    if (recurring->windows.size == 0 ||
        windows_parse(recurring->windows, &recurrence->windows, &problem) != STATUS_OK)
        recurrence->windows.count = 0;
}

struct slice recurring_base(const struct recurring *recurring, struct slice id)
{
    struct slice topic, into_topic, name;
    if (recurring->into.size == 0)
        return id;
    slice_cut(id, '/', &topic, &name);
    bool is_near = job_key_parse(recurring->into, &into_topic, &name) &&
                   slice_equal(topic_owner(topic), topic_owner(into_topic));
    return is_near ? recurring->into : SLICE("");
}

void recurring_occurrence_id(struct slice base, int64_t time_ms, struct buffer *out)
{
    char text[TIMESTAMP_SIZE];
    timestamp_format(time_ms, text);
    buffer_append(out, base);
    buffer_printf(out, "~%.4s%.2s%.5s%.2s%.2s", text, text + 5, text + 8, text + 14, text + 17);
    if (time_ms % 1000)
        buffer_append(out, slice_from(text + 19, 4));
    buffer_append_byte(out, 'Z');
}

/* ---- people ---- */

void recurring_show(const struct recurring *recurring, const struct job *job, struct json_writer *json)
{
    if (recurring->has_cron)
        json_add_text(json, "cron", recurring->cron_text);
    if (recurring->has_every)
        json_add_seconds(json, "every", recurring->every_ms);
    if (recurring->has_cron || recurring->timezone.size)
        json_add_text(json, "timezone", recurring->timezone.size ? recurring->timezone : SLICE("UTC"));
    if (recurring->has_start_at)
        json_add_time(json, "startAt", recurring->start_at_ms);
    if (recurring->has_end_at)
        json_add_time(json, "endAt", recurring->end_at_ms);
    json_add_seconds(json, "jitter", recurring->jitter_ms);
    json_add_seconds(json, "grace", recurring->grace_ms);
    if (recurring->windows.size)
        json_add_raw(json, "windows", recurring->windows);
    json_add_text(json, "misfire", misfire_word(recurring_misfire(recurring)));
    json_add_text(json, "overlap", overlap_word(recurring_overlap(recurring)));
    if (recurring->expect_by_ms)
        json_add_seconds(json, "expectBy", recurring->expect_by_ms);
    json_add_bool(json, "paused", recurring->is_paused);
    if (recurring->created_ms)
        json_add_time(json, "createdAt", recurring->created_ms);
    bool is_hidden = topic_is_sibling(job->topic); /* for sibling topics, clients do not see the body */
    json_add_object(json, "job");
    for (size_t i = 0; i < job_members.count; i++)
        if (job_members.rows[i].flags & MEMBER_SENT && i != JOB_TOPIC && (i != JOB_URL || job->url.size) &&
            !(is_hidden && (i == JOB_BODY || i == JOB_BODY_BASE64)))
            members_put(&job_members.rows[i], job, MEMBERS_FOR_PEOPLE, json);
    json_end_object(json);
}
