/* The setting auth of a topic, and HTTP message signatures. */
#include "support/errors.h"
#include "support/suite.h"

#include "job/delivery/identity.h"
#include "job/topic/topic_settings.h"

#define OAUTH2                                                                                               \
    "\"type\":\"oauth2\",\"tokenUrl\":\"https://id.example/"                                                 \
    "token\",\"clientId\":\"a\",\"clientSecret\":\"b\""

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

static void check_refuses(const char *text, const char *field)
{
    ck_assert(topic_settings_parse(slice_of(text), &settings, &errors) == STATUS_INVALID);
    ck_assert_str_eq(error_at(&errors, 0).field, field);
}

START_TEST(the_origin_of_the_url_is_stored)
{
    check_writes(
        "{\"auth\":{" OAUTH2 "},\"url\":\"https://Shop.example:8443/x?y\"}",
        "{\"url\":\"https://Shop.example:8443/x?y\",\"auth\":{\"type\":\"oauth2\",\"origins\":["
        "\"https://Shop.example:8443\"],\"tokenUrl\":\"https://id.example/token\",\"clientId\":\"a\","
        "\"clientSecret\":\"b\"},\"needs\":[\"auth\"]}");
    check_writes(
        "{\"auth\":{\"type\":\"jwt\",\"audience\":\"\\u0041\"},\"url\":\"http://h\"}",
        "{\"url\":\"http://h\",\"auth\":{\"type\":\"jwt\",\"origins\":[\"http://h\"],\"audience\":\"A\"},"
        "\"needs\":[\"auth\"]}");
    check_refuses("{\"auth\":{" OAUTH2 "}}", "auth.origins");
}
END_TEST

static void check_patch(const char *old_text, const char *patch, const char *field)
{
    struct topic_settings old;
    struct buffer text;
    buffer_init(&text, TOPIC_SETTINGS_BYTES_MAX);
    ck_assert(topic_settings_read(slice_of(old_text), &old) == STATUS_OK);
    enum status status = topic_settings_patch(&old, slice_of(patch), &text, &settings, &errors);
    ck_assert_msg(status == (field ? STATUS_INVALID : STATUS_OK), "%s: %s %s", patch,
                  errors.count ? error_at(&errors, 0).field : "",
                  errors.count ? error_at(&errors, 0).detail : "");
    if (field)
        ck_assert_str_eq(error_at(&errors, 0).field, field);
    else
        topic_settings_fini(&settings);
    topic_settings_fini(&old);
    buffer_fini(&text);
}

START_TEST(a_secret_stays_at_its_place)
{
    static const char old[] = "{\"auth\":{" OAUTH2 ",\"origins\":[\"https://h\"]}}";
    check_patch(old, "{\"auth\":{\"scope\":\"s\"}}", NULL);
    check_patch(old, "{\"url\":\"https://other/\"}", NULL);
    check_patch(old, "{\"auth\":null}", NULL);
    check_patch(old, "{\"auth\":{\"tokenUrl\":\"https://other/\"}}", "auth.clientSecret");
    check_patch(old, "{\"auth\":{\"origins\":[\"https://other\"]}}", "auth.clientSecret");
    check_patch(old, "{\"auth\":{\"tokenUrl\":\"https://other/\",\"clientSecret\":\"b\"}}", NULL);
    check_patch(old, "{\"auth\":{\"tokenUrl\":\"https://other/\",\"client\\u0053ecret\":\"b\"}}", NULL);
    check_patch(old, "{\"\\u0061uth\":{\"tokenUrl\":\"https://other/\"}}", "auth.clientSecret");
    check_patch(old, "{\"auth\":{\"tokenUrl\":\"https://other/\",\"clientSecret\":null}}",
                "auth.clientSecret");
    check_patch(old, "{\"auth\":{\"clientSecret\":\"***\"}}", "auth.clientSecret");
}
END_TEST

static bool is_used(const char *text, const char *url_text)
{
    struct url url;
    const char *ignored;
    ck_assert(topic_settings_read(slice_of(text), &settings) == STATUS_OK);
    ck_assert(url_parse(slice_of(url_text), &url, &ignored) == STATUS_OK);
    bool is_used = topic_auth_is(&settings, SLICE("oauth2"), &url);
    ck_assert(!topic_auth_is(&settings, SLICE("jwt"), &url));
    topic_settings_fini(&settings);
    return is_used;
}

START_TEST(only_its_origins_get_it)
{
    static const char text[] = "{\"auth\":{" OAUTH2 ",\"origins\":[\"https://h\",\"http://i:81/\"]}}";
    ck_assert(is_used(text, "https://h/x") && is_used(text, "https://H:443/") &&
              is_used(text, "http://i:81/y?z"));
    ck_assert(!is_used(text, "http://h/") && !is_used(text, "https://h:444/") &&
              !is_used(text, "https://h.example/"));
    ck_assert(!is_used("{\"auth\":{" OAUTH2 "}}", "https://h/"));
}
END_TEST

START_TEST(a_layer_wins_as_a_whole)
{
    static const char layers[] = "[{\"url\":\"https://thief\"},{\"url\":\"https://h\",\"auth\":{" OAUTH2
                                 ",\"origins\":[\"https://h\"]}}]";
    ck_assert(!is_used(layers, "https://thief/") && is_used(layers, "https://h/"));
}
END_TEST

