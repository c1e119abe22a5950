/* members.c - reads a client's text by a table.
 *
 *   1. finds the values of the members
 *   2. reads each by its kind, then checks it by its row, in the order of the table
 *   3. reports or carries names that are not in the table
 *
 * The parser runs for each request, so it builds no tree. */
#include "job/text/members.h"

#include <assert.h>
#include <stdio.h>

#include "base/duration.h"
#include "base/encoding.h"
#include "base/timestamp.h"
#include "job/delivery/callback.h"
#include "job/delivery/signature.h"
#include "job/target/url.h"
#include "job/text/job_errors.h"
#include "job/text/json.h"
#include "job/text/member.h"

enum { NAME_MAX_BYTES = 256 };

/* ---- names ---- */

/* Returns the index of the row with this name. If no row has this name, returns the number of rows. */
static size_t find_row(const struct members *table, unsigned flags, struct slice name)
{
    size_t i = 0;
    while (i < table->count && !((table->rows[i].flags & flags) && slice_equal(name, table->rows[i].name)))
        i++;
    return i;
}

static void report_unknown(const struct members *table, unsigned flags, struct slice name,
                           struct job_errors *errors)
{
    struct suggestion meant = {.name = name};
    char what[32], detail[SUGGESTION_DETAIL_SIZE];
    for (size_t i = 0; i < table->count; i++)
        if (table->rows[i].flags & flags)
            suggestion_weigh(&meant, table->rows[i].name.data);
    snprintf(what, sizeof what, "unknown %s", table->noun);
    suggestion_write(&meant, what, detail);
    job_errors_add_named(errors, table->prefix, name, detail);
}

/* Returns a string without its quotes. */
static struct slice inside(struct slice string)
{
    return slice_from(string.data + 1, string.size - 2);
}

static bool next_named(struct json_cursor *cursor, struct buffer *room, struct slice *name,
                       struct slice *value)
{
    struct slice key;
    bool is_there = json_next_member(cursor, &key, value);
    if (is_there)
        *name = json_name(key, room);
    return is_there;
}

/* ---- values ---- */

static void *field_of(const struct member_parse *parse, const struct member *member)
{
    return (char *)parse->of + member->field;
}

static bool members_refuse(struct member_parse *parse, const struct member *member, const char *detail)
{
    job_errors_add(parse->errors, member->path, detail);
    return false;
}

/* Checks the size of a text, unless the row of the member has a check function. */
static bool is_within(struct member_parse *parse, const struct member *member, struct slice text)
{
    char detail[64];
    if (member->check || !member->max ||
        (text.size >= (size_t)member->min && text.size <= (size_t)member->max))
        return true;
    snprintf(detail, sizeof detail, "must have %lld to %lld bytes", (long long)member->min,
             (long long)member->max);
    return members_refuse(parse, member, detail);
}

static bool parse_text(struct member_parse *parse, const struct member *member, struct slice value,
                       struct slice *text)
{
    if (member->flags & MEMBER_PLAIN && (!json_is_text(value) || json_has_escapes(value)))
        return members_refuse(parse, member, "must be a string without escapes");
    if (!json_is_text(value))
        return members_refuse(parse, member, "must be a string");
    if (json_has_escapes(value) && !parse->text->data)
        buffer_reserve(parse->text, parse->text->max);
    *text = json_text(value, parse->text);
    return true;
}

static bool is_proxy(struct member_parse *parse, const struct member *member, struct slice text)
{
    bool ignored;
    if (slice_starts_with(text, SLICE("http://" HEADER_HIDDEN "@")))
        return members_refuse(parse, member, "has the mask of the hidden password; send the password itself");
    return (text.size <= PROXY_URL_MAX && proxy_url_is_valid(text, &ignored)) ||
           members_refuse(parse, member, "must be http://[user:password@]host:port, at most 512 bytes");
}

