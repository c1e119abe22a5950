#include "app/audit.h"

#include <stdatomic.h>
#include <stdio.h>

#include "app/app_private.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/seal.h"
#include "base/system.h"
#include "base/timestamp.h"
#include "job/group.h"
#include "job/schedule/recurring.h"
#include "job/token.h"
#include "job/topic/topic_settings.h"

enum {
    SIDE_MAX = 16 * 1024, /* bytes of the settings before a change, and of those after it */
    LINE_MAX = 2 * SIDE_MAX + 16 * 1024,
    FILTER_MAX = 2048, /* bytes of a filter */
};

struct note {
    struct app_note head;
    struct buffer line;
};

static void on_noted(void *arg, enum status status)
{
    struct note *note = arg;
    struct app_notes *notes = note->head.notes;
    if (status != STATUS_OK)
        log_error("audit_line_lost", LOG_SLICE("line", buffer_slice(&note->line)),
                  LOG_TEXT("why", "Redis has not confirmed it; the history may lack it"));
    list_remove(&note->head.link);
    buffer_fini(&note->line);
    free(note);
    if (!notes)
        return;
    notes->is_lost |= status != STATUS_OK;
    if (notes->on_end && !app_notes_are_pending(notes))
        notes->on_end(notes->arg);
}

/* ---- lines ---- */

bool audit_is_kept(const struct app_caller *caller)
{
    return caller->notes && caller->notes->app && caller->notes->app->history;
}

/* Returns the topic of the object; empty: it belongs to none. */
static struct slice topic_of(const struct audit_line *line)
{
    static const char *const of_topics[] = {"topic", "pattern", "job", "key", "schedule", "workflow"};
    struct slice topic, rest;
    for (size_t i = 0; i < sizeof of_topics / sizeof *of_topics; i++) {
        if (strcmp(line->kind, of_topics[i]) != 0)
            continue;
        slice_cut(line->name, '/', &topic, &rest);
        return topic;
    }
    return line->topic;
}

static void add_side(struct json_writer *json, const char *name, const char *left_out,
                     const struct audit_line *line, struct slice text)
{
    struct buffer side;
    buffer_init_fallible(&side, SIDE_MAX);
    struct json_writer writer = json_writer_to(&side);
    bool is_read = line->show(line->name, text, &writer);
    if (!is_read || side.failed)
        json_add_bool(json, left_out, true);
    else if (side.size)
        json_add_raw(json, name, buffer_slice(&side));
    buffer_fini(&side);
}

static void write_json(struct json_writer *json, const struct app_caller *caller,
                       const struct audit_line *line, const char *id, int64_t now_ms, const char *from)
{
    json_put_object(json);
    json_add_text(json, "id", slice_of(id));
    json_add_time(json, "at", now_ms);
    json_add_text(json, "action", slice_of(line->event));
    if (strcmp(caller->name, "-") != 0)
        json_add_text(json, "token", slice_of(caller->name));
    json_add_text(json, "from", slice_of(from));
    json_add_text(json, "kind", slice_of(line->kind));
    json_add_nonempty(json, "target", line->name);
    json_add_nonempty(json, "topic", topic_of(line));
    if (line->filter.size)
        json_add_text(
            json, "filter",
            slice_from(line->filter.data, line->filter.size < FILTER_MAX ? line->filter.size : FILTER_MAX));
    if (line->part)
        json_add_text(json, "part", slice_of(line->part));
    json_add_text(json, "outcome", slice_of(line->outcome));
    for (size_t i = 0; i < sizeof line->numbers / sizeof *line->numbers && line->numbers[i].name; i++)
        json_add_number(json, line->numbers[i].name, line->numbers[i].value);
    if (line->show) {
        add_side(json, "before", "beforeLeftOut", line, line->before);
        add_side(json, "after", "afterLeftOut", line, line->after);
    }
    json_end_object(json);
}

/* Makes an id. It begins with a number that grows, so that lines of the same ms keep their order. */
static void make_id(char id[TRAIL_ID + 1])
{
    static atomic_uint lines;
    uint64_t random;
    random_fill(&random, sizeof random);
    snprintf(id, TRAIL_ID + 1, "%08x%016llx", atomic_fetch_add(&lines, 1), (unsigned long long)random);
}

