#include "cli/commands.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/duration.h"
#include "cli/output.h"
#include "job/text/json.h"

/* ---- the lists ---- */

enum {
    ANSWER_SHOWN = 100,
    RECEIVER_SHOWN = 512
}; /* maximum number of bytes that a row shows of an answer, and of a receiver */

/* Adds the result of an attempt, such as "503" or "timeout", or "" if there was none. */
static void add_result(struct table *table, const json_t *attempt)
{
    if (json_object_get(attempt, "status"))
        table_add_number(table, call_number(attempt, "status"));
    else
        table_add(table, call_text(attempt, "error"));
}

/* Returns the time at which the job is due or has ended. */
static const char *time_of(const json_t *job)
{
    static const char *const names[] = {"dueAt", "deadAt", "deliveredAt", "cancelledAt"};
    const char *time = NULL;
    for (size_t i = 0; i < sizeof names / sizeof *names && !time; i++)
        time = call_text(job, names[i]);
    return time;
}

static void add_jobs(struct table *table, const json_t *page)
{
    size_t i;
    json_t *job;
    json_array_foreach(json_object_get(page, "jobs"), i, job)
    {
        table_add(table, call_text(job, "topic"));
        table_add(table, call_text(job, "jobId"));
        table_add(table, call_text(job, "state"));
        table_add(table, time_of(job));
        table_add_number(table, call_number(job, "attempts"));
        add_result(table, json_object_get(job, "lastAttempt"));
        table_add(table, call_text(job, "reason"));
        table_add(table, call_text(job, "url"));
    }
}

static void add_topics(struct table *table, const json_t *page)
{
    size_t i;
    json_t *topic;
    json_array_foreach(json_object_get(page, "topics"), i, topic)
    {
        const json_t *jobs = json_object_get(topic, "jobs");
        char *settings = call_setting(json_object_get(topic, "settings"));
        table_add(table, call_text(topic, "topic"));
        table_add_number(table, call_number(jobs, "delayed"));
        table_add_number(table, call_number(jobs, "ready"));
        table_add_number(table, call_number(jobs, "held"));
        table_add_number(table, call_number(jobs, "leased"));
        table_add_number(table, call_number(jobs, "dead"));
        const char *oldest = call_text(topic, "oldestOverdueAt");
        char age[WHEN_SPAN_SIZE];
        table_add_number(table, call_number(topic, "overdue"));
        table_add(table, oldest && when_age(oldest, age) ? age : "-");
        table_add(table, call_text(topic, "oldestDueAt"));
        table_add(table, call_text(topic, "heldBy"));
        table_add(table, settings);
        free(settings);
    }
}

/* Adds the beginning of an answer, without cutting a character of several bytes in two. */
static void add_answer(struct table *table, const char *answer)
{
    char shown[ANSWER_SHOWN + sizeof "..."];
    size_t size = answer ? strlen(answer) : 0;
    if (size <= ANSWER_SHOWN) {
        table_add(table, answer);
        return;
    }
    for (size = ANSWER_SHOWN; size > 0 && ((unsigned char)answer[size] & 0xc0) == 0x80;)
        size--;
    snprintf(shown, sizeof shown, "%.*s...", (int)size, answer);
    table_add(table, shown);
}

static void add_attempts(struct table *table, const json_t *page)
{
    const json_t *attempts = json_object_get(page, "attempts");
    for (size_t i = json_array_size(attempts); i-- > 0;) {
        const json_t *attempt = json_array_get(attempts, i);
        char text[64];
        long long number = call_number(attempt, "attempt"), round = call_number(attempt, "round");
        snprintf(text, sizeof text, round > 1 ? "%lld of round %lld" : "%lld", number, round);
        table_add(table, text);
        table_add(table, call_text(attempt, "at"));
        table_add_number(table, call_number(attempt, "durationMs"));
        add_result(table, attempt);
        const char *detail = call_text(attempt, "errorDetail");
        add_answer(table, detail ? detail : call_text(attempt, "answer"));
    }
}

static void add_receivers(struct table *table, const json_t *page)
{
    size_t i;
    json_t *receiver;
    json_array_foreach(json_object_get(page, "receivers"), i, receiver)
    {
        const char *host = call_text(receiver, "receiver"), *path = call_text(receiver, "path");
        char name[RECEIVER_SHOWN];
        snprintf(name, sizeof name, "%s%s", host ? host : "", path ? path : "");
        table_add(table, name);
        table_add(table, call_text(receiver, "state"));
        table_add_number(table, call_number(receiver, "failures"));
        add_result(table, json_object_get(receiver, "lastFailure"));
        table_add(table, call_text(receiver, "openSince"));
        table_add(table, call_text(receiver, "probeAt"));
        if (json_object_get(receiver, "maxInFlight"))
            table_add_number(table, call_number(receiver, "maxInFlight"));
        else
            table_add(table, NULL);
    }
}

