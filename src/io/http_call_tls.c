#include "io/http_call_tls.h"

#include <openssl/ssl.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

static bool has_openssl;

static void find_library(void)
{
    const char *library = curl_version_info(CURLVERSION_NOW)->ssl_version;
    has_openssl = library && strncmp(library, "OpenSSL/3", strlen("OpenSSL/3")) == 0;
}

static CURLcode on_context(CURL *easy, void *context, void *arg)
{
    (void)easy, (void)arg;
    SSL_CTX_clear_mode(context, SSL_MODE_AUTO_RETRY);
    return CURLE_OK;
}

/* With another library than OpenSSL, the context would be of another type. */
void http_call_limit_reads(CURL *easy)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find_library);
    if (has_openssl)
        curl_easy_setopt(easy, CURLOPT_SSL_CTX_FUNCTION, on_context);
}
