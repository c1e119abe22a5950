/* sign_test.h - duepost sign-test URL FILE */
#ifndef DUEPOST_CLI_SIGN_TEST_H
#define DUEPOST_CLI_SIGN_TEST_H

#include <stdbool.h>

#include "base/status.h"

/* POSTs a signed sample from this host to a receiver, signed like a delivery. words are a URL and the file of
 * --signing-secret-file. Prints the signed text, the headers and the answer. Returns false after an error and
 * after an answer other than 2xx; problem then says why, and *has_sent whether
 * the sample was sent. */
bool sign_test_run(int count, char *const *words, bool *has_sent, struct problem *);

#endif