static bool parse_integer(struct member_parse *parse, const struct member *member, struct slice value,
                          void *field)
{
    int64_t number = 0;
    bool is_read = member_integer(parse->errors, member->path, value, member->min, member->max, &number);
    if (member->bytes == sizeof(int))
        *(int *)field = (int)number;
    else
        *(int64_t *)field = number;
    return is_read;
}

static bool parse_keys(struct member_parse *parse, const struct member *member, struct slice value,
                       struct signing_keys *keys)
{
    struct json_cursor cursor;
    struct slice item;
    char field[32];
    size_t errors_before = parse->errors->count;
    if (!json_open(value, &cursor) || cursor.close != ']')
        return members_refuse(parse, member, "must be an array of keys");
    for (keys->count = 0; json_next_item(&cursor, &item); keys->count++) {
        const char *detail = "must be a string without escapes";
        if (keys->count == SIGNING_KEYS_MAX)
            return members_refuse(parse, member, "must have at most 8 keys");
        snprintf(field, sizeof field, "%s[%zu]", member->path, keys->count);
        if (!json_is_text(item) || json_has_escapes(item) ||
            signing_key_parse(inside(item), &keys->items[keys->count], &detail) != STATUS_OK)
            job_errors_add(parse->errors, field, detail);
    }
    return parse->errors->count == errors_before;
}

/* Parses one label. field is its name in errors. */
static void parse_label(struct member_parse *parse, const char *field, struct slice item,
                        struct job_labels *labels)
{
    struct slice text = {NULL, 0};
    if (json_is_text(item) && json_has_escapes(item) && !parse->text->data)
        buffer_reserve(parse->text, parse->text->max);
    if (json_is_text(item))
        text = json_text(item, parse->text);
    if (!job_label_is_valid(text))
        job_errors_add(parse->errors, field, JOB_LABEL_EXPECTED);
    else if (job_labels_have(labels, text))
        job_errors_add(parse->errors, field, "appears twice");
    else
        labels->items[labels->count++] = text;
}

static bool parse_labels(struct member_parse *parse, const struct member *member, struct slice value,
                         struct job_labels *labels)
{
    struct json_cursor cursor;
    struct slice item;
    char field[32];
    size_t errors_before = parse->errors->count, number = 0;
    if (!json_open(value, &cursor) || cursor.close != ']')
        return members_refuse(parse, member, "must be an array of labels");
    for (labels->count = 0; json_next_item(&cursor, &item); number++) {
        if (number == JOB_LABELS_MAX)
            return members_refuse(parse, member, "must have at most 10 labels");
        snprintf(field, sizeof field, "%s[%zu]", member->path, number);
        parse_label(parse, field, item, labels);
    }
    return parse->errors->count == errors_before;
}

/* Reports "must be an object with jobs, per and burst". */
static bool refuse_no_object(struct member_parse *parse, const struct member *member)
{
    char detail[192];
    const struct members *table = member->object;
    struct buffer text = buffer_of(detail, sizeof detail);
    buffer_append(&text, SLICE("must be an object with "));
    for (size_t i = 0; i < table->count; i++) {
        if (i)
            buffer_append(&text, i + 1 < table->count ? SLICE(", ") : SLICE(" and "));
        buffer_append(&text, table->rows[i].name);
    }
    return members_refuse(parse, member, buffer_text(&text));
}

static bool parse_object(struct member_parse *parse, const struct member *member, struct slice value)
{
    struct member_parse inner = *parse;
    size_t errors_before = parse->errors->count;
    if (value.data[0] != '{')
        return refuse_no_object(parse, member);
    inner.table = member->object;
    if (parse->unknown)
        inner.unknown = (struct unknown_members *)((char *)parse->of + member->unknown);
    inner.lacks = NULL;
    members_parse(&inner, value);
    return parse->errors->count == errors_before;
}

static bool parse_local_time(struct member_parse *parse, const struct member *member, struct slice text,
                             int64_t *ms)
{
    if (!member->count || !timestamp_parse_local(text, ms))
        return false;
    *(bool *)((char *)parse->of + member->count) = true;
    return true;
}

