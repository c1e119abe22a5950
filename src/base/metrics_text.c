#include "base/metrics_private.h"

#define FAILURE_WORD(name, word) word,
static const char *const result_words[METRICS_RESULT_COUNT] = {
    "delivered", "not_yet", "3xx", "4xx", "5xx", FAILURES(FAILURE_WORD)};
#undef FAILURE_WORD

static const char *const end_words[METRICS_END_COUNT] = {"delivered", "cancelled", "dead"};

static const struct {
    const char *name, *help;
} counter_words[METRICS_COUNTER_COUNT] = {
    {"duepost_leases_recovered_total",
     "Jobs that were released because the process that delivered them was lost."},
    {"duepost_repairs_total", "Repairs of contradictory data in Redis; please report each of them."},
    {"duepost_data_lost_total",
     "Times that Redis was found without the data of this duepost: all jobs were lost."},
    {"duepost_redis_commands_total", "Commands sent to Redis. Each call of a script is one command."},
    {"duepost_claims_total", "Claims: calls to Redis that lease due jobs."},
    {"duepost_breakers_opened_total", "Breakers of receivers that attempts of this process opened."},
    {"duepost_breakers_closed_total", "Breakers of receivers that attempts of this process closed."},
    {"duepost_probes_total", "Attempts that probed a receiver with an open breaker."},
    {"duepost_limits_halved_total", "Times that a receiver's limit of attempts in flight was halved."},
    {"duepost_held_by_breaker_total", "Times that a due job was held because of its receiver's breaker."},
    {"duepost_held_by_limit_total", "Times that a due job was held because of its receiver's limit."},
    {"duepost_held_by_lookups_total",
     "Times that a due job was held because too many name lookups were under way."},
    {"duepost_held_by_identity_total",
     "Times that a due job was held because the access token or the client certificate of its request was "
     "missing."},
    {"duepost_held_without_url_total",
     "Times that a due job was held because neither the job nor its topic has a url."},
    {"duepost_held_unserved_total", "Times that a due job was held because it, or its topic, needs a later "
                                    "version, or its topic's settings cannot be "
                                    "read."},
    {"duepost_dead_removed_by_retention_total", "Dead jobs that the retention of their topic removed."},
    {"duepost_dead_removed_by_age_total", "Dead jobs that --dead-max-age removed."},
    {"duepost_dead_removed_by_number_total", "Dead jobs that --dead-max removed."},
    {"duepost_callbacks_total",
     "Callbacks that were scheduled, each to report an attempt or the end of a job."},
    {"duepost_fired_total", "Jobs that schedules created when their times came."},
    {"duepost_fires_missed_total", "Times that a schedule was late by more than its grace."},
    {"duepost_fires_overlapped_total",
     "Times that a schedule created no job because its last job had not ended (overlap: skip)."},
    {"duepost_fires_refused_total",
     "Times that a schedule created no job because another job had the id, or there was no url."},
    {"duepost_fires_held_total", "Times that a schedule could not fire yet: --max-jobs is reached, the time "
                                 "zone is unknown, or the definition is unreadable."},
    {"duepost_leased_total", "Jobs of pull topics that workers have leased."},
    {"duepost_deferred_total", "Attempts whose end the receiver has deferred (Duepost-Defer)."},
    {"duepost_leases_returned_total", "Leases that ended at once because the worker did not get the answer."},
    {"duepost_archived_total", "Ended jobs that were moved to the history."},
    {"duepost_jobs_throttled_total",
     "New jobs that were not scheduled because another job stands for them (throttle)."},
    {"duepost_jobs_debounced_total", "New jobs that replaced the one that waited (debounce)."},
    {"duepost_wrong_tokens_total", "Requests with a token that the server does not know."},
};

void metrics_write_head(struct buffer *text, enum metrics_format format, const char *name, const char *type,
                        const char *help)
{
    struct slice family = slice_of(name), total = SLICE("_total");
    if (format == METRICS_FORMAT_OPENMETRICS && strcmp(type, "counter") == 0)
        family.size -= total.size;
    buffer_printf(text, "# HELP %.*s %s\n# TYPE %.*s %s\n", SLICE_ARG(family), help, SLICE_ARG(family), type);
}

