#include "io/http/limits.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "support/suite.h"

static struct sockaddr_storage address(const char *text)
{
    struct sockaddr_storage storage = {0};
    struct sockaddr_in *in = (struct sockaddr_in *)&storage;
    struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&storage;
    if (inet_pton(AF_INET, text, &in->sin_addr) == 1)
        storage.ss_family = AF_INET;
    else if (inet_pton(AF_INET6, text, &in6->sin6_addr) == 1)
        storage.ss_family = AF_INET6;
    else
        ck_abort_msg("%s", text);
    return storage;
}

static enum http_room enter(struct http_limits *limits, const char *from, struct http_share *share)
{
    struct sockaddr_storage storage = address(from);
    return http_limits_enter(limits, (const struct sockaddr *)&storage, share);
}

START_TEST(shares_are_counted_in_and_out)
{
    struct http_limits *limits = http_limits_new(&(struct http_limits_options){.connections = 2});
    struct http_share shares[3];
    ck_assert_int_eq(enter(limits, "192.0.2.1", &shares[0]), HTTP_ROOM);
    ck_assert_int_eq(enter(limits, "192.0.2.1", &shares[1]), HTTP_ROOM);
    ck_assert_int_eq(enter(limits, "192.0.2.2", &shares[2]), HTTP_ROOM_NONE);
    http_limits_leave(
        limits, &shares[2]); /* shares[2] was refused and holds no connection, so leaving has no effect */
    ck_assert_int_eq(enter(limits, "192.0.2.2", &shares[2]), HTTP_ROOM_NONE);
    http_limits_leave(limits, &shares[0]);
    http_limits_leave(limits, &shares[0]);
    ck_assert_int_eq(enter(limits, "192.0.2.2", &shares[2]), HTTP_ROOM);
    ck_assert_int_eq(enter(limits, "192.0.2.2", &shares[0]), HTTP_ROOM_NONE);
    http_limits_free(limits);
}
END_TEST

/* Pairs of addresses, and whether the limits count them as one address. */
static const struct {
    const char *one, *other;
    bool is_same;
} pairs[] = {
    {"192.0.2.1", "192.0.2.1", true},
    {"192.0.2.1", "192.0.2.2", false},
    {"192.0.2.1", "::ffff:192.0.2.1", true},
    {"192.0.2.1", "::ffff:192.0.2.2", false},
    {"2001:db8:1:2::1", "2001:db8:1:2:ffff:ffff:ffff:ffff", true},
    {"2001:db8:1:2::1", "2001:db8:1:3::1", false},
    {"127.0.0.1", "127.0.0.1", true},
    {"::1", "::1", true},
    {"::1", "127.0.0.1", false},
};

START_TEST(addresses_are_told_apart)
{
    struct http_limits *limits =
        http_limits_new(&(struct http_limits_options){.connections = 9, .per_address = 1});
    struct http_share one, other;
    ck_assert_int_eq(enter(limits, pairs[_i].one, &one), HTTP_ROOM);
    ck_assert_int_eq(enter(limits, pairs[_i].other, &other),
                     pairs[_i].is_same ? HTTP_ROOM_NONE_FOR_ADDRESS : HTTP_ROOM);
    http_limits_leave(limits, &one);
    http_limits_leave(limits, &other);
    ck_assert_int_eq(enter(limits, pairs[_i].other, &other), HTTP_ROOM);
    http_limits_free(limits);
}
END_TEST

START_TEST(loopback_can_be_spared)
{
    static const char *const own[] = {"127.0.0.1", "127.1.2.3", "::1", "::ffff:127.0.0.1"};
    struct http_limits *limits = http_limits_new(
        &(struct http_limits_options){.connections = 99, .per_address = 1, .spares_loopback = true});
    struct http_share share;
    for (size_t i = 0; i < 2 * sizeof own / sizeof *own; i++)
        ck_assert_int_eq(enter(limits, own[i % 4], &share), HTTP_ROOM);
    ck_assert_int_eq(enter(limits, "128.0.0.1", &share), HTTP_ROOM);
    ck_assert_int_eq(enter(limits, "128.0.0.1", &share), HTTP_ROOM_NONE_FOR_ADDRESS);
    http_limits_free(limits);
}
END_TEST

