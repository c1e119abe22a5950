#include "cli/worker/work.h"

#include <ctype.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/encoding.h"
#include "base/json_writer.h"
#include "base/memory.h"
#include "base/system.h"
#include "base/utf8.h"
#include "cli/call.h"
#include "cli/output.h"
#include "job/lease_text.h"

/* ---- the job as the server sent it ---- */

/* A job that this worker has leased, with the body and the environment for its command.
 *
 * The command gets the body on standard input, byte for byte as a receiver would get it, and the rest in its
 * environment:
 *
 *     DUEPOST_TOPIC  DUEPOST_JOB_ID  DUEPOST_ATTEMPT  DUEPOST_CREATED_AT  DUEPOST_DUE_AT
 *     DUEPOST_EXPIRES_AT              if the job expires
 *     DUEPOST_KEY                     if the job has a key
 *     DUEPOST_PRIORITY                0 to 9
 *     DUEPOST_LABELS                  one label on each line
 *     DUEPOST_HEADER_CONTENT_TYPE     a header; letters are upper case, and other characters are '_'
 *
 * The command inherits the worker's own variables, except those that begin with DUEPOST_: they may hold the
 * token, or belong to a job of another worker. DUEPOST_SERVER is inherited. */

enum { BODY_MAX = 256 * 1024 * 1024, NUMBER_MAX = 1000000 };

static const struct json_limits limits = {.depth = JSON_DEPTH_MAX, .members = 100000};

/* ---- the environment ---- */

/* Adds the text as an environment variable. A NUL byte in the text ends the value. */
static void add_variable(struct leased_job *job, struct buffer *text)
{
    job->environment = memory_resize(job->environment, (job->variables + 2) * sizeof *job->environment);
    job->environment[job->variables++] = slice_dup(slice_of(buffer_text(text)));
    job->environment[job->variables] = NULL;
}

/* Adds the variables of this process that the command inherits. */
static void add_inherited(struct leased_job *job)
{
    struct buffer text;
    buffer_init(&text, BODY_MAX);
    for (char **each = environ; *each; each++) {
        struct slice variable = slice_of(*each);
        bool is_ours = slice_starts_with(variable, SLICE("DUEPOST_"));
        if (is_ours && !slice_starts_with(variable, SLICE("DUEPOST_SERVER=")))
            continue;
        buffer_clear(&text);
        buffer_append(&text, variable);
        add_variable(job, &text);
    }
    buffer_fini(&text);
}

/* Appends a string without its quotes and escapes, and any other value as it is. */
static void append_value(struct buffer *text, struct slice json)
{
    struct buffer scratch;
    buffer_init(&scratch, BODY_MAX);
    buffer_append(text, json_is_text(json) ? json_text(json, &scratch) : json);
    buffer_fini(&scratch);
}

static void add_labels(struct leased_job *job, struct slice json)
{
    struct json_cursor labels;
    struct slice label;
    struct buffer text;
    buffer_init(&text, BODY_MAX);
    buffer_append(&text, SLICE("DUEPOST_LABELS="));
    for (bool has = json_open(json, &labels) && json_next_item(&labels, &label); has;) {
        append_value(&text, label);
        has = json_next_item(&labels, &label);
        if (has)
            buffer_append_byte(&text, '\n');
    }
    add_variable(job, &text);
    buffer_fini(&text);
}

static void add_headers(struct leased_job *job, struct slice json)
{
    struct json_cursor headers;
    struct slice key, value;
    if (json_open(json, &headers))
        while (json_next_member(&headers, &key, &value)) {
            struct buffer text;
            buffer_init(&text, BODY_MAX);
            append_value(&text, key);
            for (size_t i = 0; i < text.size; i++)
                text.data[i] =
                    (char)(isalnum((unsigned char)text.data[i]) ? toupper((unsigned char)text.data[i]) : '_');
            char *name = slice_dup(buffer_slice(&text));
            buffer_clear(&text);
            buffer_printf(&text, "DUEPOST_HEADER_%s=", name);
            append_value(&text, value);
            add_variable(job, &text);
            free(name);
            buffer_fini(&text);
        }
}

