/* members_record.c - reads and writes records by a table of members.
 *
 * A record is read for each delivery. So the text is read only once, and no tree is built. */
#include <assert.h>

#include "base/duration.h"
#include "base/timestamp.h"
#include "base/utf8.h"
#include "job/delivery/callback.h"
#include "job/delivery/signature.h"
#include "job/job_members.h"
#include "job/request.h"
#include "job/target/url.h"
#include "job/text/json.h"
#include "job/text/member.h"
#include "job/text/members_private.h"

/* ---- reading ---- */

static bool read_number(struct slice value, int64_t max, int64_t *number)
{
    uint64_t got;
    if (!slice_to_number(value, (uint64_t)max, &got))
        return false;
    *number = (int64_t)got;
    return true;
}

static bool read_integer(const struct member *member, struct slice value, void *field)
{
    int64_t number;
    if (!read_number(value, member->max, &number))
        return false;
    if (member->bytes == sizeof(int))
        *(int *)field = (int)number;
    else
        *(int64_t *)field = number;
    return true;
}

/* Returns whether the text is UTF-8 without NUL. No version writes other texts into records: each byte that
 * is not UTF-8 would become a character of three bytes, and make the text longer than it may be. Databases
 * refuse NUL. */
static bool is_sound_text(struct slice text)
{
    const char *end = slice_end(text), *at = json_plain_end(text.data, end);
    size_t rest = (size_t)(end - at);
    return rest == 0 || (utf8_is_sound_text(at, rest) && !memchr(at, '\0', rest));
}

/* Returns the text of a string. If the string has escapes, which are rare in records, the text is decoded
 * into reading->text. This buffer has room for all decoded strings, so its bytes never move. */
static bool read_text(struct record_reading *reading, struct slice value, struct slice *text)
{
    if (!json_is_text(value))
        return false;
    if (json_has_escapes(value) && !reading->text->data)
        buffer_reserve(reading->text, reading->text->max);
    *text = json_text(value, reading->text);
    return !reading->text->failed && is_sound_text(*text);
}

static bool read_waits(const struct member *member, struct slice value, struct retry_schedule *waits)
{
    struct json_cursor cursor;
    struct slice item;
    waits->count = 0;
    if (!json_open(value, &cursor) || cursor.close != ']')
        return false;
    while (json_next_item(&cursor, &item)) {
        if (waits->count == RETRY_SCHEDULE_MAX ||
            !seconds_parse(item, member->max, &waits->wait_ms[waits->count]))
            return false;
        waits->count++;
    }
    return cursor.is_ended;
}

static bool read_headers(struct record_reading *reading, struct slice value, struct job_header *headers,
                         size_t *count)
{
    struct json_cursor cursor;
    struct slice name, text;
    size_t bytes = 0;
    *count = 0;
    if (!json_open(value, &cursor) || cursor.close != '}')
        return false;
    while (json_next_member(&cursor, &name, &text)) {
        struct job_header *header = &headers[*count];
        if (*count == JOB_HEADERS_MAX || !read_text(reading, name, &header->name) ||
            !read_text(reading, text, &header->value) || !header_name_is_valid(header->name) ||
            header_is_refused(header->name) || !header_value_is_valid(header->value))
            return false;
        bytes += header->name.size + header->value.size;
        ++*count;
    }
    return cursor.is_ended && bytes <= JOB_HEADER_BYTES_MAX;
}

static bool read_attempt_member(struct record_reading *reading, struct slice name, struct slice value,
                                struct attempt_result *result)
{
    struct slice word;
    int64_t status;
    if (slice_equal(name, SLICE("\"at\"")))
        return read_number(value, TIMESTAMP_MAX_MS, &result->at_ms);
    if (slice_equal(name, SLICE("\"durationMs\"")))
        return read_number(value, TIMESTAMP_MAX_MS, &result->duration_ms);
    if (slice_equal(name, SLICE("\"status\""))) {
        bool is_read = read_number(value, 999, &status);
        result->status = is_read ? (int)status : 0;
        return is_read;
    }
    if (slice_equal(name, SLICE("\"error\"")))
        return read_text(reading, value, &word) && failure_parse(word, &result->error);
    if (slice_equal(name, SLICE("\"errorDetail\"")))
        result->detail = attempt_detail(value);
    return true; /* unknown members are accepted, because a later version may write them */
}

