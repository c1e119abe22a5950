#include "job/delivery/callback.h"

#include <stdio.h>

#include "base/json_writer.h"
#include "job/target/url.h"
#include "job/text/job_errors.h"
#include "job/text/json.h"
#include "job/text/member.h"

enum { NAME_MAX_BYTES = 64, PREFIX_MAX = 32 };

struct reading {
    struct job_errors *errors;
    const char *name; /* name of the callback */
    struct callback *callback;
};

/* ---- reading ---- */

static void refuse_member(const struct reading *reading, struct slice member, const char *detail)
{
    char prefix[PREFIX_MAX];
    snprintf(prefix, sizeof prefix, "%s.", reading->name);
    job_errors_add_named(reading->errors, prefix, member, detail);
}

/* Adds errors. The name of each error gets the name of the callback before it. */
static void add_errors(const struct reading *reading, const struct job_errors *found)
{
    struct job_error error;
    size_t at = 0;
    while (job_errors_take(found, &at, &error))
        refuse_member(reading, slice_of(error.field), error.detail);
}

static void read_url(const struct reading *reading, struct slice value)
{
    struct callback *callback = reading->callback;
    if (!json_is_text(value)) {
        refuse_member(reading, SLICE("url"), "must be a string");
        return;
    }
    struct job_errors found;
    job_errors_clear(&found);
    callback->url = json_text(value, &callback->text);
    if (!member_url(&found, "url", callback->url))
        add_errors(reading, &found);
}

static void read_method(const struct reading *reading, struct slice value)
{
    enum job_method *method = &reading->callback->method;
    bool is_method =
        json_is_text(value) && job_method_parse(json_text(value, &reading->callback->text), method);
    if (!is_method ||
        (*method != JOB_METHOD_POST && *method != JOB_METHOD_PUT && *method != JOB_METHOD_PATCH))
        refuse_member(reading, SLICE("method"), "must be POST, PUT or PATCH");
}

static void read_headers(const struct reading *reading, struct slice value)
{
    struct callback *callback = reading->callback;
    struct job_errors found;
    job_errors_clear(&found);
    if (!member_headers(&found, "headers", value, callback->headers, &callback->header_count,
                        &callback->text))
        add_errors(reading, &found);
}

static void read_include_body(const struct reading *reading, struct slice value)
{
    reading->callback->has_body = slice_equal(value, SLICE("true"));
    if (!reading->callback->has_body && !slice_equal(value, SLICE("false")))
        refuse_member(reading, SLICE("includeBody"), "must be true or false");
}

static const struct {
    struct slice name;
    void (*read)(const struct reading *, struct slice value);
} members[] = {
    {SLICE_INIT("url"), read_url},
    {SLICE_INIT("method"), read_method},
    {SLICE_INIT("headers"), read_headers},
    {SLICE_INIT("includeBody"), read_include_body},
};

enum { MEMBERS = sizeof members / sizeof *members };

static void read_object(const struct reading *reading, struct slice value)
{
    char bytes[NAME_MAX_BYTES + 1];
    struct buffer room = buffer_of(bytes, sizeof bytes);
    struct json_cursor cursor;
    struct slice key, member;
    bool is_open = json_open(value, &cursor), has_url = false;
    while (is_open && json_next_member(&cursor, &key, &member)) {
        struct slice name = json_name(key, &room);
        size_t i = 0;
        while (i < MEMBERS && !slice_equal(name, members[i].name))
            i++;
        if (i == MEMBERS) {
            struct suggestion meant = {.name = name};
            char detail[SUGGESTION_DETAIL_SIZE];
            for (size_t known = 0; known < MEMBERS; known++)
                suggestion_weigh(&meant, members[known].name.data);
            suggestion_write(&meant, "unknown field", detail);
            refuse_member(reading, name, detail);
        } else if (!member_is_null(member)) {
            members[i].read(reading, member);
        }
        has_url |= i == 0 && !member_is_null(member);
    }
    if (!has_url)
        refuse_member(reading, SLICE("url"), "is required");
}

bool callback_parse(struct job_errors *errors, const char *name, struct slice value,
                    struct callback *callback)
{
    struct reading reading = {errors, name, callback};
    size_t errors_before = errors->count;
    *callback = (struct callback){.has_body = false};
    buffer_init(&callback->text, CALLBACK_BYTES_MAX);
    if (json_has_escapes(value)) /* the text must not move later */
        buffer_reserve(&callback->text, CALLBACK_BYTES_MAX);
    if (value.size > CALLBACK_BYTES_MAX) {
        job_errors_add(errors, name, "must have at most 16384 bytes");
    } else if (json_is_text(value)) {
        callback->url = json_text(value, &callback->text);
        member_url(errors, name, callback->url);
    } else if (value.size && value.data[0] == '{') {
        read_object(&reading, value);
    } else {
        job_errors_add(errors, name, "must be a url, or an object with url, method, headers and includeBody");
    }
    if (errors->count == errors_before)
        return true;
    callback_fini(callback);
    return false;
}

bool callback_read(struct slice value, struct callback *callback)
{
    struct job_errors ignored;
    job_errors_clear(&ignored);
    return callback_parse(&ignored, "", value, callback);
}

void callback_fini(struct callback *callback)
{
    buffer_fini(&callback->text);
}

/* ---- showing, comparing ---- */

static void show_object(const struct callback *callback, struct buffer *out)
{
    struct json_writer json = json_writer_to(out);
    json_put_object(&json);
    json_put_name(&json, "url");
    url_show(callback->url, json_put(&json));
    if (callback->method != JOB_METHOD_POST)
        json_add_text(&json, "method", slice_of(job_method_word(callback->method)));
    if (callback->header_count) {
        json_put_name(&json, "headers");
        headers_write(json_put(&json), callback->headers, callback->header_count, true);
    }
    if (callback->has_body)
        json_add_bool(&json, "includeBody", true);
    json_end_object(&json);
}

void callback_show(struct slice value, struct buffer *out)
{
    struct callback callback;
    if (!callback_read(value, &callback)) {
        buffer_append(out, SLICE("null"));
        return;
    }
    if (json_is_text(value))
        url_show(callback.url, out);
    else
        show_object(&callback, out);
    callback_fini(&callback);
}

static bool are_same(const struct callback *a, const struct callback *b)
{
    if (!slice_equal(a->url, b->url) || a->method != b->method || a->has_body != b->has_body ||
        a->header_count != b->header_count)
        return false;
    for (size_t i = 0; i < a->header_count; i++) {
        const struct slice *value = headers_find(b->headers, b->header_count, a->headers[i].name);
        if (!value || !slice_equal(*value, a->headers[i].value))
            return false;
    }
    return true;
}

bool callback_is_same(struct slice a, struct slice b)
{
    struct callback left, right;
    if (slice_equal(a, b))
        return true;
    if (!callback_read(a, &left))
        return false;
    bool is_right = callback_read(b, &right), is_same = is_right && are_same(&left, &right);
    if (is_right)
        callback_fini(&right);
    callback_fini(&left);
    return is_same;
}
