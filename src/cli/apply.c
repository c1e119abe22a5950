/* apply.c - duepost apply and duepost diff: make the limits, patterns, topics, keys, groups and schedules of
 * a server as a file declares them.
 *
 * An object of the file is parsed and shown by the same tables with which the server parses and shows it, so
 * that both sides can be compared member by member, and a wrong member is found before anything is sent. The
 * server masks some values ("***"); they are equal if their masks are.
 *
 * Each object is changed by one request that replaces it whole. References are satisfied by the order: limits
 * come before the topics that name them, groups before schedules, and removals last, in the reverse order. A
 * run that fails in the middle has changed whole objects, and the next run does the rest. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_writer.h"
#include "cli/commands.h"
#include "cli/declared.h"
#include "job/request.h"
#include "job/text/json.h"

enum { TEXT_MAX = 8 * 1024 * 1024, PATH_SIZE = 512, VALUE_SHOWN = 120 };
#define HIDDEN SLICE(HEADER_HIDDEN)

/* The lists of the server, for --prune. */
static const struct {
    const struct listing *listing;
    const char *name; /* member that names an object of the listing */
} listings[DECLARED_KINDS] = {
    [DECLARED_LIMIT] = {&listing_limits, "limit"}, [DECLARED_PATTERN] = {NULL, "topic"},
    [DECLARED_TOPIC] = {&listing_topics, "topic"}, [DECLARED_KEY] = {&listing_keys, "key"},
    [DECLARED_GROUP] = {&listing_groups, "group"}, [DECLARED_SCHEDULE] = {&listing_schedules, "scheduleId"},
};

struct apply {
    struct call *call;
    struct declared declared;
    size_t created, changed, removed, unchanged, hidden;
    bool is_dry, is_rewriting;
    struct buffer json; /* the changes, for --json */
};

static void write_target(const struct declared_object *object, struct buffer *target)
{
    static const char *const paths[DECLARED_KINDS] = {
        [DECLARED_LIMIT] = "/limits/", [DECLARED_PATTERN] = "/topics/", [DECLARED_TOPIC] = "/topics/",
        [DECLARED_KEY] = "/topics/",   [DECLARED_GROUP] = "/groups/",   [DECLARED_SCHEDULE] = "/schedules/"};
    buffer_clear(target);
    buffer_printf(target, "%s", paths[object->kind]);
    if (object->topic)
        call_add_encoded(target, object->topic);
    if (object->topic)
        buffer_printf(target, object->kind == DECLARED_KEY ? "/keys/" : "/");
    call_add_encoded(target, object->name);
}

/* ---- the server ---- */

/* Writes an object of JSON without the members that only the server sets, and without those whose setting is
 * not the topic's own. from: where the settings are from, or NULL. */
static void copy_members(struct slice text, const json_t *from, struct buffer *out)
{
    static const char *const ours[] = {"topic", "scheduleId", "createdAt",     "next",   "nextAt",
                                       "group", "last",       "expectedUntil", "missed", "deliveredAt"};
    struct json_cursor members;
    struct slice key, value;
    struct json_writer json = json_writer_to(out);
    json_put_object(&json);
    if (json_open(text, &members))
        while (json_next_member(&members, &key, &value)) {
            char name[PATH_SIZE];
            bool is_ours = false;
            snprintf(name, sizeof name, "%.*s", (int)(key.size - 2), key.data + 1);
            for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
                is_ours |= !from && strcmp(name, ours[i]) == 0;
            const char *origin = from ? call_text(from, name) : "topic";
            if (is_ours || !origin || strcmp(origin, "topic") != 0)
                continue;
            json_put_name_text(&json, slice_of(name));
            json_put_raw(&json, value);
        }
    json_end_object(&json);
}

/* Reads the settings of the pattern from the list of all. */
static void copy_pattern(struct declared_object *object, struct slice patterns)
{
    struct json_cursor cursor;
    struct slice item;
    struct buffer scratch;
    buffer_init(&scratch, PATH_SIZE);
    if (json_open(patterns, &cursor))
        while (json_next_item(&cursor, &item)) {
            buffer_clear(&scratch);
            struct slice name = call_member(item, "topic");
            if (json_is_text(name) && slice_equal(json_text(name, &scratch), slice_of(object->name))) {
                object->is_there = true;
                buffer_append(&object->old, call_member(item, "settings"));
            }
        }
    buffer_fini(&scratch);
}

