#include "io/http_call_tls.h"

#include <openssl/ssl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static bool has_openssl;
static _Thread_local int fatal_alert = -1; /* -1: none */

static void find_library(void)
{
    const char *library = curl_version_info(CURLVERSION_NOW)->ssl_version;
    has_openssl = library && strncmp(library, "OpenSSL/3", strlen("OpenSSL/3")) == 0;
}

static void on_info(const SSL *ssl, int what, int value)
{
    (void)ssl;
    if (what == SSL_CB_READ_ALERT && value >> 8 == SSL3_AL_FATAL)
        fatal_alert = value & 0xff;
}

static CURLcode on_context(CURL *easy, void *context, void *arg)
{
    (void)easy, (void)arg;
    SSL_CTX_clear_mode(context, SSL_MODE_AUTO_RETRY);
    SSL_CTX_set_info_callback(context, on_info);
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

void http_call_forget_alert(void)
{
    fatal_alert = -1;
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
    snprintf(text, size, "TLS alert %d of the receiver: %s", fatal_alert, name);
}
