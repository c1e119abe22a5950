/* work.c - duepost work TOPIC -- COMMAND: a worker that runs a command for each job of a pull topic.
 *
 * The worker requests as many jobs as it can start at once, waits for them with long polls, and runs the
 * command for each job (cli/worker/job.c). If the server is unreachable, the worker repeats its requests,
 * with growing waits. After SIGTERM, SIGINT or SIGHUP the worker takes no more jobs, sends SIGTERM to the
 * commands, and releases their jobs; a second signal kills the commands. */
#include "cli/worker/work.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/duration.h"
#include "base/json_writer.h"
#include "base/memory.h"
#include "base/system.h"
#include "cli/call.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "job/lease_text.h"

enum {
    KEY_SIZE = 33, /* 128 bits in hex digits, and a NUL */
    REQUEST_MAX = 4096,
    WAIT_S = 20,         /* duration of a long poll */
    ANSWER_EXTRA_S = 10, /* time for the answer to arrive, in addition to the long poll */
    STEP_MAX_MS = 60 * 1000,
};
#define GRACE_DEFAULT_MS INT64_C(10000)
#define TIME_MAX_MS      (INT64_C(365) * 24 * 3600 * 1000)
#define AWAY_MAX_US                                                                                          \
    (INT64_C(60) * 1000 * 1000) /* time without the server after which --once and --until-empty give up */

struct work {
    struct work_settings *settings;
    struct problem *problem; /* why the worker has failed; empty: it has not failed */
    struct work_job *jobs;
    size_t parallel;
    bool is_draining; /* the worker takes no more jobs */
    int signals;      /* number of signals that have come */
    int signal_fd;

    /* The request for jobs. The worker repeats it with the same key until an answer arrives. If an answer was
     * lost, the next answer has the same leases. */
    struct remote_call *call;
    char key[KEY_SIZE]; /* idempotency key of the request; empty: the next request is a new one */
    struct buffer request;
    bool was_idle;    /* no job was running when the request was first sent */
    int64_t asked_us; /* time at which the request was sent */
    int64_t next_us;  /* earliest time of the next request */
    int64_t away_us;  /* time since which the server is unreachable; 0: it is reachable */
    int failures;
};

/* ---- jobs ---- */

static size_t count_free(const struct work *work)
{
    size_t count = 0;
    for (size_t i = 0; i < work->parallel; i++)
        count += work->jobs[i].state == WORK_JOB_FREE;
    return count;
}

static void work_drain(struct work *work, const struct problem *problem)
{
    work->is_draining = true;
    if (problem && !work->problem->text[0])
        *work->problem = *problem;
}

static void begin_job(struct work *work, struct leased_job *job, int64_t now_us)
{
    struct problem problem;
    size_t i = 0;
    while (i < work->parallel && work->jobs[i].state != WORK_JOB_FREE)
        i++;
    if (i == work->parallel) { /* the server has leased more jobs than requested; the leases of the surplus
                                * jobs expire
                                */
        leased_job_fini(job);
        return;
    }
    switch (work_job_begin(&work->jobs[i], job, work->asked_us, now_us, &problem)) {
    case STATUS_OK:
        break;
    case STATUS_INVALID:
        work_drain(work, &problem);
        break;
    default: /* the host cannot start another process now */
        work_print(work->settings, "%s", problem.text);
        work->next_us = work_backoff_us(now_us, ++work->failures);
        break;
    }
}

/* ---- the request for jobs ---- */

static void on_leased(struct work *work, struct slice answer, int64_t now_us)
{
    struct json_cursor jobs;
    struct leased_job job;
    struct problem problem;
    size_t count = 0;
    if (work->away_us)
        work_print(work->settings, "the server is back");
    work->key[0] = '\0';
    work->away_us = 0;
    work->failures = 0;
    if (!leased_jobs_open(answer, &jobs)) {
        problem_set(&problem, "the answer has no jobs; is it a duepost server?");
        work_drain(work, &problem);
        return;
    }
    for (; leased_job_next(&jobs, work->settings->post, &job) == STATUS_OK; count++)
        begin_job(work, &job, now_us);
    if (count && work->settings->is_once)
        work_drain(work, NULL);
    if (!count && work->settings->until_empty && work->was_idle)
        work_drain(work, NULL);
    if (!count && now_us - work->asked_us < 1000000) /* an empty answer came before the long poll was over */
        work->next_us = work_backoff_us(now_us, 3);
}

