#include "support/errors.h"
#include "support/suite.h"

#include "job/topic/topic_settings.h"

static struct topic_settings settings;
static struct job_errors errors;

static void check_writes(const char *text, const char *written)
{
    struct buffer out;
    buffer_init(&out, 4096);
    ck_assert_msg(topic_settings_parse(slice_of(text), &settings, &errors) == STATUS_OK, "%s: %s %s", text,
                  error_at(&errors, 0).field, error_at(&errors, 0).detail);
    topic_settings_write(&settings, &out);
    ck_assert_str_eq(buffer_text(&out), written);
    buffer_fini(&out);
    topic_settings_fini(&settings);
}

START_TEST(writes_what_is_set)
{
    check_writes("{}", "");
    check_writes(
        "{\"paused\":false}",
        "{\"paused\":false}"); /* false is written, because it overrides a pattern that pauses topics */
    check_writes(" { \"jitter\" : 0.000001 , \"paused\" : true } ", "{\"paused\":true,\"jitter\":1e-06}");
    check_writes("{\"paused\":true,\"jitter\":1e-06}", "{\"paused\":true,\"jitter\":1e-06}");
    check_writes("{\"breaker\":true}", "{\"breaker\":true}");
    check_writes("{\"breaker\":false,\"onDead\":\"http://h/\"}",
                 "{\"onDead\":\"http://h/\",\"breaker\":false}");
    check_writes("{\"windows\":[{\"from\":\"09:00\", \"to\":\"17:00\"}]}",
                 "{\"windows\":[{\"from\":\"09:00\", \"to\":\"17:00\"}],\"needs\":[\"windows\"]}");
    check_writes("{\"windows\":null}", "");
    check_writes(
        "{\"batch\":{\"size\":100,\"wait\":\"1m\",\"maxBytes\":1024},\"maxInFlight\":100}",
        "{\"maxInFlight\":100,\"batch\":{\"size\":100,\"wait\":60,\"maxBytes\":1024},\"needs\":[\"batch\"]}");
    check_writes(
        "{\"batch\":{\"size\":5,\"maxBytes\":4194304},\"rate\":{\"jobs\":5,\"per\":1,\"window\":true},"
        "\"perKey\":{\"maxInFlight\":5,\"rate\":{\"jobs\":1,\"per\":1,\"burst\":5}}}",
        "{\"rate\":{\"jobs\":5,\"per\":1,\"burst\":1,\"window\":true},"
        "\"perKey\":{\"maxInFlight\":5,\"rate\":{\"jobs\":1,\"per\":1,\"burst\":5}},"
        "\"batch\":{\"size\":5,\"maxBytes\":4194304},\"needs\":[\"rateWindow\",\"batch\",\"keys\"]}");
    check_writes("{\"batch\":{\"size\":1}}", "{\"batch\":{\"size\":1},\"needs\":[\"batch\"]}");
    check_writes("{\"batch\":{\"size\":2},\"order\":\"due\",\"delivery\":\"push\",\"perKey\":{}}",
                 "{\"order\":\"due\",\"perKey\":{},\"delivery\":\"push\",\"batch\":{\"size\":2},"
                 "\"needs\":[\"batch\",\"keys\"]}");
    check_writes("{\"retention\":1}", "{\"retention\":1}");
    check_writes("{\"retention\":7776e3}", "{\"retention\":7776000}");
    check_writes("{\"retention\":1.0005,\"onDead\":\"http://h/\"}",
                 "{\"onDead\":\"http://h/\",\"retention\":1.001}");
    ck_assert_int_eq(settings.retention_ms, 1001);
    check_writes(
        "{\"rate\":{\"jobs\":3,\"per\":604800,\"window\":true}}",
        "{\"rate\":{\"jobs\":3,\"per\":604800,\"burst\":1,\"window\":true},\"needs\":[\"rateWindow\"]}");
    check_writes("{\"weight\":2,\"limit\":\"stripe\",\"maxInFlight\":1}",
                 "{\"maxInFlight\":1,\"limit\":\"stripe\",\"weight\":2,\"needs\":[\"limits\"]}");
    check_writes(
        "{\"perKey\":{\"order\":\"fifo\",\"rate\":{\"jobs\":3,\"per\":\"1m\"},\"maxInFlight\":2,"
        "\"maxPending\":9,\"weight\":100},\"priorityAge\":\"30m\",\"retryPriority\":0}",
        "{\"perKey\":{\"maxInFlight\":2,\"rate\":{\"jobs\":3,\"per\":60,\"burst\":1},"
        "\"maxPending\":9,\"weight\":100,\"order\":\"fifo\"},\"priorityAge\":1800,\"retryPriority\":0,"
        "\"needs\":[\"keys\"]}");
    check_writes("{\"priorityAge\":\"off\"}", "{\"priorityAge\":\"off\",\"needs\":[\"keys\"]}");
    check_writes("{\"perKey\":{\"maxPending\":0}}", "{\"perKey\":{\"maxPending\":0},\"needs\":[\"keys\"]}");
    check_writes("{\"perKey\":{}}", "{\"perKey\":{},\"needs\":[\"keys\"]}");
    check_writes("{\"onAttempt\":\"http://a/\",\"onDelivered\":\"http://d/\"}",
                 "{\"onDelivered\":\"http://d/\",\"onAttempt\":\"http://a/\",\"needs\":[\"callbacks\"]}");
    check_writes("{\"onDead\": {\"url\": \"http://h/\"}}",
                 "{\"onDead\":{\"url\": \"http://h/\"},\"needs\":[\"callbacks\"]}");
    check_writes(
        "{\"maxInFlight\":1,\"rate\":{\"jobs\":3,\"per\":0.0005},\"retrySchedule\":[],\"timeout\":1e1}",
        "{\"maxInFlight\":1,\"rate\":{\"jobs\":3,\"per\":0.001,\"burst\":1},\"retrySchedule\":[],\"timeout\":"
        "10}");
    check_writes(
        "{\"headers\":{\"X-A\":\"1 \\\"2\\\"\"},\"onDead\":\"http://d/?q\",\"url\":\"http://u/?q\"}",
        "{\"url\":\"http://u/?q\",\"headers\":{\"X-A\":\"1 \\\"2\\\"\"},\"onDead\":\"http://d/?q\"}");
}
END_TEST

