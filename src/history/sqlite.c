/* sqlite.c - the history in a file of SQLite, in WAL mode.
 *
 * The appends of a second are one transaction, because each commit writes all pages that it has changed.
 * sync() commits this transaction and syncs the WAL. tidy() checkpoints and vacuums the file in steps,
 * never within a commit. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/system.h"
#include "history/sql.h"

enum {
    STATEMENTS_MAX = 48,   /* maximum number of prepared statements */
    BUSY_MS = 5000,        /* maximum wait while another process writes to the file or migrates it */
    PROGRESS_STEPS = 5000, /* steps of SQLite's virtual machine between calls of on_progress: about 0.1 ms */
    CHECKPOINT_FRAMES = 4000, /* tidy() makes a checkpoint when the WAL has this number of frames, 16 MiB */
    VACUUM_MIN_PAGES = 2000,  /* tidy() returns free pages to the file system only if there are more */
    VACUUM_STEP_US = 20000,
    VACUUM_PAGES = 64,
};

struct statement {
    char *text;
    sqlite3_stmt *stmt;
    int64_t used; /* number of the call that last used the statement */
};

struct sqlite {
    struct sql_driver base;
    char *path;
    sqlite3 *db; /* NULL: closed */
    struct statement statements[STATEMENTS_MAX];
    int64_t calls;
    bool is_in_transaction;
    int wal_frames;
    int vacuum_pages; /* number of pages that the next step of vacuum() frees */
    dev_t device;     /* device of the open file */
    ino_t inode;
};

#define TABLE                                                                                                \
    "CREATE TABLE duepost_jobs (id INTEGER PRIMARY KEY, topic TEXT NOT NULL, job_id TEXT NOT NULL,"          \
    " outcome TEXT NOT NULL, created_at INTEGER NOT NULL, due_at INTEGER NOT NULL,"                          \
    " ended_at INTEGER NOT NULL, reason TEXT, status INTEGER, error TEXT, duration_ms INTEGER,"              \
    " attempts INTEGER NOT NULL, rounds INTEGER NOT NULL, lost_consumers INTEGER NOT NULL,"                  \
    " method TEXT NOT NULL, url TEXT, labels TEXT, headers TEXT, body TEXT,"                                 \
    " body_base64 INTEGER NOT NULL, body_left_out INTEGER NOT NULL, rest TEXT, attempt_log TEXT,"            \
    " bytes INTEGER NOT NULL);\n"                                                                            \
    "CREATE UNIQUE INDEX duepost_jobs_id ON duepost_jobs (job_id, topic, created_at);\n"                     \
    "CREATE INDEX duepost_jobs_topic ON duepost_jobs (topic, outcome, ended_at);\n"                          \
    "CREATE INDEX duepost_jobs_outcome ON duepost_jobs (outcome, ended_at);\n"                               \
    "CREATE TABLE duepost_labels (label TEXT NOT NULL, ended_at INTEGER NOT NULL,"                           \
    " job INTEGER NOT NULL REFERENCES duepost_jobs (id) ON DELETE CASCADE,"                                  \
    " PRIMARY KEY (label, ended_at, job)) WITHOUT ROWID;\n"                                                  \
    "CREATE INDEX duepost_labels_job ON duepost_labels (job);\n"

static const char *const steps[SCHEMA_VERSION] = {TABLE};

#define INSERT                                                                                               \
    "INSERT INTO duepost_jobs (" SCHEMA_COLUMNS ") VALUES "                                                  \
    "($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12,$13,$14,$15,$16,$17,$18,$19,$20,$21,$22,$23) "                  \
    "ON CONFLICT (job_id, topic, created_at) DO UPDATE SET outcome = excluded.outcome,"                      \
    "due_at = excluded.due_at,ended_at = excluded.ended_at,reason = excluded.reason,"                        \
    "status = excluded.status,error = excluded.error,duration_ms = excluded.duration_ms,"                    \
    "attempts = excluded.attempts,rounds = excluded.rounds,lost_consumers = excluded.lost_consumers,"        \
    "method = excluded.method,url = excluded.url,labels = excluded.labels,headers = excluded.headers,"       \
    "body = excluded.body,body_base64 = excluded.body_base64,body_left_out = excluded.body_left_out,"        \
    "rest = excluded.rest,attempt_log = excluded.attempt_log,bytes = excluded.bytes "                        \
    "WHERE excluded.ended_at >= duepost_jobs.ended_at"

