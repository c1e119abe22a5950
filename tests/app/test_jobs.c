/* Tests each verdict of the use cases of one job. */
#include "app/jobs.h"

#include "app/fake_store.h"
#include "support/suite.h"
#include "support/without_head.h"

#define ID     SLICE("orders-1/a")
#define RECORD "{\"createdAt\":1000,\"url\":\"http://127.0.0.1/x\",\"delay\":60}"

static struct app *app;

static void begin(void)
{
    app = fake_app();
}

static void end(void)
{
    fake_end();
}

static struct job job_of(const char *text)
{
    struct job job;
    struct job_errors errors;
    ck_assert_int_eq(job_parse(slice_of(text), 1000, &job, &errors), STATUS_OK);
    return job;
}

/* A status that the store reports, and the verdict that follows from it. */
struct ending {
    enum status status;
    enum status end;
};

/* Failures whose reason is Redis, or a lack of memory. */
static const struct ending outages[] = {
    {STATUS_UNAVAILABLE, STATUS_UNAVAILABLE},
    {STATUS_UNKNOWN, STATUS_UNKNOWN},
    {STATUS_NO_MEMORY, STATUS_NO_MEMORY},
};
enum { OUTAGES = sizeof outages / sizeof *outages };

/* ---- submit ---- */

#define JOB "{\"topic\":\"orders-1\",\"jobId\":\"a\",\"url\":\"http://127.0.0.1/x\",\"delay\":60}"

static struct app_submission submission;

/* Submits a job. Returns whether the store was called. */
static bool submit(const struct app_caller *caller, const char *text)
{
    struct job job = job_of(text);
    fake_forget();
    app_submission_fini(&submission);
    app_submission_init(&submission, app, fake_on_verdict, &fake_verdict);
    bool is_admitted = app_submission_admit(&submission, caller, &job, strlen(text));
    if (is_admitted)
        app_submission_send(&submission, &job);
    job_fini(&job);
    return is_admitted;
}

static void end_schedule(enum status status, const struct stored_job *job)
{
    struct fake_call *call = fake_take("schedule");
    call->fn.scheduled(call->arg, status, 61000, job);
}

START_TEST(a_submitted_job_is_placed_and_counted)
{
    ck_assert(submit(&fake_some, JOB));
    struct fake_call *call = fake_take("schedule");
    ck_assert_str_eq(call->id, "orders-1/a");
    ck_assert_str_eq(call->once, "");
    ck_assert(!call->when.is_absolute && call->when.ms == 60000);
    ck_assert_ptr_nonnull(strstr(call->record, "http://127.0.0.1/x"));
    call->fn.scheduled(call->arg, STATUS_OK, 61000, NULL);
    fake_expect(STATUS_OK);
    ck_assert_str_eq(fake_verdict.id, "orders-1/a");
    ck_assert_int_eq(fake_verdict.at_ms, 61000);
    ck_assert_int_eq(fake_verdict.state, JOB_STATE_DELAYED);
    fake_expect_metric("duepost_jobs_accepted_total{topic=\"orders-1\"} 1");
    fake_expect_log(""); /* the audit log has no line, because a new job is not a change */
}
END_TEST

START_TEST(a_job_without_an_id_gets_one)
{
    ck_assert(submit(&fake_all, "{\"topic\":\"t\",\"url\":\"http://127.0.0.1/x\"}"));
    ck_assert(submission.is_id_new);
    ck_assert_uint_gt(submission.id.size, 10);
    end_schedule(STATUS_OK, NULL);
    fake_expect(STATUS_OK);
}
END_TEST

/* The verdict about one of several submissions. */
struct one_end {
    enum status end;
    char id[JOB_KEY_MAX + 1];
};

static void on_one_end(void *arg, const struct app_verdict *verdict)
{
    struct one_end *one = arg;
    one->end = verdict->end;
    snprintf(one->id, sizeof one->id, "%.*s", SLICE_ARG(verdict->job.id));
}

