/* options_print.h - options that print an answer instead of starting the server. */
#ifndef DUEPOST_SERVER_OPTIONS_PRINT_H
#define DUEPOST_SERVER_OPTIONS_PRINT_H

#include "server/options.h"

/* Writes the answer to --help, --version, --print-config or --print-reference and returns true. Returns false
 * if none of these options is set. */
bool options_answer(const struct options *, FILE *out);

#endif
