#include "job/delivery/signature.h"
#include "support/suite.h"

/* The key is public: QStash's client publishes this test vector. */
#define KEY "sig_7kYjw48mhY7kAjqNGcy6cr29RJ6r"
#define CLAIMS                                                                                               \
    "{\"iss\":\"Upstash\",\"sub\":\"https://example.com/hook\",\"exp\":1700000300,\"nbf\":1700000000,"       \
    "\"iat\":1700000000,\"jti\":\"jwt_1\",\"body\":\"k6I5cakU5erL8KjSUVTNownDwccvu5kU1Hxg88toFYg\"}"
#define TOKEN                                                                                                \
    "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9."                                                                  \
    "eyJpc3MiOiJVcHN0YXNoIiwic3ViIjoiaHR0cHM6Ly9leGFtcGxlLmNvbS9ob29rIiwiZXhwIjoxNzAwMDAwMzAwLCJuYmYiOjE3"   \
    "MDAwMDAwMDAsImlhdCI6MTcwMDAwMDAwMCwianRpIjoiand0XzEiLCJib2R5IjoiazZJNWNha1U1ZXJMOEtqU1VWVE5vd25Ed2Nj"   \
    "dnU1a1UxSHhnODh0b0ZZZyJ9.ROW2m84lNQK2LUfZ_uOeRbsVDdIbufHafiG4ENrJX0Q"

START_TEST(signs_claims)
{
    struct buffer token;
    buffer_init(&token, 1024);
    jwt_append(&token, SLICE(KEY), SLICE(CLAIMS));
    ck_assert_str_eq(buffer_text(&token), TOKEN);
    buffer_fini(&token);
}
END_TEST

START_TEST(digests_a_body)
{
    struct buffer digest;
    buffer_init(&digest, 64);
    jwt_append_digest(&digest, SLICE("{\"hello\":\"world\"}"));
    ck_assert_str_eq(buffer_text(&digest), "k6I5cakU5erL8KjSUVTNownDwccvu5kU1Hxg88toFYg");
    buffer_clear(&digest);
    jwt_append_digest(&digest, SLICE(""));
    ck_assert_str_eq(buffer_text(&digest), "47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU");
    buffer_fini(&digest);
}
END_TEST

START_TEST(says_when_there_is_no_room)
{
    struct buffer token;
    buffer_init(&token, 100);
    jwt_append(&token, SLICE(KEY), SLICE(CLAIMS));
    ck_assert(token.failed);
    buffer_fini(&token);
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("jwt");
    TCase *tests = tcase_create("jwt");
    tcase_add_test(tests, signs_claims);
    tcase_add_test(tests, digests_a_body);
    tcase_add_test(tests, says_when_there_is_no_room);
    suite_add_tcase(suite, tests);
    return suite;
}
