#include "qstash/run_resumption.h"

#include "base/base64.h"
#include "job/job.h"
#include "job/text/json.h"

/* The data of an element that this file uses. */
struct step {
    bool is_plan;        /* the element is a plan: it announces a parallel step */
    uint64_t concurrent; /* number of steps that run in parallel; 1: the step runs alone */
};

static struct slice member_of(struct slice object, struct slice wanted)
{
    struct json_cursor cursor;
    struct slice key, value;
    bool is_object = object.size && json_open(object, &cursor) && cursor.close == '}';
    while (is_object && json_next_member(&cursor, &key, &value))
        if (slice_equal(key, wanted))
            return value;
    return SLICE("");
}

/* Returns a JSON string without its quotes, or an empty text if the string has escapes. */
static struct slice plain_text(struct slice value)
{
    return value.size >= 2 && json_is_text(value) ? slice_from(value.data + 1, value.size - 2) : SLICE("");
}

bool run_resumption_read_body(struct slice element, struct buffer *body)
{
    struct slice text = plain_text(member_of(element, SLICE("\"body\"")));
    return text.size == 0 || (base64_decode(text, body) && !body->failed);
}

static struct step read_step(const struct workflow_element *element)
{
    static const struct json_limits limits = {JOB_DEPTH_MAX, JOB_MEMBERS_MAX};
    struct step step = {.concurrent = 1};
    struct json_fault ignored;
    struct buffer body;
    uint64_t target = 0;
    buffer_init_fallible(&body, JOB_RECORD_MAX);
    if (!element->is_call && run_resumption_read_body(element->text, &body) &&
        json_check(buffer_slice(&body), &limits, &ignored) == STATUS_OK) {
        slice_to_number(member_of(buffer_slice(&body), SLICE("\"concurrent\"")), INT32_MAX, &step.concurrent);
        slice_to_number(member_of(buffer_slice(&body), SLICE("\"targetStep\"")), INT32_MAX, &target);
        step.is_plan = target > 0;
    }
    buffer_fini(&body);
    return step;
}

/* Returns the index of the last element before this one that does not belong to a call. Index 0 means that
 * there is no such element. */
static size_t before(const struct run_failure *failure, size_t index)
{
    while (index > 1 && failure->elements[index - 1].is_call)
        index--;
    return index > 0 ? index - 1 : 0;
}

/* Finds the parallel steps to which an element belongs. Returns the index of their first plan, or 0 if there
 * is none. */
static size_t first_plan(const struct run_failure *failure, size_t index)
{
    while (index > 0 && !read_step(&failure->elements[index]).is_plan)
        index--;
    while (index > 0 && read_step(&failure->elements[index - 1]).is_plan)
        index--;
    return index;
}

/* Returns the number of plans and results from the element first to the element last. */
static uint64_t count_steps(const struct run_failure *failure, size_t first, size_t last)
{
    uint64_t count = 0;
    for (size_t i = first; i <= last; i++)
        count += !failure->elements[i].is_call;
    return count;
}

size_t run_resumption_find(const struct run_failure *failure)
{
    size_t index = 0;
    while (index < failure->count && !slice_equal(failure->elements[index].job, failure->job))
        index++;
    if (index == failure->count && !failure->is_parallel_answer)
        return index;
    if (index == failure->count)
        return before(failure, first_plan(failure, index - (index > 0)));
    struct step step = read_step(&failure->elements[index]);
    if (index == 0 || step.concurrent < 2)
        return index;
    size_t plan = first_plan(failure, index);
    bool is_complete = !step.is_plan && count_steps(failure, plan, index) >= 2 * step.concurrent;
    return is_complete ? index : before(failure, plan);
}
