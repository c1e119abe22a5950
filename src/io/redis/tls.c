/* TLS of connections to Redis. */
#include "io/redis/redis_private.h"

#include <arpa/inet.h>
#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/slice.h"

struct redis_tls {
    pthread_mutex_t lock; /* guards the members below */
    SSL_CTX *context;
    char *name; /* NULL: the host of the address */
};

struct redis_tls_session {
    SSL *ssl;
    char *name; /* name that the certificate must have */
};

/* ---- what connections share ---- */

static const char *tls_reason(void)
{
    unsigned long error = ERR_peek_error();
    const char *text = ERR_reason_error_string(error);
    if (ERR_SYSTEM_ERROR(error))
        text = strerror(ERR_GET_REASON(error));
    return text ? text : "unknown error";
}

static enum status bad_file(struct problem *problem, const char *what, const char *file)
{
    problem_set(problem, "cannot use %.250s as %s: %s", file, what, tls_reason());
    return STATUS_INVALID;
}

/* OpenSSL would ask for the passphrase of an encrypted key on the terminal. */
static int no_passphrase(char *text, int size, int is_writing, void *arg)
{
    (void)text, (void)size, (void)is_writing, (void)arg;
    return -1;
}

static enum status load_files(SSL_CTX *context, const struct redis_tls_options *options,
                              struct problem *problem)
{
    ERR_clear_error();
    if (options->ca && SSL_CTX_load_verify_file(context, options->ca) != 1)
        return bad_file(problem, "CA file", options->ca);
    if (!options->ca && SSL_CTX_set_default_verify_paths(context) != 1)
        return bad_file(problem, "CA file", "the system's CAs");
    if (!options->certificate)
        return STATUS_OK;
    if (SSL_CTX_use_certificate_chain_file(context, options->certificate) != 1)
        return bad_file(problem, "certificate", options->certificate);
    if (SSL_CTX_use_PrivateKey_file(context, options->key, SSL_FILETYPE_PEM) != 1)
        return bad_file(problem, "private key", options->key);
    return STATUS_OK;
}

static SSL_CTX *context_new(void)
{
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    if (!context)
        abort();
    SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
    SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
    SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                  SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_default_passwd_cb(context, no_passphrase);
    return context;
}

enum status redis_tls_load(const struct redis_tls_options *options, struct redis_tls **loaded,
                           struct problem *problem)
{
    struct redis_tls *tls = NEW(struct redis_tls);
    pthread_mutex_init(&tls->lock, NULL);
    tls->context = context_new();
    tls->name = options->name ? slice_dup(slice_of(options->name)) : NULL;
    if (load_files(tls->context, options, problem) == STATUS_OK) {
        *loaded = tls;
        return STATUS_OK;
    }
    ERR_clear_error();
    redis_tls_free(tls);
    return STATUS_INVALID;
}

void redis_tls_free(struct redis_tls *tls)
{
    if (!tls)
        return;
    SSL_CTX_free(tls->context); /* sessions hold references */
    pthread_mutex_destroy(&tls->lock);
    free(tls->name);
    free(tls);
}

void redis_tls_replace(struct redis_tls *tls, struct redis_tls *fresh)
{
    pthread_mutex_lock(&tls->lock);
    SSL_CTX *context = tls->context;
    char *name = tls->name;
    tls->context = fresh->context;
    tls->name = fresh->name;
    pthread_mutex_unlock(&tls->lock);
    fresh->context = context;
    fresh->name = name;
    redis_tls_free(fresh);
}

/* ---- one connection ---- */

static bool set_name(SSL *ssl, const char *name)
{
    unsigned char ignored[sizeof(struct in6_addr)];
    if (inet_pton(AF_INET, name, ignored) == 1 || inet_pton(AF_INET6, name, ignored) == 1)
        return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), name) == 1;
    SSL_set_hostflags(ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    /* SSL_set_tlsext_host_name casts away const, which clang refuses. */
    return SSL_set1_host(ssl, name) == 1 && SSL_ctrl(ssl, SSL_CTRL_SET_TLSEXT_HOSTNAME,
                                                     TLSEXT_NAMETYPE_host_name, (char *)(uintptr_t)name) == 1;
}