/* Adds a row for each endpoint. */
static void add_limits(struct table *table, const json_t *page)
{
    size_t i;
    json_t *limit;
    json_array_foreach(json_object_get(page, "limits"), i, limit)
    {
        const json_t *settings = json_object_get(limit, "settings");
        char *rate = call_setting(json_object_get(settings, "rate"));
        table_add(table, call_text(limit, "limit"));
        table_add_number(table, call_number(limit, "inFlight"));
        if (json_object_get(settings, "maxInFlight"))
            table_add_number(table, call_number(settings, "maxInFlight"));
        else
            table_add(table, "-");
        table_add(table, rate ? rate : "-");
        table_add_number(table, call_number(limit, "waitingTopics"));
        table_add(table, call_text(limit, "heldBy"));
        free(rate);
    }
}

/* Adds a row for each key of a topic. */
static void add_keys(struct table *table, const json_t *page)
{
    size_t i;
    json_t *key;
    json_array_foreach(json_object_get(page, "keys"), i, key)
    {
        char *settings = call_setting(json_object_get(key, "settings")), share[16], age[WHEN_SPAN_SIZE];
        const char *name = call_text(key, "key"), *oldest = call_text(key, "oldestOverdueAt");
        snprintf(share, sizeof share, "%.0f%%", 100 * json_number_value(json_object_get(key, "share")));
        table_add(table, name && *name ? name : "(no key)");
        table_add_number(table, call_number(key, "waiting"));
        table_add_number(table, call_number(key, "inFlight"));
        table_add(table, share);
        table_add(table, oldest && when_age(oldest, age) ? age : "-");
        table_add(table, call_text(key, "oldestDueAt"));
        table_add(table, call_text(key, "heldBy"));
        table_add(table, settings);
        free(settings);
    }
}

static void add_groups(struct table *table, const json_t *page)
{
    size_t i;
    json_t *group;
    json_array_foreach(json_object_get(page, "groups"), i, group)
    {
        const char *name;
        json_t *endpoint;
        json_object_foreach(json_object_get(group, "endpoints"), name, endpoint)
        {
            const char *method = call_text(endpoint, "method");
            table_add(table, call_text(group, "group"));
            table_add(table, name);
            table_add(table, method ? method : "POST");
            table_add(table, call_text(endpoint, "url"));
        }
    }
}

static void add_schedules(struct table *table, const json_t *page)
{
    size_t i;
    json_t *schedule;
    json_array_foreach(json_object_get(page, "schedules"), i, schedule)
    {
        const json_t *last = json_object_get(schedule, "last");
        bool is_paused = json_is_true(json_object_get(schedule, "paused"));
        table_add(table, call_text(schedule, "topic"));
        table_add(table, call_text(schedule, "scheduleId"));
        if (call_text(schedule, "problem")) {
            table_add(table, call_text(schedule, "problem"));
        } else {
            /* Adds the times of a schedule, such as "30 4 * * * Europe/Berlin" or "every 1h". */
            char text[512], span[DURATION_TEXT_MAX];
            const char *cron = call_text(schedule, "cron"), *zone = call_text(schedule, "timezone");
            duration_format((int64_t)(json_number_value(json_object_get(schedule, "every")) * 1000 + 0.5),
                            span);
            if (cron)
                snprintf(text, sizeof text, "%s %s", cron, zone ? zone : "");
            else
                snprintf(text, sizeof text, "every %s", span);
            table_add(table, text);
        }
        const char *next = json_string_value(json_array_get(json_object_get(schedule, "next"), 0));
        table_add(table, is_paused ? "paused" : next ? next : "never");
        table_add(table, call_text(last, "time"));
        char words[64];
        const char *outcome = call_text(last, "outcome");
        snprintf(words, sizeof words, "%s%snot delivered in time", outcome ? outcome : "",
                 outcome ? ", " : "");
        table_add(table, json_is_true(json_object_get(schedule, "missed")) ? words : outcome);
    }
}

