/* process.c - one redis-server on the data directory: its program, its process, its log, and probes whether
 * it answers. */
#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/slice.h"
#include "base/system.h"
#include "server/redis/redis_private.h"

/* ---- the log file ---- */

enum { TAIL_BYTES = 4096 };

/* Reads the last bytes of the log file. */
static struct slice read_tail(int dir_fd, char bytes[TAIL_BYTES])
{
    struct stat log;
    ssize_t size = -1;
    int fd = openat(dir_fd, REDIS_LOG_NAME, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd >= 0 && fstat(fd, &log) == 0)
        size = pread(fd, bytes, TAIL_BYTES, log.st_size > TAIL_BYTES ? log.st_size - TAIL_BYTES : 0);
    if (fd >= 0)
        close(fd);
    return slice_from(bytes, size > 0 ? (size_t)size : 0);
}

/* Returns the text of a warning "4711:M 27 Nov 2026 03:07:07.435 # text", or an empty slice if the line is
 * not a warning of this process. */
static struct slice warning_of(struct slice line, pid_t pid)
{
    char begin[16];
    snprintf(begin, sizeof begin, "%d:", (int)pid);
    const char *level = memmem(line.data, line.size, " # ", 3);
    if (!level || !slice_starts_with(line, slice_of(begin)))
        return SLICE("");
    return slice_skip(line, (size_t)(level - line.data) + 3);
}

void redis_log_last_words(int dir_fd, pid_t pid, char words[REDIS_LOG_WORDS_MAX])
{
    char bytes[TAIL_BYTES];
    struct slice tail = read_tail(dir_fd, bytes), before = SLICE(""), last = SLICE("");
    for (struct slice line; tail.size;) {
        slice_cut(tail, '\n', &line, &tail);
        if (line.size == 0)
            continue;
        before = last;
        last = warning_of(line, pid);
    }
    if (last.size == 0)
        before = SLICE("");
    snprintf(words, REDIS_LOG_WORDS_MAX, "%.*s%s%.*s", SLICE_ARG(last), before.size ? "; before: " : "",
             SLICE_ARG(before));
}

/* ---- the process ---- */

enum {
    VERSION_MAJOR = 7,
    CHECK_TIMEOUT_MS = 5000,
    LOCK_FD = 3,             /* the descriptor of redis.lock has this number in the child process */
    LOG_MAX_BYTES = 1 << 20, /* a larger log of earlier runs is renamed to redis.log.1 */
};

/* Arguments of redis-server. They keep every job that was answered 201 (append-only file, fsync always,
 * noeviction), and let an idle duepost need little CPU (hz 1). They also limit the size of listpacks, Redis's
 * compact lists: a search in a listpack with several hundred leases would take longer than the rest of a
 * claim. File names are relative to the working directory, because a socket's address holds at most 107
 * bytes. */
static const char *const arguments[] = {
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

enum { ARGUMENTS = sizeof arguments / sizeof *arguments };

static enum status cannot_run(const char *program, struct problem *problem, int error)
{
    problem_set(problem, "cannot run %.200s: %s; see --embedded-server", program, strerror(error));
    return STATUS_FAILED;
}

/* Starts a process without our signal mask, signal dispositions, terminal and descriptors. */
static int spawn(const char *path, const char *const *argv, posix_spawn_file_actions_t *actions, pid_t *pid)
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
    int error = posix_spawnp(pid, path, actions, &attributes, (char *const *)(uintptr_t)argv, environ);
    posix_spawnattr_destroy(&attributes);
    return error;
}

/* Reads the program's output until its end or the deadline. The text is NUL-terminated. */
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

/* Returns the program's name without its folder: a part of the given text. */
static const char *redis_program_name(const struct redis_program *program)
{
    const char *slash = strrchr(program->path, '/');
    return slash ? slash + 1 : program->path;
}

static enum status judge_version(const char *text, struct redis_program *program, struct problem *problem)
{
    const char *version = strstr(text, " v="), *name = redis_program_name(program);
    struct slice number = slice_of(version ? version + strlen(" v=") : "");
    struct slice major, rest;
    uint64_t value;
    slice_cut(number, ' ', &number, &rest);
    snprintf(program->version, sizeof program->version, "%.*s", SLICE_ARG(number));
    slice_cut(number, '.', &major, &rest);
    if (slice_to_number(major, 1000000, &value) && value >= VERSION_MAJOR)
        return STATUS_OK;
    if (version)
        problem_set(problem, "%.200s is version %s; duepost needs %d.0 or newer", name, program->version,
                    VERSION_MAJOR);
    else
        problem_set(problem, "%.200s --version does not print a version; is it Redis?", name);
    return STATUS_FAILED;
}