static const char *topic_name(const struct metrics_board *board, size_t row)
{
    return row == METRICS_TOPICS_MAX ? "_other" : board->names[row];
}

/* Returns the next row that is in use. The last row is that of "_other"; after this row, returns
 * TOPIC_ROWS. */
static size_t next_row(const struct metrics_board *board, size_t row)
{
    if (row == METRICS_TOPICS_MAX)
        return TOPIC_ROWS;
    return row + 1 < atomic_load_explicit(&board->topic_count, memory_order_acquire) ? row + 1
                                                                                     : METRICS_TOPICS_MAX;
}

static size_t first_row(const struct metrics_board *board)
{
    return atomic_load_explicit(&board->topic_count, memory_order_acquire) > 0 ? 0 : METRICS_TOPICS_MAX;
}

/* Sums a counter over all reactors; offset is its place in struct metrics. */
static uint64_t sum(const struct metrics_board *board, size_t offset)
{
    uint64_t total = 0;
    for (size_t i = 0; i < board->reactor_count; i++) {
        const counter *number = (const void *)((const char *)&board->reactors[i] + offset);
        total += atomic_load_explicit(number, memory_order_relaxed);
    }
    return total;
}

/* Returns the largest value that any reactor has set. Used for numbers that each reactor sets for the whole
 * process. */
static uint64_t largest(const struct metrics_board *board, size_t offset)
{
    uint64_t most = 0;
    for (size_t i = 0; i < board->reactor_count; i++) {
        const counter *number = (const void *)((const char *)&board->reactors[i] + offset);
        uint64_t value = atomic_load_explicit(number, memory_order_relaxed);
        most = value > most ? value : most;
    }
    return most;
}

static size_t row_offset(size_t row, size_t within)
{
    return offsetof(struct metrics, topics) + row * sizeof(struct topic_row) + within;
}

static void write_accepted(const struct metrics_board *board, struct buffer *text, enum metrics_format format)
{
    metrics_write_head(text, format, "duepost_jobs_accepted_total", "counter", "Jobs that were scheduled.");
    for (size_t row = first_row(board); row < TOPIC_ROWS; row = next_row(board, row)) {
        uint64_t total = sum(board, row_offset(row, offsetof(struct topic_row, accepted)));
        if (total)
            buffer_printf(text, "duepost_jobs_accepted_total{topic=\"%s\"} %llu\n", topic_name(board, row),
                          (unsigned long long)total);
    }
}

static void write_by_topic(const struct metrics_board *board, struct buffer *text, const char *name,
                           const char *label, const char *const *words, size_t count, size_t within)
{
    for (size_t row = first_row(board); row < TOPIC_ROWS; row = next_row(board, row)) {
        for (size_t i = 0; i < count; i++) {
            uint64_t total = sum(board, row_offset(row, within + i * sizeof(counter)));
            if (total)
                buffer_printf(text, "%s{topic=\"%s\",%s=\"%s\"} %llu\n", name, topic_name(board, row), label,
                              words[i], (unsigned long long)total);
        }
    }
}

static void write_seconds(struct buffer *text, int64_t us)
{
    buffer_printf(text, "%lld.%06lld", (long long)(us / 1000000), (long long)(us % 1000000));
}

/* Writes the limit of a bucket. OpenMetrics wants a whole number as "1.0". */
static void write_bound(struct buffer *text, enum metrics_format format, size_t bucket)
{
    if (bucket == HISTOGRAM_BUCKETS - 1) {
        buffer_append(text, SLICE("+Inf"));
        return;
    }
    buffer_printf(text, "%g", (double)histogram_bounds_us[bucket] / 1e6);
    if (format == METRICS_FORMAT_OPENMETRICS && histogram_bounds_us[bucket] % 1000000 == 0)
        buffer_append(text, SLICE(".0"));
}

