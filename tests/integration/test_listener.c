#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server/server_private.h"
#include "support/suite.h"

enum { REACTORS = 4, CLIENTS = 200 };

static struct listener *open_listener(const char *host, uint16_t port, size_t count)
{
    struct listener *listener = NULL;
    struct problem problem = {""};
    ck_assert_msg(listener_open("http", host, port, count, false, &listener, &problem) == STATUS_OK, "%s",
                  problem.text);
    return listener;
}

static int connect_to(uint16_t port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(fd, (struct sockaddr *)&address, sizeof address) == 0)
        return fd;
    close(fd);
    return -1;
}

static bool has_ipv6(void)
{
    struct sockaddr_in6 address = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool has = fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof address) == 0;
    if (fd >= 0)
        close(fd);
    return has;
}

static uint16_t port_of(const struct listener *listener)
{
    return (uint16_t)strtoul(strrchr(listener_url(listener), ':') + 1, NULL, 10);
}

START_TEST(picks_a_port_and_shares_it_among_the_reactors)
{
    struct listener *listener = open_listener("127.0.0.1", 0, REACTORS);
    uint16_t port = port_of(listener);
    char url[64];
    int fds[REACTORS], clients[CLIENTS], accepted[REACTORS] = {0}, sum = 0;
    ck_assert_int_gt(port, 0);
    snprintf(url, sizeof url, "http://127.0.0.1:%u", port);
    ck_assert_str_eq(listener_url(listener), url);
    for (int i = 0; i < REACTORS; i++) {
        fds[i] = listener_take(listener, (size_t)i);
        ck_assert(listener_begin(fds[i]));
        ck_assert_int_ne(fcntl(fds[i], F_GETFL) & O_NONBLOCK, 0);
        ck_assert_int_ne(fcntl(fds[i], F_GETFD) & FD_CLOEXEC, 0);
    }
    for (int i = 0; i < CLIENTS; i++) {
        clients[i] = connect_to(port);
        ck_assert_int_ge(clients[i], 0);
    }
    for (int i = 0; i < REACTORS; i++) {
        for (int fd; (fd = accept(fds[i], NULL, NULL)) >= 0; accepted[i]++)
            close(fd);
        ck_assert_int_gt(accepted[i], 0);
        sum += accepted[i];
    }
    ck_assert_int_eq(sum, CLIENTS);
    for (int i = 0; i < CLIENTS; i++)
        close(clients[i]);
    for (int i = 0; i < REACTORS; i++)
        close(fds[i]);
    listener_free(listener);
}
END_TEST

START_TEST(a_port_in_use_is_an_error_also_when_a_duepost_uses_it)
{
    struct listener *listener = open_listener("127.0.0.1", 0, REACTORS), *second = NULL;
    struct problem problem;
    char expected[200];
    snprintf(expected, sizeof expected,
             "cannot listen on 127.0.0.1 port %u: another program already listens there; stop it or choose "
             "another port. To share the port with another duepost of the same user, set --share-port on",
             port_of(listener));
    ck_assert_int_eq(listener_open("http", "127.0.0.1", port_of(listener), 1, false, &second, &problem),
                     STATUS_FAILED);
    ck_assert_str_eq(problem.text, expected);
    ck_assert_ptr_null(second);
    listener_free(listener);
}
END_TEST

START_TEST(a_port_is_shared_by_who_wants_to_and_knows_of_it)
{
    struct listener *listener = open_listener("127.0.0.1", 0, REACTORS), *second = NULL;
    struct problem problem;
    ck_assert(!listener_has_partner(listener));
    ck_assert_int_eq(listener_open("http", "127.0.0.1", port_of(listener), REACTORS, true, &second, &problem),
                     STATUS_OK);
    ck_assert_int_eq(port_of(second), port_of(listener));
    ck_assert_msg(!listener_has_partner(listener), "the second one does not listen yet");
    int fd = listener_take(second, 0);
    ck_assert(listener_begin(fd));
    ck_assert(listener_has_partner(listener));
    ck_assert(listener_has_partner(second));
    listener_free(listener);
    ck_assert(!listener_has_partner(second));
    close(fd);
    listener_free(second);
}
END_TEST

START_TEST(a_port_is_free_again_at_once)
{
    struct listener *listener = open_listener("127.0.0.1", 0, 1);
    uint16_t port = port_of(listener);
    int server = listener_take(listener, 0), client = connect_to(port);
    /* Our side closes the connection first, so that it stays in TIME_WAIT on our port. */
    close(accept(server, NULL, NULL));
    close(client);
    close(server);
    listener_free(listener);
    listener = open_listener("127.0.0.1", port, REACTORS);
    ck_assert_int_eq(port_of(listener), port);
    listener_free(listener);
}
END_TEST

