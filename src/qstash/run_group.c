#include "qstash/run_group.h"

#include <stdio.h>

#include "base/memory.h"
#include "qstash/answer.h"
#include "qstash/run.h"

struct run_group_member {
    run_group_fn *fn;
    void *arg;
};

struct run_group {
    struct app *app;
    char key_room[RUN_KEY_SIZE];
    struct slice key, id;
    size_t expected, ended, count;
    struct workflow_entry *entries;
    struct run_group_member *members;
    unsigned status; /* status of the first refusal; 0: none */
    char error[ANSWER_TEXT_SIZE];
};

struct run_group *run_group_new(struct app *app, struct slice run_id, size_t expected)
{
    struct run_group *group = NEW(struct run_group);
    group->app = app;
    group->key = run_key(run_id, group->key_room);
    group->id = slice_skip(group->key, group->key.size - run_id.size);
    group->expected = expected;
    return group;
}

void run_group_free(struct run_group *group)
{
    if (!group)
        return;
    free(group->entries);
    free(group->members);
    free(group);
}

struct slice run_group_id(const struct run_group *group)
{
    return group->id;
}

void run_group_expect(struct run_group *group)
{
    group->expected++;
}

/* Calls back for each message of the group. The last callback may free the group. */
static void end_all(struct run_group *group, unsigned status, struct slice error, const struct slice *firsts)
{
    size_t count = group->count;
    for (size_t i = 0; i < count; i++)
        group->members[i].fn(group->members[i].arg, status, error, firsts ? firsts[i] : SLICE(""));
}

static void on_appended(void *arg, const struct app_verdict *verdict, const struct slice *firsts)
{
    struct run_group *group = arg;
    unsigned status = 200;
    if (verdict->end == STATUS_NOT_FOUND) {
        status = 400;
        snprintf(group->error, sizeof group->error, "the workflow run %.*s is not active",
                 SLICE_ARG(group->id));
    } else if (verdict->end == STATUS_EXISTS) { /* cannot happen in practice, because ids are random */
        status = 503;
        snprintf(group->error, sizeof group->error, "another message has the id; nothing changed");
    } else if (verdict->end != STATUS_OK) {
        status = answer_of_verdict(verdict, group->error);
    }
    end_all(group, status, slice_of(group->error), firsts);
}

static void end_one(struct run_group *group)
{
    if (++group->ended < group->expected)
        return;
    if (group->status)
        end_all(group, group->status, slice_of(group->error), NULL);
    else
        app_workflow_append(group->app, group->key, group->entries, group->count, on_appended, group);
}

void run_group_add(struct run_group *group, const struct workflow_entry *entry, run_group_fn *fn, void *arg)
{
    if (!group->entries) {
        group->entries = NEW_ARRAY(struct workflow_entry, group->expected);
        group->members = NEW_ARRAY(struct run_group_member, group->expected);
    }
    group->entries[group->count] = *entry;
    group->members[group->count++] = (struct run_group_member){fn, arg};
    end_one(group);
}

void run_group_miss(struct run_group *group, unsigned status, struct slice error)
{
    if (!group->status) {
        group->status = status;
        snprintf(group->error, sizeof group->error, "%.*s", SLICE_ARG(error));
    }
    end_one(group);
}
