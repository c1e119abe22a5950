#include "history/thread.h"

#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/system.h"
#include "base/timestamp.h"

#define SECOND_US     INT64_C(1000000)
#define SYNC_US       SECOND_US
#define TIDY_US       SECOND_US
#define TIDY_PAUSE_US INT64_C(20000)   /* pause between steps of upkeep */
#define APPENDER_US   (10 * SECOND_US) /* for this long after an append, each upkeep removes old rows */
#define PRUNE_US      (60 * SECOND_US)
#define FORGET_US     (600 * SECOND_US) /* finding the line beyond HISTORY_LINES_MAX takes up to 0.1 s */
#define PRUNER_US     (3 * SECOND_US)   /* a call of history_prune is valid for this long */
#define STEP_US       INT64_C(20000)    /* a step that removes rows should take this time */
#define CONNECT_US    (60 * SECOND_US)
#define READ_US       (8 * SECOND_US)
#define APPEND_US     (30 * SECOND_US)
#define RETRY_MIN_US  (SECOND_US / 10)
#define RETRY_MAX_US  (10 * SECOND_US)

struct history_thread {
    struct history_options options;
    struct driver *driver;
    struct history_parse parse;
    pthread_t thread;
    int stop_fd;
    atomic_bool is_stopping;

    pthread_mutex_t lock; /* guards the members up to redis_ms */
    pthread_cond_t has_work;
    struct list appends, reads; /* calls that wait */
    size_t waiting, waiting_bytes;
    history_thread_done_fn *done;
    struct history_state state;
    int64_t pruner_us; /* when history_prune was last called; 0: never */
    int64_t redis_ms;  /* Redis's time at that moment; 0: no row may be removed by age */

    /* Only the thread uses these. */
    bool is_open;
    bool was_reported;         /* the log already says that the database is unavailable */
    int64_t retry_us, wait_us; /* time of the next connection attempt, and the current wait */
    struct list unsynced;      /* appends whose rows were added since the last sync */
    int64_t synced_us;         /* when the last sync began */
    int64_t appended_us;       /* when rows were last added */
    int64_t prune_us;          /* when old rows are removed next */
    int64_t forget_us;         /* when old lines of the audit log are removed next */
    size_t by_age, by_size;    /* rows removed since the last line in the log */
    int64_t told_us;           /* time of that line */
    int64_t tidy_us;           /* time of the next step of upkeep */
    bool appends_next;         /* if calls of both kinds wait, the next call is an append */
    size_t remove_max;         /* maximum number of rows that a step removes */
};

/* ---- the database ---- */

bool history_url_is_mongo(const char *url)
{
    return strncmp(url, "mongodb", strlen("mongodb")) == 0;
}

enum status history_url_check(const char *url, bool *has_password, struct problem *problem)
{
    return history_url_is_mongo(url) ? mongo_url_check(url, has_password, problem)
                                     : postgres_url_check(url, has_password, problem);
}

struct driver *history_driver_new(const struct history_options *options)
{
    if (options->sqlite_path)
        return sqlite_new(options->sqlite_path);
    return history_url_is_mongo(options->url) ? mongo_new(options->url) : postgres_new(options->url);
}

void history_call_free(struct history_call *call)
{
    buffer_fini(&call->text);
    read_rows_fini(&call->rows);
    trail_rows_fini(&call->lines);
    free(call->entries);
    free(call->steps);
    free(call);
}

void history_thread_lock(struct history_thread *thread)
{
    pthread_mutex_lock(&thread->lock);
}

void history_thread_unlock(struct history_thread *thread)
{
    pthread_mutex_unlock(&thread->lock);
}

void history_thread_state(struct history_thread *thread, struct history_state *state)
{
    history_thread_lock(thread);
    *state = thread->state;
    history_thread_unlock(thread);
}

/* ---- calls ---- */

/* Sets the reason why the database is not available. The database's error may name files, hosts and users,
 * which clients must not see. Clients do not send appends, so only appends get this error. */
static void give_reason(struct history_call *call, const char *why)
{
    bool is_append = call_kind_appends(call->kind);
    problem_set(&call->problem, "%s",
                is_append ? why : "its database cannot be used, and the log has the reason");
}

