#include "io/http_trial.h"

#include <errno.h>
#include <fcntl.h>
#include <microhttpd.h>
#include <stddef.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#include "io/http_server.h"

#define DEADLINE_US INT64_C(30000000)

#define LINE "GET / HTTP/1.1\r\n"
#define HOST "Host: x\r\n"

static const struct {
    struct slice bytes;
    const char *has; /* text that the reason of the refusal must contain; NULL: the head must pass */
} heads[] = {
    {SLICE(LINE "Host: x \t\r\nA:\r\nB: \t\r\nC:\td e\r\n\r\n"), NULL},
    {SLICE("GET / HTTP/1.1\n" HOST "\r\n"), "a request line that ends with a bare LF"},
    {SLICE(LINE "Host: x\nA: b\r\n\r\n"), "a header line that ends with a bare LF"},
    {SLICE(LINE HOST "\n"), "an empty line that ends with a bare LF"},
    {SLICE(LINE HOST "A: b\rC: d\r\n\r\n"), "a bare CR in a value"},
    {SLICE(LINE HOST "\r\r\n"), "a bare CR in front of the empty line"},
    {SLICE(LINE HOST "A: b\r\n c\r\n\r\n"), "a folded value"},
    {SLICE(LINE HOST "A:\r\n\tb\r\n\r\n"), "a value folded before it begins"},
    {SLICE(LINE " A: b\r\n" HOST "\r\n"), "a fold before the first header"},
    {SLICE(LINE HOST "  \r\n\r\n"), "a line of spaces"},
    {SLICE(LINE HOST "A\r\n\r\n"), "a header line without a colon"},
    {SLICE(LINE HOST ":\nA: b\r\n\r\n"), "a colon and a bare LF as the empty line"},
    {SLICE(LINE HOST "A : b\r\n\r\n"), "a space before a colon"},
    {SLICE(LINE HOST "A\0B: c\r\n\r\n"), "a NUL in a name"},
    {SLICE(LINE HOST "A: b\0c\r\n\r\n"), "a NUL in a value"},
    {SLICE(LINE HOST "A: b\0\r\n\r\n"), "a NUL at the end of a value"},
    {SLICE(LINE HOST "A: b\0\n\r\n"), "a NUL and a bare LF as a line end"},
    {SLICE(LINE HOST "\0\nA: b\r\n\r\n"), "a NUL and a bare LF as the empty line"},
    {SLICE("GET / HTTP/1.1\0\n" HOST "\r\n"), "a NUL and a bare LF after the version"},
    {SLICE("GET /\0 HTTP/1.1\r\n" HOST "\r\n"), "a NUL in the request target"},
    {SLICE("GET  / HTTP/1.1\r\n" HOST "\r\n"), "two spaces before the request target"},
    {SLICE("GET /  HTTP/1.1\r\n" HOST "\r\n"), "two spaces before the version"},
    {SLICE("GET\t/ HTTP/1.1\r\n" HOST "\r\n"), "a tab in the request line"},
    {SLICE("GET /\vHTTP/1.1\r\n" HOST "\r\n"), "a vertical tab in the request line"},
    {SLICE("GET / HTTP/1.1 \r\n" HOST "\r\n"), "a space after the version"},
    {SLICE("GET / x HTTP/1.1\r\n" HOST "\r\n"), "a space in the request target"},
};

struct trial {
    struct loop *loop;
    struct timer *timer;
    struct sockaddr_un at;
    socklen_t at_size;
    int listen_fd;
    int fd; /* the client's end */
    bool has_passed, is_late;
};

static void trial_on_head(void *arg, struct http_request *request)
{
    struct trial *trial = arg;
    trial->has_passed = true;
    http_answer(request, &(struct http_answer){.status = 204});
}

static void trial_on_request(void *arg, struct http_request *request)
{
    (void)arg;
    http_answer(request, &(struct http_answer){.status = 400});
}

