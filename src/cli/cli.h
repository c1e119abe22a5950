/* cli.h - duepost COMMAND: calls the API of a server and prints the answer as a table or as JSON. */
#ifndef DUEPOST_CLI_CLI_H
#define DUEPOST_CLI_CLI_H

#include <stdbool.h>

/* Returns whether argv[1] names a command. Otherwise it is an option of the server. */
bool cli_is_meant(int argc, char *const *argv);

/* Runs the command. Returns 0: done; 1: the server refused the request or cannot be reached; 2: wrong
 * arguments. Errors go to stderr. */
int cli_run(int argc, char *const *argv);

#endif
