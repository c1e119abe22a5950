/* declared_objects.c - the objects of a declared file: found, checked, and shown by the tables with which the
 * server parses and shows them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_writer.h"
#include "base/memory.h"
#include "base/system.h"
#include "cli/declared.h"
#include "cli/output.h"
#include "job/group.h"
#include "job/job_id.h"
#include "job/schedule/recurring.h"
#include "job/text/json.h"
#include "job/topic/topic_patterns.h"
#include "job/topic/topic_settings.h"

enum { TEXT_MAX = 8 * 1024 * 1024, PATH_SIZE = 1024 };

const struct declared_kind_words declared_kinds[DECLARED_KINDS] = {
    [DECLARED_LIMIT] = {"limits", "limit"}, [DECLARED_PATTERN] = {"patterns", "pattern"},
    [DECLARED_TOPIC] = {"topics", "topic"}, [DECLARED_KEY] = {"keys", "key"},
    [DECLARED_GROUP] = {"groups", "group"}, [DECLARED_SCHEDULE] = {"schedules", "schedule"},
};

/* ---- objects ---- */

struct declared_object *declared_add(struct declared *declared, enum declared_kind kind, struct slice topic,
                                     struct slice name)
{
    if (declared->count == declared->room) {
        declared->room = declared->room ? 2 * declared->room : 64;
        declared->objects = memory_resize(declared->objects, declared->room * sizeof *declared->objects);
    }
    struct declared_object *object = &declared->objects[declared->count++];
    *object = (struct declared_object){
        .kind = kind, .topic = topic.size ? slice_dup(topic) : NULL, .name = slice_dup(name)};
    buffer_init(&object->wanted, TEXT_MAX);
    buffer_init(&object->new, TEXT_MAX);
    buffer_init(&object->old, TEXT_MAX);
    return object;
}

void declared_write_title(const struct declared_object *object, struct buffer *title)
{
    buffer_printf(title, "%s %s%s%s", declared_kinds[object->kind].word, object->topic ? object->topic : "",
                  object->topic ? "/" : "", object->name);
}

/* ---- parsing ---- */

/* Reports an error of the file. at is the place of a value. */
static void report(struct declared *declared, const char *at, const char *path, const char *detail)
{
    table_print_line(stderr, "%s:%zu: %s: %s\n", declared->file.name, declared_file_line(&declared->file, at),
                     path, detail);
    declared->faults++;
}

/* Finds the value of a field such as "job.retry" or "windows[1].from" below value, as deep as it goes. */
static struct slice find_value(struct slice value, const char *field)
{
    struct json_cursor cursor;
    struct slice key, item;
    while (*field && json_open(value, &cursor)) {
        size_t size = strcspn(field, ".[");
        struct slice found = SLICE("");
        if (field[0] == '[') {
            long index = strtol(field + 1, NULL, 10);
            size = strcspn(field, "]") + 1;
            while (cursor.close == ']' && json_next_item(&cursor, &item) && index-- >= 0)
                found = item;
        } else if (cursor.close == '}') {
            while (found.size == 0 && json_next_member(&cursor, &key, &item))
                if (key.size == size + 2 && memcmp(key.data + 1, field, size) == 0)
                    found = item;
        }
        if (found.size == 0)
            break;
        value = found;
        field += size;
        field += *field == '.';
    }
    return value;
}

static void report_all(struct declared *declared, const struct declared_object *object,
                       const struct job_errors *errors)
{
    struct job_error error;
    struct buffer path;
    for (size_t at = 0; job_errors_take(errors, &at, &error);) {
        buffer_init(&path, PATH_SIZE);
        declared_write_title(object, &path);
        if (error.field[0])
            buffer_printf(&path, ": %.200s", error.field);
        const char *place = find_value(object->text, error.field).data;
        report(declared, place == object->text.data ? object->place : place, buffer_text(&path),
               error.detail);
        buffer_fini(&path);
    }
}