static bool parse_value(struct member_parse *parse, const struct member *member, struct slice value)
{
    void *field = field_of(parse, member);
    struct slice text;
    switch (member->kind) {
    case MEMBER_TEXT:
        return parse_text(parse, member, value, field) && is_within(parse, member, *(struct slice *)field);
    case MEMBER_SECRET:
        return parse_text(parse, member, value, field) && is_within(parse, member, *(struct slice *)field) &&
               (!slice_equal(*(struct slice *)field, SLICE(HEADER_HIDDEN)) ||
                members_refuse(parse, member, "is the mask of the hidden value; send the value itself"));
    case MEMBER_URL:
        return parse_text(parse, member, value, field) &&
               member_url(parse->errors, member->path, *(struct slice *)field);
    case MEMBER_PROXY:
        return parse_text(parse, member, value, field) && is_proxy(parse, member, *(struct slice *)field);
    case MEMBER_JSON:
        *(struct slice *)field = value;
        return true;
    case MEMBER_BOOL:
        *(bool *)field = slice_equal(value, SLICE("true"));
        return *(bool *)field || slice_equal(value, SLICE("false")) ||
               members_refuse(parse, member, "must be true or false");
    case MEMBER_INTEGER:
        return parse_integer(parse, member, value, field);
    case MEMBER_SECONDS:
        if (member->flags & MEMBER_OR_OFF && slice_equal(value, SLICE("\"off\""))) {
            *(int64_t *)field = MEMBER_OFF;
            return true;
        }
        return member_seconds(parse->errors, member->path, value, member->min, member->max, field);
    case MEMBER_TIME:
        return parse_text(parse, member, value, &text) &&
               (timestamp_parse(text, field) || parse_local_time(parse, member, text, field) ||
                members_refuse(parse, member, TIMESTAMP_EXPECTED));
    case MEMBER_SHARE:
        return decimal_parse(value, member->max, member->max, field, NULL) ||
               members_refuse(parse, member, "must be a number from 0 to 1");
    case MEMBER_WAITS:
        return member_schedule(parse->errors, member->path, value, field);
    case MEMBER_HEADERS:
        return member_headers(parse->errors, member->path, value, field,
                              (size_t *)((char *)parse->of + member->count), parse->text);
    case MEMBER_METHOD:
        return parse_text(parse, member, value, &text) &&
               (job_method_parse(text, field) || members_refuse(parse, member, JOB_METHOD_EXPECTED));
    case MEMBER_BASE64:
        return parse_text(parse, member, value, field) &&
               (base64_is_valid(*(struct slice *)field) ||
                members_refuse(parse, member, "must be base64 with padding, without white space"));
    case MEMBER_LABELS:
        return parse_labels(parse, member, value, field);
    case MEMBER_KEYS:
        return parse_keys(parse, member, value, field);
    case MEMBER_CALLBACK: {
        struct callback callback;
        if (!callback_parse(parse->errors, member->path, value, &callback))
            return false;
        callback_fini(&callback);
        *(struct slice *)field = value;
        return true;
    }
    case MEMBER_OBJECT:
        return parse_object(parse, member, value);
    case MEMBER_ATTEMPT:
        break; /* clients do not send members of this kind */
    }
    return false;
}

/* ---- all of them ---- */

static bool *has_of(void *of, const struct member *member)
{
    return (bool *)((char *)of + member->has);
}

static void parse_member(struct member_parse *parse, const struct member *member, struct slice value)
{
    const struct member *rival = member->rival ? &parse->table->rows[member->rival] : NULL;
    if (member->has_bytes == sizeof(bool))
        *has_of(parse->of, member) = true;
    if (rival && *has_of(parse->of, rival)) {
        char detail[64];
        snprintf(detail, sizeof detail, "cannot be combined with %s", rival->path);
        job_errors_add(parse->errors, member->path, detail);
    }
    if (parse_value(parse, member, value) && member->check)
        member->check(parse, member);
}

/* Adds a fault if a required member is absent. A member that the path of the request contains, such as the
 * topic, was set before and is not absent. */
