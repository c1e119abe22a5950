#include "server/redis/redis_private.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/memory.h"

#define POLL_US       INT64_C(20000)
#define START_MAX_US  INT64_C(60000000)
#define STOP_MAX_US   INT64_C(15000000)
#define PAUSE_MIN_US  INT64_C(100000)
#define PAUSE_MAX_US  INT64_C(10000000)
#define ROOM_CHECK_US INT64_C(1000000)
#define STEADY_US     INT64_C(30000000) /* a Redis that dies after this time is started after PAUSE_MIN_US */

static const char full_disk[] =
    "the disk of the private Redis is full (--data); it starts again when 1 MiB is free";
static_assert(DATA_DIR_ROOM_BYTES == 1 << 20, "the text full_disk says 1 MiB");

/* A start leads from IDLE to LAUNCHING, an answer of Redis to RUNNING, the death of Redis to PAUSED, and the
 * timer of the pause to LAUNCHING again. A stop leads from each state to STOPPING, whose end leads to IDLE.
 */
enum state { STATE_IDLE, STATE_LAUNCHING, STATE_RUNNING, STATE_PAUSED, STATE_STOPPING };

struct embedded_redis {
    struct loop *loop;
    struct redis_program program;
    struct data_dir dir;
    char path[DATA_DIR_SOCKET_SIZE];
    enum state state;
    struct redis_process process;
    struct watch *watch; /* watches for the exit of the process */
    struct redis_probe *probe;
    enum redis_answer last_answer;
    int holder; /* if another process holds redis.lock: the pid that this file contains */
    int64_t launched_us;
    int64_t pause_us;
    struct timer *step;     /* timer of the next step: a launch, a probe, or the end of the pause */
    struct timer *deadline; /* deadline of the first start, later of the stop */
    embedded_redis_fn *on_started;
    void *started_arg;
    embedded_redis_fn *on_stopped;
    void *stopped_arg;
    bool was_killed;
    const char *_Atomic outage; /* see embedded_redis_outage */
};

static void on_step(void *arg);
static void on_deadline(void *arg);
static void on_probe(void *arg, enum redis_answer, pid_t, int pidfd);
static void on_exit_of_redis(void *arg, bool readable, bool writable);

enum status embedded_redis_new(struct loop *loop, const char *data_dir, const char *program,
                               struct embedded_redis **made, struct problem *problem)
{
    struct embedded_redis *redis = NEW(struct embedded_redis);
    enum status status = redis_program_find(program, &redis->program, problem);
    if (status == STATUS_OK)
        status = data_dir_open(data_dir, &redis->dir, problem);
    if (status != STATUS_OK) {
        redis_program_fini(&redis->program);
        free(redis);
        return status;
    }
    redis->loop = loop;
    redis->process.pidfd = -1;
    redis->pause_us = PAUSE_MIN_US;
    redis->step = timer_new(loop, on_step, redis);
    redis->deadline = timer_new(loop, on_deadline, redis);
    data_dir_socket(redis->dir.path, redis->dir.fd, REDIS_SOCKET_NAME, redis->path);
    *made = redis;
    return STATUS_OK;
}

void embedded_redis_leave_unsynced(struct embedded_redis *redis)
{
    redis->program.is_unsynced = true;
}

bool embedded_redis_is_new(const struct embedded_redis *redis)
{
    return append_log_find(redis->dir.fd) == APPEND_LOG_NONE;
}

void embedded_redis_start(struct embedded_redis *redis, embedded_redis_fn *on_started, void *arg)
{
    assert(redis->state == STATE_IDLE);
    redis->on_started = on_started;
    redis->started_arg = arg;
    redis->was_killed = false;
    redis->state = STATE_LAUNCHING;
    timer_start(redis->deadline, START_MAX_US);
    timer_start(redis->step, 0);
}

/* Reports the result of the first start. The callback may free redis. */
static void tell_started(struct embedded_redis *redis, enum status status, const char *why)
{
    embedded_redis_fn *fn = redis->on_started;
    redis->on_started = NULL;
    timer_stop(redis->deadline);
    if (status != STATUS_OK) {
        timer_stop(redis->step);
        redis_probe_cancel(redis->probe);
        redis->probe = NULL;
        redis->state = STATE_IDLE;
    }
    fn(redis->started_arg, status, why);
}

static void watch_process(struct embedded_redis *redis)
{
    redis->launched_us = loop_now_us(redis->loop);
    redis->watch = watch_new(redis->loop, redis->process.pidfd, on_exit_of_redis, redis);
    watch_set(redis->watch, true, false);
}