START_TEST(submissions_are_sent_together)
{
    static const char *const texts[] = {
        JOB, "{\"topic\":\"orders-1\",\"jobId\":\"b\",\"url\":\"http://127.0.0.1/y\"}"};
    static const enum status statuses[] = {STATUS_OK, STATUS_FULL, STATUS_UNAVAILABLE, STATUS_UNKNOWN};
    static const enum status ends[] = {STATUS_OK, STATUS_FULL, STATUS_UNAVAILABLE, STATUS_UNKNOWN};
    const struct store_scheduled all[] = {{.due_ms = 61000}, {.due_ms = 5, .repeated = SLICE("orders-1/c")}};
    for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++) {
        struct app_submission both[2], *together[] = {&both[0], &both[1]};
        struct one_end each[2];
        for (size_t n = 0; n < 2; n++) {
            struct job job = job_of(texts[n]);
            app_submission_init(&both[n], app, on_one_end, &each[n]);
            ck_assert(app_submission_admit(&both[n], &fake_all, &job, strlen(texts[n])));
            app_submission_write(&both[n], &job);
            job_fini(&job);
        }
        app_submissions_send(together, 2);
        struct fake_call *call = fake_take("schedule_all");
        ck_assert_uint_eq(call->max, 2);
        ck_assert(!call->when.is_absolute && call->when.ms == 60000);
        ck_assert_ptr_nonnull(strstr(without_head(call->record), "orders-1/a \"url\":"));
        ck_assert_ptr_nonnull(strstr(without_head(call->record), "orders-1/b \"url\":"));
        call->fn.all_scheduled(call->arg, statuses[i], all);
        ck_assert_int_eq(each[0].end, ends[i]);
        ck_assert_int_eq(each[1].end, statuses[i] == STATUS_OK ? STATUS_REPEATED : ends[i]);
        if (statuses[i] == STATUS_OK)
            ck_assert_str_eq(each[1].id, "orders-1/c");
        for (size_t n = 0; n < 2; n++)
            app_submission_fini(&both[n]);
    }
}
END_TEST

START_TEST(a_taken_id_is_compared)
{
    struct stored_job job = {.id = ID, .state = JOB_STATE_READY, .at_ms = 5, .record = SLICE(RECORD)};
    ck_assert(submit(&fake_all, JOB));
    end_schedule(STATUS_EXISTS, &job);
    fake_expect(STATUS_SAME);
    ck_assert_int_eq(fake_verdict.state, JOB_STATE_READY);
    ck_assert_int_eq(fake_verdict.at_ms, 5);
    job.record = SLICE("{\"createdAt\":1000,\"url\":\"http://127.0.0.1/y\",\"delay\":60}");
    ck_assert(submit(&fake_all, JOB));
    end_schedule(STATUS_EXISTS, &job);
    fake_expect(STATUS_EXISTS);
    ck_assert_int_eq(fake_verdict.state, JOB_STATE_READY);
    job.record = SLICE("not a record");
    ck_assert(submit(&fake_all, JOB));
    end_schedule(STATUS_EXISTS, &job);
    fake_expect(STATUS_EXISTS);
}
END_TEST

START_TEST(a_repeated_request_gets_the_first_answer)
{
    struct stored_job job = {.id = SLICE("orders-1/first")};
    ck_assert(submit(&fake_all, JOB));
    end_schedule(STATUS_REPEATED, &job);
    fake_expect(STATUS_REPEATED);
    ck_assert_str_eq(fake_verdict.id, "orders-1/first");
    ck_assert_int_eq(fake_verdict.at_ms, 61000);
}
END_TEST

