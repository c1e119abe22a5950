/* members_compare.c - compares and copies the members of structs by a table of members. */
#include <assert.h>

#include "job/callback.h"
#include "job/header.h"
#include "job/member_field.h"

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
        if (member->flags & MEMBER_STORED && !(member->flags & MEMBER_SENT))
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
