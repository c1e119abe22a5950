/* jobs.c - commands that list, explain and change jobs: one job by its name, or all jobs that match a filter;
 * and the command workflows. */
#include <stdio.h>
#include <string.h>

#include "cli/call.h"
#include "cli/commands.h"
#include "cli/output.h"

/* ---- lists ---- */

/* Returns the option that selects jobs of this state by the time of their end, or ARGUMENT_COUNT if jobs of
 * this state have not ended. */
static enum argument end_of(const char *state)
{
    static const char *const ended[] = {"delivered", "cancelled", "any"};
    if (state && strcmp(state, "dead") == 0)
        return ARGUMENT_DIED_AFTER;
    for (size_t i = 0; state && i < sizeof ended / sizeof *ended; i++)
        if (strcmp(state, ended[i]) == 0)
            return ARGUMENT_ENDED_AFTER;
    return ARGUMENT_COUNT;
}

/* Replaces --since by the option of the API that has its meaning in this state. */
static bool use_since(struct call *call)
{
    enum argument argument = end_of(call->arguments.values[ARGUMENT_STATE]);
    if (!call->since[0])
        return true;
    if (argument == ARGUMENT_COUNT)
        problem_set(
            &call->problem,
            "--since needs a state of jobs that have ended: --state dead, delivered, cancelled or any");
    else
        call_use_since(call, argument);
    return argument != ARGUMENT_COUNT;
}

/* Jobs that have ended are listed with the newest first. Jobs that wait are listed in the order in which they
 * are due. */
bool jobs_run(struct call *call)
{
    const char **order = &call->arguments.values[ARGUMENT_ORDER];
    if (!*order && end_of(call->arguments.values[ARGUMENT_STATE]) != ARGUMENT_COUNT)
        *order = "newest";
    return use_since(call) && list_print(call, &listing_jobs);
}

bool dead_run(struct call *call)
{
    call->arguments.values[ARGUMENT_STATE] = "dead";
    return jobs_run(call);
}

/* ---- many jobs ---- */

struct sums {
    long long matched, done, skipped;
};

/* Checks that the action has --limit or --all, and a state. */
static bool is_bounded(struct call *call)
{
    const struct arguments *arguments = &call->arguments;
    call->is_bulk = true;
    if (!arguments->values[ARGUMENT_LIMIT] == !arguments->is_all)
        problem_set(&call->problem,
                    "expected --limit N for at most N jobs, or --all for all jobs that match the filter");
    else if (!arguments->values[ARGUMENT_STATE])
        problem_set(&call->problem, "expected --state STATE");
    else
        return true;
    return false;
}

static bool many_jobs_act(struct call *call, const char *method, const char *path)
{
    struct buffer target;
    struct sums sums = {0, 0, 0};
    json_t *page = NULL;
    if (!is_bounded(call))
        return false;
    buffer_init(&target, CALL_TARGET_MAX);
    do {
        call_make_target(call, &target, path, page ? call_text(page, "cursor") : NULL);
        /* the new due time of a reschedule */
        char time[TIMESTAMP_SIZE];
        const char *delay = call->arguments.values[ARGUMENT_DELAY];
        const char *due_at = call->arguments.values[ARGUMENT_DUE_AT];
        if (delay) {
            buffer_printf(&target, "&delay=");
            call_add_encoded(&target, delay);
        }
        if (due_at && when_parse(due_at, time)) {
            buffer_printf(&target, "&dueAt=");
            call_add_encoded(&target, time);
        }
        json_decref(page);
        page = remote_ask_json(call->remote, method, buffer_text(&target), NULL, &call->problem);
        sums.matched += call_number(page, "matched");
        sums.done += call_number(page, "done");
        sums.skipped += call_number(page, "skipped");
        call_took(call, call_number(page, "matched"));
    } while (page && call_text(page, "cursor") && call->left > 0);
    if (page || sums.matched > 0) {
        if (call->arguments.is_json)
            printf("{\"matched\": %lld, \"done\": %lld, \"skipped\": %lld}\n", sums.matched, sums.done,
                   sums.skipped);
        else if (call->arguments.is_dry_run)
            printf("%lld jobs match; run without --dry-run to act on them\n", sums.matched);
        else if (sums.skipped)
            printf("%lld of %lld jobs done; %lld skipped because they have changed\n", sums.done,
                   sums.matched, sums.skipped);
        else
            printf("%lld of %lld jobs done\n", sums.done, sums.matched);
    }
    json_decref(page);
    buffer_fini(&target);
    return page;
}

