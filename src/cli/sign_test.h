/* sign_test.h - duepost sign-test URL FILE */
#ifndef DUEPOST_CLI_SIGN_TEST_H
#define DUEPOST_CLI_SIGN_TEST_H

#include <stdbool.h>

#include "base/status.h"

/* POSTs a signed sample from this host to a receiver, signed like a delivery. words: a URL and the file of
 * --signing-secret-file. Prints the signed text, the headers and the answer. False: problem says why; an
 * answer other than 2xx is a failure, too. */
bool sign_test_run(int count, char *const *words, struct problem *);

#endif
