#include "cli/cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/bearer.h"
#include "cli/list.h"
#include "cli/new_token.h"
#include "cli/sign_test.h"

enum { EXIT_USAGE = 2, TAIL_S = 1 };

/* ---- targets ---- */

/* "/jobs/topic/jobId" and suffix; false: the word is no topic/jobId. */
static bool make_job_target(struct buffer *target, struct call *call, const char *suffix)
{
    const char *word = call->arguments.word;
    const char *slash = word ? strchr(word, '/') : NULL;
    if (!slash || slash == word || !slash[1] || strchr(slash + 1, '/')) {
        problem_set(&call->problem, "which job? Name it as topic/jobId");
        return false;
    }
    buffer_printf(target, "/jobs/%.*s/", (int)(slash - word), word);
    call_add_encoded(target, slash + 1);
    buffer_printf(target, "%s", suffix);
    return true;
}

static bool make_topic_target(struct buffer *target, struct call *call)
{
    if (!call->arguments.word) {
        problem_set(&call->problem, "which topic?");
        return false;
    }
    buffer_printf(target, "/topics/");
    call_add_encoded(target, call->arguments.word);
    return true;
}

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

/* ---- one job, one topic, one receiver ---- */

/* Asks and prints; for people the member of the answer with this name, or all of it. */
static bool ask(struct call *call, const char *method, const char *target, const char *body,
                const char *member)
{
    json_t *answer = remote_ask_json(call->remote, method, target, body, &call->problem);
    const char *text = member ? call_text(answer, member) : NULL;
    if (!answer)
        return false;
    if (text && !call->arguments.is_json)
        puts(text);
    else
        call_print_json(answer);
    json_decref(answer);
    return true;
}

static bool ask_job(struct call *call, const char *method, const char *suffix, const char *member)
{
    struct buffer target;
    buffer_init(&target, CALL_TARGET_MAX);
    bool is_done =
        make_job_target(&target, call, suffix) && ask(call, method, buffer_text(&target), NULL, member);
    buffer_fini(&target);
    return is_done;
}

static bool ask_topic(struct call *call, const char *method, const char *body)
{
    struct buffer target;
    buffer_init(&target, CALL_TARGET_MAX);
    bool is_done = make_topic_target(&target, call) && ask(call, method, buffer_text(&target), body, NULL);
    buffer_fini(&target);
    return is_done;
}

static bool show_run(struct call *call)
{
    return ask_job(call, "GET", "", NULL);
}

static bool why_run(struct call *call)
{
    return ask_job(call, "GET", "/why", "detail");
}

static bool attempts_run(struct call *call)
{
    struct form form = form_attempts;
    struct buffer target;
    buffer_init(&target, CALL_TARGET_MAX);
    bool is_done = make_job_target(&target, call, "/attempts");
    form.path = buffer_text(&target);
    is_done = is_done && list_print(call, &form);
    buffer_fini(&target);
    return is_done;
}

static bool run_run(struct call *call)
{
    return ask_job(call, "POST", "/run", "dueAt");
}

static bool cancel_run(struct call *call)
{
    return ask_job(call, "DELETE", "", "state");
}

static bool pause_run(struct call *call)
{
    return ask_topic(call, "PATCH", "{\"paused\":true}");
}

