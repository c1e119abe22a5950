/* members_change.c - compares, copies and patches the members of structs by a table of members. */
#include <assert.h>

#include "job/delivery/callback.h"
#include "job/request.h"
#include "job/text/json.h"
#include "job/text/member.h"
#include "job/text/members.h"
#include "job/text/members_private.h"

/* ---- comparing, copying ---- */

static bool same_waits(const struct retry_schedule *a, const struct retry_schedule *b)
{
    if (a->count != b->count)
        return false;
    for (size_t i = 0; i < a->count; i++)
        if (a->wait_ms[i] != b->wait_ms[i])
            return false;
    return true;
}

static bool has_header(const struct job_header *headers, size_t count, const struct job_header *wanted)
{
    for (size_t i = 0; i < count; i++)
        if (slice_equal(headers[i].name, wanted->name))
            return slice_equal(headers[i].value, wanted->value);
    return false;
}

/* Compares two lists of headers. Names are unique, so two lists of the same length are equal if each header
 * of the first list is in the second. */
static bool same_headers(const struct member *member, const void *a, const void *b)
{
    size_t count = member_count(a, member->count);
    const struct job_header *headers = member_field(a, member);
    if (count != member_count(b, member->count))
        return false;
    for (size_t i = 0; i < count; i++)
        if (!has_header(member_field(b, member), count, &headers[i]))
            return false;
    return true;
}

static bool same_value(const struct member *member, const void *a, const void *b)
{
    const void *left = member_field(a, member), *right = member_field(b, member);
    switch (member->kind) {
    case MEMBER_TEXT:
    case MEMBER_URL:
    case MEMBER_JSON:
    case MEMBER_BASE64:
        return slice_equal(*(const struct slice *)left, *(const struct slice *)right);
    case MEMBER_CALLBACK:
        return callback_is_same(*(const struct slice *)left, *(const struct slice *)right);
    case MEMBER_BOOL:
        return *(const bool *)left == *(const bool *)right;
    case MEMBER_INTEGER:
    case MEMBER_SECONDS:
    case MEMBER_TIME:
    case MEMBER_SHARE:
        return member_number(member, left) == member_number(member, right);
    case MEMBER_WAITS:
        return same_waits(left, right);
    case MEMBER_METHOD:
        return *(const enum job_method *)left == *(const enum job_method *)right;
    case MEMBER_LABELS:
        return job_labels_are_same(left, right);
    case MEMBER_HEADERS:
        return same_headers(member, a, b);
    case MEMBER_KEYS:
    case MEMBER_SECRET:
    case MEMBER_PROXY:
    case MEMBER_ATTEMPT:
    case MEMBER_OBJECT:
        break;
    }
    assert(!"members of these kinds are never compared");
    return false;
}

bool members_are_same(const struct members *table, const void *a, const void *b)
{
    for (size_t i = 0; i < table->count; i++) {
        const struct member *member = &table->rows[i];
        if (!(member->flags & MEMBER_SENT))
            continue;
        bool is_in_a = member_is_there(member, a), is_in_b = member_is_there(member, b);
        if (is_in_a != is_in_b || (is_in_a && !same_value(member, a, b)))
            return false;
    }
    return true;
}

void members_keep(const struct members *table, void *of, const void *old)
{
    for (size_t i = 0; i < table->count; i++) {
        const struct member *member = &table->rows[i];
        if (member->flags & MEMBER_STORED && !(member->flags & MEMBER_PATCHED))
            memcpy((char *)of + member->field, member_field(old, member), member->bytes);
    }
}

void members_limit(const struct members *table, void *of, unsigned flag)
{
    for (size_t i = 0; i < table->count; i++) {
        const struct member *member = &table->rows[i];
        if (!(member->flags & flag))
            memset((char *)of + member->has, 0, member->has_bytes);
    }
}

/* ---- merge patches ----
 *
 * By RFC 7396. Values are copied as text, because a parser could change the spelling of numbers. */

enum { PATCH_HEADERS_MAX = 100, PATCH_HEADER_BYTES_MAX = 16 * 1024 };

bool member_is_changed(const struct member_values *old, const struct member_values *patch, size_t row)
{
    struct slice value = patch->of[row];
    return value.size && (!member_is_null(value) || old->of[row].size);
}

/* Returns the row of the member that cannot be combined with the member of this row, or 0 if the table has no
 * such member. */
static size_t rival_of(const struct members *table, size_t row)
{
    if (table->rows[row].rival)
        return table->rows[row].rival;
    for (size_t i = row + 1; i < table->count; i++)
        if (table->rows[i].rival == row && row)
            return i;
    return 0;
}

/* Returns the value after the patch. The value is empty if the member was removed or is absent. */
static struct slice choose(const struct members *table, size_t row, const struct member_values *old,
                           const struct member_values *patch)
{
    const struct slice none = {NULL, 0};
    struct slice value = patch->of[row];
    size_t rival = rival_of(table, row);
    if (value.size)
        return member_is_null(value) ? none : value;
    if (table->rows[row].kind == MEMBER_URL && slice_equal(old->of[row], SLICE("\"\"")))
        return none; /* in a record, this value means that the job has no url */
    return rival && patch->of[rival].size && !member_is_null(patch->of[rival]) ? none : old->of[row];
}

void members_merge(const struct members *table, const struct member_values *old, struct member_values *patch,
                   struct buffer *out, struct job_errors *errors)
{
    struct json_writer json = json_writer_to(out);
    /* Headers that exceed their limits are removed from the patch. The limits exist because each old header
     * is searched for in the patch. They allow a patch that removes all old headers and adds as many new
     * ones. */
    for (size_t i = 0; i < table->count; i++) {
        struct slice headers = patch->of[i];
        if (table->rows[i].kind != MEMBER_HEADERS || headers.size == 0 ||
            (headers.size <= PATCH_HEADER_BYTES_MAX && json_count_members(headers) <= PATCH_HEADERS_MAX))
            continue;
        job_errors_add(errors, table->rows[i].path, "must name at most 100 headers, in at most 16384 bytes");
        patch->of[i] = (struct slice){NULL, 0};
    }
    json_put_object(&json);
    for (size_t i = 0; i < table->count; i++) {
        struct slice value = choose(table, i, old, patch);
        if (value.size == 0)
            continue;
        json_put_plain_name(&json, table->rows[i].name);
        if (patch->of[i].size && table->rows[i].kind == MEMBER_HEADERS)
            json_merge(old->of[i], value, JSON_NAMES_NO_CASE, &json);
        else if (patch->of[i].size && table->rows[i].kind == MEMBER_OBJECT)
            json_merge(old->of[i], value, JSON_NAMES_EXACT, &json);
        else
            json_put_raw(&json, value);
    }
    json_end_object(&json);
}