/* ---- reading the members of a job ---- */

static void read_text(struct slice json, char **text)
{
    struct buffer decoded;
    buffer_init(&decoded, BODY_MAX);
    append_value(&decoded, json);
    free(*text);
    *text = slice_dup(buffer_slice(&decoded));
    buffer_fini(&decoded);
}

/* The members that have their own variable. */
static const struct {
    struct slice name;
    const char *variable;
} variables[] = {
    {SLICE_INIT("\"topic\""), "DUEPOST_TOPIC"},     {SLICE_INIT("\"jobId\""), "DUEPOST_JOB_ID"},
    {SLICE_INIT("\"attempt\""), "DUEPOST_ATTEMPT"}, {SLICE_INIT("\"createdAt\""), "DUEPOST_CREATED_AT"},
    {SLICE_INIT("\"dueAt\""), "DUEPOST_DUE_AT"},    {SLICE_INIT("\"expiresAt\""), "DUEPOST_EXPIRES_AT"},
    {SLICE_INIT("\"key\""), "DUEPOST_KEY"},         {SLICE_INIT("\"priority\""), "DUEPOST_PRIORITY"},
};

static void read_member(struct leased_job *job, struct slice key, struct slice value)
{
    for (size_t i = 0; i < sizeof variables / sizeof *variables && !job->text; i++)
        if (slice_equal(key, variables[i].name)) {
            struct buffer text;
            buffer_init(&text, BODY_MAX);
            buffer_printf(&text, "%s=", variables[i].variable);
            append_value(&text, value);
            add_variable(job, &text);
            buffer_fini(&text);
        }
    if (slice_equal(key, SLICE("\"jobId\""))) {
        read_text(value, &job->id);
    } else if (slice_equal(key, SLICE("\"token\""))) {
        read_text(value, &job->token);
    } else if (slice_equal(key, SLICE("\"attempt\""))) {
        uint64_t number;
        if (slice_to_number(value, NUMBER_MAX, &number))
            job->attempt = (long)number;
    } else if (job->text) { /* post.c reads the others */
        return;
    } else if (slice_equal(key, SLICE("\"labels\""))) {
        add_labels(job, value);
    } else if (slice_equal(key, SLICE("\"headers\""))) {
        add_headers(job, value);
    } else if (slice_equal(key, SLICE("\"body\""))) {
        append_value(&job->body, value);
    } else if (slice_equal(key, SLICE("\"bodyBase64\""))) {
        struct buffer text;
        buffer_init(&text, BODY_MAX);
        append_value(&text, value);
        if (!base64_decode(buffer_slice(&text), &job->body))
            job->body.failed = true;
        buffer_fini(&text);
    }
}

/* ---- the answer ---- */

bool leased_jobs_open(struct slice answer, struct json_cursor *jobs)
{
    struct json_fault fault;
    struct json_cursor members;
    struct slice key, value;
    if (json_check(answer, &limits, &fault) != STATUS_OK || !json_open(answer, &members))
        return false;
    while (json_next_member(&members, &key, &value))
        if (slice_equal(key, SLICE("\"jobs\"")))
            return json_open(value, jobs) && jobs->close == ']';
    return false;
}

enum status leased_job_next(struct json_cursor *jobs, bool for_request, struct leased_job *job)
{
    struct json_cursor members;
    struct slice text, key, value;
    if (!json_next_item(jobs, &text))
        return STATUS_NOT_FOUND;
    *job = (struct leased_job){.id = NULL};
    buffer_init(&job->body, BODY_MAX);
    if (for_request)
        job->text = slice_dup(text);
    else
        add_inherited(job);
    if (json_open(text, &members))
        while (json_next_member(&members, &key, &value))
            read_member(job, key, value);
    if (job->id && job->token && !job->body.failed)
        return STATUS_OK;
    leased_job_fini(job);
    return STATUS_INVALID;
}

