/* topics.c - commands about topics (topics, pause, resume, set, tail) and about the places that jobs are sent
 * to: groups of endpoints, and receivers with their circuit breakers. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/duration.h"
#include "base/json_writer.h"
#include "cli/call.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "job/target/receiver.h"
#include "job/text/json.h"

enum { TAIL_S = 1, LINE_MAX_BYTES = 4096, PATCH_MAX = 4 * 1024 * 1024 };

static bool change(struct call *call, const char *patch)
{
    struct buffer target;
    buffer_init(&target, CALL_TARGET_MAX);
    bool is_done =
        ask_make_topic_target(&target, call) && ask(call, "PATCH", buffer_text(&target), patch, NULL);
    buffer_fini(&target);
    return is_done;
}

/* ---- pause, resume ---- */

static bool has_counts(const json_t *numbers)
{
    const char *name;
    json_t *number;
    json_object_foreach((json_t *)(uintptr_t)numbers, name, number)
    {
        if (json_integer_value(number) > 0)
            return true;
    }
    return false;
}

/* Requests the topic that the command names. Returns it as JSON, or NULL after an error. The caller frees it
 * with json_decref. */
static json_t *read_topic(struct call *call)
{
    struct buffer target;
    struct problem ignored = {""};
    json_t *topic = NULL;
    buffer_init(&target, CALL_TARGET_MAX);
    if (ask_make_topic_target(&target, call))
        topic = remote_ask_json(call->remote, "GET", buffer_text(&target), NULL, &ignored);
    buffer_fini(&target);
    return topic;
}

bool pause_run(struct call *call)
{
    if (!name_is_topic_or_pattern(call, call->arguments.word))
        return false;
    /* Warns if the topic is new, because its name may be mistyped. */
    json_t *topic = read_topic(call);
    if (topic && json_object_size(json_object_get(topic, "settings")) == 0 &&
        !has_counts(json_object_get(topic, "jobs")) && !has_counts(json_object_get(topic, "lastHour")))
        table_print_line(stderr, "duepost: topic %s is new: it has no jobs and no settings yet\n",
                         call->arguments.word);
    json_decref(topic);
    return change(call, "{\"paused\":true}");
}

bool resume_run(struct call *call)
{
    if (!change(call, "{\"paused\":null}"))
        return false;
    json_t *topic = read_topic(call);
    bool is_still_paused =
        topic && json_is_true(json_object_get(json_object_get(topic, "settings"), "paused"));
    json_decref(topic);
    return !is_still_paused || change(call, "{\"paused\":false}");
}

/* ---- topics ---- */

static bool print_patterns(struct call *call)
{
    json_t *answer = remote_ask_json(call->remote, "GET", "/topics?patterns=true", NULL, &call->problem),
           *pattern;
    size_t i;
    json_array_foreach(json_object_get(answer, "patterns"), i, pattern)
    {
        char *settings = call_setting(json_object_get(pattern, "settings"));
        table_print_line(stdout, "%s  %s\n", call_text(pattern, "topic"), settings);
        free(settings);
    }
    if (json_array_size(json_object_get(answer, "patterns")) > 0)
        puts("");
    json_decref(answer);
    return call->problem.text[0] == '\0';
}

/* ---- one topic ---- */

/* Prints numbers, such as "jobs       delayed 4  ready 120". */
static void print_numbers(const char *title, const json_t *numbers)
{
    const char *name;
    json_t *number;
    if (!numbers)
        return;
    printf("%-9s", title);
    json_object_foreach((json_t *)(uintptr_t)numbers, name, number)
    {
        if (json_is_integer(number))
            printf("  %s %lld", name, (long long)json_integer_value(number));
    }
    puts("");
}