static void add_workflows(struct table *table, const json_t *page)
{
    size_t i;
    json_t *workflow;
    json_array_foreach(json_object_get(page, "workflows"), i, workflow)
    {
        table_add(table, call_text(workflow, "topic"));
        table_add(table, call_text(workflow, "workflowId"));
        table_add(table, call_text(workflow, "state"));
        table_add(table, call_text(workflow, "createdAt"));
        table_add(table, call_text(workflow, "endedAt"));
        table_add_number(table, call_number(workflow, "elementCount"));
        table_add_number(table, call_number(workflow, "openCount"));
        table_add(table, call_text(workflow, "url"));
    }
}

enum {
    CHANGE_SHOWN = 48
}; /* maximum number of bytes that a row shows of one setting before or after a change */

/* Adds "NAME OLD -> NEW" of one setting. */
static void add_change(struct buffer *changes, const char *name, const json_t *before, const json_t *after)
{
    char *old_text = before ? call_setting(before) : NULL, *new_text = after ? call_setting(after) : NULL;
    buffer_printf(changes, "%s%s %.*s -> %.*s", changes->size ? ", " : "", name, CHANGE_SHOWN,
                  old_text ? old_text : "-", CHANGE_SHOWN, new_text ? new_text : "-");
    free(old_text);
    free(new_text);
}

/* Writes what a line of the audit log has changed: settings, or numbers of jobs. */
static void write_changes(struct buffer *changes, const json_t *line)
{
    json_t *before = json_object_get(line, "before"), *after = json_object_get(line, "after"), *value;
    const char *name;
    json_object_foreach(before, name, value)
    {
        if (!json_equal(value, json_object_get(after, name)))
            add_change(changes, name, value, json_object_get(after, name));
    }
    json_object_foreach(after, name, value)
    {
        if (!json_object_get(before, name))
            add_change(changes, name, NULL, value);
    }
    if (json_object_get(line, "matched"))
        buffer_printf(changes, "%lld of %lld jobs", call_number(line, "done"), call_number(line, "matched"));
    else if (json_object_get(line, "removed"))
        buffer_printf(changes, "%lld jobs", call_number(line, "removed"));
}

static void add_audit(struct table *table, const json_t *page)
{
    size_t i;
    json_t *line;
    struct buffer changes;
    buffer_init(&changes, REMOTE_ANSWER_MAX);
    json_array_foreach(json_object_get(page, "lines"), i, line)
    {
        const char *target = call_text(line, "target"), *filter = call_text(line, "filter");
        const char *token = call_text(line, "token");
        buffer_clear(&changes);
        write_changes(&changes, line);
        table_add(table, call_text(line, "at"));
        table_add(table, token ? token : "-");
        table_add(table, call_text(line, "from"));
        table_add(table, call_text(line, "action"));
        table_add(table, target ? target : filter ? filter : "-");
        table_add(table, call_text(line, "outcome"));
        table_add(table, buffer_text(&changes));
    }
    buffer_fini(&changes);
}

static const char *const audit_titles[] = {"AT", "TOKEN", "FROM", "ACTION", "TARGET", "OUTCOME", "CHANGE"};
static const char *const job_titles[] = {"TOPIC", "JOB", "STATE", "AT", "ATTEMPTS", "LAST", "REASON", "URL"};
static const char *const topic_titles[] = {"TOPIC",   "DELAYED", "READY",  "HELD",    "LEASED",  "DEAD",
                                           "OVERDUE", "FOR",     "OLDEST", "HELD BY", "SETTINGS"};
static const char *const attempt_titles[] = {"ATTEMPT", "AT", "MS", "RESULT", "ANSWER"};

static const char *const limit_titles[] = {"LIMIT", "USED", "OF", "RATE", "WAITING", "HELD BY"};
static const char *const key_titles[] = {"KEY",         "WAITING", "IN FLIGHT", "SHARE",
                                         "OVERDUE FOR", "OLDEST",  "HELD BY",   "SETTINGS"};
static const char *const group_titles[] = {"GROUP", "ENDPOINT", "METHOD", "URL"};
static const char *const receiver_titles[] = {"RECEIVER", "STATE", "FAILURES", "LAST",
                                              "SINCE",    "PROBE", "LIMIT"};
static const char *const workflow_titles[] = {"TOPIC", "WORKFLOW", "STATE", "CREATED",
                                              "ENDED", "ELEMENTS", "OPEN",  "URL"};
static const char *const schedule_titles[] = {"TOPIC", "SCHEDULE", "TIMES", "NEXT", "LAST", "OUTCOME"};

