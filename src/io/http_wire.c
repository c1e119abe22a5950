#include "io/http_wire.h"

#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "io/http_call_tls.h"

enum { IDLE_RECORDS_MAX = 8 }; /* maximum number of TLS records without data, such as session tickets */

/* Returns CURLE_AGAIN if errno says that the socket is not ready, or else code with a message. */
static CURLcode code_of_errno(struct http_wire *wire, CURLcode code, const char *what)
{
    if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)
        return CURLE_AGAIN;
    snprintf(wire->error_text, sizeof wire->error_text, "%s failure: %s", what, strerror(errno));
    return code;
}

static CURLcode send_plain(struct http_wire *wire, struct slice head, struct slice body, size_t *size)
{
    struct iovec parts[] = {
        {(void *)(uintptr_t)head.data, head.size},
        {(void *)(uintptr_t)body.data, body.size},
    };
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = body.size ? 2 : 1};
    ssize_t sent = sendmsg(wire->fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0)
        return code_of_errno(wire, CURLE_SEND_ERROR, "Send");
    *size = (size_t)sent;
    return CURLE_OK;
}

/* With TLS, the head and the beginning of the body are copied together, so that one TLS record carries
 * both. */
static CURLcode send_tls(struct http_wire *wire, struct slice head, struct slice body, size_t *size,
                         char *room)
{
    size_t of_head = head.size < HTTP_WIRE_ROOM ? head.size : HTTP_WIRE_ROOM;
    size_t of_body = body.size < HTTP_WIRE_ROOM - of_head ? body.size : HTTP_WIRE_ROOM - of_head;
    if (of_head == 0)
        return curl_easy_send(wire->tls, body.data, body.size, size);
    memcpy(room, head.data, of_head);
    if (of_body)
        memcpy(room + of_head, body.data, of_body);
    return curl_easy_send(wire->tls, room, of_head + of_body, size);
}

CURLcode http_wire_send(struct http_wire *wire, struct slice head, struct slice body, size_t *sent,
                        char *room)
{
    while (*sent < head.size + body.size) {
        size_t of_head = *sent < head.size ? *sent : head.size, size = 0;
        struct slice head_left = slice_skip(head, of_head), body_left = slice_skip(body, *sent - of_head);
        CURLcode code = wire->tls ? send_tls(wire, head_left, body_left, &size, room)
                                  : send_plain(wire, head_left, body_left, &size);
        if (code != CURLE_OK)
            return code == CURLE_AGAIN ? CURLE_OK : code;
        *sent += size;
    }
    return CURLE_OK;
}

CURLcode http_wire_receive(struct http_wire *wire, char *room, size_t *size)
{
    if (wire->tls) {
        http_call_forget_alert();
        return curl_easy_recv(wire->tls, room, HTTP_WIRE_ROOM, size);
    }
    ssize_t received = recv(wire->fd, room, HTTP_WIRE_ROOM, MSG_DONTWAIT);
    if (received < 0)
        return code_of_errno(wire, CURLE_RECV_ERROR, "Recv");
    *size = (size_t)received;
    return CURLE_OK;
}

bool http_wire_has_alert(struct http_wire *wire, char *room)
{
    size_t size;
    CURLcode code = CURLE_AGAIN;
    http_call_forget_alert();
    for (int records = 0; wire->tls && records < IDLE_RECORDS_MAX && code == CURLE_AGAIN; records++)
        code = curl_easy_recv(wire->tls, room, HTTP_WIRE_ROOM, &size);
    return http_call_has_alert();
}

/* Returns whether the socket is open, and nothing has arrived at it. */
static bool is_socket_silent(const struct http_wire *wire)
{
    char byte;
    return recv(wire->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
}

/* With TLS, a read takes one record. The end of the connection may follow a session ticket, so several
 * records are read. */
bool http_wire_is_silent(struct http_wire *wire)
{
    char byte;
    size_t size;
    if (!wire->tls)
        return is_socket_silent(wire);
    for (int records = 0; records < IDLE_RECORDS_MAX; records++) {
        if (curl_easy_recv(wire->tls, &byte, 1, &size) != CURLE_AGAIN)
            return false;
        if (is_socket_silent(wire))
            return true;
    }
    return false;
}

void http_wire_begin(struct http_wire *wire)
{
    wire->error_text[0] = '\0';
    if (wire->tls)
        curl_easy_setopt(wire->tls, CURLOPT_ERRORBUFFER, wire->error_text);
}

void http_wire_close(struct http_wire *wire)
{
    if (!wire->tls) {
        close(wire->fd);
        return;
    }
    CURLMcode code = curl_multi_remove_handle(wire->multi, wire->tls); /* this closes the connection */
    assert(code == CURLM_OK);
    curl_easy_setopt(wire->tls, CURLOPT_ERRORBUFFER, NULL);
    http_handles_give(wire->handles, wire->tls);
}
