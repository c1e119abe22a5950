#include "job/group.h"

#include <assert.h>
#include <stdio.h>

#include "base/memory.h"
#include "job/group_sealed.h"
#include "job/job_id.h"
#include "job/job_parse.h"
#include "job/text/member.h"
#include "job/text/sealed.h"

enum { PATCH_ENDPOINTS_MAX = 2 * GROUP_ENDPOINTS_MAX };

/* ---- the tables ---- */

#define NAMED(text) MEMBER_NAMED("", text)

static const struct member endpoint_rows[] = {
    {NAMED("url"), MEMBER_URL, .flags = MEMBER_EVERYWHERE | MEMBER_REQUIRED,
     MEMBER_FIELD(struct group_endpoint, url), MEMBER_HAS(struct group_endpoint, url.size),
     .max = JOB_URL_MAX},
    {NAMED("method"), MEMBER_METHOD, .flags = MEMBER_EVERYWHERE, MEMBER_FIELD(struct group_endpoint, method),
     MEMBER_HAS(struct group_endpoint, method)},
    {NAMED("headers"), MEMBER_HEADERS, .flags = MEMBER_EVERYWHERE | MEMBER_SEALED,
     MEMBER_FIELD(struct group_endpoint, headers), MEMBER_HAS(struct group_endpoint, header_count),
     .count = offsetof(struct group_endpoint, header_count), .max = JOB_HEADERS_MAX},
};

const struct members group_endpoint_members = {MEMBER_ROWS(endpoint_rows), .noun = "field", .prefix = ""};

static const struct member group_rows[] = {
    {NAMED("endpoints"), MEMBER_JSON, .flags = MEMBER_EVERYWHERE | MEMBER_REQUIRED,
     MEMBER_FIELD(struct group, endpoints), MEMBER_HAS(struct group, endpoints.size)},
};

static const struct members group_members = {MEMBER_ROWS(group_rows), .noun = "field", .prefix = ""};

/* ---- names ---- */

static struct slice group_inside(struct slice string)
{
    return slice_from(string.data + 1, string.size - 2);
}