START_TEST(bytes_are_counted_in_and_out)
{
    struct http_limits *limits = http_limits_new(&(struct http_limits_options){.body_bytes = 100});
    ck_assert(http_limits_take_bytes(limits, 60, false));
    ck_assert(!http_limits_take_bytes(limits, 41, false));
    ck_assert(http_limits_take_bytes(limits, 40, false));
    http_limits_give_bytes(limits, 60, false);
    ck_assert(!http_limits_take_bytes(limits, 61, false));
    ck_assert(http_limits_take_bytes(limits, 60, false));
    http_limits_free(limits);
}
END_TEST

START_TEST(guests_have_an_eighth_of_the_bytes)
{
    struct http_limits *limits = http_limits_new(&(struct http_limits_options){.body_bytes = 80});
    ck_assert(http_limits_take_bytes(limits, 10, true));
    ck_assert(!http_limits_take_bytes(limits, 1, true));
    ck_assert(http_limits_take_bytes(limits, 70, false));
    http_limits_give_bytes(limits, 10, true);
    ck_assert(http_limits_take_bytes(limits, 5, false));
    ck_assert(!http_limits_take_bytes(limits, 6, true)); /* there is no room for anyone */
    ck_assert(http_limits_take_bytes(limits, 5, true));
    http_limits_free(limits);
}
END_TEST

START_TEST(guests_have_a_rate)
{
    struct http_limits *limits = http_limits_new(&(struct http_limits_options){.body_bytes = 80});
    int64_t now_us = 5000000;
    for (int i = 0; i < HTTP_GUESTS_PER_SECOND; i++)
        ck_assert(http_limits_take_guest(limits, now_us));
    ck_assert(!http_limits_take_guest(limits, now_us));
    ck_assert(!http_limits_take_guest(limits, now_us + 999));
    ck_assert(http_limits_take_guest(limits, now_us + 1000));
    ck_assert(!http_limits_take_guest(limits, now_us + 1000));
    ck_assert(http_limits_take_guest(limits, now_us + 9000000));
    http_limits_free(limits);
}
END_TEST

/* Enters and leaves many times, from addresses of its own and from an address that all threads use. */
static void *come_and_go(void *arg)
{
    struct http_limits *limits = arg;
    for (int i = 0; i < 20000; i++) {
        char text[32];
        struct http_share own, shared;
        snprintf(text, sizeof text, "10.0.%d.%d", i % 64, i % 251);
        enum http_room of_own = enter(limits, text, &own), of_shared = enter(limits, "192.0.2.1", &shared);
        if (of_own == HTTP_ROOM)
            http_limits_leave(limits, &own);
        if (of_shared == HTTP_ROOM)
            http_limits_leave(limits, &shared);
    }
    return NULL;
}

START_TEST(threads_leave_nothing_behind)
{
    struct http_limits *limits =
        http_limits_new(&(struct http_limits_options){.connections = 5, .per_address = 2});
    struct http_share shares[6];
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, come_and_go, limits), 0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < 6; i++) {
        char text[32];
        snprintf(text, sizeof text, "10.0.0.%d", i / 2);
        ck_assert_int_eq(enter(limits, text, &shares[i]), i < 5 ? HTTP_ROOM : HTTP_ROOM_NONE);
    }
    http_limits_free(limits);
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("http_limits");
    TCase *tc = tcase_create("limits");
    tcase_add_test(tc, shares_are_counted_in_and_out);
    tcase_add_loop_test(tc, addresses_are_told_apart, 0, (int)(sizeof pairs / sizeof *pairs));
    tcase_add_test(tc, loopback_can_be_spared);
    tcase_add_test(tc, bytes_are_counted_in_and_out);
    tcase_add_test(tc, guests_have_an_eighth_of_the_bytes);
    tcase_add_test(tc, guests_have_a_rate);
    tcase_add_test(tc, threads_leave_nothing_behind);
    suite_add_tcase(s, tc);
    return s;
}
