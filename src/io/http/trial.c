#include "io/http/server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <microhttpd.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory.h"
#include "io/http/client.h"

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

/* ---- libcurl ---- */

#define USUAL(status) "HTTP/1.1 " status "\r\nX-A: 1\r\nContent-Length: 0\r\n\r\n"
#define OK            "HTTP/1.1 200 OK\r\n"

enum { CLIENT_DEADLINE_S = 30 };

/* Each of these answers follows a usual answer on the same connection. */
static const struct {
    struct slice bytes;
    const char *what;
} answers[] = {
    {SLICE(OK " X-A: 1\r\nContent-Length: 0\r\n\r\n"), "a fold before the first header"}, /* curl#11101 */
    {SLICE("HTTP/1.1 103 Hints\r\n\tX: 1\r\n\r\n" OK "\tX: 1\r\n\r\n"), "a fold in an interim answer"},
    {SLICE(OK "X: 1\r\n \r\n\t2\r\n 3\r\nContent-Length: 0\r\n\r\n"), "a header of several lines"},
    {SLICE(OK "Transfer-Encoding: chunked\r\n\r\n0\r\n X: 1\r\nY: 2\r\n\r\n"), "a fold in the trailers"},
    {SLICE(OK "Transfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n"), "a chunk size over 64 bits"},
    {SLICE(OK "Content-Length: -1\r\n\r\nx"), "a negative length"},
    {SLICE(OK ": 1\r\n:\r\nno colon\r\n\r\n"), "headers without a name or a colon"},
    {SLICE(OK "X: a\0b\r\n\r\n"), "a NUL in a header"},
    {SLICE("HTTP/1.1 204 No\r\nContent-Length: 9\r\n\r\n" OK "\r\n"), "an answer behind an answer"},
    {SLICE("HTTP/1.1 401 No\r\nWWW-Authenticate: Digest ,=,\r\nLocation: \r\nSet-Cookie: ;=\r\nAlt-Svc: "
           "=\"\r\nContent-Length: 0\r\n\r\n"),
     "headers with broken values"},
};

enum { ANSWERS = sizeof answers / sizeof *answers };

/* The child process: the client, and a receiver that is also a proxy. */
struct client_trial {
    struct loop *loop;
    struct http_client *client;
    struct watch *listening;
    int listen_fd;
    char address[64];
    bool uses_proxy;
    unsigned *step; /* number of answers sent; every second one is unusual. The parent reads it. */
};

struct trial_link {
    struct client_trial *trial;
    struct watch *watch;
    int fd;
};

static void link_on_readable(void *arg, bool readable, bool writable)
{
    struct trial_link *link = arg;
    unsigned step = *link->trial->step;
    char request[1024];
    (void)readable, (void)writable;
    ssize_t size = read(link->fd, request, sizeof request);
    if (size < 0 && errno == EAGAIN)
        return;
    bool is_usual = step % 2 == 0;
    struct slice bytes = link->trial->uses_proxy ? SLICE(USUAL("403 No")) : SLICE(USUAL("200 OK"));
    if (!is_usual)
        bytes = link->trial->uses_proxy ? SLICE("HTTP/1.1 403 No\r\n X-A: 1\r\nContent-Length: 0\r\n\r\n")
                                        : answers[step / 2].bytes;
    bool is_kept = size > 0 && write(link->fd, bytes.data, bytes.size) == (ssize_t)bytes.size && is_usual;
    if (is_kept)
        return;
    watch_free(link->watch);
    close(link->fd);
    free(link);
}

static void trial_on_connection(void *arg, bool readable, bool writable)
{
    struct client_trial *trial = arg;
    (void)readable, (void)writable;
    int fd = accept4(trial->listen_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0)
        return;
    struct trial_link *link = NEW(struct trial_link);
    *link = (struct trial_link){trial, watch_new(trial->loop, fd, link_on_readable, link), fd};
    watch_set(link->watch, true, false);
}