/* Prints why the due jobs of the topic wait, and what lets them through. */
static void print_hold(const json_t *topic, const char *name)
{
    static const struct {
        const char *hold, *way;
    } ways[] = {
        {"paused", "; duepost resume %s lets the jobs through"},
        {"settings", "; duepost topics %s --remove removes them"},
        {"noUrl", "; duepost set %s url=URL lets the jobs through"},
        {"rate", "; duepost set %s rate=100/1m sets a higher rate"},
        {"maxInFlight", "; duepost set %s maxInFlight=N sets a higher limit"},
        {"windows", "; duepost set %s windows= lets the jobs through"},
        {"limit", ", which it shares with other topics; duepost limits shows who uses it"},
    };
    const char *hold = call_text(topic, "heldBy"), *until = call_text(topic, "heldUntil"), *way = "";
    char span[WHEN_SPAN_SIZE];
    struct buffer line;
    if (!hold)
        return;
    buffer_init(&line, LINE_MAX_BYTES);
    buffer_printf(&line, "held by    %s", hold);
    if (until && when_span(until, span))
        buffer_printf(&line, " until %s, %s", until, span);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
        if (strcmp(hold, ways[i].hold) == 0)
            way = ways[i].way;
    const char *place = strstr(way, "%s");
    if (place)
        buffer_printf(&line, "%.*s%s%s", (int)(place - way), way, name, place + 2);
    table_print_line(stdout, "%s\n", buffer_text(&line));
    buffer_fini(&line);
}

/* Prints the settings, and where each of them is from: the topic, a pattern, or the defaults. */
static void print_settings(const json_t *topic)
{
    static const char *const titles[] = {"SETTING", "VALUE", "FROM"};
    const json_t *settings = json_object_get(topic, "settings"), *from = json_object_get(topic, "from");
    struct table table;
    const char *name;
    json_t *value;
    table_init(&table, from ? 3 : 2, titles);
    json_object_foreach((json_t *)(uintptr_t)settings, name, value)
    {
        char *text = call_setting(value);
        table_add(&table, name);
        table_add(&table, text);
        if (from)
            table_add(&table, call_text(from, name));
        free(text);
    }
    puts("");
    table_print(&table);
    table_fini(&table);
}

static bool topic_show(struct call *call)
{
    struct buffer target;
    const char *name = call->arguments.word;
    if (call->arguments.values[ARGUMENT_LIMIT]) {
        problem_set(&call->problem, "--limit cannot be combined with a topic");
        return false;
    }
    buffer_init(&target, CALL_TARGET_MAX);
    json_t *topic = NULL;
    bool is_removal = call->arguments.is_removal;
    if (ask_make_topic_target(&target, call))
        topic = remote_ask_json(call->remote, is_removal ? "DELETE" : "GET", buffer_text(&target), NULL,
                                &call->problem);
    buffer_fini(&target);
    if (topic && call->arguments.is_json) {
        call_print_answer(call);
    } else if (topic) {
        char age[WHEN_SPAN_SIZE];
        const char *oldest = call_text(topic, "oldestOverdueAt");
        printf("topic      %s\n", name);
        print_numbers("jobs", json_object_get(topic, "jobs"));
        print_numbers("last hour", json_object_get(topic, "lastHour"));
        if (oldest && when_age(oldest, age))
            printf("overdue    %lld, the oldest for %s\n", call_number(topic, "overdue"), age);
        print_numbers("quota", json_object_get(topic, "quota"));
        print_hold(topic, name);
        print_settings(topic);
    }
    json_decref(topic);
    return topic;
}

bool topics_run(struct call *call)
{
    if (call->arguments.word)
        return topic_show(call);
    if (call->arguments.is_removal) {
        problem_set(&call->problem, "--remove needs a topic or a pattern");
        return false;
    }
    return (call->arguments.is_json || print_patterns(call)) && list_print(call, &listing_topics);
}

/* ---- set ---- */

/* Adds a rate, a number of jobs per time such as "10/s" or "100/1m". Returns false if text is not a rate. */
static bool add_rate(struct json_writer *patch, struct slice text)
{
    struct slice jobs, per;
    char span[32];
    uint64_t number;
    int64_t ms;
    if (!slice_cut(text, '/', &jobs, &per) || per.size == 0 || !slice_to_number(jobs, INT64_MAX, &number))
        return false;
    bool has_number = per.data[0] >= '0' && per.data[0] <= '9';
    snprintf(span, sizeof span, "%s%.*s", has_number ? "" : "1", SLICE_ARG(per));
    if (!duration_parse(slice_of(span), INT64_MAX, &ms))
        return false;
    json_put_object(patch);
    json_add_number(patch, "jobs", (int64_t)number);
    json_add_seconds(patch, "per", ms);
    json_end_object(patch);
    return true;
}