/* Checks the name of an endpoint, which becomes a part of jobIds and an argument of scripts. */
static bool is_endpoint_name(struct slice name)
{
    for (size_t i = 0; i < name.size; i++) {
        char byte = name.data[i];
        bool is_alphanumeric =
            (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9');
        if (!is_alphanumeric && byte != '.' && byte != '_' && byte != '-')
            return false;
    }
    return name.size > 0 && name.size <= GROUP_ENDPOINT_NAME_MAX;
}

/* ---- one endpoint ---- */

/* Adds the faults of an endpoint. The name of each fault has the name of the endpoint before it:
 * "endpoints.billing.url". */
static void add_errors(struct job_errors *errors, struct slice name, const struct job_errors *its)
{
    char prefix[sizeof "endpoints.." + GROUP_ENDPOINT_NAME_MAX];
    struct job_error error;
    snprintf(prefix, sizeof prefix, "endpoints.%.*s", SLICE_ARG(name));
    for (size_t at = 0; job_errors_take(its, &at, &error);) {
        size_t size = strlen(prefix);
        if (error.field[0] && size + 1 < sizeof prefix)
            snprintf(prefix + size, sizeof prefix - size, ".");
        job_errors_add_named(errors, prefix, slice_of(error.field), error.detail);
        prefix[size] = '\0';
    }
}

/* Reads an endpoint. Clears the buffer "text", and writes decoded strings into it. If is_kept is true,
 * unknown members are carried (unknown_members.h). */
static enum status parse_endpoint(struct slice value, struct group_endpoint *endpoint, struct buffer *text,
                                  struct job_errors *errors, bool is_kept)
{
    struct member_parse parse = {.table = &group_endpoint_members,
                                 .of = endpoint,
                                 .text = text,
                                 .errors = errors,
                                 .unknown = is_kept ? &endpoint->unknown : NULL};
    size_t errors_before = errors->count;
    *endpoint = (struct group_endpoint){.header_count = 0};
    buffer_fini(text);
    buffer_init_fallible(text, value.size);
    if (value.data[0] != '{')
        job_errors_add(errors, "", "must be an object with url, method and headers");
    else
        members_parse(&parse, value);
    if (text->failed)
        return STATUS_NO_MEMORY;
    return errors->count == errors_before ? STATUS_OK : STATUS_INVALID;
}

static void put_endpoint(struct json_writer *json, struct slice name, const struct group_endpoint *endpoint,
                         enum members_for whom)
{
    json_put_plain_name(json, name);
    json_put_object(json);
    members_write(&group_endpoint_members, endpoint, whom, json);
    if (whom == MEMBERS_FOR_REDIS)
        unknown_members_write(&endpoint->unknown, json);
    json_end_object(json);
}

bool group_endpoint_apply(const struct group_endpoint *endpoint, struct job *job)
{
    size_t own = job->header_count, bytes = 0;
    job->url = endpoint->url;
    if (endpoint->method != JOB_METHOD_POST)
        job->method = endpoint->method;
    for (size_t i = 0; i < endpoint->header_count; i++) {
        if (headers_find(job->headers, own, endpoint->headers[i].name))
            continue;
        if (job->header_count == JOB_HEADERS_MAX)
            return false;
        job->headers[job->header_count++] = endpoint->headers[i];
        job->has_headers = true;
    }
    for (size_t i = 0; i < job->header_count; i++)
        bytes += job->headers[i].name.size + job->headers[i].value.size;
    return bytes <= JOB_HEADER_BYTES_MAX;
}

/* ---- the whole text ---- */

/* Reads the members of a group. The values of its endpoints are read later, one by one. */
static void parse_top(struct slice text, struct group *group, struct job_errors *errors, bool is_kept)
{
    struct buffer none = {.data = NULL};
    struct member_parse parse = {.table = &group_members,
                                 .of = group,
                                 .text = &none,
                                 .errors = errors,
                                 .unknown = is_kept ? &group->unknown : NULL,
                                 .lacks = is_kept ? &group->lacks : NULL};
    *group = (struct group){.count = 0};
    members_parse(&parse, text);
    if (group->endpoints.size == 0)
        return;
    group->count = json_count_members(group->endpoints);
    if (group->endpoints.data[0] != '{')
        job_errors_add(errors, "endpoints", "must be an object with the endpoints by name");
    else if (group->count == 0 || group->count > GROUP_ENDPOINTS_MAX)
        job_errors_add(errors, "endpoints", "must have 1 to 100 endpoints");
}

static void refuse_name(struct job_errors *errors, struct slice name)
{
    job_errors_add_named(errors, "endpoints.", name,
                         "the name must be 1 to 64 characters of A-Z a-z 0-9 . _ -");
}

/* Reads all endpoints and writes them. */
static enum status write_endpoints(const struct group *group, struct json_writer *json,
                                   struct job_errors *errors, bool is_kept)
{
    struct group_endpoint *endpoint = NEW(struct group_endpoint);
    struct json_cursor cursor;
    struct slice key, value;
    struct buffer text = {.data = NULL};
    enum status status = STATUS_OK;
    bool is_open = json_open(group->endpoints, &cursor);
    while (is_open && status != STATUS_NO_MEMORY && json_next_member(&cursor, &key, &value)) {
        struct job_errors its;
        job_errors_clear(&its);
        if (!is_endpoint_name(group_inside(key))) {
            refuse_name(errors, group_inside(key));
            continue;
        }
        status = parse_endpoint(value, endpoint, &text, &its, is_kept);
        if (status == STATUS_OK)
            put_endpoint(json, group_inside(key), endpoint, MEMBERS_FOR_REDIS);
        add_errors(errors, group_inside(key), &its);
    }
    buffer_fini(&text);
    free(endpoint);
    return status == STATUS_NO_MEMORY ? status : STATUS_OK;
}

static enum status write_group(struct slice text, struct buffer *out, struct job_errors *errors, bool is_kept)
{
    struct group group;
    size_t start = out->size;
    parse_top(text, &group, errors, is_kept);
    if (errors->count)
        return STATUS_INVALID;
    struct json_writer json = json_writer_to(out);
    json_put_object(&json);
    json_add_object(&json, "endpoints");
    enum status status = write_endpoints(&group, &json, errors, is_kept);
    json_end_object(&json);
    unknown_members_write(&group.unknown, &json);
    json_end_object(&json);
    if (status != STATUS_OK || out->failed)
        return STATUS_NO_MEMORY;
    if (errors->count == 0 && out->size - start > GROUP_BYTES_MAX)
        job_errors_add(errors, "", "must be at most 262144 bytes");
    return errors->count ? STATUS_INVALID : STATUS_OK;
}

enum status group_parse(struct slice text, struct buffer *out, struct job_errors *errors)
{
    job_errors_clear(errors);
    enum status status = job_parse_document(text, errors);
    return status == STATUS_OK ? write_group(text, out, errors, false) : status;
}

/* Reads a text that is not sealed. */
static enum status read_open_group(struct slice text, struct group *group)
{
    struct job_errors errors;
    job_errors_clear(&errors);
    *group = (struct group){.count = 0};
    enum status status = job_parse_document(text, &errors);
    if (status != STATUS_OK)
        return status;
    parse_top(text, group, &errors, true);
    return errors.count && group->lacks.size == 0 ? STATUS_INVALID : STATUS_OK;
}

enum status group_read(struct slice text, struct group *group)
{
    struct slice ignored;
    struct buffer opened, lacks;
    enum status status;
    if (!sealed_find(text, &ignored))
        return read_open_group(text, group);
    buffer_init_fallible(&opened, GROUP_BYTES_MAX);
    buffer_init(&lacks, sizeof JOB_LACKS_KEY + SEAL_NAME_SIZE);
    switch (group_open(text, &opened, &lacks)) {
    case SEAL_OPENED:
        status = opened.failed ? STATUS_NO_MEMORY : read_open_group(buffer_slice(&opened), group);
        break;
    case SEAL_NO_KEY:
        *group = (struct group){.lacks = buffer_slice(&lacks), .opened = lacks};
        buffer_fini(&opened);
        return STATUS_OK;
    default: /* a later version may seal in another way */
        status = read_open_group(text, group);
        if (status == STATUS_OK && group->lacks.size == 0)
            status = STATUS_INVALID;
    }
    buffer_fini(&lacks);
    if (status == STATUS_OK)
        group->opened = opened;
    else
        buffer_fini(&opened);
    return status;
}

void group_fini(struct group *group)
{
    buffer_fini(&group->opened);
}

/* ---- the walk ---- */

void group_walk_init(struct group_walk *walk, const struct group *group)
{
    *walk = (struct group_walk){.status = STATUS_OK};
    if (!json_open(group->endpoints, &walk->cursor))
        walk->status = STATUS_INVALID;
}

bool group_walk_next(struct group_walk *walk)
{
    struct slice key, value;
    struct job_errors errors;
    job_errors_clear(&errors);
    if (walk->status != STATUS_OK || !json_next_member(&walk->cursor, &key, &value))
        return false;
    walk->name = group_inside(key);
    walk->status = is_endpoint_name(walk->name)
                       ? parse_endpoint(value, &walk->endpoint, &walk->text, &errors, true)
                       : STATUS_INVALID;
    return walk->status == STATUS_OK;
}

void group_walk_fini(struct group_walk *walk)
{
    buffer_fini(&walk->text);
}

void group_show_endpoints(struct slice text, struct json_writer *json)
{
    struct group group;
    struct group_walk *walk = NEW(struct group_walk);
    json_put_object(json);
    bool is_read = group_read(text, &group) == STATUS_OK;
    if (is_read && group.lacks.size == 0) {
        group_walk_init(walk, &group);
        while (group_walk_next(walk))
            put_endpoint(json, walk->name, &walk->endpoint, MEMBERS_FOR_PEOPLE);
        group_walk_fini(walk);
    }
    if (is_read)
        group_fini(&group);
    json_end_object(json);
    free(walk);
}

/* ---- patches ---- */

struct entry {
    struct slice name, value;
    bool is_used;
};

struct entries {
    struct entry of[PATCH_ENDPOINTS_MAX];
    size_t count;
};

/* Reads the endpoints of a patch. Their number is limited, because the caller searches all of them for each
 * old endpoint. */
static void read_entries(struct slice endpoints, struct entries *entries, struct job_errors *errors)
{
    struct json_cursor cursor;
    struct slice key, value;
    if (endpoints.data[0] != '{') {
        job_errors_add(errors, "endpoints", "must be an object with the endpoints by name");
        return;
    }
    bool is_open = json_open(endpoints, &cursor);
    for (entries->count = 0; is_open && json_next_member(&cursor, &key, &value); entries->count++) {
        if (entries->count == PATCH_ENDPOINTS_MAX) {
            job_errors_add(errors, "endpoints", "must name at most 200 endpoints");
            return;
        }
        entries->of[entries->count] = (struct entry){group_inside(key), value, false};
        if (!is_endpoint_name(group_inside(key)))
            refuse_name(errors, group_inside(key));
    }
}

static struct entry *find_entry(struct entries *entries, struct slice name)
{
    for (size_t i = 0; i < entries->count; i++)
        if (slice_equal(entries->of[i].name, name))
            return &entries->of[i];
    return NULL;
}

/* Applies the patch of one endpoint to the old endpoint, which is {} for a new endpoint, and writes the
 * result. */
static void merge_endpoint(struct slice old, const struct entry *entry, struct json_writer *json,
                           struct job_errors *errors)
{
    struct member_values old_values, values;
    struct job_errors its;
    job_errors_clear(&its);
    json_put_plain_name(json, entry->name);
    struct buffer *out = json_put(json);
    if (entry->value.data[0] != '{') {
        job_errors_add(&its, "", "must be an object with url, method and headers");
    } else {
        members_find(&group_endpoint_members, MEMBER_PATCHED, old, &old_values, NULL);
        members_find(&group_endpoint_members, MEMBER_PATCHED, entry->value, &values, &its);
        members_merge(&group_endpoint_members, &old_values, &values, out, &its);
    }
    add_errors(errors, entry->name, &its);
}

/* Adds to an endpoint's merged text the old members that this version does not know. */
static void carry_endpoint(struct slice old, struct buffer *out, struct group_endpoint *endpoint,
                           struct buffer *text)
{
    struct job_errors ignored;
    job_errors_clear(&ignored);
    if (parse_endpoint(old, endpoint, text, &ignored, true) != STATUS_OK || out->failed ||
        endpoint->unknown.count == 0)
        return;
    out->size--; /* the closing brace */
    struct json_writer json = {out, out->data[out->size - 1] != '{'};
    unknown_members_write(&endpoint->unknown, &json);
    json_end_object(&json);
}

/* Writes the old endpoints that the patch does not remove, then the new endpoints. */
static void merge_endpoints(const struct group *old, struct entries *entries, struct json_writer *json,
                            struct job_errors *errors)
{
    struct group_endpoint *endpoint = NEW(struct group_endpoint);
    struct buffer text = {.data = NULL};
    struct json_cursor cursor;
    struct slice key, value;
    bool is_open = json_open(old->endpoints, &cursor);
    while (is_open && json_next_member(&cursor, &key, &value)) {
        struct entry *entry = find_entry(entries, group_inside(key));
        if (!entry) {
            json_put_plain_name(json, group_inside(key));
            json_put_raw(json, value);
            continue;
        }
        entry->is_used = true;
        if (member_is_null(entry->value))
            continue;
        merge_endpoint(value, entry, json, errors);
        carry_endpoint(value, json->out, endpoint, &text);
    }
    for (size_t i = 0; i < entries->count; i++)
        if (!entries->of[i].is_used && !member_is_null(entries->of[i].value))
            merge_endpoint(SLICE("{}"), &entries->of[i], json, errors);
    buffer_fini(&text);
    free(endpoint);
}

static enum status merge_group(const struct group *old, struct slice patch, struct buffer *merged,
                               struct job_errors *errors)
{
    struct member_values values;
    struct entries *entries = NEW(struct entries);
    members_find(&group_members, MEMBER_PATCHED, patch, &values, errors);
    if (values.of[0].size)
        read_entries(values.of[0], entries, errors);
    if (errors->count == 0) {
        struct json_writer json = json_writer_to(merged);
        json_put_object(&json);
        json_add_object(&json, "endpoints");
        merge_endpoints(old, entries, &json, errors);
        json_end_object(&json);
        unknown_members_write(&old->unknown, &json);
        json_end_object(&json);
    }
    free(entries);
    return merged->failed ? STATUS_NO_MEMORY : errors->count ? STATUS_INVALID : STATUS_OK;
}

enum status group_patch(struct slice old, struct slice patch, struct buffer *out, struct job_errors *errors)
{
    struct group group;
    struct buffer merged;
    job_errors_clear(errors);
    if (patch.size > GROUP_PATCH_MAX) {
        job_errors_add(errors, "", "must be at most 524288 bytes");
        return STATUS_INVALID;
    }
    enum status status = job_parse_document(patch, errors);
    if (status == STATUS_OK)
        status = group_read(old, &group);
    if (status != STATUS_OK)
        return status;
    buffer_init_fallible(&merged, old.size + patch.size + GROUP_BYTES_MAX);
    status = merge_group(&group, patch, &merged, errors);
    if (status == STATUS_OK)
        status = write_group(buffer_slice(&merged), out, errors, true);
    buffer_fini(&merged);
    group_fini(&group);
    return status;
}

/* ---- the jobs of a send ---- */

/* Sealed records are longer, but as many jobs fit. */
static size_t jobs_bytes_max(void)
{
    return seal_is_on() ? SEAL_SIZE(GROUP_JOBS_BYTES_MAX) : GROUP_JOBS_BYTES_MAX;
}

void group_jobs_init(struct group_jobs *jobs)
{
    *jobs = (struct group_jobs){.count = 0};
    buffer_init_fallible(&jobs->text, jobs_bytes_max() + JOB_RECORD_MAX);
}

void group_jobs_fini(struct group_jobs *jobs)
{
    buffer_fini(&jobs->text);
}

struct slice group_jobs_endpoint(const struct group_jobs *jobs, size_t index)
{
    return slice_from(jobs->text.data + jobs->parts[index].name,
                      jobs->parts[index].record - jobs->parts[index].name);
}

struct slice group_jobs_record(const struct group_jobs *jobs, size_t index)
{
    return slice_from(jobs->text.data + jobs->parts[index].record,
                      jobs->parts[index].end - jobs->parts[index].record);
}

/* ---- writing ---- */

/* Creates the job of this endpoint. INVALID: the job does not fit the endpoint. */
static enum status apply_endpoint(struct group_jobs *jobs, const struct group_walk *walk, struct job *job)
{
    if (!group_endpoint_apply(&walk->endpoint, job)) {
        jobs->field = "headers";
        snprintf(jobs->detail, sizeof jobs->detail,
                 "are more than 50, or more than 8192 bytes, together with those of endpoint %.*s",
                 SLICE_ARG(walk->name));
    } else if (!job_method_allows_body(job->method) && (job->body.size || job->has_body_base64)) {
        jobs->field = job->has_body_base64 ? "bodyBase64" : "body";
        snprintf(jobs->detail, sizeof jobs->detail, "cannot be sent with method %s of endpoint %.*s",
                 job_method_word(job->method), SLICE_ARG(walk->name));
    }
    return jobs->field ? STATUS_INVALID : STATUS_OK;
}

/* Writes the job of an endpoint: its id has the name of the endpoint, see scripts/lib/sends.lua. */
static void write_endpoint_job(struct slice endpoint, const struct job *job, struct buffer *text)
{
    char room[JOB_ID_MAX + 1];
    struct buffer id = buffer_of(room, sizeof room);
    struct job *copy = NEW(struct job);
    buffer_append(&id, job->job_id);
    buffer_append_byte(&id, '~');
    buffer_append(&id, endpoint);
    *copy = *job;
    copy->job_id = buffer_slice(&id);
    job_write(copy, text);
    free(copy);
}

enum status group_jobs_add(struct group_jobs *jobs, struct slice endpoint, const struct job *job)
{
    struct buffer *text = &jobs->text;
    assert(jobs->count < GROUP_ENDPOINTS_MAX);
    if (job->job_id.size + 1 + endpoint.size > JOB_ID_MAX) {
        jobs->field = "jobId";
        snprintf(jobs->detail, sizeof jobs->detail, "is over 255 bytes together with ~%.*s",
                 SLICE_ARG(endpoint));
        return STATUS_INVALID;
    }
    jobs->parts[jobs->count].name = text->size;
    buffer_append(text, endpoint);
    jobs->parts[jobs->count].record = text->size;
    write_endpoint_job(endpoint, job, text);
    jobs->parts[jobs->count].end = text->size;
    jobs->count++;
    if (text->failed)
        return STATUS_NO_MEMORY;
    return text->size > jobs_bytes_max() ? STATUS_FULL : STATUS_OK;
}

static enum status add_jobs(struct group_jobs *jobs, const struct group *group, const struct job *job)
{
    struct group_walk *walk = NEW(struct group_walk);
    struct job *copy = NEW(struct job);
    enum status status = STATUS_OK;
    group_walk_init(walk, group);
    while (status == STATUS_OK && jobs->count < GROUP_ENDPOINTS_MAX && group_walk_next(walk)) {
        *copy = *job;
        status = apply_endpoint(jobs, walk, copy);
        if (status == STATUS_OK)
            status = group_jobs_add(jobs, walk->name, copy);
    }
    if (status == STATUS_OK && walk->status != STATUS_OK)
        status = walk->status == STATUS_NO_MEMORY ? STATUS_NO_MEMORY : STATUS_UNREADABLE;
    group_walk_fini(walk);
    free(walk);
    free(copy);
    return status;
}

enum status group_jobs_lack(struct group_jobs *jobs, struct slice lacks)
{
    buffer_append(&jobs->text, lacks);
    jobs->lacks = buffer_slice(&jobs->text);
    return jobs->text.failed ? STATUS_NO_MEMORY : STATUS_LACKING;
}

enum status group_jobs_write(struct group_jobs *jobs, struct slice text, const struct job *job)
{
    struct group group;
    enum status status = group_read(text, &group);
    if (status != STATUS_OK)
        return status == STATUS_NO_MEMORY ? STATUS_NO_MEMORY : STATUS_UNREADABLE;
    if (group.lacks.size)
        status = group_jobs_lack(jobs, group.lacks);
    else
        status = add_jobs(jobs, &group, job);
    group_fini(&group);
    return status;
}

enum status group_jobs_mark(const struct job *job, char mark[FINGERPRINT_SIZE])
{
    struct job *copy = NEW(struct job);
    struct buffer text;
    *copy = *job;
    copy->trace_parent = copy->trace_state = SLICE("");
    buffer_init_fallible(&text, JOB_RECORD_MAX);
    buffer_append(&text, copy->group);
    buffer_append_byte(&text, ' ');
    job_write_plain(copy, &text); /* earlier versions made the same mark of the same job */
    bool has_memory = !text.failed;
    if (has_memory)
        fingerprint_make_secret(buffer_slice(&text), mark);
    buffer_fini(&text);
    free(copy);
    return has_memory ? STATUS_OK : STATUS_NO_MEMORY;
}
