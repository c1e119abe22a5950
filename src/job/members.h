/* members.h - tables of the members that a JSON object may have, and what a table drives.
 *
 * A table names each member once: its kind, bounds and default, where it may stand, and the fields of a
 * struct that hold it. job_members.c is the table of a job, topic_settings.c that of a topic's settings.
 * Functions in here read a client's text, read and write a record, merge a patch, compare two objects and
 * show one to people.
 *
 * To add a member of a known kind is to add a field and a row. */
#ifndef DUEPOST_JOB_MEMBERS_H
#define DUEPOST_JOB_MEMBERS_H

#include <stddef.h>

#include "base/json_writer.h"
#include "job/job.h"
#include "job/job_errors.h"

/* What a value is, and which field holds it. */
enum member_kind {
    MEMBER_TEXT,    /* struct slice; min, max: bytes */
    MEMBER_URL,     /* struct slice */
    MEMBER_JSON,    /* struct slice: any value, as it is spelt */
    MEMBER_BOOL,    /* bool */
    MEMBER_INTEGER, /* int or int64_t; min, max, fallback */
    MEMBER_SECONDS, /* int64_t: ms; min, max, fallback: ms */
    MEMBER_TIME,    /* int64_t: ms since 1970 */
    MEMBER_SHARE,   /* int64_t: millionths; max */
    MEMBER_WAITS,   /* struct retry_schedule; max: ms of a wait */
    MEMBER_HEADERS, /* struct job_header[JOB_HEADERS_MAX] */
    MEMBER_KEYS,    /* struct signing_keys */
    MEMBER_ATTEMPT, /* struct attempt_result */
    MEMBER_OBJECT,  /* a table of its own, of fields in the same struct */
};

/* Where a member may stand, and what is special. */
enum {
    MEMBER_SENT = 1,      /* in a client's text */
    MEMBER_PATCHED = 2,   /* in a client's patch */
    MEMBER_STORED = 4,    /* in Redis */
    MEMBER_SHOWN = 8,     /* to people, as it is stored, without what may be secret */
    MEMBER_RESOLVED = 16, /* to people, by api/view.c: with what the topic and the state of the job say */
    MEMBER_EVERYWHERE = MEMBER_SENT | MEMBER_PATCHED | MEMBER_STORED | MEMBER_SHOWN,
    MEMBER_REQUIRED = 32,   /* in a client's text */
    MEMBER_PLAIN = 64,      /* a text has no escapes, because scripts copy it as it is spelt */
    MEMBER_INHERITED = 128, /* a topic's setting that its sibling topics have, too */
    MEMBER_FOR_ALL = 256,   /* a topic's setting that "*" may have, for all topics */
};

enum { MEMBERS_MAX = 32 }; /* of one table */

struct member_parse;

struct member {
    struct slice name;
    const char *path; /* the name in errors: with that of the object around it */
    enum member_kind kind;
    unsigned flags;
    uint16_t field, bytes;   /* of the struct: offset and size */
    uint16_t has, has_bytes; /* the same of what is not 0 while the member is there; no bytes: it always is */
    uint16_t count;          /* HEADERS: offset of a size_t */
    uint16_t carried;        /* OBJECT: offset of a struct carried */
    int64_t min, max, fallback;   /* bounds, and what an absent member means */
    uint8_t rival;                /* a row before this one: a client sends one of them at most; 0: none */
    const struct members *object; /* OBJECT: its table */
    /* Adds what the kind does not know to the errors. Called when the value is sound by itself. NULL:
     * nothing. */
    void (*check)(struct member_parse *, const struct member *);
    /* The same for a record. False: this is none of ours. */
    bool (*is_sound)(const void *of);
};

struct members {
    const struct member *rows;
    size_t count;
    const char *noun;   /* "field", "setting" */
    const char *prefix; /* of path: "rate." */
};

/* For rows. */
#define MEMBER_NAMED(prefix, text) .name = SLICE_INIT(text), .path = prefix text
#define MEMBER_FIELD(type, member) .field = offsetof(type, member), .bytes = sizeof((type *)0)->member
#define MEMBER_HAS(type, member)   .has = offsetof(type, member), .has_bytes = sizeof((type *)0)->member
#define MEMBER_ROWS(array)         .rows = array, .count = sizeof(array) / sizeof *(array)

/* ---- what clients send ---- */

struct member_parse {
    const struct members *table;
    void *of;            /* the struct */
    struct buffer *text; /* for texts with escapes; has room for all of them, and never moves */
    struct job_errors *errors;
    const void *context; /* for checks */
    /* NULL unless another version may have written the text: then unknown members are carried, and *lacks is
     * the first need that is not known. */
    struct carried *carried;
    struct slice *lacks;
};

/* Reads the text of an object that json_check accepted, in the order of the table, and adds to errors what is
 * wrong. null stands for an absent member, except where any JSON is a value. */
void members_parse(struct member_parse *, struct slice text);

/* ---- records ---- */

/* Reads the members that a record has, in one pass. False: no version of ours wrote it. */
bool members_read(const struct members *, struct slice record, void *of, struct buffer *text,
                  struct carried *, struct slice *lacks) MUST_USE;

enum members_for {
    MEMBERS_FOR_REDIS,  /* stored members, and in objects what they carry */
    MEMBERS_FOR_PATCH,  /* stored members */
    MEMBERS_FOR_PEOPLE, /* shown members, without what may be secret */
};

/* Writes one member, if it is there, or all of them. */
void members_put(const struct member *, const void *of, enum members_for, struct json_writer *);
void members_write(const struct members *, const void *of, enum members_for, struct json_writer *);

/* Whether all members that clients send are equal. */
bool members_are_same(const struct members *, const void *, const void *);

/* Copies the stored members that clients don't send. Borrows what old borrows. */
void members_keep(const struct members *, void *of, const void *old);

/* Returns the first member that is there and lacks this flag, or NULL. */
const struct member *members_without(const struct members *, const void *of, unsigned flag);

/* Takes away the members without this flag. */
void members_limit(const struct members *, void *of, unsigned flag);

/* ---- patches (RFC 7396) ---- */

/* The values of an object's members, as they are spelt, by row; empty: absent. */
struct member_values {
    struct slice of[MEMBERS_MAX];
};

/* Finds those with one of these flags. errors: what the others get; NULL: they are passed over. */
void members_find(const struct members *, unsigned flags, struct slice text, struct member_values *,
                  struct job_errors *errors);

/* Whether the patch changes the row. */
bool member_is_changed(const struct member_values *old, const struct member_values *patch, size_t row);

/* Puts old and patch together, into out. A row takes the place of its rival. Headers are merged by name, in
 * whatever case, and other objects as json_merge does; any other value is replaced. errors: of headers over
 * their bounds. */
void members_merge(const struct members *, const struct member_values *old, struct member_values *patch,
                   struct buffer *out, struct job_errors *errors);

/* ---- the table itself ---- */

/* Writes it as JSON, for documents and tests. */
void members_describe(const struct members *, struct json_writer *);

#endif