struct redis_tls_session *redis_tls_begin(struct redis_tls *tls, int fd, const char *host)
{
    struct redis_tls_session *session = NEW(struct redis_tls_session);
    pthread_mutex_lock(&tls->lock);
    session->ssl = SSL_new(tls->context);
    session->name = slice_dup(slice_of(tls->name ? tls->name : host));
    pthread_mutex_unlock(&tls->lock);
    if (session->ssl && SSL_set_fd(session->ssl, fd) == 1 && set_name(session->ssl, session->name))
        return session;
    ERR_clear_error();
    redis_tls_end(session);
    return NULL;
}

void redis_tls_end(struct redis_tls_session *session)
{
    if (!session)
        return;
    SSL_free(session->ssl);
    free(session->name);
    free(session);
}

/* Writes the error, and names the option that can fix it. */
static void tls_explain(const struct redis_tls_session *session, struct problem *problem)
{
    unsigned long error = ERR_peek_error();
    long verdict = SSL_get_verify_result(session->ssl);
    int why = ERR_GET_REASON(error);
    bool is_name = verdict == X509_V_ERR_HOSTNAME_MISMATCH || verdict == X509_V_ERR_IP_ADDRESS_MISMATCH;
    if (is_name)
        problem_set(problem, "TLS: the certificate of Redis is not for %.120s (redis-server-name)",
                    session->name);
    else if (verdict != X509_V_OK)
        problem_set(problem, "TLS: the certificate of Redis is refused: %s (redis-ca)",
                    X509_verify_cert_error_string(verdict));
    else if (why == SSL_R_WRONG_VERSION_NUMBER)
        problem_set(problem, "TLS: Redis does not speak TLS on this port");
    else if (why > SSL_AD_REASON_OFFSET) /* Redis has refused our certificate */
        problem_set(problem, "TLS: Redis refuses the connection: %s (redis-cert, redis-key)", tls_reason());
    else
        problem_set(problem, "TLS: %s", tls_reason());
}

static enum redis_tls_result tls_judge(const struct redis_tls_session *session, int result,
                                       struct problem *problem)
{
    int system_error = errno;
    switch (SSL_get_error(session->ssl, result)) {
    case SSL_ERROR_WANT_READ:
        return REDIS_TLS_WANTS_READ;
    case SSL_ERROR_WANT_WRITE:
        return REDIS_TLS_WANTS_WRITE;
    case SSL_ERROR_ZERO_RETURN:
        return REDIS_TLS_CLOSED;
    case SSL_ERROR_SYSCALL:
        problem_set(problem, "%s", strerror(system_error));
        return system_error ? REDIS_TLS_FAILED : REDIS_TLS_CLOSED;
    default:
        break;
    }
    if (ERR_GET_REASON(ERR_peek_error()) == SSL_R_UNEXPECTED_EOF_WHILE_READING)
        return REDIS_TLS_CLOSED;
    tls_explain(session, problem);
    return REDIS_TLS_FAILED;
}

enum redis_tls_result redis_tls_handshake(struct redis_tls_session *session, struct problem *problem)
{
    ERR_clear_error(); /* errors of earlier calls in this thread must not count */
    int result = SSL_connect(session->ssl);
    return result == 1 ? REDIS_TLS_DONE : tls_judge(session, result, problem);
}

enum redis_tls_result redis_tls_read(struct redis_tls_session *session, char *data, size_t size,
                                     size_t *count, struct problem *problem)
{
    ERR_clear_error();
    int result = SSL_read_ex(session->ssl, data, size, count);
    return result == 1 ? REDIS_TLS_DONE : tls_judge(session, result, problem);
}

enum redis_tls_result redis_tls_write(struct redis_tls_session *session, const char *data, size_t size,
                                      size_t *count, struct problem *problem)
{
    ERR_clear_error();
    int result = SSL_write_ex(session->ssl, data, size, count);
    return result == 1 ? REDIS_TLS_DONE : tls_judge(session, result, problem);
}
