/* members.h - tables of the members that a JSON object may have, and the functions that use such a table.
 *
 * A table has one row for each member: its kind, limits and default, the texts that may contain it, and the
 * fields of a struct that hold it. job_members.c has the table of a job, topic_settings.c the table of a
 * topic's settings. The functions of this header read a client's text, read and write a record, merge a
 * patch, compare two objects, and show an object to clients.
 *
 * To add a member of a known kind, add a field and a row. */
#ifndef DUEPOST_JOB_MEMBERS_H
#define DUEPOST_JOB_MEMBERS_H

#include <assert.h>
#include <stddef.h>

#include "base/json_writer.h"
#include "job/job.h"
#include "job/job_errors.h"

/* The type of a value and of its field. */
enum member_kind {
    MEMBER_TEXT,     /* struct slice; min, max: bytes */
    MEMBER_URL,      /* struct slice */
    MEMBER_JSON,     /* struct slice: any value, unchanged */
    MEMBER_BOOL,     /* bool */
    MEMBER_INTEGER,  /* int or int64_t; min, max, fallback */
    MEMBER_SECONDS,  /* int64_t: ms; min, max, fallback: ms */
    MEMBER_TIME,     /* int64_t: ms since 1970 */
    MEMBER_SHARE,    /* int64_t: millionths; max */
    MEMBER_WAITS,    /* struct retry_schedule; max: ms of a wait */
    MEMBER_HEADERS,  /* struct job_header[JOB_HEADERS_MAX] */
    MEMBER_METHOD,   /* enum job_method */
    MEMBER_BASE64,   /* struct slice: the text of the bytes */
    MEMBER_LABELS,   /* struct job_labels */
    MEMBER_KEYS,     /* struct signing_keys */
    MEMBER_CALLBACK, /* struct slice: a url or an object, unchanged, see callback.h */
    MEMBER_ATTEMPT,  /* struct attempt_result */
    MEMBER_OBJECT,   /* an inner object with its own table, for fields of the same struct */
};

/* The texts in which a member may occur, and its special properties. */
enum {
    MEMBER_SENT = 1,    /* allowed in a client's text */
    MEMBER_PATCHED = 2, /* allowed in a client's patch */
    MEMBER_STORED = 4,  /* in Redis */
    MEMBER_SHOWN = 8,   /* shown to clients as stored, with hidden values masked */
    MEMBER_RESOLVED =
        16, /* shown to clients by api/view.c, completed with values of the topic and the job's state */
    MEMBER_EVERYWHERE = MEMBER_SENT | MEMBER_PATCHED | MEMBER_STORED | MEMBER_SHOWN,
    MEMBER_REQUIRED = 32,   /* required in a client's text */
    MEMBER_PLAIN = 64,      /* a text without escapes, because scripts copy it unchanged */
    MEMBER_INHERITED = 128, /* a topic's setting that also applies to its sibling topics */
    MEMBER_SCHEDULED = 256, /* allowed in a client's patch of a schedule's job */
};

enum { MEMBERS_MAX = 40 }; /* maximum number of rows in one table */

struct member_parse;

struct member {
    struct slice name;
    const char *path; /* the name in errors, with the name of the object around it */
    enum member_kind kind;
    unsigned flags;
    uint16_t field, bytes;   /* offset and size of the field in the struct */
    uint16_t has, has_bytes; /* offset and size of a field that is not 0 if the member is present; 0: none */
    uint16_t count;          /* HEADERS: offset of a size_t */
    uint16_t carried;        /* OBJECT: offset of a struct carried */
    int64_t min, max, fallback;   /* limits, and the value of an absent member */
    uint8_t rival;                /* an earlier row: a client may send only one of the two; 0: none */
    const struct members *object; /* OBJECT: the table of the inner object */
    /* Adds faults that the kind does not cover. Called when the value is valid for its kind. May be NULL. */
    void (*check)(struct member_parse *, const struct member *);
    /* Checks the member of a record. Returns false if duepost did not write the record. May be NULL. */
    bool (*is_sound)(const void *of);
};

