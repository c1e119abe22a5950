/* groups.h - use cases for groups of endpoints: read one group, and change it. app_groups in topics.h lists
 * groups. */
#ifndef DUEPOST_APP_GROUPS_H
#define DUEPOST_APP_GROUPS_H

#include "app/topics.h"

/* A group is read and written as a text (group.h). The verdict has this text in its member "settings". */

/* Writes the tag of this version of a group. */
void app_group_tag(struct slice text, char tag[JOB_TAG_SIZE]);

/* Reads a group. Ends with OK, NOT_FOUND or UNAVAILABLE. */
void app_group(struct app *, struct slice name, app_verdict_fn *, void *arg);

struct app_group_change {
    struct slice name;
    enum app_change kind; /* APP_CHANGE_RESET removes the group */
    struct slice text;    /* text that the client sent */
    struct slice tags;    /* see job_tags_match; If-None-Match also allows that there is no group */
};

/* Changes a group: reads the group, creates the new text, and writes the new text. If another process has
 * changed the group since the read, begins again. With OK, the verdict has the new text, and was_there says
 * whether there was a group. */
void app_group_change(struct app *, const struct app_caller *, const struct app_group_change *,
                      app_verdict_fn *, void *arg);

#endif