#define INSERT_LABEL                                                                                         \
    "INSERT INTO duepost_labels (label, ended_at, job) VALUES ($1,$2,$3) ON CONFLICT DO NOTHING"

static struct sqlite *of_driver(struct driver *driver)
{
    return (struct sqlite *)driver;
}

static enum status sqlite_failed(const struct sqlite *sqlite, const char *what, struct problem *problem)
{
    problem_set(problem, "%.200s: SQLite: %s: %.200s", sqlite->path, what,
                sqlite->db ? sqlite3_errmsg(sqlite->db) : "out of memory");
    int code = sqlite->db ? sqlite3_errcode(sqlite->db) & 0xff : SQLITE_NOMEM;
    return code == SQLITE_BUSY ? STATUS_LEASED : STATUS_UNAVAILABLE;
}

/* ---- statements ---- */

/* Called by SQLite while a statement runs. Returns a value other than 0 to interrupt the statement. */
static int on_progress(void *arg)
{
    const struct sqlite *sqlite = arg;
    return atomic_load(sqlite->base.driver.is_stopping) ||
           clock_steady_us() > sqlite->base.driver.deadline_us;
}

static void statement_fini(struct statement *statement)
{
    sqlite3_finalize(statement->stmt);
    free(statement->text);
    *statement = (struct statement){.text = NULL};
}

/* Finds the statement among the prepared statements, or prepares it in the place of the least recently used
 * one. */
static sqlite3_stmt *prepared(struct sqlite *sqlite, const char *text)
{
    struct statement *oldest = sqlite->statements;
    sqlite->calls++;
    for (size_t i = 0; i < STATEMENTS_MAX; i++) {
        struct statement *statement = &sqlite->statements[i];
        if (statement->text && strcmp(statement->text, text) == 0) {
            statement->used = sqlite->calls;
            return statement->stmt;
        }
        if (statement->used < oldest->used)
            oldest = statement;
    }
    statement_fini(oldest);
    if (sqlite3_prepare_v3(sqlite->db, text, -1, SQLITE_PREPARE_PERSISTENT, &oldest->stmt, NULL) != SQLITE_OK)
        return NULL;
    oldest->text = slice_dup(slice_of(text));
    oldest->used = sqlite->calls;
    return oldest->stmt;
}

static int bind_value(sqlite3_stmt *stmt, int place, const struct column_value *value)
{
    switch (value->kind) {
    case COLUMN_NUMBER:
        return sqlite3_bind_int64(stmt, place, value->number);
    case COLUMN_TEXT:
        return sqlite3_bind_text64(stmt, place, value->text.data ? value->text.data : "", value->text.size,
                                   SQLITE_STATIC, SQLITE_UTF8);
    case COLUMN_NULL:
        break;
    }
    return sqlite3_bind_null(stmt, place);
}

enum { COLUMNS_MAX = 32 };

static bool give_row(sqlite3_stmt *stmt, sql_row_fn *fn, void *arg)
{
    struct column_value columns[COLUMNS_MAX];
    int count = sqlite3_column_count(stmt);
    assert(count <= COLUMNS_MAX);
    for (int i = 0; i < count; i++) {
        columns[i] = (struct column_value){.kind = COLUMN_NULL};
        switch (sqlite3_column_type(stmt, i)) {
        case SQLITE_NULL:
            break;
        case SQLITE_INTEGER:
            columns[i] = COLUMN_NUMBER_OF(sqlite3_column_int64(stmt, i));
            break;
        default:
            columns[i].kind = COLUMN_TEXT;
            columns[i].text.data = (const char *)sqlite3_column_text(stmt, i);
            columns[i].text.size = (size_t)sqlite3_column_bytes(stmt, i);
        }
    }
    return !fn || fn(arg, columns, (size_t)count);
}

