/* The embedded Redis against the real redis-server. Each test has its own directory, and ends the processes
 * that it has started, by pid. */
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/system.h"
#include "server/redis/redis_private.h"
#include "support/suite.h"

#ifdef DUEPOST_SANITIZED
enum { WAIT_S = 100 };
#else
enum { WAIT_S = 20 };
#endif

static char base[] = "/tmp/duepost-test-XXXXXX";
static char root[sizeof base + 8];
static char data[4096];
static struct loop *loop;
static struct timer *limit;

/* The arguments with which the callback was called. */
struct outcome {
    int calls;
    enum status status;
    char why[600];
};

static void on_limit(void *arg)
{
    (void)arg;
    ck_abort_msg("nothing came in time");
}

static void on_done(void *arg, enum status status, const char *why)
{
    struct outcome *outcome = arg;
    outcome->calls++;
    outcome->status = status;
    snprintf(outcome->why, sizeof outcome->why, "%s", why);
    loop_stop(loop);
}

static void run(void)
{
    timer_start(limit, WAIT_S * INT64_C(1000000));
    loop_run(loop);
    timer_stop(limit);
}

static void set_up(void)
{
    snprintf(root, sizeof root, "%s/XXXXXX", base);
    ck_assert_ptr_nonnull(mkdtemp(root));
    snprintf(data, sizeof data, "%s/data", root);
    loop = loop_new();
    limit = timer_new(loop, on_limit, NULL);
}

static void tear_down(void)
{
    timer_free(limit);
    loop_free(loop);
}

static void make_base(void)
{
    ck_assert_ptr_nonnull(mkdtemp(base));
}

static bool is_redis(int pid)
{
    char path[64], name[32] = "";
    snprintf(path, sizeof path, "/proc/%d/comm", pid);
    FILE *file = fopen(path, "r");
    bool found = file && fgets(name, sizeof name, file) && strcmp(name, "redis-server\n") == 0;
    if (file)
        fclose(file);
    return found;
}

/* Kills the redis-server that a failed test may have left; its pid is in redis.lock. */
static int remove_one(const char *path, const struct stat *stat_of, int type, struct FTW *at)
{
    (void)stat_of, (void)type;
    char text[16] = "";
    FILE *file = strcmp(path + at->base, "redis.lock") == 0 ? fopen(path, "r") : NULL;
    if (file && fgets(text, sizeof text, file) && is_redis(atoi(text)))
        kill(atoi(text), SIGKILL);
    if (file)
        fclose(file);
    remove(path);
    return 0;
}

/* Removes all directories. Called in the parent process, so that the directories are removed even if a test
 * has crashed. */