#define SECRETS(shared, private) "{\"secrets\":[\"" shared "\",\"" private "\"]}"

START_TEST(keeps_the_keys_that_sign_and_shows_what_is_public_of_them)
{
    static const char keys[] = SECRETS(
        "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
        "whsk_6Xb/dCcHpPea21PS1N9VY/NZW723CEc77N4rJCubMbfVKIDij2HKpMKkioLlX0dRqSKJp4AJ6p9lMicMFs6Kvg==");
    struct buffer out;
    buffer_init(&out, 4096);
    check_writes(keys, keys);
    ck_assert_int_eq(topic_settings_parse(slice_of(keys), &settings, &errors), STATUS_OK);
    topic_settings_show(&settings, &out);
    ck_assert_str_eq(buffer_text(&out),
                     SECRETS("whsec_***", "whpk_1SiA4o9hyqTCpIqC5V9HUakiiaeACeqfZTInDBbOir4="));
    buffer_fini(&out);
    topic_settings_fini(&settings);
}
END_TEST

START_TEST(shows_no_secrets)
{
    struct buffer out;
    buffer_init(&out, 4096);
    ck_assert_int_eq(
        topic_settings_parse(SLICE("{\"url\":\"http://u/?q\",\"onDead\":\"http://d/?q\",\"headers\":"
                                   "{\"content-type\":\"a/b\",\"X-A\":\"1\"},\"timeout\":1}"),
                             &settings, &errors),
        STATUS_OK);
    topic_settings_show(&settings, &out);
    ck_assert_str_eq(buffer_text(&out),
                     "{\"timeout\":1,\"url\":\"http://u/?***\",\"headers\":{\"content-type\":"
                     "\"a/b\",\"X-A\":\"***\"},\"onDead\":\"http://d/?***\"}");
    buffer_fini(&out);
    topic_settings_fini(&settings);
}
END_TEST

