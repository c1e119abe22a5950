/* without_head.h - removes the heads from texts with records of jobs, for tests of other members. */
#ifndef DUEPOST_TESTS_WITHOUT_HEAD_H
#define DUEPOST_TESTS_WITHOUT_HEAD_H

#include <check.h>
#include <string.h>

/* Returns a copy of text without the heads of records (job.h). Valid until the next call. */
static inline const char *without_head(const char *text)
{
    static char copy[1 << 20];
    ck_assert_uint_lt(strlen(text), sizeof copy);
    strcpy(copy, text);
    for (char *head = strstr(copy, "\"head\":\"1 "); head; head = strstr(head, "\"head\":\"1 ")) {
        const char *end = head + sizeof "\"head\":\"1";
        while (*end && *end != '"') /* the head may have a key with escapes */
            end += *end == '\\' && end[1] ? 2 : 1;
        ck_assert(strncmp(end, "\",", 2) == 0);
        memmove(head, end + 2, strlen(end + 2) + 1);
    }
    return copy;
}

#endif