static enum status sqlite_run(struct sqlite *sqlite, const struct sql *sql, sql_row_fn *fn, void *arg,
                              struct problem *problem)
{
    sqlite3_stmt *stmt = prepared(sqlite, sql->text);
    int code = stmt ? SQLITE_OK : SQLITE_ERROR;
    if (!stmt)
        return sqlite_failed(sqlite, "prepare", problem);
    for (size_t i = 0; i < sql->count && code == SQLITE_OK; i++)
        code = bind_value(stmt, (int)i + 1, &sql->values[i]);
    if (code == SQLITE_OK)
        while ((code = sqlite3_step(stmt)) == SQLITE_ROW && give_row(stmt, fn, arg))
            ;
    enum status status =
        code == SQLITE_DONE || code == SQLITE_ROW ? STATUS_OK : sqlite_failed(sqlite, "run", problem);
    sqlite3_reset(stmt);
    return status;
}

static enum status run_text(struct sqlite *sqlite, const char *text, struct problem *problem)
{
    const struct sql sql = {text, NULL, 0};
    return sqlite_run(sqlite, &sql, NULL, NULL, problem);
}

static enum status sqlite_query(struct driver *driver, const struct sql *sql, sql_row_fn *fn, void *arg,
                                struct problem *problem)
{
    struct sqlite *sqlite = of_driver(driver);
    enum status status = sqlite_run(sqlite, sql, fn, arg, problem);
    bool is_interrupted = status == STATUS_UNAVAILABLE && sqlite3_errcode(sqlite->db) == SQLITE_INTERRUPT;
    if (!is_interrupted || atomic_load(driver->is_stopping))
        return status;
    problem_set(problem, "there are too many rows to read in time; ask for a topic or for a shorter time");
    return STATUS_FULL;
}

static enum status read_number(struct sqlite *sqlite, const char *text, int64_t *number,
                               struct problem *problem)
{
    const struct sql sql = {text, NULL, 0};
    return sqlite_run(sqlite, &sql, sql_take_number, number, problem);
}

/* ---- open and close ---- */

static int on_wal(void *arg, sqlite3 *db, const char *name, int frames)
{
    struct sqlite *sqlite = arg;
    (void)db, (void)name;
    sqlite->wal_frames = frames;
    return SQLITE_OK;
}

/* Creates the file so that other users cannot read it; SQLite gives its other files the same mode. A file
 * that exists is not opened, because closing it would end SQLite's locks on it in this process. */
static enum status create_file(struct sqlite *sqlite, struct problem *problem)
{
    struct stat file;
    int fd = open(sqlite->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd >= 0)
        close(fd);
    if ((fd < 0 && errno != EEXIST) || stat(sqlite->path, &file) != 0) {
        problem_set(problem, "%.200s: cannot open the file: %s", sqlite->path, strerror(errno));
        return STATUS_UNAVAILABLE;
    }
    sqlite->device = file.st_dev;
    sqlite->inode = file.st_ino;
    return STATUS_OK;
}

static void sqlite_close(struct driver *driver)
{
    struct sqlite *sqlite = of_driver(driver);
    for (size_t i = 0; i < STATEMENTS_MAX; i++)
        statement_fini(&sqlite->statements[i]);
    sqlite3_close(sqlite->db);
    sqlite->db = NULL;
    sqlite->wal_frames = 0;
    sqlite->is_in_transaction = false;
}

static enum status sqlite_open(struct driver *driver, struct problem *problem)
{
    static const char *const settings[] = {
        "PRAGMA auto_vacuum = INCREMENTAL", /* must be set before the first table is created */
        "PRAGMA journal_mode = WAL",        "PRAGMA synchronous = NORMAL", "PRAGMA wal_autocheckpoint = 0",
        "PRAGMA foreign_keys = ON",         "PRAGMA cache_size = -16384",  "PRAGMA temp_store = MEMORY",
        "PRAGMA trusted_schema = OFF",
    };
    struct sqlite *sqlite = of_driver(driver);
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
    if (create_file(sqlite, problem) != STATUS_OK)
        return STATUS_UNAVAILABLE;
    if (sqlite3_open_v2(sqlite->path, &sqlite->db, flags, NULL) != SQLITE_OK)
        return sqlite_failed(sqlite, "open", problem);
    sqlite3_busy_timeout(sqlite->db, BUSY_MS);
    sqlite3_progress_handler(sqlite->db, PROGRESS_STEPS, on_progress, sqlite);
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
        if (run_text(sqlite, settings[i], problem) != STATUS_OK)
            return STATUS_UNAVAILABLE;
    sqlite3_wal_hook(sqlite->db, on_wal, sqlite);
    return STATUS_OK;
}