/* Passes a finished call back to the reactor that made the call. */
static void finish_locked(struct history_thread *thread, struct history_call *call)
{
    thread->waiting--;
    thread->waiting_bytes -= call->waiting_bytes;
    if (!call->owner) {
        history_call_free(call);
        return;
    }
    call->state = CALL_DONE;
    thread->done(call->owner, call);
}

static void finish_call(struct history_thread *thread, struct history_call *call, enum status status)
{
    call->status = status;
    if (status == STATUS_OK)
        call->problem.text[0] = '\0';
    history_thread_lock(thread);
    finish_locked(thread, call);
    history_thread_unlock(thread);
}

void history_thread_send(struct history_thread *thread, struct history_call *call,
                         history_thread_done_fn *done)
{
    bool is_append = call_kind_appends(call->kind);
    history_thread_lock(thread);
    thread->done = done;
    bool is_full =
        thread->waiting >= HISTORY_WAITING_MAX ||
        (thread->waiting_bytes && thread->waiting_bytes + call->waiting_bytes > HISTORY_WAITING_BYTES);
    thread->waiting++;
    thread->waiting_bytes += call->waiting_bytes;
    if (is_full) {
        call->status = STATUS_FULL;
        problem_set(&call->problem, "too many calls wait for the database of the history");
        finish_locked(thread, call);
    } else if (thread->state.why[0]) {
        call->status = STATUS_UNAVAILABLE;
        give_reason(call, thread->state.why);
        finish_locked(thread, call);
    } else {
        call->state = CALL_WAITING;
        list_append(is_append ? &thread->appends : &thread->reads, &call->link);
        pthread_cond_signal(&thread->has_work);
    }
    history_thread_unlock(thread);
}

bool history_thread_withdraw(struct history_thread *thread, struct history_call *call)
{
    call->owner = NULL;
    if (call->state == CALL_RUNNING)
        return false;
    list_remove(&call->link);
    if (call->state == CALL_WAITING) {
        thread->waiting--;
        thread->waiting_bytes -= call->waiting_bytes;
    }
    return true;
}

static struct history_call *take_call(struct history_thread *thread)
{
    struct list *first = thread->appends_next ? &thread->appends : &thread->reads;
    struct list *second = thread->appends_next ? &thread->reads : &thread->appends;
    struct list *from = list_is_empty(first) ? second : first;
    if (list_is_empty(from))
        return NULL;
    thread->appends_next = from == &thread->reads;
    struct history_call *call = LIST_ENTRY(list_pop(from), struct history_call, link);
    call->state = CALL_RUNNING;
    return call;
}

/* ---- the connection ---- */

/* Answers the appends whose rows were added since the last sync. */
static void answer_unsynced(struct history_thread *thread, enum status status, const struct problem *problem)
{
    for (struct list *link; (link = list_take(&thread->unsynced));) {
        struct history_call *call = LIST_ENTRY(link, struct history_call, link);
        int64_t rows = call->kind == CALL_APPEND ? (int64_t)call->entry_count : 0;
        call->problem = *problem;
        history_thread_lock(thread);
        thread->state.appended += status == STATUS_OK ? rows : 0;
        history_thread_unlock(thread);
        finish_call(thread, call, status);
    }
}

static void set_state(struct history_thread *thread, bool is_available, const char *why)
{
    history_thread_lock(thread);
    thread->state.is_available = is_available;
    thread->state.failures += !is_available;
    snprintf(thread->state.why, sizeof thread->state.why, "%.255s", why);
    history_thread_unlock(thread);
}

/* Closes the database after a failure. The thread opens it again after a wait. */
static void thread_fail(struct history_thread *thread, const struct problem *problem)
{
    int64_t now_us = clock_steady_us();
    thread->driver->kind->close(thread->driver);
    thread->is_open = false;
    thread->retry_us = now_us + thread->wait_us;
    int64_t longer_us = thread->wait_us ? 2 * thread->wait_us : RETRY_MIN_US;
    thread->wait_us = longer_us < RETRY_MAX_US ? longer_us : RETRY_MAX_US;
    set_state(thread, false, problem->text);
    answer_unsynced(thread, STATUS_UNAVAILABLE, problem);
    if (!thread->was_reported && !atomic_load(&thread->is_stopping))
        log_error("history_unavailable", LOG_TEXT("why", problem->text),
                  LOG_TEXT("then", "ended jobs wait in Redis, up to history-backlog"));
    thread->was_reported = true;
}