static bool names_state(struct call *call)
{
    if (!call->arguments.values[ARGUMENT_STATE])
        problem_set(&call->problem,
                    "expected a job as TOPIC/ID, or several jobs as --topic TOPIC --state STATE");
    return call->arguments.values[ARGUMENT_STATE];
}

/* ---- one job ---- */

enum { WHY_MAX = 64 * 1024 }; /* bytes of a sentence of GET .../why in the words of the shell */

static bool ask_job(struct call *call, const char *method, const char *suffix, const char *member)
{
    struct buffer target;
    buffer_init(&target, CALL_TARGET_MAX);
    bool is_made = ask_make_job_target(&target, call, suffix);
    if (call->arguments.values[ARGUMENT_GROUP]) {
        buffer_append(&target, SLICE("?group="));
        call_add_encoded(&target, call->arguments.values[ARGUMENT_GROUP]);
    }
    bool is_done = is_made && ask(call, method, buffer_text(&target), NULL, member);
    buffer_fini(&target);
    return is_done;
}

/* Makes the job due now that the command names. */
static bool run_job(struct call *call, const char *suffix)
{
    struct buffer target;
    json_t *job = NULL;
    buffer_init(&target, CALL_TARGET_MAX);
    if (ask_make_job_target(&target, call, suffix))
        job = remote_ask_json(call->remote, "POST", buffer_text(&target), NULL, &call->problem);
    if (job && call->arguments.is_json)
        call_print_answer(call);
    else if (job)
        call_print_job(job, "");
    json_decref(job);
    buffer_fini(&target);
    return job;
}

bool show_run(struct call *call)
{
    return ask_job(call, "GET", "", NULL);
}

bool attempts_run(struct call *call)
{
    struct listing listing = listing_attempts;
    struct buffer target;
    buffer_init(&target, CALL_TARGET_MAX);
    bool is_done = ask_make_job_target(&target, call, "/attempts");
    listing.path = buffer_text(&target);
    is_done = is_done && list_print(call, &listing);
    buffer_fini(&target);
    return is_done;
}

/* ---- why ---- */

/* The API's sentences name requests. This table has the commands that take their place. In words, %t is the
 * topic, %j is TOPIC/ID, and %1 is the text between from and to. NULL as to: there is no such text. A
 * sentence of a later version that is not in the table is printed as it is. */