const struct listing listing_jobs = {"/jobs", "jobs", 8, job_titles, add_jobs, NULL, false};
const struct listing listing_topics = {"/topics", "topics", 11, topic_titles, add_topics, NULL, false};
const struct listing listing_limits = {"/limits", "limits", 6, limit_titles, add_limits, NULL, false};
const struct listing listing_keys = {NULL, "keys", 8, key_titles, add_keys, NULL, false};
const struct listing listing_groups = {"/groups", "groups", 4, group_titles, add_groups, NULL, false};
const struct listing listing_attempts = {NULL, "attempts", 5, attempt_titles, add_attempts, "at", true};
const struct listing listing_receivers = {"/receivers",  "receivers", 7,    receiver_titles,
                                          add_receivers, NULL,        false};
const struct listing listing_schedules = {NULL, "schedules", 6, schedule_titles, add_schedules, NULL, false};
const struct listing listing_workflows = {"/workflows",  "workflows", 8,    workflow_titles,
                                          add_workflows, "createdAt", false};

const struct listing listing_audit = {"/audit", "lines", 7, audit_titles, add_audit, NULL, false};

/* ---- pages ---- */

enum { ITEMS_MAX = 1024 * 1024 * 1024, ARRAY_MAX = ITEMS_MAX + 2 };

json_t *list_next_page(struct call *call, const struct listing *listing, struct buffer *target,
                       const json_t *before)
{
    const char *cursor = before ? call_text(before, "cursor") : NULL;
    if ((before && !cursor) || call->left == 0)
        return NULL;
    call_make_target(call, target, listing->path, cursor);
    json_t *page = remote_ask_json(call->remote, "GET", buffer_text(target), NULL, &call->problem);
    call_took(call, (long long)json_array_size(json_object_get(page, listing->member)));
    return page;
}

/* Removes the entries of a page that are older than --since. With --json, appends the other entries to
 * items, as the server sent them: with a comma after each, the newest first. */
static void take_items(struct call *call, const struct listing *listing, json_t *page, struct buffer *items)
{
    struct json_cursor cursor;
    struct slice item;
    struct buffer before;
    bool is_selected = listing->time && call->since[0];
    json_t *entries = json_object_get(page, listing->member);
    if (!json_open(call_member(remote_text(call->remote), listing->member), &cursor))
        return;
    buffer_init(&before, REMOTE_ANSWER_MAX);
    for (size_t i = 0; json_next_item(&cursor, &item);) {
        const char *time = is_selected ? call_text(json_array_get(entries, i), listing->time) : NULL;
        if (time && strcmp(time, call->since) < 0) {
            json_array_remove(entries, i);
            call_took(call, -1);
            continue;
        }
        i++;
        if (!call->arguments.is_json)
            continue;
        buffer_clear(&before);
        if (listing->is_oldest_first) {
            buffer_append(&before, buffer_slice(items));
            buffer_clear(items);
        }
        buffer_append(items, item);
        buffer_append_byte(items, ',');
        buffer_append(items, buffer_slice(&before));
    }
    buffer_fini(&before);
}

bool list_print(struct call *call, const struct listing *listing)
{
    struct buffer target, items;
    struct table table;
    json_t *page = NULL, *next;
    bool is_partial = false;
    buffer_init(&target, CALL_TARGET_MAX);
    buffer_init(&items, ITEMS_MAX);
    table_init(&table, listing->columns, listing->titles);
    while ((next = list_next_page(call, listing, &target, page))) {
        json_decref(page);
        page = next;
        take_items(call, listing, page, &items);
        listing->add(&table, page);
        is_partial = is_partial || json_is_true(json_object_get(page, "partial"));
    }
    if (items.failed && !call->problem.text[0])
        problem_set(&call->problem, "the list has more than 1 GiB; use --limit or a filter");
    bool is_done = call->problem.text[0] == '\0';
    if (is_done && call->arguments.is_json) {
        struct buffer array;
        buffer_init(&array, ARRAY_MAX);
        buffer_append_byte(&array, '[');
        buffer_append(&array,
                      slice_from(items.data, items.size ? items.size - 1 : 0)); /* without the last comma */
        buffer_append_byte(&array, ']');
        call_print_json(buffer_slice(&array));
        buffer_fini(&array);
    } else if (is_done) {
        table_print(&table);
    }
    if (is_done && is_partial)
        fputs("duepost: the list is partial: more than 10,000 topics have jobs; choose one with "
              "--topic\n",
              stderr);
    json_decref(page);
    table_fini(&table);
    buffer_fini(&items);
    buffer_fini(&target);
    return is_done;
}
