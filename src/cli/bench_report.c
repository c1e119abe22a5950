#include "cli/bench_report.h"

#include <inttypes.h>

#include "base/json_writer.h"

static double per_second(const struct bench_figure *figure)
{
    return figure->seconds > 0 ? (double)figure->jobs / figure->seconds : 0;
}

/* ---- text ---- */

static void write_processor(struct buffer *text, const char *name, const struct bench_figure *figure)
{
    buffer_printf(text, "%s", name);
    if (figure->duepost_us >= 0)
        buffer_printf(text, "duepost %.1f us a job", figure->duepost_us);
    if (figure->redis_us >= 0)
        buffer_printf(text, "%sRedis %.1f us a job", figure->duepost_us >= 0 ? ", " : "", figure->redis_us);
    if (figure->duepost_us < 0 && figure->redis_us < 0)
        buffer_printf(text, "unknown: the server's /metrics cannot be read, or come from several processes");
    buffer_append_byte(text, '\n');
}

static void write_text(const struct bench_report *report, struct buffer *text)
{
    const struct bench_figure *accept = &report->accept, *deliver = &report->deliver;
    const struct bench_lateness *late = &report->lateness;
    buffer_printf(text,
                  "accept    %zu jobs in %.2f s: %.0f jobs/s (%zu in a request, %zu requests at once)\n",
                  accept->jobs, accept->seconds, per_second(accept), report->batch, report->parallel);
    write_processor(text, "  CPU     ", accept);
    buffer_printf(text, "deliver   %zu jobs in %.2f s: %.0f jobs/s, %zu more than once\n", deliver->jobs,
                  deliver->seconds, per_second(deliver), deliver->repeats);
    write_processor(text, "  CPU     ", deliver);
    buffer_printf(text, "lateness  p50 %.1f ms, p99 %.1f ms, max %.1f ms; %zu early (%zu jobs, %zu/s)\n",
                  late->p50_ms, late->p99_ms, late->max_ms, late->early, late->jobs, report->per_second);
    if (report->offset_ms)
        buffer_printf(text,
                      "The server's clock is about %" PRId64 " ms %s this host's clock; the lateness is "
                      "corrected by that.\n",
                      report->offset_ms < 0 ? -report->offset_ms : report->offset_ms,
                      report->offset_ms < 0 ? "behind" : "ahead of");
}

/* ---- JSON ---- */

static void add_decimal(struct json_writer *json, const char *name, double value)
{
    json_put_name(json, name);
    buffer_printf(json_put(json), "%.3f", value);
}

static void add_figure(struct json_writer *json, const char *name, const struct bench_figure *figure)
{
    json_add_object(json, name);
    json_add_number(json, "jobs", (int64_t)figure->jobs);
    add_decimal(json, "seconds", figure->seconds);
    add_decimal(json, "jobsPerSecond", per_second(figure));
    json_add_number(json, "repeats", (int64_t)figure->repeats);
    if (figure->duepost_us >= 0)
        add_decimal(json, "duepostMicroseconds", figure->duepost_us);
    if (figure->redis_us >= 0)
        add_decimal(json, "redisMicroseconds", figure->redis_us);
    json_end_object(json);
}

static void write_json(const struct bench_report *report, struct buffer *text)
{
    struct json_writer json = json_writer_to(text);
    const struct bench_lateness *late = &report->lateness;
    json_put_object(&json);
    json_add_text(&json, "server", slice_of(report->server));
    json_add_text(&json, "topic", slice_of(report->topic));
    json_add_number(&json, "batch", (int64_t)report->batch);
    json_add_number(&json, "parallel", (int64_t)report->parallel);
    add_figure(&json, "accept", &report->accept);
    add_figure(&json, "deliver", &report->deliver);
    json_add_object(&json, "lateness");
    json_add_number(&json, "jobs", (int64_t)late->jobs);
    json_add_number(&json, "perSecond", (int64_t)report->per_second);
    json_add_number(&json, "early", (int64_t)late->early);
    add_decimal(&json, "p50Milliseconds", late->p50_ms);
    add_decimal(&json, "p99Milliseconds", late->p99_ms);
    add_decimal(&json, "maxMilliseconds", late->max_ms);
    json_add_number(&json, "clockOffsetMilliseconds", report->offset_ms);
    json_end_object(&json);
    json_end_object(&json);
    buffer_append_byte(text, '\n');
}

void bench_report_write(const struct bench_report *report, bool is_json, struct buffer *text)
{
    if (is_json)
        write_json(report, text);
    else
        write_text(report, text);
}
