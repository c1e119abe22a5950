/* cli.h - duepost COMMAND: asks a server over its API, and prints what it says as a table or as JSON. */
#ifndef DUEPOST_CLI_CLI_H
#define DUEPOST_CLI_CLI_H

#include <stdbool.h>

/* Whether argv[1] is the name of a command, rather than an option of the server. */
bool cli_is_meant(int argc, char *const *argv);

/* Runs it. 0: done; 1: the server refused, or cannot be reached; 2: it was called wrongly. What is wrong goes
 * to stderr. */
int cli_run(int argc, char *const *argv);

#endif
