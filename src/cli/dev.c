/* dev.c - the command dev: a server with a private Redis and a receiver, for trying out duepost. The server
 * is a process of its own, which runs this same program. */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory.h"
#include "cli/call.h"
#include "cli/commands.h"
#include "cli/output.h"

enum { PATH_SIZE = 4096, LINE_SIZE = 4096, OPTIONS_MAX = 10, OPEN_MAX = 16, ORIGIN_MAX = 128 };

static const char listening[] = "duepost listening on "; /* the server's line once it is ready */

struct dev {
    struct call *call;
    struct local_receiver *receiver;
    char data[PATH_SIZE];
    bool is_temporary, is_stopping;
    pid_t server;
    int output, signal_fd;
    char line[LINE_SIZE]; /* what the server has printed of its current line */
    size_t line_size;
};

/* ---- the data directory ---- */

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *place)
{
    (void)status;
    (void)kind;
    (void)place;
    remove(path);
    return 0;
}

static bool open_data(struct dev *dev)
{
    const char *given = dev->call->arguments.values[ARGUMENT_DATA], *folder = getenv("TMPDIR");
    int size = given ? snprintf(dev->data, PATH_SIZE, "%s", given)
                     : snprintf(dev->data, PATH_SIZE, "%s/duepost-XXXXXX", folder ? folder : "/tmp");
    if (size >= PATH_SIZE) {
        errno = ENAMETOOLONG;
    } else if (given || mkdtemp(dev->data)) {
        dev->is_temporary = !given;
        return true;
    }
    problem_set(&dev->call->problem, "no data directory %.200s: %s; set --data", dev->data, strerror(errno));
    return false;
}

/* ---- the server ---- */

static bool is_given(char *const *words, const char *flag)
{
    size_t size = strlen(flag);
    for (; words && *words; words++)
        if (strncmp(*words, flag, size) == 0 && (!(*words)[size] || (*words)[size] == '='))
            return true;
    return false;
}

static bool is_clock_manual(const struct dev *dev)
{
    const char *clock = dev->call->arguments.values[ARGUMENT_CLOCK];
    return clock && strcmp(clock, "manual") == 0;
}

/* Runs the server in the child. It reads neither the variables DUEPOST_... nor the host's configuration file,
 * which may name the Redis of a real server. */
static _Noreturn void server_become(const struct dev *dev, int output, pid_t parent)
{
    char *const *given = dev->call->arguments.command;
    size_t count = 0, words = 0, kept = 0;
    setpgid(0, 0); /* a terminal's Ctrl-C comes once, from the parent */
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent)
        _exit(EXIT_SUCCESS);
    while (given && given[count])
        count++;
    const char **argv = NEW_ARRAY(const char *, count + OPTIONS_MAX);
    argv[words++] = "duepost";
    const char *const defaults[][2] = {
        {"--config", "/dev/null"}, {"--allow-target", "127.0.0.0/8,::1"}, {"--data", dev->data}};
    for (size_t i = 0; i < sizeof defaults / sizeof *defaults; i++)
        if (!is_given(given, defaults[i][0])) {
            argv[words++] = defaults[i][0];
            argv[words++] = defaults[i][1];
        }
    const char *clock = dev->call->arguments.values[ARGUMENT_CLOCK];
    if (clock && !is_given(given, "--clock")) {
        argv[words++] = "--clock";
        argv[words++] = clock;
    }
    for (size_t i = 0; i < count; i++)
        argv[words++] = given[i];
    for (char **at = environ; *at; at++)
        if (strncmp(*at, "DUEPOST_", strlen("DUEPOST_")) != 0)
            environ[kept++] = *at;
    environ[kept] = NULL;
    sigset_t none;
    sigemptyset(&none);
    signal(SIGPIPE, SIG_DFL);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (dup2(output, STDOUT_FILENO) >= 0)
        execv("/proc/self/exe", (char *const *)(uintptr_t)argv);
    fprintf(stderr, "duepost dev: the server cannot be started: %s\n", strerror(errno));
    _exit(EXIT_FAILURE);
}

