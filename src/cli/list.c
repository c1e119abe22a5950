#include "cli/list.h"

#include <stdlib.h>

/* ---- rows ---- */

/* "503", "timeout" or "". */
static void add_failure(struct table *table, const json_t *last)
{
    if (json_object_get(last, "status"))
        table_add_number(table, call_number(last, "status"));
    else
        table_add(table, call_text(last, "error"));
}

static void add_jobs(struct table *table, const json_t *page)
{
    size_t i;
    json_t *job;
    json_array_foreach(json_object_get(page, "jobs"), i, job)
    {
        const char *due = call_text(job, "dueAt");
        table_add(table, call_text(job, "topic"));
        table_add(table, call_text(job, "jobId"));
        table_add(table, call_text(job, "state"));
        table_add(table, due ? due : call_text(job, "deadAt"));
        table_add_number(table, call_number(job, "attempts"));
        add_failure(table, json_object_get(job, "lastAttempt"));
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
        char *settings = json_dumps(json_object_get(topic, "settings"), JSON_COMPACT);
        table_add(table, call_text(topic, "topic"));
        table_add_number(table, call_number(jobs, "delayed"));
        table_add_number(table, call_number(jobs, "ready"));
        table_add_number(table, call_number(jobs, "leased"));
        table_add_number(table, call_number(jobs, "dead"));
        table_add(table, call_text(topic, "oldestDueAt"));
        table_add(table, call_text(topic, "heldBy"));
        table_add(table, settings);
        free(settings);
    }
}

static void add_receivers(struct table *table, const json_t *page)
{
    size_t i;
    json_t *receiver;
    json_array_foreach(json_object_get(page, "receivers"), i, receiver)
    {
        table_add(table, call_text(receiver, "receiver"));
        table_add(table, call_text(receiver, "state"));
        table_add_number(table, call_number(receiver, "failures"));
        add_failure(table, json_object_get(receiver, "lastFailure"));
        table_add(table, call_text(receiver, "openSince"));
        table_add(table, call_text(receiver, "probeAt"));
        if (json_object_get(receiver, "maxInFlight"))
            table_add_number(table, call_number(receiver, "maxInFlight"));
        else
            table_add(table, NULL);
    }
}

/* ---- lists ---- */

static const char *const job_titles[] = {"TOPIC", "JOB", "STATE", "AT", "ATTEMPTS", "LAST", "REASON", "URL"};
static const char *const topic_titles[] = {"TOPIC", "DELAYED", "READY", "LEASED",
                                           "DEAD",  "OLDEST",  "HELD",  "SETTINGS"};
static const char *const receiver_titles[] = {"RECEIVER", "STATE", "FAILURES", "LAST",
                                              "SINCE",    "PROBE", "LIMIT"};
const struct list_form list_of_jobs = {"/jobs", "jobs", 8, job_titles, add_jobs};
const struct list_form list_of_topics = {"/topics", "topics", 8, topic_titles, add_topics};
const struct list_form list_of_receivers = {"/receivers", "receivers", 7, receiver_titles, add_receivers};

json_t *list_next_page(struct call *call, const struct list_form *form, struct buffer *target,
                       const json_t *before)
{
    const char *cursor = before ? call_text(before, "cursor") : NULL;
    bool is_enough = before && (!cursor || call->arguments.values[ARGUMENT_LIMIT]);
    if (is_enough)
        return NULL;
    call_make_target(call, target, form->path, cursor);
    return remote_ask_json(call->remote, "GET", buffer_text(target), NULL, &call->problem);
}

bool list_print(struct call *call, const struct list_form *form)
{
    struct buffer target;
    struct table table;
    json_t *all = json_array(), *page = NULL, *next;
    buffer_init(&target, CALL_TARGET_MAX);
    table_init(&table, form->columns, form->titles);
    while ((next = list_next_page(call, form, &target, page))) {
        json_decref(page);
        page = next;
        json_array_extend(all, json_object_get(page, form->member));
        form->add(&table, page);
    }
    bool is_done = call->problem.text[0] == '\0';
    if (is_done && call->arguments.is_json)
        call_print_json(all);
    else if (is_done)
        table_print(&table);
    json_decref(page);
    json_decref(all);
    table_fini(&table);
    buffer_fini(&target);
    return is_done;
}