/* Reads the object as the server has it. */
static bool read_old(struct apply *apply, struct declared_object *object)
{
    struct call *call = apply->call;
    struct buffer target;
    buffer_init(&target, CALL_TARGET_MAX);
    write_target(object, &target);
    json_t *json =
        remote_ask_json(call->remote, "GET",
                        object->kind == DECLARED_PATTERN ? "/topics?patterns=true" : buffer_text(&target),
                        NULL, &call->problem);
    struct slice text = remote_text(call->remote);
    bool is_missing = !json && slice_equal(call_member(text, "status"), SLICE("404"));
    buffer_fini(&target);
    buffer_clear(&object->old);
    object->is_there = false;
    if (is_missing)
        call->problem = (struct problem){""};
    if (!json)
        return is_missing;
    switch (object->kind) {
    case DECLARED_PATTERN:
        copy_pattern(object, call_member(text, "patterns"));
        break;
    case DECLARED_TOPIC:
        copy_members(call_member(text, "settings"), json_object_get(json, "from"), &object->old);
        object->is_there = object->old.size > 2;
        break;
    case DECLARED_GROUP:
        object->is_there = true;
        buffer_append(&object->old, SLICE("{\"endpoints\":"));
        buffer_append(&object->old, call_member(text, "endpoints"));
        buffer_append_byte(&object->old, '}');
        break;
    case DECLARED_SCHEDULE:
        object->is_there = true;
        copy_members(text, NULL, &object->old);
        break;
    default:
        buffer_append(&object->old, call_member(text, "settings"));
        object->is_there = object->kind == DECLARED_LIMIT || object->old.size > 2;
    }
    json_decref(json);
    return true;
}

/* ---- comparing ---- */

/* Visits the members in which two values differ. old or new is empty if the member is missing there. */
typedef void difference_fn(void *arg, const char *path, struct slice old, struct slice new);

static struct slice member_of(struct slice object, struct slice key)
{
    struct json_cursor cursor;
    struct slice each, value;
    if (json_open(object, &cursor) && cursor.close == '}')
        while (json_next_member(&cursor, &each, &value))
            if (slice_equal(each, key))
                return value;
    return SLICE("");
}

/* Returns whether two values are equal, but for white space between values. */
static bool is_equal_text(struct slice a, struct slice b)
{
    const char *p = a.data, *q = b.data, *p_end = slice_end(a), *q_end = slice_end(b);
    for (bool is_text = false;; p++, q++) {
        while (!is_text && p < p_end && strchr(" \t\r\n", *p) && *p)
            p++;
        while (!is_text && q < q_end && strchr(" \t\r\n", *q) && *q)
            q++;
        if (p == p_end || q == q_end)
            return p == p_end && q == q_end;
        if (*p != *q)
            return false;
        if (is_text && *p == '\\' && p + 1 < p_end && q + 1 < q_end) {
            p++, q++;
            if (*p != *q)
                return false;
        } else if (*p == '"') {
            is_text = !is_text;
        }
    }
}

static void apply_compare(const char *path, struct slice old, struct slice new, difference_fn *fn, void *arg)
{
    struct json_cursor a, b;
    struct slice key, value;
    char below[PATH_SIZE];
    if (is_equal_text(old, new))
        return;
    bool has_old = json_open(old, &a) && a.close == '}', has_new = json_open(new, &b) && b.close == '}';
    /* A missing object is shown member by member, except those that have no members. */
    if (!(has_old || old.size == 0) || !(has_new || new.size == 0) ||
        (json_count_members(old) + json_count_members(new) == 0)) {
        fn(arg, path, old, new);
        return;
    }
    while (has_old && json_next_member(&a, &key, &value)) {
        snprintf(below, sizeof below, "%s%s%.*s", path, *path ? "." : "", (int)(key.size - 2), key.data + 1);
        apply_compare(below, value, has_new ? member_of(new, key) : SLICE(""), fn, arg);
    }
    while (has_new && json_next_member(&b, &key, &value)) {
        if (has_old && member_of(old, key).size)
            continue;
        snprintf(below, sizeof below, "%s%s%.*s", path, *path ? "." : "", (int)(key.size - 2), key.data + 1);
        apply_compare(below, SLICE(""), value, fn, arg);
    }
}

static void note_difference(void *arg, const char *path, struct slice old, struct slice new)
{
    (void)path;
    (void)old;
    (void)new;
    *(bool *)arg = false;
}

