#include "server/check/check.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/memory.h"
#include "server/check/check_private.h"
#include "server/options/options.h"

/* The options that only this command has. */
struct check_choice {
    bool is_json;
    const char *server; /* NULL: no running server is asked */
    const char *source; /* database of an outbox; NULL: that of the options */
};

/* Reads an option with a value, "--name value" or "--name=value". Returns whether argv[*at] is this option.
 */
static bool take_value(const struct options_input *input, int *at, const char *name, const char **value)
{
    const char *word = input->argv[*at];
    size_t size = strlen(name);
    if (*at == 0 || strncmp(word, name, size) != 0 || (word[size] != '=' && word[size] != '\0'))
        return false;
    if (word[size] == '=')
        *value = word + size + 1;
    else
        *value = *at + 1 < input->argc ? input->argv[++*at] : "";
    return true;
}

/* Removes these options from the arguments. */
static struct check_choice take_choice(struct options_input *input, char **argv)
{
    struct check_choice choice = {.is_json = false};
    int count = 0;
    for (int i = 0; i < input->argc; i++) {
        if (i > 0 && strcmp(input->argv[i], "--json") == 0)
            choice.is_json = true;
        else if (!take_value(input, &i, "--server", &choice.server) &&
                 !take_value(input, &i, "--source", &choice.source))
            argv[count++] = input->argv[i];
    }
    *input = (struct options_input){count, argv, input->environment, input->config_file};
    return choice;
}

static void check_all(struct check_report *report, struct options *options, const struct check_choice *choice)
{
    for (size_t i = 0; i < options->warning_count; i++)
        check_add(report, CHECK_WARNING, "options", "%s", options->warnings[i]);
    if (options->warning_count == 0)
        check_add(report, CHECK_OK, "options", "%s",
                  options->config ? options->config : "no configuration file");
    seal_use(options->encryption_keys, options->encrypts_labels);
    check_tokens(report, options);
    check_targets(report, options);
    check_ports(report, options);
    check_certificate(report, options);
    if (choice->server)
        check_proxy(report, choice->server);
    check_files(report, options);
    check_names(report);
    check_time_zones(report);
    check_history(report, options);
    check_outbox(report, choice->source ? choice->source : options->outbox_url);
    check_redis(report, options);
}

int check_run(struct options_input *input)
{
    char **argv = NEW_ARRAY(char *, (size_t)input->argc + 1);
    struct check_choice choice = take_choice(input, argv);
    struct options *options = NEW(struct options);
    struct check_report report;
    struct problem problem;
    bool is_ok = true;
    log_set_level(
        LOG_LEVEL_AUDIT); /* log nothing, because the log would only repeat the lines that check prints */
    if (options_load(options, input, &problem) != STATUS_OK) {
        check_report_begin(&report, choice.is_json);
        check_add(&report, CHECK_FAILURE, "options", "%s", problem.text);
        is_ok = check_report_end(&report);
    } else {
        if (!options_answer(options, stdout)) {
            check_report_begin(&report, choice.is_json);
            check_all(&report, options, &choice);
            is_ok = check_report_end(&report);
        }
        options_fini(options);
    }
    free(options);
    free(argv);
    return is_ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
