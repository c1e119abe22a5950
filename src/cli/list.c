#include "cli/list.h"

#include <stdio.h>

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

bool list_print(struct call *call, const struct form *form)
{
    struct buffer target;
    struct table table;
    json_t *all = json_array(), *page = NULL, *next;
    bool is_partial = false;
    buffer_init(&target, CALL_TARGET_MAX);
    table_init(&table, form->columns, form->titles);
    while ((next = list_next_page(call, form, &target, page))) {
        json_decref(page);
        page = next;
        json_array_extend(all, json_object_get(page, form->member));
        form->add(&table, page);
        is_partial = is_partial || json_is_true(json_object_get(page, "partial"));
    }
    bool is_done = call->problem.text[0] == '\0';
    if (is_done && call->arguments.is_json)
        call_print_json(all);
    else if (is_done)
        table_print(&table);
    if (is_done && is_partial)
        fputs("duepost: the list is partial: more than 10,000 topics have jobs; choose one with "
              "--topic\n",
              stderr);
    json_decref(page);
    json_decref(all);
    table_fini(&table);
    buffer_fini(&target);
    return is_done;
}
