#include <check.h>
#include <ftw.h>
#include <glob.h>
#include <grp.h>
#include <libpq-fe.h>
#include <pwd.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/system.h"
#include "support/postgres_server.h"

#ifdef DUEPOST_SANITIZED
enum { DEADLINE_S = 100 };
#else
enum { DEADLINE_S = 30 };
#endif
enum { PATH_BYTES = 64, LOOK_AGAIN_US = 5000 };

struct postgres_server {
    pid_t pid;
    char programs[256]; /* folder with the programs initdb and postgres */
    char directory[PATH_BYTES];
    char data[PATH_BYTES + 8];
};

static void find_programs(struct postgres_server *server)
{
    glob_t found;
    ck_assert_msg(glob("/usr/lib/postgresql/*/bin", 0, NULL, &found) == 0, "postgresql is not installed");
    snprintf(server->programs, sizeof server->programs, "%s", found.gl_pathv[found.gl_pathc - 1]);
    globfree(&found);
}

/* In a child process: becomes the user postgres if the process runs as root. */
static void drop_root(void)
{
    const struct passwd *user = geteuid() == 0 ? getpwnam("postgres") : NULL;
    if (user &&
        (setgid(user->pw_gid) != 0 || initgroups("postgres", user->pw_gid) != 0 || setuid(user->pw_uid) != 0))
        _exit(126);
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* set again, because changing the user resets it */
}

static void make_directory(struct postgres_server *server)
{
    snprintf(server->directory, sizeof server->directory, "/tmp/duepost-test-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(server->directory));
    snprintf(server->data, sizeof server->data, "%s/data", server->directory);
    const struct passwd *user = geteuid() == 0 ? getpwnam("postgres") : NULL;
    if (user)
        ck_assert_int_eq(chown(server->directory, user->pw_uid, user->pw_gid), 0);
}

static void make_files(struct postgres_server *server)
{
    char program[300], log[PATH_BYTES + 16], access[PATH_BYTES + 32];
    int status;
    snprintf(program, sizeof program, "%s/initdb", server->programs);
    snprintf(log, sizeof log, "%s/initdb.log", server->directory);
    pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        drop_root();
        if (!freopen(log, "w", stdout) || dup2(STDOUT_FILENO, STDERR_FILENO) < 0)
            _exit(125);
        execl(program, program, "--pgdata", server->data, "--username=postgres", "--auth=trust", "--no-sync",
              "--encoding=UTF8", "--locale=C", (char *)NULL);
        _exit(127);
    }
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "initdb failed: %d, see %s", status, log);
    snprintf(access, sizeof access, "%s/pg_hba.conf", server->data);
    FILE *file = fopen(access, "w");
    ck_assert_ptr_nonnull(file);
    fprintf(file, "local all postgres trust\nlocal all all scram-sha-256\n");
    ck_assert_int_eq(fclose(file), 0);
}

static void run_server(const struct postgres_server *server)
{
    char program[300], log[PATH_BYTES + 16];
    snprintf(program, sizeof program, "%s/postgres", server->programs);
    snprintf(log, sizeof log, "%s/postgres.log", server->directory);
    drop_root();
    setpgid(0, 0);
    if (!freopen(log, "a", stdout) || dup2(STDOUT_FILENO, STDERR_FILENO) < 0)
        _exit(125);
    execl(program, program, "-D", server->data, "-k", server->directory, "-c", "listen_addresses=", "-c",
          "fsync=off", "-c", "shared_buffers=16MB", "-c", "max_connections=30", (char *)NULL);
    _exit(127);
}

static PGconn *connect_server(const struct postgres_server *server, const char *database)
{
    char url[POSTGRES_URL_SIZE];
    int64_t deadline_us = clock_boot_us() + DEADLINE_S * INT64_C(1000000);
    postgres_server_url(server, "postgres", database, url);
    for (;;) {
        PGconn *connection = PQconnectdb(url);
        if (PQstatus(connection) == CONNECTION_OK)
            return connection;
        ck_assert_msg(clock_boot_us() < deadline_us, "PostgreSQL does not answer: %s",
                      PQerrorMessage(connection));
        PQfinish(connection);
        usleep(LOOK_AGAIN_US);
    }
}