/* Adds a setting. JSON is sent as it is typed, other text as a string, and null for an empty value. */
static bool add_setting(struct call *call, struct json_writer *patch, const char *word)
{
    struct slice name, text;
    if (!slice_cut(slice_of(word), '=', &name, &text) || name.size == 0) {
        problem_set(&call->problem, "%s: expected NAME=VALUE, such as maxInFlight=10", word);
        return false;
    }
    json_put_name_text(patch, name);
    bool is_rate = slice_equal(name, SLICE("rate")) && text.size > 0 && text.data[0] != '{';
    if (is_rate && !add_rate(patch, text)) {
        problem_set(&call->problem, "%s: expected JOBS/TIME, such as rate=100/1m", word);
        return false;
    }
    if (!is_rate && text.size == 0)
        json_put_raw(patch, SLICE("null"));
    else if (!is_rate && call_is_json(text))
        json_put_raw(patch, text);
    else if (!is_rate)
        json_put_text(patch, text);
    return true;
}

/* Returns the name of the object to which the setting of a word belongs, such as "perKey" of
 * "perKey.weight=2", or an empty slice. */
static struct slice object_of(const char *word)
{
    struct slice name, ignored, object;
    slice_cut(slice_of(word), '=', &name, &ignored);
    return slice_cut(name, '.', &object, &ignored) ? object : SLICE("");
}

/* Writes the settings of the words from this index on as a patch. Settings of one object become one object,
 * which the server merges with the old one. */
static bool write_settings(struct call *call, int first, struct buffer *text)
{
    const struct arguments *arguments = &call->arguments;
    struct json_writer patch = json_writer_to(text);
    bool is_sound = true;
    json_put_object(&patch);
    for (int i = first; i < arguments->word_count && is_sound; i++) {
        struct slice object = object_of(arguments->words[i]);
        int same = first;
        while (same < i && !slice_equal(object_of(arguments->words[same]), object))
            same++;
        if (object.size == 0)
            is_sound = add_setting(call, &patch, arguments->words[i]);
        if (object.size == 0 || same < i) /* the object was written with its first setting */
            continue;
        json_put_name_text(&patch, object);
        json_put_object(&patch);
        for (int k = i; k < arguments->word_count && is_sound; k++)
            if (slice_equal(object_of(arguments->words[k]), object))
                is_sound = add_setting(call, &patch, arguments->words[k] + object.size + 1);
        json_end_object(&patch);
    }
    json_end_object(&patch);
    return is_sound;
}

bool set_run(struct call *call)
{
    struct buffer text;
    buffer_init(&text, PATCH_MAX);
    bool is_sound = call->arguments.word_count > 1;
    if (!is_sound)
        problem_set(&call->problem, "expected TOPIC NAME=VALUE..., such as orders maxInFlight=10");
    is_sound = is_sound && write_settings(call, 1, &text) && change(call, buffer_text(&text));
    buffer_fini(&text);
    return is_sound;
}

/* ---- limits ---- */

/* Prints what holds a limit or a key, and its settings. */
static void print_hold_and_settings(const json_t *limit)
{
    const char *hold = call_text(limit, "heldBy"), *until = call_text(limit, "heldUntil");
    char span[WHEN_SPAN_SIZE];
    if (hold && until && when_span(until, span))
        table_print_line(stdout, "held by    %s until %s, %s\n", hold, until, span);
    else if (hold)
        table_print_line(stdout, "held by    %s\n", hold);
    print_settings(limit);
}

static void print_limit(const json_t *limit)
{
    const json_t *waiting = json_object_get(limit, "waiting");
    size_t i;
    json_t *topic;
    printf("limit      %s\n", call_text(limit, "limit"));
    printf("in flight  %lld\n", call_number(limit, "inFlight"));
    printf("waiting    %lld topics", call_number(limit, "waitingTopics"));
    json_array_foreach(waiting, i, topic)
    {
        table_print_line(stdout, "%s%s", i ? ", " : ": ", json_string_value(topic));
    }
    puts("");
    print_hold_and_settings(limit);
}

