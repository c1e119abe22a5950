#include "job/rekey.h"

#include <stdio.h>

#include "base/seal.h"
#include "job/attempt_line.h"
#include "job/group_sealed.h"
#include "job/job.h"
#include "job/schedule/recurring.h"
#include "job/text/sealed.h"
#include "job/topic/topic_sealed.h"
#include "job/workflow.h"

#define VALUE  "\\u001e"
#define MEMBER "\"sealed\":\""
#define LABELS "\"labels\":["

/* ---- whether a text is to be written ---- */

/* Returns the next sealed text behind a mark, and moves *at behind it; or an empty text. */
static struct slice next_sealed(struct slice text, struct slice mark, const char **at)
{
    const char *end = slice_end(text);
    struct slice sealed, ignored;
    char name[SEAL_NAME_SIZE];
    while (*at < end && (*at = memmem(*at, (size_t)(end - *at), mark.data, mark.size))) {
        *at += mark.size;
        slice_cut(slice_from(*at, (size_t)(end - *at)), '"', &sealed, &ignored);
        if (seal_name(sealed, name))
            return sealed;
    }
    return SLICE("");
}

static const struct slice marks[] = {SLICE_INIT(VALUE), SLICE_INIT(MEMBER)};

/* Returns whether the text has sealed parts, all of the first key. */
static bool is_current(struct slice text)
{
    bool is_sealed = false;
    if (seal_has_labels() && text.size && memmem(text.data, text.size, LABELS, sizeof LABELS - 1))
        return false; /* labels of before they were encrypted */
    for (size_t i = 0; text.size && i < sizeof marks / sizeof *marks; i++) {
        const char *at = text.data;
        for (struct slice sealed; (sealed = next_sealed(text, marks[i], &at)).size; is_sealed = true)
            if (!seal_is_current(sealed))
                return false;
    }
    return is_sealed || text.size == 0;
}

bool rekey_lacks(struct slice text, char name[SEAL_NAME_SIZE])
{
    for (size_t i = 0; text.size && i < sizeof marks / sizeof *marks; i++) {
        const char *at = text.data;
        for (struct slice sealed; (sealed = next_sealed(text, marks[i], &at)).size;)
            if (!seal_has_key(sealed))
                return seal_name(sealed, name);
    }
    return false;
}

/* ---- parts of texts ---- */

static bool write_value(struct slice owner, struct slice value, struct buffer *out)
{
    struct sealed_values values = {.blocks = NULL};
    struct slice open = sealed_values_open(&values, owner, value);
    bool is_open = !values.has_shut;
    if (is_open)
        sealed_value_append(out, owner, open);
    sealed_values_fini(&values);
    return is_open;
}

/* Seals the end of a record anew. The record may lack its beginning, see job_write. */
static bool write_end(struct slice id, struct slice record, struct buffer *out)
{
    struct buffer plain;
    struct slice end = SLICE("\"}"), sealed;
    const char *at = record.data ? memmem(record.data, record.size, MEMBER, sizeof MEMBER - 1) : NULL;
    if (!at || !slice_ends_with(record, end)) {
        buffer_append(out, record);
        return true;
    }
    at += sizeof MEMBER - 1;
    sealed = slice_from(at, (size_t)(slice_end(record) - at) - end.size);
    buffer_init_fallible(&plain, JOB_RECORD_MAX);
    bool is_open = seal_open(sealed, id, &plain) == SEAL_OPENED && !plain.failed;
    if (is_open) {
        buffer_append(out, slice_from(record.data, (size_t)(at - record.data)));
        seal_append(out, id, buffer_slice(&plain));
        buffer_append(out, end);
    }
    buffer_fini(&plain);
    return is_open;
}

/* A job without secrets gets the same text. */
static bool write_record(struct slice id, struct slice record, struct buffer *out)
{
    struct job job;
    if (job_read(id, record, &job) != STATUS_OK)
        return false;
    bool is_read = job.lacks.size == 0;
    if (is_read)
        job_write(&job, out);
    job_fini(&job);
    return is_read;
}