/* Pausing is an action of operators, which a file that does not name it leaves as it is. */
static void keep_pause(struct declared_object *object)
{
    static const char *const names[] = {"paused", "pauseReason"};
    struct slice text = object->text;
    bool is_kept = slice_equal(member_of(buffer_slice(&object->old), SLICE("\"paused\"")), SLICE("true")) &&
                   member_of(text, SLICE("\"paused\"")).size == 0;
    struct json_cursor cursor;
    buffer_clear(&object->wanted);
    buffer_append(&object->wanted, text);
    if (!is_kept || !json_open(text, &cursor))
        return;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char key[PATH_SIZE];
        snprintf(key, sizeof key, "\"%s\"", names[i]);
        struct slice value = member_of(buffer_slice(&object->old), slice_of(key));
        if (value.size == 0 || member_of(text, slice_of(key)).size)
            continue;
        object->wanted.size--; /* the closing brace */
        buffer_printf(&object->wanted, "%s%s:%.*s}", object->wanted.size > 1 ? "," : "", key,
                      SLICE_ARG(value));
    }
}

/* Reads the server's objects, and decides what becomes of each. */
static bool compare_object(struct apply *apply, struct declared_object *object)
{
    if (!read_old(apply, object))
        return false;
    if (!object->is_declared) {
        object->is_same = !object->is_there;
        return true;
    }
    keep_pause(object);
    if (!declared_show(&apply->declared, object, buffer_slice(&object->wanted)))
        return false;
    bool is_empty =
        object->new.size == 2 && !object->is_there &&
        (object->kind == DECLARED_TOPIC || object->kind == DECLARED_PATTERN || object->kind == DECLARED_KEY);
    object->is_same = object->is_there || is_empty;
    if (object->is_there)
        apply_compare("", buffer_slice(&object->old), buffer_slice(&object->new), note_difference,
                      &object->is_same);
    object->has_hidden = memmem(object->new.data, object->new.size, HIDDEN.data, HIDDEN.size);
    if (object->is_same && object->has_hidden && apply->is_rewriting)
        object->is_same = false;
    return true;
}

/* ---- objects that the file does not name ---- */

static bool is_known(const struct apply *apply, enum declared_kind kind, const char *topic, const char *name)
{
    for (size_t i = 0; i < apply->declared.count; i++) {
        const struct declared_object *object = &apply->declared.objects[i];
        if (object->kind == kind && strcmp(object->name, name) == 0 &&
            (!topic || !object->topic || strcmp(object->topic, topic) == 0))
            return true;
    }
    return false;
}

/* Adds an object of the server that is to be removed. Names with '~' belong to duepost itself. */
static void add_unnamed(struct apply *apply, enum declared_kind kind, const char *topic, const char *name)
{
    if (name && !strchr(topic ? topic : name, '~') && !is_known(apply, kind, topic, name))
        declared_add(&apply->declared, kind, slice_of(topic), slice_of(name));
}

/* Returns whether a topic or a key of a list has settings of its own. Most have jobs alone, and need no
 * request of their own. */
static bool has_settings(enum declared_kind kind, const json_t *item)
{
    const char *name;
    json_t *origin;
    if (kind == DECLARED_KEY)
        return json_object_size(json_object_get(item, "settings")) > 0;
    json_object_foreach((json_t *)(uintptr_t)json_object_get(item, "from"), name, origin)
    {
        const char *text = json_string_value(origin);
        if (text && strcmp(text, "topic") == 0)
            return true;
    }
    return kind != DECLARED_TOPIC;
}

static bool list_unnamed(struct apply *apply, enum declared_kind kind, const char *topic)
{
    struct call *call = apply->call;
    struct buffer target, path;
    struct listing listing = listings[kind].listing ? *listings[kind].listing : listing_topics;
    json_t *page = NULL, *next, *item;
    size_t i;
    buffer_init(&target, CALL_TARGET_MAX);
    buffer_init(&path, CALL_TARGET_MAX);
    if (kind == DECLARED_KEY) {
        buffer_printf(&path, "/topics/%s/keys", topic);
        listing.path = buffer_text(&path);
    }
    if (kind == DECLARED_PATTERN) {
        page = remote_ask_json(call->remote, "GET", "/topics?patterns=true", NULL, &call->problem);
        json_array_foreach(json_object_get(page, "patterns"), i, item)
        {
            add_unnamed(apply, kind, NULL, call_text(item, "topic"));
        }
    } else {
        if (kind == DECLARED_SCHEDULE)
            listing.path = "/schedules";
        while ((next = list_next_page(call, &listing, &target, page))) {
            json_decref(page);
            page = next;
            if (json_is_true(json_object_get(page, "partial")))
                problem_set(&call->problem,
                            "the server lists only a part of its %s, so --prune cannot remove the "
                            "others",
                            declared_kinds[kind].member);
            json_array_foreach(json_object_get(page, listing.member), i, item)
            {
                if (has_settings(kind, item))
                    add_unnamed(apply, kind, kind == DECLARED_SCHEDULE ? call_text(item, "topic") : topic,
                                call_text(item, listings[kind].name));
            }
        }
    }
    json_decref(page);
    buffer_fini(&target);
    buffer_fini(&path);
    return !call->problem.text[0];
}