struct members {
    const struct member *rows;
    size_t count;
    const char *noun;   /* "field", "setting" */
    const char *prefix; /* beginning of path: "rate." */
};

/* These macros set members of a row. */
#define MEMBER_NAMED(prefix, text) .name = SLICE_INIT(text), .path = prefix text
#define MEMBER_FIELD(type, member) .field = offsetof(type, member), .bytes = sizeof((type *)0)->member
#define MEMBER_HAS(type, member)   .has = offsetof(type, member), .has_bytes = sizeof((type *)0)->member
#define MEMBER_ROWS(array)         .rows = array, .count = sizeof(array) / sizeof *(array)

/* Fails the build if a table has more rows than the arrays with an entry for each row, or for each run of
 * unknown members (carried.h). */
#define MEMBER_ROWS_FIT(array)                                                                               \
    static_assert(sizeof(array) / sizeof *(array) <= MEMBERS_MAX &&                                          \
                      sizeof(array) / sizeof *(array) < CARRIED_RUNS_MAX,                                    \
                  "too many members: raise MEMBERS_MAX and CARRIED_RUNS_MAX")

/* ---- texts of clients ---- */

struct member_parse {
    const struct members *table;
    void *of;            /* the struct to fill */
    struct buffer *text; /* receives decoded strings; has room for all of them, and never moves */
    struct job_errors *errors;
    const void *context; /* argument of the checks */
    /* Both are NULL unless another version may have written the text. If they are set, unknown members are
     * carried, and *lacks becomes the first unknown need. */
    struct carried *carried;
    struct slice *lacks;
};

/* Reads an object that json_check accepted, in the order of the table, and adds faults to errors. null means
 * an absent member, except where any JSON value is allowed. */
void members_parse(struct member_parse *, struct slice text);

/* ---- records ---- */

/* Reads the members of a record in one pass. Returns false if no version of duepost wrote the record. */
bool members_read(const struct members *, struct slice record, void *of, struct buffer *text,
                  struct carried *, struct slice *lacks) MUST_USE;

enum members_for {
    MEMBERS_FOR_REDIS,  /* stored members, and the carried members of inner objects */
    MEMBERS_FOR_PATCH,  /* stored members */
    MEMBERS_FOR_PEOPLE, /* shown members, with hidden values masked */
};

/* Write one member if it is present, or all present members. */
void members_put(const struct member *, const void *of, enum members_for, struct json_writer *);
void members_write(const struct members *, const void *of, enum members_for, struct json_writer *);

/* Returns whether all members that clients send are equal. */
bool members_are_same(const struct members *, const void *, const void *);

/* Copies the stored members that clients do not send, from the struct "old" to the struct "of". Both then
 * borrow the same data. */
void members_keep(const struct members *, void *of, const void *old);

/* Clears the members of the struct whose rows do not have this flag. */
void members_limit(const struct members *, void *of, unsigned flag);

/* ---- patches (RFC 7396) ---- */

/* The unchanged values of an object's members, by row. An absent member has an empty value. */
struct member_values {
    struct slice of[MEMBERS_MAX];
};

/* Finds the members with one of these flags. Reports other members in errors, or skips them if errors is
 * NULL. */
void members_find(const struct members *, unsigned flags, struct slice text, struct member_values *,
                  struct job_errors *errors);

/* Returns whether the patch changes the row. */
bool member_is_changed(const struct member_values *old, const struct member_values *patch, size_t row);

/* Merges old and patch into out. A member of the patch removes its rival from old. Headers are merged by
 * name, in any case, and other objects as by json_merge. Any other value is replaced. Headers that exceed
 * their limits are reported in errors. */
void members_merge(const struct members *, const struct member_values *old, struct member_values *patch,
                   struct buffer *out, struct job_errors *errors);

#endif
