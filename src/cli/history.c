#include "cli/history.h"

#include <stdio.h>
#include <string.h>

#include "cli/export.h"
#include "cli/table.h"

/* ---- delete ---- */

static bool has_bound(struct call *call)
{
    const char *const *values = call->arguments.values;
    if (!values[ARGUMENT_TOPIC] && !values[ARGUMENT_BEFORE])
        problem_set(&call->problem, "expected --topic TOPIC or --before TIME, or both");
    return values[ARGUMENT_TOPIC] || values[ARGUMENT_BEFORE];
}

/* Repeats the request until no more jobs match. If a request fails, the jobs that were counted until then are
 * removed, and the user can repeat the command. */
static bool delete_jobs(struct call *call)
{
    struct buffer target;
    long long deleted = 0;
    bool has_more = true, is_done = true;
    if (!has_bound(call))
        return false;
    buffer_init(&target, CALL_TARGET_MAX);
    call_make_target(call, &target, "/history", NULL);
    while (has_more) {
        json_t *answer = remote_ask_json(call->remote, "DELETE", buffer_text(&target), NULL, &call->problem);
        deleted += call_number(answer, "deleted");
        has_more = json_is_true(json_object_get(answer, "hasMore"));
        is_done = answer;
        json_decref(answer);
    }
    buffer_fini(&target);
    if (is_done || deleted > 0)
        printf(call->arguments.is_json ? "{\"deleted\": %lld}\n" : "%lld jobs removed from the history\n",
               deleted);
    return is_done;
}

/* ---- stats ---- */

static void print_stats(const json_t *answer)
{
    static const char *const titles[] = {"AT", "DELIVERED", "CANCELLED", "DEAD"};
    struct table table;
    size_t i;
    json_t *step;
    table_init(&table, 4, titles);
    json_array_foreach(json_object_get(answer, "steps"), i, step)
    {
        table_add(&table, call_text(step, "at"));
        table_add_number(&table, call_number(step, "delivered"));
        table_add_number(&table, call_number(step, "cancelled"));
        table_add_number(&table, call_number(step, "dead"));
    }
    table_print(&table);
    table_fini(&table);
}

static bool show_stats(struct call *call)
{
    struct buffer target;
    call_use_since(call, ARGUMENT_FROM);
    buffer_init(&target, CALL_TARGET_MAX);
    call_make_target(call, &target, "/stats", NULL);
    json_t *answer = remote_ask_json(call->remote, "GET", buffer_text(&target), NULL, &call->problem);
    if (answer && call->arguments.is_json)
        call_print_answer(call);
    else if (answer)
        print_stats(answer);
    json_decref(answer);
    buffer_fini(&target);
    return answer;
}

/* ---- the verbs ---- */

bool history_command(struct call *call)
{
    static const struct {
        const char *verb;
        bool (*run)(struct call *);
    } verbs[] = {{"export", export_run}, {"stats", show_stats}, {"delete", delete_jobs}};
    const char *word = call->arguments.word;
    for (size_t i = 0; word && i < sizeof verbs / sizeof *verbs; i++)
        if (strcmp(word, verbs[i].verb) == 0)
            return verbs[i].run(call);
    problem_set(&call->problem, "%s%sexpected export, stats or delete", word ? word : "", word ? ": " : "");
    return false;
}