static bool write_lines(struct slice lines, struct buffer *out)
{
    while (lines.size) {
        struct slice rest = lines;
        struct attempt_line line;
        if (!attempt_line_take(&rest, &line))
            return false;
        struct slice whole = slice_from(lines.data, lines.size - rest.size);
        if (line.answer.size == 0) {
            buffer_append(out, whole);
        } else {
            buffer_append(out, line.owner);
            buffer_append_byte(out, ' ');
            if (!write_value(line.owner, line.answer, out))
                return false;
            buffer_append(out, line.is_answer_cut ? SLICE("+\n") : SLICE("\n"));
        }
        lines = rest;
    }
    return true;
}

/* ---- texts ---- */

static bool take_size(struct slice *text, size_t *size)
{
    struct slice word;
    uint64_t number;
    bool is_number = slice_cut(*text, ' ', &word, text) && slice_to_number(word, JOB_RECORD_MAX, &number);
    *size = is_number ? (size_t)number : 0;
    return is_number && *size <= text->size;
}

/* "state time losses size record lines" */
static bool write_ended(struct slice id, struct slice text, bool is_body_left_out, struct buffer *out)
{
    struct slice word, rest = text;
    struct buffer record;
    size_t size;
    for (int i = 0; i < 3; i++)
        if (!slice_cut(rest, ' ', &word, &rest))
            return false;
    struct slice head = slice_from(text.data, text.size - rest.size);
    if (!take_size(&rest, &size))
        return false;
    buffer_init_fallible(&record, JOB_RECORD_MAX);
    bool is_read = write_record(id, slice_from(rest.data, size), &record) && !record.failed;
    if (is_read) {
        struct slice mark = is_body_left_out ? SLICE("{\"bodyLeftOut\":true,") : SLICE("{");
        buffer_append(out, head);
        buffer_printf(out, "%zu ", record.size - 1 + mark.size);
        buffer_append(out, mark);
        buffer_append(out, slice_skip(buffer_slice(&record), 1));
    }
    buffer_fini(&record);
    return is_read && write_lines(slice_skip(rest, size), out);
}

static bool write_schedule(struct slice id, struct slice text, struct buffer *out)
{
    struct recurring recurring;
    struct slice topic, ignored;
    struct job job;
    slice_cut(id, '/', &topic, &ignored);
    if (recurring_read(text, &recurring) != STATUS_OK)
        return false;
    bool is_read = recurring.lacks.size == 0 && recurring_read_job(&recurring, topic, &job) == STATUS_OK;
    if (is_read) {
        is_read = job.lacks.size == 0;
        if (is_read)
            recurring_write(&recurring, &job, out);
        job_fini(&job);
    }
    recurring_fini(&recurring);
    return is_read;
}

/* Settings, or the endpoints of a group: name is theirs. */
static bool write_open(struct slice name, struct slice text, bool is_group, struct buffer *out)
{
    struct buffer plain, lacks;
    buffer_init_fallible(&plain, 2 * TOPIC_STORED_BYTES_MAX);
    buffer_init(&lacks, sizeof JOB_LACKS_KEY + SEAL_NAME_SIZE);
    enum seal_answer answer =
        is_group ? group_open(text, &plain, &lacks) : topic_settings_open(name, text, &plain, &lacks);
    bool is_open = answer == SEAL_OPENED && !plain.failed;
    if (is_open && is_group)
        group_seal(name, buffer_slice(&plain), out);
    else if (is_open)
        topic_settings_seal(name, buffer_slice(&plain), out);
    buffer_fini(&plain);
    buffer_fini(&lacks);
    return is_open;
}

/* ---- workflows ---- */

/* The owner topic of a workflow's job, or of a place. */
static struct slice owner_of(struct slice id, char room[WORKFLOW_SEAL_MAX])
{
    struct slice topic, owner, ignored;
    slice_cut(id, '/', &topic, &ignored);
    slice_cut(topic, '~', &owner, &ignored);
    return workflow_seal_owner(owner, room);
}

