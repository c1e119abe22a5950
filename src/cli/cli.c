#include "cli/cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/ask.h"
#include "cli/bearer.h"
#include "cli/list.h"
#include "cli/many_jobs.h"
#include "cli/new_token.h"
#include "cli/one_job.h"
#include "cli/sign_test.h"
#include "cli/topic.h"

enum { EXIT_USAGE = 2 };

/* ---- lists ---- */

static bool jobs_run(struct call *call)
{
    return list_print(call, &form_jobs);
}

static bool dead_run(struct call *call)
{
    call->arguments.values[ARGUMENT_STATE] = "dead";
    return list_print(call, &form_jobs);
}

static bool topics_run(struct call *call)
{
    return list_print(call, &form_topics);
}

static bool receivers_run(struct call *call)
{
    return list_print(call, &form_receivers);
}

/* ---- which jobs, which receiver ---- */

static bool cancel_run(struct call *call)
{
    return call->arguments.word ? one_job_cancel(call) : many_jobs_cancel(call);
}

static bool close_run(struct call *call)
{
    struct buffer target;
    if (!call->arguments.word) {
        problem_set(&call->problem, "which receiver? Name it as host:port");
        return false;
    }
    buffer_init(&target, CALL_TARGET_MAX);
    buffer_printf(&target, "/receivers/");
    call_add_encoded(&target, call->arguments.word);
    buffer_printf(&target, "/close");
    bool is_done = ask(call, "POST", buffer_text(&target), NULL, "state");
    buffer_fini(&target);
    return is_done;
}

/* ---- without a server ---- */

static bool token_run(struct call *call)
{
    return new_token_print(call->word_count, call->words, &call->problem);
}

/* It may reach the receiver, and be refused there. */
static bool sign_run(struct call *call)
{
    call->is_refused = call->word_count == 2;
    return sign_test_run(call->word_count, call->words, &call->problem);
}

/* ---- which ---- */

static bool help_run(struct call *);

#define ANY_FILTER_HELP                                                                                      \
    "  --topic TOPIC         of this topic only\n"                                                           \
    "  --url-host HOST       whose url has this host, with or without its port\n"                            \
    "  --id-prefix TEXT      whose jobId begins with it\n"                                                   \
    "  --last-status 5xx     whose last attempt was answered so: 503, 5xx, or several with commas\n"         \
    "  --order newest        the latest time first\n"                                                        \
    "  --limit N             at most N in all\n"
#define DEAD_FILTER_HELP                                                                                     \
    ANY_FILTER_HELP                                                                                          \
    "  --reason WORD         that died of this, such as gone; or several with commas\n"                      \
    "  --died-after TIME     died then or later; TIME is RFC 3339, now, -1h or +15m\n"                       \
    "  --died-before TIME    died before that\n"
#define FILTER_HELP                                                                                          \
    DEAD_FILTER_HELP                                                                                         \
    "  --due-after TIME      delayed and ready ones: due then or later\n"                                    \
    "  --due-before TIME     due before that\n"

static const struct command {
    const char *name, *words, *help;
    bool (*run)(struct call *);
    int words_max;
    const char *options; /* a line each; NULL: none of its own */
} commands[] = {
    {"schedule", "TOPIC[/ID]", "schedules a job", one_job_schedule, 1,
     "  --url URL             where it is POSTed; not needed where the topic has a url\n"
     "  --delay 15m           how long from now; now when absent\n"
     "  --due-at TIME         when, instead of --delay: RFC 3339 or +15m\n"
     "  --body TEXT           JSON is sent byte for byte, anything else as text\n"
     "  --body-file FILE      the same from a file; - is standard input\n"
     "  --header 'NAME: VALUE'  a request header; may be repeated\n"
     "  --retry N --ttl 1h --timeout 10s\n"},
    {"jobs", "[--state STATE] [FILTER]", "lists jobs: delayed, ready, leased and dead ones", jobs_run, 0,
     "  --state STATE         delayed, ready, leased or dead\n" FILTER_HELP},
    {"dead", "[FILTER]", "lists dead jobs", dead_run, 0, DEAD_FILTER_HELP},
    {"show", "TOPIC/ID", "prints a job with all that is known of it", one_job_show, 1, NULL},
    {"why", "TOPIC/ID", "says why a job is not delivered yet, and when that ends", one_job_why, 1, NULL},
    {"attempts", "TOPIC/ID", "lists the last attempts of a job", one_job_attempts, 1, NULL},
    {"run", "TOPIC/ID", "makes a job due now; a dead one starts over", one_job_run, 1, NULL},
    {"cancel", "TOPIC/ID | --state STATE FILTER", "cancels a job, or all that a filter finds", cancel_run, 1,
     "  --state STATE         delayed, ready, leased or dead\n" FILTER_HELP
     "  --all                 of all topics\n"
     "  --dry-run             only counts them\n"},
    {"redrive", "--topic TOPIC|--all [FILTER]", "runs dead jobs again", many_jobs_redrive, 0,
     DEAD_FILTER_HELP "  --all                 of all topics\n"
                      "  --per-second N        N of them become due each second\n"
                      "  --dry-run             only counts them\n"},
    {"topics", "", "lists topics, their jobs and their settings", topics_run, 0,
     "  --limit N             at most N\n"},
    {"set", "TOPIC NAME=VALUE...", "changes settings of a topic", topic_set, ARGUMENT_WORDS_MAX,
     "  NAME=VALUE            such as maxInFlight=10 rate=100/1m url=https://shop.example/hook\n"
     "  NAME=                 removes the setting\n"},
    {"pause", "TOPIC", "begins no attempt of a topic any more", topic_pause, 1, NULL},
    {"resume", "TOPIC", "lets a paused topic go on", topic_resume, 1, NULL},
    {"receivers", "", "lists receivers that are or recently were impaired", receivers_run, 0, NULL},
    {"close", "HOST:PORT", "closes a receiver's circuit breaker: its jobs go on", close_run, 1, NULL},
    {"tail", "[TOPIC]", "prints each second which topics have changed", topic_tail, 1, NULL},
    {"token", "new NAME FIELD...", "makes a token, and its line for the file of --tokens", token_run, 0,
     NULL},
    {"sign-test", "URL FILE", "sends a sample, signed with the keys of FILE", sign_run, 0, NULL},
    {"help", "[COMMAND]", "prints this, or the options of a command", help_run, 0, NULL},
};