static void on_answer(void *arg, long status, struct slice text)
{
    struct work *work = arg;
    struct problem problem;
    int64_t now_us = clock_boot_us();
    work->call = NULL;
    if (status / 100 == 2) {
        on_leased(work, text, now_us);
        return;
    }
    if (status)
        remote_explain(status, text, &problem);
    else
        problem_set(&problem, "%.*s; check the server (--server URL or DUEPOST_SERVER)", SLICE_ARG(text));
    bool is_under_way = status == 409 && strstr(problem.text, "Idempotency-Key");
    if (work_may_pass(status) || is_under_way) {
        if (!work->away_us) {
            work->away_us = now_us;
            work_print(work->settings, "%s; trying again", problem.text);
        }
        work->next_us = work_backoff_us(now_us, work->failures++);
        if ((work->settings->is_once || work->settings->until_empty) && now_us - work->away_us > AWAY_MAX_US)
            work_drain(work, &problem);
    } else {
        work_drain(work, &problem);
    }
}

/* Requests as many jobs as can be started now. */
static void ask_for_jobs(struct work *work, int64_t now_us)
{
    size_t count = count_free(work);
    struct buffer target;
    if (work->is_draining || work->call || count == 0 || now_us < work->next_us)
        return;
    if (!work->key[0]) {
        uint64_t random[2];
        random_fill(random, sizeof random);
        snprintf(work->key, sizeof work->key, "%016" PRIx64 "%016" PRIx64, random[0], random[1]);
        buffer_clear(&work->request);
        struct json_writer json = json_writer_to(&work->request);
        json_put_object(&json);
        json_add_number(&json, "max", work->settings->is_once ? 1 : (int64_t)count);
        json_add_seconds(&json, "lease", work->settings->lease_us / 1000);
        json_add_number(&json, "wait", work->settings->until_empty ? 0 : WAIT_S);
        if (work->settings->key)
            json_add_text(&json, "key", slice_of(work->settings->key));
        json_end_object(&json);
        work->was_idle = count == work->parallel;
    }
    buffer_init(&target, CALL_TARGET_MAX);
    buffer_printf(&target, "/topics/");
    call_add_encoded(&target, work->settings->topic);
    buffer_printf(&target, "/lease");
    struct remote_request request = {.target = buffer_text(&target),
                                     .body = buffer_slice(&work->request),
                                     .key = work->key,
                                     .timeout_ms = (WAIT_S + ANSWER_EXTRA_S) * 1000L};
    work->asked_us = now_us;
    work->call = remote_call_start(work->settings->calls, &request, on_answer, work);
    buffer_fini(&target);
}

/* ---- signals ---- */

static void read_signals(struct work *work)
{
    struct signalfd_siginfo info;
    while (read(work->signal_fd, &info, sizeof info) == sizeof info) {
        if (info.ssi_signo == SIGCHLD)
            continue;
        work->signals++;
        int64_t now_us = clock_boot_us();
        remote_calls_step(work->settings->calls); /* reads the answers that have already come, so that the
                                                    jobs in these answers are released */
        work_drain(work, NULL);
        if (work->call)
            remote_call_cancel(work->call);
        work->call = NULL;
        for (size_t i = 0; i < work->parallel; i++)
            work_job_stop(&work->jobs[i], now_us, work->signals > 1);
    }
}

/* ---- the loop ---- */

static void work_loop(struct work *work)
{
    for (;;) {
        int64_t next_us = INT64_MAX / 2;
        read_signals(work);
        remote_calls_step(work->settings->calls);
        for (size_t i = 0; i < work->parallel; i++) {
            int64_t job_us = work_job_step(&work->jobs[i], clock_boot_us());
            next_us = job_us < next_us ? job_us : next_us;
        }
        ask_for_jobs(work, clock_boot_us());
        if (work->is_draining && count_free(work) == work->parallel)
            return;
        if (!work->is_draining && !work->call && count_free(work) && work->next_us < next_us)
            next_us = work->next_us;
        int descriptors[REMOTE_CALLS_WAIT_MAX];
        size_t count = 0;
        int64_t wait_ms = (next_us - clock_boot_us() + 999) / 1000;
        descriptors[count++] = work->signal_fd;
        for (size_t i = 0; i < work->parallel; i++)
            if (work->jobs[i].process.errors >= 0)
                descriptors[count++] = work->jobs[i].process.errors;
        if (wait_ms > 0)
            remote_calls_wait(work->settings->calls, descriptors, count,
                              (int)(wait_ms < STEP_MAX_MS ? wait_ms : STEP_MAX_MS));
    }
}

