#include "cli/worker/work.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* Indexes of the descriptors with which a command is started: one for the body, and two for each of two
 * pipes, first the end that is read, then the end that is written. */
enum { INPUT = 0, ERRORS = 1, FAILURE = 3, START_DESCRIPTORS = 5 };

/* ---- start ---- */

/* Returns a descriptor that reads input from its beginning, or -1. */
static int open_input(struct slice input)
{
    int fd = memfd_create("job", MFD_CLOEXEC);
    while (fd >= 0 && input.size) {
        ssize_t size = write(fd, input.data, input.size);
        if (size < 0 && errno != EINTR) {
            close(fd);
            return -1;
        }
        input = slice_skip(input, size > 0 ? (size_t)size : 0);
    }
    if (fd >= 0)
        lseek(fd, 0, SEEK_SET);
    return fd;
}

/* Runs the command in the child. If that is not possible, writes errno to the pipe failure. */
static _Noreturn void command_become(char *const *argv, char *const *environment, const int *descriptors,
                                     pid_t parent)
{
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) /* the parent died before prctl was called */
        _exit(EXIT_SUCCESS);
    /* Resets the signal dispositions and the signal mask to their defaults, which a program expects. */
    sigset_t none;
    for (int number = 1; number < NSIG; number++)
        signal(number, SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (dup2(descriptors[INPUT], STDIN_FILENO) >= 0 && dup2(descriptors[ERRORS + 1], STDERR_FILENO) >= 0)
        execvpe(argv[0], argv, environment);
    int error = errno;
    ssize_t written = write(descriptors[FAILURE + 1], &error, sizeof error);
    _exit(written == sizeof error ? EXIT_FAILURE : EXIT_FAILURE + 1);
}

/* Waits until the child runs the command. Returns 0, or the child's errno if the child cannot run it. */
static int wait_for_exec(int failure)
{
    int error = 0;
    ssize_t size;
    do
        size = read(failure, &error, sizeof error);
    while (size < 0 && errno == EINTR);
    return size == sizeof error ? error : 0;
}

static enum status fail_to_start(const char *name, int error, struct problem *problem)
{
    problem_set(problem, "cannot run %.200s: %s", name, strerror(error));
    return error == EAGAIN || error == ENOMEM || error == EMFILE || error == ENFILE ? STATUS_FAILED
                                                                                    : STATUS_INVALID;
}

/* Opens the descriptors with which a command is started. After an error, the descriptors that were not opened
 * are -1. */
static bool open_all(int descriptors[START_DESCRIPTORS], struct slice input)
{
    for (int i = 0; i < START_DESCRIPTORS; i++)
        descriptors[i] = -1;
    return (descriptors[INPUT] = open_input(input)) >= 0 && pipe2(descriptors + ERRORS, O_CLOEXEC) == 0 &&
           pipe2(descriptors + FAILURE, O_CLOEXEC) == 0;
}

/* Closes one descriptor. In the child, closes only the child's copy. */
static void close_one(int *descriptor)
{
    if (*descriptor >= 0)
        close(*descriptor);
    *descriptor = -1;
}

enum status command_process_start(struct command_process *process, char *const *argv,
                                  char *const *environment, struct slice input, struct problem *problem)
{
    int descriptors[START_DESCRIPTORS], error = 0;
    pid_t parent = getpid();
    *process = (struct command_process){.errors = -1};
    if (!open_all(descriptors, input) || (process->pid = fork()) < 0) {
        error = errno;
        process->pid = 0;
    } else if (process->pid == 0) {
        command_become(argv, environment, descriptors, parent);
    } else {
        setpgid(process->pid, process->pid); /* the child does the same: whichever runs first, the group
                                                exists before the parent sends a signal */
        close_one(&descriptors[FAILURE + 1]);
        error = wait_for_exec(descriptors[FAILURE]);
        process->errors = descriptors[ERRORS];
        descriptors[ERRORS] = -1;
        fcntl(process->errors, F_SETFL, O_NONBLOCK);
    }
    for (int i = 0; i < START_DESCRIPTORS; i++)
        close_one(&descriptors[i]);
    if (!error)
        return STATUS_OK;
    command_process_fini(process);
    return fail_to_start(argv[0], error, problem);
}

/* ---- standard error ---- */

/* Copies text to standard error of this process. Text that cannot be written is lost. */
static void copy_out(struct slice text)
{
    while (text.size) {
        ssize_t size = write(STDERR_FILENO, text.data, text.size);
        if (size < 0 && errno != EINTR)
            return;
        text = slice_skip(text, size > 0 ? (size_t)size : 0);
    }
}

void command_process_read(struct command_process *process)
{
    char chunk[4096];
    /* The number of reads is limited, because a command may write without end. */
    for (int i = 0; i < 64 && process->errors >= 0; i++) {
        ssize_t size = read(process->errors, chunk, sizeof chunk);
        if (size > 0) {
            struct slice text = slice_from(chunk, (size_t)size);
            copy_out(text);
            for (size_t at = 0; at < text.size; at++)
                if (text.data[at] == '\n' || text.data[at] == '\r') {
                    if (slice_trim(slice_from(process->line, process->line_size)).size) {
                        memcpy(process->last, process->line, process->line_size);
                        process->last_size = process->line_size;
                    }
                    process->line_size = 0;
                } else if (process->line_size < COMMAND_LINE_MAX) {
                    process->line[process->line_size++] = text.data[at];
                }
        } else if (size == 0) {
            close(process->errors);
            process->errors = -1;
        } else if (errno != EINTR) {
            return;
        }
    }
}

struct slice command_process_last_line(const struct command_process *process)
{
    struct slice line = slice_trim(slice_from(process->line, process->line_size));
    return line.size ? line : slice_trim(slice_from(process->last, process->last_size));
}

/* ---- end ---- */

bool command_process_has_ended(struct command_process *process)
{
    pid_t pid;
    do
        pid = waitpid(process->pid, &process->status, WNOHANG);
    while (pid < 0 && errno == EINTR);
    if (pid == 0)
        return false;
    process->pid = 0;
    command_process_read(process);
    return true;
}

void command_process_signal(const struct command_process *process, int signal)
{
    if (process->pid)
        kill(-process->pid, signal);
}

void command_process_fini(struct command_process *process)
{
    if (process->pid) {
        command_process_signal(process, SIGKILL);
        while (waitpid(process->pid, &process->status, 0) < 0 && errno == EINTR)
            ;
    }
    if (process->errors >= 0)
        close(process->errors);
    *process = (struct command_process){.errors = -1};
}