START_TEST(a_throttled_job_gets_the_one_that_stands_for_it)
{
    static const char text[] = "{\"topic\":\"orders-1\",\"jobId\":\"a\",\"url\":\"http://127.0.0.1/x\","
                               "\"throttle\":{\"key\":\"k\",\"per\":60}}";
    struct stored_job job = {.id = SLICE("orders-1/first")};
    ck_assert(submit(&fake_all, text));
    struct fake_call *call = fake_take("schedule");
    ck_assert_str_eq(call->once, "-\nthrottle 60000 orders-1/\nthrottle\nk");
    call->fn.scheduled(call->arg, STATUS_THROTTLED, 61000, &job);
    fake_expect(STATUS_THROTTLED);
    ck_assert_str_eq(fake_verdict.id, "orders-1/first");
    ck_assert_int_eq(fake_verdict.at_ms, 61000);
    fake_expect_metric("duepost_jobs_throttled_total 1");
}
END_TEST

START_TEST(a_debounced_job_replaces_the_one_that_waits)
{
    static const char text[] = "{\"topic\":\"orders-1\",\"url\":\"http://127.0.0.1/x\","
                               "\"debounce\":{\"key\":\"k\",\"wait\":5}}";
    static const enum status same[] = {STATUS_FULL, STATUS_UNAVAILABLE, STATUS_UNKNOWN};
    for (int i = 0; i < 2; i++) {
        ck_assert(submit(&fake_all, text));
        struct fake_call *call = fake_take("replace");
        ck_assert_str_eq(call->tags, "~5000 50000 orders-1/\ndebounce\nk");
        call->fn.replaced(
            call->arg, STATUS_OK,
            &(struct store_replaced){.id = SLICE("orders-1/first"), .due_ms = 5000, .was_there = i == 1});
        fake_expect(i == 1 ? STATUS_DEBOUNCED : STATUS_OK);
        ck_assert_str_eq(fake_verdict.id, "orders-1/first");
        ck_assert_int_eq(fake_verdict.at_ms, 5000);
    }
    fake_expect_metric("duepost_jobs_debounced_total 1");
    fake_expect_metric("duepost_jobs_accepted_total{topic=\"orders-1\"} 1");
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        ck_assert(submit(&fake_all, text));
        struct fake_call *call = fake_take("replace");
        call->fn.replaced(call->arg, same[i], &(struct store_replaced){.due_ms = 0});
        fake_expect(same[i]);
    }
    ck_assert(submit(&fake_all, text));
    struct fake_call *call = fake_take("replace");
    call->fn.replaced(call->arg, STATUS_EXPIRED, &(struct store_replaced){.due_ms = 0});
    fake_expect(STATUS_INVALID);
}
END_TEST

START_TEST(a_submission_ends_as_the_store_says)
{
    static const struct ending endings[] = {
        {STATUS_REUSED, STATUS_REUSED},
        {STATUS_FULL, STATUS_FULL},
        {STATUS_NO_URL, STATUS_INVALID},
    };
    for (size_t i = 0; i < 3; i++) {
        ck_assert(submit(&fake_all, JOB));
        end_schedule(endings[i].status, NULL);
        fake_expect(endings[i].end);
    }
    for (size_t i = 0; i < OUTAGES; i++) {
        ck_assert(submit(&fake_all, JOB));
        end_schedule(outages[i].status, NULL);
        fake_expect(outages[i].end);
    }
    ck_assert(submit(&fake_all, JOB));
    end_schedule(STATUS_NO_URL, NULL);
    ck_assert_str_eq(fake_verdict.error_field, "url");
}
END_TEST

START_TEST(a_job_that_cannot_be_accepted_is_not_sent)
{
    ck_assert(!submit(&fake_some, "{\"topic\":\"mail\",\"url\":\"http://127.0.0.1/x\"}"));
    fake_expect(STATUS_NOT_REACHED);
    ck_assert_str_eq(fake_verdict.topic, "mail");
    ck_assert(!submit(&fake_all, "{\"topic\":\"mail\",\"url\":\"http://10.0.0.1/x\"}"));
    fake_expect(STATUS_INVALID);
    ck_assert_str_eq(fake_verdict.error_field, "url");
    ck_assert(!submit(&fake_all,
                      "{\"topic\":\"mail\",\"url\":\"http://127.0.0.1:6379/x\"}")); /* the address of Redis is
                                                                                       refused as a target */
    fake_expect(STATUS_INVALID);
    fake_set_ready(false);
    ck_assert(!submit(&fake_all, JOB));
    fake_expect(STATUS_UNAVAILABLE);
    ck_assert_str_eq(fake_verdict.why, "the fake is away");
}
END_TEST

