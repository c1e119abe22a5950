#include "qstash/messages/message_settings.h"

#include "fuzz.h"
#include "job/retry.h"
#include "job/target/url.h"
#include "qstash/messages/publish.h"
#include "qstash/messages/message.h"

static void check_url(struct slice text)
{
    struct url url;
    const char *detail;
    assert(text.size == 0 || url_parse(text, &url, &detail) == STATUS_OK);
}

static void check_settings(const struct message_settings *settings)
{
    struct problem problem;
    for (size_t i = 0; i < settings->header_count; i++)
        assert(header_name_is_valid(settings->headers[i].name) &&
               header_value_is_valid(settings->headers[i].value) &&
               !header_is_refused(settings->headers[i].name));
    assert(!settings->has_delay || (settings->delay_ms >= 0 && settings->delay_ms <= JOB_DELAY_MAX_MS));
    assert(!settings->has_timeout ||
           (settings->timeout_ms > 0 && settings->timeout_ms <= JOB_TIMEOUT_MAX_MS));
    assert(settings->retries >= 0 && settings->retries <= JOB_RETRY_MAX);
    assert(settings->retry_delay.size == 0 ||
           retry_expression_check(settings->retry_delay, 0, &problem) == STATUS_OK);
    assert(settings->flow.period_s >= 0 && settings->flow.period_s <= 7 * 86400);
    check_url(settings->callback.url);
    check_url(settings->failure_callback.url);
}

/* The QStash data that a job keeps must be the same after it is written and read. */
static void check_data(const struct message_settings *settings)
{
    static char room[JOB_FORM_DATA_MAX];
    struct buffer written, text = {.data = room, .capacity = sizeof room, .max = sizeof room - 1};
    struct message_data data = {.queue = SLICE("q")}, read;
    buffer_init(&written, JOB_FORM_DATA_MAX);
    message_data_write(&written, &data, settings);
    if (!written.failed) {
        message_data_read(buffer_slice(&written), &read, &text);
        assert(slice_equal(read.queue, SLICE("q")));
        assert(read.redact.body == settings->redact.body && read.redact.count == settings->redact.count);
        assert((read.callback.size > 0) == (settings->callback.url.size > 0));
    }
    buffer_fini(&written);
}

/* The url of the destination must not contain the token. */
static void check_query(struct slice url)
{
    struct slice base, query, pair, name, value;
    for (bool has_more = slice_cut(url, '?', &base, &query); has_more;) {
        has_more = slice_cut(query, '&', &pair, &query);
        slice_cut(pair, '=', &name, &value);
        assert(!slice_equal(name, SLICE("qstash_token")));
    }
}

static void check_destination(const struct destination *destination)
{
    assert((destination->url.size > 0) != (destination->group.size > 0));
    check_url(destination->url);
    check_query(destination->url);
}

/* Input: a destination in the first line, then a header in each line. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct message_settings settings;
    struct destination destination;
    struct slice raw, line, name, value, rest = input_of(data, size);
    message_settings_init(&settings);
    slice_cut(rest, '\n', &raw, &rest);
    while (rest.size) {
        slice_cut(rest, '\n', &line, &rest);
        slice_cut(line, ':', &name, &value);
        message_settings_take(&settings, name, slice_trim(value));
    }
    if (!destination_read(raw, &destination, &settings))
        check_destination(&destination);
    if (!settings.fault[0]) {
        check_settings(&settings);
        check_data(&settings);
    }
    destination_fini(&destination);
    message_settings_fini(&settings);
    return 0;
}