static bool read_attempt(struct record_reading *reading, struct slice value, struct attempt_result *result)
{
    struct json_cursor cursor;
    struct slice name, member;
    *result = (struct attempt_result){.text = value};
    if (!json_open(value, &cursor) || cursor.close != '}')
        return false;
    while (json_next_member(&cursor, &name, &member))
        if (!read_attempt_member(reading, name, member, result))
            return false;
    return cursor.is_ended;
}

static bool read_labels(struct record_reading *reading, struct slice value, struct job_labels *labels)
{
    struct json_cursor cursor;
    struct slice item;
    labels->count = 0;
    if (!json_open(value, &cursor) || cursor.close != ']')
        return false;
    while (json_next_item(&cursor, &item))
        if (labels->count == JOB_LABELS_MAX || !read_text(reading, item, &labels->items[labels->count++]))
            return false;
    return cursor.is_ended;
}

static bool read_value(struct record_reading *reading, const struct member *member, struct slice value)
{
    void *field = (char *)reading->of + member->field;
    struct slice text;
    switch (member->kind) {
    case MEMBER_TEXT:
    case MEMBER_URL:
    case MEMBER_BASE64:
        return read_text(reading, value, field);
    case MEMBER_JSON:
    case MEMBER_CALLBACK:
        *(struct slice *)field = value;
        return true;
    case MEMBER_BOOL:
        *(bool *)field = slice_equal(value, SLICE("true"));
        return *(bool *)field || slice_equal(value, SLICE("false"));
    case MEMBER_INTEGER:
        return read_integer(member, value, field);
    case MEMBER_SECONDS:
        return seconds_parse(value, member->max, field);
    case MEMBER_TIME:
        return read_text(reading, value, &text) && timestamp_parse(text, field);
    case MEMBER_SHARE:
        return decimal_parse(value, member->max, member->max, field, NULL);
    case MEMBER_WAITS:
        return read_waits(member, value, field);
    case MEMBER_HEADERS:
        return read_headers(reading, value, field, (size_t *)((char *)reading->of + member->count));
    case MEMBER_METHOD:
        return read_text(reading, value, &text) && job_method_parse(text, field);
    case MEMBER_LABELS:
        return read_labels(reading, value, field);
    case MEMBER_ATTEMPT:
        return read_attempt(reading, value, field);
    case MEMBER_KEYS:
    case MEMBER_SECRET:
    case MEMBER_PROXY:
    case MEMBER_OBJECT:
        break; /* only settings have members of these kinds, and members_parse reads settings */
    }
    return false;
}

static size_t find_between(const struct members *table, size_t first, size_t end, struct slice name)
{
    const struct member *row = table->rows + first;
    for (size_t i = first; i < end; i++, row++)
        if (row->name.size == name.size && memcmp(row->name.data, name.data, name.size) == 0 &&
            row->flags & MEMBER_STORED)
            return i;
    return table->count;
}

/* Returns the row with this name, or the number of rows. The members of a record are in the order of the
 * table, so the search begins at the next row. Most records of jobs have few members and then the last one,
 * the body. */
static size_t find_row(const struct record_reading *reading, struct slice name)
{
    const struct members *table = reading->table;
    if (reading->next < table->count) {
        size_t at = find_between(table, table->count - 1, table->count, name);
        if (at == table->count)
            at = find_between(table, reading->next, table->count - 1, name);
        if (at < table->count)
            return at;
    }
    return find_between(table, 0, reading->next, name);
}