/* ---- replace ---- */

static void replace_with(const char *text)
{
    struct job job = job_of(text);
    struct app_replace call = {.id = ID, .job = &job, .tags = SLICE("*")};
    fake_forget();
    app_replace(app, &fake_all, &call, fake_on_verdict, &fake_verdict);
    job_fini(&job);
}

static void end_replace(enum status status, bool was_there, bool was_leased)
{
    struct store_replaced place = {.was_there = was_there,
                                   .was_leased = was_leased,
                                   .due_ms = 61000,
                                   .created_ms = 1234,
                                   .now_ms = 1000};
    struct fake_call *call = fake_take("replace");
    ck_assert_str_eq(call->tags, "*");
    call->fn.replaced(call->arg, status, status == STATUS_OK ? &place : NULL);
}

START_TEST(a_replaced_job_is_audited_and_a_new_one_counted)
{
    replace_with(JOB);
    end_replace(STATUS_OK, false, false);
    fake_expect(STATUS_OK);
    ck_assert(!fake_verdict.was_there);
    ck_assert_int_eq(fake_verdict.state, JOB_STATE_DELAYED);
    ck_assert_ptr_eq(strstr(fake_verdict.record, "{\"createdAt\":1234,"), fake_verdict.record);
    fake_expect_metric("duepost_jobs_accepted_total{topic=\"orders-1\"} 1");
    fake_expect_log("");
    replace_with(JOB);
    end_replace(STATUS_OK, true, false);
    fake_expect(STATUS_OK);
    ck_assert(fake_verdict.was_there);
    fake_expect_metric("duepost_jobs_accepted_total{topic=\"orders-1\"} 1");
    fake_expect_log("job_replaced who=ops from=192.0.2.7 job=orders-1/a outcome=done");
    replace_with(JOB);
    end_replace(STATUS_OK, true, true); /* the old job counts as cancelled, because its attempt was running */
    fake_expect(STATUS_OK);
    ck_assert(fake_verdict.was_there && fake_verdict.was_leased);
    fake_expect_metric("duepost_jobs_accepted_total{topic=\"orders-1\"} 2");
    fake_expect_metric("duepost_jobs_ended_total{topic=\"orders-1\",how=\"cancelled\"} 1");
}
END_TEST

START_TEST(a_replacement_ends_as_the_store_says)
{
    static const struct ending endings[] = {
        {STATUS_STALE, STATUS_STALE}, {STATUS_FULL, STATUS_FULL}, {STATUS_NO_URL, STATUS_INVALID}};
    for (size_t i = 0; i < 3; i++) {
        replace_with(JOB);
        end_replace(endings[i].status, false, false);
        fake_expect(endings[i].end);
    }
    fake_expect_log("");
    for (size_t i = 0; i < OUTAGES; i++) {
        replace_with(JOB);
        end_replace(outages[i].status, false, false);
        fake_expect(outages[i].end);
    }
    fake_expect_log("outcome=unknown");
}
END_TEST

START_TEST(a_replacement_that_cannot_be_accepted_is_not_sent)
{
    replace_with("{\"topic\":\"mail\",\"url\":\"http://10.0.0.1/x\"}");
    fake_expect(STATUS_INVALID);
    fake_set_ready(false);
    replace_with(JOB);
    fake_expect(STATUS_UNAVAILABLE);
    fake_set_ready(true);
    struct job job = job_of(JOB);
    fake_forget();
    app_replace(app, &fake_all, &(struct app_replace){.id = SLICE("orders~callbacks/a"), .job = &job},
                fake_on_verdict, &fake_verdict);
    job_fini(&job);
    fake_expect(STATUS_SIBLING);
    ck_assert_str_eq(fake_verdict.topic, "orders");
}
END_TEST

/* ---- patch ---- */

