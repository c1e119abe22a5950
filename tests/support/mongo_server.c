#include <arpa/inet.h>
#include <check.h>
#include <ftw.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/system.h"
#include "history/history.h"
#include "support/mongo_server.h"

#ifdef DUEPOST_SANITIZED
enum { DEADLINE_S = 100 };
#else
enum { DEADLINE_S = 30 };
#endif
enum { PATH_BYTES = 64, LOOK_AGAIN_US = 5000 };

struct mongo_server {
    pid_t pid;
    int port, held; /* held: a socket that keeps the port from others while the server is away */
    char directory[PATH_BYTES];
    bool is_mongod;
};

static bool has_mongod(void)
{
    return system("command -v mongod >/dev/null") == 0;
}

bool mongo_server_is_there(void)
{
    struct library library;
    bool is_built = mongo_library(&library), has_server = has_mongod() || access(FERRETDB, X_OK) == 0;
    if (!is_built)
        printf("skipped: duepost was built without libmongoc\n");
    else if (!has_server)
        printf("skipped: there is no mongod, and tests/history/install has not built FerretDB\n");
    return is_built && has_server;
}

static struct sockaddr_in address_of(int port)
{
    return (struct sockaddr_in){
        .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

static void hold_port(struct mongo_server *server)
{
    struct sockaddr_in address = address_of(0);
    socklen_t size = sizeof address;
    int on = 1;
    server->held = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_ge(server->held, 0);
    setsockopt(server->held, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    ck_assert_int_eq(bind(server->held, (struct sockaddr *)&address, size), 0);
    ck_assert_int_eq(getsockname(server->held, (struct sockaddr *)&address, &size), 0);
    server->port = ntohs(address.sin_port);
}

static void run_server(const struct mongo_server *server)
{
    char log[PATH_BYTES + 16], listen[32], port[16], data[PATH_BYTES + 32];
    snprintf(log, sizeof log, "%s/log", server->directory);
    snprintf(listen, sizeof listen, "127.0.0.1:%d", server->port);
    snprintf(port, sizeof port, "%d", server->port);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setpgid(0, 0);
    if (!freopen(log, "a", stdout) || dup2(STDOUT_FILENO, STDERR_FILENO) < 0)
        _exit(125);
    if (server->is_mongod) {
        execlp("mongod", "mongod", "--dbpath", server->directory, "--bind_ip", "127.0.0.1", "--port", port,
               (char *)NULL);
    } else {
        snprintf(data, sizeof data, "file:%s/", server->directory);
        execl(FERRETDB, FERRETDB, "--handler=sqlite", "--sqlite-url", data, "--state-dir", server->directory,
              "--listen-addr", listen, "--telemetry=disable", "--debug-addr=-", "--log-level=error",
              (char *)NULL);
    }
    _exit(127);
}

/* Waits until the server listens, or does not. */
static void await_listener(const struct mongo_server *server, bool listens)
{
    int64_t deadline_us = clock_boot_us() + DEADLINE_S * INT64_C(1000000);
    const struct sockaddr_in address = address_of(server->port);
    for (bool is_there = !listens; is_there != listens; usleep(LOOK_AGAIN_US)) {
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        is_there = connect(fd, (const struct sockaddr *)&address, sizeof address) == 0;
        close(fd);
        ck_assert_msg(clock_boot_us() < deadline_us, "the server does not begin or end, see %s/log",
                      server->directory);
    }
}

void mongo_server_start(struct mongo_server *server)
{
    server->pid = fork();
    ck_assert_int_ge(server->pid, 0);
    if (server->pid == 0)
        run_server(server);
    await_listener(server, true);
}

struct mongo_server *mongo_server_new(void)
{
    struct mongo_server *server = NEW(struct mongo_server);
    snprintf(server->directory, sizeof server->directory, "/tmp/duepost-test-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(server->directory));
    server->is_mongod = has_mongod();
    hold_port(server);
    mongo_server_start(server);
    return server;
}

void mongo_server_kill(struct mongo_server *server)
{
    kill(server->pid, SIGKILL);
    waitpid(server->pid, NULL, 0);
    await_listener(server, false); /* another process may have started the server, and must wait for it */
}

void mongo_server_freeze(struct mongo_server *server)
{
    kill(server->pid, SIGSTOP);
}

void mongo_server_thaw(struct mongo_server *server)
{
    kill(server->pid, SIGCONT);
}

static int remove_entry(const char *path, const struct stat *stat, int type, struct FTW *place)
{
    (void)stat, (void)type, (void)place;
    return remove(path);
}

void mongo_server_free(struct mongo_server *server)
{
    if (!server)
        return;
    mongo_server_kill(server);
    close(server->held);
    nftw(server->directory, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
    free(server);
}

void mongo_server_url(const struct mongo_server *server, const char *database, char url[MONGO_URL_SIZE])
{
    snprintf(url, MONGO_URL_SIZE, "mongodb://127.0.0.1:%d/%s", server->port, database);
}
