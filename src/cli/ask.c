#include "cli/ask.h"

#include <stdio.h>

#include "cli/name.h"
#include "cli/table.h"

bool ask_make_job_target(struct buffer *target, struct call *call, const char *suffix)
{
    buffer_printf(target, "/jobs/");
    if (!name_add_id(target, call, call->arguments.word, "job"))
        return false;
    buffer_printf(target, "%s", suffix);
    return true;
}

bool ask_make_topic_target(struct buffer *target, struct call *call)
{
    if (!name_is_topic_or_pattern(call, call->arguments.word))
        return false;
    buffer_printf(target, "/topics/");
    call_add_encoded(target, call->arguments.word);
    return true;
}

bool ask(struct call *call, const char *method, const char *target, const char *body, const char *member)
{
    json_t *answer = remote_ask_json(call->remote, method, target, body, &call->problem);
    const char *text = member ? call_text(answer, member) : NULL;
    if (!answer)
        return false;
    if (text && !call->arguments.is_json)
        table_print_line(stdout, "%s\n", text);
    else
        call_print_answer(call);
    json_decref(answer);
    return true;
}