static void connect_driver(struct history_thread *thread)
{
    struct driver *driver = thread->driver;
    struct problem problem;
    driver->deadline_us = clock_steady_us() + CONNECT_US;
    if (driver->kind->open(driver, &problem) != STATUS_OK ||
        driver->kind->prepare(driver, &problem) != STATUS_OK) {
        thread_fail(thread, &problem);
        return;
    }
    thread->is_open = true;
    thread->was_reported = false;
    set_state(thread, true, "");
    log_info("history_available", LOG_TEXT("database", driver->kind->name));
}

/* ---- appends ---- */

static enum status append_all(struct history_thread *thread, const struct history_entry *entries,
                              size_t count, struct problem *problem)
{
    struct driver *driver = thread->driver;
    int64_t now_ms = clock_wall_ms();
    enum status status = driver->kind->append_begin(driver, problem);
    for (size_t i = 0; i < count && status == STATUS_OK; i++) {
        if (history_parse_entry(&thread->parse, &entries[i], thread->options.bodies, now_ms))
            status = driver->kind->append(driver, &thread->parse, problem);
        else
            log_error("history_job_dropped", LOG_TEXT("why", "its id is not topic/jobId"));
    }
    return status == STATUS_OK && driver->kind->append_end ? driver->kind->append_end(driver, problem)
                                                           : status;
}

/* Appends the entries. If the database refuses the data, appends each half of the entries by itself, and
 * so finds the entry that is refused. This entry is dropped, because otherwise it would block all other
 * entries forever. */
static enum status append_parts(struct history_thread *thread, const struct history_entry *entries,
                                size_t count, struct problem *problem)
{
    enum status status = append_all(thread, entries, count, problem);
    if (status != STATUS_INVALID)
        return status;
    if (count == 1) {
        log_error("history_job_dropped", LOG_SLICE("job", entries->id), LOG_TEXT("why", problem->text));
        return STATUS_OK;
    }
    status = append_parts(thread, entries, count / 2, problem);
    return status == STATUS_OK ? append_parts(thread, entries + count / 2, count - count / 2, problem)
                               : status;
}

/* Adds the lines. A line that the database refuses is dropped, as a job is. */
static enum status note_parts(struct history_thread *thread, const struct trail_line *lines, size_t count,
                              struct problem *problem)
{
    struct driver *driver = thread->driver;
    enum status status = driver->kind->append_begin(driver, problem);
    if (status == STATUS_OK)
        status = driver->kind->note(driver, lines, count, problem);
    if (status != STATUS_INVALID)
        return status;
    if (count == 1) {
        log_error("audit_line_dropped", LOG_SLICE("id", lines->id), LOG_TEXT("why", problem->text));
        return STATUS_OK;
    }
    status = note_parts(thread, lines, count / 2, problem);
    return status == STATUS_OK ? note_parts(thread, lines + count / 2, count - count / 2, problem) : status;
}

static enum status note_all(struct history_thread *thread, const struct history_call *call,
                            struct problem *problem)
{
    struct trail_line *lines = NEW_ARRAY(struct trail_line, call->entry_count);
    enum status status = STATUS_OK;
    size_t count = 0;
    for (size_t i = 0; i < call->entry_count; i++) {
        if (trail_line_parse(call->entries[i].text, &lines[count]))
            count++;
        else
            log_error("audit_line_dropped", LOG_TEXT("why", "another program has written it"));
    }
    if (count)
        status = note_parts(thread, lines, count, problem);
    free(lines);
    return status;
}

