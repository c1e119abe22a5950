/* main.c - the entry point: runs the server, or one command of the command-line client, and sets the exit
 * code. */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/memory.h"
#include "cli/cli.h"
#include "server/check/check.h"
#include "server/options/options.h"
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

/* Returns code, or EXIT_FAILURE if the output cannot be written. Without this check, a full disk could
 * swallow a new token or a list although the command exits with 0. */
static int main_end(int code)
{
    if (code != EXIT_SUCCESS || (fflush(stdout) == 0 && !ferror(stdout)))
        return code;
    fprintf(stderr, "duepost: standard output cannot be written: %s\n", strerror(errno));
    return EXIT_FAILURE;
}

/* Returns whether to run "duepost check". This command takes the server's options, so the client in cli/
 * cannot run it; the client only prints its help (--help). */
static bool is_check(int argc, char *const *argv)
{
    bool wants_help = argc == 3 && (strcmp(argv[2], "-h") == 0 || strcmp(argv[2], "--help") == 0);
    return argc > 1 && strcmp(argv[1], "check") == 0 && !wants_help;
}

/* Opens /dev/null for each standard descriptor (0 to 2) that is closed. Otherwise a socket or a file could
 * get the number of a closed descriptor, and log lines would be written there. Standard input is opened for
 * writing, and the outputs for reading: so reads and writes fail as on a closed descriptor. */
static void open_standard_descriptors(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        int flags = fd == STDIN_FILENO ? O_WRONLY : O_RDONLY;
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", flags) < 0)
            return; /* without /dev/null, the process runs as before */
    }
}

/* Gives each block from 256 KiB on its own mapping, so that its pages go back to the system when it is freed.
 * By default, glibc takes such blocks from the heap once it has freed one, and bodies of slightly different
 * sizes leave holes there that no other body fits into. */
static void map_large_blocks(void)
{
#ifdef __GLIBC__
    mallopt(M_MMAP_THRESHOLD, 256 * 1024);
#endif
}

int main(int argc, char **argv)
{
    open_standard_descriptors();
    map_large_blocks();
    if (is_check(argc, argv)) {
        struct options_input input = {argc - 1, argv + 1, environ, OPTIONS_CONFIG_FILE};
        return main_end(check_run(&input));
    }
    if (cli_is_meant(argc, argv)) {
        struct cli_option list[OPTION_COUNT];
        return main_end(cli_run(argc, argv, list, options_list(list)));
    }
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