/* Reads the member "needs". If one of its names is unknown, keeps its text; otherwise drops it, because this
 * version writes the member anew. */
static bool read_needs(struct record_reading *reading, struct slice key, struct slice value)
{
    bool is_first = !reading->has_needs;
    reading->has_needs = true;
    return is_first && needs_read(value, reading->lacks) &&
           (reading->lacks->size == 0 || unknown_members_add(reading->unknown, key, value));
}

/* Takes the value of a member, whose row is NULL if the member is unknown. If there is no memory to check a
 * value, it counts as valid. */
static bool take_value(struct record_reading *reading, struct json_cursor *cursor,
                       const struct member *member, struct slice *value)
{
    bool is_checked =
        reading->checked && member && member->kind == MEMBER_JSON && member->flags & MEMBER_SENT;
    switch (is_checked ? json_check_value(cursor, reading->checked, value) : STATUS_NO_MEMORY) {
    case STATUS_OK:
        return true;
    case STATUS_NO_MEMORY:
        return json_take_value(cursor, value);
    default:
        reading->has_broken_json = true;
        return false;
    }
}

/* Reads the value of the member with this key, which includes its quotes. A known member may occur only once.
 */
static bool read_member(struct record_reading *reading, struct json_cursor *cursor, struct slice key)
{
    const struct members *table = reading->table;
    struct slice value, name = slice_from(key.data + 1, key.size - 2);
    /* The head of a job's record is written anew with each change. An earlier version carries it as an
     * unknown member, to another place, and does not change it. */
    if (table == &job_members && slice_equal(name, SLICE("head")))
        return take_value(reading, cursor, NULL, &value);
    size_t at = find_row(reading, name);
    const struct member *member = at < table->count ? &table->rows[at] : NULL;
    if (!take_value(reading, cursor, member, &value))
        return false;
    struct slice *text = member                               ? NULL
                         : slice_equal(name, SLICE("sealed")) ? reading->sealed
                         : slice_equal(name, SLICE("of"))     ? reading->sealed_of
                                                              : NULL;
    if (text) {
        bool is_first = !text->data && json_is_text(value);
        *text = is_first ? slice_from(value.data + 1, value.size - 2) : SLICE("");
        return is_first;
    }
    if (!member)
        return slice_equal(name, SLICE("needs")) ? read_needs(reading, key, value)
                                                 : unknown_members_add(reading->unknown, key, value);
    bool is_first = !(reading->is_read & UINT64_C(1) << at);
    reading->is_read |= UINT64_C(1) << at;
    reading->next = at + 1;
    if (member->has_bytes == sizeof(bool))
        *(bool *)((char *)reading->of + member->has) = true;
    return is_first && read_value(reading, member, value) &&
           (!member->is_sound || member->is_sound(reading->of));
}

bool members_read(struct record_reading *reading, struct slice record)
{
    struct json_cursor cursor;
    struct slice key;
    if (!json_open(record, &cursor) || cursor.close != '}')
        return false;
    while (json_next_key(&cursor, &key))
        if (!read_member(reading, &cursor, key))
            return false;
    return cursor.is_ended && cursor.at + 1 == cursor.end;
}

/* ---- writing ---- */

static void put_attempt(struct json_writer *json, const struct attempt_result *result)
{
    if (result->text.size) {
        json_put_raw(json, result->text);
        return;
    }
    json_put_object(json);
    json_add_number(json, "at", result->at_ms);
    json_add_number(json, "durationMs", result->duration_ms);
    attempt_result_add(json, result);
    json_end_object(json);
}

static void put_keys(struct json_writer *json, const struct signing_keys *keys, bool is_hidden)
{
    json_put_array(json);
    for (size_t i = 0; i < keys->count; i++) {
        struct buffer *out = json_put(json);
        buffer_append_byte(out, '"');
        if (is_hidden)
            signing_key_show(&keys->items[i], out);
        else
            signing_key_write(&keys->items[i], out);
        buffer_append_byte(out, '"');
    }
    json_end_array(json);
}

