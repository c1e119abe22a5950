#include "qstash/messages/message_settings.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/encoding.h"
#include "job/retry.h"

#define PREFIX                  "Upstash-"
#define CALLBACK_PREFIX         PREFIX "Callback-"
#define FAILURE_CALLBACK_PREFIX PREFIX "Failure-Callback-"

enum { RETRIES_DEFAULT = MESSAGE_RETRIES };

void message_settings_init(struct message_settings *settings)
{
    *settings = (struct message_settings){.prefix = PREFIX, .retries = RETRIES_DEFAULT};
    buffer_init(&settings->decoded, MESSAGE_SETTINGS_DECODED_MAX);
}

void message_settings_fini(struct message_settings *settings)
{
    buffer_fini(&settings->decoded);
}

void message_settings_refuse(struct message_settings *settings, unsigned status, const char *format, ...)
{
    va_list values;
    if (settings->fault[0])
        return;
    va_start(values, format);
    vsnprintf(settings->fault, sizeof settings->fault, format, values);
    va_end(values);
    settings->fault_status = status;
}

static void refuse_value(struct message_settings *settings, const char *name, struct slice value,
                         const char *expected)
{
    if (value.size > 64)
        value.size = 64;
    message_settings_refuse(settings, 400, "invalid %s%s: \"%.*s\" must be %s", settings->prefix, name,
                            SLICE_ARG(value), expected);
}

/* ---- values ---- */

static bool read_bool(struct slice value)
{
    return slice_equal_nocase(value, SLICE("true")) || slice_equal(value, SLICE("1"));
}

bool message_settings_read_duration(struct slice text, int64_t max_ms, int64_t *ms)
{
    int64_t sum = 0, number = 0;
    bool has_digits = false;
    for (size_t i = 0; i < text.size; i++) {
        static const char units[] = "smhd";
        static const int64_t unit_ms[] = {1000, 60000, 3600000, 86400000};
        const char *unit = strchr(units, text.data[i]);
        if (text.data[i] >= '0' && text.data[i] <= '9') {
            number = number * 10 + (text.data[i] - '0');
            has_digits = true;
            if (number > max_ms)
                return false;
        } else if (has_digits && unit && *unit && number <= max_ms / unit_ms[unit - units]) {
            sum += number * unit_ms[unit - units];
            number = 0;
            has_digits = false;
        } else {
            return false;
        }
        if (sum > max_ms)
            return false;
    }
    *ms = sum;
    return text.size > 0 && !has_digits;
}

static void take_method(struct message_settings *settings, struct slice value)
{
    if (!job_method_parse(value, &settings->method))
        refuse_value(settings, "Method", value, "GET, POST, PUT, PATCH, DELETE or HEAD");
}

static void take_delay(struct message_settings *settings, struct slice value)
{
    settings->has_delay = message_settings_read_duration(value, JOB_DELAY_MAX_MS, &settings->delay_ms);
    if (!settings->has_delay)
        refuse_value(settings, "Delay", value, "a duration such as 10s, 5m, 2h or 1d10m");
}

static void take_not_before(struct message_settings *settings, struct slice value)
{
    uint64_t seconds;
    settings->has_not_before = slice_to_number(value, UINT64_C(253402300799), &seconds);
    if (settings->has_not_before)
        settings->not_before_ms = (int64_t)seconds * 1000;
    else
        refuse_value(settings, "Not-Before", value, "a time in seconds since 1970");
}

/* Checks Retry-Delay for each retry. The two headers come in any order, so the one that comes last has both
 * values. */
static bool has_finite_waits(struct message_settings *settings, struct slice expression)
{
    struct problem problem;
    if (expression.size == 0 || retry_expression_check(expression, settings->retries, &problem) == STATUS_OK)
        return true;
    message_settings_refuse(settings, 400, "invalid %sRetry-Delay: %s", settings->prefix, problem.text);
    return false;
}

