#include "http/request_headers.h"

#include <stdio.h>

#include "base/hash.h"
#include "io/http/request.h"
#include "job/delivery/digest.h"
#include "job/job.h"

/* ---- Accept ---- */

/* Reads the value of q, such as "1", "0.5" or "0.125". Any other text counts as 1, as if q were absent. */
static int read_weight(struct slice text)
{
    int weight = 0, digit_value = ACCEPT_WEIGHT_MAX;
    if (text.size == 0 || text.size > 5 || (text.size > 1 && text.data[1] != '.'))
        return ACCEPT_WEIGHT_MAX;
    for (size_t i = 0; i < text.size; i++) {
        if (i == 1)
            continue;
        if (text.data[i] < '0' || text.data[i] > '9')
            return ACCEPT_WEIGHT_MAX;
        weight += digit_value * (text.data[i] - '0');
        digit_value /= 10;
    }
    return weight < ACCEPT_WEIGHT_MAX ? weight : ACCEPT_WEIGHT_MAX;
}

static bool is_one_of(struct slice version, const char *const *versions)
{
    while (versions && *versions && !slice_equal(version, slice_of(*versions)))
        versions++;
    return !versions || *versions;
}

/* Returns the weight of one item of Accept. parameters: the text after its media type. */
static int item_weight(struct slice parameters, const char *const *versions)
{
    int weight = ACCEPT_WEIGHT_MAX;
    for (struct slice parameter; parameters.size;) {
        struct slice name, value;
        slice_cut(parameters, ';', &parameter, &parameters);
        slice_cut(slice_trim(parameter), '=', &name, &value);
        if (value.size >= 2 && value.data[0] == '"' && slice_ends_with(value, SLICE("\"")))
            value = slice_from(value.data + 1, value.size - 2);
        if (slice_equal_nocase(name, SLICE("q")))
            weight = read_weight(value);
        else if (slice_equal_nocase(name, SLICE("version")) && !is_one_of(value, versions))
            return 0;
    }
    return weight;
}

int accept_weight(const struct exchange *exchange, struct slice type, const char *const *versions)
{
    struct slice header = http_request_header(exchange->request, "Accept");
    int most = 0;
    for (struct slice item; header.size;) {
        struct slice name, parameters;
        slice_cut(header, ',', &item, &header);
        slice_cut(item, ';', &name, &parameters);
        if (!slice_equal_nocase(slice_trim(name), type))
            continue;
        int weight = item_weight(parameters, versions);
        most = weight > most ? weight : most;
    }
    return most;
}

/* ---- ETag, If-Match and If-None-Match ---- */

enum { LIST_MAX = 4096 }; /* maximum size of a list of tags in bytes */

struct http_header etag_header(const char tag[JOB_TAG_SIZE], struct etag *etag)
{
    snprintf(etag->text, sizeof etag->text, "\"%s\"", tag);
    return (struct http_header){SLICE("ETag"), slice_of(etag->text)};
}

/* Returns whether a text begins with a tag of a job, which may be followed by the coding of a compressing
 * proxy: "-gzip", or ";gzip" of older versions of Apache. */
static bool is_own(struct slice tag)
{
    size_t size = JOB_TAG_SIZE - 1;
    return tag.size == size || (tag.size > size && (tag.data[size] == '-' || tag.data[size] == ';'));
}

/* Takes one tag and the comma after it from rest. Appends the tag to seen, unless no job can have it. */
static bool take_tag(struct slice *rest, struct buffer *seen)
{
    struct slice tag, behind;
    bool is_weak = slice_starts_with(*rest, SLICE("W/"));
    struct slice quoted = slice_skip(*rest, is_weak ? 2 : 0);
    if (quoted.size == 0 || quoted.data[0] != '"' || !slice_cut(slice_skip(quoted, 1), '"', &tag, &behind))
        return false;
    behind = slice_trim(behind);
    if (behind.size && behind.data[0] != ',')
        return false;
    if (is_own(tag)) {
        buffer_append_byte(seen, ' ');
        buffer_append(seen, slice_from(tag.data, JOB_TAG_SIZE - 1));
    }
    *rest = behind.size ? slice_trim(slice_skip(behind, 1)) : behind;
    return true;
}

static bool read_tags(struct slice value, struct buffer *seen)
{
    bool is_sound = value.size > 0;
    if (slice_equal(value, SLICE("*"))) {
        buffer_append(seen, value);
        return true;
    }
    /* An empty seen would mean that the request has no condition. So seen gets this byte even if no tag can
     * match. */
    buffer_append_byte(seen, '-');
    while (is_sound && value.size)
        is_sound = take_tag(&value, seen);
    return is_sound && !seen->failed;
}

static bool refuse_header(struct exchange *exchange, const char *header, const char *detail)
{
    struct job_errors errors;
    job_errors_clear(&errors);
    job_errors_add(&errors, header, detail);
    exchange_refuse_errors(exchange, "request", &errors);
    return false;
}