/* Writes what clients see of settings. Returns the status of the parser. */
static enum status show_settings(enum declared_kind kind, struct slice text, struct buffer *out,
                                 struct job_errors *errors)
{
    struct topic_settings settings;
    enum status status = kind == DECLARED_LIMIT ? limit_settings_parse(text, &settings, errors)
                         : kind == DECLARED_KEY ? key_settings_parse(text, &settings, errors)
                                                : topic_settings_parse(text, &settings, errors);
    if (status != STATUS_OK)
        return status;
    (kind == DECLARED_KEY ? key_settings_show : topic_settings_show)(&settings, out);
    if (out->size == 0)
        buffer_append(out, SLICE("{}"));
    topic_settings_fini(&settings);
    return STATUS_OK;
}

static enum status show_group(struct slice text, struct buffer *out, struct job_errors *errors)
{
    struct buffer record;
    buffer_init_fallible(&record, GROUP_BYTES_MAX);
    enum status status = group_parse(text, &record, errors);
    if (status == STATUS_OK) {
        struct json_writer json = json_writer_to(out);
        json_put_object(&json);
        json_put_name(&json, "endpoints");
        group_show_endpoints(buffer_slice(&record), &json);
        json_end_object(&json);
    }
    buffer_fini(&record);
    return status;
}

static enum status show_schedule(struct slice topic, struct slice text, struct buffer *out,
                                 struct job_errors *errors)
{
    struct recurring recurring;
    struct job *job = NEW(struct job);
    enum status status = recurring_parse(topic, text, clock_wall_ms(), &recurring, job, errors);
    if (status == STATUS_OK) {
        struct json_writer json = json_writer_to(out);
        json_put_object(&json);
        recurring_show(&recurring, job, &json);
        json_end_object(&json);
        job_fini(job);
        recurring_fini(&recurring);
    }
    free(job);
    return status;
}

bool declared_show(struct declared *declared, struct declared_object *object, struct slice text)
{
    struct job_errors errors;
    enum status status;
    job_errors_clear(&errors);
    buffer_clear(&object->new);
    if (object->kind == DECLARED_GROUP)
        status = show_group(text, &object->new, &errors);
    else if (object->kind == DECLARED_SCHEDULE)
        status = show_schedule(slice_of(object->topic), text, &object->new, &errors);
    else
        status = show_settings(object->kind, text, &object->new, &errors);
    if (status == STATUS_OK)
        return true;
    if (errors.count == 0)
        job_errors_add(&errors, "", "is too large");
    report_all(declared, object, &errors);
    return false;
}

/* ---- the file ---- */

static bool is_name_valid(enum declared_kind kind, struct slice topic, struct slice name)
{
    switch (kind) {
    case DECLARED_LIMIT:
        return limit_name_is_valid(name);
    case DECLARED_PATTERN:
        return topic_pattern_is_open(name);
    case DECLARED_TOPIC:
        return topic_is_valid(name);
    case DECLARED_GROUP:
        return group_name_is_valid(name);
    case DECLARED_KEY:
        return topic_is_valid(topic) && name.size > 0;
    default:
        return topic_is_valid(topic) && recurring_id_is_valid(name);
    }
}

static void read_object(struct declared *declared, enum declared_kind kind, struct slice topic,
                        struct slice key, struct slice value)
{
    struct buffer room, path;
    struct json_cursor cursor;
    buffer_init(&room, PATH_SIZE);
    buffer_init(&path, PATH_SIZE);
    struct slice name = json_name(key, &room), id = name;
    if (kind == DECLARED_SCHEDULE && !job_key_parse(name, &topic, &id))
        topic = id = SLICE("");
    buffer_printf(&path, "%s %.*s", declared_kinds[kind].word, SLICE_ARG(name));
    if (!is_name_valid(kind, topic, id)) {
        static const char *const expected[DECLARED_KINDS] = {
            [DECLARED_LIMIT] = "expected the name of a limit, 1 to 128 characters of A-Z a-z 0-9 . _ -",
            [DECLARED_PATTERN] = "expected a pattern such as orders-*",
            [DECLARED_TOPIC] = "expected a topic, 1 to 128 characters of A-Z a-z 0-9 . _ -",
            [DECLARED_KEY] = "expected a key, below a topic",
            [DECLARED_GROUP] = "expected the name of a group, 1 to 128 characters of A-Z a-z 0-9 . _ -",
            [DECLARED_SCHEDULE] = "expected a schedule as TOPIC/ID"};
        report(declared, key.data, buffer_text(&path), expected[kind]);
    } else if (!json_open(value, &cursor) || cursor.close != '}') {
        report(declared, value.data, buffer_text(&path), "must be an object");
    } else {
        struct declared_object *object = declared_add(declared, kind, topic, id);
        object->text = value;
        object->place = key.data;
        object->is_declared = true;
        (void)declared_show(declared, object, value);
    }
    buffer_fini(&room);
    buffer_fini(&path);
}