START_TEST(a_job_gets_what_it_does_not_bring)
{
    struct job job = {.timeout_ms = 30000, .header_count = 1, .headers = {{SLICE("x-a"), SLICE("job")}}};
    struct job_header headers[TOPIC_DEFAULTS_HEADERS_MAX];
    ck_assert_int_eq(topic_settings_parse(SLICE("{\"url\":\"http://u/\",\"timeout\":1,\"retrySchedule\":[7],"
                                                "\"headers\":{\"X-A\":\"topic\",\"X-B\":\"b\"}}"),
                                          &settings, &errors),
                     STATUS_OK);
    struct retry_schedule ours = {.count = 0};
    ck_assert(slice_equal(topic_defaults_url(&settings, &job), SLICE("http://u/")));
    ck_assert_int_eq(topic_defaults_timeout_ms(&settings, &job), 1000);
    ck_assert_int_eq(topic_defaults_schedule(&settings, &ours)->wait_ms[0], 7000);
    ck_assert_uint_eq(topic_defaults_headers(&settings, &job, headers), 2);
    ck_assert(slice_equal(headers[0].value, SLICE("job")));
    ck_assert(slice_equal(headers[1].name, SLICE("X-B")));
    job.url = SLICE("http://j/");
    job.has_timeout = true;
    ck_assert(slice_equal(topic_defaults_url(&settings, &job), SLICE("http://j/")));
    ck_assert_int_eq(topic_defaults_timeout_ms(&settings, &job), 30000);
    topic_settings_fini(&settings);
    ck_assert_uint_eq(topic_defaults_url(NULL, &(struct job){.timeout_ms = 1}).size, 0);
    ck_assert_ptr_eq(topic_defaults_schedule(NULL, &ours), &ours);
    ck_assert_uint_eq(topic_defaults_headers(NULL, &job, headers), 1);
}
END_TEST

START_TEST(headers_of_a_topic_go_where_its_url_leads)
{
    static const struct {
        const char *settings, *url;
        bool has_them;
    } cases[] = {
        {"{\"url\":\"http://u/\",\"headers\":{\"X-A\":\"topic\"}}", "", true},
        {"{\"url\":\"http://u/\",\"headers\":{\"X-A\":\"topic\"}}", "http://U:80/elsewhere?x", true},
        {"{\"url\":\"http://u/\",\"headers\":{\"X-A\":\"topic\"}}", "https://u/", false},
        {"{\"url\":\"http://u/\",\"headers\":{\"X-A\":\"topic\"}}", "http://u:81/", false},
        {"{\"url\":\"http://u/\",\"headers\":{\"X-A\":\"topic\"}}", "http://j/", false},
        {"{\"url\":\"http://u/\",\"headers\":{\"X-A\":\"topic\"}}", "not written by us", false},
        {"{\"headers\":{\"X-A\":\"topic\"}}", "http://j/", true},
        {"{\"url\":\"http://u/\"}", "", false},
    };
    struct job_header headers[TOPIC_DEFAULTS_HEADERS_MAX];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct job job = {
            .url = slice_of(cases[i].url), .header_count = 1, .headers = {{SLICE("X-J"), SLICE("job")}}};
        ck_assert_int_eq(topic_settings_parse(slice_of(cases[i].settings), &settings, &errors), STATUS_OK);
        ck_assert_uint_eq(topic_defaults_headers(&settings, &job, headers), cases[i].has_them ? 2 : 1);
        ck_assert(slice_equal(headers[0].name, SLICE("X-J")));
        topic_settings_fini(&settings);
    }
}
END_TEST

START_TEST(takes_null_for_what_is_not_there_and_durations_for_seconds)
{
    const char *text = "{\"paused\":null,\"url\":null,\"headers\":null,\"secrets\":null,\"jitter\":null,"
                       "\"timeout\":\"1m30s\","
                       "\"retention\":\"2d\",\"rate\":{\"jobs\":5,\"per\":\"1h\",\"burst\":null},"
                       "\"retrySchedule\":[\"1s\",2]}";
    ck_assert_int_eq(topic_settings_parse(slice_of(text), &settings, &errors), STATUS_OK);
    ck_assert(!settings.is_paused && settings.url.size == 0 && settings.header_count == 0);
    ck_assert_int_eq(settings.timeout_ms, 90000);
    ck_assert_int_eq(settings.retention_ms, 2 * INT64_C(86400000));
    ck_assert_int_eq(settings.rate_per_ms, 3600000);
    ck_assert_int_eq(settings.rate_burst, 1);
    ck_assert_int_eq(settings.schedule.wait_ms[0], 1000);
    topic_settings_fini(&settings);
}
END_TEST