static void write_exemplar(struct buffer *text, const struct exemplar *exemplar)
{
    if (!exemplar->trace_id[0])
        return;
    buffer_printf(text, " # {trace_id=\"%s\",span_id=\"%s\"} ", exemplar->trace_id, exemplar->span_id);
    write_seconds(text, exemplar->us);
    buffer_append_byte(text, ' ');
    write_seconds(text, exemplar->wall_us);
}

/* Writes a histogram. labels is "" or has the form "a=\"b\","; it is written before the label le. exemplars
 * is NULL, or has one exemplar for each bucket. */
static void write_histogram(struct buffer *text, enum metrics_format format, const char *name,
                            const char *labels, const struct histogram *histogram,
                            const struct exemplar *exemplars)
{
    uint64_t cumulated = 0;
    int size = (int)strlen(labels);
    for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
        cumulated += histogram->counts[i];
        buffer_printf(text, "%s_bucket{%sle=\"", name, labels);
        write_bound(text, format, i);
        buffer_printf(text, "\"} %llu", (unsigned long long)cumulated);
        if (exemplars)
            write_exemplar(text, &exemplars[i]);
        buffer_append_byte(text, '\n');
    }
    if (size > 0)
        buffer_printf(text, "%s_sum{%.*s} ", name, size - 1, labels);
    else
        buffer_printf(text, "%s_sum ", name);
    write_seconds(text, (int64_t)histogram->sum_us);
    if (size > 0)
        buffer_printf(text, "\n%s_count{%.*s} %llu\n", name, size - 1, labels, (unsigned long long)cumulated);
    else
        buffer_printf(text, "\n%s_count %llu\n", name, (unsigned long long)cumulated);
}

/* The histograms without labels. */
static const struct {
    const char *name, *help;
    size_t offset;                  /* in struct metrics */
    enum metrics_exemplified which; /* METRICS_EXEMPLIFIED_COUNT: no exemplars */
} whole_histograms[] = {
    {"duepost_lateness_seconds",
     "From a job's due time, or the end of its hold or of a pause, to its attempt.",
     offsetof(struct metrics, lateness), METRICS_EXEMPLIFIED_LATENESS},
    {"duepost_held_seconds",
     "How long jobs were held for their receiver or by a pause, from their due time on.",
     offsetof(struct metrics, held), METRICS_EXEMPLIFIED_COUNT},
    {"duepost_attempt_seconds", "From an attempt's name lookup to its end.",
     offsetof(struct metrics, attempt), METRICS_EXEMPLIFIED_ATTEMPT},
    {"duepost_fire_lateness_seconds",
     "From a time of a schedule to the creation of its job; missed times do not count.",
     offsetof(struct metrics, fire_lateness), METRICS_EXEMPLIFIED_COUNT},
};

/* Reads the latest exemplar of each bucket over all reactors. */
static void read_exemplars(struct metrics_board *board, enum metrics_exemplified which,
                           struct exemplar latest[HISTOGRAM_BUCKETS])
{
    for (size_t i = 0; i < board->reactor_count; i++) {
        struct exemplars *exemplars = &board->reactors[i].exemplars;
        pthread_mutex_lock(&exemplars->lock);
        for (size_t b = 0; b < HISTOGRAM_BUCKETS; b++)
            if (exemplars->buckets[which][b].wall_us > latest[b].wall_us)
                latest[b] = exemplars->buckets[which][b];
        pthread_mutex_unlock(&exemplars->lock);
    }
}

static void write_whole_histograms(struct metrics_board *board, struct buffer *text,
                                   enum metrics_format format)
{
    for (size_t i = 0; i < sizeof whole_histograms / sizeof *whole_histograms; i++) {
        struct histogram total = {0};
        struct exemplar exemplars[HISTOGRAM_BUCKETS] = {{.us = 0}};
        for (size_t k = 0; k < board->reactor_count; k++)
            histogram_add(&total,
                          (const void *)((const char *)&board->reactors[k] + whole_histograms[i].offset));
        if (format == METRICS_FORMAT_OPENMETRICS && whole_histograms[i].which < METRICS_EXEMPLIFIED_COUNT)
            read_exemplars(board, whole_histograms[i].which, exemplars);
        metrics_write_head(text, format, whole_histograms[i].name, "histogram", whole_histograms[i].help);
        write_histogram(text, format, whole_histograms[i].name, "", &total, exemplars);
    }
}