void postgres_server_start(struct postgres_server *server)
{
    server->pid = fork();
    ck_assert_int_ge(server->pid, 0);
    if (server->pid == 0)
        run_server(server);
    PQfinish(connect_server(server, "postgres"));
}

struct postgres_server *postgres_server_new(void)
{
    struct postgres_server *server = NEW(struct postgres_server);
    find_programs(server);
    make_directory(server);
    make_files(server);
    postgres_server_start(server);
    return server;
}

/* Returns the process id in the server's lock file; 0 if the file is gone. */
static pid_t read_lock(const struct postgres_server *server)
{
    char lock[PATH_BYTES + 32];
    int pid = 0;
    snprintf(lock, sizeof lock, "%s/postmaster.pid", server->data);
    FILE *file = fopen(lock, "r");
    if (file && fscanf(file, "%d", &pid) != 1)
        pid = 0;
    if (file)
        fclose(file);
    return pid;
}

/* Returns whether the process runs. A process that has ended has no command line, even if its parent has not
 * waited for it yet. */
static bool is_running(pid_t pid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/cmdline", (int)pid);
    FILE *file = fopen(path, "r");
    bool has_text = file && fgetc(file) != EOF;
    if (file)
        fclose(file);
    return has_text;
}

/* Another process may have started the server. If that process has ended, the kernel has killed the server.
 * Then the lock file still exists, and names a process that is gone. */
void postgres_server_kill(struct postgres_server *server)
{
    int64_t deadline_us = clock_boot_us() + DEADLINE_S * INT64_C(1000000);
    pid_t pid = read_lock(server);
    if (pid > 0 && is_running(pid))
        kill(pid, SIGQUIT); /* makes the server end at once, without a checkpoint */
    waitpid(server->pid, NULL, 0);
    while ((pid = read_lock(server)) > 0 && is_running(pid)) {
        ck_assert_msg(clock_boot_us() < deadline_us, "PostgreSQL does not end");
        usleep(LOOK_AGAIN_US);
    }
}

static void signal_backends(const struct postgres_server *server, int number)
{
    char path[64];
    int pid;
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)server->pid, (int)server->pid);
    FILE *file = fopen(path, "r");
    ck_assert_ptr_nonnull(file);
    while (fscanf(file, "%d", &pid) == 1)
        kill(pid, number);
    fclose(file);
}

void postgres_server_freeze(struct postgres_server *server)
{
    kill(server->pid, SIGSTOP);
    signal_backends(server, SIGSTOP);
}

void postgres_server_thaw(struct postgres_server *server)
{
    signal_backends(server, SIGCONT);
    kill(server->pid, SIGCONT);
}

static int remove_entry(const char *path, const struct stat *stat, int type, struct FTW *place)
{
    (void)stat, (void)type, (void)place;
    return remove(path);
}

void postgres_server_free(struct postgres_server *server)
{
    if (!server)
        return;
    postgres_server_kill(server);
    nftw(server->directory, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
    free(server);
}

void postgres_server_url(const struct postgres_server *server, const char *user, const char *database,
                         char url[POSTGRES_URL_SIZE])
{
    snprintf(url, POSTGRES_URL_SIZE, "postgresql://%s@/%s?host=%s", user, database, server->directory);
}

int64_t postgres_server_run(const struct postgres_server *server, const char *database, const char *sql)
{
    PGconn *connection = connect_server(server, database);
    PGresult *result = PQexec(connection, sql);
    ExecStatusType status = PQresultStatus(result);
    ck_assert_msg(status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK, "%s: %s", sql,
                  PQerrorMessage(connection));
    int64_t number = status == PGRES_TUPLES_OK && PQntuples(result) ? atoll(PQgetvalue(result, 0, 0)) : 0;
    PQclear(result);
    PQfinish(connection);
    return number;
}