/* Opens the file for reading. While no process uses the file, its WAL is not read, because SQLite would
 * create a file to read it. */
static enum status open_for_reading(struct sqlite *sqlite, struct problem *problem)
{
    char *index = NULL, *uri = sqlite3_mprintf("file:%s?immutable=1", sqlite->path);
    if (asprintf(&index, "%s-shm", sqlite->path) < 0 || !uri)
        abort();
    bool is_used = access(index, F_OK) == 0 || strpbrk(sqlite->path, "?#%");
    int code = sqlite3_open_v2(is_used ? sqlite->path : uri, &sqlite->db,
                               SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX, NULL);
    sqlite3_free(uri);
    free(index);
    return code == SQLITE_OK ? STATUS_OK : sqlite_failed(sqlite, "open", problem);
}

/* Checks that a new file could be created in the folder of the path. */
static enum status try_folder(const struct sqlite *sqlite, struct problem *problem)
{
    char *folder = slice_dup(slice_of(sqlite->path)), *slash = strrchr(folder, '/');
    if (slash && slash != folder)
        *slash = '\0';
    bool is_writable = access(slash ? folder : ".", W_OK | X_OK) == 0;
    if (!is_writable)
        problem_set(problem, "%.200s: cannot create the file: %s", sqlite->path, strerror(errno));
    free(folder);
    return is_writable ? STATUS_OK : STATUS_UNAVAILABLE;
}

static enum status sqlite_find_version(struct driver *driver, int64_t *version, struct problem *problem)
{
    struct sqlite *sqlite = of_driver(driver);
    *version = 0;
    if (access(sqlite->path, R_OK | W_OK) != 0) {
        if (errno == ENOENT)
            return try_folder(sqlite, problem);
        problem_set(problem, "%.200s: cannot open the file: %s", sqlite->path, strerror(errno));
        return STATUS_UNAVAILABLE;
    }
    enum status status = open_for_reading(sqlite, problem);
    int64_t tables = 0;
    if (status == STATUS_OK)
        status = read_number(sqlite, "SELECT count(*) FROM sqlite_master WHERE name = 'duepost_meta'",
                             &tables, problem);
    if (status == STATUS_OK && tables)
        status = sql_version(driver, version, problem);
    return status;
}

static void sqlite_free(struct driver *driver)
{
    struct sqlite *sqlite = of_driver(driver);
    sqlite_close(driver);
    free(sqlite->path);
    free(sqlite);
}

/* Syncs the folder, so that the names of the files survive a power failure. */
static void sync_folder(const struct sqlite *sqlite)
{
    const char *slash = strrchr(sqlite->path, '/');
    char *folder = slash ? slice_dup(slice_from(sqlite->path, (size_t)(slash - sqlite->path) + 1))
                         : slice_dup(SLICE("."));
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0) {
        (void)fsync(fd);
        close(fd);
    }
    free(folder);
}

static enum status sqlite_prepare(struct driver *driver, struct problem *problem)
{
    struct sqlite *sqlite = of_driver(driver);
    enum status status = run_text(sqlite, "BEGIN IMMEDIATE", problem);
    if (status == STATUS_OK)
        status = sql_migrate(driver, steps, problem);
    if (status == STATUS_OK)
        status = run_text(sqlite, "COMMIT", problem);
    if (status == STATUS_OK)
        sync_folder(sqlite);
    return status;
}

/* ---- rows ---- */

static enum status sqlite_append_begin(struct driver *driver, struct problem *problem)
{
    struct sqlite *sqlite = of_driver(driver);
    if (sqlite->is_in_transaction)
        return STATUS_OK;
    enum status status = run_text(sqlite, "BEGIN IMMEDIATE", problem);
    sqlite->is_in_transaction = status == STATUS_OK;
    return status;
}