static void require(struct member_parse *parse, const struct member *member)
{
    const struct slice *text = field_of(parse, member);
    if (member->flags & MEMBER_REQUIRED && !(member->kind == MEMBER_TEXT && text->size))
        job_errors_add(parse->errors, member->path, "is required");
}

/* For a text that another version may have written: carries an unknown member, or reads the member "needs".
 * Returns false if "needs" is invalid, or if there is no room for the unknown member. */
static bool members_keep_unknown(struct member_parse *parse, struct slice key, struct slice value)
{
    if (parse->lacks && slice_equal(key, SLICE("\"needs\""))) {
        if (!needs_read(value, parse->lacks))
            return false;
        if (parse->lacks->size == 0) /* this version knows all names in "needs", and writes the member anew */
            return true;
    }
    return unknown_members_add(parse->unknown, key, value);
}

/* Returns whether there are members that are neither in the table nor carried. */
static bool find_values(struct member_parse *parse, struct slice text, struct slice *values,
                        struct buffer *room)
{
    struct json_cursor cursor;
    struct slice key, name, value;
    bool is_open = json_open(text, &cursor), has_unknown = false;
    while (is_open && json_next_member(&cursor, &key, &value)) {
        name = parse->unknown ? inside(key) : json_name(key, room);
        size_t row = find_row(parse->table, parse->unknown ? MEMBER_STORED : MEMBER_SENT, name);
        if (row == parse->table->count)
            has_unknown |= !parse->unknown || !members_keep_unknown(parse, key, value);
        else if (parse->table->rows[row].kind == MEMBER_JSON || !member_is_null(value))
            values[row] = value;
    }
    return has_unknown;
}

void members_parse(struct member_parse *parse, struct slice text)
{
    char bytes[NAME_MAX_BYTES + 1];
    struct buffer room = buffer_of(bytes, sizeof bytes);
    struct slice values[MEMBERS_MAX] = {{NULL, 0}};
    const struct member *rows = parse->table->rows;
    size_t count = parse->table->count, errors_before = parse->errors->count;
    bool has_unknown = find_values(parse, text, values, &room), is_inner = parse->table->prefix[0];
    for (size_t i = 0; i < count; i++) {
        if (values[i].size)
            parse_member(parse, &rows[i], values[i]);
        else if (rows[i].fallback)
            *(int64_t *)field_of(parse, &rows[i]) = rows[i].fallback;
        if (!values[i].size && !is_inner)
            require(parse, &rows[i]);
    }
    if (has_unknown) {
        struct json_cursor cursor;
        struct slice name, value;
        bool is_open = json_open(text, &cursor);
        while (is_open && next_named(&cursor, &room, &name, &value))
            if (find_row(parse->table, MEMBER_SENT, name) == count)
                report_unknown(parse->table, MEMBER_SENT, name, parse->errors);
    }
    /* In an inner object, missing members are reported only if none of the present members is invalid. */
    bool is_missing_only = is_inner && parse->errors->count == errors_before;
    for (size_t i = 0; i < count && is_missing_only; i++)
        if (!values[i].size)
            require(parse, &rows[i]);
}

/* ---- patches ---- */

void members_find(const struct members *table, unsigned flags, struct slice text,
                  struct member_values *values, struct job_errors *errors)
{
    char bytes[NAME_MAX_BYTES + 1];
    struct buffer room = buffer_of(bytes, sizeof bytes);
    struct json_cursor cursor;
    struct slice name, value;
    bool is_open = json_open(text, &cursor);
    *values = (struct member_values){.of = {{NULL, 0}}};
    while (is_open && next_named(&cursor, &room, &name, &value)) {
        size_t row = find_row(table, flags, name), sent = find_row(table, MEMBER_SENT, name);
        if (row < table->count)
            values->of[row] = value;
        else if (errors && sent < table->count)
            job_errors_add_named(errors, table->prefix, name,
                                 table->rows[sent].kept ? table->rows[sent].kept : "cannot be changed");
        else if (errors)
            report_unknown(table, flags, name, errors);
    }
}
