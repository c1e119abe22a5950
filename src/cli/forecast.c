/* forecast.c - the command forecast: which jobs become due and begin, as a table with a chart, and what is
 * narrow. */
#include <stdio.h>
#include <string.h>

#include "base/duration.h"
#include "cli/call.h"
#include "cli/commands.h"
#include "cli/output.h"

enum { BAR_WIDTH = 30 };

static long long series_at(const json_t *series, const char *name, size_t step)
{
    return json_integer_value(json_array_get(json_object_get(series, name), step));
}

static long long series_max(const json_t *series, const char *name)
{
    long long max = 0;
    for (size_t i = 0; i < json_array_size(json_object_get(series, name)); i++)
        max = series_at(series, name, i) > max ? series_at(series, name, i) : max;
    return max;
}

/* Draws the attempts that begin as #, and the backlog behind them as dots. */
static void draw_bar(char bar[BAR_WIDTH + 1], long long begun, long long backlog, long long max)
{
    size_t full = max ? (size_t)((begun * BAR_WIDTH + max - 1) / max) : 0;
    size_t all = max ? (size_t)(((begun + backlog) * BAR_WIDTH + max - 1) / max) : 0;
    for (size_t i = 0; i < BAR_WIDTH; i++)
        bar[i] = i < full ? '#' : i < all ? '.' : ' ';
    for (size_t i = BAR_WIDTH; i > 0 && bar[i - 1] == ' '; i--)
        bar[i - 1] = '\0';
    bar[BAR_WIDTH] = '\0';
}

static void write_span(char span[WHEN_SPAN_SIZE], long long ms)
{
    long long s = (ms + 999) / 1000;
    if (s >= 2 * 86400)
        snprintf(span, WHEN_SPAN_SIZE, "%lldd", s / 86400);
    else if (s >= 2 * 3600)
        snprintf(span, WHEN_SPAN_SIZE, "%lldh", s / 3600);
    else if (s >= 2 * 60)
        snprintf(span, WHEN_SPAN_SIZE, "%lldm", s / 60);
    else
        snprintf(span, WHEN_SPAN_SIZE, "%llds", s);
}

static void print_steps(const json_t *answer)
{
    static const char *const titles[] = {"AT", "DUE", "BEGIN", "BACKLOG", "LATE", ""};
    const json_t *series = json_object_get(answer, "series");
    long long max = series_max(series, "begun") + series_max(series, "backlog"),
              step_ms = 1000 * call_number(answer, "step");
    int64_t from_ms = 0;
    struct table table;
    table_init(&table, 6, titles);
    timestamp_parse(slice_of(call_text(answer, "from")), &from_ms);
    for (size_t i = 0; i < json_array_size(json_object_get(series, "due")); i++) {
        long long begun = series_at(series, "begun", i), backlog = series_at(series, "backlog", i);
        char bar[BAR_WIDTH + 1], late[WHEN_SPAN_SIZE] = "", at[TIMESTAMP_SIZE];
        timestamp_format(from_ms + (int64_t)i * step_ms, at);
        at[strlen("2030-01-01T00:00")] = '\0';
        draw_bar(bar, begun, backlog, max);
        if (series_at(series, "lateMs", i))
            write_span(late, series_at(series, "lateMs", i));
        table_add(&table, at);
        table_add_number(&table, series_at(series, "due", i));
        table_add_number(&table, begun);
        table_add_number(&table, backlog);
        table_add(&table, late);
        table_add(&table, bar);
    }
    table_print(&table);
    table_fini(&table);
}

static void print_narrow(const json_t *answer)
{
    static const char *const titles[] = {"NARROW", "BY", "BACKLOG", "LATE", "LEFT", "DRAINED"};
    const json_t *line;
    struct table table;
    size_t i;
    if (json_array_size(json_object_get(answer, "narrow")) == 0)
        return;
    printf("\n");
    table_init(&table, 6, titles);
    json_array_foreach(json_object_get(answer, "narrow"), i, line)
    {
        char name[256], late[WHEN_SPAN_SIZE];
        const char *topic = call_text(line, "topic"), *limit = call_text(line, "limit");
        snprintf(name, sizeof name, "%s%.200s",
                 topic[0]   ? ""
                 : limit[0] ? "limit "
                            : "all processes",
                 topic[0] ? topic : limit);
        write_span(late, call_number(line, "lateMs"));
        table_add(&table, name);
        table_add(&table, call_text(line, "by"));
        table_add_number(&table, call_number(line, "peakBacklog"));
        table_add(&table, late);
        table_add_number(&table, call_number(line, "left"));
        table_add(&table, call_text(line, "drainedAt"));
    }
    table_print(&table);
    table_fini(&table);
}

static void print_sums(const json_t *answer)
{
    const json_t *jobs = json_object_get(answer, "jobs"), *backlog = json_object_get(answer, "backlog");
    const char *drained = call_text(backlog, "drainedAt");
    char late[WHEN_SPAN_SIZE];
    write_span(late, call_number(backlog, "lateMs"));
    printf("\n%lld waiting jobs, %lld overdue now; %lld jobs of %lld schedules\n",
           call_number(jobs, "waiting"), call_number(jobs, "overdue"), call_number(jobs, "scheduled"),
           call_number(jobs, "schedules"));
    if (call_number(backlog, "peak") == 0)
        printf("each job begins when it is due\n");
    else if (drained[0])
        table_print_line(stdout, "at most %lld jobs wait, up to %s; none from %s on\n",
                         call_number(backlog, "peak"), late, drained);
    else
        printf("at most %lld jobs wait, up to %s; %lld at the end\n", call_number(backlog, "peak"), late,
               call_number(backlog, "left"));
    if (json_is_true(json_object_get(answer, "partial")))
        printf("partial: there are too many topics or schedules\n");
}

bool forecast_run(struct call *call)
{
    const char **values = call->arguments.values;
    struct buffer target;
    if (!values[ARGUMENT_FROM] && !values[ARGUMENT_TO] && !values[ARGUMENT_STEP])
        values[ARGUMENT_STEP] = "1h";
    buffer_init(&target, CALL_TARGET_MAX);
    call_make_target(call, &target, "/forecast", NULL);
    json_t *answer = remote_ask_json(call->remote, "GET", buffer_text(&target), NULL, &call->problem);
    if (answer && call->arguments.is_json) {
        call_print_answer(call);
    } else if (answer) {
        print_steps(answer);
        print_sums(answer);
        print_narrow(answer);
    }
    json_decref(answer);
    buffer_fini(&target);
    return answer;
}
