#include "support/wire.h"

#include <arpa/inet.h>
#include <check.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

static void set_deadline(int fd)
{
    const struct timeval wait = {.tv_sec = WIRE_DEADLINE_MS / 1000};
    const int on = 1;
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof wait);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

static struct sockaddr_in loopback(uint16_t port)
{
    return (struct sockaddr_in){
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

int wire_listen(uint16_t *port)
{
    struct sockaddr_in address = loopback(0);
    socklen_t size = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    ck_assert_int_eq(listen(fd, 1024), 0);
    ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&address, &size), 0);
    *port = ntohs(address.sin_port);
    return fd;
}

int wire_accept(int listen_fd)
{
    int fd = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC);
    if (fd >= 0)
        set_deadline(fd);
    return fd;
}

int wire_connect(uint16_t port)
{
    struct sockaddr_in address = loopback(port);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_ge(fd, 0);
    set_deadline(fd);
    ck_assert_int_eq(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
    return fd;
}

void wire_send(int fd, struct slice bytes)
{
    while (bytes.size) {
        ssize_t sent = send(fd, bytes.data, bytes.size, MSG_NOSIGNAL);
        if (sent < 0 && (errno == EPIPE || errno == ECONNRESET))
            return;
        ck_assert_msg(sent > 0, "send: %s", strerror(errno));
        bytes = slice_skip(bytes, (size_t)sent);
    }
}

/* Reads the next bytes. Returns false at the end of the stream. */
static bool read_more(int fd, struct wire_text *text)
{
    ck_assert_uint_lt(text->size, sizeof text->data - 1);
    ssize_t got = recv(fd, text->data + text->size, sizeof text->data - 1 - text->size, 0);
    if (got < 0 && errno != ECONNRESET)
        ck_abort_msg("nothing came within %d ms; so far: %s", (int)WIRE_DEADLINE_MS, text->data);
    if (got <= 0)
        return false;
    text->size += (size_t)got;
    text->data[text->size] = '\0';
    return true;
}

void wire_read_to_end(int fd, struct wire_text *text)
{
    text->size = 0;
    text->data[0] = '\0';
    while (read_more(fd, text))
        ;
}

static const char *find(const struct wire_text *text, const char *wanted)
{
    return memmem(text->data, text->size, wanted, strlen(wanted));
}

bool wire_read_for(int fd, struct wire_text *text, const char *wanted)
{
    text->size = 0;
    text->data[0] = '\0';
    while (!find(text, wanted))
        if (!read_more(fd, text))
            return false;
    return true;
}

bool wire_read_message(int fd, struct wire_text *text)
{
    if (!wire_read_for(fd, text, "\r\n\r\n"))
        return false;
    const char *end = find(text, "\r\n\r\n");
    const char *length = strcasestr(text->data, "\r\ncontent-length:");
    size_t wanted = (size_t)(end - text->data) + 4;
    if (length && length < end)
        wanted += strtoul(length + strlen("\r\ncontent-length:"), NULL, 10);
    while (text->size < wanted)
        if (!read_more(fd, text))
            return false;
    return true;
}

size_t wire_count(const struct wire_text *text, const char *wanted)
{
    size_t count = 0, size = strlen(wanted);
    struct slice rest = slice_from(text->data, text->size);
    for (const char *at; (at = memmem(rest.data, rest.size, wanted, size)); count++)
        rest = slice_skip(rest, (size_t)(at - rest.data) + size);
    return count;
}
