#include "app/groups.h"

#include <stdio.h>

#include "app/app_private.h"
#include "base/memory.h"
#include "job/group.h"
#include "job/group_sealed.h"
#include "job/text/sealed.h"

enum { TRIES_MAX = 5 };

static const char *const change_events[] = {"group_replaced", "group_changed", "group_removed"};

/* The tag of a sealed text is that of the text as it was before, so that it changes with the group only. */
void app_group_tag(struct slice text, char tag[JOB_TAG_SIZE])
{
    struct slice ignored;
    char room[sizeof JOB_LACKS_KEY + SEAL_NAME_SIZE];
    struct buffer opened, lacks = buffer_of(room, sizeof room);
    buffer_init(&opened, GROUP_BYTES_MAX);
    bool is_opened = sealed_find(text, &ignored) && group_open(text, &opened, &lacks) == SEAL_OPENED;
    job_tag_make(SLICE("group"), 0, is_opened ? buffer_slice(&opened) : text, tag);
    buffer_fini(&opened);
}

/* Reads one group, and passes it to fn as a page of topics. */
static void read_group(struct app *app, struct slice name, store_topics_fn *fn, void *arg)
{
    struct store_topics topics = {.topic = name, .max = 1, .are_groups = true};
    store_topics(app->store, &topics, fn, arg);
}

/* ---- one ---- */

struct group_call {
    struct app *app;
    struct slice name;
    app_verdict_fn *fn;
    void *arg;
};

static void on_group(void *arg, enum status status, const struct topic *found, size_t count,
                     struct topic_cursor next)
{
    struct group_call *call = arg;
    (void)next;
    if (status == STATUS_UNKNOWN)
        status = STATUS_UNAVAILABLE;
    if (status == STATUS_OK && (count == 0 || found->settings.size == 0))
        status = STATUS_NOT_FOUND;
    if (status == STATUS_OK)
        call->fn(call->arg, &(struct app_verdict){.end = STATUS_OK, .settings = found->settings});
    else
        use_case_end(call->app, call->name, status, NULL, call->fn, call->arg);
    free(call);
}

void app_group(struct app *app, struct slice name, app_verdict_fn *fn, void *arg)
{
    struct group_call *call = NEW(struct group_call);
    *call = (struct group_call){app, name, fn, arg};
    read_group(app, name, on_group, call);
}

/* ---- change ---- */

struct change {
    struct app *app;
    const struct app_caller *caller;
    struct app_group_change call;
    app_verdict_fn *fn;
    void *arg;
    struct buffer old_text, new_text; /* old_text: as Redis has it */
    struct buffer stored;             /* new_text, sealed */
    int tries;
};

static void on_old(void *arg, enum status, const struct topic *, size_t count, struct topic_cursor next);

static void change_free(struct change *change)
{
    buffer_fini(&change->old_text);
    buffer_fini(&change->new_text);
    buffer_fini(&change->stored);
    free(change);
}

static void end_change(struct change *change, const struct app_verdict *verdict)
{
    change->fn(change->arg, verdict);
    change_free(change);
}

static void refuse_change(struct change *change, enum status end)
{
    end_change(change, &(struct app_verdict){.end = end});
}

static void on_set(void *arg, enum status status)
{
    struct change *change = arg;
    if (status == STATUS_STALE && ++change->tries < TRIES_MAX) {
        read_group(change->app, change->call.name, on_old, change);
        return;
    }
    audit_change(change->caller, change_events[change->call.kind], "group", change->call.name, status,
                 audit_show_group, buffer_slice(&change->old_text), buffer_slice(&change->new_text));
    if (status == STATUS_STALE) {
        refuse_change(change, STATUS_CONTENDED);
    } else if (status == STATUS_OK) {
        end_change(change, &(struct app_verdict){.end = STATUS_OK,
                                                 .settings = buffer_slice(&change->new_text),
                                                 .was_there = change->old_text.size > 0});
    } else {
        use_case_end(change->app, change->call.name, status, NULL, change->fn, change->arg);
        change_free(change);
    }
}