static bool has_label(const struct route_row *row, const char *label)
{
    const char *known = atomic_load_explicit(&row->label, memory_order_acquire);
    return known && strcmp(known, label) == 0;
}

static void add_status(const struct metrics_board *board, const char *label, unsigned status,
                       struct histogram *total)
{
    for (size_t i = 0; i < board->reactor_count; i++) {
        const struct route_row *row = board->reactors[i].routes;
        for (const struct route_row *end = row + METRICS_ROUTES_MAX; row < end && row->label; row++)
            for (size_t k = 0; k < METRICS_STATUSES_MAX && has_label(row, label); k++)
                if (row->statuses[k].status == status)
                    histogram_add(total, &row->statuses[k].seconds);
    }
}

/* Adds each label of this reactor to the array "labels", unless the array already has the label. Returns
 * the new number of labels. */
static size_t collect_labels(const struct metrics *metrics, const char **labels, size_t count)
{
    for (const struct route_row *row = metrics->routes;
         row < metrics->routes + METRICS_ROUTES_MAX && row->label; row++) {
        size_t known = 0;
        while (known < count && !has_label(row, labels[known]))
            known++;
        if (known == count && count < METRICS_ROUTES_MAX)
            labels[count++] = row->label;
    }
    return count;
}

enum { STATUS_END = 600 };

static void find_statuses(const struct metrics_board *board, const char *label, bool is_used[STATUS_END])
{
    for (size_t i = 0; i < board->reactor_count; i++) {
        const struct route_row *row = board->reactors[i].routes;
        for (const struct route_row *end = row + METRICS_ROUTES_MAX; row < end && row->label; row++)
            for (size_t k = 0; k < METRICS_STATUSES_MAX && has_label(row, label); k++) {
                unsigned status = atomic_load_explicit(&row->statuses[k].status, memory_order_relaxed);
                if (status < STATUS_END)
                    is_used[status] = true;
            }
    }
}

static void write_route(const struct metrics_board *board, struct buffer *text, enum metrics_format format,
                        const char *route)
{
    bool is_used[STATUS_END] = {false};
    find_statuses(board, route, is_used);
    for (unsigned status = 100; status < STATUS_END; status++) {
        if (!is_used[status])
            continue;
        struct histogram total = {0};
        uint64_t count = 0;
        char labels[96];
        add_status(board, route, status, &total);
        for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++)
            count += total.counts[i];
        if (count == 0)
            continue;
        struct buffer label = buffer_of(labels, sizeof labels);
        buffer_printf(&label, "route=\"%s\",status=\"%u\",", route, status);
        write_histogram(text, format, "duepost_http_request_seconds", buffer_text(&label), &total, NULL);
    }
}

static void write_requests(const struct metrics_board *board, struct buffer *text, enum metrics_format format)
{
    const char *labels[METRICS_ROUTES_MAX];
    size_t count = 0;
    metrics_write_head(text, format, "duepost_http_request_seconds", "histogram",
                       "From a request's head to its answer.");
    for (size_t i = 0; i < board->reactor_count; i++)
        count = collect_labels(&board->reactors[i], labels, count);
    for (size_t i = 0; i < count; i++)
        write_route(board, text, format, labels[i]);
}

static void write_gauge(struct buffer *text, const char *name, const char *help, uint64_t value)
{
    metrics_write_head(text, METRICS_FORMAT_TEXT, name, "gauge",
                       help); /* gauges have the same head in both formats */
    buffer_printf(text, "%s %llu\n", name, (unsigned long long)value);
}