static bool trial_may_connect(void *arg, const struct sockaddr *address)
{
    (void)arg, (void)address;
    return true;
}

static bool trial_may_send(void *arg)
{
    (void)arg;
    return true;
}

static void trial_on_done(void *arg, const struct http_outcome *outcome);

static void trial_ask(struct client_trial *trial)
{
    const char *url = trial->uses_proxy ? "https://duepost.invalid/" : trial->address;
    http_call(trial->client, &(struct http_call_request){
                                 .method = HTTP_METHOD_GET,
                                 .url = slice_of(url),
                                 .timeout_ms = CLIENT_DEADLINE_S * 1000,
                                 .may_connect = trial_may_connect,
                                 .may_send = trial_may_send,
                                 .on_done = trial_on_done,
                                 .arg = trial,
                             });
}

static void trial_on_done(void *arg, const struct http_outcome *outcome)
{
    struct client_trial *trial = arg;
    (void)outcome;
    if (++*trial->step < (trial->uses_proxy ? 4 : 2 * ANSWERS))
        trial_ask(trial);
    else
        loop_stop(trial->loop);
}

static void trial_use_client(struct client_trial *trial, bool uses_proxy)
{
    trial->uses_proxy = uses_proxy;
    trial->client = http_client_new(
        trial->loop, &(struct http_client_options){.max_idle = 4,
                                                   .uses_libcurl_only = true,
                                                   .proxy = uses_proxy ? trial->address : NULL});
    *trial->step = 0;
    trial_ask(trial);
    loop_run(trial->loop);
    http_client_free(trial->client);
}

/* Runs in the child. Returns its exit code. */
static int trial_read_answers(unsigned *step)
{
    struct client_trial trial = {.loop = loop_new(), .step = step};
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof at;
    trial.listen_fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (trial.listen_fd < 0 || bind(trial.listen_fd, (struct sockaddr *)&at, size) != 0 ||
        listen(trial.listen_fd, 16) != 0 || getsockname(trial.listen_fd, (struct sockaddr *)&at, &size) != 0)
        return EXIT_FAILURE;
    trial.listening = watch_new(trial.loop, trial.listen_fd, trial_on_connection, &trial);
    watch_set(trial.listening, true, false);
    snprintf(trial.address, sizeof trial.address, "http://127.0.0.1:%d", ntohs(at.sin_port));
    trial_use_client(&trial, false);
    trial_use_client(&trial, true);
    return EXIT_SUCCESS;
}

enum status http_trial_run_client(struct problem *problem)
{
    unsigned *step = mmap(NULL, sizeof *step, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t child = step == MAP_FAILED ? -1 : fork();
    int ending = -1;
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
        unsetenv("DUEPOST_TEST_POINT"); /* the points of tests are in the parent */
        alarm(CLIENT_DEADLINE_S);
        _exit(trial_read_answers(step));
    }
    while (child > 0 && waitpid(child, &ending, 0) < 0 && errno == EINTR)
        continue;
    unsigned index = child > 0 ? *step / 2 : 0;
    struct library library;
    http_client_library(&library);
    if (step != MAP_FAILED)
        munmap(step, sizeof *step);
    if (child > 0 && WIFEXITED(ending) && WEXITSTATUS(ending) == EXIT_SUCCESS)
        return STATUS_OK;
    if (child < 0 || WIFEXITED(ending) || WTERMSIG(ending) == SIGALRM) {
        problem_set(problem, "cannot try out libcurl in a process of its own");
        return STATUS_UNAVAILABLE;
    }
    problem_set(
        problem,
        "libcurl %s ends the process (signal %d) when it reads %s; install another version. Until then, "
        "duepost sends no request to which libcurl would read the answer: with --egress-proxy, and to "
        "urls with capital letters, IPv6 addresses and others, jobs wait",
        library.version, WTERMSIG(ending), answers[index < ANSWERS ? index : 0].what);
    return STATUS_FAILED;
}