enum { COMMANDS = sizeof commands / sizeof *commands };

static const struct command *find(const char *name)
{
    for (size_t i = 0; i < COMMANDS; i++)
        if (strcmp(commands[i].name, name) == 0)
            return &commands[i];
    return NULL;
}

/* Reads its words itself, and asks no server. */
static bool is_local(const struct command *command)
{
    return command->run == token_run || command->run == sign_run || command->run == help_run;
}

bool cli_is_meant(int argc, char *const *argv)
{
    return argc > 1 && argv[1][0] != '-';
}

static bool fail(const char *name, const struct problem *problem)
{
    fprintf(stderr, "duepost %s: %s\n", name, problem->text);
    return false;
}

static void print_help(const struct command *command)
{
    printf("Usage: duepost %s %s\nThe command %s.\n", command->name, command->words, command->help);
    if (command->options)
        printf("\n%s", command->options);
    puts("\n  --json                prints JSON\n"
         "  --server URL          DUEPOST_SERVER, else http://127.0.0.1:7700\n"
         "  --token-file FILE     DUEPOST_TOKEN, else no token\n"
         "  --ca-file FILE        which certificates https trusts");
}

/* Asks a server. */
static int run_remote(const struct command *command, struct call *call)
{
    struct buffer authorization;
    struct remote_options options = {.server = call->arguments.values[ARGUMENT_SERVER],
                                     .ca_file = call->arguments.values[ARGUMENT_CA_FILE]};
    int code = EXIT_USAGE;
    buffer_init(&authorization, (size_t)2 * BEARER_MAX);
    if (!call_begin(call) || bearer_read(call->arguments.values[ARGUMENT_TOKEN_FILE], &authorization,
                                         &call->problem) != STATUS_OK) {
        fail(command->name, &call->problem);
    } else {
        options.authorization = buffer_text(&authorization);
        call->remote = remote_new(&options);
        code = command->run(call) || fail(command->name, &call->problem) ? EXIT_SUCCESS : EXIT_FAILURE;
        remote_free(call->remote);
    }
    buffer_fini(&authorization);
    return code;
}

static bool wants_help(const struct call *call)
{
    const char *word = call->word_count == 1 ? call->words[0] : "";
    return strcmp(word, "-h") == 0 || strcmp(word, "--help") == 0;
}

int cli_run(int argc, char *const *argv)
{
    const struct command *command = find(argv[1]);
    struct call call = {.word_count = argc - 2, .words = argv + 2};
    if (!command) {
        fprintf(stderr, "duepost: there is no command %s; duepost help lists all\n", argv[1]);
        return EXIT_USAGE;
    }
    if (wants_help(&call)) {
        print_help(command);
        return EXIT_SUCCESS;
    }
    if (is_local(command))
        return command->run(&call) || fail(command->name, &call.problem) ? EXIT_SUCCESS
               : call.is_refused                                         ? EXIT_FAILURE
                                                                         : EXIT_USAGE;
    if (arguments_parse(argc - 2, argv + 2, command->words_max, &call.arguments, &call.problem) !=
        STATUS_OK) {
        fail(command->name, &call.problem);
        return EXIT_USAGE;
    }
    if (call.arguments.wants_help) {
        print_help(command);
        return EXIT_SUCCESS;
    }
    return run_remote(command, &call);
}

static bool help_run(struct call *call)
{
    const struct command *one = call->word_count == 1 ? find(call->words[0]) : NULL;
    if (one) {
        print_help(one);
        return true;
    }
    puts(
        "Usage: duepost COMMAND ...\n"
        "Asks a running server (--server URL or DUEPOST_SERVER; http://127.0.0.1:7700); --json prints JSON.\n"
        "The token is DUEPOST_TOKEN or the line of --token-file FILE; --ca-file FILE is what https trusts.\n"
        "duepost COMMAND -h prints the options of a command; duepost --help those of the server.\n");
    for (size_t i = 0; i < COMMANDS; i++)
        printf("  %-10s %-32s %s\n", commands[i].name, commands[i].words, commands[i].help);
    return true;
}
