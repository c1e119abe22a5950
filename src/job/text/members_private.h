/* members_private.h - finds the field of a struct that holds the value of a member.
 */
#ifndef DUEPOST_JOB_TEXT_MEMBERS_PRIVATE_H
#define DUEPOST_JOB_TEXT_MEMBERS_PRIVATE_H

#include "job/text/members.h"

static inline const void *member_field(const void *of, const struct member *member)
{
    return (const char *)of + member->field;
}

static inline size_t member_count(const void *of, uint16_t offset)
{
    return *(const size_t *)((const char *)of + offset);
}

static inline int64_t member_number(const struct member *member, const void *field)
{
    return member->bytes == sizeof(int) ? *(const int *)field : *(const int64_t *)field;
}

static inline bool member_is_there(const struct member *member, const void *of)
{
    const char *at = (const char *)of + member->has;
    switch (member->has_bytes) {
    case sizeof(bool):
        return *at;
    case sizeof(int32_t):
        return *(const int32_t *)at;
    case sizeof(int64_t):
        return *(const int64_t *)at;
    default:
        return true;
    }
}

#endif