static bool start_server(struct dev *dev)
{
    int pipes[2];
    pid_t parent = getpid();
    if (pipe2(pipes, O_CLOEXEC) != 0) {
        problem_set(&dev->call->problem, "pipe: %s", strerror(errno));
        return false;
    }
    dev->output = pipes[0];
    dev->server = fork();
    if (dev->server == 0)
        server_become(dev, pipes[1], parent);
    close(pipes[1]);
    if (dev->server < 0)
        problem_set(&dev->call->problem, "fork: %s", strerror(errno));
    return dev->server > 0;
}

/* Prints what the server prints, and the links once it is ready. */
static void read_output(struct dev *dev)
{
    char bytes[LINE_SIZE];
    ssize_t size = read(dev->output, bytes, sizeof bytes);
    if (size <= 0) {
        close(dev->output);
        dev->output = -1; /* poll ignores it; SIGCHLD reports the end */
    }
    for (ssize_t i = 0; i < size; i++) {
        if (bytes[i] != '\n' && dev->line_size < LINE_SIZE - 1) {
            dev->line[dev->line_size++] = bytes[i];
            continue;
        }
        dev->line[dev->line_size] = '\0';
        dev->line_size = 0;
        puts(dev->line);
        if (strncmp(dev->line, listening, strlen(listening)) == 0) {
            struct buffer origin;
            const char *server = dev->line + strlen(listening);
            buffer_init(&origin, ORIGIN_MAX);
            local_receiver_write_origin(dev->receiver, &origin);
            printf("dashboard on %s/\n", server);
            printf("data in %s%s\n", dev->data,
                   dev->is_temporary ? ", removed at the end; --data DIR keeps it" : "");
            printf("try: duepost schedule hello --server %s --delay 5s --url %s/ --body "
                   "'{\"hello\":\"world\"}'\n",
                   server, buffer_text(&origin));
            if (is_clock_manual(dev))
                printf("turn the clock: duepost clock advance 1h --server %s\n", server);
            buffer_fini(&origin);
        }
        fflush(stdout);
    }
}

/* Waits until the server has ended, and returns its status from waitpid. */
static int follow_server(struct dev *dev)
{
    struct signalfd_siginfo info;
    int status;
    while (waitpid(dev->server, &status, WNOHANG) == 0) {
        struct pollfd polls[] = {{.fd = dev->signal_fd, .events = POLLIN},
                                 {.fd = dev->output, .events = POLLIN}};
        if (poll(polls, 2, -1) < 0)
            continue;
        if (polls[1].revents)
            read_output(dev);
        if (polls[0].revents && read(dev->signal_fd, &info, sizeof info) == sizeof info &&
            info.ssi_signo != SIGCHLD) {
            dev->is_stopping = true;
            kill(dev->server, SIGTERM);
        }
    }
    return status;
}

/* ---- the command ---- */

bool dev_run(struct call *call)
{
    struct dev dev = {.call = call, .output = -1};
    dev.signal_fd = terminal_signals(SIGCHLD, &call->problem);
    if (dev.signal_fd < 0)
        return false;
    dev.receiver = receive_start(call, "--receiver-listen", call->arguments.values[ARGUMENT_RECEIVER_LISTEN]);
    if (dev.receiver && open_data(&dev) && start_server(&dev)) {
        int status = follow_server(&dev);
        if (!dev.is_stopping || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
            problem_set(&call->problem, "the server has ended with %s %d",
                        WIFEXITED(status) ? "status" : "signal",
                        WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
    }
    local_receiver_stop(dev.receiver);
    if (dev.is_temporary)
        nftw(dev.data, remove_one, OPEN_MAX, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
    if (dev.output >= 0)
        close(dev.output);
    close(dev.signal_fd);
    return !call->problem.text[0];
}
