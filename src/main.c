/* main.c - options, start, exit code. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/log.h"
#include "server/options.h"
#include "server/server.h"

enum { EXIT_USAGE = 2 };

static int fail(int code, const struct problem *problem)
{
    fprintf(stderr, "duepost: %s\n", problem->text);
    return code;
}

static int run(struct options *options)
{
    struct problem problem;
    if (options_answer(options, stdout))
        return EXIT_SUCCESS;
    if (log_open(options->log, options->log_format, options->log_level, &problem) != STATUS_OK)
        return fail(EXIT_FAILURE, &problem);
    for (size_t i = 0; i < options->warning_count; i++)
        log_warning("configuration", LOG_TEXT("what", options->warnings[i]));
    return server_run(options);
}

int main(int argc, char **argv)
{
    struct options options;
    struct problem problem;
    struct options_input input = {argc, argv, environ, OPTIONS_CONFIG_FILE};
    json_object_seed(0); /* before any thread: its first use is not thread-safe */
    if (options_load(&options, &input, &problem) != STATUS_OK)
        return fail(EXIT_USAGE, &problem);
    int code = run(&options);
    options_fini(&options);
    return code;
}
