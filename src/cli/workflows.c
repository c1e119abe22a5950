/* workflows.c - the command workflows. */
#include <stdio.h>

#include "cli/call.h"
#include "cli/commands.h"
#include "cli/list.h"
#include "cli/output.h"

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

/* Prints the elements in their order, because each one follows from those before it. */
static void print_elements(const json_t *workflow)
{
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
        print_elements(workflow);
        print_open_jobs(workflow);
    }
    json_decref(workflow);
    return workflow;
}

bool workflows_run(struct call *call)
{
    return call->arguments.word ? show_workflow(call) : list_print(call, &listing_workflows);
}
