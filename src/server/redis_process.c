#include "server/redis_process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/slice.h"

enum {
    VERSION_MAJOR = 7,
    CHECK_TIMEOUT_MS = 5000,
    LOCK_FD = 3,             /* number of redis.lock's descriptor in the child */
    LOG_MAX_BYTES = 1 << 20, /* a larger log of earlier runs is renamed to redis.log.1 */
};

/* With these arguments a job that was answered 201 is safe (append-only file, fsync always, noeviction), and
 * an idle duepost needs little CPU (hz 1). The arguments also limit listpacks: a search in a listpack with
 * several hundred leases would take longer than the rest of a claim. File names are relative to the working
 * directory, because a socket's address holds at most 107 bytes. */
static const char *const arguments[] = {
    "redis-server",
    "--port",
    "0",
    "--unixsocket",
    REDIS_SOCKET_NAME,
    "--unixsocketperm",
    "700",
    "--dir",
    ".",
    "--daemonize",
    "no",
    "--loglevel",
    "notice",
    "--always-show-logo",
    "no",
    "--proc-title-template",
    "{title} {unixsocket} (duepost)",
    "--save",
    "",
    "--appendonly",
    "yes",
    "--appendfsync",
    "always",
    "--no-appendfsync-on-rewrite",
    "no",
    "--aof-use-rdb-preamble",
    "yes",
    "--aof-load-truncated",
    "yes",
    "--maxmemory",
    "0",
    "--maxmemory-policy",
    "noeviction",
    "--hz",
    "1",
    "--dynamic-hz",
    "yes",
    "--hash-max-listpack-entries",
    "16",
    "--zset-max-listpack-entries",
    "16",
    "--activerehashing",
    "yes",
    "--timeout",
    "0",
    "--enable-debug-command",
    "no",
    "--enable-module-command",
    "no",
    NULL,
};

static enum status cannot_run(struct problem *problem, int error)
{
    if (error == ENOENT)
        problem_set(problem,
                    "redis-server is not installed: install it (Debian: apt-get install redis-server) "
                    "or set --redis");
    else
        problem_set(problem, "cannot run redis-server: %s", strerror(error));
    return STATUS_FAILED;
}

/* Starts a process without our signal mask, signal dispositions, terminal and descriptors. */
static int spawn(const char *const *argv, posix_spawn_file_actions_t *actions, pid_t *pid)
{
    posix_spawnattr_t attributes;
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes,
                             POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    /* For historical reasons the parameter of posix_spawnp is not const. */
    int error = posix_spawnp(pid, argv[0], actions, &attributes, (char *const *)(uintptr_t)argv, environ);
    posix_spawnattr_destroy(&attributes);
    return error;
}

/* Reads until the end or the deadline. The text is NUL-terminated. */
static void read_all(int fd, char *text, size_t max)
{
    int64_t deadline_us = clock_boot_us() + CHECK_TIMEOUT_MS * INT64_C(1000);
    size_t size = 0;
    for (;;) {
        int64_t left_us = deadline_us - clock_boot_us();
        struct pollfd ready = {.fd = fd, .events = POLLIN};
        if (left_us <= 0 || size + 1 == max || poll(&ready, 1, (int)(left_us / 1000) + 1) < 1)
            break;
        ssize_t count = read(fd, text + size, max - 1 - size);
        if (count <= 0)
            break;
        size += (size_t)count;
    }
    text[size] = '\0';
}

static enum status judge_version(const char *text, char number_text[REDIS_PROCESS_VERSION_MAX],
                                 struct problem *problem)
{
    const char *version = strstr(text, " v=");
    struct slice number = slice_of(version ? version + strlen(" v=") : "");
    struct slice major, rest;
    uint64_t value;
    slice_cut(number, ' ', &number, &rest);
    snprintf(number_text, REDIS_PROCESS_VERSION_MAX, "%.*s", SLICE_ARG(number));
    slice_cut(number, '.', &major, &rest);
    if (slice_to_number(major, 1000000, &value) && value >= VERSION_MAJOR)
        return STATUS_OK;
    if (version)
        problem_set(problem, "redis-server is version %.*s; duepost needs %d.0 or newer", SLICE_ARG(number),
                    VERSION_MAJOR);
    else
        problem_set(problem, "redis-server --version does not print a version; is it Redis?");
    return STATUS_FAILED;
}

enum status redis_process_check(char found[REDIS_PROCESS_VERSION_MAX], struct problem *problem)
{
    static const char *const version[] = {"redis-server", "--version", NULL};
    posix_spawn_file_actions_t actions;
    char text[512];
    int ends[2];
    pid_t pid;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return cannot_run(problem, errno);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    int error = spawn(version, &actions, &pid);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    if (error == 0) {
        read_all(ends[0], text, sizeof text);
        kill(pid, SIGKILL); /* the process has printed everything, or it hangs */
        waitpid(pid, NULL, 0);
    }
    close(ends[0]);
    return error ? cannot_run(problem, error) : judge_version(text, found, problem);
}

static void turn_log(int dir_fd)
{
    struct stat log;
    if (fstatat(dir_fd, REDIS_LOG_NAME, &log, AT_SYMLINK_NOFOLLOW) == 0 && log.st_size > LOG_MAX_BYTES)
        renameat(dir_fd, REDIS_LOG_NAME, dir_fd, REDIS_LOG_NAME ".1");
}

enum status redis_process_spawn(int dir_fd, int lock_fd, struct redis_process *process,
                                struct problem *problem)
{
    posix_spawn_file_actions_t actions;
    pid_t pid;
    turn_log(dir_fd);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addfchdir_np(&actions, dir_fd);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, REDIS_LOG_NAME, O_WRONLY | O_CREAT | O_APPEND,
                                     0600);
    posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
    posix_spawn_file_actions_adddup2(&actions, lock_fd, LOCK_FD);
    posix_spawn_file_actions_addclosefrom_np(&actions, LOCK_FD + 1);
    int error = spawn(arguments, &actions, &pid);
    posix_spawn_file_actions_destroy(&actions);
    if (error)
        return cannot_run(problem, error);
    /* The process is our child, so its pid is not reused before waitpid. */
    int pidfd = pidfd_open(pid, 0);
    if (pidfd < 0) {
        error = errno;
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
        return cannot_run(problem, error);
    }
    *process = (struct redis_process){.pid = pid, .pidfd = pidfd, .is_child = true};
    return STATUS_OK;
}

void redis_process_signal(const struct redis_process *process, int signal)
{
    pidfd_send_signal(process->pidfd, signal, NULL, 0); /* fails only if the process has exited */
}

void redis_process_reap(struct redis_process *process, char why[REDIS_PROCESS_WHY_MAX])
{
    siginfo_t info = {0};
    snprintf(why, REDIS_PROCESS_WHY_MAX, "it exited");
    if (process->is_child && waitid(P_PIDFD, (id_t)process->pidfd, &info, WEXITED | WNOHANG) == 0 &&
        info.si_pid)
        snprintf(why, REDIS_PROCESS_WHY_MAX, info.si_code == CLD_EXITED ? "exit status %d" : "signal %d",
                 info.si_status);
    redis_process_forget(process);
}

void redis_process_forget(struct redis_process *process)
{
    if (process->pid)
        close(process->pidfd);
    *process = (struct redis_process){.pidfd = -1};
}
