/* Tests the secret members of settings: what of them Redis has if the process has keys, and what a process
 * reads that has other keys, or finds the secrets at another place. */
#include "job/topic/topic_sealed.h"

#include <stdio.h>

#include "job/topic/topic_settings.h"
#include "support/suite.h"

#define HEX_1 "1111111111111111111111111111111111111111111111111111111111111111"
#define HEX_2 "2222222222222222222222222222222222222222222222222222222222222222"

#define OPEN   "{\"paused\":true,\"pauseReason\":\"why\",\"maxInFlight\":3,\"url\":\"http://h/in"
#define SECRET "\"headers\":{\"Authorization\":\"s3cret\"}"
#define CALLS                                                                                                \
    "\"onDelivered\":\"http://h/s3cret\",\"onDead\":{\"url\":\"http://h/s3cret\"},\"alerts\":[{\"on\":"      \
    "\"failing\",\"url\":\"http://h/s3cret\"}]"
#define ALL OPEN "?key=s3cret\"," SECRET "," CALLS ",\"needs\":[\"callbacks\"]}"

static struct topic_settings settings;
static struct buffer stored;

static void use_keys(const char *text)
{
    struct seal_keys *keys = NULL;
    struct problem problem;
    if (text)
        ck_assert_int_eq(seal_keys_parse(slice_of(text), &keys, &problem), STATUS_OK);
    seal_use(keys, false);
    seal_keys_free(keys);
}

static void begin(void)
{
    buffer_init(&stored, TOPIC_STORED_BYTES_MAX);
}

static void end(void)
{
    buffer_fini(&stored);
    use_keys(NULL);
}

static const char *seal(const char *name, const char *text)
{
    buffer_clear(&stored);
    topic_settings_seal(slice_of(name), slice_of(text), &stored);
    return buffer_text(&stored);
}

static void check_opens(const char *expected)
{
    struct buffer out, lacks;
    buffer_init(&out, TOPIC_STORED_BYTES_MAX);
    buffer_init(&lacks, 100);
    ck_assert_int_eq(topic_settings_open(SLICE(""), buffer_slice(&stored), &out, &lacks), SEAL_OPENED);
    ck_assert_str_eq(buffer_text(&out), expected);
    buffer_fini(&out);
    buffer_fini(&lacks);
}

/* The text in which a part is replaced by another one of any size. */
static struct slice replaced(const char *old, const char *new)
{
    static char text[4096];
    const char *from = buffer_text(&stored), *at = strstr(from, old);
    ck_assert_ptr_nonnull(at);
    snprintf(text, sizeof text, "%.*s%s%s", (int)(at - from), from, new, at + strlen(old));
    return slice_of(text);
}

START_TEST(without_keys_and_without_secrets_nothing_changes)
{
    ck_assert_str_eq(seal("orders", ALL), ALL);
    ck_assert_str_eq(seal("orders", ""), "");
    use_keys(HEX_1);
    ck_assert_str_eq(seal("orders", OPEN "\"}"), OPEN "\"}");
    ck_assert_str_eq(seal("orders", ""), "");
    ck_assert_str_eq(seal("orders", "nonsense"), "nonsense");
}
END_TEST

START_TEST(secrets_are_sealed_and_opened_again)
{
    use_keys(HEX_1);
    const char *text = seal("orders", ALL);
    ck_assert(!strstr(text, "s3cret"));
    ck_assert(!strstr(text, "Authorization"));
    ck_assert_msg(strstr(text, OPEN "\",\"onDelivered\":\"\",\"onDead\":\"\",\"alerts\":[],\"needs\":"
                                    "[\"callbacks\",\"sealed\"],\"of\":\"orders\",\"sealed\":\"") == text,
                  "%s", text);
    check_opens(OPEN "?key=s3cret\"," CALLS "," SECRET ",\"needs\":[\"callbacks\"]}");
    ck_assert_int_eq(topic_settings_read_for(SLICE("orders"), buffer_slice(&stored), &settings), STATUS_OK);
    ck_assert_int_eq(settings.lacks.size, 0);
    ck_assert(slice_equal(settings.url, SLICE("http://h/in?key=s3cret")));
    ck_assert_int_eq(settings.header_count, 1);
    ck_assert(slice_equal(settings.headers[0].value, SLICE("s3cret")));
    ck_assert(slice_equal(settings.on_delivered, SLICE("\"http://h/s3cret\"")));
    topic_settings_fini(&settings);
    /* A sealed text is not sealed once more. */
    struct buffer again;
    buffer_init(&again, TOPIC_STORED_BYTES_MAX);
    topic_settings_seal(SLICE("orders"), buffer_slice(&stored), &again);
    ck_assert(slice_equal(buffer_slice(&again), buffer_slice(&stored)));
    buffer_fini(&again);
}
END_TEST

