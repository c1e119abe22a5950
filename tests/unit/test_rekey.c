#include <stdio.h>

#include "support/suite.h"

#include "base/seal.h"
#include "job/attempt_line.h"
#include "job/job.h"
#include "job/rekey.h"
#include "job/text/sealed.h"
#include "job/workflow.h"

#define ONE "0000000000000000000000000000000000000000000000000000000000000001"
#define TWO "0000000000000000000000000000000000000000000000000000000000000002"
#define ID  SLICE("orders/a")
/* A record as this and earlier versions write it without keys. */
#define PLAIN                                                                                                \
    "{\"createdAt\":1,\"head\":\"1 0 0 0 c 119 \",\"url\":\"https://shop.example/a?key=1\",\"headers\":{"    \
    "\"x-key\":\"2\"},\"onDelivered\":\"https://shop.example/done\",\"needs\":[\"callbacks\"],"              \
    "\"body\":{\"order\":3}}"

enum { ROOM = 65536 };

static void use(const char *text)
{
    struct seal_keys *keys;
    struct problem problem;
    ck_assert_int_eq(seal_keys_parse(slice_of(text), &keys, &problem), STATUS_OK);
    seal_use(keys, false);
    seal_keys_free(keys);
}

static void ck_is_sealed(struct slice text)
{
    static const char *const secrets[] = {"key=1", "x-key", "done", "order\"", "locked", "half"};
    for (size_t i = 0; i < sizeof secrets / sizeof *secrets; i++)
        ck_assert_ptr_null(memmem(text.data, text.size, secrets[i], strlen(secrets[i])));
}

static void ck_job(struct slice record)
{
    struct job job;
    ck_assert_int_eq(job_read(ID, record, &job), STATUS_OK);
    ck_assert(job.lacks.size == 0);
    ck_assert(slice_equal(job.url, SLICE("https://shop.example/a?key=1")));
    ck_assert(slice_equal(job.headers[0].value, SLICE("2")));
    ck_assert(slice_equal(job.on_delivered, SLICE("\"https://shop.example/done\"")));
    ck_assert(slice_equal(job.body, SLICE("{\"order\":3}")));
    job_fini(&job);
}

/* Rewrites the text and returns the new one. */
static struct slice rewritten(const char *key, struct slice field, struct slice text, struct buffer *out)
{
    buffer_init(out, ROOM);
    ck_assert_int_eq(rekey_text(slice_of(key), field, text, out), REKEY_CHANGED);
    ck_is_sealed(buffer_slice(out));
    return buffer_slice(out);
}

static void ck_current(const char *key, struct slice field, struct slice text)
{
    struct buffer out;
    buffer_init(&out, ROOM);
    ck_assert_int_eq(rekey_text(slice_of(key), field, text, &out), REKEY_CURRENT);
    buffer_fini(&out);
}

START_TEST(a_record_gets_the_first_key)
{
    struct buffer once, twice, out;
    use(ONE);
    struct slice sealed = rewritten("jobs", ID, SLICE(PLAIN), &once);
    ck_job(sealed);
    ck_current("jobs", ID, sealed);
    use(TWO "\n" ONE);
    struct slice again = rewritten("jobs", ID, sealed, &twice);
    use(TWO);
    ck_job(again);
    ck_current("jobs", ID, again);
    /* Without its key, and for another job, a text stays as it is. */
    buffer_init(&out, ROOM);
    ck_assert_int_eq(rekey_text(SLICE("jobs"), ID, sealed, &out), REKEY_LEFT);
    use(TWO "\n" ONE);
    ck_assert_int_eq(rekey_text(SLICE("jobs"), SLICE("orders/b"), sealed, &out), REKEY_LEFT);
    ck_current("jobs", ID, SLICE("{\"createdAt\":1,\"head\":\"1 0 0 0 u 10 \",\"url\":\"\"}"));
    buffer_fini(&once);
    buffer_fini(&twice);
    buffer_fini(&out);
}
END_TEST

START_TEST(a_job_without_its_key_lacks_it)
{
    struct buffer sealed;
    struct job job;
    use(ONE);
    struct slice record = rewritten("jobs", ID, SLICE(PLAIN), &sealed);
    use(TWO);
    ck_assert_int_eq(job_read(ID, record, &job), STATUS_OK);
    ck_assert(slice_starts_with(job.lacks, SLICE(JOB_LACKS_KEY)));
    job_fini(&job);
    seal_use(NULL, false);
    ck_assert_int_eq(job_read(ID, record, &job), STATUS_OK);
    ck_assert(slice_starts_with(job.lacks, SLICE(JOB_LACKS_KEY)));
    job_fini(&job);
    use(ONE);
    ck_assert_int_eq(job_read(SLICE("orders/b"), record, &job), STATUS_INVALID);
    buffer_fini(&sealed);
}
END_TEST