void leased_job_fini(struct leased_job *job)
{
    for (size_t i = 0; i < job->variables; i++)
        free(job->environment[i]);
    free(job->environment);
    free(job->id);
    free(job->token);
    free(job->text);
    buffer_fini(&job->body);
    *job = (struct leased_job){.id = NULL};
}

enum {
    EXIT_BURY = 100, /* exit status of a command that buries its job */
    ERROR_MAX = 256, /* maximum size of an error text in bytes that the API accepts */
    REQUEST_MAX = 64 * 1024,
    BACKOFF_FIRST_US = 100 * 1000,
    BACKOFF_DOUBLINGS = 7, /* the longest wait is 12.8 s, partly random */
    EXTEND_TIMEOUT_MS = 10 * 1000,
    PRINT_MAX = 8 * 1024,
    END_TIMEOUT_MS = 30 * 1000,
    END_EXTRA_US = 60 * 1000 * 1000, /* the worker tries to send an outcome for the length of a lease and this
                                        time, because Redis may be unreachable for a while */
    END_STOPPING_US = 10 * 1000 * 1000, /* how long a stopping worker tries to send an outcome */
};

void work_print(const struct work_settings *settings, const char *format, ...)
{
    char text[PRINT_MAX];
    va_list values;
    va_start(values, format);
    vsnprintf(text, sizeof text, format, values);
    va_end(values);
    table_print_line(stderr, "duepost %s: %s\n", settings->name, text);
}

bool work_may_pass(long status)
{
    return status == 0 || status == 408 || status == 429 || status >= 500;
}

int64_t work_backoff_us(int64_t now_us, int failures)
{
    uint32_t random;
    random_fill(&random, sizeof random);
    int64_t wait_us = (int64_t)BACKOFF_FIRST_US
                      << (failures < BACKOFF_DOUBLINGS ? failures : BACKOFF_DOUBLINGS);
    return now_us + wait_us / 2 + (int64_t)(random % (uint32_t)(wait_us / 2));
}

void work_job_init(struct work_job *work, const struct work_settings *settings)
{
    *work = (struct work_job){.settings = settings, .process = {.errors = -1}};
    buffer_init(&work->request, REQUEST_MAX + 2 * LEASE_RESULT_MAX);
}

void work_job_fini(struct work_job *work)
{
    if (work->call)
        remote_call_cancel(work->call);
    if (work->post)
        remote_call_cancel(work->post);
    command_process_fini(&work->process);
    leased_job_fini(&work->job);
    buffer_fini(&work->request);
}

static void work_job_free(struct work_job *work)
{
    const struct work_settings *settings = work->settings;
    work_job_fini(work);
    work_job_init(work, settings);
}

/* Sends an action on the job's lease. */
static void job_send(struct work_job *work, const char *action, struct slice body, long timeout_ms,
                     int64_t now_us, remote_call_fn *done)
{
    struct buffer target;
    buffer_init(&target, CALL_TARGET_MAX);
    buffer_printf(&target, "/topics/");
    call_add_encoded(&target, work->settings->topic);
    buffer_printf(&target, "/%s", action);
    struct remote_request request = {.target = buffer_text(&target), .body = body, .timeout_ms = timeout_ms};
    work->call = remote_call_start(work->settings->calls, &request, done, work);
    work->call_us = now_us;
    buffer_fini(&target);
}

static struct json_writer begin_request(struct work_job *work)
{
    buffer_clear(&work->request);
    struct json_writer json = json_writer_to(&work->request);
    json_put_object(&json);
    json_add_text(&json, "jobId", slice_of(work->job.id));
    json_add_text(&json, "token", slice_of(work->job.token));
    return json;
}

/* ---- ending ---- */