/* Writes the patch of the words from this index on: pause [REASON], resume or NAME=VALUE... */
static bool write_limit_patch(struct call *call, int first, struct buffer *text)
{
    const struct arguments *arguments = &call->arguments;
    const char *verb = arguments->words[first], *reason = arguments->words[first + 1];
    int most = first + (strcmp(verb, "pause") == 0 ? 2 : 1);
    struct json_writer patch = json_writer_to(text);
    bool is_pause = strcmp(verb, "pause") == 0, is_resume = strcmp(verb, "resume") == 0;
    if (!is_pause && !is_resume)
        return write_settings(call, first, text);
    if (arguments->word_count > most) {
        problem_set(&call->problem, "%s: unexpected argument", arguments->words[most]);
        return false;
    }
    json_put_object(&patch);
    if (is_pause)
        json_add_bool(&patch, "paused", true);
    if (is_resume) {
        json_put_name(&patch, "paused");
        json_put_raw(&patch, SLICE("null"));
    }
    if (is_pause && arguments->word_count == most)
        json_add_text(&patch, "pauseReason", slice_of(reason));
    json_end_object(&patch);
    return true;
}

/* Changes the limit, or creates a new one if the words are settings. */
static bool set_limit(struct call *call, const char *target, const char *patch)
{
    bool has_settings = strchr(call->arguments.words[1], '=') != NULL;
    if (ask(call, "PATCH", target, patch, NULL))
        return true;
    if (!has_settings || !slice_equal(call_member(remote_text(call->remote), "status"), SLICE("404")))
        return false;
    call->problem = (struct problem){""};
    return ask(call, "PUT", target, patch, NULL);
}

static bool limit_run(struct call *call, const char *target)
{
    struct buffer text;
    if (call->arguments.is_removal)
        return ask(call, "DELETE", target, NULL, "state");
    if (call->arguments.word_count > 1) {
        buffer_init(&text, PATCH_MAX);
        bool is_done = write_limit_patch(call, 1, &text) && set_limit(call, target, buffer_text(&text));
        buffer_fini(&text);
        return is_done;
    }
    json_t *limit = remote_ask_json(call->remote, "GET", target, NULL, &call->problem);
    if (limit && call->arguments.is_json)
        call_print_answer(call);
    else if (limit)
        print_limit(limit);
    json_decref(limit);
    return limit;
}

bool limits_run(struct call *call)
{
    const struct arguments *arguments = &call->arguments;
    struct buffer target;
    if (!arguments->word && !arguments->is_removal)
        return list_print(call, &listing_limits);
    if (!name_is_limit(call, arguments->word))
        return false;
    if (arguments->values[ARGUMENT_LIMIT] || (arguments->is_removal && arguments->word_count > 1)) {
        problem_set(&call->problem, "%s cannot be combined with %s",
                    arguments->values[ARGUMENT_LIMIT] ? "--limit" : "--remove",
                    arguments->values[ARGUMENT_LIMIT] ? "a limit" : "settings");
        return false;
    }
    buffer_init(&target, CALL_TARGET_MAX);
    buffer_printf(&target, "/limits/");
    call_add_encoded(&target, arguments->word);
    bool is_done = limit_run(call, buffer_text(&target));
    buffer_fini(&target);
    return is_done;
}

/* ---- keys ---- */

static void print_key(const json_t *key)
{
    const char *oldest = call_text(key, "oldestOverdueAt");
    char age[WHEN_SPAN_SIZE];
    table_print_line(stdout, "key        %s\n", call_text(key, "key"));
    printf("jobs       waiting %lld  in flight %lld\n", call_number(key, "waiting"),
           call_number(key, "inFlight"));
    printf("share      %.0f %% of the attempts of its topic\n",
           100 * json_number_value(json_object_get(key, "share")));
    if (oldest && when_age(oldest, age))
        printf("overdue    for %s\n", age);
    print_hold_and_settings(key);
}