static bool add_all_unnamed(struct apply *apply)
{
    size_t count = apply->declared.count;
    for (int kind = 0; kind < DECLARED_KINDS; kind++) {
        if (!apply->declared.has[kind])
            continue;
        if (kind != DECLARED_KEY && !list_unnamed(apply, (enum declared_kind)kind, NULL))
            return false;
        for (size_t i = 0; kind == DECLARED_KEY && i < count; i++) { /* the file names the topics */
            bool is_first = apply->declared.objects[i].kind == DECLARED_KEY;
            for (size_t k = 0; k < i && is_first; k++)
                is_first = apply->declared.objects[k].kind != DECLARED_KEY ||
                           strcmp(apply->declared.objects[k].topic, apply->declared.objects[i].topic) != 0;
            if (is_first && !list_unnamed(apply, DECLARED_KEY, apply->declared.objects[i].topic))
                return false;
        }
    }
    return true;
}

/* ---- what the command prints ---- */

static void print_value(struct buffer *line, struct slice value)
{
    if (value.size == 0)
        buffer_append(line, SLICE("(none)"));
    else
        buffer_printf(line, "%.*s%s", (int)(value.size < VALUE_SHOWN ? value.size : VALUE_SHOWN), value.data,
                      value.size > VALUE_SHOWN ? "..." : "");
}

static void print_difference(void *arg, const char *path, struct slice old, struct slice new)
{
    const struct declared_object *object = arg;
    struct buffer line;
    buffer_init(&line, TEXT_MAX);
    buffer_printf(&line, "    %s  ", path);
    if (object->is_there)
        print_value(&line, old);
    if (object->is_there)
        buffer_append(&line, SLICE(" -> "));
    print_value(&line, new);
    table_print_line(stdout, "%s\n", buffer_text(&line));
    buffer_fini(&line);
}

static void add_difference(void *arg, const char *path, struct slice old, struct slice new)
{
    struct json_writer *json = arg;
    json_put_object(json);
    json_add_text(json, "member", slice_of(path));
    if (old.size)
        json_add_raw(json, "old", old);
    if (new.size)
        json_add_raw(json, "new", new);
    json_end_object(json);
}

static const char *action_of(const struct declared_object *object)
{
    return !object->is_declared ? "remove" : object->is_there ? "change" : "create";
}

/* Prints what is done to an object. */
static void print_change(struct apply *apply, struct declared_object *object)
{
    struct buffer title;
    buffer_init(&title, PATH_SIZE);
    declared_write_title(object, &title);
    if (apply->call->arguments.is_json) {
        struct json_writer json = {&apply->json, apply->json.size > 0};
        json_put_object(&json);
        json_add_text(&json, "action", slice_of(action_of(object)));
        json_add_text(&json, "kind", slice_of(declared_kinds[object->kind].word));
        json_add_text(&json, "name",
                      slice_skip(buffer_slice(&title), strlen(declared_kinds[object->kind].word) + 1));
        json_add_array(&json, "members");
        apply_compare("", buffer_slice(&object->old), buffer_slice(&object->new), add_difference, &json);
        json_end_array(&json);
        json_end_object(&json);
    } else {
        table_print_line(stdout, "%s %s\n", action_of(object), buffer_text(&title));
        if (object->is_declared)
            apply_compare("", buffer_slice(&object->old), buffer_slice(&object->new), print_difference,
                          object);
        fflush(stdout);
    }
    buffer_fini(&title);
}

