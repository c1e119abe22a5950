#include <check.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/system.h"
#include "support/redis_server.h"

#ifdef DUEPOST_SANITIZED
enum { DEADLINE_S = 50 };
#else
enum { DEADLINE_S = 10 };
#endif
enum { PATH_MAX_BYTES = 64, LOOK_AGAIN_US = 2000 };

struct redis_server {
    pid_t pid;
    char directory[PATH_MAX_BYTES];
    char socket[PATH_MAX_BYTES + 16], clock[PATH_MAX_BYTES + 16];
    volatile int64_t *clock_us; /* see clock_preload.c */
};

static void map_clock(struct redis_server *server)
{
    int fd = open(server->clock, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(ftruncate(fd, 2 * sizeof *server->clock_us), 0);
    void *map = mmap(NULL, 2 * sizeof *server->clock_us, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    ck_assert_ptr_ne(map, MAP_FAILED);
    close(fd);
    server->clock_us = map;
}

static void run_server(const struct redis_server *server)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setenv("LD_PRELOAD", CLOCK_PRELOAD, 1);
    setenv("TEST_CLOCK", server->clock, 1);
    execlp("redis-server", "redis-server", "--port", "0", "--unixsocket", server->socket, "--dir",
           server->directory, "--logfile", "redis.log", "--save", "", "--appendonly", "no",
           "--maxmemory-policy", "noeviction", (char *)NULL);
    _exit(127);
}

struct redis_server *redis_server_start(void)
{
    struct redis_server *server = NEW(struct redis_server);
    snprintf(server->directory, sizeof server->directory, "/tmp/duepost-test-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(server->directory));
    snprintf(server->socket, sizeof server->socket, "%s/redis.sock", server->directory);
    snprintf(server->clock, sizeof server->clock, "%s/clock", server->directory);
    map_clock(server);
    server->pid = fork();
    ck_assert_int_ge(server->pid, 0);
    if (server->pid == 0)
        run_server(server);
    redisFree(redis_server_connect(server));
    return server;
}

static int remove_entry(const char *path, const struct stat *stat, int type, struct FTW *place)
{
    (void)stat, (void)type, (void)place;
    return remove(path);
}

void redis_server_stop(struct redis_server *server)
{
    if (!server)
        return;
    kill(server->pid, SIGKILL);
    waitpid(server->pid, NULL, 0);
    munmap((void *)(uintptr_t)server->clock_us, 2 * sizeof *server->clock_us);
    nftw(server->directory, remove_entry, 4, FTW_DEPTH | FTW_PHYS);
    free(server);
}

redisContext *redis_server_connect(const struct redis_server *server)
{
    const struct timeval wait = {.tv_sec = DEADLINE_S};
    int64_t deadline_us = clock_boot_us() + DEADLINE_S * INT64_C(1000000);
    for (;;) {
        redisContext *redis = redisConnectUnixWithTimeout(server->socket, wait);
        ck_assert_ptr_nonnull(redis);
        if (!redis->err) {
            redisSetTimeout(redis, wait);
            return redis;
        }
        ck_assert_msg(clock_boot_us() < deadline_us, "redis-server does not answer: %s", redis->errstr);
        redisFree(redis);
        usleep(LOOK_AGAIN_US);
    }
}

void redis_server_set_time(struct redis_server *server, int64_t us)
{
    server->clock_us[0] = us;
}

redisReply *redis_command(redisContext *redis, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    redisReply *reply = redisvCommand(redis, format, arguments);
    va_end(arguments);
    ck_assert_msg(reply != NULL, "%s: %s", format, redis->errstr);
    ck_assert_msg(reply->type != REDIS_REPLY_ERROR, "%s: %s", format, reply->str);
    return reply;
}