static bool resume_run(struct call *call)
{
    return ask_topic(call, "PATCH", "{\"paused\":null}");
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

/* ---- many ---- */

/* Page after page, until nothing is found any more. */
static bool act_on_all(struct call *call, const char *method, const char *path)
{
    struct buffer target;
    json_t *page = NULL;
    long long matched = 0, done = 0;
    buffer_init(&target, CALL_TARGET_MAX);
    do {
        call_make_target(call, &target, path, page ? call_text(page, "cursor") : NULL);
        json_decref(page);
        page = remote_ask_json(call->remote, method, buffer_text(&target), NULL, &call->problem);
        matched += call_number(page, "matched");
        done += call_number(page, "done");
    } while (page && call_text(page, "cursor"));
    bool is_done = page;
    if (call->arguments.is_json)
        printf("{\"matched\": %lld, \"done\": %lld}\n", matched, done);
    else
        printf("%lld of %lld done\n", done, matched);
    json_decref(page);
    buffer_fini(&target);
    return is_done;
}

static bool redrive_run(struct call *call)
{
    if (!call->arguments.values[ARGUMENT_TOPIC] && !call->arguments.is_all) {
        problem_set(&call->problem, "of which --topic? --all is for every dead job");
        return false;
    }
    call->arguments.values[ARGUMENT_STATE] = "dead";
    return act_on_all(call, "POST", "/jobs/redrive");
}

/* ---- tail: what changes, each second ---- */

static bool is_new(const json_t *before, const char *name, const json_t *topic)
{
    return !json_equal(json_object_get(before, name), topic);
}

static void print_changes(const struct call *call, const json_t *before, const json_t *now)
{
    const char *name;
    json_t *topic;
    json_object_foreach((json_t *)(uintptr_t)now, name, topic)
    {
        const json_t *jobs = json_object_get(topic, "jobs");
        const char *held = call_text(topic, "heldBy");
        if (!is_new(before, name, topic))
            continue;
        if (call->arguments.is_json) {
            char *line = json_dumps(topic, JSON_COMPACT);
            puts(line);
            free(line);
        } else {
            printf("%s  delayed %lld  ready %lld  leased %lld  dead %lld%s%s\n", name,
                   call_number(jobs, "delayed"), call_number(jobs, "ready"), call_number(jobs, "leased"),
                   call_number(jobs, "dead"), held ? "  held by " : "", held ? held : "");
        }
    }
    fflush(stdout);
}

/* Topics by name; NULL after an error. */
static json_t *read_topics(struct call *call, struct buffer *target)
{
    json_t *all = json_object(), *page = NULL, *next, *topic;
    size_t i;
    while ((next = list_next_page(call, &form_topics, target, page))) {
        json_decref(page);
        page = next;
        json_array_foreach(json_object_get(page, "topics"), i, topic)
        {
            if (!call->arguments.word || strcmp(call_text(topic, "topic"), call->arguments.word) == 0)
                json_object_set(all, call_text(topic, "topic"), topic);
        }
    }
    json_decref(page);
    if (call->problem.text[0]) {
        json_decref(all);
        return NULL;
    }
    return all;
}

static bool tail_run(struct call *call)
{
    struct buffer target;
    json_t *before = json_object(), *now;
    buffer_init(&target, CALL_TARGET_MAX);
    while ((now = read_topics(call, &target))) {
        print_changes(call, before, now);
        json_decref(before);
        before = now;
        sleep(TAIL_S);
    }
    json_decref(before);
    buffer_fini(&target);
    return false;
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

static const struct command {
    const char *name, *words, *help;
    bool (*run)(struct call *);
} commands[] = {
    {"jobs", "--state STATE [FILTER]", "lists jobs: delayed, ready, leased or dead", jobs_run},
    {"dead", "[FILTER]", "lists dead jobs", dead_run},
    {"show", "TOPIC/ID", "a job with all that is known of it", show_run},
    {"why", "TOPIC/ID", "why a job is not delivered yet", why_run},
    {"attempts", "TOPIC/ID", "how the last attempts of a job went", attempts_run},
    {"run", "TOPIC/ID", "makes a job due now; a dead one starts over", run_run},
    {"cancel", "TOPIC/ID", "cancels a job", cancel_run},
    {"redrive", "--topic TOPIC|--all [FILTER]", "runs dead jobs again; --per-second N spreads them",
     redrive_run},
    {"topics", "", "lists topics, what they hold and their settings", topics_run},
    {"pause", "TOPIC", "lets no attempt of a topic begin", pause_run},
    {"resume", "TOPIC", "lets a paused topic go on", resume_run},
    {"receivers", "", "lists receivers that are, or lately were, not well", receivers_run},
    {"close", "HOST:PORT", "closes a receiver's breaker: its jobs go on", close_run},
    {"tail", "[TOPIC]", "prints each second which topics have changed", tail_run},
    {"token", "new NAME FIELD...", "makes a token, and its line for the file of --tokens", token_run},
    {"sign-test", "URL FILE", "sends a sample, signed with the keys of FILE", sign_run},
    {"help", "", "prints this", help_run},
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

/* Asks a server. */
static int run_remote(const struct command *command, struct call *call)
{
    struct buffer authorization;
    struct remote_options options = {.server = call->arguments.values[ARGUMENT_SERVER],
                                     .ca_file = call->arguments.values[ARGUMENT_CA_FILE]};
    int code = EXIT_USAGE;
    buffer_init(&authorization, (size_t)2 * BEARER_MAX);
    if (bearer_read(call->arguments.values[ARGUMENT_TOKEN_FILE], &authorization, &call->problem) !=
        STATUS_OK) {
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

int cli_run(int argc, char *const *argv)
{
    const struct command *command = find(argv[1]);
    struct call call = {.word_count = argc - 2, .words = argv + 2};
    if (!command) {
        fprintf(stderr, "duepost: there is no command %s; duepost help lists all\n", argv[1]);
        return EXIT_USAGE;
    }
    if (is_local(command))
        return command->run(&call) || fail(command->name, &call.problem) ? EXIT_SUCCESS
               : call.is_refused                                         ? EXIT_FAILURE
                                                                         : EXIT_USAGE;
    if (arguments_parse(argc - 2, argv + 2, &call.arguments, &call.problem) != STATUS_OK) {
        fail(command->name, &call.problem);
        return EXIT_USAGE;
    }
    return run_remote(command, &call);
}

static bool help_run(struct call *call)
{
    (void)call;
    puts(
        "Usage: duepost COMMAND ...\n"
        "Asks a running server (--server URL or DUEPOST_SERVER; http://127.0.0.1:7700); --json prints JSON.\n"
        "The token is DUEPOST_TOKEN or the line of --token-file FILE; --ca-file FILE is what https "
        "trusts.\n");
    for (size_t i = 0; i < COMMANDS; i++)
        printf("  %-11s%-30s%s\n", commands[i].name, commands[i].words, commands[i].help);
    puts("\nFILTER: --topic TOPIC --due-after TIME --due-before TIME --url-host HOST --limit N");
    return true;
}
