#include "cli/ask.h"

#include <stdio.h>
#include <string.h>

bool ask_make_job_target(struct buffer *target, struct call *call, const char *suffix)
{
    const char *word = call->arguments.word;
    const char *slash = word ? strchr(word, '/') : NULL;
    if (!slash || slash == word || !slash[1]) {
        problem_set(&call->problem, "expected a job as TOPIC/ID");
        return false;
    }
    buffer_printf(target, "/jobs/%.*s/", (int)(slash - word), word);
    call_add_encoded(target, slash + 1);
    buffer_printf(target, "%s", suffix);
    return true;
}

bool ask_make_topic_target(struct buffer *target, struct call *call)
{
    if (!call->arguments.word) {
        problem_set(&call->problem, "expected a topic");
        return false;
    }
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
        puts(text);
    else
        call_print_json(answer);
    json_decref(answer);
    return true;
}
