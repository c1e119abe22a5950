#include "job/target/receiver.h"

#include <ctype.h>
#include <stdio.h>

#include "base/buffer.h"
#include "base/hash.h"

static void append_name(struct buffer *text, const struct url *url)
{
    if (url->host_is_address) {
        char digits[ADDRESS_TEXT_SIZE];
        address_write(&url->address, digits);
        buffer_append(text, url->address.is_v6 ? SLICE("[") : SLICE(""));
        buffer_append(text, slice_of(digits));
        buffer_append(text, url->address.is_v6 ? SLICE("]") : SLICE(""));
    } else {
        for (size_t i = 0; i < url->host.size; i++)
            buffer_append_byte(text, (char)tolower((unsigned char)url->host.data[i]));
        text->size -= text->size && text->data[text->size - 1] == '.';
    }
    buffer_append_byte(text, ':');
    buffer_append_number(text, url->port);
}

void receiver_name(const struct url *url, char name[RECEIVER_HOST_SIZE])
{
    struct buffer text = buffer_of(name, RECEIVER_HOST_SIZE);
    append_name(&text, url);
    buffer_text(&text);
}

void receiver_path_name(const struct url *url, char name[RECEIVER_NAME_SIZE])
{
    struct slice path = slice_from(url->target.data, url->target.size - url->query.size);
    struct buffer text = buffer_of(name, RECEIVER_NAME_SIZE);
    append_name(&text, url);
    buffer_append(&text, path.size ? SLICE("") : SLICE("/"));
    buffer_append(&text, path.size <= RECEIVER_PATH_MAX ? path : slice_from(path.data, RECEIVER_PATH_MAX));
    if (path.size > RECEIVER_PATH_MAX)
        buffer_printf(&text, "~%016llx", (unsigned long long)hash_long_of(path));
    buffer_text(&text);
}

static size_t host_size(struct slice name)
{
    const char *slash = memchr(name.data, '/', name.size);
    return slash ? (size_t)(slash - name.data) : name.size;
}

struct slice receiver_host_of(struct slice name)
{
    return slice_from(name.data, host_size(name));
}

struct slice receiver_path_of(struct slice name)
{
    return slice_skip(name, host_size(name));
}

/* Returns whether the text has a port. url_parse does not require a port. */
static bool has_port(struct slice spelt)
{
    size_t start = spelt.size;
    while (start > 0 && isdigit((unsigned char)spelt.data[start - 1]))
        start--;
    return start < spelt.size && start > 1 && spelt.data[start - 1] == ':' &&
           (spelt.data[0] != '[' || spelt.data[start - 2] == ']');
}

bool receiver_name_parse(struct slice spelt, char name[RECEIVER_HOST_SIZE])
{
    char text[RECEIVER_HOST_SIZE + 16];
    struct url url;
    const char *detail;
    if (spelt.size >= RECEIVER_HOST_SIZE || !has_port(spelt))
        return false;
    snprintf(text, sizeof text, "http://%.*s", SLICE_ARG(spelt));
    if (url_parse(slice_of(text), &url, &detail) != STATUS_OK || url.target.size > 0)
        return false;
    receiver_name(&url, name);
    return true;
}

enum { PATIENCE_MS = 900 }; /* a little less than one second, because measured times are rounded */

/* Returns the health after a failed attempt: INCONCLUSIVE if the receiver may be healthy, because the
 * job's own timeout was too short or the connection was closed while it was idle; otherwise FAILING. */
static enum receiver_health patient(const struct attempt_result *result)
{
    bool is_impatient = result->error == FAILURE_TIMEOUT && result->duration_ms < PATIENCE_MS;
    return is_impatient || result->is_idle_closed ? RECEIVER_INCONCLUSIVE : RECEIVER_FAILING;
}

enum receiver_health receiver_health(const struct attempt_result *result)
{
    switch (result->error) {
    case FAILURE_CONNECT:
    case FAILURE_TLS:
        return RECEIVER_FAILING;
    case FAILURE_RESET:
    case FAILURE_TIMEOUT:
        return result->was_sent ? RECEIVER_INCONCLUSIVE : patient(result);
    case FAILURE_DNS:
    case FAILURE_TARGET_REFUSED:
        return RECEIVER_INCONCLUSIVE;
    case FAILURE_NONE:
    case FAILURE_ANSWER_TOO_LARGE:
    case FAILURE_PROTOCOL:
    case FAILURE_WORKER: /* an attempt by a worker has no receiver */
    case FAILURE_LEASE_EXPIRED:
    case FAILURE_OTHER:       /* only a later version writes this result */
    case FAILURE_IDLE_CLOSED: /* attempts record it as RESET; UNSENT and CROWDED do not end an attempt
                               */
    case FAILURE_UNSENT:
    case FAILURE_CROWDED:
        break;
    }
    return RECEIVER_HEALTHY; /* the receiver has answered */
}

enum receiver_health receiver_path_health(const struct attempt_result *result)
{
    switch (result->error) {
    case FAILURE_NONE:
        return result->status >= 502 && result->status <= 504 ? RECEIVER_FAILING : RECEIVER_HEALTHY;
    case FAILURE_RESET:
    case FAILURE_TIMEOUT:
        return result->was_sent ? patient(result) : RECEIVER_INCONCLUSIVE;
    case FAILURE_DNS:
    case FAILURE_TARGET_REFUSED:
    case FAILURE_CONNECT:
    case FAILURE_TLS:
        return RECEIVER_INCONCLUSIVE;
    case FAILURE_ANSWER_TOO_LARGE:
    case FAILURE_PROTOCOL:
    case FAILURE_WORKER:
    case FAILURE_LEASE_EXPIRED:
    case FAILURE_OTHER:       /* only a later version writes this result */
    case FAILURE_IDLE_CLOSED: /* never the result of an attempt, see receiver_health */
    case FAILURE_UNSENT:
    case FAILURE_CROWDED:
        break;
    }
    return RECEIVER_HEALTHY;
}

bool receiver_is_overloaded(const struct attempt_result *result)
{
    return result->error == FAILURE_NONE &&
           (result->status == 429 || result->status == 502 || result->status == 504);
}

void receiver_cause(const struct attempt_result *result, char cause[RECEIVER_CAUSE_SIZE])
{
    if (result->error == FAILURE_NONE)
        snprintf(cause, RECEIVER_CAUSE_SIZE, "%d", result->status);
    else
        snprintf(cause, RECEIVER_CAUSE_SIZE, "%s", failure_word(result->error));
}

int64_t receiver_row_ms(int64_t impaired_ms)
{
    int64_t row_ms = impaired_ms / 4 < RECEIVER_ROW_MAX_MS ? impaired_ms / 4 : RECEIVER_ROW_MAX_MS;
    return row_ms > RECEIVER_ROW_MIN_MS ? row_ms : RECEIVER_ROW_MIN_MS;
}