static const struct {
    const char *from, *to, *words;
} why_words[] = {
    {"To run it again, first PATCH its expiresAt, then POST .../run.", NULL,
     "To run it again, remove it (duepost cancel %j), and schedule it with a later --ttl (duepost schedule "
     "%j)."},
    {"first set a url of the job or of its topic, then POST .../run.", NULL,
     "first set a url of its topic (duepost set %t url=URL), then use duepost run %j."},
    {"POST .../run alone would be refused again: first PATCH its url, or have the operator allow the address "
     "(--allow-target).",
     NULL,
     "duepost run alone would be refused again: first the operator must allow the address (--allow-target of "
     "the server). Then use duepost run %j."},
    {"POST .../run cannot help: this version cannot read its record. DELETE it, or PUT the job again.", NULL,
     "duepost run cannot help: this version cannot read its record. duepost cancel %j removes it."},
    {"POST .../run", NULL, "duepost run %j"},
    {"PUT /topics/", " replaces them, DELETE resets them.", "duepost topics %t --remove removes them."},
    {"PATCH /topics/", " with a url, or with {\"delivery\":\"pull\"}, resumes",
     "duepost set %t url=URL, or delivery=pull, resumes"},
    {"PATCH /topics/", " with {\"paused\":null} resumes it.", "duepost resume %t resumes it."},
    {"PATCH /topics/", " with {\"paused\":null}.", "duepost resume %t."},
    {"PATCH /topics/", " changes them.", "duepost set %t windows=JSON changes them, windows= removes them."},
    {"PATCH .../keys/", " with {\"paused\":null} resumes it.", "duepost keys %t %1 resume resumes it."},
    {"PATCH .../keys/", " with a higher maxInFlight or rate lets more begin.",
     "duepost keys %t %1 with a higher maxInFlight=N or rate=100/1m lets more begin."},
    {"PATCH /limits/", " with {\"paused\":null} resumes it.", "duepost limits %1 resume resumes it."},
    {"PATCH /limits/", " with a higher maxInFlight or rate lets more begin.",
     "duepost limits %1 with a higher maxInFlight=N or rate=100/1m lets more begin."},
    {"GET .../", "/why says what", "duepost why %t/%1 says what"},
    {"A higher maxInFlight of the topic, or a higher --max-in-flight-topic, lets more attempts begin.", NULL,
     "A higher limit lets more attempts begin: duepost set %t maxInFlight=N, or --max-in-flight-topic of the "
     "server."},
    {"A higher rate of the topic lets more attempts begin.", NULL,
     "A higher rate lets more attempts begin, such as duepost set %t rate=100/1m."},
    {"POST /receivers/", "/close", "duepost close %1"},
    {": POST /topics/", "/lease.", ", such as duepost work %t -- COMMAND"},
};

/* Appends a word as a shell reads it: in quotes if it needs them. */
static void append_shell_word(struct buffer *text, struct slice topic, struct slice id)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-:@%+,/=";
    bool is_plain = true;
    for (size_t i = 0; i < id.size; i++)
        is_plain = is_plain && memchr(plain, id.data[i], sizeof plain - 1);
    buffer_printf(text, "%s%.*s%s", is_plain ? "" : "'", SLICE_ARG(topic), topic.size && id.size ? "/" : "");
    for (size_t i = 0; i < id.size; i++)
        if (id.data[i] == '\'')
            buffer_append(text, SLICE("'\\''"));
        else
            buffer_append_byte(text, id.data[i]);
    buffer_append(text, slice_of(is_plain ? "" : "'"));
}

static void append_words(struct buffer *text, const char *words, struct slice topic, struct slice id,
                         struct slice between)
{
    static const struct slice none = {"", 0};
    for (; *words; words++) {
        bool is_place = words[0] == '%';
        words += is_place;
        if (!is_place)
            buffer_append_byte(text, *words);
        else if (strncmp(words, "t/%1", 4) == 0)
            append_shell_word(text, topic, between), words += 3;
        else if (*words == 'j')
            append_shell_word(text, topic, id);
        else
            append_shell_word(text, none, *words == 't' ? topic : between);
    }
}

/* Replaces the requests of a sentence by commands. */
static void in_shell_words(const char *detail, struct slice topic, struct slice id, struct buffer *text)
{
    while (*detail) {
        size_t i = 0, taken = 0;
        for (; i < sizeof why_words / sizeof *why_words && !taken; i++) {
            size_t size = strlen(why_words[i].from);
            const char *begin = detail + size, *to = why_words[i].to;
            const char *end = strncmp(detail, why_words[i].from, size) != 0 ? NULL
                              : to                                          ? strstr(begin, to)
                                                                            : begin;
            if (!end)
                continue;
            append_words(text, why_words[i].words, topic, id, slice_from(begin, (size_t)(end - begin)));
            taken = (size_t)(end - detail) + (to ? strlen(to) : 0);
        }
        if (!taken)
            buffer_append_byte(text, *detail);
        detail += taken ? taken : 1;
    }
}

