/* members.h - tables of the members that a JSON object may have, and the functions that use such a table.
 *
 * A table has one row for each member. The row says: the kind of the value, its limits and default, which
 * texts may contain the member, and which fields of a struct hold it. job_members.c has the table of a job,
 * topic_settings.c the table of a topic's settings. The functions of this header read a client's text, read
 * and write a record, merge a patch, compare two objects, and show an object to clients.
 *
 * To add a member of a known kind, add a field and a row. */
#ifndef DUEPOST_JOB_TEXT_MEMBERS_H
#define DUEPOST_JOB_TEXT_MEMBERS_H

#include <assert.h>
#include <stddef.h>

#include "base/json_writer.h"
#include "job/job.h"
#include "job/text/job_errors.h"

/* The type of a value and of its field. */
enum member_kind {
    MEMBER_TEXT,     /* struct slice; min and max are numbers of bytes */
    MEMBER_SECRET,   /* struct slice: a text that clients may write but not read; min, max */
    MEMBER_URL,      /* struct slice */
    MEMBER_PROXY,    /* struct slice: the url of a proxy, with a password perhaps */
    MEMBER_JSON,     /* struct slice: any value, unchanged */
    MEMBER_BOOL,     /* bool */
    MEMBER_INTEGER,  /* int or int64_t; min, max, fallback */
    MEMBER_SECONDS,  /* int64_t: ms; min, max and fallback are in ms, too */
    MEMBER_TIME,     /* int64_t: ms since 1970 */
    MEMBER_SHARE,    /* int64_t: millionths; max */
    MEMBER_WAITS,    /* struct retry_schedule; max is the limit of each wait in ms */
    MEMBER_HEADERS,  /* struct job_header[JOB_HEADERS_MAX] */
    MEMBER_METHOD,   /* enum job_method */
    MEMBER_BASE64,   /* struct slice: base64 text, not decoded */
    MEMBER_LABELS,   /* struct job_labels */
    MEMBER_KEYS,     /* struct signing_keys */
    MEMBER_CALLBACK, /* struct slice: a url or an object, unchanged, see callback.h */
    MEMBER_ATTEMPT,  /* struct attempt_result */
    MEMBER_OBJECT,   /* an inner object with a table of its own; its members are fields of the same struct */
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
    MEMBER_PLAIN = 64,      /* a text that must have no escapes, because scripts copy it unchanged */
    MEMBER_INHERITED = 128, /* a topic's setting that also applies to its sibling topics */
    MEMBER_SCHEDULED = 256, /* allowed in a client's patch of a schedule's job */
    MEMBER_SEALED = 1024,   /* encrypted in Redis, if the process has keys (base/seal.h) */
    MEMBER_OR_OFF = 512,    /* SECONDS: the value may also be the text "off", which is stored so */
};

enum { MEMBER_OFF = -1 }; /* value of the field of a member that is "off" */

enum { MEMBERS_MAX = 56 }; /* maximum number of rows in one table */

struct member_parse;