static void print_end(struct apply *apply)
{
    static const char *const done[] = {"created", "changed", "removed"}, *const due[] = {"to create",
                                                                                         "to change",
                                                                                         "to remove"};
    const char *const *words = apply->is_dry ? due : done;
    if (apply->call->arguments.is_json) {
        struct buffer text;
        buffer_init(&text, (size_t)2 * TEXT_MAX);
        buffer_append(&text, SLICE("{\"changes\":["));
        buffer_append(&text, buffer_slice(&apply->json));
        buffer_printf(&text, "],\"unchanged\":%zu,\"withHiddenValues\":%zu}", apply->unchanged,
                      apply->hidden);
        call_print_json(buffer_slice(&text));
        buffer_fini(&text);
        return;
    }
    printf("%zu %s, %zu %s, %zu %s, %zu unchanged\n", apply->created, words[0], apply->changed, words[1],
           apply->removed, words[2], apply->unchanged);
    if (apply->hidden && !apply->is_rewriting)
        printf("%zu of the unchanged %s values that the server does not show, such as secrets. They are not "
               "compared; "
               "--write-hidden writes them\n",
               apply->hidden, apply->hidden == 1 ? "has" : "have");
}

/* ---- the changes ---- */

static bool send_change(struct apply *apply, struct declared_object *object)
{
    struct call *call = apply->call;
    struct buffer target, answer, title;
    struct problem problem;
    buffer_init(&target, CALL_TARGET_MAX);
    buffer_init(&answer, REMOTE_ANSWER_MAX);
    buffer_init(&title, PATH_SIZE);
    write_target(object, &target);
    declared_write_title(object, &title);
    bool is_done =
        remote_ask(call->remote, object->is_declared ? "PUT" : "DELETE", buffer_text(&target),
                   object->is_declared ? buffer_text(&object->wanted) : NULL, &answer, &problem) == STATUS_OK;
    if (!is_done && !object->is_declared && strncmp(problem.text, "404:", 4) == 0)
        is_done = true; /* another client has removed it meanwhile */
    if (!is_done && object->is_declared)
        problem_set(&call->problem, "%s:%zu: %s: %.600s", apply->declared.file.name,
                    declared_file_line(&apply->declared.file, object->place), buffer_text(&title),
                    problem.text);
    else if (!is_done)
        problem_set(&call->problem, "%s: %.600s", buffer_text(&title), problem.text);
    buffer_fini(&target);
    buffer_fini(&answer);
    buffer_fini(&title);
    return is_done;
}

static bool do_object(struct apply *apply, struct declared_object *object)
{
    apply->unchanged += object->is_same && object->is_declared;
    apply->hidden += object->is_same && object->is_declared && object->has_hidden;
    if (object->is_same)
        return true;
    if (!apply->is_dry && !send_change(apply, object))
        return false;
    print_change(apply, object);
    *(!object->is_declared ? &apply->removed : object->is_there ? &apply->changed : &apply->created) += 1;
    return true;
}

/* Does all changes in their order. */
static bool do_all(struct apply *apply)
{
    size_t declared = 0;
    while (declared < apply->declared.count && apply->declared.objects[declared].is_declared)
        declared++;
    for (size_t i = 0; i < declared; i++)
        if (!do_object(apply, &apply->declared.objects[i]))
            return false;
    for (size_t i = apply->declared.count; i-- > declared;)
        if (!do_object(apply, &apply->declared.objects[i]))
            return false;
    return true;
}

static bool run(struct call *call, bool is_dry)
{
    struct apply apply = {.call = call, .is_dry = is_dry, .is_rewriting = call->arguments.is_rewriting};
    call->arguments.is_dry_run = false; /* a parameter of lists otherwise */
    buffer_init(&apply.json, TEXT_MAX);
    const char *path = call->arguments.values[ARGUMENT_FILE];
    if (!path) {
        problem_set(&call->problem, "expected -f FILE, such as -f duepost.yaml; - is standard input");
        return false;
    }
    bool is_done = declared_read(&apply.declared, path, &call->problem);
    if (is_done && call->arguments.is_pruning)
        is_done = add_all_unnamed(&apply);
    for (size_t i = 0; i < apply.declared.count && is_done; i++)
        is_done = compare_object(&apply, &apply.declared.objects[i]);
    if (is_done) {
        is_done = do_all(&apply);
        print_end(&apply);
    }
    if (apply.created + apply.changed + apply.removed > 0)
        call->exit_status = is_done && is_dry ? 1 : 0;
    declared_fini(&apply.declared);
    buffer_fini(&apply.json);
    return is_done;
}

bool apply_run(struct call *call)
{
    bool is_done = run(call, call->arguments.is_dry_run);
    call->exit_status = 0;
    return is_done;
}

bool diff_run(struct call *call)
{
    bool is_done = run(call, true);
    if (!is_done)
        call->exit_status = 2; /* as diff(1): 1 means that there are differences */
    return is_done;
}
