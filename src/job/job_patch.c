/* job_patch.c
 *
 *   1. the record's members and the patch's are found, as they are spelt
 *   2. they are put together into the text of a job
 *   3. that is read by the rules for any job
 *   4. what is kept of the old job is added, its times are compared, and what it hides stays where it led */
#include "job/job_patch.h"

#include "job/job_errors.h"
#include "job/job_id.h"
#include "job/job_parse.h"
#include "job/json.h"
#include "job/member.h"
#include "job/suggestion.h"
#include "job/url.h"

enum member { URL, BODY, DELAY, DUE_AT, TTL, EXPIRES_AT, RETRY, SCHEDULE, TIMEOUT, HEADERS, MEMBERS };

static const char *const names[MEMBERS] = {
    [URL] = "url",         [BODY] = "body",
    [DELAY] = "delay",     [DUE_AT] = "dueAt",
    [TTL] = "ttl",         [EXPIRES_AT] = "expiresAt",
    [RETRY] = "retry",     [SCHEDULE] = "retrySchedule",
    [TIMEOUT] = "timeout", [HEADERS] = "headers",
};

/* Of two, a job has at most one. 0: it has none. */
static const enum member rivals[MEMBERS] = {
    [DELAY] = DUE_AT,
    [DUE_AT] = DELAY,
    [TTL] = EXPIRES_AT,
    [EXPIRES_AT] = TTL,
};

enum { NAME_MAX_BYTES = 256, PATCH_HEADERS_MAX = 100, PATCH_HEADER_BYTES_MAX = 16 * 1024 };

/* As they are spelt; empty: there is none. */
struct values {
    struct slice of[MEMBERS];
};

/* ---- finding them ---- */

static bool is_null(struct slice value)
{
    return slice_equal(value, SLICE("null"));
}

static enum member find(struct slice name)
{
    int i = 0;
    while (i < MEMBERS && !slice_equal(name, slice_of(names[i])))
        i++;
    return (enum member)i;
}

static void report(struct job_errors *errors, struct slice name)
{
    bool is_name = slice_equal(name, SLICE("topic")) || slice_equal(name, SLICE("jobId"));
    struct suggestion meant = {.name = name};
    char detail[SUGGESTION_DETAIL_SIZE];
    for (int i = 0; i < MEMBERS; i++)
        suggestion_weigh(&meant, names[i]);
    suggestion_write(&meant, "unknown field", detail);
    job_errors_add_named(errors, "", name, is_name ? "cannot be changed" : detail);
}

/* errors: NULL where other members are passed over. */
static void read_values(struct slice text, struct values *values, struct job_errors *errors)
{
    char room[NAME_MAX_BYTES + 1];
    struct buffer name = {.data = room, .capacity = sizeof room, .max = NAME_MAX_BYTES};
    struct json_cursor cursor;
    struct slice value;
    *values = (struct values){.of = {{NULL, 0}}};
    bool is_open = json_open(text, &cursor);
    while (is_open && json_next_named(&cursor, &name, &value)) {
        enum member member = find(buffer_slice(&name));
        if (member < MEMBERS)
            values->of[member] = value;
        else if (errors)
            report(errors, buffer_slice(&name));
    }
}

/* ---- putting them together ---- */

static void put_separator(struct buffer *out)
{
    if (out->size && out->data[out->size - 1] != '{')
        buffer_append_byte(out, ',');
}

static void put_raw(struct buffer *out, struct slice key, struct slice value)
{
    put_separator(out);
    buffer_append(out, key);
    buffer_append_byte(out, ':');
    buffer_append(out, value);
}

/* Header names are tokens, which nobody has to spell with escapes: one that is spelt so takes no other's
 * place, and beside that it is refused as standing there twice. */
static bool has_key(struct slice object, struct slice wanted)
{
    struct json_cursor cursor;
    struct slice key, value;
    bool is_open = json_open(object, &cursor);
    while (is_open && json_next_member(&cursor, &key, &value))
        if (slice_equal_nocase(key, wanted))
            return true;
    return false;
}

/* The old headers are looked for in it one by one. It may name all of them, and as many new ones. */
static void bound_headers(struct slice *patch, struct job_errors *errors)
{
    if (!patch->size ||
        (patch->size <= PATCH_HEADER_BYTES_MAX && json_count_members(*patch) <= PATCH_HEADERS_MAX))
        return;
    job_errors_add(errors, names[HEADERS], "must name at most 100 headers, in at most 16384 bytes");
    *patch = (struct slice){NULL, 0};
}

static void put_headers(struct buffer *out, struct slice old, struct slice patch)
{
    struct json_cursor cursor;
    struct slice key, value;
    put_separator(out);
    buffer_append(out, SLICE("\"headers\":{"));
    bool is_open = old.size && json_open(old, &cursor);
    while (is_open && json_next_member(&cursor, &key, &value))
        if (!has_key(patch, key))
            put_raw(out, key, value);
    is_open = json_open(patch, &cursor);
    while (is_open && json_next_member(&cursor, &key, &value))
        if (!is_null(value))
            put_raw(out, key, value);
    buffer_append_byte(out, '}');
}

/* Empty: none. */
static struct slice choose(const struct values *old, const struct values *patch, enum member member)
{
    const struct slice none = {NULL, 0};
    struct slice value = patch->of[member];
    struct slice rival = rivals[member] ? patch->of[rivals[member]] : none;
    if (value.size)
        return is_null(value) ? none : value;
    if (member == URL && slice_equal(old->of[URL], SLICE("\"\""))) /* a record's word for none */
        return none;
    return rival.size && !is_null(rival) ? none : old->of[member];
}