/* "size size first second value": the sizes are those of the first two texts (lib/events.lua,
 * lib/workflow_ends.lua). has_record: the second text is the record of the job that the first one names;
 * otherwise it is a value. */
static bool write_pair(struct slice owner, struct slice text, bool has_record, struct buffer *out)
{
    struct slice rest = text;
    struct buffer second;
    size_t one, other;
    if (!take_size(&rest, &one) || !take_size(&rest, &other) || one + other > rest.size)
        return false;
    struct slice first = slice_from(rest.data, one), middle = slice_from(rest.data + one, other);
    struct slice last = slice_skip(rest, one + other);
    buffer_init_fallible(&second, JOB_RECORD_MAX);
    bool is_written = has_record ? write_end(first, middle, &second) : write_value(owner, middle, &second);
    is_written = is_written && !second.failed;
    if (is_written) {
        buffer_printf(out, "%zu %zu ", first.size, second.size);
        buffer_append(out, first);
        buffer_append(out, buffer_slice(&second));
        is_written = last.size == 0 || write_value(owner, last, out);
    }
    buffer_fini(&second);
    return is_written;
}

static bool write_of_workflow(struct slice key, struct slice field, struct slice text, struct buffer *out)
{
    char room[WORKFLOW_SEAL_MAX];
    struct slice kind, place;
    slice_cut(key, ':', &kind, &place);
    struct slice owner = owner_of(place, room);
    if (slice_equal(kind, SLICE("elements"))) {
        buffer_append(out, slice_from(text.data, 1));
        return write_value(owner, slice_skip(text, 1), out);
    }
    if (slice_equal(field, SLICE("ifFailed")) || slice_equal(field, SLICE("ifCancelled")))
        return write_pair(owner, text, true, out);
    return write_value(owner, text, out);
}

/* ---- all ---- */

static bool write_text(struct slice key, struct slice field, struct slice text, struct buffer *out)
{
    char room[WORKFLOW_SEAL_MAX];
    if (slice_equal(key, SLICE("jobs")))
        return write_record(field, text, out);
    if (slice_equal(key, SLICE("attempts")))
        return write_lines(text, out);
    if (slice_equal(key, SLICE("kept")))
        return write_ended(field, text, false, out);
    if (slice_equal(key, SLICE("schedules")))
        return write_schedule(field, text, out);
    if (slice_equal(key, SLICE("topics")) || slice_equal(key, SLICE("patterns")))
        return write_open(field, text, false, out);
    if (slice_equal(key, SLICE("groups")))
        return write_open(field, text, true, out);
    if (slice_equal(key, SLICE("waits")))
        return write_pair(owner_of(field, room), text, false, out);
    if (slice_equal(key, SLICE("progress"))) {
        struct sealed_values values = {.blocks = NULL};
        struct slice open = job_value_open(field, JOB_PROGRESS, text, &values);
        bool is_open = !values.has_shut;
        if (is_open)
            job_value_write(field, JOB_PROGRESS, open, out);
        sealed_values_fini(&values);
        return is_open;
    }
    return write_of_workflow(key, field, text, out);
}

static enum rekey_answer answer_of(bool is_written, struct slice text, const struct buffer *out)
{
    if (!is_written || out->failed)
        return REKEY_LEFT;
    return slice_equal(buffer_slice(out), text) ? REKEY_CURRENT : REKEY_CHANGED;
}

enum rekey_answer rekey_text(struct slice key, struct slice field, struct slice text, struct buffer *out)
{
    buffer_clear(out);
    return is_current(text) ? REKEY_CURRENT : answer_of(write_text(key, field, text, out), text, out);
}

enum rekey_answer rekey_ended(struct slice id, struct slice text, bool is_body_left_out, struct buffer *out)
{
    buffer_clear(out);
    return is_current(text) ? REKEY_CURRENT
                            : answer_of(write_ended(id, text, is_body_left_out, out), text, out);
}
