#include "cli/bench_private.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/timestamp.h"
#include "cli/table.h"

enum { ANSWER_MAX = 64 * 1024, CLEANING_ROUNDS = 20 };

bool bench_send_to_topic(struct bench *bench, const char *method, const char *body, struct problem *problem)
{
    char target[2 * JOB_TOPIC_NAME_MAX];
    struct buffer answer;
    buffer_init(&answer, ANSWER_MAX);
    snprintf(target, sizeof target, "/topics/%s", bench->topic);
    bool is_done = remote_ask(bench->call->remote, method, target, body, &answer, problem) == STATUS_OK;
    buffer_fini(&answer);
    return is_done;
}

bool bench_probe(struct bench *bench)
{
    struct json_writer json = json_writer_to(&bench->text);
    bench->series = SERIES_PROBE;
    buffer_clear(&bench->text);
    bench_write_job(bench, &json, 0);
    int64_t sent_ms = clock_wall_ms(), server_ms = 0;
    json_t *answer =
        remote_ask_json(bench->call->remote, "POST", "/jobs", buffer_text(&bench->text), bench->problem);
    int64_t came_ms = clock_wall_ms();
    if (!answer) {
        struct problem why = *bench->problem;
        if (strncmp(why.text, "400: url", strlen("400: url")) == 0)
            problem_set(bench->problem, "%.300s; or set --receiver-url to a URL that it may send to",
                        why.text);
        return false;
    }
    bench->has_jobs = true;
    if (timestamp_parse(slice_of(call_text(answer, "dueAt")), &server_ms) &&
        (server_ms < sent_ms - 1 || server_ms > came_ms + 1))
        bench->offset_ms = server_ms - (sent_ms + came_ms) / 2;
    json_decref(answer);
    return true;
}

/* Cancels the jobs of one state. Returns how many there were, or -1 after an error. */
static long long cancel_state(struct bench *bench, const char *state, struct problem *problem)
{
    struct buffer target;
    long long matched = 0;
    json_t *page = NULL;
    buffer_init(&target, CALL_TARGET_MAX);
    do {
        buffer_clear(&target);
        buffer_printf(&target, "/jobs?topic=%s&state=%s&all=true", bench->topic, state);
        if (page) {
            buffer_printf(&target, "&cursor=");
            call_add_encoded(&target, call_text(page, "cursor"));
        }
        json_decref(page);
        page = remote_ask_json(bench->call->remote, "DELETE", buffer_text(&target), NULL, problem);
        matched += call_number(page, "matched");
        bench_read_signals(bench);
        progress_show(&bench->progress, matched);
    } while (page && call_text(page, "cursor") && bench->signals < 2);
    matched = page ? matched : -1;
    json_decref(page);
    buffer_fini(&target);
    return matched;
}

/* Cancels all jobs of the topic. A job may change its state during a call, so the calls are repeated until
 * there are no jobs. */
static bool cancel_jobs(struct bench *bench, struct problem *problem)
{
    static const char *const states[] = {"delayed", "ready", "leased", "dead"};
    long long found = 1;
    bench_begin_progress(bench, "cancel", 0);
    for (int round = 0; found > 0 && round < CLEANING_ROUNDS && bench->signals < 2; round++) {
        found = 0;
        for (size_t i = 0; i < sizeof states / sizeof *states; i++) {
            long long matched = cancel_state(bench, states[i], problem);
            if (matched < 0)
                return false;
            found += matched;
        }
    }
    progress_end(&bench->progress);
    return found == 0;
}

void bench_clean_up(struct bench *bench)
{
    struct problem problem = {"jobs remain after several tries, or a second signal came"};
    if (cancel_jobs(bench, &problem) && bench_send_to_topic(bench, "DELETE", NULL, &problem))
        return;
    progress_end(&bench->progress);
    if (!bench->has_jobs)
        return;
    table_print_line(
        stderr,
        "duepost bench: topic %s is not removed: %s; remove it with: duepost cancel --topic %s --state "
        "delayed --all; repeat this with --state ready and --state dead\n",
        bench->topic, problem.text, bench->topic);
    if (!bench_has_failed(bench))
        problem_set(bench->problem, "the topic is not removed");
}