/* Prints the line of a request whose outcome is recorded. ended is the server's answer. */
static void print_post(const struct work_job *work, struct slice ended)
{
    char now[TIMESTAMP_SIZE];
    json_t *end = json_loadb(ended.data ? ended.data : "", ended.size, 0, NULL);
    const char *state = call_text(end, "state"), *due = call_text(end, "dueAt"),
               *until = call_text(end, "leaseUntil"), *reason = call_text(end, "reason");
    struct buffer line;
    buffer_init(&line, PRINT_MAX);
    timestamp_format(clock_wall_ms(), now);
    if (work->settings->is_json) {
        struct json_writer json = json_writer_to(&line);
        json_put_object(&json);
        json_add_text(&json, "at", slice_of(now));
        json_add_text(&json, "topic", slice_of(work->settings->topic));
        json_add_text(&json, "jobId", slice_of(work->job.id));
        json_add_number(&json, "attempt", work->job.attempt);
        if (work->post_status)
            json_add_number(&json, "status", work->post_status);
        if (work->post_error[0])
            json_add_text(&json, "error", slice_of(work->post_error));
        json_add_number(&json, "durationMs", work->post_ms);
        json_add_text(&json, "state", slice_of(state));
        json_end_object(&json);
        table_print_json(buffer_text(&line));
    } else {
        buffer_printf(&line, "%s  %s/%s  attempt %ld  ", now, work->settings->topic, work->job.id,
                      work->job.attempt);
        if (work->post_status)
            buffer_printf(&line, "%ld  %lld ms  ", work->post_status, (long long)work->post_ms);
        else
            buffer_printf(&line, "%s  %lld ms  ", work->post_error, (long long)work->post_ms);
        if (due)
            buffer_printf(&line, "again at %s", due);
        else if (until)
            buffer_printf(&line, "deferred until %s", until);
        else
            buffer_printf(&line, "%s%s%s", state ? state : "", reason ? ", " : "", reason ? reason : "");
        table_print_line(stdout, "%s\n", buffer_text(&line));
    }
    fflush(stdout);
    buffer_fini(&line);
    json_decref(end);
}

static void on_ended(void *arg, long status, struct slice text)
{
    struct work_job *work = arg;
    struct problem problem;
    int64_t now_us = clock_boot_us();
    work->call = NULL;
    if (work_may_pass(status) && now_us < work->until_us) {
        work->next_us = work_backoff_us(now_us, work->failures++);
        return;
    }
    if (status == 0)
        problem_set(&problem, "%.*s", SLICE_ARG(text));
    else if (status / 100 != 2)
        remote_explain(status, text, &problem);
    if (status / 100 == 2 && work->settings->post && strcmp(work->action, "release") != 0)
        print_post(work, text);
    if (status / 100 != 2)
        work_print(work->settings, "%s/%s: %s was not recorded: %s", work->settings->topic, work->job.id,
                   work->action, problem.text);
    work_job_free(work);
}

static void send_end(struct work_job *work, int64_t now_us)
{
    job_send(work, work->action, buffer_slice(&work->request), END_TIMEOUT_MS, now_us, on_ended);
}

/* Begins to send the outcome. error is NULL for an action without an error text; more has the other members
 * after a request, or is NULL. */
static void job_end(struct work_job *work, const char *action, const char *error, const struct post_end *more,
                    int64_t now_us)
{
    int64_t extra_us = work->is_stopping ? END_STOPPING_US : work->settings->lease_us + END_EXTRA_US;
    if (work->call) /* cancels a request that extends the lease, because the lease ends now */
        remote_call_cancel(work->call);
    struct json_writer json = begin_request(work);
    if (error && *error)
        json_add_text(&json, "error", slice_of(error));
    if (more && more->delay_ms >= 0)
        json_add_seconds(&json, "delay", more->delay_ms);
    if (more && more->lease_ms > 0)
        json_add_seconds(&json, "lease", more->lease_ms);
    if (more && more->result.size) {
        json_put_name(&json, "result");
        json_put_raw(&json, buffer_slice(&more->result));
    }
    json_end_object(&json);
    work->state = WORK_JOB_ENDING;
    work->action = action;
    work->until_us = now_us + extra_us;
    if (error && !work->settings->post)
        work_print(work->settings, "%s/%s: attempt %ld: %s: %s", work->settings->topic, work->job.id,
                   work->job.attempt, action, error);
    send_end(work, now_us);
}