/* Writes the new text. Returns INVALID with the errors in errors. */
static enum status make_text(struct change *change, struct job_errors *errors)
{
    struct slice old = buffer_slice(&change->old_text), text = change->call.text;
    buffer_clear(&change->new_text);
    enum status status = change->call.kind == APP_CHANGE_REPLACE
                             ? group_parse(text, &change->new_text, errors)
                             : group_patch(old, text, &change->new_text, errors);
    if (status == STATUS_OK) {
        struct group group;
        struct group_walk *walk = NEW(struct group_walk);
        bool is_read = group_read(buffer_slice(&change->new_text), &group) == STATUS_OK;
        if (is_read && group.lacks.size == 0) {
            group_walk_init(walk, &group);
            while (group_walk_next(walk)) {
                char why[TARGET_WHY_SIZE], field[GROUP_ENDPOINT_NAME_MAX + sizeof ".url"];
                if (target_is_allowed(change->app, walk->endpoint.url, why))
                    continue;
                snprintf(field, sizeof field, "%.*s.url", SLICE_ARG(walk->name));
                job_errors_add_named(errors, "endpoints.", slice_of(field), why);
            }
            group_walk_fini(walk);
        }
        if (is_read)
            group_fini(&group);
        free(walk);
    }
    return status == STATUS_OK && errors->count > 0 ? STATUS_INVALID : status;
}

/* Returns whether the stored group meets the condition of the request. If there is no group, returns
 * whether the condition allows that. */
static bool meets_tags(const struct change *change)
{
    struct slice tags = change->call.tags;
    char tag[JOB_TAG_SIZE];
    if (change->old_text.size == 0)
        return tags.size == 0 || tags.data[0] == JOB_TAGS_EXCLUDED;
    app_group_tag(buffer_slice(&change->old_text), tag);
    return job_tags_match(tags, tag);
}

/* Creates the new text from the old one. If that fails, ends the use case and returns false. */
static bool make_change(struct change *change)
{
    struct group old;
    struct job_errors errors;
    bool is_there = change->old_text.size > 0;
    if (!meets_tags(change) || (!is_there && change->call.kind != APP_CHANGE_REPLACE)) {
        refuse_change(change, meets_tags(change) ? STATUS_NOT_FOUND : STATUS_STALE);
        return false;
    }
    if (change->call.kind == APP_CHANGE_RESET)
        return true;
    job_errors_clear(&errors);
    enum status status = is_there ? group_read(buffer_slice(&change->old_text), &old) : STATUS_OK;
    if (status == STATUS_INVALID && change->call.kind == APP_CHANGE_MERGE) {
        refuse_change(change, STATUS_UNREADABLE);
        return false;
    }
    if (status == STATUS_OK && is_there && old.lacks.size) {
        end_change(change, &(struct app_verdict){.end = STATUS_LACKING, .why = old.lacks});
        group_fini(&old);
        return false;
    }
    if (status == STATUS_OK && is_there)
        group_fini(&old);
    if (status != STATUS_NO_MEMORY)
        status = make_text(change, &errors);
    if (status == STATUS_INVALID)
        end_change(change, &(struct app_verdict){.end = STATUS_INVALID, .errors = &errors});
    else if (status != STATUS_OK)
        refuse_change(change, STATUS_NO_MEMORY);
    return status == STATUS_OK;
}

static void on_old(void *arg, enum status status, const struct topic *found, size_t count,
                   struct topic_cursor next)
{
    struct change *change = arg;
    (void)next;
    if (status != STATUS_OK) {
        status = status == STATUS_UNKNOWN ? STATUS_UNAVAILABLE
                                          : status; /* only the read failed, so nothing has changed */
        use_case_end(change->app, change->call.name, status, NULL, change->fn, change->arg);
        change_free(change);
        return;
    }
    buffer_clear(&change->old_text);
    if (count)
        buffer_append(&change->old_text, found->settings);
    if (change->old_text.failed) {
        refuse_change(change, STATUS_NO_MEMORY);
        return;
    }
    if (!make_change(change))
        return;
    buffer_clear(&change->stored);
    group_seal(change->call.name, buffer_slice(&change->new_text), &change->stored);
    if (change->stored.failed)
        refuse_change(change, STATUS_NO_MEMORY);
    else
        store_set_group(change->app->store, change->call.name, buffer_slice(&change->old_text),
                        buffer_slice(&change->stored), on_set, change);
}

void app_group_change(struct app *app, const struct app_caller *caller, const struct app_group_change *call,
                      app_verdict_fn *fn, void *arg)
{
    if (use_case_is_unready(app, call->name, fn, arg))
        return;
    struct change *change = NEW(struct change);
    *change = (struct change){.app = app, .caller = caller, .call = *call, .fn = fn, .arg = arg};
    buffer_init_fallible(&change->old_text, (size_t)2 * GROUP_BYTES_MAX);
    buffer_init_fallible(&change->new_text, (size_t)2 * GROUP_BYTES_MAX);
    buffer_init_fallible(&change->stored, (size_t)2 * GROUP_BYTES_MAX);
    read_group(app, call->name, on_old, change);
}