static void take_retries(struct message_settings *settings, struct slice value)
{
    uint64_t number = 0;
    if (!slice_to_number(value, INT32_MAX, &number)) {
        refuse_value(settings, "Retries", value, "a number");
    } else if (number > JOB_RETRY_MAX) {
        message_settings_refuse(settings, 412, "invalid %sRetries: at most %d retries are possible",
                                settings->prefix, JOB_RETRY_MAX);
    } else {
        settings->has_retries = true;
        settings->retries = (int)number;
        (void)has_finite_waits(settings, settings->retry_delay);
    }
}

static void take_retry_delay(struct message_settings *settings, struct slice value)
{
    struct problem problem;
    if (retry_expression_check(value, 0, &problem) != STATUS_OK)
        message_settings_refuse(settings, 400, "invalid %sRetry-Delay: %s", settings->prefix, problem.text);
    else if (has_finite_waits(settings, value))
        settings->retry_delay = value;
}

static void take_timeout(struct message_settings *settings, struct slice value)
{
    settings->has_timeout =
        message_settings_read_duration(value, INT64_C(365) * 86400000, &settings->timeout_ms) &&
        settings->timeout_ms > 0;
    if (!settings->has_timeout)
        refuse_value(settings, "Timeout", value, "a duration such as 30s");
    else if (settings->timeout_ms > JOB_TIMEOUT_MAX_MS) {
        message_settings_refuse(settings, 412, "invalid %sTimeout: at most %lld s are possible",
                                settings->prefix, (long long)JOB_TIMEOUT_MAX_MS / 1000);
        settings->timeout_ms = JOB_TIMEOUT_MAX_MS; /* for callbacks that earlier versions have accepted */
    }
}

static void take_url(struct message_settings *settings, const char *name, struct slice value,
                     struct slice *url)
{
    struct url parsed;
    const char *detail;
    if (url_parse(value, &parsed, &detail) == STATUS_OK)
        *url = value;
    else
        refuse_value(settings, name, value, "a url that begins with http:// or https://");
}

static void take_callback(struct message_settings *settings, struct slice value)
{
    take_url(settings, "Callback", value, &settings->callback.url);
}

static void take_failure_callback(struct message_settings *settings, struct slice value)
{
    take_url(settings, "Failure-Callback", value, &settings->failure_callback.url);
}

static void take_deduplication_id(struct message_settings *settings, struct slice value)
{
    settings->deduplication_id = value;
}

static void take_content_based(struct message_settings *settings, struct slice value)
{
    settings->is_content_based = read_bool(value);
}

static void take_header_forward(struct message_settings *settings, struct slice value)
{
    settings->forwards_all = read_bool(value);
}

static void take_labels(struct message_settings *settings, struct slice value)
{
    for (bool has_more = true; has_more;) {
        struct slice label;
        has_more = slice_cut(value, ',', &label, &value);
        label = slice_trim(label);
        if (label.size == 0 || job_labels_have(&settings->labels, label))
            continue;
        if (settings->labels.count == JOB_LABELS_MAX)
            message_settings_refuse(settings, 400, "at most %d labels are possible", JOB_LABELS_MAX);
        else if (!job_label_is_valid(label))
            refuse_value(settings, "Label", label, JOB_LABEL_FORM);
        else
            settings->labels.items[settings->labels.count++] = label;
    }
}

static void take_queue(struct message_settings *settings, struct slice value)
{
    settings->queue = value;
}

static void take_schedule_id(struct message_settings *settings, struct slice value)
{
    settings->schedule_id = value;
}

static void take_cron(struct message_settings *settings, struct slice value)
{
    settings->cron = value;
}

/* ---- flow control ---- */

static void take_flow_key(struct message_settings *settings, struct slice value)
{
    settings->flow.key = value;
    if (settings->flow.period_s == 0)
        settings->flow.period_s = 1;
}

bool flow_control_take(struct flow_control *flow, struct slice name, struct slice value)
{
    uint64_t number = 0;
    int64_t ms = 0;
    if (slice_equal(name, SLICE("period"))) {
        bool is_read = slice_to_number(value, UINT64_C(7) * 86400, &number) ||
                       message_settings_read_duration(value, INT64_C(604800000), &ms);
        flow->period_s = number ? (int64_t)number : ms / 1000;
        return is_read && flow->period_s > 0;
    }
    if (!slice_to_number(value, 1000000, &number) || number == 0)
        return false;
    if (slice_equal(name, SLICE("parallelism")))
        flow->parallelism = (int64_t)number;
    else if (slice_equal(name, SLICE("rate")))
        flow->rate = (int64_t)number;
    else
        return false;
    return true;
}

