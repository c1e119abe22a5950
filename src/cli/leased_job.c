#include "cli/leased_job.h"

#include <ctype.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/base64.h"
#include "base/memory.h"

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

static void add_member(struct leased_job *job, const char *name, struct slice json)
{
    struct buffer text;
    buffer_init(&text, BODY_MAX);
    buffer_printf(&text, "%s=", name);
    append_value(&text, json);
    add_variable(job, &text);
    buffer_fini(&text);
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

static void add_header(struct leased_job *job, struct slice key, struct slice value)
{
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

static void add_headers(struct leased_job *job, struct slice json)
{
    struct json_cursor headers;
    struct slice key, value;
    if (json_open(json, &headers))
        while (json_next_member(&headers, &key, &value))
            add_header(job, key, value);
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

static void read_attempt(struct leased_job *job, struct slice json)
{
    uint64_t number;
    if (slice_to_number(json, NUMBER_MAX, &number))
        job->attempt = (long)number;
}

static void read_base64(struct leased_job *job, struct slice json)
{
    struct buffer text;
    buffer_init(&text, BODY_MAX);
    append_value(&text, json);
    if (!base64_decode(buffer_slice(&text), &job->body))
        job->body.failed = true;
    buffer_fini(&text);
}

/* The members that have their own variable. */
static const struct {
    struct slice name;
    const char *variable;
} variables[] = {
    {SLICE_INIT("\"topic\""), "DUEPOST_TOPIC"},     {SLICE_INIT("\"jobId\""), "DUEPOST_JOB_ID"},
    {SLICE_INIT("\"attempt\""), "DUEPOST_ATTEMPT"}, {SLICE_INIT("\"createdAt\""), "DUEPOST_CREATED_AT"},
    {SLICE_INIT("\"dueAt\""), "DUEPOST_DUE_AT"},    {SLICE_INIT("\"expiresAt\""), "DUEPOST_EXPIRES_AT"},
};

static void read_member(struct leased_job *job, struct slice key, struct slice value)
{
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
        if (slice_equal(key, variables[i].name))
            add_member(job, variables[i].variable, value);
    if (slice_equal(key, SLICE("\"jobId\"")))
        read_text(value, &job->id);
    else if (slice_equal(key, SLICE("\"token\"")))
        read_text(value, &job->token);
    else if (slice_equal(key, SLICE("\"attempt\"")))
        read_attempt(job, value);
    else if (slice_equal(key, SLICE("\"labels\"")))
        add_labels(job, value);
    else if (slice_equal(key, SLICE("\"headers\"")))
        add_headers(job, value);
    else if (slice_equal(key, SLICE("\"body\"")))
        append_value(&job->body, value);
    else if (slice_equal(key, SLICE("\"bodyBase64\"")))
        read_base64(job, value);
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

enum status leased_job_next(struct json_cursor *jobs, struct leased_job *job)
{
    struct json_cursor members;
    struct slice text, key, value;
    if (!json_next_item(jobs, &text))
        return STATUS_NOT_FOUND;
    *job = (struct leased_job){.id = NULL};
    buffer_init(&job->body, BODY_MAX);
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
    buffer_fini(&job->body);
    *job = (struct leased_job){.id = NULL};
}