static enum status append_label(struct sqlite *sqlite, const struct history_parse *parse, int64_t id,
                                struct slice label, struct problem *problem)
{
    const struct column_value values[] = {COLUMN_TEXT_OF(label), COLUMN_NUMBER_OF(parse->columns.ended_at),
                                          COLUMN_NUMBER_OF(id)};
    const struct sql sql = {INSERT_LABEL, values, 3};
    return sqlite_run(sqlite, &sql, NULL, NULL, problem);
}

/* Appends the labels and the key of a row. If the job has ended before, labels of its earlier end are not
 * removed. Such labels are ignored, because their ended_at differs from that of the row. */
static enum status append_labels(struct sqlite *sqlite, const struct history_parse *parse, int64_t id,
                                 struct problem *problem)
{
    enum status status = STATUS_OK;
    for (size_t i = 0; i < parse->labels.count && status == STATUS_OK; i++)
        status = append_label(sqlite, parse, id, parse->labels.items[i], problem);
    if (parse->lane.size && status == STATUS_OK)
        status = append_label(sqlite, parse, id, parse->lane, problem);
    return status;
}

static enum status sqlite_append(struct driver *driver, const struct history_parse *parse,
                                 struct problem *problem)
{
    struct sqlite *sqlite = of_driver(driver);
    struct column_value values[SCHEMA_COLUMN_COUNT];
    bool has_labels = parse->labels.count > 0 || parse->lane.size > 0;
    const struct sql sql = {has_labels ? INSERT " RETURNING id" : INSERT, values, SCHEMA_COLUMN_COUNT};
    int64_t id = 0;
    schema_values(&parse->columns, values);
    enum status status = sqlite_run(sqlite, &sql, sql_take_number, &id, problem);
    return status == STATUS_OK && id ? append_labels(sqlite, parse, id, problem) : status;
}

static enum status sqlite_sync(struct driver *driver, struct problem *problem)
{
    struct sqlite *sqlite = of_driver(driver);
    sqlite3_file *wal = NULL;
    struct stat file;
    if (sqlite->is_in_transaction && run_text(sqlite, "COMMIT", problem) != STATUS_OK)
        return STATUS_UNAVAILABLE;
    sqlite->is_in_transaction = false;
    int code = sqlite3_file_control(sqlite->db, "main", SQLITE_FCNTL_JOURNAL_POINTER, &wal);
    if (code == SQLITE_OK && wal && wal->pMethods)
        code = wal->pMethods->xSync(wal, SQLITE_SYNC_NORMAL);
    if (code != SQLITE_OK) {
        problem_set(problem, "%.200s: cannot sync the WAL: %s", sqlite->path, sqlite3_errstr(code));
        return STATUS_UNAVAILABLE;
    }
    if (stat(sqlite->path, &file) == 0 && file.st_dev == sqlite->device && file.st_ino == sqlite->inode)
        return STATUS_OK;
    problem_set(problem, "%.200s: the file was removed or replaced while it was open", sqlite->path);
    return STATUS_UNAVAILABLE;
}

static void sqlite_write_ids(struct buffer *out, const int64_t *ids, size_t count)
{
    buffer_append_byte(out, '[');
    for (size_t i = 0; i < count; i++)
        buffer_printf(out, "%s%lld", i ? "," : "", (long long)ids[i]);
    buffer_append_byte(out, ']');
}

#define IS_ONE_OF_IDS "id IN (SELECT value FROM json_each($1))"

static enum status sqlite_remove(struct driver *driver, const struct positions *at, struct problem *problem)
{
    struct buffer list;
    buffer_init(&list, 24 * at->count + 2);
    sqlite_write_ids(&list, at->ids, at->count);
    const struct column_value values[] = {COLUMN_TEXT_OF(buffer_slice(&list))};
    const struct sql sql = {"DELETE FROM duepost_jobs WHERE " IS_ONE_OF_IDS, values, 1};
    enum status status = sqlite_run(of_driver(driver), &sql, NULL, NULL, problem);
    buffer_fini(&list);
    return status;
}

/* ---- upkeep ---- */

