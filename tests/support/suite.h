/* suite.h - the function that each test program defines; support/main.c runs it. */
#ifndef DUEPOST_TESTS_SUITE_H
#define DUEPOST_TESTS_SUITE_H

#include <check.h>

Suite *suite(void);

#endif