/* ---- the outcome of the command ---- */

/* Writes text as UTF-8 without control characters, at most ERROR_MAX bytes. '?' replaces other bytes. */
static void write_error(struct buffer *out, struct slice text)
{
    const uint8_t *at = (const uint8_t *)text.data;
    for (size_t i = 0, step; i < text.size; i += step) {
        step = at[i] < 0x80 ? 1 : utf8_size(at[i]);
        bool is_sound = step && step <= text.size - i && utf8_is_text(text.data + i, step);
        struct slice character = is_sound ? slice_from(text.data + i, step) : SLICE("?");
        step = is_sound ? step : 1;
        if (out->size + character.size > ERROR_MAX)
            return;
        buffer_append(out, character);
    }
}

/* Reports the outcome. The error is the last line of standard error, or else how the command ended. */
static void on_command_ended(struct work_job *work, int64_t now_us)
{
    int status = work->process.status;
    int code = WIFEXITED(status) && !work->is_timed_out ? WEXITSTATUS(status) : EXIT_FAILURE;
    struct buffer error;
    buffer_init(&error, ERROR_MAX);
    struct slice line = command_process_last_line(&work->process);
    if (work->is_timed_out)
        buffer_printf(&error, "killed after %lld s (--timeout)",
                      (long long)(work->settings->timeout_us / 1000000));
    else if (line.size)
        write_error(&error, line);
    else if (WIFSIGNALED(status))
        buffer_printf(&error, "ended by signal %d", WTERMSIG(status));
    else
        buffer_printf(&error, "exit status %d", WEXITSTATUS(status));
    if (code == EXIT_SUCCESS)
        job_end(work, "complete", NULL, NULL, now_us);
    else if (code == EXIT_BURY)
        job_end(work, "bury", buffer_text(&error), NULL, now_us);
    else if (work->is_stopping)
        job_end(work, "release", NULL, NULL, now_us);
    else
        job_end(work, "retry", buffer_text(&error), NULL, now_us);
    buffer_fini(&error);
}

/* ---- the outcome of the request ---- */

static void on_posted(void *arg, long status, struct slice answer)
{
    struct work_job *work = arg;
    int64_t now_us = clock_boot_us();
    struct post_end end;
    struct buffer error;
    post_end_init(&end);
    buffer_init(&error, ERROR_MAX);
    post_judge(work->settings->post, work->post, status, answer, &end);
    write_error(&error, buffer_slice(&end.error));
    work->post = NULL;
    work->post_status = status;
    work->post_ms = (now_us - work->posted_us) / 1000;
    snprintf(work->post_error, sizeof work->post_error, "%s", error.size ? buffer_text(&error) : "");
    job_end(work, end.action, error.size ? buffer_text(&error) : NULL, &end, now_us);
    buffer_fini(&error);
    post_end_fini(&end);
}

/* ---- the lease ---- */

/* Returns the time at which a lease that began at begin_us counts as lost. This time is slightly before the
 * end of the lease, because another worker may get the job when the lease ends. */
static int64_t lost_us(const struct work_job *work, int64_t begin_us)
{
    return begin_us + work->settings->lease_us - work->settings->lease_us / 10;
}

static void lose(struct work_job *work, const char *reason)
{
    work_print(work->settings, "%s/%s: the lease is lost, the %s: %s", work->settings->topic, work->job.id,
               work->settings->post ? "request is cancelled" : "command is killed", reason);
    work_job_free(work);
}

static void on_extended(void *arg, long status, struct slice text)
{
    struct work_job *work = arg;
    struct problem problem;
    work->call = NULL;
    if (status / 100 == 2) {
        work->until_us = lost_us(work, work->call_us);
        work->next_us = work->call_us + work->settings->lease_us / 3;
    } else if (status == 404 || status == 409) {
        remote_explain(status, text, &problem);
        lose(work, problem.text);
    } else {
        int64_t wait_us = work->settings->lease_us / 20;
        work->next_us = clock_boot_us() + (wait_us < 1000000 ? wait_us : 1000000);
    }
}