static void trial_on_malformed(void *arg, struct http_request *request, const char *detail)
{
    (void)detail;
    trial_on_request(arg, request);
}

static void trial_on_readable(void *arg, bool readable, bool writable)
{
    struct trial *trial = arg;
    char answer[1024];
    (void)readable, (void)writable;
    ssize_t size = read(trial->fd, answer, sizeof answer);
    if (size == 0 || (size < 0 && errno != EAGAIN && errno != EINTR))
        loop_stop(trial->loop);
}

static void trial_on_timer(void *arg)
{
    struct trial *trial = arg;
    trial->is_late = true;
    loop_stop(trial->loop);
}

static int trial_socket(void)
{
    return socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
}

/* Listens on a unix socket, for which the kernel chooses an abstract name. */
static bool trial_listen(struct trial *trial)
{
    trial->at.sun_family = AF_UNIX;
    trial->at_size = sizeof trial->at;
    trial->listen_fd = trial_socket();
    return trial->listen_fd >= 0 &&
           bind(trial->listen_fd, (struct sockaddr *)&trial->at, offsetof(struct sockaddr_un, sun_path)) ==
               0 &&
           getsockname(trial->listen_fd, (struct sockaddr *)&trial->at, &trial->at_size) == 0 &&
           listen(trial->listen_fd, 1) == 0;
}

/* Sends one head and waits until the server has closed the connection. */
static bool trial_send(struct trial *trial, struct slice head)
{
    trial->has_passed = false;
    trial->fd = trial_socket();
    bool is_sent = trial->fd >= 0 && connect(trial->fd, (struct sockaddr *)&trial->at, trial->at_size) == 0 &&
                   write(trial->fd, head.data, head.size) == (ssize_t)head.size &&
                   shutdown(trial->fd, SHUT_WR) == 0;
    if (is_sent) {
        struct watch *watch = watch_new(trial->loop, trial->fd, trial_on_readable, trial);
        watch_set(watch, true, false);
        loop_run(trial->loop);
        watch_free(watch);
    }
    if (trial->fd >= 0)
        close(trial->fd);
    return is_sent && !trial->is_late;
}

static enum status trial_judge(struct trial *trial, struct problem *problem)
{
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
        if (!trial_send(trial, heads[i].bytes)) {
            problem_set(problem, "cannot try out libmicrohttpd on a socket of our own: %s",
                        trial->is_late ? "no answer within 30 s" : strerror(errno));
            return STATUS_FAILED;
        }
        if (trial->has_passed == !heads[i].has)
            continue;
        problem_set(problem, "libmicrohttpd %s %s%s; install version 0.9.75 or 1.0.1", MHD_get_version(),
                    heads[i].has ? "is not safe behind a proxy (request smuggling), because it accepts "
                                 : "refuses a valid request head",
                    heads[i].has ? heads[i].has : "");
        return STATUS_FAILED;
    }
    return STATUS_OK;
}

enum status http_trial_run(struct problem *problem)
{
    struct trial trial = {.loop = loop_new()};
    if (!trial_listen(&trial)) {
        problem_set(problem, "cannot listen on a Unix socket: %s", strerror(errno));
        loop_free(trial.loop);
        return STATUS_FAILED;
    }
    const struct http_server_options options = {
        .listen_fd = trial.listen_fd,
        .handler = {.max_body_bytes = 1,
                    .on_head = trial_on_head,
                    .on_request = trial_on_request,
                    .on_too_large = trial_on_request,
                    .on_over_limit = trial_on_request,
                    .on_malformed = trial_on_malformed,
                    .arg = &trial},
    };
    struct http_server *server = http_server_new(trial.loop, &options);
    trial.timer = timer_new(trial.loop, trial_on_timer, &trial);
    timer_start(trial.timer, DEADLINE_US);
    enum status status = trial_judge(&trial, problem);
    timer_free(trial.timer);
    http_server_free(server);
    loop_free(trial.loop);
    return status;
}
