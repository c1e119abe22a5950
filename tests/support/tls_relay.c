#include "support/tls_relay.h"

#include <errno.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/memory.h"
#include "support/suite.h"
#include "support/wire.h"

struct tls_relay {
    pthread_t thread;
    int fd, plain_fd;
    SSL *tls;
    bool has_input_ended, has_output_ended; /* no more bytes from the client, or from the server */
    bool has_sent_tickets;
};

/* ---- the certificate ---- */

static SSL_CTX *context;
static char certificate_name[64];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void add_extension(X509 *certificate, int name, const char *value)
{
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, NULL, name, value);
    ck_assert_ptr_nonnull(extension);
    ck_assert_int_eq(X509_add_ext(certificate, extension, -1), 1);
    X509_EXTENSION_free(extension);
}

static X509 *certificate_new(EVP_PKEY *key)
{
    X509 *certificate = X509_new();
    X509_NAME *name = X509_get_subject_name(certificate);
    X509_set_version(certificate, X509_VERSION_3);
    ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1);
    X509_gmtime_adj(X509_getm_notBefore(certificate), -3600);
    X509_gmtime_adj(X509_getm_notAfter(certificate), 24L * 3600);
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const unsigned char *)"test", -1, -1, 0);
    X509_set_issuer_name(certificate, name);
    X509_set_pubkey(certificate, key);
    add_extension(certificate, NID_basic_constraints, "critical,CA:TRUE");
    add_extension(certificate, NID_subject_alt_name, "IP:127.0.0.1");
    ck_assert_int_gt(X509_sign(certificate, key, EVP_sha256()), 0);
    return certificate;
}

static void forget(void)
{
    SSL_CTX_free(context);
    unlink(certificate_name);
}

static void make_context(void)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *certificate = certificate_new(key);
    snprintf(certificate_name, sizeof certificate_name, "/tmp/tls_relay-%ld-XXXXXX", (long)getpid());
    FILE *file = fdopen(mkstemp(certificate_name), "w");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(PEM_write_X509(file, certificate), 1);
    fclose(file);
    context = SSL_CTX_new(TLS_server_method());
    ck_assert_int_eq(SSL_CTX_use_certificate(context, certificate), 1);
    ck_assert_int_eq(SSL_CTX_use_PrivateKey(context, key), 1);
    X509_free(certificate);
    EVP_PKEY_free(key);
    atexit(forget);
}

const char *tls_relay_certificate(void)
{
    pthread_once(&once, make_context);
    return certificate_name;
}

/* ---- the thread ---- */

static atomic_int ends, resumed;

int tls_relay_ends(void)
{
    return ends;
}

int tls_relay_resumed(void)
{
    return resumed;
}

static atomic_int wanted_tickets;
static atomic_size_t sent_tickets;

void tls_relay_send_tickets(int number)
{
    wanted_tickets = number;
}

size_t tls_relay_sent_tickets(void)
{
    return sent_tickets;
}

/* Makes all tickets before it sends them, so that they arrive faster than the client can read them. The
 * sending has a time limit, because a client with a full buffer may never read again. */
static void send_tickets(struct tls_relay *relay)
{
    char *bytes;
    BIO *memory = BIO_new(BIO_s_mem()), *socket = SSL_get_wbio(relay->tls);
    BIO_up_ref(socket);
    SSL_set0_wbio(relay->tls, memory);
    BIO_up_ref(memory);
    for (int i = 0; i < wanted_tickets; i++) {
        ck_assert_int_eq(SSL_new_session_ticket(relay->tls), 1);
        ck_assert_int_eq(SSL_do_handshake(relay->tls), 1);
    }
    SSL_set0_wbio(relay->tls, socket);
    size_t size = (size_t)BIO_get_mem_data(memory, &bytes), sent = 0;
    setsockopt(relay->fd, SOL_SOCKET, SO_SNDTIMEO, &(struct timeval){.tv_sec = 2}, sizeof(struct timeval));
    for (ssize_t step = 1; sent < size && step > 0; sent += step > 0 ? (size_t)step : 0)
        step = send(relay->fd, bytes + sent, size - sent, MSG_NOSIGNAL);
    sent_tickets = sent == size ? size : 0;
    BIO_free(memory);
}

/* Closes the client's connection so that the client gets a reset. */
static void reset(struct tls_relay *relay)
{
    struct linger linger = {.l_onoff = 1, .l_linger = 0};
    setsockopt(relay->fd, SOL_SOCKET, SO_LINGER, &linger, sizeof linger);
}

/* Passes on bytes from the client. Returns false if the relay must end. */
static bool pass_from_client(struct tls_relay *relay)
{
    char room[16 * 1024];
    int size = SSL_read(relay->tls, room, sizeof room);
    if (size <= 0) {
        relay->has_input_ended = true;
        return shutdown(relay->plain_fd, SHUT_WR) == 0;
    }
    for (ssize_t sent = 0, step; sent < size; sent += step)
        if ((step = send(relay->plain_fd, room + sent, (size_t)(size - sent), MSG_NOSIGNAL)) < 0)
            return false;
    if (!relay->has_sent_tickets && wanted_tickets)
        send_tickets(relay);
    relay->has_sent_tickets = true;
    return SSL_pending(relay->tls) == 0 || pass_from_client(relay);
}

/* Passes on bytes from the server. Returns false if the relay must end. */
static bool pass_from_server(struct tls_relay *relay)
{
    char room[16 * 1024];
    ssize_t size = recv(relay->plain_fd, room, sizeof room, 0);
    if (size > 0)
        return SSL_write(relay->tls, room, (int)size) > 0;
    if (size < 0) {
        reset(relay); /* the server has closed its end, and has not read all bytes */
        return false;
    }
    relay->has_output_ended = true;
    SSL_shutdown(relay->tls);
    bool is_open = shutdown(relay->fd, SHUT_WR) == 0;
    ends++;
    return is_open;
}

static void pass(struct tls_relay *relay)
{
    for (;;) {
        struct pollfd ready[] = {
            {.fd = relay->has_input_ended ? -1 : relay->fd, .events = POLLIN},
            {.fd = relay->plain_fd, .events = relay->has_output_ended ? 0 : POLLIN},
        };
        ck_assert_int_gt(poll(ready, 2, 10 * WIRE_DEADLINE_MS), 0);
        if (ready[0].revents && !pass_from_client(relay))
            return;
        if (ready[1].revents & POLLIN && !pass_from_server(relay))
            return;
        if (ready[1].revents & POLLHUP && !(ready[1].revents & POLLIN))
            return;
    }
}

static void *run(void *arg)
{
    struct tls_relay *relay = arg;
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGPIPE); /* SSL_write sends without MSG_NOSIGNAL */
    pthread_sigmask(SIG_BLOCK, &signals, NULL);
    if (SSL_accept(relay->tls) == 1) {
        resumed += SSL_session_reused(relay->tls);
        pass(relay);
    }
    SSL_free(relay->tls);
    close(relay->fd);
    close(relay->plain_fd);
    return NULL;
}

struct tls_relay *tls_relay_begin(int fd, int *plain_fd)
{
    int pair[2];
    struct tls_relay *relay = NEW(struct tls_relay);
    tls_relay_certificate();
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    *plain_fd = pair[0];
    relay->fd = fd;
    relay->plain_fd = pair[1];
    relay->tls = SSL_new(context);
    SSL_set_fd(relay->tls, fd);
    ck_assert_int_eq(pthread_create(&relay->thread, NULL, run, relay), 0);
    return relay;
}

void tls_relay_end(struct tls_relay *relay)
{
    pthread_join(relay->thread, NULL);
    free(relay);
}