static void run_append(struct history_thread *thread, struct history_call *call)
{
    struct driver *driver = thread->driver;
    driver->deadline_us = clock_steady_us() + APPEND_US;
    enum status status = call->kind == CALL_NOTE
                             ? note_all(thread, call, &call->problem)
                             : append_parts(thread, call->entries, call->entry_count, &call->problem);
    if (status == STATUS_OK) {
        list_append(&thread->unsynced, &call->link);
        thread->appended_us = clock_steady_us();
        return;
    }
    if (status != STATUS_LEASED)
        thread_fail(thread, &call->problem);
    finish_call(thread, call, STATUS_UNAVAILABLE);
}

static void sync_appends(struct history_thread *thread)
{
    struct driver *driver = thread->driver;
    struct problem problem = {.text = ""};
    thread->synced_us = clock_steady_us();
    driver->deadline_us = thread->synced_us + APPEND_US;
    if (driver->kind->sync && driver->kind->sync(driver, &problem) != STATUS_OK) {
        thread_fail(thread, &problem);
        return;
    }
    thread->wait_us = 0;
    thread->tidy_us = thread->synced_us; /* no transaction is open now, so upkeep may begin */
    answer_unsynced(thread, STATUS_OK, &problem);
}

/* ---- other calls ---- */

static void adapt_step(struct history_thread *thread, int64_t took_us, bool was_full)
{
    if (took_us > STEP_US && thread->remove_max > 1)
        thread->remove_max /= 2;
    else if (took_us < STEP_US / 2 && was_full && thread->remove_max < HISTORY_DELETE_MAX)
        thread->remove_max *= 2;
    if (thread->remove_max > HISTORY_DELETE_MAX)
        thread->remove_max = HISTORY_DELETE_MAX;
}

/* Removes the oldest rows that match, as many as STEP_US and max_bytes allow. */
static enum status remove_step(struct history_thread *thread, const struct job_filter *filter,
                               int64_t max_bytes, size_t *removed, bool *has_more, struct problem *problem)
{
    int64_t begin_us = clock_steady_us();
    size_t max = thread->remove_max;
    enum status status = read_and_remove(thread->driver, filter, max_bytes, max, removed, problem);
    *has_more = *removed == max;
    if (*removed)
        adapt_step(thread, clock_steady_us() - begin_us, *has_more);
    return status;
}

static enum status run_delete(struct history_thread *thread, struct history_call *call)
{
    struct driver *driver = thread->driver;
    enum status status =
        remove_step(thread, &call->list.filter, INT64_MAX, &call->deleted, &call->has_more, &call->problem);
    thread->tidy_us = clock_steady_us(); /* the rows' pages may be returned to the file system */
    return status == STATUS_OK && call->deleted && driver->kind->sync
               ? driver->kind->sync(driver, &call->problem)
               : status;
}

static enum status run_read(struct history_thread *thread, struct history_call *call)
{
    struct driver *driver = thread->driver;
    switch (call->kind) {
    case CALL_FIND:
        return read_one(driver, call->id, &call->rows, &call->problem);
    case CALL_LIST:
        return read_list(driver, &call->list, &call->rows, &call->next, &call->problem);
    case CALL_COUNT:
        return read_counts(driver, &call->list.filter, &call->counts, &call->problem);
    case CALL_STATS:
        return read_stats(driver, &call->stats, call->steps, call->step_count, &call->problem);
    case CALL_DELETE:
        return run_delete(thread, call);
    case CALL_TRAIL:
        call->lines.max = call->trail.max;
        return driver->kind->trail(driver, &call->trail, &call->lines, &call->problem);
    case CALL_APPEND:
    case CALL_NOTE:
        break;
    }
    return STATUS_INVALID;
}

static void run_call(struct history_thread *thread, struct history_call *call)
{
    int64_t now_us = clock_steady_us();
    if (!thread->is_open) {
        history_thread_lock(thread);
        give_reason(call, thread->state.why);
        history_thread_unlock(thread);
        finish_call(thread, call, STATUS_UNAVAILABLE);
        return;
    }
    if (call_kind_appends(call->kind)) {
        run_append(thread, call);
        return;
    }
    thread->driver->deadline_us = now_us + READ_US;
    enum status status = run_read(thread, call);
    if (status == STATUS_UNAVAILABLE)
        thread_fail(thread, &call->problem);
    else
        thread->wait_us = 0;
    if (status == STATUS_UNAVAILABLE || status == STATUS_LEASED)
        give_reason(call, "");
    finish_call(thread, call, status == STATUS_LEASED ? STATUS_UNAVAILABLE : status);
}

