#include "http/idempotency.h"

#include "base/hash.h"
#include "job/delivery/digest.h"
#include "job/job.h"

/* Reads the string of a structured field ("..." with \" and \\), or the bare text that many clients send. */
static bool read_key(struct slice value, struct buffer *key)
{
    bool is_quoted = value.size >= 2 && value.data[0] == '"' && value.data[value.size - 1] == '"';
    if (is_quoted)
        value = slice_from(value.data + 1, value.size - 2);
    if (value.size == 0 || value.size > IDEMPOTENCY_KEY_MAX)
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

bool idempotency_begin(struct exchange *exchange, struct slice topic, struct slice content)
{
    struct buffer *once = &exchange->once;
    char fingerprint[FINGERPRINT_SIZE];
    if (!http_request_has_header(exchange->request, "Idempotency-Key"))
        return true;
    fingerprint_make(content, fingerprint);
    buffer_printf(once, "%s %.*s/", fingerprint, SLICE_ARG(topic));
    if (!read_key(http_request_header(exchange->request, "Idempotency-Key"), once)) {
        struct job_errors errors;
        job_errors_clear(&errors);
        job_errors_add(&errors, "Idempotency-Key",
                       "must be 1 to 255 visible ASCII characters and spaces, in quotes or bare");
        exchange_refuse_errors(exchange, "request", &errors);
        return false;
    }
    struct list *bucket = &exchange->site->keys[bucket_of(field_of(exchange))];
    if (is_running(bucket, field_of(exchange))) {
        exchange_refuse(exchange, 409,
                        "A request with this Idempotency-Key is being processed; wait for its answer.");
        return false;
    }
    list_append(bucket, &exchange->key_link);
    return true;
}
