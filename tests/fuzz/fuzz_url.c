#include <curl/curl.h>

#include "fuzz.h"
#include "job/target/url.h"

/* For each url that we accept, libcurl must find the same host and port, because it connects. */
static void compare(const char *text, const struct url *url)
{
    CURLU *theirs = curl_url();
    char *host = NULL, *port = NULL;
    struct address address;
    unsigned flags = CURLU_PATH_AS_IS | CURLU_DISALLOW_USER;
    if (curl_url_set(theirs, CURLUPART_URL, text, flags) == CURLUE_OK) {
        CURLUcode code = curl_url_get(theirs, CURLUPART_HOST, &host, 0);
        assert(code == CURLUE_OK);
        code = curl_url_get(theirs, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT);
        assert(code == CURLUE_OK && (unsigned long)atoi(port) == url->port);
        struct slice name = slice_of(host);
        if (name.data[0] == '[')
            name = slice_from(name.data + 1, name.size - 2);
        name.size -=
            name.data[name.size - 1] == '.'; /* libcurl takes an address with a dot at its end for a name */
        bool is_address = address_parse_loose(name, &address);
        assert(is_address == url->host_is_address);
        assert(is_address ? address_equal(&address, &url->address) : url_host_equal(name, url->host));
    }
    curl_free(host);
    curl_free(port);
    curl_url_cleanup(theirs);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct slice text = input_of(data, size);
    struct url url;
    const char *detail;
    struct buffer shown;
    if (url_parse(text, &url, &detail) != STATUS_OK) {
        assert(detail);
        return 0;
    }
    assert(url.host.size > 0 && url.port > 0 && lies_in(url.host, text) && lies_in(url.target, text));
    assert(url.host_is_address || url_host_is_name(url.host));
    char *copy = slice_dup(text);
    compare(copy, &url);
    free(copy);
    buffer_init(&shown, 8192);
    url_show(text, &shown);
    assert(!shown.failed);
    assert(slice_starts_with(SLICE(URL_HIDDEN_QUERY), url.query) ||
           !memmem(shown.data, shown.size - 1, url.query.data, url.query.size));
    buffer_fini(&shown);
    return 0;
}
