#include "io/http/tls.h"

#include <dlfcn.h>
#include <gnutls/abstract.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <microhttpd.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/memory.h"
#include "io/http/bytes.h"

struct http_tls {
    atomic_uint holders;
    gnutls_certificate_credentials_t credentials;
};

const char http_tls_versions[] =
    "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2:-RSA:-AES-128-CBC:-AES-256-CBC:-SHA1";

static int no_certificate(gnutls_session_t session, const struct gnutls_cert_retr_st *info,
                          gnutls_pcert_st **certificates, unsigned *count, gnutls_ocsp_data_st **ocsp,
                          unsigned *ocsp_count, gnutls_privkey_t *key, unsigned *flags)
{
    (void)session, (void)info, (void)certificates, (void)count, (void)ocsp, (void)ocsp_count, (void)key,
        (void)flags;
    return -1;
}

void (*const http_tls_no_certificate)(void) = (void (*)(void))no_certificate;

enum status http_tls_load(const char *certificate_file, const char *key_file, struct http_tls **loaded,
                          struct problem *problem)
{
    if (MHD_is_feature_supported(MHD_FEATURE_HTTPS_CERT_CALLBACK2) != MHD_YES) {
        problem_set(problem, "the libmicrohttpd of this host has no TLS");
        return STATUS_INVALID;
    }
    struct http_tls *tls = NEW(struct http_tls);
    tls->holders = 1;
    int result = gnutls_certificate_allocate_credentials(&tls->credentials);
    if (result == GNUTLS_E_SUCCESS)
        result = gnutls_certificate_set_x509_key_file2(tls->credentials, certificate_file, key_file,
                                                       GNUTLS_X509_FMT_PEM, NULL, 0);
    if (result >= 0) {
        *loaded = tls;
        return STATUS_OK;
    }
    problem_set(problem, "cannot use the certificate %.160s with the key %.160s: %s", certificate_file,
                key_file, gnutls_strerror(result));
    http_tls_release(tls);
    return STATUS_INVALID;
}

struct http_tls *http_tls_share(struct http_tls *tls)
{
    tls->holders++;
    return tls;
}

void http_tls_release(struct http_tls *tls)
{
    if (!tls || --tls->holders > 0)
        return;
    if (tls->credentials)
        gnutls_certificate_free_credentials(tls->credentials);
    free(tls);
}

/* Raises *from_ms and lowers *until_ms, so that this certificate is valid in the whole time between them. */
static bool narrow(const gnutls_datum_t *der, int64_t *from_ms, int64_t *until_ms)
{
    gnutls_x509_crt_t certificate;
    if (gnutls_x509_crt_init(&certificate) != GNUTLS_E_SUCCESS)
        return false;
    bool is_read = gnutls_x509_crt_import(certificate, der, GNUTLS_X509_FMT_DER) == GNUTLS_E_SUCCESS;
    if (is_read) {
        int64_t from = (int64_t)gnutls_x509_crt_get_activation_time(certificate) * 1000;
        int64_t until = (int64_t)gnutls_x509_crt_get_expiration_time(certificate) * 1000;
        *from_ms = from > *from_ms ? from : *from_ms;
        *until_ms = until < *until_ms ? until : *until_ms;
    }
    gnutls_x509_crt_deinit(certificate);
    return is_read;
}

bool http_tls_dates(const struct http_tls *tls, int64_t *from_ms, int64_t *until_ms)
{
    gnutls_datum_t der;
    unsigned count = 0;
    *from_ms = 0;
    *until_ms = INT64_MAX;
    while (gnutls_certificate_get_crt_raw(tls->credentials, 0, count, &der) == GNUTLS_E_SUCCESS &&
           narrow(&der, from_ms, until_ms))
        count++;
    return count > 0;
}

bool http_tls_begin(const struct http_tls *tls, void *session)
{
    return gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, tls->credentials) == GNUTLS_E_SUCCESS;
}

static ssize_t receive_record(int fd, void *session, void *data, size_t size, int flags)
{
    (void)fd, (void)flags;
    static _Atomic(void *) found;
    ssize_t (*read_record)(gnutls_session_t, void *, size_t);
    if (!found)
        found = dlsym(RTLD_NEXT, "gnutls_record_recv");
    *(void **)&read_record = found;
    return read_record(session, data, size);
}

/* Replaces the function of that name for libmicrohttpd: see bytes.h. */
ssize_t gnutls_record_recv(gnutls_session_t session, void *data, size_t size)
{
    return http_bytes_read(gnutls_transport_get_int(session), session, data, size, 0, receive_record);
}

void http_tls_send(void *session, const void *data, size_t size)
{
    gnutls_record_send(session, data, size);
}

void http_tls_library(struct library *library)
{
    library_set(library, "GnuTLS", gnutls_check_version(NULL));
}
