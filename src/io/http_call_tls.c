#include "io/http_call_tls.h"

#include <openssl/ssl.h>
#include <string.h>

static CURLcode on_context(CURL *easy, void *context, void *arg)
{
    (void)easy, (void)arg;
    SSL_CTX_clear_mode(context, SSL_MODE_AUTO_RETRY);
    return CURLE_OK;
}

/* With another library than OpenSSL, the context would be of another type. */
void http_call_limit_reads(CURL *easy)
{
    const char *library = curl_version_info(CURLVERSION_NOW)->ssl_version;
    if (library && strncmp(library, "OpenSSL/3", strlen("OpenSSL/3")) == 0)
        curl_easy_setopt(easy, CURLOPT_SSL_CTX_FUNCTION, on_context);
}