struct member {
    struct slice name;
    const char *path; /* the member's name in errors; for a member of an inner object, with the name of this
                         object before it */
    enum member_kind kind;
    unsigned flags;
    uint16_t field, bytes;   /* offset and size of the field in the struct */
    uint16_t has, has_bytes; /* offset and size of the field that says whether the member is present (not 0);
                                0: no such field */
    /* HEADERS: offset of the number of headers, a size_t. TIME: offset of a bool that says that the time has
     * no offset from UTC; 0: such a time is refused */
    uint16_t count;
    uint16_t unknown;             /* OBJECT: offset of a struct unknown_members for unknown members */
    int64_t min, max, fallback;   /* limits, and the value of an absent member */
    const char *kept;             /* why a patch cannot change the member; NULL: it says only that */
    uint8_t rival;                /* an earlier row: a client may send only one of the two; 0: none */
    const struct members *object; /* OBJECT: the table of the inner object */
    /* Checks rules that the kind does not cover, and adds faults. Called only if the value is valid for its
     * kind. May be NULL. */
    void (*check)(struct member_parse *, const struct member *);
    /* JSON: writes the value as clients may see it, without secrets. NULL: the value is shown unchanged. */
    void (*show)(struct slice value, struct buffer *out);
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

/* Some arrays have an entry for each row of a table, or for each run of unknown members (unknown_members.h).
 * The build fails if a table has more rows than these arrays have entries. */
#define MEMBER_ROWS_FIT(array)                                                                               \
    static_assert(sizeof(array) / sizeof *(array) <= MEMBERS_MAX &&                                          \
                      sizeof(array) / sizeof *(array) < UNKNOWN_SPANS_MAX,                                   \
                  "too many members: raise MEMBERS_MAX and UNKNOWN_SPANS_MAX")

/* ---- texts of clients ---- */

struct member_parse {
    const struct members *table;
    void *of;            /* the struct to fill */
    struct buffer *text; /* for decoded strings; has room for all, and never moves */
    struct job_errors *errors;
    const void *context; /* for the check functions of the rows */
    /* Both are NULL unless another version may have written the text. If they are set, unknown members are
     * carried, and *lacks becomes the first name in "needs" that this version does not know
     * (unknown_members.h). */
    struct unknown_members *unknown;
    struct slice *lacks;
};

/* Reads an object that json_check accepted, in the order of the table, and adds faults to errors. A member
 * with the value null counts as absent, except where any JSON value is allowed. */
void members_parse(struct member_parse *, struct slice text);

/* ---- records ---- */

struct record_reading {
    const struct members *table;
    void *of;            /* the struct to fill */
    struct buffer *text; /* for decoded strings; has room for all, and never moves */
    struct unknown_members *unknown;
    struct slice *lacks;     /* becomes the first name in "needs" that this version does not know */
    struct slice *sealed;    /* becomes the text of the member "sealed"; NULL: the member is an unknown one */
    struct slice *sealed_of; /* the same for the member "of" */
    /* Limits of the clients' own JSON (the members of the kind MEMBER_JSON that clients send). If set, this
     * JSON is checked as it is read. Otherwise only its end is found. */
    const struct json_limits *checked;
    bool has_broken_json; /* result: this JSON is not valid */
    /* Progress, for members_read: the row after the row of the last member, and a bit for each row whose
     * member was read. */
    size_t next;
    uint64_t is_read;
    bool has_needs;
};

/* Reads the members of a record in one pass. Returns false if no version of duepost wrote the record. */
bool members_read(struct record_reading *, struct slice record) MUST_USE;

enum members_for {
    MEMBERS_FOR_REDIS,  /* stored members, and the unknown members of inner objects */
    MEMBERS_FOR_PATCH,  /* stored members */
    MEMBERS_FOR_PEOPLE, /* shown members, with hidden values masked */
};

/* members_put writes one member if it is present. members_write writes all present members. */
void members_put(const struct member *, const void *of, enum members_for, struct json_writer *);
void members_write(const struct members *, const void *of, enum members_for, struct json_writer *);

/* Returns whether all members that clients can send are equal in both structs. */
bool members_are_same(const struct members *, const void *, const void *);

/* Copies the members that are stored but that patches cannot change, such as createdAt, from the struct "old"
 * to the struct "of". Both then borrow the same data. */
void members_keep(const struct members *, void *of, const void *old);

/* In the struct, clears all members except those whose rows have this flag. */
void members_limit(const struct members *, void *of, unsigned flag);

/* ---- patches (RFC 7396) ---- */

/* The JSON values of an object's members, one for each row of the table. The value of an absent member is
 * empty. */
struct member_values {
    struct slice of[MEMBERS_MAX];
};

/* Finds the members with one of these flags. Reports other members in errors, or skips them if errors is
 * NULL. */
void members_find(const struct members *, unsigned flags, struct slice text, struct member_values *,
                  struct job_errors *errors);

/* Returns whether the patch changes the member of this row. */
bool member_is_changed(const struct member_values *old, const struct member_values *patch, size_t row);

/* Merges old and patch into out. If a member of the patch cannot be combined with a member of old (rival),
 * the member of old is removed. Headers are merged by name, in any case of letters. Other objects are
 * merged as by json_merge. Any other value is replaced. Headers that exceed their limits are reported in
 * errors. */
void members_merge(const struct members *, const struct member_values *old, struct member_values *patch,
                   struct buffer *out, struct job_errors *errors);

#endif