/* Shows a key, changes its settings or removes them. */
static bool key_run(struct call *call, const char *target)
{
    json_t *key = NULL;
    struct buffer text;
    if (call->arguments.is_removal)
        return ask(call, "DELETE", target, NULL, NULL);
    if (call->arguments.word_count > 2) {
        buffer_init(&text, PATCH_MAX);
        bool is_done =
            write_limit_patch(call, 2, &text) && ask(call, "PATCH", target, buffer_text(&text), NULL);
        buffer_fini(&text);
        return is_done;
    }
    key = remote_ask_json(call->remote, "GET", target, NULL, &call->problem);
    if (key && call->arguments.is_json)
        call_print_answer(call);
    else if (key)
        print_key(key);
    json_decref(key);
    return key;
}

bool keys_run(struct call *call)
{
    const struct arguments *arguments = &call->arguments;
    struct listing listing = listing_keys;
    struct buffer target;
    bool is_list = arguments->word_count < 2, is_done = false;
    if (!name_is_topic(call, arguments->word))
        return false;
    buffer_init(&target, CALL_TARGET_MAX);
    buffer_printf(&target, "/topics/%s/keys", arguments->word);
    if (is_list && arguments->is_removal) {
        problem_set(&call->problem, "--remove needs a key");
    } else if (!is_list &&
               (arguments->values[ARGUMENT_LIMIT] || (arguments->is_removal && arguments->word_count > 2))) {
        bool has_limit = arguments->values[ARGUMENT_LIMIT];
        problem_set(&call->problem, "%s cannot be combined with %s", has_limit ? "--limit" : "--remove",
                    has_limit ? "a key" : "settings");
    } else if (is_list) {
        listing.path = buffer_text(&target);
        is_done = list_print(call, &listing);
    } else {
        buffer_append_byte(&target, '/');
        call_add_encoded(&target, arguments->words[1]);
        is_done = key_run(call, buffer_text(&target));
    }
    buffer_fini(&target);
    return is_done;
}

/* ---- tail ---- */

/* Adds the topics of a page to all, by their names: as objects or, with --json, as the text that the server
 * sent. */
static void add_topics(const struct call *call, const json_t *page, json_t *all)
{
    struct json_cursor cursor;
    struct slice text;
    json_t *topic;
    size_t i;
    if (!json_open(call_member(remote_text(call->remote), listing_topics.member), &cursor))
        return;
    json_array_foreach(json_object_get(page, listing_topics.member), i, topic)
    {
        const char *name = call_text(topic, "topic");
        if (!json_next_item(&cursor, &text) ||
            (call->arguments.word && strcmp(name, call->arguments.word) != 0))
            continue;
        json_object_set_new(
            all, name, call->arguments.is_json ? json_stringn(text.data, text.size) : json_incref(topic));
    }
}

/* Returns a JSON object that has the topics by their names, or NULL after an error. */
static json_t *read_topics(struct call *call, struct buffer *target)
{
    json_t *all = json_object(), *page = NULL, *next;
    while ((next = list_next_page(call, &listing_topics, target, page))) {
        json_decref(page);
        page = next;
        add_topics(call, page, all);
    }
    json_decref(page);
    if (call->problem.text[0]) {
        json_decref(all);
        return NULL;
    }
    return all;
}

/* The events of a topic, as they come (GET /events). */
struct tail_stream {
    const struct call *call;
    struct buffer line, event, data; /* the line that is not complete yet; the event that is read */
    struct buffer last;              /* header with the id of the last event */
};

static void print_event(const struct tail_stream *stream)
{
    struct slice data = buffer_slice(&stream->data);
    if (stream->call->arguments.is_json) {
        char *text = slice_dup(data);
        table_print_json(text);
        free(text);
        return;
    }
    json_t *event = json_loadb(data.data ? data.data : "", data.size, JSON_ALLOW_NUL, NULL);
    const json_t *attempt = json_object_get(event, "lastAttempt"),
                 *progress = json_object_get(event, "progress");
    const char *at = call_text(event, "at"), *id = call_text(event, "jobId"), *key = call_text(event, "key");
    const char *error = call_text(attempt, "error");
    struct buffer more;
    buffer_init(&more, LINE_MAX_BYTES);
    if (key)
        buffer_printf(&more, "  key %s", key);
    if (attempt)
        buffer_printf(&more, "  attempt %lld", call_number(event, "attempt"));
    if (error)
        buffer_printf(&more, "  %s", error);
    else if (attempt)
        buffer_printf(&more, "  %lld", call_number(attempt, "status"));
    if (json_is_number(progress))
        buffer_printf(&more, "  %.0f %%", 100 * json_number_value(progress));
    table_print_line(stdout, "%s  %.*s%s%s%s\n", at ? at : "", SLICE_ARG(buffer_slice(&stream->event)),
                     id ? "  " : "", id ? id : "", more.size ? buffer_text(&more) : "");
    buffer_fini(&more);
    json_decref(event);
}