static void patch_with(const char *text, const char *tags)
{
    struct app_patch call = {.id = ID, .text = slice_of(text), .tags = slice_of(tags)};
    fake_forget();
    app_patch(app, &fake_all, &call, fake_on_verdict, &fake_verdict);
}

static const struct stored_job stored = {.id = {"orders-1/a", 10},
                                         .state = JOB_STATE_DELAYED,
                                         .at_ms = 61000,
                                         .now_ms = 2000,
                                         .record = {RECORD, sizeof RECORD - 1}};

static void end_read_of_patch(enum status status, const struct stored_job *job)
{
    struct fake_call *call = fake_take("read");
    call->fn.read(call->arg, status, job);
}

static void end_change(enum status status)
{
    struct fake_call *call = fake_take("change");
    call->fn.changed(call->arg, status, 7000, 2000);
}

START_TEST(a_patch_reads_and_writes)
{
    char tag[JOB_TAG_SIZE];
    patch_with("{\"delay\":5}", "");
    end_read_of_patch(STATUS_OK, &stored);
    struct fake_call *call = fake_take("change");
    job_tag_of(&stored, tag);
    ck_assert_str_eq(call->tags, tag);
    ck_assert(call->is_moved);
    call->fn.changed(call->arg, STATUS_OK, 7000, 2000);
    fake_expect(STATUS_OK);
    ck_assert_int_eq(fake_verdict.at_ms, 7000);
    ck_assert_str_eq(fake_verdict.record, call->record);
    fake_expect_log("job_changed who=ops from=192.0.2.7 job=orders-1/a outcome=done");
}
END_TEST

START_TEST(a_patch_begins_again_when_the_job_changes)
{
    patch_with("{\"delay\":5}", "");
    for (int i = 0; i < 20; i++) {
        ck_assert_uint_eq(fake_verdict.count, 0);
        end_read_of_patch(STATUS_OK, &stored);
        end_change(STATUS_STALE);
    }
    fake_expect(STATUS_CONTENDED);
    fake_expect_log("");
}
END_TEST

START_TEST(a_patch_of_a_job_that_cannot_be_changed_writes_nothing)
{
    struct stored_job job = stored;
    patch_with("{\"delay\":5}", "");
    end_read_of_patch(STATUS_NOT_FOUND, NULL);
    fake_expect(STATUS_NOT_FOUND);
    job.state = JOB_STATE_LEASED;
    patch_with("{\"delay\":5}", "");
    end_read_of_patch(STATUS_OK, &job);
    fake_expect(STATUS_LEASED);
    patch_with("{\"delay\":5}", "- 0123456789012345678901234567890123456789");
    end_read_of_patch(STATUS_OK, &stored);
    fake_expect(STATUS_STALE);
    job = stored;
    job.record = SLICE("not a record");
    patch_with("{\"delay\":5}", "");
    end_read_of_patch(STATUS_OK, &job);
    fake_expect(STATUS_UNREADABLE);
    ck_assert_int_eq(fake_verdict.state, JOB_STATE_DELAYED);
    job.record = SLICE("{\"createdAt\":1000,\"url\":\"http://127.0.0.1/x\",\"needs\":[\"wings\"]}");
    patch_with("{\"delay\":5}", "");
    end_read_of_patch(STATUS_OK, &job);
    fake_expect(STATUS_LACKING);
    patch_with("{\"delay\":-5}", "");
    end_read_of_patch(STATUS_OK, &stored);
    fake_expect(STATUS_INVALID);
    ck_assert_str_eq(fake_verdict.error_field, "delay");
    patch_with("{\"url\":\"http://10.0.0.1/\"}", "");
    end_read_of_patch(STATUS_OK, &stored);
    fake_expect(STATUS_INVALID);
    ck_assert_str_eq(fake_verdict.error_field, "url");
    patch_with("{\"delay\":5}", "");
    end_read_of_patch(STATUS_UNKNOWN, NULL); /* a failed read has changed nothing */
    fake_expect(STATUS_UNAVAILABLE);
}
END_TEST