/* The profile of a webhook, with the shared key of RFC 9421, B.2.5; computed with another program. */
START_TEST(a_message_is_signed)
{
    struct signing_keys keys = {.count = 1};
    const char *ignored;
    char digest_room[CONTENT_DIGEST_MAX], input_room[MESSAGE_SIGNATURE_MAX],
        signature_room[MESSAGE_SIGNATURE_MAX];
    struct buffer digest = buffer_of(digest_room, sizeof digest_room);
    struct buffer input = buffer_of(input_room, sizeof input_room);
    struct buffer signature = buffer_of(signature_room, sizeof signature_room);
    ck_assert(
        signing_key_parse(SLICE("whsec_uzvJfB4u3N0Jy4T7NZ75MDVcr8zSTInedJtkgcu46YW4XByzNJjxBdtjUkdJPBtbmHhI"
                                "Di6pcl8jsasjlTMtDQ=="),
                          &keys.items[0], &ignored) == STATUS_OK);
    content_digest_write(SLICE("{\"hello\": \"world\"}"), &digest);
    ck_assert(
        slice_equal(buffer_slice(&digest), SLICE("sha-256=:X48E9qOokqqrvdts8nOJRJN3OWDUoyWxBf7kbu9DBPE=:")));
    const struct signed_message message = {.method = SLICE("POST"),
                                           .url = SLICE("https://example.com/hook?x=1"),
                                           .digest = buffer_slice(&digest),
                                           .webhook_id = SLICE("msg_1"),
                                           .seconds = 1700000000};
    signed_message_write(&keys, &message, &input, &signature);
    ck_assert(slice_starts_with(buffer_slice(&input),
                                SLICE("sig1=(\"@method\" \"@target-uri\" \"content-digest\" \"webhook-id\");"
                                      "created=1700000000;keyid=\"")));
    ck_assert(slice_starts_with(buffer_slice(&signature), SLICE("sig1=:")) && !signature.failed &&
              !input.failed);
}
END_TEST

/* A reload may remove the key while a request waits for something else. */
START_TEST(a_token_without_a_key_fails)
{
    static const char pem[] = "-----BEGIN PRIVATE KEY-----\n"
                              "MC4CAQAwBQYDK2VwBCIEIBpl8GXz6AkHYZ5PTqEN4b0fXIgvzLTMZQV9drnqyVoc\n"
                              "-----END PRIVATE KEY-----\n";
    const struct identity_claims claims = {SLICE("i"), SLICE("s"), SLICE("a"), SLICE("t"), 1700000000};
    struct identity_keys *keys;
    struct problem problem;
    struct buffer token;
    ck_assert(identity_keys_parse(slice_of(pem), &keys, &problem) == STATUS_OK);
    buffer_init(&token, IDENTITY_TOKEN_MAX);
    identity_token_write(keys, SLICE("EdDSA"), &claims, &token);
    ck_assert(!token.failed && token.size > 0);
    buffer_clear(&token);
    identity_token_write(keys, SLICE("ES256"), &claims, &token);
    ck_assert(token.failed);
    buffer_clear(&token);
    identity_token_write(NULL, SLICE(""), &claims, &token);
    ck_assert(token.failed);
    buffer_fini(&token);
    identity_keys_free(keys);
}
END_TEST

static void check_answer(const char *text, const char *token, int64_t seconds)
{
    struct access_answer answer;
    struct buffer room;
    buffer_init(&room, ACCESS_ANSWER_ROOM);
    const char *fault = access_answer_read(slice_of(text), &room, &answer);
    ck_assert_msg(!fault == (token != NULL), "%s: %s", text, fault ? fault : "no fault");
    if (token) {
        ck_assert(slice_equal(answer.token, slice_of(token)));
        ck_assert_int_eq(answer.seconds, seconds);
    }
    buffer_fini(&room);
}

START_TEST(an_answer_of_a_token_server_is_read)
{
    check_answer("{\"access_token\":\"a.b\",\"token_type\":\"BEARER\",\"expires_in\":60}", "a.b", 60);
    check_answer("{\"access_token\":\"\\u0061\"}", "a", 300);
    check_answer("{\"access_token\":\"a\",\"expires_in\":\"60\"}", "a", 60);
    check_answer("{\"access_token\":\"a\",\"expires_in\":59.9}", "a", 59);
    check_answer("{\"access_token\":\"a\",\"expires_in\":31536000}", "a", 86400);
    check_answer("{\"access_token\":\"a\",\"expires_in\":null}", "a", 300);
    check_answer("{\"access_token\":\"a\",\"expires_in\":0}", NULL, 0);
    check_answer("{\"access_token\":\"a\",\"expires_in\":-1}", NULL, 0);
    check_answer("{\"access_token\":\"a\",\"expires_in\":\"\"}", "a", 300);
    check_answer("{\"access_token\":\"a\",\"expires_in\":[]}", NULL, 0);
    check_answer("{\"access_token\":\"a\\r\\nX: y\"}", NULL, 0);
    check_answer("{\"access_token\":\"\"}", NULL, 0);
    check_answer("{\"access_token\":5}", NULL, 0);
    check_answer("{\"access_token\":\"a\",\"token_type\":\"mac\"}", NULL, 0);
    check_answer("{\"error\":\"invalid_client\"}", NULL, 0);
    check_answer("[]", NULL, 0);
    check_answer("", NULL, 0);
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("topic_auth");
    TCase *tests = tcase_create("topic_auth");
    tcase_add_test(tests, the_origin_of_the_url_is_stored);
    tcase_add_test(tests, a_secret_stays_at_its_place);
    tcase_add_test(tests, only_its_origins_get_it);
    tcase_add_test(tests, a_layer_wins_as_a_whole);
    tcase_add_test(tests, a_message_is_signed);
    tcase_add_test(tests, a_token_without_a_key_fails);
    tcase_add_test(tests, an_answer_of_a_token_server_is_read);
    suite_add_tcase(suite, tests);
    return suite;
}