/* Writes the processor time of Redis, if Redis reports it. */
static void write_processor(const struct metrics_board *board, struct buffer *text,
                            enum metrics_format format)
{
    uint64_t us = largest(board, offsetof(struct metrics, redis_processor_us));
    if (us == 0)
        return;
    metrics_write_head(text, format, "duepost_redis_cpu_seconds_total", "counter",
                       "Processor time of Redis and its child processes; the value may be some seconds old.");
    buffer_append(text, SLICE("duepost_redis_cpu_seconds_total "));
    write_seconds(text, (int64_t)us);
    buffer_append_byte(text, '\n');
}

static void write_counters(const struct metrics_board *board, struct buffer *text, enum metrics_format format)
{
    for (size_t i = 0; i < METRICS_COUNTER_COUNT; i++) {
        metrics_write_head(text, format, counter_words[i].name, "counter", counter_words[i].help);
        buffer_printf(
            text, "%s %llu\n", counter_words[i].name,
            (unsigned long long)sum(board, offsetof(struct metrics, counters) + i * sizeof(counter)));
    }
}

/* Writes the numbers of the relay, if the process has one. */
static void write_relay(struct metrics_board *board, struct buffer *text, enum metrics_format format)
{
    const struct metrics_relay *relay = &board->relay;
    if (!atomic_load(&relay->is_on))
        return;
    metrics_write_head(text, format, "duepost_relay_sent_total", "counter",
                       "Rows of the outbox that became jobs.");
    buffer_printf(text, "duepost_relay_sent_total %lld\n", (long long)atomic_load(&relay->sent));
    metrics_write_head(text, format, "duepost_relay_failed_total", "counter",
                       "Rows of the outbox that the server refused.");
    buffer_printf(text, "duepost_relay_failed_total %lld\n", (long long)atomic_load(&relay->failed));
    metrics_write_head(text, format, "duepost_relay_stuck_total", "counter",
                       "Times that the database refused to move or to delete a row of the outbox.");
    buffer_printf(text, "duepost_relay_stuck_total %lld\n", (long long)atomic_load(&relay->stuck));
    write_gauge(text, "duepost_relay_up", "Whether the last rows could be read and sent.",
                atomic_load(&relay->is_up));
    write_gauge(text, "duepost_relay_active", "Whether this relay has the lock of the outbox.",
                atomic_load(&relay->is_active));
    int64_t oldest_ms = atomic_load(&relay->oldest_ms);
    if (oldest_ms < 0)
        return;
    metrics_write_head(text, format, "duepost_relay_oldest_seconds", "gauge",
                       "How long the first row of the outbox has waited.");
    buffer_printf(text, "duepost_relay_oldest_seconds %lld.%03lld\n", (long long)(oldest_ms / 1000),
                  (long long)(oldest_ms % 1000));
}

void metrics_write(struct metrics_board *board, struct buffer *text, enum metrics_format format)
{
    write_accepted(board, text, format);
    metrics_write_head(text, format, "duepost_attempts_total", "counter", "POSTs to receivers, by result.");
    write_by_topic(board, text, "duepost_attempts_total", "result", result_words, METRICS_RESULT_COUNT,
                   offsetof(struct topic_row, attempts));
    metrics_write_head(text, format, "duepost_jobs_ended_total", "counter",
                       "Jobs that ended, by how they ended.");
    write_by_topic(board, text, "duepost_jobs_ended_total", "how", end_words, METRICS_END_COUNT,
                   offsetof(struct topic_row, ended));
    write_whole_histograms(board, text, format);
    write_requests(board, text, format);
    write_counters(board, text, format);
    write_processor(board, text, format);
    write_gauge(text, "duepost_in_flight", "Attempts that run or are being recorded in this process.",
                sum(board, offsetof(struct metrics, in_flight)));
    write_gauge(text, "duepost_receivers_open", "Receivers with an open breaker that this process has seen.",
                largest(board, offsetof(struct metrics, receivers_open)));
    write_gauge(text, "duepost_receivers_limited",
                "Receivers with a limit of attempts in flight that this process has seen.",
                largest(board, offsetof(struct metrics, receivers_limited)));
    write_relay(board, text, format);
}