/* Prints why the job waits, as a sentence, and the time at which the wait ends, if the answer has this time.
 */
bool why_run(struct call *call)
{
    struct buffer target;
    json_t *answer = NULL;
    buffer_init(&target, CALL_TARGET_MAX);
    if (ask_make_job_target(&target, call, "/why"))
        answer = remote_ask_json(call->remote, "GET", buffer_text(&target), NULL, &call->problem);
    buffer_fini(&target);
    if (answer && (call->arguments.is_json || !call_text(answer, "detail"))) {
        call_print_answer(call);
    } else if (answer) {
        char span[WHEN_SPAN_SIZE];
        const char *until = call_text(answer, "until");
        const char *topic = call_text(answer, "topic"), *id = call_text(answer, "jobId");
        struct buffer text;
        buffer_init(&text, WHY_MAX);
        in_shell_words(call_text(answer, "detail"), slice_of(topic ? topic : ""), slice_of(id ? id : ""),
                       &text);
        table_print_line(stdout, "%s\n", buffer_text(&text));
        buffer_fini(&text);
        if (until && when_span(until, span))
            table_print_line(stdout, "The wait ends %s, at %s.\n", span, until);
    }
    json_decref(answer);
    return answer;
}

/* ---- one job, or many jobs ---- */

/* Some commands have two forms: for one job, and for all jobs that match a filter. Refuses the options of one
 * form in a command of the other form: otherwise the command would ignore these options, and change other
 * jobs than the user means. */
static bool is_one_form(struct call *call)
{
    const struct arguments *arguments = &call->arguments;
    const char *bulk = arguments_bulk_flag(arguments);
    if (arguments->word && bulk)
        problem_set(&call->problem, "%s cannot be combined with TOPIC/ID; it is for several jobs", bulk);
    else if (!arguments->word && (arguments->values[ARGUMENT_GROUP] || arguments->is_resend))
        problem_set(&call->problem, "%s needs TOPIC/ID", arguments->is_resend ? "--resend" : "--group");
    else
        return true;
    return false;
}

bool run_run(struct call *call)
{
    const char *suffix = call->arguments.is_resend ? "/run?resend=true" : "/run";
    if (!is_one_form(call) || !use_since(call))
        return false;
    return call->arguments.word ? run_job(call, suffix)
                                : names_state(call) && many_jobs_act(call, "POST", "/jobs/run");
}

bool cancel_run(struct call *call)
{
    if (!is_one_form(call) || !use_since(call))
        return false;
    return call->arguments.word ? ask_job(call, "DELETE", "", "state")
                                : names_state(call) && many_jobs_act(call, "DELETE", "/jobs");
}

bool reschedule_run(struct call *call)
{
    const struct arguments *arguments = &call->arguments;
    if (!use_since(call))
        return false;
    if (!arguments->values[ARGUMENT_DELAY] == !arguments->values[ARGUMENT_DUE_AT]) {
        problem_set(&call->problem, "expected --delay DURATION or --due-at TIME");
        return false;
    }
    return many_jobs_act(call, "POST", "/jobs/reschedule");
}

bool redrive_run(struct call *call)
{
    call_use_since(call, ARGUMENT_DIED_AFTER);
    call->arguments.values[ARGUMENT_STATE] = "dead";
    return many_jobs_act(call, "POST", "/jobs/redrive");
}

/* ---- workflows ---- */

enum { NAME_SIZE = 512 };

/* Adds TOPIC/ID, the form that other commands take. */
static void add_job(struct table *table, const json_t *job)
{
    char name[NAME_SIZE];
    const char *topic = call_text(job, "topic"), *id = call_text(job, "jobId");
    snprintf(name, sizeof name, "%s/%s", topic ? topic : "", id ? id : "");
    table_add(table, name);
}