static void take_flow_value(struct message_settings *settings, struct slice value)
{
    struct slice rest = value;
    bool has_limit = false;
    for (bool has_more = true; has_more;) {
        struct slice item, name, number;
        has_more = slice_cut(rest, ',', &item, &rest);
        slice_cut(slice_trim(item), '=', &name, &number);
        if (!flow_control_take(&settings->flow, slice_trim(name), slice_trim(number))) {
            refuse_value(settings, "Flow-Control-Value", value,
                         "such as parallelism=2, rate=3, period=1m; the period is at most a week");
            return;
        }
        has_limit |= !slice_equal(slice_trim(name), SLICE("period"));
    }
    if (!has_limit)
        refuse_value(settings, "Flow-Control-Value", value, "a text with a rate or a parallelism");
}

void message_settings_check_flow(struct message_settings *settings)
{
    if (settings->flow.key.size && settings->flow.parallelism == 0 && settings->flow.rate == 0)
        message_settings_refuse(
            settings, 400,
            "Upstash-Flow-Control-Key needs Upstash-Flow-Control-Value with a rate or a parallelism");
}

/* ---- redaction ---- */

/* Returns the name in "header[Name]", or an empty slice for any other text. */
static struct slice name_in_brackets(struct slice field)
{
    struct slice word, rest;
    if (!slice_cut(field, '[', &word, &rest) || rest.size < 2 || rest.data[rest.size - 1] != ']' ||
        !(slice_equal_nocase(word, SLICE("header")) || slice_equal_nocase(word, SLICE("headers"))))
        return SLICE("");
    return slice_from(rest.data, rest.size - 1);
}

static void take_redact(struct message_settings *settings, struct slice value)
{
    struct redaction *redact = &settings->redact;
    for (bool has_more = true; has_more;) {
        struct slice field;
        has_more = slice_cut(value, ',', &field, &value);
        field = slice_trim(field);
        struct slice name = name_in_brackets(field);
        if (slice_equal_nocase(field, SLICE("body")))
            redact->body = true;
        else if (slice_equal_nocase(field, SLICE("header")) || slice_equal_nocase(field, SLICE("headers")))
            redact->headers = true;
        else if (name.size && redact->count < REDACTED_HEADERS_MAX)
            redact->names[redact->count++] = name;
        else if (field.size)
            refuse_value(settings, "Redact-Fields", field, "body, header or header[Name]");
    }
}

/* ---- durable runs ---- */

static void take_run_id(struct message_settings *settings, struct slice value)
{
    bool is_valid = value.size > 0 && value.size <= RUN_ID_MAX && header_value_is_valid(value) &&
                    !memchr(value.data, '/', value.size);
    if (is_valid)
        settings->run.id = value;
    else
        refuse_value(settings, "Workflow-RunId", value, "1 to 200 visible ASCII characters without /");
}

static void take_run_url(struct message_settings *settings, struct slice value)
{
    if (value.size > 0) /* an empty url means the url of the run's first message */
        take_url(settings, "Workflow-Url", value, &settings->run.url);
}

static void take_call_type(struct message_settings *settings, struct slice value)
{
    settings->run.call_type = slice_equal_nocase(value, SLICE("step")) ? SLICE("") : value;
}

static void take_run_init(struct message_settings *settings, struct slice value)
{
    settings->run.is_init = read_bool(value);
}

static void take_run_invoke(struct message_settings *settings, struct slice value)
{
    settings->run.is_invoke = read_bool(value);
}

static void take_run_by_sdk(struct message_settings *settings, struct slice value)
{
    settings->run.is_by_sdk = read_bool(value);
}

/* ---- headers to forward ---- */