static enum status read_pages(struct sqlite *sqlite, int64_t *all, int64_t *unused, struct problem *problem)
{
    enum status status = read_number(sqlite, "PRAGMA page_count", all, problem);
    return status == STATUS_OK ? read_number(sqlite, "PRAGMA freelist_count", unused, problem) : status;
}

static enum status sqlite_measure(struct driver *driver, int64_t *bytes, struct problem *problem)
{
    struct sqlite *sqlite = of_driver(driver);
    int64_t all = 0, unused = 0, size = 0;
    enum status status = read_pages(sqlite, &all, &unused, problem);
    if (status == STATUS_OK)
        status = read_number(sqlite, "PRAGMA page_size", &size, problem);
    *bytes = (all - unused) * size;
    return status;
}

/* Returns free pages to the file system: as many as VACUUM_STEP_US allows. */
static enum status vacuum(struct sqlite *sqlite, struct problem *problem)
{
    char text[64];
    int64_t begin_us = clock_steady_us();
    snprintf(text, sizeof text, "PRAGMA incremental_vacuum(%d)", sqlite->vacuum_pages);
    int code = sqlite3_exec(sqlite->db, text, NULL, NULL, NULL);
    if (code != SQLITE_OK)
        return sqlite_failed(sqlite, "vacuum", problem);
    int64_t took_us = clock_steady_us() - begin_us;
    if (took_us > VACUUM_STEP_US && sqlite->vacuum_pages > 1)
        sqlite->vacuum_pages /= 2;
    else if (took_us < VACUUM_STEP_US / 2 && sqlite->vacuum_pages < 4096)
        sqlite->vacuum_pages *= 2;
    return STATUS_OK;
}

static enum status sqlite_tidy(struct driver *driver, bool *has_more, struct problem *problem)
{
    struct sqlite *sqlite = of_driver(driver);
    int64_t all = 0, unused = 0;
    *has_more = false;
    if (sqlite->is_in_transaction)
        return STATUS_OK;
    if (sqlite->wal_frames >= CHECKPOINT_FRAMES) {
        sqlite->wal_frames = 0;
        int code = sqlite3_wal_checkpoint_v2(sqlite->db, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
        /* BUSY: another process reads or writes; the WAL grows until a later try succeeds. */
        return code == SQLITE_OK || (code & 0xff) == SQLITE_BUSY
                   ? STATUS_OK
                   : sqlite_failed(sqlite, "checkpoint", problem);
    }
    enum status status = read_pages(sqlite, &all, &unused, problem);
    if (status != STATUS_OK || unused < VACUUM_MIN_PAGES || unused < all / 5)
        return status;
    *has_more = true;
    return vacuum(sqlite, problem);
}

static const struct sql_kind sqlite_sql = {
    .query = sqlite_query,
    .is_one_of_ids = IS_ONE_OF_IDS,
    .write_ids = sqlite_write_ids,
};

static const struct driver_kind sqlite_kind = {
    .name = "sqlite",
    .find_version = sqlite_find_version,
    .open = sqlite_open,
    .close = sqlite_close,
    .free = sqlite_free,
    .prepare = sqlite_prepare,
    .find = sql_find,
    .count_prefix = sql_count_prefix,
    .look = sql_look,
    .fetch = sql_fetch,
    .count = sql_count,
    .plot = sql_plot,
    .has_rows = sql_has_rows,
    .note = sql_note,
    .trail = sql_trail,
    .forget = sql_forget,
    .append_begin = sqlite_append_begin,
    .append = sqlite_append,
    .sync = sqlite_sync,
    .remove = sqlite_remove,
    .measure = sqlite_measure,
    .tidy = sqlite_tidy,
};

struct driver *sqlite_new(const char *path)
{
    struct sqlite *sqlite = NEW(struct sqlite);
    (void)sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0); /* without memory statistics, SQLite takes no mutex for
                                                         each allocation; only the first call has an effect */
    sqlite->base = (struct sql_driver){{.kind = &sqlite_kind}, &sqlite_sql};
    sqlite->path = slice_dup(slice_of(path));
    sqlite->vacuum_pages = VACUUM_PAGES;
    return &sqlite->base.driver;
}

void sqlite_library(struct library *library)
{
    library_set(library, "SQLite", sqlite3_libversion());
}
