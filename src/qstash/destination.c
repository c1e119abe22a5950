#include "qstash/destination.h"

#include "base/percent.h"
#include "job/job_id.h"
#include "job/target/url.h"

static bool starts_with_nocase(struct slice text, struct slice prefix)
{
    return text.size >= prefix.size && slice_equal_nocase(slice_from(text.data, prefix.size), prefix);
}

/* Appends the url without its query. Some proxies merge slashes, so "https:/host" is read as
 * "https://host". */
static void append_base(struct buffer *text, struct slice base)
{
    static const struct slice schemes[] = {SLICE_INIT("https:/"), SLICE_INIT("http:/")};
    for (size_t i = 0; i < 2; i++) {
        if (!starts_with_nocase(base, schemes[i]))
            continue;
        buffer_append(text, slice_from(base.data, schemes[i].size));
        base = slice_skip(base, schemes[i].size);
        if (base.size == 0 || base.data[0] != '/')
            buffer_append_byte(text, '/');
        break;
    }
    buffer_append(text, base);
}

/* Takes a query parameter if it belongs to the request. Returns false if it belongs to the destination's
 * url. */
static bool take_parameter(struct slice pair, struct settings *settings)
{
    struct slice name, value;
    slice_cut(pair, '=', &name, &value);
    if (slice_equal(name, SLICE("qstash_token")))
        return true;
    if (!starts_with_nocase(name, SLICE("upstash-")))
        return false;
    if (settings)
        settings_take_encoded(settings, name, value);
    return true;
}

/* Returns whether the url is percent-encoded as a whole, as encodeURIComponent does it. */
static bool is_encoded(struct slice base)
{
    return starts_with_nocase(base, SLICE("http%3a")) || starts_with_nocase(base, SLICE("https%3a"));
}

static void append_query(struct buffer *text, struct slice query, struct settings *settings)
{
    char separator =
        text->size && memchr(text->data, '?', text->size) ? '&' : '?'; /* an encoded url has its own query */
    for (bool has_more = true; has_more;) {
        struct slice pair;
        has_more = slice_cut(query, '&', &pair, &query);
        if (take_parameter(pair, settings))
            continue;
        buffer_append_byte(text, separator);
        buffer_append(text, pair);
        separator = '&';
    }
}

static const char *check_url(struct slice text)
{
    struct url url;
    const char *detail = NULL;
    return url_parse(text, &url, &detail) == STATUS_OK ? NULL : detail;
}

bool destination_read(struct slice raw, struct destination *destination, struct settings *settings,
                      const char **fault)
{
    struct slice base, query;
    bool has_query = slice_cut(raw, '?', &base, &query);
    *fault = NULL;
    *destination = (struct destination){.url = {NULL, 0}};
    buffer_init(&destination->text, DESTINATION_MAX);
    bool is_valid = true;
    if (is_encoded(base))
        is_valid = percent_decode(base, '\0', &destination->text);
    else
        append_base(&destination->text, base);
    if (has_query && !destination->text.failed)
        append_query(&destination->text, query, settings);
    struct slice text = buffer_slice(&destination->text);
    if (!is_valid && !destination->text.failed)
        *fault = "the destination is not valid percent-encoding";
    else if (destination->text.failed || text.size > JOB_URL_MAX)
        *fault = "the destination is longer than 2048 bytes";
    else if (text.size == 0)
        *fault = "a non-empty destination must be provided";
    else if (starts_with_nocase(text, SLICE("http:")) || starts_with_nocase(text, SLICE("https:")))
        *fault = check_url(text);
    else if (!group_name_is_valid(text))
        *fault = "the destination must be a url that begins with http:// or https://, or the name of a group";
    if (*fault)
        return false;
    if (memchr(text.data, ':', text.size))
        destination->url = text;
    else
        destination->group = text;
    return true;
}

void destination_fini(struct destination *destination)
{
    buffer_fini(&destination->text);
}
