/* topic_settings_merge.c - the only trees in here are jansson's, of settings and of what is merged into them.
 *
 * jansson goes on without memory: it may leave bytes out, and call what it read or wrote fine, or not valid.
 * So what it asks for is watched, and nothing is believed once it got none. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "job/job_errors.h"
#include "job/json.h"
#include "job/topic_settings.h"

enum { REAL_DIGITS = 15 };

static _Thread_local bool has_no_memory;

static void *allocate(size_t bytes)
{
    void *memory = malloc(bytes);
    has_no_memory |= !memory;
    return memory;
}

void topic_settings_startup(void)
{
    json_set_alloc_funcs(allocate, free);
    json_object_seed(0);
}

/* RFC 7396, 2. What is no object replaces; depth is bounded by json_check. */
static void merge(json_t *target, json_t *patch)
{
    const char *name;
    json_t *value;
    json_object_foreach(patch, name, value)
    {
        json_t *there = json_object_get(target, name);
        if (json_is_null(value)) {
            json_object_del(target, name);
        } else if (!json_is_object(value)) {
            json_object_set(target, name, value);
        } else {
            if (!json_is_object(there))
                json_object_set_new(target, name, json_object());
            merge(json_object_get(target, name), value);
        }
    }
}

static bool merge_texts(struct slice text, struct slice patch, struct buffer *out)
{
    json_error_t ignored;
    json_t *change = json_loadb(patch.data, patch.size, JSON_ALLOW_NUL, &ignored);
    json_t *settings = text.size ? json_loadb(text.data, text.size, 0, &ignored) : json_object();
    bool is_object = json_is_object(change) && json_is_object(settings);
    if (is_object) {
        merge(settings, change);
        char *merged = json_dumps(settings, JSON_COMPACT | JSON_REAL_PRECISION(REAL_DIGITS));
        buffer_append(out, slice_of(merged ? merged : ""));
        free(merged);
    }
    json_decref(change);
    json_decref(settings);
    return is_object;
}

enum status topic_settings_merge(struct slice text, struct slice patch, struct buffer *out,
                                 struct job_errors *errors)
{
    static const struct json_limits limits = {JOB_DEPTH_MAX, JOB_MEMBERS_MAX};
    struct json_fault fault;
    errors->count = 0;
    if (patch.size > TOPIC_PATCH_BYTES_MAX) {
        char detail[48];
        snprintf(detail, sizeof detail, "must be at most %d bytes", TOPIC_PATCH_BYTES_MAX);
        job_errors_add(errors, "", detail);
        return STATUS_INVALID;
    }
    enum status status = json_check(patch, &limits, &fault);
    has_no_memory = false;
    if (status == STATUS_OK && !merge_texts(text, patch, out))
        status = STATUS_INVALID;
    if (has_no_memory || out->failed)
        status = STATUS_NO_MEMORY;
    if (status == STATUS_INVALID)
        job_errors_add(errors, "", "must be a JSON object");
    return status;
}
