#include "cli/one_job.h"

#include <stdio.h>
#include <string.h>

#include "cli/ask.h"
#include "cli/list.h"
#include "cli/new_job.h"
#include "cli/table.h"
#include "cli/when.h"

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

bool one_job_show(struct call *call)
{
    return ask_job(call, "GET", "", NULL);
}

bool one_job_run(struct call *call)
{
    return ask_job(call, "POST", call->arguments.is_resend ? "/run?resend=true" : "/run", "dueAt");
}

bool one_job_cancel(struct call *call)
{
    return ask_job(call, "DELETE", "", "state");
}

bool one_job_attempts(struct call *call)
{
    struct form form = form_attempts;
    struct buffer target;
    buffer_init(&target, CALL_TARGET_MAX);
    bool is_done = ask_make_job_target(&target, call, "/attempts");
    form.path = buffer_text(&target);
    is_done = is_done && list_print(call, &form);
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
static void print_why(const json_t *answer)
{
    char span[WHEN_SPAN_SIZE];
    const char *until = call_text(answer, "until");
    const char *topic = call_text(answer, "topic"), *id = call_text(answer, "jobId");
    struct buffer text;
    buffer_init(&text, WHY_MAX);
    in_shell_words(call_text(answer, "detail"), slice_of(topic ? topic : ""), slice_of(id ? id : ""), &text);
    table_print_line(stdout, "%s\n", buffer_text(&text));
    buffer_fini(&text);
    if (until && when_span(until, span))
        table_print_line(stdout, "The wait ends %s, at %s.\n", span, until);
}

bool one_job_why(struct call *call)
{
    struct buffer target;
    json_t *answer = NULL;
    buffer_init(&target, CALL_TARGET_MAX);
    if (ask_make_job_target(&target, call, "/why"))
        answer = remote_ask_json(call->remote, "GET", buffer_text(&target), NULL, &call->problem);
    buffer_fini(&target);
    if (answer && (call->arguments.is_json || !call_text(answer, "detail")))
        call_print_answer(call);
    else if (answer)
        print_why(answer);
    json_decref(answer);
    return answer;
}

/* ---- schedule ---- */

static void add_times(struct json_writer *job, const struct call *call)
{
    char due[TIMESTAMP_SIZE];
    const char *due_at = call->arguments.values[ARGUMENT_DUE_AT];
    new_job_add_text(job, "dueAt", due_at && when_parse(due_at, due) ? due : NULL);
    new_job_add_seconds(job, call, "delay", ARGUMENT_DELAY);
}

/* Adds topic and jobId from the word TOPIC or TOPIC/ID. */
static bool add_name(struct json_writer *job, struct call *call)
{
    struct slice topic, id;
    if (!call->arguments.word) {
        problem_set(&call->problem, "expected TOPIC or TOPIC/ID");
        return false;
    }
    bool has_id = slice_cut(slice_of(call->arguments.word), '/', &topic, &id);
    json_add_text(job, "topic", topic);
    if (has_id)
        json_add_text(job, "jobId", id);
    return true;
}

static bool make_job(struct new_job *job, struct call *call)
{
    struct json_writer json = json_writer_to(&job->text);
    json_put_object(&json);
    if (!add_name(&json, call))
        return false;
    add_times(&json, call);
    if (!new_job_add_members(job, &json, call))
        return false;
    json_end_object(&json);
    return true;
}

static void print_scheduled(const json_t *answer)
{
    char span[WHEN_SPAN_SIZE] = "";
    const char *due = call_text(answer, "dueAt");
    if (due && when_span(due, span))
        table_print_line(stdout, "%s/%s is %s, due %s, at %s\n", call_text(answer, "topic"),
                         call_text(answer, "jobId"), call_text(answer, "state"), span, due);
    else
        table_print_line(stdout, "%s/%s is %s\n", call_text(answer, "topic"), call_text(answer, "jobId"),
                         call_text(answer, "state"));
}

bool one_job_schedule(struct call *call)
{
    struct new_job job;
    json_t *answer = NULL;
    new_job_init(&job);
    if (make_job(&job, call))
        answer = remote_ask_json(call->remote, "POST", "/jobs", buffer_text(&job.text), &call->problem);
    if (answer && call->arguments.is_json)
        call_print_answer(call);
    else if (answer)
        print_scheduled(answer);
    json_decref(answer);
    new_job_fini(&job);
    return answer;
}
