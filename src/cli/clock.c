/* clock.c - the command clock: shows and turns the clock of a server with --clock manual. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/duration.h"
#include "base/json_writer.h"
#include "cli/call.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "job/text/json.h"

enum { BODY_SIZE = 256, CLOCK_ITEMS_MAX = 1024 * 1024 * 1024 };

/* ---- what fired ---- */

static const char *const fired_titles[] = {"AT",      "TOPIC",  "JOB",     "EVENT",
                                           "ATTEMPT", "RESULT", "OUTCOME", "NEXT"};
enum { FIRED_COLUMNS = sizeof fired_titles / sizeof *fired_titles };

static void add_fired(struct table *table, const json_t *page)
{
    size_t i;
    json_t *entry;
    json_array_foreach(json_object_get(page, "fired"), i, entry)
    {
        const char *schedule = call_text(entry, "schedule"), *names[] = {"at", "topic", "jobId"};
        char event[512];
        for (size_t n = 0; n < sizeof names / sizeof *names; n++)
            table_add(table, call_text(entry, names[n]));
        snprintf(event, sizeof event, "%s%s%s", call_text(entry, "event"), schedule ? " by " : "",
                 schedule ? schedule : "");
        table_add(table, event);
        if (json_object_get(entry, "attempt"))
            table_add_number(table, call_number(entry, "attempt"));
        else
            table_add(table, NULL);
        if (json_object_get(entry, "status"))
            table_add_number(table, call_number(entry, "status"));
        else
            table_add(table, call_text(entry, "error"));
        table_add(table, call_text(entry, "outcome"));
        table_add(table, call_text(entry, "nextAt"));
    }
}

/* Adds the entries of the last answer as the server sent them, with a comma after each. */
static void add_items(const struct call *call, struct buffer *items)
{
    struct json_cursor cursor;
    struct slice item;
    if (!json_open(call_member(remote_text(call->remote), "fired"), &cursor))
        return;
    while (json_next_item(&cursor, &item)) {
        buffer_append(items, item);
        buffer_append_byte(items, ',');
    }
}

/* ---- the time ---- */

/* Prints the time that the clock shows, and how far the next event is from it. */
static void print_clock(const json_t *clock)
{
    const char *now = call_text(clock, "now"), *next = call_text(clock, "next");
    char span[DURATION_TEXT_MAX];
    int64_t now_ms, next_ms;
    table_print_line(stdout, "now        %s\n", now);
    if (next && timestamp_parse(slice_of(now), &now_ms) && timestamp_parse(slice_of(next), &next_ms)) {
        duration_format(next_ms - now_ms, span);
        table_print_line(stdout, "next       %s, in %s\n", next, span);
    } else {
        puts("next       no event comes");
    }
    printf("in flight  %lld\n", call_number(clock, "inFlight"));
}

/* Prints the last answer with the entries of all answers. */
static void print_json(const struct call *call, struct buffer *items)
{
    static const char *const names[] = {"now", "next", "inFlight", "to", "reached"};
    struct slice answer = remote_text(call->remote);
    struct buffer text;
    buffer_init(&text, (size_t)CLOCK_ITEMS_MAX + 1024);
    struct json_writer json = json_writer_to(&text);
    json_put_object(&json);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (call_member(answer, names[i]).size > 0)
            json_add_raw(&json, names[i], call_member(answer, names[i]));
    json_add_array(&json, "fired");
    json_put_raw(&json, slice_from(items->data, items->size ? items->size - 1 : 0));
    json_end_array(&json);
    json_end_object(&json);
    call_print_json(buffer_slice(&text));
    buffer_fini(&text);
}

/* ---- turning ---- */

/* Writes the next request: to the time of the last answer, or first by the words of the command. */
static void write_turn(const struct call *call, const json_t *last, struct buffer *body)
{
    const struct arguments *arguments = &call->arguments;
    const char *most = arguments->values[ARGUMENT_MOST], *to = call_text(last, "to");
    bool is_until_idle = strcmp(arguments->word, "until-idle") == 0;
    bool is_to = strcmp(arguments->word, "to") == 0;
    int64_t ms;
    struct json_writer json = json_writer_to(body);
    json_put_object(&json);
    if (is_until_idle)
        json_add_bool(&json, "untilIdle", true);
    if (to || is_to)
        json_add_text(&json, "to", slice_of(to ? to : arguments->words[1]));
    else if ((!is_until_idle || most) &&
             duration_parse(slice_of(is_until_idle ? most : arguments->words[1]), TIMESTAMP_MAX_MS, &ms))
        json_add_seconds(&json, "advance", ms);
    json_end_object(&json);
}

static bool is_over(const json_t *page)
{
    return json_is_true(json_object_get(page, "reached")) && !json_is_true(json_object_get(page, "more"));
}

static bool turn(struct call *call)
{
    char text[BODY_SIZE];
    struct buffer items;
    struct table table;
    json_t *page = NULL, *next;
    long long lost = 0;
    buffer_init(&items, CLOCK_ITEMS_MAX);
    table_init(&table, FIRED_COLUMNS, fired_titles);
    size_t titles = table.cells;
    do {
        struct buffer body = buffer_of(text, sizeof text);
        write_turn(call, page, &body);
        next = remote_ask_json(call->remote, "POST", "/clock", buffer_text(&body), &call->problem);
        if (!next)
            break;
        json_decref(page);
        page = next;
        add_fired(&table, page);
        if (call->arguments.is_json)
            add_items(call, &items);
        lost += call_number(page, "lost");
    } while (!is_over(page));
    /* After an error, the entries of the pages before it are printed, because the server has them no more. */
    if (!call->arguments.is_json && table.cells > titles)
        table_print(&table);
    if (next && call->arguments.is_json)
        print_json(call, &items);
    else if (next)
        print_clock(page);
    if (lost > 0)
        fprintf(stderr, "duepost: %lld events are missing in this list: too many waited for a request\n",
                lost);
    json_decref(page);
    table_fini(&table);
    buffer_fini(&items);
    return next;
}

/* ---- the command ---- */

bool clock_run(struct call *call)
{
    const struct arguments *arguments = &call->arguments;
    const char *word = arguments->word, *value = arguments->words[1];
    bool is_until_idle = word && strcmp(word, "until-idle") == 0;
    int64_t ignored;
    if (arguments->values[ARGUMENT_MOST] && !is_until_idle) {
        problem_set(&call->problem, "--most: only until-idle has this option");
        return false;
    }
    if (!word) {
        json_t *clock = remote_ask_json(call->remote, "GET", "/clock", NULL, &call->problem);
        if (clock && arguments->is_json)
            call_print_answer(call);
        else if (clock)
            print_clock(clock);
        json_decref(clock);
        return clock;
    }
    if (is_until_idle && !value)
        return turn(call);
    if (strcmp(word, "advance") == 0 && value && duration_parse(slice_of(value), TIMESTAMP_MAX_MS, &ignored))
        return turn(call);
    if (strcmp(word, "to") == 0 && value && timestamp_parse(slice_of(value), &ignored))
        return turn(call);
    problem_set(
        &call->problem,
        "%.100s%s%.100s: expected advance and a duration such as 3d, to and a time as RFC 3339 such as "
        "2030-01-01T00:00:00Z, or until-idle",
        word, value ? " " : "", value ? value : "");
    return false;
}
