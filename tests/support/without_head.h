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
        const char *end = strstr(head, " \",");
        ck_assert_ptr_nonnull(end);
        memmove(head, end + 3, strlen(end + 3) + 1);
    }
    return copy;
}

#endif