/* Writes the line for the history (history/trail.h), and sends it to Redis. */
static void note_line(const struct app_caller *caller, const struct audit_line *line, const char *from)
{
    struct app *app = caller->notes->app;
    struct slice topic = topic_of(line);
    char id[TRAIL_ID + 1];
    int64_t now_ms = app_now_ms(app);
    struct note *note = NEW(struct note);
    make_id(id);
    buffer_init(&note->line, LINE_MAX);
    buffer_printf(&note->line, "%s %lld %s %s %.*s ", id, (long long)now_ms, caller->name, line->event,
                  topic.size ? (int)topic.size : 1, topic.size ? topic.data : "-");
    struct json_writer json = json_writer_to(&note->line);
    write_json(&json, caller, line, id, now_ms, from);
    list_init(&note->head.link);
    if (strcmp(line->kind, "job") != 0) {
        note->head.notes = caller->notes;
        list_append(&caller->notes->pending, &note->head.link);
    }
    store_note(app->store, topic, buffer_slice(&note->line), on_noted, note);
}

void audit_write(const struct app_caller *caller, const struct audit_line *line)
{
    struct log_field fields[AUDIT_FIELDS_MAX];
    char from[APP_FROM_SIZE];
    size_t count = 0;
    caller->write_from(caller->peer, from);
    fields[count++] = LOG_TEXT("who", caller->name);
    fields[count++] = LOG_TEXT("from", from);
    if (line->name.size)
        fields[count++] = LOG_SLICE(line->kind, line->name);
    if (line->has_filter)
        fields[count++] = LOG_SLICE("filter", line->filter);
    for (size_t i = 0; i < sizeof line->numbers / sizeof *line->numbers && line->numbers[i].name; i++)
        fields[count++] = LOG_NUMBER(line->numbers[i].name, line->numbers[i].value);
    if (line->part)
        fields[count++] = LOG_TEXT("part", line->part);
    else if (!line->is_counted)
        fields[count++] = LOG_TEXT("outcome", line->outcome);
    log_event(LOG_LEVEL_AUDIT, line->event, fields, count);
    if (audit_is_kept(caller))
        note_line(caller, line, from);
}

/* Returns the word that a line has for the outcome, or NULL if there is nothing to log. */
static const char *outcome_of(enum status status)
{
    if (status == STATUS_OK)
        return "done";
    if (status == STATUS_UNDURABLE)
        return "not_durable";
    return status == STATUS_UNKNOWN ? "unknown" : NULL;
}

void audit_change(const struct app_caller *caller, const char *event, const char *kind, struct slice name,
                  enum status status, audit_show_fn *show, struct slice before, struct slice after)
{
    const char *outcome = outcome_of(status);
    if (outcome)
        audit_write(caller, &(struct audit_line){.event = event,
                                                 .kind = kind,
                                                 .name = name,
                                                 .outcome = outcome,
                                                 .show = show,
                                                 .before = before,
                                                 .after = after});
}

void audit(const struct app_caller *caller, const char *event, const char *kind, struct slice name,
           enum status status)
{
    audit_change(caller, event, kind, name, status, NULL, SLICE(""), SLICE(""));
}

void audit_one_of_many(const struct app_caller *caller, const char *event, struct slice id,
                       enum status status)
{
    const char *outcome = outcome_of(status);
    if (outcome)
        log_debug(event, LOG_TEXT("who", caller->name), LOG_SLICE("job", id), LOG_TEXT("outcome", outcome));
}

void audit_removal(const struct app_caller *caller, struct slice topic, struct slice filter, int64_t removed)
{
    struct audit_line line = {.event = "history_removed",
                              .kind = "jobs",
                              .topic = topic,
                              .has_filter = true,
                              .filter = filter,
                              .outcome = removed < 0 ? "unknown" : "done"};
    if (removed > 0)
        line.numbers[0] = (struct audit_number){"removed", removed};
    if (removed != 0)
        audit_write(caller, &line);
}

