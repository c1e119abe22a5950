/* receivers.c - commands about the places that jobs are sent to: groups of endpoints, and receivers with
 * their circuit breakers. */
#include <stdlib.h>

#include "base/json_writer.h"
#include "cli/call.h"
#include "cli/commands.h"
#include "cli/list.h"
#include "job/target/receiver.h"

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