/* Takes one line of the stream, without its end. An empty line ends an event. */
static void take_line(struct tail_stream *stream, struct slice line)
{
    struct slice name, value;
    if (line.size == 0) {
        if (stream->data.size > 0) {
            print_event(stream);
            fflush(stdout);
        }
        buffer_clear(&stream->event);
        buffer_clear(&stream->data);
        return;
    }
    slice_cut(line, ':', &name, &value);
    value = slice_trim(value);
    struct buffer *into = slice_equal(name, SLICE("event"))  ? &stream->event
                          : slice_equal(name, SLICE("data")) ? &stream->data
                          : slice_equal(name, SLICE("id"))   ? &stream->last
                                                             : NULL;
    if (!into)
        return;
    buffer_clear(into);
    if (into == &stream->last)
        buffer_append(into, SLICE("Last-Event-ID: "));
    buffer_append(into, value);
}

static bool on_piece(void *arg, struct slice piece)
{
    struct tail_stream *stream = arg;
    for (size_t i = 0; i < piece.size; i++) {
        if (piece.data[i] != '\n') {
            buffer_append_byte(&stream->line, piece.data[i]);
            continue;
        }
        take_line(stream, buffer_slice(&stream->line));
        buffer_clear(&stream->line);
    }
    return !ferror(stdout);
}

enum { NO_EVENTS = 409, NO_PATH = 404, TAIL_LINE_MAX = 1024 * 1024, EVENT_HEADER_MAX = 128 };

/* Prints the events of a topic until the server or the output fails. Returns false if the topic has no
 * events: it lacks the setting, or the server is older. A lost connection is opened again, behind the last
 * event. */
static bool tail_events(struct call *call)
{
    struct tail_stream stream = {.call = call};
    struct buffer target;
    struct problem problem;
    long status;
    bool was_heard = false;
    buffer_init(&target, CALL_TARGET_MAX);
    buffer_init(&stream.line, TAIL_LINE_MAX);
    buffer_init(&stream.event, EVENT_HEADER_MAX);
    buffer_init(&stream.data, TAIL_LINE_MAX);
    buffer_init(&stream.last, EVENT_HEADER_MAX);
    buffer_printf(&target, "/events?topic=");
    call_add_encoded(&target, call->arguments.word);
    do {
        buffer_clear(&stream.line);
        enum status ended = remote_stream(call->remote, buffer_text(&target),
                                          stream.last.size ? buffer_text(&stream.last) : "", on_piece,
                                          &stream, &status, &problem);
        was_heard |= status / 100 == 2;
        if (ferror(stdout))
            break;
        if (was_heard)
            table_print_line(stderr, "duepost tail: %s; connecting again\n",
                             ended == STATUS_OK ? "the server has ended the stream" : problem.text);
        if (was_heard)
            sleep(TAIL_S);
    } while (was_heard && (status == 0 || status / 100 == 2 || status >= 500));
    bool has_none = !was_heard && (status == NO_EVENTS || status == NO_PATH);
    if (!has_none && !ferror(stdout))
        call->problem = problem;
    buffer_fini(&target);
    buffer_fini(&stream.line);
    buffer_fini(&stream.event);
    buffer_fini(&stream.data);
    buffer_fini(&stream.last);
    return !has_none;
}