void audit_bulk(const struct app_caller *caller, const char *event, struct slice topic, struct slice filter,
                const struct app_bulk_counts *counts)
{
    audit_write(caller, &(struct audit_line){.event = event,
                                             .kind = "jobs",
                                             .topic = topic,
                                             .has_filter = true,
                                             .filter = filter,
                                             .is_counted = true,
                                             .outcome = counts->unknown ? "unknown" : "done",
                                             .numbers = {{"matched", (int64_t)counts->matched},
                                                         {"done", (int64_t)counts->done},
                                                         {"skipped", (int64_t)counts->skipped},
                                                         {"unknown", (int64_t)counts->unknown}}});
}

/* ---- settings as clients may see them ---- */

bool audit_show_topic(struct slice name, struct slice text, struct json_writer *json)
{
    struct topic_settings settings;
    (void)name;
    if (topic_settings_read(text, &settings) != STATUS_OK)
        return false;
    topic_settings_show(&settings, json_put(json));
    topic_settings_fini(&settings);
    return true;
}

bool audit_show_limit(struct slice name, struct slice text, struct json_writer *json)
{
    struct topic_settings settings;
    (void)name;
    if (text.size == 0)
        return true;
    if (limit_settings_read(text, &settings) != STATUS_OK)
        return false;
    topic_settings_show(&settings, json_put(json));
    topic_settings_fini(&settings);
    return true;
}

bool audit_show_key(struct slice name, struct slice text, struct json_writer *json)
{
    struct topic_settings settings;
    (void)name;
    if (text.size == 0)
        return true;
    if (key_settings_read(text, &settings) != STATUS_OK)
        return false;
    key_settings_show(&settings, json_put(json));
    topic_settings_fini(&settings);
    return true;
}

bool audit_show_group(struct slice name, struct slice text, struct json_writer *json)
{
    (void)name;
    if (text.size == 0)
        return true;
    json_put_object(json);
    json_put_name(json, "endpoints");
    group_show_endpoints(text, json);
    json_end_object(json);
    return true;
}

/* Without the body of the job, which is data, and not a setting. */
bool audit_show_schedule(struct slice name, struct slice text, struct json_writer *json)
{
    struct recurring recurring;
    struct job job;
    struct slice topic, rest;
    slice_cut(name, '/', &topic, &rest);
    if (text.size == 0)
        return true;
    if (recurring_read(text, &recurring) != STATUS_OK)
        return false;
    bool is_read = recurring.lacks.size == 0 && recurring_read_job(&recurring, topic, &job) == STATUS_OK;
    if (is_read) {
        job.body = SLICE("");
        job.has_body_base64 = false;
        if (seal_has_labels()) /* a line is not encrypted */
            job.labels.count = 0;
        json_put_object(json);
        recurring_show(&recurring, &job, json);
        json_end_object(json);
        job_fini(&job);
    }
    recurring_fini(&recurring);
    return is_read;
}

/* ---- changes by the operator ---- */

static void write_host(const void *peer, char text[APP_FROM_SIZE])
{
    (void)peer;
    snprintf(text, APP_FROM_SIZE, "this host");
}

/* The members borrow the text: an object that is shown as it is. */
static bool show_json(struct slice name, struct slice text, struct json_writer *json)
{
    (void)name;
    json_put_raw(json, text);
    return text.size <= SIDE_MAX;
}

static const struct token *find_named(const struct token_table *tokens, const char *name)
{
    for (size_t i = 0; tokens && i < token_table_count(tokens); i++)
        if (strcmp(token_table_at(tokens, i)->name, name) == 0)
            return token_table_at(tokens, i);
    return NULL;
}