static void pause_launching(struct embedded_redis *redis)
{
    redis->state = STATE_PAUSED;
    timer_start(redis->step, redis->pause_us);
    redis->pause_us = redis->pause_us * 2 < PAUSE_MAX_US ? redis->pause_us * 2 : PAUSE_MAX_US;
}

#define REDIS_LOCK_NAME "redis.lock"

/* The process that holds redis.lock is the only redis-server on these files. If the lock is free, launch
 * starts a redis-server, which inherits the lock. Otherwise an earlier redis-server is running or about to
 * exit. Returns STATUS_FULL if the disk is full. */
static enum status launch(struct embedded_redis *redis, struct problem *problem)
{
    int lock_fd = data_dir_lock(redis->dir.fd, REDIS_LOCK_NAME, &redis->holder);
    if (lock_fd < 0 && errno == EWOULDBLOCK)
        return STATUS_OK;
    if (lock_fd < 0) {
        problem_set(problem, "cannot lock %.200s/" REDIS_LOCK_NAME ": %s", redis->dir.path, strerror(errno));
        return STATUS_FAILED;
    }
    redis->holder = 0;
    if (append_log_find(redis->dir.fd) == APPEND_LOG_WITHOUT_MANIFEST) {
        close(lock_fd);
        problem_set(
            problem,
            "%.150s/appendonlydir has files of jobs, but no appendonly.aof.manifest: redis-server would "
            "start without these jobs. Restore the whole folder from one backup; or move the folder away, "
            "to start without jobs",
            redis->dir.path);
        return STATUS_FAILED;
    }
    if (!data_dir_has_room(redis->dir.fd)) {
        close(lock_fd);
        return STATUS_FULL;
    }
    atomic_store(&redis->outage, NULL);
    unlinkat(redis->dir.fd, REDIS_SOCKET_NAME,
             0); /* removes the socket file that a redis-server has left behind when it exited */
    int64_t cut_bytes = append_log_cut(redis->dir.fd);
    if (cut_bytes)
        log_warning("append_only_file_cut", LOG_NUMBER("bytes", cut_bytes));
    enum status status =
        redis_process_spawn(&redis->program, redis->dir.fd, lock_fd, &redis->process, problem);
    if (status == STATUS_OK) {
        data_dir_name_holder(lock_fd, redis->process.pid);
        watch_process(redis);
        log_info("embedded_redis_started", LOG_NUMBER("pid", redis->process.pid),
                 LOG_TEXT("program", redis->program.path), LOG_TEXT("version", redis->program.version));
    }
    close(lock_fd);
    return status;
}

static void on_step(void *arg)
{
    struct embedded_redis *redis = arg;
    struct problem problem;
    redis->state = STATE_LAUNCHING;
    enum status status = redis->process.pid ? STATUS_OK : launch(redis, &problem);
    if (status == STATUS_FULL) {
        /* Waits until the disk has room. Meanwhile, the server runs without Redis, as it does if the Redis of
         * --redis is unreachable. */
        if (!atomic_exchange(&redis->outage, full_disk))
            log_error("embedded_redis_not_started", LOG_TEXT("why", full_disk),
                      LOG_TEXT("data", redis->dir.path));
        redis->state = STATE_PAUSED;
        timer_start(redis->step, ROOM_CHECK_US);
        if (redis->on_started)
            tell_started(redis, STATUS_OK, "");
        return;
    }
    if (status != STATUS_OK) {
        log_error("embedded_redis_not_started", LOG_TEXT("why", problem.text));
        if (redis->on_started)
            tell_started(redis, STATUS_FAILED, problem.text);
        else
            pause_launching(redis);
        return;
    }
    redis->probe = redis_probe_start(redis->loop, redis->path, on_probe, redis);
}

static void on_probe(void *arg, enum redis_answer answer, pid_t pid, int pidfd)
{
    struct embedded_redis *redis = arg;
    redis->probe = NULL;
    redis->last_answer = answer;
    if (!redis->process.pid && pidfd >= 0) {
        redis->process = (struct redis_process){.pid = pid, .pidfd = pidfd};
        watch_process(redis);
        log_info("embedded_redis_taken_over", LOG_NUMBER("pid", pid));
    } else if (pidfd >= 0) {
        close(pidfd);
    }
    if (answer != REDIS_ANSWER_PONG || !redis->process.pid) {
        timer_start(redis->step, POLL_US);
        return;
    }
    redis->state = STATE_RUNNING;
    log_info("embedded_redis_answers", LOG_NUMBER("pid", redis->process.pid));
    if (redis->on_started)
        tell_started(redis, STATUS_OK, "");
}

