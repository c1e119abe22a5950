/* cli.h - duepost COMMAND: calls the API of a server and prints the answer as a table or as JSON. */
#ifndef DUEPOST_CLI_CLI_H
#define DUEPOST_CLI_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* An option of the server, for its manual page and for the completion of shells. */
struct cli_option {
    const char *name, *placeholder, *fallback, *help, *text; /* each may be NULL, except name and help */
};

/* Returns whether argv[1] names a command. Otherwise argv[1] is an option of the server. */
bool cli_is_meant(int argc, char *const *argv);

/* Runs the command. Returns 0 after success. Returns 2 if the command line is wrong; nothing was sent then.
 * Returns 1 if the server refused the request, cannot be reached, or failed. Errors are printed to stderr.
 * server has the options of the server. */
int cli_run(int argc, char *const *argv, const struct cli_option *server, size_t count);

/* Prints duepost(1) in the format of man(7). */
void cli_print_manual(FILE *, const struct cli_option *server, size_t count);

#endif
