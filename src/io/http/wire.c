/* Connections that libcurl has made: the handles that made them, the alerts of TLS, and the bytes. */
#include "io/http/client_private.h"

#include <assert.h>
#include <errno.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/memory.h"

/* ---- handles that have connected ---- */

enum { HANDLES_MAX = 1024 };

struct http_handles {
    CURL *handles[HANDLES_MAX]; /* in the order of their last use, the latest at the end */
    size_t count;
};

CURL *http_handles_take(struct http_handles *handles)
{
    CURL *handle = handles->count ? handles->handles[--handles->count] : curl_easy_init();
    assert(handle);
    return handle;
}

void http_handles_give(struct http_handles *handles, CURL *handle)
{
    if (handles->count < HANDLES_MAX)
        handles->handles[handles->count++] = handle;
    else
        curl_easy_cleanup(handle);
}

struct http_handles *http_handles_new(void)
{
    return NEW(struct http_handles);
}

void http_handles_free(struct http_handles *handles)
{
    if (!handles)
        return;
    for (size_t i = 0; i < handles->count; i++)
        curl_easy_cleanup(handles->handles[i]);
    free(handles);
}

/* ---- TLS ---- */

static bool has_openssl;
static _Thread_local int fatal_alert = -1; /* -1: none */
static _Thread_local bool
    was_asked;               /* before the alert, it has asked for a client certificate, and got none */
static int asked_index = -1; /* index of a connection's data, which is not NULL if it was asked */

static void find_library(void)
{
    const char *library = curl_version_info(CURLVERSION_NOW)->ssl_version;
    asked_index = SSL_get_ex_new_index(0, NULL, NULL, NULL, NULL);
    has_openssl = library && strncmp(library, "OpenSSL/3", strlen("OpenSSL/3")) == 0;
}

static void on_info(const SSL *ssl, int what, int value)
{
    if (what != SSL_CB_READ_ALERT || value >> 8 != SSL3_AL_FATAL)
        return;
    fatal_alert = value & 0xff;
    was_asked = SSL_get_ex_data(ssl, asked_index) != NULL;
}

/* libssl calls this only if there is no certificate. */
static int on_asked(SSL *ssl, X509 **certificate, EVP_PKEY **key)
{
    (void)certificate, (void)key;
    SSL_set_ex_data(ssl, asked_index, ssl);
    return 0;
}

static CURLcode on_context(CURL *easy, void *context, void *arg)
{
    (void)easy, (void)arg;
    SSL_CTX_clear_mode(context, SSL_MODE_AUTO_RETRY);
    SSL_CTX_set_info_callback(context, on_info);
    SSL_CTX_set_client_cert_cb(context, on_asked);
    return CURLE_OK;
}

/* With another library than OpenSSL, the context would be of another type. */
void http_call_set_tls(CURL *easy)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find_library);
    if (has_openssl)
        curl_easy_setopt(easy, CURLOPT_SSL_CTX_FUNCTION, on_context);
}

int64_t http_call_certificate_until(CURL *easy)
{
    struct curl_tlssessioninfo *info = NULL;
    struct tm tm;
    if (!has_openssl || curl_easy_getinfo(easy, CURLINFO_TLS_SSL_PTR, &info) != CURLE_OK || !info ||
        info->backend != CURLSSLBACKEND_OPENSSL || !info->internals)
        return 0;
    const X509 *certificate = SSL_get0_peer_certificate(info->internals);
    if (!certificate || !ASN1_TIME_to_tm(X509_get0_notAfter(certificate), &tm))
        return 0;
    int64_t until_s = timegm(&tm);
    return until_s > 0 ? until_s * 1000 : 0;
}

void http_call_forget_alert(void)
{
    fatal_alert = -1;
    was_asked = false;
}

bool http_call_has_alert(void)
{
    return fatal_alert >= 0;
}

void http_call_write_alert(char *text, size_t size)
{
    /* OpenSSL 3.0 has no name for this alert. */
    const char *name = fatal_alert == SSL_AD_CERTIFICATE_REQUIRED ? "certificate required"
                                                                  : SSL_alert_desc_string_long(fatal_alert);
    snprintf(text, size, "TLS alert %d of the receiver: %s%s", fatal_alert, name,
             was_asked && fatal_alert != SSL_AD_CERTIFICATE_REQUIRED
                 ? "; it has asked for a client certificate"
                 : "");
}

/* ---- bytes ---- */

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
