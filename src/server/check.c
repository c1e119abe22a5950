#include "server/check.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/memory.h"
#include "server/check_host.h"
#include "server/check_redis.h"
#include "server/options_print.h"

/* Removes --json from the arguments. Returns whether the arguments had it. */
static bool take_json(struct options_input *input, char **argv)
{
    int count = 0;
    for (int i = 0; i < input->argc; i++)
        if (i == 0 || strcmp(input->argv[i], "--json") != 0)
            argv[count++] = input->argv[i];
    bool is_there = count < input->argc;
    *input = (struct options_input){count, argv, input->environment, input->config_file};
    return is_there;
}

static void check_options(struct check_report *report, const struct options *options)
{
    for (size_t i = 0; i < options->warning_count; i++)
        check_add(report, CHECK_WARNING, "options", "%s", options->warnings[i]);
    if (options->warning_count == 0)
        check_add(report, CHECK_OK, "options", "%s",
                  options->config ? options->config : "no configuration file");
}

static void check_all(struct check_report *report, struct options *options)
{
    check_options(report, options);
    check_tokens(report, options);
    check_targets(report, options);
    check_ports(report, options);
    check_certificate(report, options);
    check_files(report, options);
    check_names(report);
    check_time_zones(report);
    check_history(report, options);
    check_redis(report, options);
}

int check_run(struct options_input *input)
{
    char **argv = NEW_ARRAY(char *, (size_t)input->argc + 1);
    bool is_json = take_json(input, argv);
    struct options *options = NEW(struct options);
    struct check_report report;
    struct problem problem;
    bool is_ok = true;
    log_set_level(
        LOG_LEVEL_AUDIT); /* log nothing, because the log would only repeat the lines that check prints */
    if (options_load(options, input, &problem) != STATUS_OK) {
        check_report_begin(&report, is_json);
        check_add(&report, CHECK_FAILURE, "options", "%s", problem.text);
        is_ok = check_report_end(&report);
    } else {
        if (!options_answer(options, stdout)) {
            check_report_begin(&report, is_json);
            check_all(&report, options);
            is_ok = check_report_end(&report);
        }
        options_fini(options);
    }
    free(options);
    free(argv);
    return is_ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