START_TEST(names_what_is_wrong)
{
    static const char *const cases[][2] = {
        {"", ""},
        {"[]", ""},
        {"{\"maxInFlight\":1000001}", "maxInFlight"},
        {"{\"maxInFlight\":1.5}", "maxInFlight"},
        {"{\"rate\":{\"jobs\":1,\"per\":604801}}", "rate.per"},
        {"{\"rate\":{\"per\":1}}", "rate.jobs"},
        {"{\"rate\":1}", "rate"},
        {"{\"windows\":[{\"from\":\"09:00\"}]}", "windows"},
        {"{\"windows\":{}}", "windows"},
        {"{\"batch\":5}", "batch"},
        {"{\"batch\":{}}", "batch.size"},
        {"{\"batch\":{\"size\":0}}", "batch.size"},
        {"{\"batch\":{\"size\":101}}", "batch.size"},
        {"{\"batch\":{\"size\":1.5}}", "batch.size"},
        {"{\"batch\":{\"size\":5,\"wait\":60.001}}", "batch.wait"},
        {"{\"batch\":{\"size\":5,\"maxBytes\":1023}}", "batch.maxBytes"},
        {"{\"batch\":{\"size\":5,\"maxBytes\":4194305}}", "batch.maxBytes"},
        {"{\"batch\":{\"size\":5,\"most\":1}}", "batch.most"},
        {"{\"batch\":{\"size\":5},\"order\":\"fifo\"}", "batch"},
        {"{\"delivery\":\"pull\",\"batch\":{\"size\":5}}", "batch"},
        {"{\"batch\":{\"size\":5},\"priorityAge\":60}", "batch"},
        {"{\"batch\":{\"size\":5},\"retryPriority\":0}", "batch"},
        {"{\"batch\":{\"size\":5},\"perKey\":{\"order\":\"fifo\"}}", "batch"},
        {"{\"batch\":{\"size\":5},\"maxInFlight\":4}", "batch"},
        {"{\"batch\":{\"size\":5},\"rate\":{\"jobs\":9,\"per\":1,\"burst\":4}}", "batch"},
        {"{\"batch\":{\"size\":2},\"rate\":{\"jobs\":9,\"per\":1}}", "batch"},
        {"{\"batch\":{\"size\":5},\"rate\":{\"jobs\":4,\"per\":1,\"burst\":9,\"window\":true}}", "batch"},
        {"{\"batch\":{\"size\":5},\"perKey\":{\"maxInFlight\":4}}", "batch"},
        {"{\"batch\":{\"size\":5},\"perKey\":{\"rate\":{\"jobs\":9,\"per\":1,\"burst\":4}}}", "batch"},
        {"{\"jitter\":\"1\"}", "jitter"},
        {"{\"jitter\":-0.1}", "jitter"},
        {"{\"timeout\":[]}", "timeout"},
        {"{\"retrySchedule\":[1,-1]}", "retrySchedule[1]"},
        {"{\"onDead\":\"ftp://h/\"}", "onDead"},
        {"{\"onDead\":1}", "onDead"},
        {"{\"onDelivered\":{}}", "onDelivered.url"},
        {"{\"onAttempt\":{\"url\":\"http://h/\",\"method\":\"GET\"}}", "onAttempt.method"},
        {"{\"url\":\"http://u/?***\"}", "url"},
        {"{\"url\":\"\"}", "url"},
        {"{\"headers\":[]}", "headers"},
        {"{\"secrets\":\"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\"}", "secrets"},
        {"{\"secrets\":[\"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\",1]}", "secrets[1]"},
        {"{\"secrets\":[\"whsec_***\"]}", "secrets[0]"},
        {"{\"secrets\":[\"whpk_1SiA4o9hyqTCpIqC5V9HUakiiaeACeqfZTInDBbOir4=\"]}", "secrets[0]"},
        {"{\"headers\":{\"X-A\":\"***\"}}", "headers.X-A"},
        {"{\"headers\":{\"Host\":\"h\"}}", "headers.Host"},
        {"{\"breaker\":\"on\"}", "breaker"},
        {"{\"retention\":0}", "retention"},
        {"{\"retention\":0.9}", "retention"},
        {"{\"retention\":7776001}", "retention"},
        {"{\"retention\":\"1w\"}", "retention"},
        {"{\"rate\":{\"jobs\":null,\"per\":1}}", "rate.jobs"},
        {"{\"perKey\":1}", "perKey"},
        {"{\"perKey\":{\"maxInFlight\":0}}", "perKey.maxInFlight"},
        {"{\"perKey\":{\"rate\":{\"jobs\":1}}}", "perKey.rate.per"},
        {"{\"perKey\":{\"rate\":{\"jobs\":1,\"per\":1,\"window\":true}}}", "perKey.rate.window"},
        {"{\"perKey\":{\"order\":\"due\"}}", "perKey.order"},
        {"{\"perKey\":{\"weight\":101}}", "perKey.weight"},
        {"{\"perKey\":{\"paused\":true}}", "perKey.paused"},
        {"{\"perKey\":{},\"order\":\"fifo\"}", "perKey"},
        {"{\"priorityAge\":0}", "priorityAge"},
        {"{\"priorityAge\":\"on\"}", "priorityAge"},
        {"{\"priorityAge\":\"off\",\"order\":\"fifo\"}", "priorityAge"},
        {"{\"retryPriority\":10}", "retryPriority"},
        {"{\"retryPriority\":\"off\"}", "retryPriority"},
        {"{\"retryPriority\":1,\"order\":\"fifo\"}", "retryPriority"},
        {"{\"timeout\":\"off\"}", "timeout"},
        {"{\"x\":1}", "x"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ck_assert_int_eq(topic_settings_parse(slice_of(cases[i][0]), &settings, &errors), STATUS_INVALID);
        ck_assert_uint_eq(errors.count, 1);
        ck_assert_str_eq(error_at(&errors, 0).field, cases[i][1]);
    }
}
END_TEST

/* Returns the text of old with patch applied, or the errors. */
static const char *patched(const char *old_text, struct slice patch)
{
    static struct topic_settings old;
    static char text[1000];
    struct buffer merged, out = {.data = text, .capacity = sizeof text, .max = sizeof text - 1};
    buffer_init(&merged, TOPIC_PATCH_BYTES_MAX);
    ck_assert_int_eq(topic_settings_read(slice_of(old_text), &old), STATUS_OK);
    if (topic_settings_patch(&old, patch, &merged, &settings, &errors) == STATUS_OK) {
        topic_settings_write(&settings, &out);
        topic_settings_fini(&settings);
    } else {
        for (size_t i = 0; i < errors.count; i++)
            buffer_printf(&out, "%s%s: %s", i ? "; " : "", error_at(&errors, i).field,
                          error_at(&errors, i).detail);
    }
    topic_settings_fini(&old);
    buffer_fini(&merged);
    return buffer_text(&out);
}

START_TEST(merges_a_patch)
{
    static const char *const cases[][3] = {
        {"{\"paused\":true,\"timeout\":1}", "{\"paused\":null,\"jitter\":0.10}",
         "{\"timeout\":1,\"jitter\":0.1}"},
        {"", "{\"rate\":{\"jobs\":1,\"per\":\"1m\"}}", "{\"rate\":{\"jobs\":1,\"per\":60,\"burst\":1}}"},
        {"{\"rate\":{\"jobs\":3,\"per\":1,\"burst\":2}}", "{\"rate\":{\"per\":2,\"burst\":null}}",
         "{\"rate\":{\"jobs\":3,\"per\":2,\"burst\":1}}"},
        {"{\"rate\":{\"jobs\":3,\"per\":1}}", "{\"rate\":null}", ""},
        {"{\"perKey\":{\"maxInFlight\":3,\"by\":1,\"rate\":{\"jobs\":3,\"per\":1,\"of\":2}}}",
         "{\"perKey\":{\"rate\":{\"jobs\":4},\"maxInFlight\":null,\"weight\":2}}",
         "{\"perKey\":{\"rate\":{\"jobs\":4,\"per\":1,\"burst\":1,\"of\":2},\"weight\":2,\"by\":1},\"needs\":"
         "[\"keys\"]}"},
        {"{\"perKey\":{\"maxInFlight\":3},\"priorityAge\":9}", "{\"perKey\":null,\"priorityAge\":null}", ""},
        {"{\"perKey\":{\"maxInFlight\":3}}", "{\"order\":\"fifo\"}",
         "perKey: cannot be combined with order \"fifo\", which delivers all jobs of the topic in one line, "
         "one at a time"},
        {"{\"headers\":{\"X-A\":\"1\",\"X-B\":\"2\"}}", "{\"headers\":{\"x-a\":null,\"X-C\":\"3\"}}",
         "{\"headers\":{\"X-B\":\"2\",\"X-C\":\"3\"}}"},
        {"{\"retrySchedule\":[1]}", "{\"retrySchedule\":[1.50,2]}", "{\"retrySchedule\":[1.5,2]}"},
        {"{\"height\":1.10,\"timeout\":1}", "{\"timeout\":null}", "{\"height\":1.10}"},
        {"{\"timeout\":1}", "[\"c\"]", ": must be an object"},
        {"", "{", ": ends too early, at byte 1"},
        {"", "{\"rate\":{\"per\":1}}", "rate.jobs: is required"},
        {"{\"rate\":{\"jobs\":3,\"per\":1}}",
         "{\"timeout\":0,\"pausd\":null,\"rate\":{\"x\":1,\"jobs\":null}}",
         "pausd: unknown setting; did you mean paused?; rate.x: unknown setting; timeout: must be 0.1 to "
         "3600 seconds"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        ck_assert_str_eq(patched(cases[i][0], slice_of(cases[i][1])), cases[i][2]);
    static char large[TOPIC_PATCH_BYTES_MAX + 1];
    memset(large, ' ', sizeof large);
    memcpy(large, "{}", 2);
    ck_assert_str_eq(patched("", slice_from(large, sizeof large - 1)), "");
    ck_assert_str_eq(patched("", slice_from(large, sizeof large)), ": must be at most 65536 bytes");
}
END_TEST

/* ---- settings that another version of duepost wrote ---- */

static void check_carries(const char *text, const char *written)
{
    struct buffer out;
    buffer_init(&out, 4096);
    ck_assert_msg(topic_settings_read(slice_of(text), &settings) == STATUS_OK, "%s", text);
    topic_settings_write(&settings, &out);
    ck_assert_str_eq(buffer_text(&out), written);
    buffer_fini(&out);
    topic_settings_fini(&settings);
}

START_TEST(carries_settings_that_it_does_not_know)
{
    check_carries("", "");
    check_carries("{}", "");
    check_carries("{\"height\":3}", "{\"height\":3}");
    check_carries("{\"a\":[1.10],\"paused\":true,\"b\":123456789012345678901234567890,\"c\":{}}",
                  "{\"paused\":true,\"a\":[1.10],\"b\":123456789012345678901234567890,\"c\":{}}");
    check_carries("{\"rate\":{\"jobs\":3,\"by\":\"key\",\"per\":1}}",
                  "{\"rate\":{\"jobs\":3,\"per\":1,\"burst\":1,\"by\":\"key\"}}");
    check_carries("{\"needs\":[\"lanes\"],\"lane\":\"a\"}", "{\"needs\":[\"lanes\"],\"lane\":\"a\"}");
    check_carries("{\"order\":\"fifo\",\"needs\":[\"fifo\"]}", "{\"order\":\"fifo\",\"needs\":[\"fifo\"]}");
    check_carries("{\"needs\":[]}", "");
    /* a fifo topic that gets perKey from a pattern */
    check_carries("[{\"order\":\"fifo\"},{\"perKey\":{\"maxInFlight\":1},\"retryPriority\":9}]",
                  "{\"order\":\"fifo\",\"perKey\":{\"maxInFlight\":1},\"retryPriority\":9,\"needs\":["
                  "\"fifo\",\"keys\"]}");
    check_carries("[{\"perKey\":{\"weight\":2}},{\"perKey\":{\"maxInFlight\":1}}]",
                  "{\"perKey\":{\"weight\":2},\"needs\":[\"keys\"]}");
    ck_assert_int_eq(topic_settings_read(SLICE("{\"needs\":[\"lanes\"]}"), &settings), STATUS_OK);
    ck_assert(slice_equal(settings.lacks, SLICE("lanes")));
    topic_settings_fini(&settings);
    ck_assert_int_eq(topic_settings_read(SLICE("{\"paused\":\"soon\",\"needs\":[\"lanes\"]}"), &settings),
                     STATUS_OK);
    ck_assert(slice_equal(settings.lacks, SLICE("lanes")));
    topic_settings_fini(&settings);
    ck_assert_int_eq(topic_settings_read(SLICE("{\"needs\":\"lanes\"}"), &settings), STATUS_INVALID);
    ck_assert_int_eq(topic_settings_read(SLICE("{\"paused\":1}"), &settings), STATUS_INVALID);
}
END_TEST

/* ---- a key ---- */

static const char *key_patched(const char *old_text, const char *patch)
{
    static struct topic_settings old;
    static char text[1000];
    struct buffer merged, out = {.data = text, .capacity = sizeof text, .max = sizeof text - 1};
    buffer_init(&merged, TOPIC_PATCH_BYTES_MAX);
    ck_assert_int_eq(key_settings_read(slice_of(old_text), &old), STATUS_OK);
    if (key_settings_patch(&old, slice_of(patch), &merged, &settings, &errors) == STATUS_OK) {
        key_settings_write(&settings, &out);
        topic_settings_fini(&settings);
    } else {
        buffer_printf(&out, "%s: %s", error_at(&errors, 0).field, error_at(&errors, 0).detail);
    }
    topic_settings_fini(&old);
    buffer_fini(&merged);
    return buffer_text(&out);
}

START_TEST(a_key_has_bounds_and_a_pause_of_its_own)
{
    static const char *const cases[][3] = {
        {"", "{}", ""},
        {"{\"weight\":2}", "{\"weight\":null}", ""},
        {"",
         "{\"paused\":true,\"pauseReason\":\"unpaid\",\"rate\":{\"jobs\":1,\"per\":1},\"weight\":3,"
         "\"maxPending\":1}",
         "{\"paused\":true,\"pauseReason\":\"unpaid\",\"rate\":{\"jobs\":1,\"per\":1,\"burst\":1},"
         "\"maxPending\":1,\"weight\":3}"},
        {"{\"paused\":true,\"pauseReason\":\"unpaid\",\"maxInFlight\":1,\"height\":3}",
         "{\"paused\":null,\"maxInFlight\":2}", "{\"maxInFlight\":2,\"height\":3}"},
        {"", "{\"order\":\"fifo\"}", "order: unknown setting"},
        {"", "{\"rate\":{\"jobs\":0,\"per\":1}}", "rate.jobs: must be an integer from 1 to 1000000"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        ck_assert_str_eq(key_patched(cases[i][0], cases[i][1]), cases[i][2]);
    ck_assert_int_eq(key_settings_parse(SLICE("{\"limit\":\"a\"}"), &settings, &errors), STATUS_INVALID);
    ck_assert_int_eq(key_settings_read(SLICE("[]"), &settings), STATUS_INVALID);
}
END_TEST

START_TEST(takes_no_unknown_settings_from_a_client)
{
    static const char *const cases[] = {"{\"height\":3}", "{\"needs\":[]}",
                                        "{\"rate\":{\"jobs\":1,\"per\":1,\"by\":\"key\"}}"};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        ck_assert_int_eq(topic_settings_parse(slice_of(cases[i]), &settings, &errors), STATUS_INVALID);
}
END_TEST

START_TEST(a_change_carries_them_on)
{
    static const char old[] =
        "{\"height\":1.10,\"timeout\":1,\"rate\":{\"jobs\":3,\"per\":1,\"by\":\"key\"}}";
    struct buffer out;
    buffer_init(&out, 4096);
    ck_assert_str_eq(patched(old, SLICE("{\"rate\":{\"jobs\":4,\"per\":1},\"timeout\":null}")),
                     "{\"rate\":{\"jobs\":4,\"per\":1,\"burst\":1,\"by\":\"key\"},\"height\":1.10}");
    ck_assert_str_eq(patched(old, SLICE("{\"rate\":null}")), "{\"timeout\":1,\"height\":1.10}");
    ck_assert_int_eq(topic_settings_read(slice_of(old), &settings), STATUS_OK);
    topic_settings_show(&settings, &out);
    ck_assert_str_eq(buffer_text(&out), "{\"rate\":{\"jobs\":3,\"per\":1,\"burst\":1},\"timeout\":1}");
    topic_settings_fini(&settings);
    buffer_fini(&out);
}
END_TEST

START_TEST(jitter_only_adds)
{
    settings = (struct topic_settings){.jitter_ppm = 250000};
    ck_assert_int_eq(topic_settings_wait_ms(&settings, 1000, 0), 1000);
    ck_assert_int_eq(topic_settings_wait_ms(&settings, 1000, UINT32_MAX), 1250);
    ck_assert_int_eq(topic_settings_wait_ms(&settings, JOB_WAIT_MAX_MS, UINT32_MAX), JOB_WAIT_MAX_MS / 4 * 5);
    settings.jitter_ppm = 0;
    ck_assert_int_eq(topic_settings_wait_ms(&settings, 1000, UINT32_MAX), 1000);
}
END_TEST

START_TEST(keeps_what_only_the_server_writes)
{
#define SERVERS_OWN                                                                                          \
    "{\"paused\":true,\"rate\":{\"jobs\":1,\"per\":2,\"burst\":1,\"since\":5},\"note\":{\"a\":[1]}}"
    struct buffer text;
    buffer_init(&text, 1000);
    ck_assert_int_eq(topic_settings_parse(SLICE(SERVERS_OWN), &settings, &errors), STATUS_INVALID);
    ck_assert_int_eq(topic_settings_read(SLICE(SERVERS_OWN), &settings), STATUS_OK);
    ck_assert(slice_equal(settings.note, SLICE("{\"a\":[1]}")) && settings.rate_since_ms == 5);
    topic_settings_write(&settings, &text);
    ck_assert_str_eq(buffer_text(&text), SERVERS_OWN);
    buffer_clear(&text);
    topic_settings_show(&settings, &text);
    ck_assert_str_eq(buffer_text(&text), "{\"paused\":true,\"rate\":{\"jobs\":1,\"per\":2,\"burst\":1}}");
    topic_settings_fini(&settings);
    buffer_fini(&text);
}
END_TEST

Suite *suite(void)
{
    Suite *all = suite_create("topic_settings");
    TCase *tests = tcase_create("topic_settings");
    tcase_add_test(tests, writes_what_is_set);
    tcase_add_test(tests, shows_no_secrets);
    tcase_add_test(tests, keeps_the_keys_that_sign_and_shows_what_is_public_of_them);
    tcase_add_test(tests, a_job_gets_what_it_does_not_bring);
    tcase_add_test(tests, headers_of_a_topic_go_where_its_url_leads);
    tcase_add_test(tests, takes_null_for_what_is_not_there_and_durations_for_seconds);
    tcase_add_test(tests, names_what_is_wrong);
    tcase_add_test(tests, merges_a_patch);
    tcase_add_test(tests, a_key_has_bounds_and_a_pause_of_its_own);
    tcase_add_test(tests, carries_settings_that_it_does_not_know);
    tcase_add_test(tests, takes_no_unknown_settings_from_a_client);
    tcase_add_test(tests, a_change_carries_them_on);
    tcase_add_test(tests, keeps_what_only_the_server_writes);
    tcase_add_test(tests, jitter_only_adds);
    suite_add_tcase(all, tests);
    return all;
}