/* Runs the program with --version. *is_missing becomes true if there is no such program. */
static enum status try_program(struct redis_program *program, bool *is_missing, struct problem *problem)
{
    const char *const version[] = {redis_program_name(program), "--version", NULL};
    posix_spawn_file_actions_t actions;
    char text[512];
    int ends[2];
    pid_t pid;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return cannot_run(program->path, problem, errno);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    int error = spawn(program->path, version, &actions, &pid);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    if (error == 0) {
        read_all(ends[0], text, sizeof text);
        kill(pid, SIGKILL); /* the process is not needed any more: it has printed its output, or it hangs */
        waitpid(pid, NULL, 0);
    }
    close(ends[0]);
    *is_missing = error == ENOENT;
    return error ? cannot_run(program->path, problem, error) : judge_version(text, program, problem);
}

/* Returns the path in a form that is valid in each working directory. */
static char *absolute(const char *path)
{
    char *folder = NULL, *whole = NULL;
    if (path[0] == '/' || !strchr(path, '/') || !(folder = getcwd(NULL, 0)))
        return slice_dup(slice_of(path));
    if (asprintf(&whole, "%s/%s", folder, path) < 0)
        abort();
    free(folder);
    return whole;
}

enum status redis_program_find(const char *wanted, struct redis_program *program, struct problem *problem)
{
    const char *const names[] = {wanted ? wanted : "redis-server", wanted ? NULL : "valkey-server"};
    struct problem why = {""};
    bool is_missing = false;
    for (size_t i = 0; i < sizeof names / sizeof *names && names[i]; i++) {
        *program = (struct redis_program){.path = absolute(names[i])};
        if (try_program(program, &is_missing, &why) == STATUS_OK)
            return STATUS_OK;
        redis_program_fini(program);
        if (!is_missing)
            *problem = why; /* if one program is missing and the other is too old, the old one is reported */
        else if (i == 0)
            problem_set(problem,
                        wanted
                            ? "%.200s is not installed; see --embedded-server"
                            : "%.200s is not installed: install it (Debian: apt-get install redis-server) or "
                              "valkey-server, or set --redis",
                        names[i]);
    }
    return STATUS_FAILED;
}

void redis_program_fini(struct redis_program *program)
{
    free(program->path);
    program->path = NULL;
}

static void turn_log(int dir_fd)
{
    struct stat log;
    if (fstatat(dir_fd, REDIS_LOG_NAME, &log, AT_SYMLINK_NOFOLLOW) == 0 && log.st_size > LOG_MAX_BYTES)
        renameat(dir_fd, REDIS_LOG_NAME, dir_fd, REDIS_LOG_NAME ".1");
}

/* Makes the child close all descriptors from this number on. Those of duepost are close-on-exec, but a
 * library may have opened others. */
static void process_close_from(posix_spawn_file_actions_t *actions, int number)
{
#ifdef __GLIBC__
    posix_spawn_file_actions_addclosefrom_np(actions, number);
#else
    (void)actions;
    syscall(SYS_close_range, number, ~0U,
            CLOSE_RANGE_CLOEXEC); /* an older kernel refuses this, which does no harm */
#endif
}

enum status redis_process_spawn(const struct redis_program *program, int dir_fd, int lock_fd,
                                struct redis_process *process, struct problem *problem)
{
    const char *argv[ARGUMENTS + 1] = {redis_program_name(program)};
    posix_spawn_file_actions_t actions;
    pid_t pid;
    memcpy(argv + 1, arguments, sizeof arguments);
    for (size_t i = 1; program->is_unsynced && argv[i]; i++)
        if (strcmp(argv[i], "always") == 0)
            argv[i] = "no";
    turn_log(dir_fd);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addfchdir_np(&actions, dir_fd);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, REDIS_LOG_NAME, O_WRONLY | O_CREAT | O_APPEND,
                                     0600);
    posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
    posix_spawn_file_actions_adddup2(&actions, lock_fd, LOCK_FD);
    process_close_from(&actions, LOCK_FD + 1);
    int error = spawn(program->path, argv, &actions, &pid);
    posix_spawn_file_actions_destroy(&actions);
    if (error)
        return cannot_run(program->path, problem, error);
    /* The pid still names our child: the kernel does not reuse it before waitpid. */
    int pidfd = pidfd_of(pid);
    if (pidfd < 0) {
        error = errno;
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
        return cannot_run(program->path, problem, error);
    }
    *process = (struct redis_process){.pid = pid, .pidfd = pidfd, .is_child = true};
    return STATUS_OK;
}