/* ---- the command ---- */

/* Reads a duration, whose form call_begin has checked. range describes the allowed durations, for the error.
 */
static bool read_duration(struct call *call, enum argument argument, int64_t min_ms, int64_t max_ms,
                          const char *range, int64_t *us)
{
    const char *value = call->arguments.values[argument];
    int64_t ms;
    if (!value)
        return true;
    if (!duration_parse(slice_of(value), max_ms, &ms) || ms < min_ms) {
        problem_set(&call->problem, "%s is %s: expected %s", argument_flag(argument), value, range);
        return false;
    }
    *us = ms * 1000;
    return true;
}

bool work_settings_read(struct work_settings *settings, struct call *call, const char *usage)
{
    const struct arguments *arguments = &call->arguments;
    const char *parallel = arguments->values[ARGUMENT_PARALLEL];
    settings->lease_us = LEASE_DEFAULT_MS * 1000;
    settings->grace_us = GRACE_DEFAULT_MS * 1000;
    settings->is_once = arguments->is_once;
    settings->until_empty = arguments->until_empty;
    settings->is_json = arguments->is_json;
    settings->topic = arguments->word;
    settings->key = arguments->values[ARGUMENT_KEY];
    settings->parallel = 1;
    if (!settings->topic) {
        problem_set(&call->problem, "%s", usage);
        return false;
    }
    if (!name_is_topic(call, settings->topic))
        return false;
    if (parallel) {
        uint64_t number;
        if (!slice_to_number(slice_of(parallel), LEASED_JOBS_MAX, &number) || number == 0) {
            problem_set(&call->problem, "--parallel is %s: expected 1 to %d", parallel, LEASED_JOBS_MAX);
            return false;
        }
        settings->parallel = (size_t)number;
    }
    return read_duration(call, ARGUMENT_LEASE, LEASE_MIN_MS, LEASE_MAX_MS, "1s to 12h",
                         &settings->lease_us) &&
           read_duration(call, ARGUMENT_GRACE, 0, TIME_MAX_MS, "at most 365d", &settings->grace_us) &&
           read_duration(call, ARGUMENT_TIMEOUT, 0, TIME_MAX_MS, "at most 365d", &settings->timeout_us);
}

bool work_take_jobs(struct work_settings *settings, struct call *call, int signal_fd)
{
    struct work work = {.settings = settings,
                        .problem = &call->problem,
                        .parallel = settings->parallel,
                        .signal_fd = signal_fd};
    settings->calls = remote_calls_new(call->remote);
    work.jobs = NEW_ARRAY(struct work_job, work.parallel);
    buffer_init(&work.request, REQUEST_MAX);
    for (size_t i = 0; i < work.parallel; i++)
        work_job_init(&work.jobs[i], settings);
    work_loop(&work);
    for (size_t i = 0; i < work.parallel; i++)
        work_job_fini(&work.jobs[i]);
    if (work.call)
        remote_call_cancel(work.call);
    buffer_fini(&work.request);
    free(work.jobs);
    remote_calls_free(settings->calls);
    return !call->problem.text[0];
}

bool work_run(struct call *call)
{
    struct work_settings settings = {.name = "work", .command = call->arguments.command};
    const char *usage = "expected TOPIC -- COMMAND, such as: duepost work mail -- ./send-mail";
    if (!settings.command || !settings.command[0]) {
        problem_set(&call->problem, "%s", usage);
        return false;
    }
    if (!work_settings_read(&settings, call, usage))
        return false;
    signal(SIGCHLD, SIG_DFL); /* resets SIGCHLD, because waitpid would fail if the parent process had ignored
                                 this signal */
    int signal_fd = terminal_signals(SIGCHLD, &call->problem);
    if (signal_fd < 0)
        return false;
    bool is_done = work_take_jobs(&settings, call, signal_fd);
    close(signal_fd);
    return is_done;
}