static bool is_same_text(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static bool has_same_text(const struct token *a, const struct token *b)
{
    return memcmp(a->digest, b->digest, sizeof a->digest) == 0;
}

static bool is_same_token(const struct token *a, const struct token *b)
{
    return has_same_text(a, b) && a->scopes == b->scopes && is_same_text(a->topics, b->topics) &&
           is_same_text(a->groups, b->groups) && a->rate.period_ns == b->rate.period_ns &&
           a->rate.step_ns == b->rate.step_ns;
}

/* Writes the tokens that the other table does not have like this, by name. Returns how many there are. */
static size_t write_tokens(struct buffer *out, const struct token_table *tokens,
                           const struct token_table *others)
{
    struct json_writer json = json_writer_to(out);
    size_t count = 0;
    json_put_object(&json);
    for (size_t i = 0; tokens && i < token_table_count(tokens); i++) {
        const struct token *token = token_table_at(tokens, i), *other = find_named(others, token->name);
        char scopes[TOKEN_SCOPES_SIZE];
        if (other && is_same_token(token, other))
            continue;
        count++;
        token_scopes_text(token->scopes, scopes);
        json_add_object(&json, token->name);
        json_add_text(&json, "scopes", slice_of(scopes));
        if (token->topics)
            json_add_text(&json, "topics", slice_of(token->topics));
        if (token->groups)
            json_add_text(&json, "groups", slice_of(token->groups));
        if (token->rate.step_ns)
            json_add_number(&json, "jobsPerHour", INT64_C(3600000000000) / token->rate.step_ns);
        if (other)
            json_add_bool(&json, "hasSameText", has_same_text(token, other));
        json_end_object(&json);
    }
    json_end_object(&json);
    return count;
}

void app_audit_tokens(struct app *app, const struct token_table *before, const struct token_table *after)
{
    struct app_notes notes;
    const struct app_caller by_host = {.name = "-", .write_from = write_host, .notes = &notes};
    struct buffer old, new;
    buffer_init(&old, TOKENS_FILE_BYTES_MAX * (size_t)4);
    buffer_init(&new, TOKENS_FILE_BYTES_MAX * (size_t)4);
    app_notes_init(&notes, app);
    size_t count = write_tokens(&old, before, after) + write_tokens(&new, after, before);
    if (count)
        audit_change(&by_host, "tokens_changed", "tokens", SLICE(""), STATUS_OK, show_json,
                     buffer_slice(&old), buffer_slice(&new));
    app_notes_fini(&notes);
    buffer_fini(&old);
    buffer_fini(&new);
}

/* ---- the list ---- */

struct lines_call {
    app_line_fn *each;
    app_verdict_fn *fn;
    void *arg;
};

enum { TIME_DIGITS_MAX = 15 };

bool app_audit_cursor_parse(struct slice text, struct trail_query *trail)
{
    struct slice at, id;
    if (!slice_cut(text, '.', &at, &id) || at.size == 0 || at.size > TIME_DIGITS_MAX || id.size != TRAIL_ID)
        return false;
    trail->after.at_ms = 0;
    for (size_t i = 0; i < at.size; i++) {
        if (at.data[i] < '0' || at.data[i] > '9')
            return false;
        trail->after.at_ms = 10 * trail->after.at_ms + (at.data[i] - '0');
    }
    for (size_t i = 0; i < id.size; i++)
        if (!strchr("0123456789abcdef", id.data[i]))
            return false;
    memcpy(trail->after.id, id.data, id.size);
    trail->after.id[TRAIL_ID] = '\0';
    trail->after.is_set = true;
    return true;
}

static void on_lines(void *arg, enum status status, const struct trail_entry *lines, size_t count,
                     bool has_more, const char *why)
{
    struct lines_call *call = arg;
    char cursor[64] = "";
    if (status == STATUS_OK) {
        for (size_t i = 0; i < count; i++)
            call->each(call->arg, &lines[i]);
        if (has_more)
            snprintf(cursor, sizeof cursor, "%lld.%s", (long long)lines[count - 1].at_ms,
                     lines[count - 1].id);
        call->fn(call->arg, &(struct app_verdict){.end = STATUS_OK, .page = {.cursor = slice_of(cursor)}});
    } else {
        call->fn(call->arg, &(struct app_verdict){.end = STATUS_HISTORY_UNAVAILABLE, .why = slice_of(why)});
    }
    free(call);
}

void app_audit(struct app *app, const struct trail_query *trail, app_line_fn *each, app_verdict_fn *fn,
               void *arg)
{
    if (!app->history) {
        use_case_refuse(STATUS_NO_HISTORY, fn, arg);
        return;
    }
    struct lines_call *call = NEW(struct lines_call);
    *call = (struct lines_call){each, fn, arg};
    history_trail(app->history, trail, on_lines, call);
}