static void put_members(struct buffer *out, const struct values *old, const struct values *patch)
{
    buffer_append_byte(out, '{');
    for (int i = 0; i < MEMBERS; i++) {
        struct slice value = choose(old, patch, (enum member)i);
        char key[32];
        struct buffer quoted = {.data = key, .capacity = sizeof key, .max = sizeof key - 1};
        buffer_append_json(&quoted, slice_of(names[i]));
        if (i == HEADERS && value.size && value.data[0] == '{')
            put_headers(out, old->of[HEADERS], patch->of[HEADERS]);
        else if (value.size)
            put_raw(out, buffer_slice(&quoted), value);
    }
    buffer_append_byte(out, '}');
}

/* ---- the new job ---- */

static void keep(struct job *job, const struct job *old)
{
    job->created_ms = old->created_ms;
    job->attempts = old->attempts;
    job->uncounted = old->uncounted;
    job->last_attempt = old->last_attempt;
    job->wait_ms = old->wait_ms;
    job->reason = old->reason;
    job->trace_parent = old->trace_parent;
    job->trace_state = old->trace_state;
    job->carried = old->carried;
#ifdef DUEPOST_TEST_NEXT
    job->next = old->next;
#endif
}

static bool is_changed(const struct values *old, const struct values *patch, enum member member)
{
    struct slice value = patch->of[member];
    return value.size && (!is_null(value) || old->of[member].size);
}

/* Only where the patch says something about these times: a job may wait for a retry beyond its expiry. */
static void check_times(const struct job_patch *patch, const struct values *old, const struct values *values,
                        const struct job_patched *patched, struct job_errors *errors)
{
    const struct job *job = &patched->job;
    bool has_expiry = is_changed(old, values, TTL) || is_changed(old, values, EXPIRES_AT);
    int64_t due_ms = patched->is_moved ? job_due_ms(job, patch->now_ms) : patch->due_ms;
    if (patch->due_ms == 0 || !(has_expiry || patched->is_moved) ||
        job_expires_ms(job, job->created_ms) > due_ms)
        return;
    if (has_expiry)
        job_errors_add(errors, job->has_ttl ? "ttl" : "expiresAt", JOB_EXPIRES_TOO_SOON);
    else
        job_errors_add(errors, values->of[DUE_AT].size ? "dueAt" : "delay", "must be before the job expires");
}

/* ---- what nobody is shown ---- */

/* Whether the job goes on having a header whose value is not shown. */
static bool keeps_hidden_header(struct slice old, struct slice patch)
{
    struct json_cursor cursor;
    struct slice key, value;
    bool is_open = old.size && !is_null(patch) && json_open(old, &cursor);
    while (is_open && json_next_member(&cursor, &key, &value))
        if (!member_header_is_shown(slice_from(key.data + 1, key.size - 2)) &&
            !(patch.size && has_key(patch, key)))
            return true;
    return false;
}

/* Whether the job leads elsewhere now than by its old url. One that had none has led where its topic says. */
static bool is_moved_elsewhere(const struct job_patched *patched)
{
    struct url from, to;
    const char *ignored;
    return patched->has_url && patched->job.url.size > 0 &&
           !(url_parse(patched->old.url, &from, &ignored) == STATUS_OK &&
             url_parse(patched->job.url, &to, &ignored) == STATUS_OK && url_is_same_origin(&from, &to));
}

/* Who says where a job leads shall not get to see by that what others have put into it. */
static void check_hidden(const struct values *old, const struct values *values,
                         const struct job_patched *patched, struct job_errors *errors)
{
    static const char again[] =
        "must be sent again, or be null, where url leads to another scheme, host or port";
    if (!is_moved_elsewhere(patched))
        return;
    if (keeps_hidden_header(old->of[HEADERS], values->of[HEADERS]))
        job_errors_add(errors, names[HEADERS], again);
    if (job_id_is_notice(patched->job.job_id) && old->of[BODY].size && values->of[BODY].size == 0)
        job_errors_add(errors, names[BODY], again);
}

enum status job_patch(const struct job_patch *patch, struct buffer *text, struct job_patched *patched,
                      struct job_errors *errors)
{
    struct values old, values;
    errors->count = 0;
    if (job_read(patch->id, patch->record, &patched->old) != STATUS_OK)
        return STATUS_UNREADABLE;
    if (patched->old.lacks.size) {
        job_fini(&patched->old);
        return STATUS_LACKING;
    }
    enum status status = job_parse_document(patch->text, errors);
    if (status == STATUS_OK) {
        read_values(patch->record, &old, NULL);
        read_values(patch->text, &values, errors);
        bound_headers(&values.of[HEADERS], errors);
        put_members(text, &old, &values);
        status = job_parse_changed(patch->id, buffer_slice(text), patch->now_ms, &patched->job, errors);
    }
    if (status != STATUS_OK) {
        job_fini(&patched->old);
        return status;
    }
    keep(&patched->job, &patched->old);
    patched->has_url = values.of[URL].size > 0;
    patched->is_moved = is_changed(&old, &values, DELAY) || is_changed(&old, &values, DUE_AT);
    check_times(patch, &old, &values, patched, errors);
    check_hidden(&old, &values, patched, errors);
    if (errors->count > 0)
        job_patched_fini(patched);
    return errors->count > 0 ? STATUS_INVALID : STATUS_OK;
}

void job_patched_fini(struct job_patched *patched)
{
    job_fini(&patched->job);
    job_fini(&patched->old);
}