static void read_kind(struct declared *declared, enum declared_kind kind, struct slice value)
{
    struct json_cursor objects, keys;
    struct slice key, item, name, settings;
    struct buffer room;
    bool is_none = slice_equal(value, SLICE("null"));
    if (!is_none && (!json_open(value, &objects) || objects.close != '}')) {
        report(declared, value.data, declared_kinds[kind].member,
               "must be an object, whose members are named");
        return;
    }
    declared->has[kind] = true;
    if (is_none)
        return;
    buffer_init(&room, PATH_SIZE);
    while (json_next_member(&objects, &key, &item)) {
        if (kind != DECLARED_KEY) {
            read_object(declared, kind, SLICE(""), key, item);
        } else if (!json_open(item, &keys) || keys.close != '}') {
            report(declared, item.data, declared_kinds[kind].member,
                   "must be an object: a topic, and its keys in it");
        } else {
            char *topic = slice_dup(json_name(key, &room));
            while (json_next_member(&keys, &name, &settings))
                read_object(declared, kind, slice_of(topic), name, settings);
            free(topic);
        }
    }
    buffer_fini(&room);
}

bool declared_read(struct declared *declared, const char *path, struct problem *problem)
{
    struct json_cursor members;
    struct slice key, value, found[DECLARED_KINDS] = {{NULL, 0}};
    *declared = (struct declared){.count = 0};
    if (!declared_file_read(&declared->file, path, problem))
        return false;
    if (!json_open(buffer_slice(&declared->file.text), &members) || members.close != '}') {
        problem_set(problem,
                    "%s: expected an object with limits, patterns, topics, keys, groups or schedules",
                    declared->file.name);
        return false;
    }
    while (json_next_member(&members, &key, &value)) {
        struct slice name = slice_from(key.data + 1, key.size - 2);
        struct suggestion meant = {.name = name};
        char detail[SUGGESTION_DETAIL_SIZE], member[PATH_SIZE];
        int kind = 0;
        while (kind < DECLARED_KINDS && !slice_equal(name, slice_of(declared_kinds[kind].member)))
            suggestion_weigh(&meant, declared_kinds[kind++].member);
        if (kind < DECLARED_KINDS) {
            found[kind] = value;
            continue;
        }
        suggestion_write(&meant, "unknown member", detail);
        snprintf(member, sizeof member, "%.*s", SLICE_ARG(name));
        report(declared, key.data, member, detail);
    }
    for (int kind = 0; kind < DECLARED_KINDS; kind++)
        if (found[kind].data)
            read_kind(declared, (enum declared_kind)kind, found[kind]);
    if (declared->faults)
        problem_set(problem, "%s has %zu error%s; nothing was sent", declared->file.name, declared->faults,
                    declared->faults == 1 ? "" : "s");
    return declared->faults == 0;
}

void declared_fini(struct declared *declared)
{
    for (size_t i = 0; i < declared->count; i++) {
        free(declared->objects[i].topic);
        free(declared->objects[i].name);
        buffer_fini(&declared->objects[i].wanted);
        buffer_fini(&declared->objects[i].new);
        buffer_fini(&declared->objects[i].old);
    }
    free(declared->objects);
    declared_file_fini(&declared->file);
}
