/* json_writer.h - writes JSON into a buffer, and adds the commas.
 *
 *     struct json_writer json = json_writer_to(out);
 *     json_put_object(&json);
 *     json_add_text(&json, "topic", topic);
 *     json_add_array(&json, "waits");
 *     json_put_seconds(&json, 1500);
 *     json_end_array(&json);
 *     json_end_object(&json);              {"topic":"orders","waits":[1.5]}
 *
 * json_put_... writes a value: an item of an array, or the value after a name. json_add_... writes a member
 * of an object: its name and its value. The writer allocates no memory, so it has nothing to free. The writer
 * does not check the nesting; so a caller may also write the members of an object without its braces. If the
 * text does not fit, the buffer is marked as failed. */
#ifndef DUEPOST_BASE_JSON_WRITER_H
#define DUEPOST_BASE_JSON_WRITER_H

#include "base/buffer.h"

struct json_writer {
    struct buffer *out; /* borrowed until the last call for this writer; the caller may also append to out */
    bool needs_comma;   /* a comma must precede the next item or member */
};

/* Begins a JSON text, or the contents of an object or array whose opening bracket is already written. */
static inline struct json_writer json_writer_to(struct buffer *out)
{
    return (struct json_writer){out, false};
}

/* Continues an object or array in out that already has a member or an item: the next one gets a comma. */
static inline struct json_writer json_writer_behind(struct buffer *out)
{
    return (struct json_writer){out, true};
}

/* Writes a comma if one is needed. Returns the buffer, to which the caller appends the value. */
struct buffer *json_put(struct json_writer *);

void json_put_object(struct json_writer *);
void json_end_object(struct json_writer *);
void json_put_array(struct json_writer *);
void json_end_array(struct json_writer *);
void json_put_text(struct json_writer *, struct slice text); /* UTF-8, see buffer_append_json */
void json_put_number(struct json_writer *, int64_t number);
void json_put_bool(struct json_writer *, bool is_true);
void json_put_raw(struct json_writer *, struct slice value); /* one JSON value, copied unchanged */
void json_put_seconds(struct json_writer *, int64_t ms);     /* 1500 is 1.5; not negative */
void json_put_time(struct json_writer *, int64_t ms);        /* "2030-01-01T00:00:00.000Z" */

/* Write the name of a member. The caller must write the value next. json_put_plain_name is for names that
 * need no escapes, such as the names in the code. json_put_name_text is for any text. */
void json_put_plain_name(struct json_writer *, struct slice name);
void json_put_name_text(struct json_writer *, struct slice name);

/* Writes a name that needs no escapes. The function is inline, so that the compiler computes the length of a
 * literal. */
static inline void json_put_name(struct json_writer *json, const char *name)
{
    json_put_plain_name(json, slice_of(name));
}

static inline void json_add_object(struct json_writer *json, const char *name)
{
    json_put_name(json, name);
    json_put_object(json);
}

static inline void json_add_array(struct json_writer *json, const char *name)
{
    json_put_name(json, name);
    json_put_array(json);
}

static inline void json_add_text(struct json_writer *json, const char *name, struct slice text)
{
    json_put_name(json, name);
    json_put_text(json, text);
}

/* Adds an array of texts. */
static inline void json_add_texts(struct json_writer *json, const char *name, const struct slice *texts,
                                  size_t count)
{
    json_add_array(json, name);
    for (size_t i = 0; i < count; i++)
        json_put_text(json, texts[i]);
    json_end_array(json);
}

static inline void json_add_number(struct json_writer *json, const char *name, int64_t number)
{
    json_put_name(json, name);
    json_put_number(json, number);
}

/* Leave out the member if the text is empty or the number is 0. */
static inline void json_add_nonempty(struct json_writer *json, const char *name, struct slice text)
{
    if (text.size)
        json_add_text(json, name, text);
}

static inline void json_add_nonzero(struct json_writer *json, const char *name, int64_t number)
{
    if (number)
        json_add_number(json, name, number);
}

static inline void json_add_bool(struct json_writer *json, const char *name, bool is_true)
{
    json_put_name(json, name);
    json_put_bool(json, is_true);
}

static inline void json_add_raw(struct json_writer *json, const char *name, struct slice value)
{
    json_put_name(json, name);
    json_put_raw(json, value);
}

static inline void json_add_seconds(struct json_writer *json, const char *name, int64_t ms)
{
    json_put_name(json, name);
    json_put_seconds(json, ms);
}

static inline void json_add_time(struct json_writer *json, const char *name, int64_t ms)
{
    json_put_name(json, name);
    json_put_time(json, ms);
}

#endif
