/* sign_test.h - duepost sign-test URL FILE */
#ifndef DUEPOST_CLI_SIGN_TEST_H
#define DUEPOST_CLI_SIGN_TEST_H

#include <stdbool.h>

#include "base/status.h"

/* words: a url, and the file of --signing-secret-file. POSTs a sample there, from here, signed as a delivery
 * is, and prints what was signed, the headers, and what was answered. False: problem says why not, or that it
 * was no 2xx. */
bool sign_test_run(int count, char *const *words, struct problem *);

#endif
