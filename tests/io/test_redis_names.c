/* Tests a link to a Redis whose name has several addresses. This file replaces getaddrinfo, which is also
 * called for literal addresses. */
#include "io/redis/redis.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <netdb.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "support/suite.h"
#include "support/wire.h"

#define NAME "redis.test"

static const char *const addresses[] = {"127.0.0.2", "127.0.0.3",
                                        "127.0.0.1"}; /* only the last address listens */
static struct addrinfo found[3];
static struct sockaddr_in sockets[3];

int getaddrinfo(const char *host, const char *service, const struct addrinfo *hints, struct addrinfo **result)
{
    if (strcmp(host, NAME) != 0) {
        int (*true_one)(const char *, const char *, const struct addrinfo *, struct addrinfo **);
        *(void **)&true_one = dlsym(RTLD_NEXT, "getaddrinfo");
        return true_one(host, service, hints, result);
    }
    for (size_t i = 0; i < 3; i++) {
        sockets[i].sin_family = AF_INET;
        inet_pton(AF_INET, addresses[i], &sockets[i].sin_addr);
        found[i] = (struct addrinfo){.ai_family = AF_INET,
                                     .ai_addr = (struct sockaddr *)&sockets[i],
                                     .ai_addrlen = sizeof sockets[i],
                                     .ai_next = i < 2 ? &found[i + 1] : NULL};
    }
    *result = found;
    return 0;
}

void freeaddrinfo(struct addrinfo *result)
{
    void (*true_one)(struct addrinfo *);
    *(void **)&true_one = dlsym(RTLD_NEXT, "freeaddrinfo");
    if (result != found)
        true_one(result);
}

struct seen {
    struct loop *loop;
    char tried[256];
};

static void on_peer(void *arg, const struct redis_node *node)
{
    struct seen *seen = arg;
    size_t used = strlen(seen->tried);
    snprintf(seen->tried + used, sizeof seen->tried - used, "%s ", node->host);
}

static void on_up(void *arg)
{
    struct seen *seen = arg;
    loop_stop(seen->loop);
}

static void on_down(void *arg, const char *why)
{
    (void)arg, (void)why;
}

static void on_late(void *arg)
{
    struct seen *seen = arg;
    ck_abort_msg("not up; tried: %s", seen->tried);
}

/* Answers PONG once, to any command. */
static void *serve(void *arg)
{
    int *listen_fd = arg;
    static struct wire_text text;
    int fd = wire_accept(*listen_fd);
    wire_read_for(fd, &text, "PING\r\n");
    wire_send(fd, SLICE("+PONG\r\n"));
    wire_read_to_end(fd, &text);
    close(fd);
    return NULL;
}

START_TEST(each_address_of_a_name_is_tried)
{
    uint16_t port;
    int listen_fd = wire_listen(&port);
    pthread_t thread;
    ck_assert_int_eq(pthread_create(&thread, NULL, serve, &listen_fd), 0);
    char url[64];
    snprintf(url, sizeof url, "redis://" NAME ":%u", port);
    struct redis_address address;
    struct problem problem;
    ck_assert_int_eq(redis_address_parse(slice_of(url), &address, &problem), STATUS_OK);
    struct seen seen = {.loop = loop_new()};
    struct timer *late = timer_new(seen.loop, on_late, &seen);
    timer_start(late, WIRE_DEADLINE_MS * INT64_C(1000));
    struct redis_link *link =
        redis_link_new(seen.loop, &address, WIRE_DEADLINE_MS * INT64_C(1000),
                       (struct redis_link_events){on_up, on_down, &seen, .on_peer = on_peer});
    loop_run(seen.loop);
    ck_assert_str_eq(seen.tried, "127.0.0.2 127.0.0.3 127.0.0.1 ");
    redis_link_free(link);
    pthread_join(thread, NULL);
    close(listen_fd);
    timer_free(late);
    redis_address_fini(&address);
    loop_free(seen.loop);
}
END_TEST

Suite *suite(void)
{
    Suite *s = suite_create("redis_names");
    TCase *tc = tcase_create("names");
    tcase_add_test(tc, each_address_of_a_name_is_tried);
    suite_add_tcase(s, tc);
    return s;
}
