/* main.c - runs a command of the client, or the server: options, start, exit code. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/memory.h"
#include "cli/cli.h"
#include "server/check.h"
#include "server/options_load.h"
#include "server/options_print.h"
#include "server/server.h"

enum { EXIT_USAGE = 2 };

static int main_fail(struct options *options, int code, const struct problem *problem)
{
    fprintf(stderr, "duepost: %s\n", problem->text);
    options_fini(options);
    free(options);
    return code;
}

static int main_run(struct options *options, const struct options_input *input)
{
    struct problem problem;
    if (log_open(options->log, options->log_format, options->log_level, &problem) != STATUS_OK)
        return main_fail(options, EXIT_FAILURE, &problem);
    options_log_warnings(options);
    return server_run(options, input);
}

/* Returns code, or EXIT_FAILURE if the output cannot be written. A new token, or a list, would be lost
 * unnoticed on a full disk. */
static int main_end(int code)
{
    if (code != EXIT_SUCCESS || (fflush(stdout) == 0 && !ferror(stdout)))
        return code;
    fprintf(stderr, "duepost: standard output cannot be written: %s\n", strerror(errno));
    return EXIT_FAILURE;
}

/* Returns whether to run duepost check, which has the options of the server. The help of duepost check is
 * that of a command, so it is not handled here. */
static bool is_check(int argc, char *const *argv)
{
    bool wants_help = argc == 3 && (strcmp(argv[2], "-h") == 0 || strcmp(argv[2], "--help") == 0);
    return argc > 1 && strcmp(argv[1], "check") == 0 && !wants_help;
}

/* Opens closed standard descriptors, because otherwise a socket or a file could get their numbers, and log
 * lines would be written there. Each is opened in the wrong direction, so its use fails as if it were
 * closed. */
static void open_standard_descriptors(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        int flags = fd == STDIN_FILENO ? O_WRONLY : O_RDONLY;
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", flags) < 0)
            return; /* without /dev/null, the process runs as before */
    }
}

int main(int argc, char **argv)
{
    open_standard_descriptors();
    if (is_check(argc, argv)) {
        struct options_input input = {argc - 1, argv + 1, environ, OPTIONS_CONFIG_FILE};
        return main_end(check_run(&input));
    }
    if (cli_is_meant(argc, argv))
        return main_end(cli_run(argc, argv));
    struct options *options = NEW(struct options);
    struct problem problem;
    struct options_input input = {argc, argv, environ, OPTIONS_CONFIG_FILE};
    if (options_load(options, &input, &problem) != STATUS_OK ||
        options_check_start(options, &problem) != STATUS_OK)
        return main_fail(options, EXIT_USAGE, &problem);
    if (!options_answer(options, stdout))
        return main_run(options, &input);
    options_fini(options);
    free(options);
    return main_end(EXIT_SUCCESS);
}
