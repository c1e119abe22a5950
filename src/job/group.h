/* group.h - a group: several endpoints, each with a name and a url. A job that is sent to a group becomes one
 * job for each endpoint.
 *
 * The text of a group in Redis is JSON of the same form as the API's:
 * {"endpoints":{"<name>":{"url":"...","method":"...","headers":{...}}, ...}}. As in records (job.h), unknown
 * members of another version are kept, and the member "needs" names the features that a process must know to
 * use the group. */
#ifndef DUEPOST_JOB_GROUP_H
#define DUEPOST_JOB_GROUP_H

#include "job/delivery/digest.h"
#include "job/job.h"
#include "job/text/job_errors.h"
#include "job/text/json.h"
#include "job/text/members.h"

enum {
    GROUP_NAME_MAX = JOB_TOPIC_MAX, /* bytes */
    GROUP_ENDPOINTS_MAX = 100,
    GROUP_ENDPOINT_NAME_MAX = 64, /* bytes */
    GROUP_BYTES_MAX = 256 * 1024, /* maximum size of a group's text in bytes */
    GROUP_PATCH_MAX = 512 * 1024, /* maximum size of a patch in bytes, including spaces */
};

struct group_endpoint {
    struct slice url;
    enum job_method method; /* method of the requests; if it is POST, the job's method is used */
    struct job_header headers[JOB_HEADERS_MAX];
    size_t header_count;
    struct unknown_members unknown; /* members that this version does not know */
};

/* Parses a group that a client sent, and writes its text for Redis to "out". If INVALID, errors has all
 * faults. Does not check whether the urls lead to allowed addresses. */
enum status group_parse(struct slice text, struct buffer *out, struct job_errors *) MUST_USE;

/* Applies a JSON merge patch (RFC 7396) to the text old, and writes the new text to out. Headers are merged
 * by name, in any case. */
enum status group_patch(struct slice old, struct slice patch, struct buffer *out,
                        struct job_errors *) MUST_USE;

struct group {
    struct slice endpoints; /* the object */
    size_t count;
    struct slice lacks; /* the first name in "needs" that this version does not know; or JOB_LACKS_KEY and the
                           name of a key that this process lacks; empty: none */
    struct buffer opened; /* owned: the text that was sealed */
    struct unknown_members unknown;
};

/* Reads a text that group_parse or group_patch of this or another version wrote. The group borrows text.
 * INVALID means that duepost did not write the text; the group then has nothing to free. If lacks is not
 * empty, the other members may be missing. */
enum status group_read(struct slice text, struct group *) MUST_USE;
void group_fini(struct group *);

/* Visits the endpoints of a group one after the other, in the order of the group's text. The slices are valid
 * until the next endpoint is read, and only as long as the group's text. */
struct group_walk {
    struct json_cursor cursor;
    struct slice name;
    struct group_endpoint endpoint;
    enum status
        status; /* OK after the last endpoint; INVALID if duepost did not write the endpoint; or NO_MEMORY */
    struct buffer text; /* owned: decoded strings */
};

void group_walk_init(struct group_walk *, const struct group *);
bool group_walk_next(struct group_walk *);
void group_walk_fini(struct group_walk *);

/* Changes job to the job for this endpoint: sets its url and method, and adds the endpoint's headers whose
 * names the job does not have. Returns false if there are too many headers. The job borrows the endpoint. */
bool group_endpoint_apply(const struct group_endpoint *, struct job *);

/* A job that was sent to an endpoint of a group. The jobId of the job is the jobId of the send, '~', and the
 * name of the endpoint. */
struct sent_job {
    struct slice endpoint;
    bool has_ended; /* the job is neither in the pool nor kept; state and at_ms are unknown */
    enum job_state state;
    int64_t at_ms; /* as in stored_job; of a repeated request, the first due time of all jobs */
};

/* Writes the endpoints as clients may see them: values of headers and queries of urls are masked. */
void group_show_endpoints(struct slice text, struct json_writer *);

/* ---- the jobs of a send ----
 *
 * Turns a job that is sent to a group into one job for each endpoint. */

/* maximum size of all records together, in bytes; those that are sealed may be longer by a third */
enum { GROUP_JOBS_BYTES_MAX = 4 * 1024 * 1024 };

struct group_jobs {
    size_t count;
    struct {
        size_t name, record, end; /* positions in text */
    } parts[GROUP_ENDPOINTS_MAX];
    struct buffer text; /* owned: names of the endpoints and records, one after another */
    struct slice lacks; /* If LACKING: lacks of the group; in text */
    /* If INVALID: the member of the job that does not fit an endpoint, and the reason. */
    const char *field;
    char detail[JOB_ERROR_TEXT_SIZE];
};

void group_jobs_init(struct group_jobs *);
void group_jobs_fini(struct group_jobs *);

/* Writes the jobs, which have the ids <topic>/<jobId>~<endpoint>. text is the text of the group in Redis.
 * INVALID: the job does not fit an endpoint. FULL: all records together are over GROUP_JOBS_BYTES_MAX.
 * UNREADABLE: the group cannot be read. LACKING: the group needs a later version. */
enum status group_jobs_write(struct group_jobs *, struct slice text, const struct job *job) MUST_USE;

/* Ends a group that this process cannot use. Copies lacks, and returns LACKING or NO_MEMORY. */
enum status group_jobs_lack(struct group_jobs *, struct slice lacks) MUST_USE;

/* Adds one job, with the id <topic>/<jobId>~<endpoint>. The statuses INVALID, FULL and NO_MEMORY are as for
 * group_jobs_write. */
enum status group_jobs_add(struct group_jobs *, struct slice endpoint, const struct job *) MUST_USE;

/* Return the endpoint's name and the record of the job with this index. */
struct slice group_jobs_endpoint(const struct group_jobs *, size_t index);
struct slice group_jobs_record(const struct group_jobs *, size_t index);

/* Writes the mark of a job that is sent to a group. The mark is a fingerprint of the job, without its trace,
 * and of the group's name. A repeated request has the same mark. */
enum status group_jobs_mark(const struct job *, char mark[FINGERPRINT_SIZE]) MUST_USE;

#endif