START_TEST(names_and_ipv6_literals_are_resolved)
{
    struct listener *listener = open_listener("localhost", 0, 1);
    char url[64];
    snprintf(url, sizeof url, "http://localhost:%u", port_of(listener));
    ck_assert_str_eq(listener_url(listener), url);
    ck_assert(listener_is_loopback(listener));
    listener_free(listener);
    if (!has_ipv6()) {
        printf("skipped: this host has no IPv6\n");
        return;
    }
    listener = open_listener("::1", 0, 2);
    snprintf(url, sizeof url, "http://[::1]:%u", port_of(listener));
    ck_assert_str_eq(listener_url(listener), url);
    ck_assert(listener_is_loopback(listener));
    listener_free(listener);
}
END_TEST

START_TEST(what_cannot_be_bound_is_told)
{
    struct listener *listener = NULL;
    struct problem problem;
    ck_assert_int_eq(listener_open("http", "192.0.2.1", 0, 1, false, &listener, &problem), STATUS_FAILED);
    ck_assert_str_eq(problem.text, "cannot listen on 192.0.2.1 port 0: this host does not have that address");
    ck_assert_int_eq(listener_open("http", "no such name", 0, 1, false, &listener, &problem), STATUS_FAILED);
    ck_assert_ptr_nonnull(strstr(problem.text, "cannot listen on no such name: "));
    ck_assert_ptr_null(listener);
}
END_TEST

START_TEST(no_job_may_lead_to_the_listener)
{
    struct address loopback, other;
    struct problem problem;
    ck_assert(address_parse(SLICE("127.0.0.1"), &loopback));
    ck_assert(address_parse(SLICE("127.0.0.2"), &other));
    struct target_policy *policy = target_policy_new();
    ck_assert_int_eq(target_policy_allow(policy, SLICE("127.0.0.0/8"), &problem), STATUS_OK);
    struct listener *listener = open_listener("127.0.0.1", 0, 1);
    uint16_t port = port_of(listener);
    listener_refuse(listener, policy);
    ck_assert(!target_policy_permits(policy, SLICE("127.0.0.1"), &loopback, port, false));
    ck_assert(target_policy_permits(policy, SLICE("127.0.0.1"), &loopback, (uint16_t)(port ^ 1), false));
    ck_assert(target_policy_permits(policy, SLICE("127.0.0.2"), &other, port, false));
    ck_assert(!target_policy_asks_local(policy, port));
    listener_free(listener);
    target_policy_free(policy);
}
END_TEST

START_TEST(no_job_may_lead_to_a_listener_on_the_wildcard_by_any_address)
{
    struct address other;
    struct problem problem;
    ck_assert(address_parse(SLICE("127.0.0.2"), &other));
    struct target_policy *policy = target_policy_new();
    ck_assert_int_eq(target_policy_allow(policy, SLICE("127.0.0.0/8"), &problem), STATUS_OK);
    struct listener *listener = open_listener("0.0.0.0", 0, 1);
    uint16_t port = port_of(listener);
    ck_assert(!listener_is_loopback(listener));
    listener_refuse(listener, policy);
    ck_assert(target_policy_asks_local(policy, port));
    ck_assert(!target_policy_permits(policy, SLICE("127.0.0.2"), &other, port, true));
    listener_free(listener);
    target_policy_free(policy);
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("listener");
    TCase *tests = tcase_create("all");
    tcase_add_test(tests, picks_a_port_and_shares_it_among_the_reactors);
    tcase_add_test(tests, a_port_in_use_is_an_error_also_when_a_duepost_uses_it);
    tcase_add_test(tests, a_port_is_shared_by_who_wants_to_and_knows_of_it);
    tcase_add_test(tests, a_port_is_shared_by_who_wants_to_and_knows_of_it);
    tcase_add_test(tests, a_port_is_free_again_at_once);
    tcase_add_test(tests, names_and_ipv6_literals_are_resolved);
    tcase_add_test(tests, what_cannot_be_bound_is_told);
    tcase_add_test(tests, no_job_may_lead_to_the_listener);
    tcase_add_test(tests, no_job_may_lead_to_a_listener_on_the_wildcard_by_any_address);
    suite_add_tcase(suite, tests);
    return suite;
}