static void tell_stopped(struct embedded_redis *redis)
{
    timer_stop(redis->deadline);
    timer_stop(redis->step);
    redis->state = STATE_IDLE;
    redis->on_stopped(redis->stopped_arg, redis->was_killed ? STATUS_FAILED : STATUS_OK,
                      redis->was_killed ? "redis-server did not end within 15 s and was killed" : "");
}

static void on_exit_of_redis(void *arg, bool readable, bool writable)
{
    (void)readable, (void)writable;
    struct embedded_redis *redis = arg;
    char how[REDIS_PROCESS_WHY_MAX], words[REDIS_LOG_WORDS_MAX];
    pid_t pid = redis->process.pid;
    bool was_child = redis->process.is_child;
    int64_t ran_us = loop_now_us(redis->loop) - redis->launched_us;
    watch_free(redis->watch);
    redis->watch = NULL;
    redis_process_reap(&redis->process, how);
    redis_log_last_words(redis->dir.fd, pid, words);
    redis_probe_cancel(redis->probe);
    redis->probe = NULL;
    if (redis->state == STATE_STOPPING) {
        log_info("embedded_redis_stopped", LOG_NUMBER("pid", pid), LOG_TEXT("how", how));
        tell_stopped(redis);
        return;
    }
    log_warning("embedded_redis_died", LOG_NUMBER("pid", pid), LOG_TEXT("how", how),
                LOG_TEXT("last_words", words), LOG_NUMBER("ran_ms", ran_us / 1000));
    if (redis->state == STATE_IDLE) /* the first start has failed, and this result was already reported */
        return;
    if (redis->on_started && was_child) {
        struct problem problem;
        problem_set(&problem,
                    "redis-server exited before it answered (%s); %.150s/" REDIS_LOG_NAME " says why%s%.280s",
                    how, redis->dir.path, words[0] ? ": " : "", words);
        tell_started(redis, STATUS_FAILED, problem.text);
        return;
    }
    if (ran_us >= STEADY_US)
        redis->pause_us = PAUSE_MIN_US;
    pause_launching(redis);
}

void embedded_redis_stop(struct embedded_redis *redis, embedded_redis_fn *on_stopped, void *arg)
{
    assert(redis->state != STATE_STOPPING);
    redis->state = STATE_STOPPING;
    redis->on_started = NULL;
    redis->on_stopped = on_stopped;
    redis->stopped_arg = arg;
    redis_probe_cancel(redis->probe);
    redis->probe = NULL;
    timer_stop(redis->step);
    if (!redis->process.pid) {
        timer_start(redis->deadline, 0);
        return;
    }
    /* Sends the command SHUTDOWN as well as SIGTERM: with its option hz 1, Redis may handle a signal a second
     * late, but it handles a command at once. */
    redis_probe_tell(redis->path, "SHUTDOWN\r\n");
    redis_process_signal(&redis->process, SIGTERM);
    timer_start(redis->deadline, STOP_MAX_US);
}

static void on_deadline(void *arg)
{
    struct embedded_redis *redis = arg;
    struct problem problem;
    if (redis->state == STATE_STOPPING && !redis->process.pid) {
        tell_stopped(redis);
        return;
    }
    if (redis->state == STATE_STOPPING) {
        redis->was_killed = true;
        log_warning("embedded_redis_killed", LOG_NUMBER("pid", redis->process.pid));
        redis_process_signal(&redis->process, SIGKILL);
        return;
    }
    if (redis->last_answer == REDIS_ANSWER_LOADING) {
        tell_started(redis, STATUS_OK, "");
        return;
    }
    if (redis->process.pid)
        problem_set(&problem, "redis-server (pid %d) does not answer", (int)redis->process.pid);
    else
        problem_set(&problem, "a redis-server (pid %d) that does not answer still uses %.200s; stop it first",
                    redis->holder, redis->dir.path);
    tell_started(redis, STATUS_UNAVAILABLE, problem.text);
}

void embedded_redis_free(struct embedded_redis *redis)
{
    if (!redis)
        return;
    redis_probe_cancel(redis->probe);
    watch_free(redis->watch);
    redis_process_forget(&redis->process);
    timer_free(redis->step);
    timer_free(redis->deadline);
    data_dir_close(&redis->dir);
    redis_program_fini(&redis->program);
    free(redis);
}

const char *embedded_redis_path(const struct embedded_redis *redis)
{
    return redis->path;
}

const char *_Atomic *embedded_redis_outage(struct embedded_redis *redis)
{
    return &redis->outage;
}

pid_t embedded_redis_pid(const struct embedded_redis *redis)
{
    return redis->process.pid;
}