START_TEST(an_ended_job_has_its_record_and_its_answers)
{
    struct attempt_result result = {.at_ms = 5, .duration_ms = 6, .status = 503};
    struct buffer lines, text, once, twice, history;
    seal_use(NULL, false);
    buffer_init(&lines, ROOM);
    attempt_line_write(&lines, 1, 1, &result, SLICE("locked"), true);
    buffer_append_byte(&lines, '\n');
    attempt_line_write(&lines, 1, 2, &result, SLICE("\xff half"), false);
    buffer_append_byte(&lines, '\n');
    result.error = FAILURE_TIMEOUT;
    attempt_line_write(&lines, 2, 1, &result, SLICE(""), false);
    buffer_append_byte(&lines, '\n');
    buffer_init(&text, ROOM);
    buffer_printf(&text, "dead 7 0 %zu %s%s", sizeof PLAIN - 1, PLAIN, buffer_text(&lines));
    use(ONE);
    struct slice sealed = rewritten("kept", ID, buffer_slice(&text), &once);
    use(TWO "\n" ONE);
    struct slice again = rewritten("kept", ID, sealed, &twice);
    use(TWO);
    ck_current("kept", ID, again);
    size_t size;
    int start;
    ck_assert_int_eq(sscanf(buffer_text(&twice), "dead 7 0 %zu %n", &size, &start), 1);
    ck_job(slice_from(again.data + start, size));
    struct slice rest = slice_skip(again, (size_t)start + size);
    struct attempt_line line;
    char room[ATTEMPT_LINE_MAX];
    for (int i = 0; attempt_line_take(&rest, &line); i++) {
        static const char *const answers[] = {"locked", "\xff half", ""};
        struct buffer scratch = buffer_of(room, sizeof room);
        ck_assert(slice_equal(attempt_line_bytes(&line, &scratch), slice_of(answers[i])));
        ck_assert(line.is_answer_cut == (i == 0));
    }
    ck_assert_uint_eq(rest.size, 0);
    /* The history knows a job whose body was left out. */
    buffer_init(&history, ROOM);
    ck_assert_int_eq(rekey_ended(ID, buffer_slice(&text), true, &history), REKEY_CHANGED);
    ck_assert_ptr_nonnull(strstr(buffer_text(&history), " {\"bodyLeftOut\":true,\"createdAt\":1,"));
    buffer_fini(&lines);
    buffer_fini(&text);
    buffer_fini(&once);
    buffer_fini(&twice);
    buffer_fini(&history);
}
END_TEST

START_TEST(the_texts_of_workflows)
{
    struct buffer out, record;
    char room[WORKFLOW_SEAL_MAX];
    struct slice owner = workflow_seal_owner(SLICE("orders/w"), room);
    static const char value[] = "{\"order\":1}";
    struct sealed_values values = {.blocks = NULL};
    use(ONE);
    ck_assert(sealed_value_is(rewritten("workflow:orders/w/5", SLICE("result"), slice_of(value), &out)));
    ck_assert(slice_equal(sealed_values_open(&values, owner, buffer_slice(&out)), slice_of(value)));
    buffer_fini(&out);
    struct slice element = rewritten("elements:orders/w/5", SLICE("0"), SLICE("s{\"order\":1}"), &out);
    ck_assert_int_eq(element.data[0], 's');
    ck_assert(slice_equal(sealed_values_open(&values, owner, slice_skip(element, 1)), slice_of(value)));
    buffer_fini(&out);
    /* A wait has the name of its event, a text and an element. */
    struct slice wait =
        rewritten("waits", SLICE("orders~steps/j"), SLICE("2 11 ev{\"order\":1}{\"order\":1}"), &out);
    int first, second, start;
    ck_assert_int_eq(sscanf(buffer_text(&out), "%d %d %n", &first, &second, &start), 2);
    ck_assert_int_eq(first, 2);
    ck_assert(
        slice_equal(sealed_values_open(&values, owner, slice_from(wait.data + start + 2, (size_t)second)),
                    slice_of(value)));
    buffer_fini(&out);
    /* An entry for the parent has a job and its record. */
    buffer_init(&record, ROOM);
    buffer_append(&record, SLICE("8 0 orders/a{\"order\":1}"));
    rewritten("workflow:orders/w/5", SLICE("ifFailed"), buffer_slice(&record), &out);
    ck_assert(slice_starts_with(buffer_slice(&out), SLICE("8 0 orders/a\"\\u001e")));
    buffer_fini(&out);
    buffer_fini(&record);
    sealed_values_fini(&values);
}
END_TEST

START_TEST(settings_and_groups)
{
    static const char settings[] =
        "{\"paused\":true,\"headers\":{\"x-key\":\"2\"},\"url\":\"https://a.example/?key=1\"}";
    static const char group[] = "{\"endpoints\":{\"a\":{\"url\":\"https://a.example/?key=1\"}}}";
    const struct {
        const char *key, *text;
    } cases[] = {{"topics", settings}, {"patterns", settings}, {"groups", group}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct buffer once, twice, out;
        use(ONE);
        struct slice sealed = rewritten(cases[i].key, SLICE("orders"), slice_of(cases[i].text), &once);
        ck_current(cases[i].key, SLICE("orders"), sealed);
        use(TWO "\n" ONE);
        struct slice again = rewritten(cases[i].key, SLICE("orders"), sealed, &twice);
        use(TWO);
        ck_current(cases[i].key, SLICE("orders"), again);
        buffer_init(&out, ROOM);
        ck_assert_int_eq(rekey_text(slice_of(cases[i].key), SLICE("orders"), sealed, &out), REKEY_LEFT);
        ck_current(cases[i].key, SLICE("orders"), SLICE("{}"));
        buffer_fini(&once);
        buffer_fini(&twice);
        buffer_fini(&out);
    }
}
END_TEST

Suite *suite(void)
{
    Suite *all = suite_create("rekey");
    TCase *tests = tcase_create("rekey");
    tcase_add_test(tests, a_record_gets_the_first_key);
    tcase_add_test(tests, a_job_without_its_key_lacks_it);
    tcase_add_test(tests, an_ended_job_has_its_record_and_its_answers);
    tcase_add_test(tests, the_texts_of_workflows);
    tcase_add_test(tests, settings_and_groups);
    suite_add_tcase(all, tests);
    return all;
}
