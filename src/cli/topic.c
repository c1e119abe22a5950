#include "cli/topic.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/duration.h"
#include "cli/ask.h"
#include "cli/list.h"
#include "cli/name.h"
#include "cli/table.h"

enum { TAIL_S = 1 };

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

/* Warns if the topic is new, because its name may be mistyped. */
static void warn_of_new(struct call *call)
{
    json_t *topic = read_topic(call);
    if (topic && json_object_size(json_object_get(topic, "settings")) == 0 &&
        !has_counts(json_object_get(topic, "jobs")) && !has_counts(json_object_get(topic, "lastHour")))
        table_print_line(stderr, "duepost: topic %s is new: it has no jobs and no settings yet\n",
                         call->arguments.word);
    json_decref(topic);
}

bool topic_pause(struct call *call)
{
    if (!name_is_topic_or_pattern(call, call->arguments.word))
        return false;
    warn_of_new(call);
    return change(call, "{\"paused\":true}");
}

/* Returns whether the topic, whose own setting was just removed, is still paused by a pattern. */
static bool is_still_paused(struct call *call)
{
    json_t *topic = read_topic(call);
    bool is_paused = topic && json_is_true(json_object_get(json_object_get(topic, "settings"), "paused"));
    json_decref(topic);
    return is_paused;
}

bool topic_resume(struct call *call)
{
    return change(call, "{\"paused\":null}") &&
           (!is_still_paused(call) || change(call, "{\"paused\":false}"));
}

/* ---- topics ---- */

static bool print_patterns(struct call *call)
{
    json_t *answer = remote_ask_json(call->remote, "GET", "/topics?patterns=true", NULL, &call->problem),
           *pattern;
    size_t i;
    json_array_foreach(json_object_get(answer, "patterns"), i, pattern)
    {
        char *settings = json_dumps(json_object_get(pattern, "settings"), JSON_COMPACT);
        table_print_line(stdout, "%s  %s\n", call_text(pattern, "topic"), settings);
        free(settings);
    }
    if (json_array_size(json_object_get(answer, "patterns")) > 0)
        puts("");
    json_decref(answer);
    return call->problem.text[0] == '\0';
}

bool topic_list(struct call *call)
{
    return (call->arguments.is_json || print_patterns(call)) && list_print(call, &form_topics);
}

/* ---- set ---- */

/* Returns JSON unchanged, other text as a string, and null for an empty value. */
static json_t *value_of(struct slice text)
{
    if (text.size == 0)
        return json_null();
    json_t *value = json_loadb(text.data, text.size, JSON_DECODE_ANY, NULL);
    return value ? value : json_stringn(text.data, text.size);
}

/* Parses a rate, a number of jobs per time such as "10/s" or "100/1m". Returns NULL if text is not a rate. */
static json_t *rate_of(struct slice text)
{
    struct slice jobs, per;
    char span[32], *end;
    int64_t ms;
    long long number = strtoll(text.data, &end, 10);
    if (!slice_cut(text, '/', &jobs, &per) || end != jobs.data + jobs.size || per.size == 0)
        return NULL;
    bool has_number = per.data[0] >= '0' && per.data[0] <= '9';
    snprintf(span, sizeof span, "%s%.*s", has_number ? "" : "1", SLICE_ARG(per));
    if (!duration_parse(slice_of(span), INT64_MAX, &ms))
        return NULL;
    return json_pack("{sIsf}", "jobs", (json_int_t)number, "per", (double)ms / 1000);
}

static bool add_setting(struct call *call, json_t *patch, const char *word)
{
    struct slice name, text;
    char key[64];
    if (!slice_cut(slice_of(word), '=', &name, &text) || name.size == 0 || name.size >= sizeof key) {
        problem_set(&call->problem, "%s: expected NAME=VALUE, such as maxInFlight=10", word);
        return false;
    }
    snprintf(key, sizeof key, "%.*s", SLICE_ARG(name));
    bool is_rate = strcmp(key, "rate") == 0 && text.size > 0 && text.data[0] != '{';
    json_t *rate = is_rate ? rate_of(text) : NULL;
    if (is_rate && !rate) {
        problem_set(&call->problem, "%s: expected JOBS/TIME, such as rate=100/1m", word);
        return false;
    }
    return json_object_set_new(patch, key, rate ? rate : value_of(text)) == 0;
}

bool topic_set(struct call *call)
{
    const struct arguments *arguments = &call->arguments;
    json_t *patch = json_object();
    bool is_sound = arguments->word_count > 1;
    if (!is_sound)
        problem_set(&call->problem, "expected TOPIC NAME=VALUE..., such as orders maxInFlight=10");
    for (int i = 1; i < arguments->word_count && is_sound; i++)
        is_sound = add_setting(call, patch, arguments->words[i]);
    char *text = json_dumps(patch, JSON_COMPACT);
    is_sound = is_sound && change(call, text);
    free(text);
    json_decref(patch);
    return is_sound;
}

/* ---- tail ---- */

static bool is_new(const json_t *before, const char *name, const json_t *topic)
{
    return !json_equal(json_object_get(before, name), topic);
}

static void print_changes(const struct call *call, const json_t *before, const json_t *now)
{
    const char *name;
    json_t *topic;
    json_object_foreach((json_t *)(uintptr_t)now, name, topic)
    {
        const json_t *jobs = json_object_get(topic, "jobs");
        const char *held = call_text(topic, "heldBy");
        if (!is_new(before, name, topic))
            continue;
        if (call->arguments.is_json) {
            char *line = json_dumps(topic, JSON_COMPACT);
            table_print_json(line);
            free(line);
        } else {
            table_print_line(stdout, "%s  delayed %lld  ready %lld  leased %lld  dead %lld%s%s\n", name,
                             call_number(jobs, "delayed"), call_number(jobs, "ready"),
                             call_number(jobs, "leased"), call_number(jobs, "dead"), held ? "  held by " : "",
                             held ? held : "");
        }
    }
    fflush(stdout);
}

/* Returns a JSON object that has the topics by their names, or NULL after an error. */
static json_t *read_topics(struct call *call, struct buffer *target)
{
    json_t *all = json_object(), *page = NULL, *next, *topic;
    size_t i;
    while ((next = list_next_page(call, &form_topics, target, page))) {
        json_decref(page);
        page = next;
        json_array_foreach(json_object_get(page, "topics"), i, topic)
        {
            if (!call->arguments.word || strcmp(call_text(topic, "topic"), call->arguments.word) == 0)
                json_object_set(all, call_text(topic, "topic"), topic);
        }
    }
    json_decref(page);
    if (call->problem.text[0]) {
        json_decref(all);
        return NULL;
    }
    return all;
}

bool topic_tail(struct call *call)
{
    struct buffer target;
    if (call->arguments.word && !name_is_topic(call, call->arguments.word))
        return false;
    json_t *before = json_object(), *now;
    buffer_init(&target, CALL_TARGET_MAX);
    while (!ferror(stdout) && (now = read_topics(call, &target))) {
        print_changes(call, before, now);
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