/* ---- upkeep ---- */

void history_thread_prune(struct history_thread *thread, int64_t now_ms)
{
    history_thread_lock(thread);
    thread->pruner_us = clock_steady_us();
    thread->redis_ms = now_ms;
    history_thread_unlock(thread);
}

/* Returns whether this process may remove old rows now. *before_ms becomes the time before which jobs must
 * have ended to be removed by age; not above 0: none is. */
static bool may_prune(struct history_thread *thread, int64_t *before_ms)
{
    history_thread_lock(thread);
    bool may = thread->pruner_us && clock_steady_us() - thread->pruner_us < PRUNER_US;
    *before_ms = thread->redis_ms - thread->options.max_age_ms;
    history_thread_unlock(thread);
    return may;
}

/* Logs what was removed: at the end of a round, and at most once in PRUNE_US, because a busy history has rows
 * that become too old each second. */
static void log_pruned(struct history_thread *thread, int64_t before_ms)
{
    char before[TIMESTAMP_SIZE];
    if (thread->by_age + thread->by_size == 0 ||
        (thread->told_us && clock_steady_us() - thread->told_us < PRUNE_US))
        return;
    timestamp_format(before_ms > 0 ? before_ms : 0, before);
    log_info("history_pruned", LOG_NUMBER("by_age", thread->by_age), LOG_NUMBER("by_size", thread->by_size),
             LOG_TEXT("ended_before", before_ms > 0 ? before : "-"));
    thread->told_us = clock_steady_us();
    thread->by_age = thread->by_size = 0;
}

/* Does a step of removing old rows: by age, then by size. */
static enum status prune(struct history_thread *thread, int64_t before_ms, bool *has_more,
                         struct problem *problem)
{
    struct driver *driver = thread->driver;
    struct job_filter filter = {.before_ms = before_ms};
    int64_t bytes = 0;
    size_t by_age = 0, by_size = 0;
    enum status status = STATUS_OK;
    if (before_ms > 0)
        status = remove_step(thread, &filter, INT64_MAX, &by_age, has_more, problem);
    if (status == STATUS_OK)
        status = driver->kind->measure(driver, &bytes, problem);
    if (status == STATUS_OK && by_age == 0 && bytes > thread->options.max_bytes) {
        filter.before_ms = 0;
        status = remove_step(thread, &filter, bytes - thread->options.max_bytes, &by_size, has_more, problem);
        *has_more = by_size > 0;
    }
    thread->by_age += by_age;
    thread->by_size += by_size;
    history_thread_lock(thread);
    thread->state.pruned += (int64_t)(by_age + by_size);
    thread->state.bytes = bytes;
    history_thread_unlock(thread);
    if (!*has_more)
        log_pruned(thread, before_ms);
    return status;
}

static void tidy(struct history_thread *thread)
{
    struct driver *driver = thread->driver;
    struct problem problem;
    bool has_more = false, has_more_lines = false, has_more_to_tidy = false;
    int64_t now_us = clock_steady_us(), before_ms;
    bool is_appender = now_us < thread->appended_us + APPENDER_US, may = may_prune(thread, &before_ms);
    enum status status = STATUS_OK;
    driver->deadline_us = now_us + READ_US;
    if (may && (now_us >= thread->prune_us || is_appender)) {
        status = prune(thread, before_ms, &has_more, &problem);
        thread->prune_us = has_more ? now_us : now_us + PRUNE_US;
    }
    if (status == STATUS_OK && may && now_us >= thread->forget_us) {
        status = driver->kind->forget(driver, before_ms, &has_more_lines, &problem);
        thread->forget_us = has_more_lines ? now_us : now_us + FORGET_US;
    }
    if (status == STATUS_OK && driver->kind->tidy)
        status = driver->kind->tidy(driver, &has_more_to_tidy, &problem);
    int64_t pause_us = is_appender || may ? TIDY_US : PRUNE_US; /* a process that only reads pauses longer */
    thread->tidy_us = clock_steady_us() + (has_more || has_more_to_tidy ? TIDY_PAUSE_US : pause_us);
    if (status == STATUS_UNAVAILABLE)
        thread_fail(thread, &problem);
}