START_TEST(settings_in_plain_text_stay_readable)
{
    use_keys(HEX_1);
    ck_assert_int_eq(topic_settings_read_for(SLICE("orders"), SLICE(ALL), &settings), STATUS_OK);
    ck_assert_int_eq(settings.header_count, 1);
    topic_settings_fini(&settings);
}
END_TEST

START_TEST(without_its_key_a_topic_is_not_served)
{
    static const char *const without[] = {NULL, HEX_2};
    for (size_t i = 0; i < 2; i++) {
        use_keys(HEX_1);
        seal("orders", ALL);
        use_keys(without[i]);
        ck_assert_int_eq(topic_settings_read(buffer_slice(&stored), &settings), STATUS_OK);
        ck_assert(slice_starts_with(settings.lacks, SLICE(JOB_LACKS_KEY)));
        ck_assert_int_eq(settings.lacks.size, strlen(JOB_LACKS_KEY) + SEAL_NAME_SIZE - 1);
        ck_assert_int_eq(settings.header_count, 0);
        topic_settings_fini(&settings);
        ck_assert_int_eq(topic_settings_service(buffer_slice(&stored)), TOPIC_LACKING);
    }
    use_keys(HEX_2 "\n" HEX_1);
    ck_assert_int_eq(topic_settings_service(buffer_slice(&stored)), TOPIC_PAUSED);
}
END_TEST

START_TEST(secrets_of_another_place_do_not_open)
{
    use_keys(HEX_1);
    seal("orders", ALL);
    ck_assert_int_eq(topic_settings_service(replaced("\"of\":\"orders\"", "\"of\":\"mine\"")),
                     TOPIC_UNREADABLE);
    ck_assert_int_eq(topic_settings_service(replaced("http://h/in", "http://evil/in")), TOPIC_UNREADABLE);
    ck_assert_int_eq(topic_settings_service(replaced("\"sealed\":\"A", "\"sealed\":\"B")), TOPIC_UNREADABLE);
    /* Readable members may be changed in Redis. */
    ck_assert_int_eq(topic_settings_service(replaced("\"maxInFlight\":3", "\"maxInFlight\":4")),
                     TOPIC_PAUSED);
    /* The whole text of another topic */
    ck_assert_int_eq(topic_settings_read_for(SLICE("mine"), buffer_slice(&stored), &settings),
                     STATUS_INVALID);
    ck_assert_int_eq(topic_settings_read_for(SLICE("orders~callbacks"), buffer_slice(&stored), &settings),
                     STATUS_OK);
    ck_assert_int_eq(settings.header_count, 1);
    topic_settings_fini(&settings);
    /* A later version, which seals in another way */
    struct slice later = replaced("[\"callbacks\",", "[\"wings\",");
    ck_assert_int_eq(topic_settings_service(later), TOPIC_LACKING);
    buffer_clear(&stored);
    buffer_append(&stored, later);
    ck_assert_int_eq(topic_settings_service(replaced("\"sealed\":\"A", "\"sealed\":\"B")), TOPIC_LACKING);
}
END_TEST

static void check_layers(const char *own, const char *common, const char *topic, enum status expected)
{
    char text[8192];
    size_t size = (size_t)snprintf(text, sizeof text, "[%s,", seal(topic, own));
    size += (size_t)snprintf(text + size, sizeof text - size, "%s]", seal("ord*", common));
    ck_assert_int_eq(topic_settings_read_for(SLICE("orders"), slice_from(text, size), &settings), expected);
    if (expected != STATUS_OK)
        return;
    ck_assert(slice_equal(settings.url, SLICE("http://h/in?a=b")));
    ck_assert_int_eq(settings.header_count, 1);
    ck_assert_int_eq(settings.secrets.count, 1);
    topic_settings_fini(&settings);
    use_keys(HEX_2);
    ck_assert_int_eq(topic_settings_read_for(SLICE("orders"), slice_from(text, size), &settings), STATUS_OK);
    ck_assert(slice_starts_with(settings.lacks, SLICE(JOB_LACKS_KEY)));
    topic_settings_fini(&settings);
    use_keys(HEX_1);
}

