#include "cli/list.h"

#include <stdio.h>
#include <string.h>

#include "job/text/json.h"

enum { ITEMS_MAX = 1024 * 1024 * 1024, ARRAY_MAX = ITEMS_MAX + 2 };

json_t *list_next_page(struct call *call, const struct form *form, struct buffer *target,
                       const json_t *before)
{
    const char *cursor = before ? call_text(before, "cursor") : NULL;
    if ((before && !cursor) || call->left == 0)
        return NULL;
    call_make_target(call, target, form->path, cursor);
    json_t *page = remote_ask_json(call->remote, "GET", buffer_text(target), NULL, &call->problem);
    call_took(call, (long long)json_array_size(json_object_get(page, form->member)));
    return page;
}

/* Removes the entries of a page that are older than --since. With --json, appends the other entries to
 * items, as the server sent them: with a comma after each, the newest first. */
static void take_items(struct call *call, const struct form *form, json_t *page, struct buffer *items)
{
    struct json_cursor cursor;
    struct slice item;
    struct buffer before;
    bool is_selected = form->time && call->since[0];
    json_t *entries = json_object_get(page, form->member);
    if (!json_open(call_member(remote_text(call->remote), form->member), &cursor))
        return;
    buffer_init(&before, REMOTE_ANSWER_MAX);
    for (size_t i = 0; json_next_item(&cursor, &item);) {
        const char *time = is_selected ? call_text(json_array_get(entries, i), form->time) : NULL;
        if (time && strcmp(time, call->since) < 0) {
            json_array_remove(entries, i);
            call_took(call, -1);
            continue;
        }
        i++;
        if (!call->arguments.is_json)
            continue;
        buffer_clear(&before);
        if (form->is_oldest_first) {
            buffer_append(&before, buffer_slice(items));
            buffer_clear(items);
        }
        buffer_append(items, item);
        buffer_append_byte(items, ',');
        buffer_append(items, buffer_slice(&before));
    }
    buffer_fini(&before);
}

static void print_items(struct slice items)
{
    struct buffer array;
    buffer_init(&array, ARRAY_MAX);
    buffer_append_byte(&array, '[');
    buffer_append(&array,
                  slice_from(items.data, items.size ? items.size - 1 : 0)); /* without the last comma */
    buffer_append_byte(&array, ']');
    call_print_json(buffer_slice(&array));
    buffer_fini(&array);
}

bool list_print(struct call *call, const struct form *form)
{
    struct buffer target, items;
    struct table table;
    json_t *page = NULL, *next;
    bool is_partial = false;
    buffer_init(&target, CALL_TARGET_MAX);
    buffer_init(&items, ITEMS_MAX);
    table_init(&table, form->columns, form->titles);
    while ((next = list_next_page(call, form, &target, page))) {
        json_decref(page);
        page = next;
        take_items(call, form, page, &items);
        form->add(&table, page);
        is_partial = is_partial || json_is_true(json_object_get(page, "partial"));
    }
    if (items.failed && !call->problem.text[0])
        problem_set(&call->problem, "the list has more than 1 GiB; use --limit or a filter");
    bool is_done = call->problem.text[0] == '\0';
    if (is_done && call->arguments.is_json) {
        print_items(buffer_slice(&items));
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
