/* Sends a head over a connection, through libmicrohttpd. If it reaches the handler, a strict parser accepts
 * the same bytes and finds the same parts. */
#include <linux/sockios.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/un.h>
#include <unistd.h>

#include "fuzz.h"
#include "io/http/server.h"

enum { INPUT_MAX = 4096 };

static struct loop *loop;
static struct sockaddr_un at;
static socklen_t at_size;
static int client;
static struct slice input;
static size_t passed;
static bool is_shut;

/* ---- the strict reading (RFC 9112, sections 3 and 5) ---- */

/* Takes a line, without its CR LF. Returns false if the line contains a control byte other than a tab. */
static bool take_line(struct slice *rest, struct slice *line)
{
    const char *end = memmem(rest->data, rest->size, "\r\n", 2);
    if (!end)
        return false;
    *line = slice_from(rest->data, (size_t)(end - rest->data));
    *rest = slice_skip(*rest, line->size + 2);
    for (size_t i = 0; i < line->size; i++)
        if (((unsigned char)line->data[i] < ' ' && line->data[i] != '\t') || line->data[i] == 0x7f)
            return false;
    return true;
}

static bool take_request_line(struct slice *rest, struct slice *method, struct slice *target)
{
    struct slice line, version;
    while (rest->size >= 2 &&
           memcmp(rest->data, "\r\n", 2) == 0) /* empty lines before the head do not belong to it */
        *rest = slice_skip(*rest, 2);
    return take_line(rest, &line) && !memchr(line.data, '\t', line.size) &&
           slice_cut(line, ' ', method, &line) && slice_cut(line, ' ', target, &version) && method->size &&
           target->size &&
           (slice_equal(version, SLICE("HTTP/1.1")) || slice_equal(version, SLICE("HTTP/1.0")));
}

/* Checks that the server has the same value for name as the lines: no value, or exactly one. */
static void check_value(const struct http_request *request, struct slice lines, const char *name)
{
    struct slice line, field, value, found = SLICE("");
    size_t count = 0;
    while (take_line(&lines, &line) && line.size) {
        bool is_field = slice_cut(line, ':', &field, &value);
        assert(is_field && field.size && !memchr(field.data, ' ', field.size) &&
               !memchr(field.data, '\t', field.size));
        if (slice_equal_nocase(field, slice_of(name))) {
            found = slice_trim(value);
            count++;
        }
    }
    assert(line.size == 0 && count <= 1);
    assert(http_request_has_header(request, name) == (count == 1));
    assert(slice_equal(http_request_header(request, name), found));
}

static void on_head(void *arg, struct http_request *request)
{
    struct slice rest = input, method = SLICE(""), target = SLICE("");
    (void)arg;
    bool is_plain = take_request_line(&rest, &method, &target);
    assert(is_plain);
    assert(slice_equal(http_request_method(request), method));
    assert(slice_equal(http_request_target(request), target));
    for (const char *const *name = (const char *const[]){"host", "content-length", "transfer-encoding", NULL};
         *name; name++)
        check_value(request, rest, *name);
    passed++;
    http_answer(request, &(struct http_answer){.status = 204});
}

/* ---- the connection ---- */

static void on_refused(void *arg, struct http_request *request)
{
    (void)arg;
    http_answer(request, &(struct http_answer){.status = 400});
}

static void on_malformed(void *arg, struct http_request *request, const char *detail)
{
    assert(detail && *detail);
    on_refused(arg, request);
}

static void on_readable(void *arg, bool readable, bool writable)
{
    char answer[1024];
    (void)arg, (void)readable, (void)writable;
    if (read(client, answer, sizeof answer) <= 0)
        loop_stop(loop);
}

/* Ends the client's stream only when the server has read all its bytes. libmicrohttpd uses an edge-triggered
 * epoll, and does not notice an end that arrives together with bytes. */
static void on_turn_end(void *arg)
{
    int unread;
    (void)arg;
    if (is_shut || ioctl(client, SIOCOUTQ, &unread) != 0 || unread > 0)
        return;
    shutdown(client, SHUT_WR);
    is_shut = true;
}

static int new_socket(void)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    assert(fd >= 0);
    return fd;
}

static struct http_server *new_server(void)
{
    const struct http_server_options options = {
        .listen_fd = new_socket(),
        .handler = {.max_body_bytes = 1,
                    .on_head = on_head,
                    .on_request = on_refused,
                    .on_too_large = on_refused,
                    .on_over_limit = on_refused,
                    .on_malformed = on_malformed},
    };
    at.sun_family = AF_UNIX;
    at_size = sizeof at;
    int failed = bind(options.listen_fd, (struct sockaddr *)&at, offsetof(struct sockaddr_un, sun_path)) ||
                 getsockname(options.listen_fd, (struct sockaddr *)&at, &at_size) ||
                 listen(options.listen_fd, 1);
    assert(!failed);
    loop = loop_new();
    struct http_server *server = http_server_new(loop, &options);
    hook_new(loop, LOOP_PHASE_SEND, on_turn_end, NULL);
    return server;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct http_server *server;
    if (!server)
        server = new_server();
    input = input_of(data, size < INPUT_MAX ? size : INPUT_MAX);
    passed = 0;
    is_shut = false;
    client = new_socket();
    int failed = connect(client, (struct sockaddr *)&at, at_size);
    assert(!failed);
    ssize_t sent = write(client, input.data, input.size);
    assert(sent == (ssize_t)input.size);
    struct watch *watch = watch_new(loop, client, on_readable, NULL);
    watch_set(watch, true, false);
    loop_run(loop);
    watch_free(watch);
    close(client);
    assert(passed <= 1);
    return 0;
}