/* ---- the thread ---- */

static int64_t earliest(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Returns the time at which the thread has work even without a new call. */
static int64_t next_us(const struct history_thread *thread)
{
    if (!thread->is_open)
        return thread->retry_us;
    return list_is_empty(&thread->unsynced) ? thread->tidy_us
                                            : earliest(thread->tidy_us, thread->synced_us + SYNC_US);
}

/* Waits for a call, or until next_us. */
static struct history_call *wait_for_call(struct history_thread *thread)
{
    struct history_call *call = NULL;
    int64_t until_us = next_us(thread);
    struct timespec until = {until_us / SECOND_US, until_us % SECOND_US * 1000};
    history_thread_lock(thread);
    while (!atomic_load(&thread->is_stopping) && !(call = take_call(thread)) && clock_steady_us() < until_us)
        pthread_cond_timedwait(&thread->has_work, &thread->lock, &until);
    history_thread_unlock(thread);
    return call;
}

static void *thread_run(void *arg)
{
    struct history_thread *thread = arg;
    while (!atomic_load(&thread->is_stopping)) {
        if (!thread->is_open && clock_steady_us() >= thread->retry_us)
            connect_driver(thread);
        struct history_call *call = wait_for_call(thread);
        if (call)
            run_call(thread, call);
        if (thread->is_open && !list_is_empty(&thread->unsynced) &&
            (!thread->driver->kind->sync || clock_steady_us() >= thread->synced_us + SYNC_US))
            sync_appends(thread);
        if (thread->is_open && clock_steady_us() >= thread->tidy_us)
            tidy(thread);
    }
    thread->driver->kind->close(thread->driver);
    return NULL;
}

static char *copy_of(const char *text)
{
    return text ? slice_dup(slice_of(text)) : NULL;
}

struct history_thread *history_thread_start(const struct history_options *options)
{
    struct history_thread *thread = NEW(struct history_thread);
    pthread_condattr_t steady;
    thread->options = *options;
    thread->options.sqlite_path = copy_of(options->sqlite_path);
    thread->options.url = copy_of(options->url);
    thread->driver = history_driver_new(options);
    history_parse_init(&thread->parse);
    thread->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    atomic_init(&thread->is_stopping, false);
    thread->driver->is_stopping = &thread->is_stopping;
    thread->driver->stop_fd = thread->stop_fd;
    thread->state.bytes = -1;
    thread->remove_max = HISTORY_DELETE_MAX / 8;
    list_init(&thread->appends);
    list_init(&thread->reads);
    list_init(&thread->unsynced);
    pthread_mutex_init(&thread->lock, NULL);
    pthread_condattr_init(&steady);
    pthread_condattr_setclock(&steady, CLOCK_MONOTONIC);
    pthread_cond_init(&thread->has_work, &steady);
    pthread_condattr_destroy(&steady);
    int error = pthread_create(&thread->thread, NULL, thread_run, thread);
    assert(error == 0);
    (void)error;
    return thread;
}

static void drop_calls(struct list *calls)
{
    for (struct list *link; (link = list_take(calls));)
        history_call_free(LIST_ENTRY(link, struct history_call, link));
}

void history_thread_stop(struct history_thread *thread)
{
    uint64_t one = 1;
    if (!thread)
        return;
    atomic_store(&thread->is_stopping, true);
    (void)!write(thread->stop_fd, &one, sizeof one);
    history_thread_lock(thread);
    pthread_cond_signal(&thread->has_work);
    history_thread_unlock(thread);
    pthread_join(thread->thread, NULL);
    drop_calls(&thread->appends);
    drop_calls(&thread->reads);
    drop_calls(&thread->unsynced);
    thread->driver->kind->free(thread->driver);
    history_parse_fini(&thread->parse);
    close(thread->stop_fd);
    pthread_cond_destroy(&thread->has_work);
    pthread_mutex_destroy(&thread->lock);
    free((char *)(uintptr_t)thread->options.sqlite_path);
    free((char *)(uintptr_t)thread->options.url);
    free(thread);
}
