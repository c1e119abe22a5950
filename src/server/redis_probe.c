#include "server/redis_probe.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/pidfd.h"
#include "base/slice.h"

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

/* Opens the pidfd before PING is sent. Therefore the pidfd names the process that answers, and not a later
 * process with the same pid. */
static void see_who_listens(struct redis_probe *probe)
{
    struct ucred peer;
    socklen_t size = sizeof peer;
    if (getsockopt(probe->fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 || peer.pid <= 0)
        return;
    probe->pid = peer.pid;
    probe->pidfd = pidfd_of(peer.pid);
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
    if (probe->fd >= 0)
        see_who_listens(probe);
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