static void remove_base(void)
{
    nftw(base, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    nftw(base, remove_one, 16,
         FTW_DEPTH | FTW_PHYS); /* removes files that a dying Redis has created during the first walk */
}

static struct embedded_redis *open_redis(void)
{
    struct embedded_redis *redis = NULL;
    struct problem problem = {""};
    ck_assert_msg(embedded_redis_new(loop, data, NULL, &redis, &problem) == STATUS_OK, "%s", problem.text);
    return redis;
}

static struct embedded_redis *start_redis(void)
{
    struct embedded_redis *redis = open_redis();
    struct outcome outcome = {0};
    embedded_redis_start(redis, on_done, &outcome);
    ck_assert_int_eq(outcome.calls, 0);
    run();
    ck_assert_msg(outcome.status == STATUS_OK, "%s", outcome.why);
    ck_assert_str_eq(outcome.why, "");
    return redis;
}

static void stop_redis(struct embedded_redis *redis)
{
    struct outcome outcome = {0};
    embedded_redis_stop(redis, on_done, &outcome);
    ck_assert_int_eq(outcome.calls, 0);
    run();
    ck_assert_msg(outcome.status == STATUS_OK, "%s", outcome.why);
    ck_assert_int_eq(embedded_redis_pid(redis), 0);
    embedded_redis_free(redis);
}

/* Sends an inline command over the socket. Returns its answer, or "" if no answer comes. */
static const char *ask(const char *socket_path, const char *command)
{
    static char answer[512];
    struct timeval patience = {.tv_sec = WAIT_S};
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    snprintf(address.sun_path, sizeof address.sun_path, "%s", socket_path);
    ssize_t size = 0;
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    if (connect(fd, (struct sockaddr *)&address, sizeof address) == 0 &&
        send(fd, command, strlen(command), MSG_NOSIGNAL) > 0)
        size = recv(fd, answer, sizeof answer - 1, 0);
    close(fd);
    answer[size > 0 ? size : 0] = '\0';
    return answer;
}

/* Context of await: the function look is called again and again, and stops the loop when its condition is
 * true. */
struct renewal {
    struct embedded_redis *redis;
    struct timer *timer;
    pid_t old;
};

static void on_look(void *arg)
{
    struct renewal *renewal = arg;
    pid_t pid = embedded_redis_pid(renewal->redis);
    if (pid && pid != renewal->old &&
        strcmp(ask(embedded_redis_path(renewal->redis), "PING\r\n"), "+PONG\r\n") == 0)
        loop_stop(loop);
    else
        timer_start(renewal->timer, 10000);
}

static void on_look_for_none(void *arg)
{
    struct renewal *renewal = arg;
    if (embedded_redis_pid(renewal->redis) == 0)
        loop_stop(loop);
    else
        timer_start(renewal->timer, 1000);
}

static void await(struct embedded_redis *redis, pid_t old, loop_fn *look)
{
    struct renewal renewal = {.redis = redis, .old = old};
    renewal.timer = timer_new(loop, look, &renewal);
    timer_start(renewal.timer, 0);
    run();
    timer_free(renewal.timer);
}

static void await_another(struct embedded_redis *redis, pid_t old)
{
    await(redis, old, on_look);
}

START_TEST(starts_private_and_durable_and_stops_cleanly)
{
    struct stat stat_of;
    char path[5000];
    struct embedded_redis *redis = start_redis();
    pid_t pid = embedded_redis_pid(redis);
    ck_assert_int_gt(pid, 0);
    ck_assert_int_eq(getsid(pid), pid);
    ck_assert_int_eq(stat(data, &stat_of), 0);
    ck_assert_int_eq(stat_of.st_mode & 07777, 0700);
    const char *at = embedded_redis_path(redis);
    ck_assert_str_eq(ask(at, "CONFIG GET appendonly\r\n"), "*2\r\n$10\r\nappendonly\r\n$3\r\nyes\r\n");
    ck_assert_str_eq(ask(at, "CONFIG GET appendfsync\r\n"), "*2\r\n$11\r\nappendfsync\r\n$6\r\nalways\r\n");
    ck_assert_str_eq(ask(at, "CONFIG GET maxmemory-policy\r\n"),
                     "*2\r\n$16\r\nmaxmemory-policy\r\n$10\r\nnoeviction\r\n");
    ck_assert_str_eq(ask(at, "CONFIG GET save\r\n"), "*2\r\n$4\r\nsave\r\n$0\r\n\r\n");
    ck_assert_str_eq(ask(at, "CONFIG GET port\r\n"), "*2\r\n$4\r\nport\r\n$1\r\n0\r\n");
    ck_assert_str_eq(ask(at, "CONFIG GET hz\r\n"), "*2\r\n$2\r\nhz\r\n$1\r\n1\r\n");
    stop_redis(redis);
    ck_assert_int_eq(kill(pid, 0), -1);
    snprintf(path, sizeof path, "%s/redis.sock", data);
    ck_assert_int_eq(access(path, F_OK), -1);
}
END_TEST

START_TEST(data_survive_a_stop)
{
    struct embedded_redis *redis = start_redis();
    ck_assert_str_eq(ask(embedded_redis_path(redis), "SET kept yes\r\n"), "+OK\r\n");
    stop_redis(redis);
    redis = start_redis();
    ck_assert_str_eq(ask(embedded_redis_path(redis), "GET kept\r\n"), "$3\r\nyes\r\n");
    stop_redis(redis);
}
END_TEST

START_TEST(is_started_again_with_its_data_whenever_it_is_killed)
{
    struct embedded_redis *redis = start_redis();
    ck_assert_str_eq(ask(embedded_redis_path(redis), "SET kept yes\r\n"), "+OK\r\n");
    for (int i = 0; i < 3; i++) {
        pid_t pid = embedded_redis_pid(redis);
        int64_t killed_us = clock_boot_us();
        ck_assert_int_eq(kill(pid, SIGKILL), 0);
        await_another(redis, pid);
        ck_assert_int_ge(clock_boot_us() - killed_us, 100000 << i);
        ck_assert_str_eq(ask(embedded_redis_path(redis), "GET kept\r\n"), "$3\r\nyes\r\n");
    }
    stop_redis(redis);
}
END_TEST

START_TEST(can_be_stopped_when_it_has_just_died)
{
    struct embedded_redis *redis = start_redis();
    kill(embedded_redis_pid(redis), SIGKILL); /* the loop has not noticed the death yet */
    stop_redis(redis);
}
END_TEST

START_TEST(can_be_stopped_while_it_waits_to_start_again)
{
    struct embedded_redis *redis = start_redis();
    kill(embedded_redis_pid(redis), SIGKILL);
    await(redis, 0, on_look_for_none);
    stop_redis(redis);
}
END_TEST

START_TEST(can_be_stopped_before_it_answers)
{
    struct embedded_redis *redis = open_redis();
    struct outcome started = {0};
    embedded_redis_start(redis, on_done, &started);
    stop_redis(redis);
    ck_assert_int_eq(started.calls, 0);
}
END_TEST

START_TEST(a_second_duepost_on_the_directory_is_told_the_pid_of_the_first)
{
    struct embedded_redis *redis = open_redis(), *second = NULL;
    struct problem problem;
    char expected[5000];
    ck_assert_int_eq(embedded_redis_new(loop, data, NULL, &second, &problem), STATUS_FAILED);
    snprintf(expected, sizeof expected, "the duepost with pid %d already uses %s", getpid(), data);
    ck_assert_str_eq(problem.text, expected);
    embedded_redis_free(redis);
    embedded_redis_free(open_redis());
}
END_TEST

/* Runs a process that starts the Redis, and kills this process when Redis answers. Returns the pid of the
 * Redis that is left over. */
static pid_t crash_an_owner(void)
{
    int ends[2];
    pid_t left_over = 0;
    ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
    pid_t owner = fork();
    if (owner == 0) {
        loop = loop_new();
        limit = timer_new(loop, on_limit, NULL);
        struct embedded_redis *redis = start_redis();
        pid_t pid = embedded_redis_pid(redis);
        _exit(strcmp(ask(embedded_redis_path(redis), "SET kept yes\r\n"), "+OK\r\n") == 0 &&
                      write(ends[1], &pid, sizeof pid) == sizeof pid
                  ? 0
                  : 1);
    }
    close(ends[1]);
    ck_assert_int_eq(read(ends[0], &left_over, sizeof left_over), sizeof left_over);
    close(ends[0]);
    int status;
    ck_assert_int_eq(waitpid(owner, &status, 0), owner);
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    return left_over;
}

START_TEST(the_redis_of_a_crashed_duepost_is_taken_over_and_can_be_stopped)
{
    pid_t left_over = crash_an_owner();
    ck_assert_int_eq(kill(left_over, 0), 0);
    struct embedded_redis *redis = start_redis();
    ck_assert_int_eq(embedded_redis_pid(redis), left_over);
    ck_assert_str_eq(ask(embedded_redis_path(redis), "GET kept\r\n"), "$3\r\nyes\r\n");
    stop_redis(redis);
}
END_TEST

START_TEST(a_redis_that_was_taken_over_is_started_again_when_it_is_killed)
{
    pid_t left_over = crash_an_owner();
    struct embedded_redis *redis = start_redis();
    ck_assert_int_eq(embedded_redis_pid(redis), left_over);
    ck_assert_int_eq(kill(left_over, SIGKILL), 0);
    await_another(redis, left_over);
    ck_assert_str_eq(ask(embedded_redis_path(redis), "GET kept\r\n"), "$3\r\nyes\r\n");
    stop_redis(redis);
}
END_TEST

START_TEST(what_a_dead_redis_left_lying_about_does_not_matter)
{
    pid_t left_over = crash_an_owner();
    int pidfd = pidfd_of(left_over);
    kill(left_over, SIGKILL);
    struct embedded_redis *redis = start_redis();
    ck_assert_int_ne(embedded_redis_pid(redis), left_over);
    ck_assert_str_eq(ask(embedded_redis_path(redis), "GET kept\r\n"), "$3\r\nyes\r\n");
    close(pidfd);
    stop_redis(redis);
}
END_TEST

START_TEST(a_redis_that_a_crash_left_without_its_socket_is_waited_for)
{
    char path[5000];
    pid_t left_over = crash_an_owner();
    snprintf(path, sizeof path, "%s/redis.sock", data);
    ck_assert_int_eq(unlink(path), 0);
    struct embedded_redis *redis = open_redis();
    struct outcome outcome = {0};
    embedded_redis_start(redis, on_done, &outcome);
    /* There are never two Redis processes: a new one starts only when the old one has ended. */
    kill(left_over, SIGTERM);
    run();
    ck_assert_msg(outcome.status == STATUS_OK, "%s", outcome.why);
    ck_assert_int_ne(embedded_redis_pid(redis), left_over);
    ck_assert_str_eq(ask(embedded_redis_path(redis), "GET kept\r\n"), "$3\r\nyes\r\n");
    stop_redis(redis);
}
END_TEST

START_TEST(a_long_directory_name_is_reached_all_the_same)
{
    size_t size = strlen(data);
    memset(data + size, 'd', 150);
    data[size + 150] = '\0';
    struct embedded_redis *redis = start_redis();
    ck_assert_str_eq(ask(embedded_redis_path(redis), "PING\r\n"), "+PONG\r\n");
    stop_redis(redis);
}
END_TEST

START_TEST(missing_parents_are_made_private)
{
    struct stat stat_of;
    char parent[100];
    snprintf(parent, sizeof parent, "%s/a/b", root);
    snprintf(data, sizeof data, "%s/c/", parent);
    embedded_redis_free(open_redis());
    ck_assert_int_eq(stat(parent, &stat_of), 0);
    ck_assert_int_eq(stat_of.st_mode & 07777, 0700);
}
END_TEST

static void refused(const char *expected)
{
    struct embedded_redis *redis = NULL;
    struct problem problem = {""};
    ck_assert_int_eq(embedded_redis_new(loop, data, NULL, &redis, &problem), STATUS_FAILED);
    ck_assert_msg(strstr(problem.text, expected) != NULL, "%s", problem.text);
    ck_assert_ptr_null(redis);
}

START_TEST(a_readable_directory_is_tightened_only_when_it_is_empty_or_ours)
{
    struct stat stat_of;
    char path[5000];
    mkdir(data, 0755);
    chmod(data, 0755);
    embedded_redis_free(open_redis());
    ck_assert_int_eq(stat(data, &stat_of), 0);
    ck_assert_int_eq(stat_of.st_mode & 07777, 0700);
    chmod(data, 0750);
    embedded_redis_free(open_redis());
    ck_assert_int_eq(stat(data, &stat_of), 0);
    ck_assert_int_eq(stat_of.st_mode & 07777, 0700);

    snprintf(data, sizeof data, "%s/other", root);
    snprintf(path, sizeof path, "%s/file", data);
    mkdir(data, 0755);
    chmod(data, 0755);
    close(open(path, O_WRONLY | O_CREAT, 0600));
    refused("is readable by other users and has other files");
    ck_assert_int_eq(stat(data, &stat_of), 0);
    ck_assert_int_eq(stat_of.st_mode & 07777, 0755);
}
END_TEST

START_TEST(bad_directories_are_refused)
{
    strcpy(data, "/proc/duepost");
    refused("cannot create the directory /proc/duepost");
    snprintf(data, sizeof data, "%s/file", root);
    close(open(data, O_WRONLY | O_CREAT, 0600));
    refused("cannot use the data directory");
    refused("/file: Not a directory");
    snprintf(data, sizeof data, "%s/foreign", root);
    if (geteuid() == 0) { /* only root can create a directory of another user */
        mkdir(data, 0700);
        ck_assert_int_eq(chown(data, 12345, 12345), 0);
        refused("belongs to another user");
    }
}
END_TEST

static void write_program(const char *text)
{
    char path[200];
    snprintf(path, sizeof path, "%s/redis-server", root);
    FILE *file = fopen(path, "w");
    fputs(text, file);
    fclose(file);
    chmod(path, 0755);
    snprintf(path, sizeof path, "%s:/usr/bin:/bin", root);
    setenv("PATH", path, 1);
}

START_TEST(a_missing_or_old_redis_is_told)
{
    write_program("#!/bin/sh\necho 'Redis server v=6.0.16 sha=00000000:0 malloc=jemalloc-5.2.1 bits=64'\n");
    refused("redis-server is version 6.0.16; duepost needs 7.0 or newer");
    write_program("#!/bin/sh\nexit 1\n");
    refused("does not print a version");
    setenv("PATH", "/nonexistent", 1);
    refused("redis-server is not installed");
}
END_TEST

START_TEST(a_redis_that_ends_at_once_is_told)
{
    write_program("#!/bin/sh\n[ \"$1\" = --version ] && echo 'Redis server v=7.0.15 x' || exit 3\n");
    struct embedded_redis *redis = open_redis();
    struct outcome outcome = {0};
    embedded_redis_start(redis, on_done, &outcome);
    run();
    ck_assert_int_eq(outcome.status, STATUS_FAILED);
    ck_assert_msg(strstr(outcome.why, "redis-server exited before it answered (exit status 3)") != NULL, "%s",
                  outcome.why);
    stop_redis(redis);
}
END_TEST

Suite *suite(void)
{
    Suite *suite = suite_create("embedded_redis");
    TCase *tests = tcase_create("all");
    tcase_set_timeout(tests, 60);
    tcase_add_unchecked_fixture(tests, make_base, remove_base);
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_test(tests, starts_private_and_durable_and_stops_cleanly);
    tcase_add_test(tests, data_survive_a_stop);
    tcase_add_test(tests, is_started_again_with_its_data_whenever_it_is_killed);
    tcase_add_test(tests, can_be_stopped_when_it_has_just_died);
    tcase_add_test(tests, can_be_stopped_while_it_waits_to_start_again);
    tcase_add_test(tests, can_be_stopped_before_it_answers);
    tcase_add_test(tests, a_second_duepost_on_the_directory_is_told_the_pid_of_the_first);
    tcase_add_test(tests, the_redis_of_a_crashed_duepost_is_taken_over_and_can_be_stopped);
    tcase_add_test(tests, a_redis_that_was_taken_over_is_started_again_when_it_is_killed);
    tcase_add_test(tests, what_a_dead_redis_left_lying_about_does_not_matter);
    tcase_add_test(tests, a_redis_that_a_crash_left_without_its_socket_is_waited_for);
    tcase_add_test(tests, a_long_directory_name_is_reached_all_the_same);
    tcase_add_test(tests, missing_parents_are_made_private);
    tcase_add_test(tests, a_readable_directory_is_tightened_only_when_it_is_empty_or_ours);
    tcase_add_test(tests, bad_directories_are_refused);
    tcase_add_test(tests, a_missing_or_old_redis_is_told);
    tcase_add_test(tests, a_redis_that_ends_at_once_is_told);
    suite_add_tcase(suite, tests);
    return suite;
}