/* Returns whether duepost itself writes this header into each delivery. */
static bool is_written_by_us(struct slice name)
{
    static const struct slice names[] = {
        SLICE_INIT("Upstash-Message-Id"),
        SLICE_INIT("Upstash-Retried"),
        SLICE_INIT("Upstash-Signature"),
        SLICE_INIT("Upstash-Topic-Name"),
        SLICE_INIT("Upstash-Schedule-Id"),
        SLICE_INIT("Upstash-Caller-Ip"),
        SLICE_INIT("Upstash-Workflow-Unknown-Sdk"),
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (slice_equal_nocase(name, names[i]))
            return true;
    return header_is_refused(name);
}

static size_t header_bytes(const struct message_settings *settings)
{
    size_t sum = 0;
    for (size_t i = 0; i < settings->header_count; i++)
        sum += settings->headers[i].name.size + settings->headers[i].value.size;
    return sum;
}

static void add_header(struct message_settings *settings, struct slice name, struct slice value)
{
    if (is_written_by_us(name))
        return;
    if (!header_name_is_valid(name) || !header_value_is_valid(value))
        message_settings_refuse(settings, 400, "the header %.*s to forward must be visible ASCII",
                                SLICE_ARG(name));
    else if (settings->header_count == JOB_HEADERS_MAX ||
             header_bytes(settings) + name.size + value.size > JOB_HEADER_BYTES_MAX)
        message_settings_refuse(settings, 400,
                                "at most %d headers are forwarded, with at most %d bytes in all",
                                JOB_HEADERS_MAX, JOB_HEADER_BYTES_MAX);
    else
        settings->headers[settings->header_count++] = (struct job_header){name, value};
}

static bool has_header(const struct message_settings *settings, struct slice name)
{
    return headers_find(settings->headers, settings->header_count, name);
}

void message_settings_forward(struct message_settings *settings, struct slice name, struct slice value)
{
    static const struct slice own[] = {SLICE_INIT("Authorization"), SLICE_INIT("Accept-Encoding"),
                                       SLICE_INIT("Content-Type")};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (slice_equal_nocase(name, own[i]))
            return;
    bool is_setting = name.size >= strlen(PREFIX) && strncasecmp(name.data, PREFIX, strlen(PREFIX)) == 0;
    if (!is_setting && !has_header(settings, name))
        add_header(settings, name, value);
}

/* ---- names ---- */

static const struct {
    struct slice name;
    void (*take)(struct message_settings *, struct slice value);
} rows[] = {
    {SLICE_INIT("Method"), take_method},
    {SLICE_INIT("Delay"), take_delay},
    {SLICE_INIT("Not-Before"), take_not_before},
    {SLICE_INIT("Retries"), take_retries},
    {SLICE_INIT("Retry-Delay"), take_retry_delay},
    {SLICE_INIT("Timeout"), take_timeout},
    {SLICE_INIT("Callback"), take_callback},
    {SLICE_INIT("Failure-Callback"), take_failure_callback},
    {SLICE_INIT("Deduplication-Id"), take_deduplication_id},
    {SLICE_INIT("Content-Based-Deduplication"), take_content_based},
    {SLICE_INIT("Flow-Control-Key"), take_flow_key},
    {SLICE_INIT("Flow-Control-Value"), take_flow_value},
    {SLICE_INIT("Label"), take_labels},
    {SLICE_INIT("Redact-Fields"), take_redact},
    {SLICE_INIT("Header-Forward"), take_header_forward},
    {SLICE_INIT("Queue-Name"), take_queue},
    {SLICE_INIT("Schedule-Id"), take_schedule_id},
    {SLICE_INIT("Cron"), take_cron},
    {SLICE_INIT("Workflow-RunId"), take_run_id},
    {SLICE_INIT("Workflow-Url"), take_run_url},
    {SLICE_INIT("Workflow-CallType"), take_call_type},
    {SLICE_INIT("Workflow-Init"), take_run_init},
    {SLICE_INIT("Workflow-Invoke"), take_run_invoke},
    {SLICE_INIT("Workflow-Trigger-By-Sdk"), take_run_by_sdk},
};

/* Removes a prefix from a name. Returns whether the name had the prefix. */
static bool cut_prefix(struct slice *name, struct slice prefix)
{
    if (name->size <= prefix.size || !slice_equal_nocase(slice_from(name->data, prefix.size), prefix))
        return false;
    *name = slice_skip(*name, prefix.size);
    return true;
}

static void add_pair(struct message_settings *settings, struct callback_settings *callback, struct slice name,
                     struct slice value)
{
    if (callback->count == CALLBACK_SETTINGS_MAX)
        message_settings_refuse(settings, 400, "a callback has at most %d settings", CALLBACK_SETTINGS_MAX);
    else
        callback->pairs[callback->count++] = (struct callback_setting){name, value};
}

/* Takes a setting that is in the table. Returns whether it is. */
static bool take_row(struct message_settings *settings, struct slice name, struct slice value)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (slice_equal_nocase(name, rows[i].name)) {
            settings->given |= 1U << i;
            rows[i].take(settings, slice_trim(value));
            return true;
        }
    }
    return false;
}