void redis_process_signal(const struct redis_process *process, int signal)
{
    pidfd_signal(process->pidfd,
                 signal); /* the result is ignored: this fails only if the process has exited */
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

/* ---- a probe ---- */

enum { ANSWER_MAX = 256, TIMEOUT_US = 1000000 };

/* The steps: connect, identify the listener, send PING, read a line, call back. */
struct redis_probe {
    int fd; /* -1: no process listens */
    struct watch *watch;
    struct timer *timer;
    pid_t pid;
    int pidfd;
    char answer[ANSWER_MAX];
    size_t size;
    redis_probe_fn *fn;
    void *arg;
};

/* Returns a connected socket, or -1 if no process listens. Connecting to a unix socket succeeds or fails at
 * once. */
static int open_socket(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    if (connect(fd, (const struct sockaddr *)&address, sizeof address) == 0)
        return fd;
    close(fd);
    return -1;
}

static bool send_command(int fd, const char *command)
{
    return send(fd, command, strlen(command), MSG_NOSIGNAL) == (ssize_t)strlen(command);
}

bool redis_probe_tell(const char *path, const char *command)
{
    int fd = open_socket(path);
    bool sent = fd >= 0 && send_command(fd, command);
    if (fd >= 0)
        close(fd);
    return sent;
}

static void finish(struct redis_probe *probe, enum redis_answer answer)
{
    redis_probe_fn *fn = probe->fn;
    void *arg = probe->arg;
    pid_t pid = probe->pid;
    int pidfd = answer == REDIS_ANSWER_NONE ? -1 : probe->pidfd;
    if (pidfd >= 0)
        probe->pidfd = -1;
    redis_probe_cancel(probe);
    fn(arg, answer, pid, pidfd);
}

static void on_answer(void *arg, bool readable, bool writable)
{
    (void)readable, (void)writable;
    struct redis_probe *probe = arg;
    ssize_t count = read(probe->fd, probe->answer + probe->size, ANSWER_MAX - probe->size);
    if (count < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (count > 0)
        probe->size += (size_t)count;
    struct slice line = slice_from(probe->answer, probe->size);
    bool is_line = memchr(line.data, '\n', line.size) != NULL;
    if (!is_line && count > 0 && probe->size < ANSWER_MAX)
        return;
    if (is_line && slice_starts_with(line, SLICE("+PONG")))
        finish(probe, REDIS_ANSWER_PONG);
    else if (is_line && slice_starts_with(line, SLICE("-LOADING")))
        finish(probe, REDIS_ANSWER_LOADING);
    else
        finish(probe, REDIS_ANSWER_NONE);
}

static void on_timeout(void *arg)
{
    finish(arg, REDIS_ANSWER_NONE);
}

struct redis_probe *redis_probe_start(struct loop *loop, const char *path, redis_probe_fn *fn, void *arg)
{
    struct redis_probe *probe = NEW(struct redis_probe);
    probe->fn = fn;
    probe->arg = arg;
    probe->pidfd = -1;
    probe->timer = timer_new(loop, on_timeout, probe);
    probe->fd = open_socket(path);
    if (probe->fd >= 0) {
        /* Opens the pidfd before PING is sent. Therefore the pidfd names the process that answers, and not a
         * later process with the same pid. */
        struct ucred peer;
        socklen_t size = sizeof peer;
        if (getsockopt(probe->fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.pid > 0) {
            probe->pid = peer.pid;
            probe->pidfd = pidfd_of(peer.pid);
        }
    }
    if (probe->fd >= 0 && send_command(probe->fd, "PING\r\n")) {
        probe->watch = watch_new(loop, probe->fd, on_answer, probe);
        watch_set(probe->watch, true, false);
        timer_start(probe->timer, TIMEOUT_US);
    } else {
        timer_start(probe->timer, 0);
    }
    return probe;
}

void redis_probe_cancel(struct redis_probe *probe)
{
    if (!probe)
        return;
    watch_free(probe->watch);
    timer_free(probe->timer);
    if (probe->fd >= 0)
        close(probe->fd);
    if (probe->pidfd >= 0)
        close(probe->pidfd);
    free(probe);
}