static void print_head(const json_t *workflow)
{
    char span[WHEN_SPAN_SIZE] = "";
    const char *ended = call_text(workflow, "endedAt"),
               *time = ended ? ended : call_text(workflow, "createdAt");
    const char *url = call_text(workflow, "url");
    const json_t *failed_by = json_object_get(workflow, "failedBy"),
                 *parent = json_object_get(workflow, "parent"), *labels = json_object_get(workflow, "labels");
    table_print_line(stdout, "workflow  %s/%s\n", call_text(workflow, "topic"),
                     call_text(workflow, "workflowId"));
    if (time && when_span(time, span))
        table_print_line(stdout, "state     %s, %s %s, %s\n", call_text(workflow, "state"),
                         ended ? "at" : "since", time, span);
    if (url)
        table_print_line(stdout, "url       %s\n", url);
    for (size_t i = 0; i < json_array_size(labels); i++)
        table_print_line(stdout, "label     %s\n", json_string_value(json_array_get(labels, i)));
    if (failed_by)
        table_print_line(stdout, "failed by %s/%s\n", call_text(failed_by, "topic"),
                         call_text(failed_by, "jobId"));
    if (parent)
        table_print_line(stdout, "parent    %s/%s\n", call_text(parent, "topic"),
                         call_text(parent, "workflowId"));
}

static void print_open_jobs(const json_t *workflow)
{
    static const char *const titles[] = {"OPEN JOB", "ROLE", "ELEMENT"};
    const json_t *jobs = json_object_get(workflow, "jobs");
    struct table table;
    size_t i;
    json_t *job;
    if (json_array_size(jobs) == 0)
        return;
    table_init(&table, sizeof titles / sizeof *titles, titles);
    json_array_foreach(jobs, i, job)
    {
        add_job(&table, job);
        table_add(&table, call_text(job, "role"));
        if (json_object_get(job, "element"))
            table_add_number(&table, call_number(job, "element"));
        else
            table_add(&table, NULL);
    }
    puts("");
    table_print(&table);
    table_fini(&table);
    puts("duepost why TOPIC/ID says what a job waits for.");
}

static bool show_workflow(struct call *call)
{
    const struct arguments *arguments = &call->arguments;
    const char *flag = arguments_bulk_flag(arguments);
    struct buffer target;
    json_t *workflow = NULL;
    if (flag) {
        problem_set(&call->problem, "%s cannot be combined with TOPIC/ID", flag);
        return false;
    }
    buffer_init(&target, CALL_TARGET_MAX);
    buffer_printf(&target, "/workflows/");
    if (name_add_id(&target, call, arguments->word, "workflow"))
        workflow = remote_ask_json(call->remote, "GET", buffer_text(&target), NULL, &call->problem);
    buffer_fini(&target);
    if (workflow && arguments->is_json) {
        call_print_answer(call);
    } else if (workflow) {
        print_head(workflow);
        /* Prints the elements in their order, because each one follows from those before it. */
        static const char *const titles[] = {"ELEMENT", "AT", "KIND", "BYTES", "JOB"};
        struct table table;
        size_t i;
        json_t *element;
        table_init(&table, sizeof titles / sizeof *titles, titles);
        json_array_foreach(json_object_get(workflow, "elements"), i, element)
        {
            table_add_number(&table, (long long)i + 1);
            table_add(&table, call_text(element, "at"));
            table_add(&table, call_text(element, "kind"));
            table_add_number(&table, call_number(element, "bytes"));
            add_job(&table, element);
        }
        puts("");
        table_print(&table);
        table_fini(&table);
        print_open_jobs(workflow);
    }
    json_decref(workflow);
    return workflow;
}

bool workflows_run(struct call *call)
{
    return call->arguments.word ? show_workflow(call) : list_print(call, &listing_workflows);
}