bool tail_run(struct call *call)
{
    struct buffer target;
    if (call->arguments.word && !name_is_topic(call, call->arguments.word))
        return false;
    if (call->arguments.word && tail_events(call)) {
        if (ferror(stdout))
            problem_set(&call->problem, "standard output cannot be written: %s", strerror(errno));
        return false;
    }
    json_t *before = json_object(), *now;
    buffer_init(&target, CALL_TARGET_MAX);
    while (!ferror(stdout) && (now = read_topics(call, &target))) {
        const char *name;
        json_t *topic;
        json_object_foreach((json_t *)(uintptr_t)now, name, topic)
        {
            if (json_equal(json_object_get(before, name), topic))
                continue;
            if (json_is_string(topic)) {
                table_print_json(json_string_value(topic));
            } else {
                const json_t *jobs = json_object_get(topic, "jobs");
                const char *held = call_text(topic, "heldBy");
                table_print_line(stdout, "%s  delayed %lld  ready %lld  leased %lld  dead %lld%s%s\n", name,
                                 call_number(jobs, "delayed"), call_number(jobs, "ready"),
                                 call_number(jobs, "leased"), call_number(jobs, "dead"),
                                 held ? "  held by " : "", held ? held : "");
            }
        }
        fflush(stdout);
        json_decref(before);
        before = now;
        if (!ferror(stdout))
            sleep(TAIL_S);
    }
    if (ferror(stdout))
        problem_set(&call->problem, "standard output cannot be written: %s", strerror(errno));
    json_decref(before);
    buffer_fini(&target);
    return false;
}

/* ---- groups ---- */

bool groups_run(struct call *call)
{
    return list_print(call, &listing_groups);
}

enum { GROUP_TEXT_MAX = 512 * 1024 };

/* Writes the endpoints of the words ENDPOINT=URL. */
static bool write_endpoints(struct call *call, struct buffer *text)
{
    struct json_writer json = json_writer_to(text);
    json_put_object(&json);
    json_add_object(&json, "endpoints");
    for (int i = 1; i < call->arguments.word_count; i++) {
        const char *word = call->arguments.words[i];
        struct slice name, url;
        if (!slice_cut(slice_of(word), '=', &name, &url) || name.size == 0 || url.size == 0) {
            problem_set(&call->problem, "%s: expected ENDPOINT=URL, such as north=https://north.example/hook",
                        word);
            return false;
        }
        json_put_name_text(&json, name);
        json_put_object(&json);
        json_add_text(&json, "url", url);
        json_end_object(&json);
    }
    json_end_object(&json);
    json_end_object(&json);
    return true;
}

bool group_run(struct call *call)
{
    struct buffer target, text;
    bool is_change = call->arguments.word_count > 1, is_done = false;
    if (!call->arguments.word || (is_change && call->arguments.is_removal)) {
        problem_set(&call->problem, "expected a group, and then endpoints as ENDPOINT=URL, or --remove");
        return false;
    }
    if (!name_is_group(call, call->arguments.word))
        return false;
    buffer_init(&target, CALL_TARGET_MAX);
    buffer_init(&text, GROUP_TEXT_MAX);
    buffer_append(&target, SLICE("/groups/"));
    call_add_encoded(&target, call->arguments.word);
    if (call->arguments.is_removal)
        is_done = ask(call, "DELETE", buffer_text(&target), NULL, "state");
    else if (!is_change)
        is_done = ask(call, "GET", buffer_text(&target), NULL, NULL);
    else if (write_endpoints(call, &text))
        is_done = ask(call, "PUT", buffer_text(&target), buffer_text(&text), NULL);
    buffer_fini(&target);
    buffer_fini(&text);
    return is_done;
}

/* ---- receivers ---- */

bool receivers_run(struct call *call)
{
    return list_print(call, &listing_receivers);
}

bool audit_run(struct call *call)
{
    call_use_since(call, ARGUMENT_FROM);
    return list_print(call, &listing_audit);
}

bool close_run(struct call *call)
{
    struct buffer target;
    char name[RECEIVER_HOST_SIZE];
    const char *word = call->arguments.word;
    if (!word || !receiver_name_parse(slice_of(word), name)) {
        problem_set(&call->problem,
                    "%.300s%sexpected a receiver as HOST:PORT, without a path; duepost receivers lists them",
                    word ? word : "", word ? ": " : "");
        return false;
    }
    buffer_init(&target, CALL_TARGET_MAX);
    buffer_printf(&target, "/receivers/");
    call_add_encoded(&target, name);
    buffer_printf(&target, "/close");
    bool is_done = ask(call, "POST", buffer_text(&target), NULL, "state");
    buffer_fini(&target);
    return is_done;
}