START_TEST(a_patch_ends_as_the_store_says)
{
    static const struct ending endings[] = {{STATUS_FULL, STATUS_FULL}, {STATUS_NO_URL, STATUS_INVALID}};
    for (size_t i = 0; i < 2; i++) {
        patch_with("{\"delay\":5}", "");
        end_read_of_patch(STATUS_OK, &stored);
        end_change(endings[i].status);
        fake_expect(endings[i].end);
    }
    for (size_t i = 0; i < OUTAGES; i++) {
        patch_with("{\"delay\":5}", "");
        end_read_of_patch(STATUS_OK, &stored);
        end_change(outages[i].status);
        fake_expect(outages[i].end);
    }
    fake_expect_log("outcome=unknown");
    fake_set_ready(false);
    patch_with("{\"delay\":5}", "");
    fake_expect(STATUS_UNAVAILABLE);
    fake_forget();
    app_patch(app, &fake_all, &(struct app_patch){.id = SLICE("orders~callbacks/a")}, fake_on_verdict,
              &fake_verdict);
    fake_expect(STATUS_SIBLING);
}
END_TEST

/* ---- cancel, run ---- */

static void end_cancel(enum status status, bool was_leased)
{
    fake_forget();
    app_cancel(app, &fake_all, ID, SLICE("*"), fake_on_verdict, &fake_verdict);
    struct fake_call *call = fake_take("cancel");
    ck_assert_str_eq(call->id, "orders-1/a");
    ck_assert_str_eq(call->tags, "*");
    call->fn.cancelled(call->arg, status, was_leased);
}

START_TEST(a_cancel_is_counted_and_audited)
{
    end_cancel(STATUS_OK, true);
    fake_expect(STATUS_OK);
    ck_assert(fake_verdict.was_leased);
    fake_expect_metric("duepost_jobs_ended_total{topic=\"orders-1\",how=\"cancelled\"} 1");
    fake_expect_log("job_cancelled who=ops from=192.0.2.7 job=orders-1/a outcome=done");
}
END_TEST

START_TEST(a_cancel_ends_as_the_store_says)
{
    static const struct ending endings[] = {{STATUS_NOT_FOUND, STATUS_NOT_FOUND},
                                            {STATUS_STALE, STATUS_STALE}};
    for (size_t i = 0; i < 2; i++) {
        end_cancel(endings[i].status, false);
        fake_expect(endings[i].end);
    }
    fake_expect_log("");
    for (size_t i = 0; i < OUTAGES; i++) {
        end_cancel(outages[i].status, false);
        fake_expect(outages[i].end);
    }
    fake_expect_log("outcome=unknown");
    fake_set_ready(false);
    fake_forget();
    app_cancel(app, &fake_all, ID, SLICE(""), fake_on_verdict, &fake_verdict);
    fake_expect(STATUS_UNAVAILABLE);
}
END_TEST

static void end_run(enum status status)
{
    fake_forget();
    app_run(app, &fake_all, &(struct app_run){.id = ID}, fake_on_verdict, &fake_verdict);
    struct fake_call *call = fake_take("run");
    ck_assert_str_eq(call->id, "orders-1/a");
    call->fn.run(call->arg, status, 2000);
}