/* Reads a list of tags, which may be split over several lines. */
static bool read_header(struct exchange *exchange, const char *header)
{
    struct buffer list;
    buffer_init(&list, LIST_MAX);
    http_request_join_header(exchange->request, header, &list);
    bool is_read = !list.failed && read_tags(buffer_slice(&list), &exchange->seen);
    buffer_fini(&list);
    if (is_read)
        return true;
    return refuse_header(
        exchange, header,
        "must be * or a list of entity tags in quotes; the list may have at most 4096 bytes");
}

bool etag_read_match(struct exchange *exchange)
{
    return !http_request_has_header(exchange->request, "If-Match") || read_header(exchange, "If-Match");
}

bool etag_read_matches(struct exchange *exchange)
{
    if (!http_request_has_header(exchange->request, "If-None-Match"))
        return etag_read_match(exchange);
    if (http_request_has_header(exchange->request, "If-Match"))
        return refuse_header(exchange, "If-None-Match", "cannot be combined with If-Match");
    return etag_read_none_match(exchange);
}

bool etag_read_none_match(struct exchange *exchange)
{
    if (!http_request_has_header(exchange->request, "If-None-Match"))
        return true;
    buffer_append_byte(&exchange->seen, JOB_TAGS_EXCLUDED);
    return read_header(exchange, "If-None-Match");
}

void etag_refuse(struct exchange *exchange)
{
    struct slice seen = buffer_slice(&exchange->seen);
    bool is_none_match = seen.size && seen.data[0] == JOB_TAGS_EXCLUDED;
    exchange_refuse(
        exchange, 412,
        is_none_match
            ? "The job does not meet If-None-Match: it exists, or has one of the tags; nothing changed."
            : "The job does not meet If-Match: it has changed, or does not exist; nothing changed.");
}

/* ---- Idempotency-Key ---- */

/* Reads the string of a structured field ("..." with \" and \\), or the bare text that many clients send. */
static bool read_key(struct slice value, struct buffer *key)
{
    bool is_quoted = value.size >= 2 && value.data[0] == '"' && value.data[value.size - 1] == '"';
    if (is_quoted)
        value = slice_from(value.data + 1, value.size - 2);
    if (value.size == 0 || value.size > JOB_IDEMPOTENCY_KEY_MAX)
        return false;
    for (size_t i = 0; i < value.size; i++) {
        char byte = value.data[i];
        if (is_quoted && byte == '\\') {
            if (++i == value.size || (value.data[i] != '"' && value.data[i] != '\\'))
                return false;
            byte = value.data[i];
        } else if (byte == '"') {
            return false;
        }
        if (byte < 0x20 || byte >= 0x7f)
            return false;
        buffer_append_byte(key, byte);
    }
    return !key->failed;
}

static size_t bucket_of(struct slice field)
{
    return hash_of(field) % SITE_KEY_BUCKETS;
}

/* Returns the part of exchange->once after the fingerprint: topic/key. */
static struct slice field_of(const struct exchange *exchange)
{
    return slice_skip(buffer_slice(&exchange->once), FINGERPRINT_SIZE);
}

/* Returns whether another request with this key is being processed now. Redis detects repeats that come
 * later. */
static bool is_running(struct list *bucket, struct slice field)
{
    for (struct list *link = bucket->next; link != bucket; link = link->next)
        if (slice_equal(field_of(LIST_ENTRY(link, struct exchange, key_link)), field))
            return true;
    return false;
}

void idempotency_write(struct buffer *once, struct slice topic, struct slice content, struct slice key)
{
    char fingerprint[FINGERPRINT_SIZE];
    fingerprint_make_secret(content, fingerprint);
    buffer_printf(once, "%s %.*s/%.*s", fingerprint, SLICE_ARG(topic), SLICE_ARG(key));
}

static bool refuse_key(struct exchange *exchange, const char *field, const char *detail)
{
    struct job_errors errors;
    job_errors_clear(&errors);
    job_errors_add(&errors, field, detail);
    exchange_refuse_errors(exchange, "request", &errors);
    return false;
}

bool idempotency_begin(struct exchange *exchange, struct slice topic, struct slice content,
                       struct slice member)
{
    struct buffer *once = &exchange->once;
    bool has_header = http_request_has_header(exchange->request, "Idempotency-Key");
    if (!has_header && !member.size)
        return true;
    if (has_header && member.size)
        return refuse_key(exchange, "idempotencyKey", "cannot be combined with the header Idempotency-Key");
    idempotency_write(once, topic, content, member);
    if (has_header && !read_key(http_request_header(exchange->request, "Idempotency-Key"), once))
        return refuse_key(exchange, "Idempotency-Key",
                          "must be 1 to 255 visible ASCII characters and spaces, in quotes or bare");
    struct list *bucket = &exchange->site->keys[bucket_of(field_of(exchange))];
    if (is_running(bucket, field_of(exchange))) {
        exchange_refuse(exchange, 409,
                        "A request with this Idempotency-Key is being processed; wait for its answer.");
        return false;
    }
    list_append(bucket, &exchange->key_link);
    return true;
}
