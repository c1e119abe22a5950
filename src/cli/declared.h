/* declared.h - a file that declares topics, limits, groups and schedules (duepost apply). declared.c reads
 * YAML or JSON into one JSON text, in which each value has the line of the file where it stands;
 * declared_objects.c finds and checks the objects in it. */
#ifndef DUEPOST_CLI_DECLARED_H
#define DUEPOST_CLI_DECLARED_H

#include "base/buffer.h"
#include "base/slice.h"
#include "base/status.h"
#include "base/system.h"

/* ---- declared.c ---- */

enum { DECLARED_BYTES_MAX = 8 * 1024 * 1024 };

struct declared_file {
    const char *name;   /* as in errors; borrowed */
    struct buffer text; /* valid JSON without white space between values */
    struct declared_mark {
        size_t offset, line;
    } * marks; /* where values begin in text, ascending */
    size_t mark_count, mark_room;
};

/* Reads a file; path "-" is standard input. A file that begins with '{' is JSON, any other one YAML. In
 * texts, ${NAME} is replaced by the environment variable, and $${ by ${. Returns false after an error;
 * problem then says why. The caller frees the file with declared_file_fini in any case. */
bool declared_file_read(struct declared_file *, const char *path, struct problem *);

/* Does the same with the contents of a file of this name. */
bool declared_text_read(struct declared_file *, const char *name, struct slice text, struct problem *);

void declared_file_fini(struct declared_file *);

/* Returns the line of the value that begins at this place of text, or of the value around it. */
size_t declared_file_line(const struct declared_file *, const char *at);

/* Names the library that reads YAML and its version. Returns false if this build has none. */
bool declared_library(struct library *);

/* ---- declared_objects.c ---- */

/* The kinds of objects, in the order in which they are changed: each may name objects of earlier kinds. */
enum declared_kind {
    DECLARED_LIMIT,
    DECLARED_PATTERN,
    DECLARED_TOPIC,
    DECLARED_KEY,
    DECLARED_GROUP,
    DECLARED_SCHEDULE,
    DECLARED_KINDS,
};

struct declared_kind_words {
    const char *member, *word; /* "limits" in the file; "limit" in what the command prints */
};

extern const struct declared_kind_words declared_kinds[DECLARED_KINDS];

struct declared_object {
    enum declared_kind kind;
    char *topic; /* topic of a key or schedule; else NULL */
    char *name;
    struct slice text; /* as declared; empty: to be removed */
    const char *place; /* place of its name in the text of the file */
    bool is_declared;
    bool is_there;          /* the server has it */
    struct buffer wanted;   /* the object as it is sent */
    struct buffer new, old; /* the object as clients see it */
    bool is_same, has_hidden;
};

struct declared {
    struct declared_file file;
    bool has[DECLARED_KINDS]; /* the file has this kind */
    struct declared_object *objects;
    size_t count, room;
    size_t faults; /* number of errors that were printed */
};

/* Reads and checks a whole file, and prints each error with its line to standard error. Returns false after
 * an error. The caller frees the objects with declared_fini in any case. */
bool declared_read(struct declared *, const char *path, struct problem *);

void declared_fini(struct declared *);

/* Adds an object that the file does not have. The result is valid until the next call. */
struct declared_object *declared_add(struct declared *, enum declared_kind, struct slice topic,
                                     struct slice name);

/* Writes an object as clients will see it, to its member "new". text is the declared object, or this with
 * more members. Prints errors, and returns false after one. */
bool declared_show(struct declared *, struct declared_object *, struct slice text);

/* Writes "topic orders", "key orders/ada" or "schedule reports/daily". */
void declared_write_title(const struct declared_object *, struct buffer *title);

#endif