static void put_value(const struct member *member, const void *of, enum members_for whom,
                      struct json_writer *json)
{
    bool is_hidden = whom == MEMBERS_FOR_PEOPLE;
    const void *field = member_field(of, member);
    const struct job_labels *labels;
    switch (member->kind) {
    case MEMBER_TEXT:
    case MEMBER_BASE64:
        return json_put_text(json, *(const struct slice *)field);
    case MEMBER_SECRET:
        return json_put_text(json, is_hidden ? SLICE(HEADER_HIDDEN) : *(const struct slice *)field);
    case MEMBER_PROXY:
        if (is_hidden)
            return proxy_url_show(*(const struct slice *)field, json_put(json));
        return json_put_text(json, *(const struct slice *)field);
    case MEMBER_URL:
        if (is_hidden)
            return url_show(*(const struct slice *)field, json_put(json));
        return json_put_text(json, *(const struct slice *)field);
    case MEMBER_CALLBACK:
        if (is_hidden)
            return callback_show(*(const struct slice *)field, json_put(json));
        return json_put_raw(json, *(const struct slice *)field);
    case MEMBER_JSON:
        if (is_hidden && member->show)
            return member->show(*(const struct slice *)field, json_put(json));
        return json_put_raw(json, *(const struct slice *)field);
    case MEMBER_BOOL:
        return json_put_bool(json, *(const bool *)field);
    case MEMBER_INTEGER:
        return json_put_number(json, member_number(member, field));
    case MEMBER_SECONDS:
        if (*(const int64_t *)field == MEMBER_OFF)
            return json_put_text(json, SLICE("off"));
        return json_put_seconds(json, *(const int64_t *)field);
    case MEMBER_TIME:
        return json_put_time(json, *(const int64_t *)field);
    case MEMBER_SHARE:
        buffer_printf(json_put(json), "%g", (double)*(const int64_t *)field / (double)member->max);
        return;
    case MEMBER_WAITS:
        return retry_schedule_write(field, json_put(json));
    case MEMBER_HEADERS:
        return headers_write(json_put(json), field, member_count(of, member->count), is_hidden);
    case MEMBER_METHOD:
        return json_put_text(json, slice_of(job_method_word(*(const enum job_method *)field)));
    case MEMBER_LABELS:
        labels = field;
        json_put_array(json);
        for (size_t i = 0; i < labels->count; i++)
            json_put_text(json, labels->items[i]);
        return json_end_array(json);
    case MEMBER_KEYS:
        return put_keys(json, field, is_hidden);
    case MEMBER_ATTEMPT:
        return put_attempt(json, field);
    case MEMBER_OBJECT:
        json_put_object(json);
        members_write(member->object, of, whom, json);
        if (whom == MEMBERS_FOR_REDIS)
            unknown_members_write((const void *)((const char *)of + member->unknown), json);
        return json_end_object(json);
    }
}

static void put_member(const struct member *member, const void *of, enum members_for whom,
                       struct json_writer *json)
{
    json_put_plain_name(json, member->name);
    put_value(member, of, whom, json);
}

void members_put(const struct member *member, const void *of, enum members_for whom, struct json_writer *json)
{
    if (member_is_there(member, of))
        put_member(member, of, whom, json);
}

void members_write(const struct members *table, const void *of, enum members_for whom,
                   struct json_writer *json)
{
    unsigned flag = whom == MEMBERS_FOR_PEOPLE ? MEMBER_SHOWN : MEMBER_STORED;
    const struct member *end = table->rows + table->count;
    for (const struct member *member = table->rows; member < end; member++)
        if (member->flags & flag && member_is_there(member, of))
            put_member(member, of, whom, json);
}
