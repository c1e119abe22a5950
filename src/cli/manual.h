/* manual.h - the manual page and the completion of shells, made from the table of commands, with their help,
 * and from the server's table of options. */
#ifndef DUEPOST_CLI_MANUAL_H
#define DUEPOST_CLI_MANUAL_H

#include <stddef.h>
#include <stdio.h>

#include "cli/cli.h"
#include "cli/commands.h"

struct manual {
    const struct command *commands;
    size_t command_count;
    bool (*is_local)(const struct command *); /* the command calls no server */
    const struct cli_option *options;         /* options of the server */
    size_t option_count;
};

/* Prints duepost(1) in the format of man(7). */
void manual_print(const struct manual *, FILE *);

/* Prints the completion for bash, zsh or fish. Returns false for another word. */
bool manual_print_completion(const struct manual *, const char *shell, FILE *);

#endif