static void extend(struct work_job *work, int64_t now_us)
{
    int64_t third_ms = work->settings->lease_us / 3000;
    struct json_writer json = begin_request(work);
    json_add_seconds(&json, "lease", work->settings->lease_us / 1000);
    json_end_object(&json);
    job_send(work, "extend", buffer_slice(&work->request),
             (long)(third_ms < EXTEND_TIMEOUT_MS ? third_ms : EXTEND_TIMEOUT_MS), now_us, on_extended);
}

/* ---- running ---- */

enum status work_job_begin(struct work_job *work, struct leased_job *job, int64_t asked_us, int64_t now_us,
                           struct problem *problem)
{
    const struct work_settings *settings = work->settings;
    bool may_be_old = now_us - asked_us > settings->lease_us / 3;
    work->job = *job;
    *job = (struct leased_job){.id = NULL};
    work->until_us = lost_us(work, now_us);
    work->next_us = may_be_old ? now_us : now_us + settings->lease_us / 3;
    work->timeout_us = settings->timeout_us ? now_us + settings->timeout_us : INT64_MAX;
    work->kill_us = INT64_MAX;
    work->state = WORK_JOB_RUNNING;
    enum status status = STATUS_OK;
    if (settings->post) {
        work->posted_us = now_us;
        work->timeout_us = INT64_MAX; /* the request has its own */
        work->post = post_start(settings->post, settings->calls, slice_of(work->job.text), on_posted, work);
        if (!work->post) {
            problem_set(problem, "%s/%s cannot be read; is this version older than the server?",
                        settings->topic, work->job.id);
            status = STATUS_INVALID;
        }
    } else {
        status = command_process_start(&work->process, settings->command, work->job.environment,
                                       buffer_slice(&work->job.body), problem);
    }
    if (status != STATUS_OK)
        job_end(work, "release", NULL, NULL, now_us);
    return status;
}

static int64_t job_earlier(int64_t one, int64_t other)
{
    return one < other ? one : other;
}

int64_t work_job_step(struct work_job *work, int64_t now_us)
{
    if (work->state == WORK_JOB_RUNNING) {
        if (!work->post)
            command_process_read(&work->process);
        if (!work->post && command_process_has_ended(&work->process)) {
            on_command_ended(work, now_us);
        } else if (now_us >= work->until_us) {
            lose(work, "it could not be extended in time");
        } else if (work->post && now_us >= work->kill_us) {
            remote_call_cancel(work->post);
            work->post = NULL;
            job_end(work, "release", NULL, NULL, now_us);
        } else if (now_us >= work->timeout_us || now_us >= work->kill_us) {
            work->is_timed_out = work->is_timed_out || now_us >= work->timeout_us;
            work->timeout_us = work->kill_us = INT64_MAX;
            command_process_signal(&work->process, SIGKILL);
        } else if (now_us >= work->next_us && !work->call) {
            extend(work, now_us);
        }
    } else if (work->state == WORK_JOB_ENDING && !work->call && now_us >= work->next_us) {
        send_end(work, now_us);
    }
    int64_t next_us = work->call ? INT64_MAX : work->next_us;
    if (work->state == WORK_JOB_FREE)
        return INT64_MAX;
    if (work->state == WORK_JOB_ENDING)
        return next_us;
    return job_earlier(job_earlier(next_us, work->until_us), job_earlier(work->timeout_us, work->kill_us));
}

void work_job_stop(struct work_job *work, int64_t now_us, bool at_once)
{
    work->is_stopping = true;
    work->until_us = work->state == WORK_JOB_ENDING ? job_earlier(work->until_us, now_us + END_STOPPING_US)
                                                    : work->until_us;
    if (work->state != WORK_JOB_RUNNING)
        return;
    work->kill_us = at_once ? now_us : job_earlier(work->kill_us, now_us + work->settings->grace_us);
    command_process_signal(&work->process, at_once ? SIGKILL : SIGTERM);
}