/* Checks a setting of a callback, which is used only when the message that calls the callback is created. */
static void check_pair(struct message_settings *settings, const char *prefix, struct slice name,
                       struct slice value)
{
    struct message_settings pair = {.prefix = prefix};
    if (take_row(&pair, name, value) && pair.fault[0])
        message_settings_refuse(settings, pair.fault_status, "%s", pair.fault);
}

void message_settings_check_callback(struct message_settings *settings, struct slice name, struct slice value)
{
    if (cut_prefix(&name, SLICE(CALLBACK_PREFIX)))
        check_pair(settings, CALLBACK_PREFIX, name, value);
    else if (cut_prefix(&name, SLICE(FAILURE_CALLBACK_PREFIX)))
        check_pair(settings, FAILURE_CALLBACK_PREFIX, name, value);
}

void message_settings_take_short(struct message_settings *settings, struct slice name, struct slice value)
{
    if (take_row(settings, name, value))
        return;
    if (cut_prefix(&name, SLICE("Forward-")))
        add_header(settings, name, value);
    else if (cut_prefix(&name, SLICE("Callback-")))
        add_pair(settings, &settings->callback, name, value);
    else if (cut_prefix(&name, SLICE("Failure-Callback-")))
        add_pair(settings, &settings->failure_callback, name, value);
}

/* Takes a header without a check of the settings of callbacks. */
static void take_unchecked(struct message_settings *settings, struct slice name, struct slice value)
{
    if (slice_equal_nocase(name, SLICE("Content-Type")) && !has_header(settings, name))
        add_header(settings, SLICE("Content-Type"), value);
    else if (cut_prefix(&name, SLICE(PREFIX)))
        message_settings_take_short(settings, name, value);
}

void message_settings_take(struct message_settings *settings, struct slice name, struct slice value)
{
    message_settings_check_callback(settings, name, value);
    take_unchecked(settings, name, value);
}

static bool has_pair(const struct callback_settings *callback, struct slice name)
{
    for (size_t i = 0; i < callback->count; i++)
        if (slice_equal_nocase(callback->pairs[i].name, name))
            return true;
    return false;
}

static bool is_given(const struct message_settings *settings, struct slice name)
{
    if (!cut_prefix(&name, SLICE(PREFIX)))
        return has_header(settings, name);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (slice_equal_nocase(name, rows[i].name))
            return settings->given & 1U << i;
    if (cut_prefix(&name, SLICE("Forward-")))
        return has_header(settings, name);
    if (cut_prefix(&name, SLICE("Callback-")))
        return has_pair(&settings->callback, name);
    return cut_prefix(&name, SLICE("Failure-Callback-")) && has_pair(&settings->failure_callback, name);
}

void message_settings_take_default(struct message_settings *settings, struct slice name, struct slice value)
{
    if (!is_given(settings, name))
        take_unchecked(settings, name, value);
}

void message_settings_take_encoded(struct message_settings *settings, struct slice name, struct slice value)
{
    struct buffer *decoded = &settings->decoded;
    size_t start = decoded->size;
    if (!decoded->data)
        buffer_reserve(decoded,
                       decoded->max); /* the buffer must not move later, because slices point into it */
    if (decoded->failed || !percent_decode_form(value, decoded) || decoded->failed)
        message_settings_refuse(settings, 400, "the query parameter %.*s cannot be decoded", SLICE_ARG(name));
    else
        message_settings_take(settings, name, slice_from(decoded->data + start, decoded->size - start));
}