START_TEST(a_run_ends_as_the_store_says)
{
    static const struct {
        enum status status;
        enum status end;
        enum job_state state; /* state of the job, in the verdict */
    } endings[] = {
        {STATUS_OK, STATUS_OK, JOB_STATE_DELAYED},
        {STATUS_LEASED, STATUS_LEASED, JOB_STATE_LEASED},
        {STATUS_EXISTS, STATUS_ID_TAKEN, JOB_STATE_DEAD},
        {STATUS_EXPIRED, STATUS_EXPIRED, JOB_STATE_DEAD},
        {STATUS_UNREADABLE, STATUS_UNREADABLE, JOB_STATE_DEAD},
        {STATUS_LACKING, STATUS_LACKING, JOB_STATE_DEAD},
    };
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        end_run(endings[i].status);
        fake_expect(endings[i].end);
        ck_assert_int_eq(fake_verdict.state, endings[i].state);
        fake_expect_log(endings[i].end == STATUS_OK ? "job_run who=ops" : "");
    }
    end_run(STATUS_NOT_FOUND);
    fake_expect(STATUS_NOT_FOUND);
    end_run(STATUS_STALE);
    fake_expect(STATUS_STALE);
    end_run(STATUS_FULL);
    fake_expect(STATUS_FULL);
    for (size_t i = 0; i < OUTAGES; i++) {
        end_run(outages[i].status);
        fake_expect(outages[i].end);
    }
    fake_set_ready(false);
    fake_forget();
    app_run(app, &fake_all, &(struct app_run){.id = ID}, fake_on_verdict, &fake_verdict);
    fake_expect(STATUS_UNAVAILABLE);
}
END_TEST

/* ---- read, attempts ---- */

static void end_read(enum status status)
{
    fake_forget();
    app_read(app, ID, fake_on_verdict, &fake_verdict);
    struct fake_call *call = fake_take("read_kept");
    call->fn.read(call->arg, status, status == STATUS_OK ? &stored : NULL);
}

static void end_attempts(enum status status)
{
    fake_forget();
    app_attempts(app, ID, fake_on_verdict, &fake_verdict);
    struct fake_call *call = fake_take("attempts");
    call->fn.attempts(call->arg, status, SLICE("1 1000 2 503\n"));
}

START_TEST(reads_end_as_the_store_says)
{
    end_read(STATUS_OK);
    fake_expect(STATUS_OK);
    ck_assert_str_eq(fake_verdict.record, RECORD);
    ck_assert_int_eq(fake_verdict.at_ms, 61000);
    end_read(STATUS_NOT_FOUND);
    fake_expect(STATUS_NOT_FOUND);
    end_attempts(STATUS_OK);
    fake_expect(STATUS_OK);
    ck_assert_str_eq(fake_verdict.lines, "1 1000 2 503\n");
    end_attempts(STATUS_NOT_FOUND);
    fake_expect(STATUS_NOT_FOUND);
    for (size_t i = 0; i < OUTAGES; i++) {
        end_read(outages[i].status);
        fake_expect(outages[i].end);
        end_attempts(outages[i].status);
        fake_expect(outages[i].end);
    }
    fake_expect_log("");
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("jobs");
    TCase *tests = tcase_create("all");
    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_test(tests, a_submitted_job_is_placed_and_counted);
    tcase_add_test(tests, a_job_without_an_id_gets_one);
    tcase_add_test(tests, submissions_are_sent_together);
    tcase_add_test(tests, a_taken_id_is_compared);
    tcase_add_test(tests, a_repeated_request_gets_the_first_answer);
    tcase_add_test(tests, a_throttled_job_gets_the_one_that_stands_for_it);
    tcase_add_test(tests, a_debounced_job_replaces_the_one_that_waits);
    tcase_add_test(tests, a_submission_ends_as_the_store_says);
    tcase_add_test(tests, a_job_that_cannot_be_accepted_is_not_sent);
    tcase_add_test(tests, a_replaced_job_is_audited_and_a_new_one_counted);
    tcase_add_test(tests, a_replacement_ends_as_the_store_says);
    tcase_add_test(tests, a_replacement_that_cannot_be_accepted_is_not_sent);
    tcase_add_test(tests, a_patch_reads_and_writes);
    tcase_add_test(tests, a_patch_begins_again_when_the_job_changes);
    tcase_add_test(tests, a_patch_of_a_job_that_cannot_be_changed_writes_nothing);
    tcase_add_test(tests, a_patch_ends_as_the_store_says);
    tcase_add_test(tests, a_cancel_is_counted_and_audited);
    tcase_add_test(tests, a_cancel_ends_as_the_store_says);
    tcase_add_test(tests, a_run_ends_as_the_store_says);
    tcase_add_test(tests, reads_end_as_the_store_says);
    suite_add_tcase(suite, tests);
    return suite;
}
