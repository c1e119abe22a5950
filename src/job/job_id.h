/* job_id.h - names of topics and jobs, and of workflows in Redis. */
#ifndef DUEPOST_JOB_JOB_ID_H
#define DUEPOST_JOB_JOB_ID_H

#include "base/slice.h"

enum {
    JOB_TOPIC_MAX = 128,   /* maximum size in bytes of a topic's name, or of the part before '~' in a sibling
                              topic's name */
    JOB_SIBLING_MAX = 128, /* maximum size of the part of a sibling topic's name that begins with '~' */
    JOB_ID_MAX = 255,      /* maximum size of a jobId that a client chooses */
    JOB_ID_DERIVED_MAX =
        320, /* maximum size of a jobId that the server creates for a job of a sibling topic */
    JOB_TOPIC_NAME_MAX = JOB_TOPIC_MAX + JOB_SIBLING_MAX,
    JOB_KEY_MAX = JOB_TOPIC_NAME_MAX + 1 + JOB_ID_DERIVED_MAX, /* topic/jobId */
};

/* Returns whether this is the name of a topic: 1 to 128 of the bytes A-Z a-z 0-9 . _ - but not "." or "..".
 * In the name of a sibling topic, '~' follows, and then at most JOB_SIBLING_MAX - 1 of the same bytes or
 * '~'. */
bool topic_is_valid(struct slice);

/* A sibling topic, such as orders~callbacks, holds jobs that the server creates for the jobs of its owner,
 * orders. Clients cannot write its jobs or settings. A sibling topic is in the shard of its owner. The rights
 * of tokens and the signing secrets are those of its owner. Clients never see the bodies of its jobs, because
 * such a body may hold a whole job of the owner. */
#define JOB_SIBLING_MARK '~'
bool topic_is_sibling(struct slice topic);

/* Returns whether this is the name of a group: the same rules as for a topic that clients write to. */
bool group_name_is_valid(struct slice);

/* Returns whether this is the name of a limit: the same rules. */
bool limit_name_is_valid(struct slice);

/* Returns the owner of a topic, or of the topic in a topic/jobId: the name of the topic up to its first
 * '~'. */
struct slice topic_owner(struct slice topic_or_id);

/* Returns whether a client may choose this jobId: 1 to JOB_ID_MAX bytes of UTF-8 without control characters,
 * but not "." or "..". */
bool job_id_is_valid(struct slice);

/* Returns whether a part of the id, between slashes, is "." or "..". No new job, schedule or workflow may
 * have such an id: programs in front of duepost resolve these parts, so a request would arrive at another
 * path. Jobs of earlier versions may have them. */
bool job_id_has_dots(struct slice id);

/* Cuts topic/jobId at its first slash. Returns false if key is not a valid topic/jobId. The jobId of a
 * sibling topic may have JOB_ID_DERIVED_MAX bytes. */
bool job_key_parse(struct slice key, struct slice *topic, struct slice *job_id);

/* Creates a new id: 26 letters and digits that sort by time (48 bits of ms, 80 random bits, Crockford's base
 * 32). */
enum { JOB_ID_NEW_SIZE = 26 };
void job_id_make(int64_t now_ms, const uint8_t random[10], char text[JOB_ID_NEW_SIZE]);

/* Splits a place (the text owner/workflowId/time, which names one workflow) into its parts. Returns false
 * if the text is not a place. */
bool workflow_place_parse(struct slice place, struct slice *id, int64_t *made_ms);

#endif