#define KEYS "\"secrets\":[\"whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIz\"]"

START_TEST(each_layer_is_opened)
{
    use_keys(HEX_1);
    check_layers("{\"url\":\"http://h/in?a=b\"}", "{" SECRET "," KEYS "}", "orders", STATUS_OK);
    check_layers("{\"url\":\"http://h/in?a=b\"," KEYS "}", "{\"timeout\":1," SECRET "}", "orders", STATUS_OK);
    check_layers("{" KEYS "}", "{\"url\":\"http://h/in?a=b\"," SECRET "}", "orders", STATUS_OK);
    check_layers("{" KEYS "}", "{}", "another", STATUS_INVALID);
}
END_TEST

START_TEST(settings_of_patterns_are_opened_before_they_are_inherited)
{
    static struct pattern_set set;
    struct topic_settings own;
    struct buffer text;
    use_keys(HEX_1);
    seal("*", "{\"paused\":true," SECRET "}");
    ck_assert(pattern_set_add(&set, SLICE("*"), buffer_slice(&stored)));
    ck_assert_int_eq(pattern_set_change(&set, SLICE("a*"), SLICE("{\"timeout\":1,\"url\":\"http://h/?k\"}")),
                     PATTERN_SET_DONE);
    struct slice all = pattern_set_text(&set, SLICE("*")), its = pattern_set_text(&set, SLICE("a*"));
    ck_assert(topic_settings_are_sealed(all) && topic_settings_are_sealed(its));
    ck_assert(!memmem(its.data, its.size, "s3cret", 6));
    ck_assert_ptr_nonnull(memmem(its.data, its.size, "\"of\":\"a*\"", 9));
    ck_assert_int_eq(topic_settings_read(its, &own), STATUS_OK);
    ck_assert_int_eq(own.header_count, 1);
    ck_assert(own.is_paused);
    topic_settings_fini(&own);
    buffer_init(&text, 4096);
    ck_assert(topic_layers_own(its, &text));
    ck_assert_str_eq(buffer_text(&text), "{\"timeout\":1,\"url\":\"http://h/?k\"}");
    buffer_clear(&text);
    topic_layers_show_from(&(struct topic_layers){its, SLICE(""), SLICE("a*")}, &topic_settings_members,
                           &text);
    ck_assert_ptr_nonnull(strstr(buffer_text(&text), "\"headers\":\"*\""));
    ck_assert_ptr_nonnull(strstr(buffer_text(&text), "\"url\":\"a*\""));
    /* Without the key, no pattern takes what it cannot read, and the texts of the others stay. */
    struct pattern_set other = {0};
    use_keys(HEX_2);
    ck_assert(!topic_layers_own(its, &text));
    ck_assert(pattern_set_add(&other, SLICE("a*"), its));
    ck_assert_int_eq(pattern_set_change(&other, SLICE("b*"), SLICE("{" SECRET "}")), PATTERN_SET_DONE);
    ck_assert(slice_equal(pattern_set_text(&other, SLICE("a*")), its));
    ck_assert(topic_settings_are_sealed(pattern_set_text(&other, SLICE("b*"))));
    ck_assert_int_eq(pattern_set_change(&other, SLICE("ab*"), SLICE("{}")), PATTERN_SET_LACKING);
    ck_assert_int_eq(pattern_set_change(&other, SLICE("*"), SLICE("{}")), PATTERN_SET_LACKING);
    pattern_set_fini(&other);
    pattern_set_fini(&set);
    buffer_fini(&text);
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("topic_sealed");
    TCase *tests = tcase_create("topic_sealed");
    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_test(tests, without_keys_and_without_secrets_nothing_changes);
    tcase_add_test(tests, secrets_are_sealed_and_opened_again);
    tcase_add_test(tests, settings_in_plain_text_stay_readable);
    tcase_add_test(tests, without_its_key_a_topic_is_not_served);
    tcase_add_test(tests, secrets_of_another_place_do_not_open);
    tcase_add_test(tests, each_layer_is_opened);
    tcase_add_test(tests, settings_of_patterns_are_opened_before_they_are_inherited);
    suite_add_tcase(suite, tests);
    return suite;
}
