#include "cli/top/top.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/timestamp.h"
#include "cli/call.h"
#include "cli/output.h"

/* ---- lines ---- */

/* Lines of text for a terminal: cut at its width, and with colours if the terminal has them. */

enum top_style { TOP_PLAIN, TOP_TITLE, TOP_DIM, TOP_GOOD, TOP_WARN, TOP_BAD, TOP_ALARM };

/* A screen of lines, each of which ends with a newline. */
struct top_lines {
    const struct top_look *look;
    struct buffer *text;
    size_t row, column; /* position of the next text */
};

enum { TEXT_MAX = 512, LEVELS = 9 };

static const char *const styles[] = {
    [TOP_PLAIN] = "",        [TOP_TITLE] = "\033[1m", [TOP_DIM] = "\033[2m",        [TOP_GOOD] = "\033[32m",
    [TOP_WARN] = "\033[33m", [TOP_BAD] = "\033[31m",  [TOP_ALARM] = "\033[1;7;31m",
};

static bool is_shown(const struct top_lines *lines)
{
    return lines->row < lines->look->rows && lines->column < lines->look->columns;
}

static void begin_style(struct top_lines *lines, enum top_style style)
{
    if (lines->look->has_color)
        buffer_append(lines->text, slice_of(styles[style]));
}

static void end_style(struct top_lines *lines, enum top_style style)
{
    if (lines->look->has_color && style != TOP_PLAIN)
        buffer_append(lines->text, SLICE("\033[0m"));
}

/* Adds the part of a text that fits into the line and the screen. Control bytes are replaced. */
__attribute__((format(printf, 3, 4))) static void top_add(struct top_lines *lines, enum top_style style,
                                                          const char *format, ...)
{
    char room[TEXT_MAX];
    struct buffer shown;
    va_list args;
    va_start(args, format);
    vsnprintf(room, sizeof room, format, args);
    va_end(args);
    if (!is_shown(lines) || !room[0])
        return;
    buffer_init(&shown, (size_t)2 * TEXT_MAX);
    table_append_shown(&shown, slice_of(room));
    begin_style(lines, style);
    struct slice text = buffer_slice(&shown);
    while (text.size && is_shown(lines)) {
        size_t size = 1; /* bytes of the first character; a byte that is not valid UTF-8 counts as one */
        while (size < text.size && ((unsigned char)text.data[size] & 0xc0) == 0x80)
            size++;
        if (size == 1 || lines->look->is_utf8)
            buffer_append(lines->text, slice_from(text.data, size));
        else
            buffer_append_byte(lines->text, '?');
        text = slice_skip(text, size);
        lines->column++;
    }
    end_style(lines, style);
    buffer_fini(&shown);
}

/* Adds a bar, one column wide, for each number. The height of a bar is in proportion to the highest number. A
 * negative number is unknown, and has no bar. */
static void top_add_bars(struct top_lines *lines, enum top_style style, const double *numbers, size_t count)
{
    static const char *const blocks[LEVELS] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    static const char *const signs[LEVELS] = {" ", ".", ":", "-", "=", "+", "*", "%", "#"};
    double highest = 0;
    for (size_t i = 0; i < count; i++)
        highest = numbers[i] > highest ? numbers[i] : highest;
    if (!is_shown(lines))
        return;
    begin_style(lines, style);
    for (size_t i = 0; i < count && is_shown(lines); i++) {
        int level = numbers[i] > 0 ? 1 + (int)(numbers[i] / highest * (LEVELS - 2)) : 0;
        buffer_append(lines->text, slice_of((lines->look->is_utf8 ? blocks : signs)[level]));
        lines->column++;
    }
    end_style(lines, style);
}

/* Adds spaces up to this column, unless the line is already longer. */
static void top_indent(struct top_lines *lines, size_t column)
{
    while (lines->column < column && is_shown(lines)) {
        buffer_append_byte(lines->text, ' ');
        lines->column++;
    }
}

static void top_end_line(struct top_lines *lines)
{
    if (lines->row < lines->look->rows) {
        while (lines->text->size && lines->text->data[lines->text->size - 1] == ' ')
            lines->text->size--;
        buffer_append_byte(lines->text, '\n');
    }
    lines->row++;
    lines->column = 0;
}

/* If the current line has less room than width, begins a new line at the column. */
static void top_wrap(struct top_lines *lines, size_t width, size_t column)
{
    if (lines->column <= column || lines->column + width <= lines->look->columns)
        return;
    top_end_line(lines);
    top_indent(lines, column);
}

enum {
    LABEL = 10,          /* column at which the text after a row's name begins */
    RATE_BARS = 22,      /* column of the bars of rates */
    NAME_MAX_WIDTH = 30, /* maximum width of the names of topics, receivers and hosts */
    NUMBER_SIZE = 24,
    COMING_MAX = 32,
    SECTIONS = 3,
    BEHIND_SECONDS = 30, /* if an ended job has waited longer than this for the history, or a row of the
                            outbox to be sent, a line reports it; usually they wait two seconds at most */
};

/* ---- numbers ---- */

/* Writes a number in at most five characters. */
static const char *short_number(double number, char text[NUMBER_SIZE])
{
    static const char units[] = " kMGTP";
    size_t unit = 0;
    for (; units[unit + 1] && number >= (unit == 0 ? 99999.5 : 999.5); unit++)
        number /= 1000;
    if (unit == 0)
        snprintf(text, NUMBER_SIZE,
                 number > 0 && number < 9.95 && number != (double)(int)number ? "%.1f" : "%.0f", number);
    else
        snprintf(text, NUMBER_SIZE, number < 99.95 ? "%.1f%c" : "%.0f%c", number, units[unit]);
    return text;
}

static const char *bytes_of(double bytes, char text[NUMBER_SIZE])
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    size_t unit = 0;
    for (; bytes >= 1024 && unit + 1 < sizeof units / sizeof *units; unit++)
        bytes /= 1024;
    snprintf(text, NUMBER_SIZE, unit > 0 && bytes < 99.95 ? "%.1f %s" : "%.0f %s", bytes, units[unit]);
    return text;
}

/* Writes a duration in its two largest units. */
static const char *span_of(double seconds, char text[NUMBER_SIZE])
{
    long long s = seconds > 0 && seconds < 1e15 ? (long long)seconds : 0;
    if (s < 60)
        snprintf(text, NUMBER_SIZE, "%llds", s);
    else if (s < 3600)
        snprintf(text, NUMBER_SIZE, "%lldm %llds", s / 60, s % 60);
    else if (s < 86400)
        snprintf(text, NUMBER_SIZE, "%lldh %lldm", s / 3600, s / 60 % 60);
    else
        snprintf(text, NUMBER_SIZE, "%lldd %lldh", s / 86400, s / 3600 % 24);
    return text;
}

static const char *latency_of(double ms, char text[NUMBER_SIZE])
{
    if (ms < 0)
        snprintf(text, NUMBER_SIZE, "-");
    else if (ms < 1000)
        snprintf(text, NUMBER_SIZE, "%.0f ms", ms);
    else if (ms < 100000)
        snprintf(text, NUMBER_SIZE, "%.1f s", ms / 1000);
    else
        span_of(ms / 1000, text);
    return text;
}

/* Returns the seconds from one time to another; 0 if one is unknown. */
static double seconds_between(const char *from, const char *to)
{
    int64_t from_ms, to_ms;
    if (!from || !to || !timestamp_parse(slice_of(from), &from_ms) || !timestamp_parse(slice_of(to), &to_ms))
        return 0;
    return (double)(to_ms - from_ms) / 1000;
}

static double number_of(const json_t *object, const char *name)
{
    return json_number_value(json_object_get(object, name));
}

static const char *text_of(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text ? text : "";
}

/* ---- the head ---- */

static void add_head(struct top_lines *lines, const struct top_view *view)
{
    top_add(lines, TOP_TITLE, "duepost");
    top_add(lines, TOP_PLAIN, "  %s", view->server);
    const char *now = text_of(view->overview, "now");
    enum { TIME_AT = 11, TIME_SIZE = 8 };
    size_t width = TIME_SIZE + strlen(" UTC");
    if (strlen(now) >= TIME_AT + TIME_SIZE && lines->look->columns >= lines->column + width + 1) {
        top_indent(lines, lines->look->columns - width);
        top_add(lines, TOP_DIM, "%.8s UTC", now + TIME_AT);
    }
    top_end_line(lines);
    if (view->trouble) {
        top_add(lines, TOP_BAD, "no answer: %s", view->trouble);
        top_end_line(lines);
    }
}

/* Adds a line across the screen, in a colour that no other line has: a server with a manual clock is for
 * tests. */
static void add_clock(struct top_lines *lines, const struct top_view *view)
{
    char line[TEXT_MAX];
    if (!text_of(view->overview, "clock")[0])
        return;
    int size = snprintf(line, sizeof line, "manual clock  stands at %s; duepost clock turns it",
                        text_of(view->overview, "now"));
    size_t width = lines->look->columns < TEXT_MAX ? lines->look->columns : TEXT_MAX - 1;
    if (lines->look->has_color && size > 0 && (size_t)size < width)
        snprintf(line + size, sizeof line - (size_t)size, "%*s", (int)(width - (size_t)size), "");
    top_add(lines, TOP_ALARM, "%s", line);
    top_end_line(lines);
}

static void add_outbox(struct top_lines *lines, const json_t *outbox)
{
    char span[NUMBER_SIZE];
    double oldest_s = number_of(outbox, "oldestSeconds");
    bool is_up = json_is_true(json_object_get(outbox, "isUp"));
    if (!outbox)
        return;
    top_wrap(lines, sizeof "  outbox 12h 34m behind", LABEL);
    top_add(lines, TOP_PLAIN, lines->column > LABEL ? "  outbox " : "outbox ");
    if (!is_up)
        top_add(lines, TOP_BAD, "away");
    else if (oldest_s > BEHIND_SECONDS)
        top_add(lines, TOP_WARN, "%s behind", span_of(oldest_s, span));
    else
        top_add(lines, TOP_PLAIN, json_is_true(json_object_get(outbox, "isActive")) ? "ok" : "standby");
}

static void add_redis(struct top_lines *lines, const struct top_view *view)
{
    const json_t *redis = json_object_get(view->overview, "redis");
    const json_t *history = json_object_get(view->overview, "history");
    char used[NUMBER_SIZE], max[NUMBER_SIZE];
    if (!redis)
        return;
    top_add(lines, TOP_PLAIN, "Redis");
    top_indent(lines, LABEL);
    if (json_is_false(json_object_get(redis, "isUp")))
        top_add(lines, TOP_BAD, "is down");
    else
        top_add(lines, TOP_PLAIN, "%s  %s%s", text_of(redis, "version"), text_of(redis, "durability"),
                json_is_true(json_object_get(redis, "isPrivate")) ? ", private" : "");
    if (number_of(redis, "usedBytes") > 0)
        top_add(lines, TOP_PLAIN, "  %s", bytes_of(number_of(redis, "usedBytes"), used));
    if (number_of(redis, "maxBytes") > 0)
        top_add(lines, TOP_PLAIN, " of %s", bytes_of(number_of(redis, "maxBytes"), max));
    if (number_of(history, "behindSeconds") > BEHIND_SECONDS)
        top_add(lines, TOP_WARN, "  history %s behind, %s jobs",
                span_of(number_of(history, "behindSeconds"), used),
                short_number(number_of(history, "backlogJobs"), max));
    else if (history)
        top_add(lines, TOP_PLAIN, "  history ok");
    add_outbox(lines, json_object_get(view->overview, "outbox"));
    top_end_line(lines);
}

/* ---- rates ---- */

static void add_bars(struct top_lines *lines, const struct top_view *view, enum top_figure figure,
                     enum top_style style)
{
    size_t room = lines->look->columns > lines->column ? lines->look->columns - lines->column : 0;
    size_t count = room < TOP_SECONDS ? room : TOP_SECONDS;
    top_add_bars(lines, style, view->series->seconds[figure] + TOP_SECONDS - count, count);
}

static void add_rate(struct top_lines *lines, const struct top_view *view, const char *name,
                     enum top_figure figure, enum top_style style)
{
    char number[NUMBER_SIZE];
    double rate = top_series_rate(view->series, figure);
    top_add(lines, TOP_PLAIN, "%s", name);
    top_indent(lines, LABEL);
    top_add(lines, rate > 0 ? style : TOP_PLAIN, "%8s/s", rate < 0 ? "-" : short_number(rate, number));
    top_indent(lines, RATE_BARS);
    add_bars(lines, view, figure, style);
    top_end_line(lines);
}

static void add_rates(struct top_lines *lines, const struct top_view *view)
{
    char p50[NUMBER_SIZE], p99[NUMBER_SIZE];
    if (view->series->end_ms == 0)
        return;
    add_rate(lines, view, "accepted", TOP_ACCEPTED, TOP_GOOD);
    add_rate(lines, view, "delivered", TOP_DELIVERED, TOP_GOOD);
    add_rate(lines, view, "retried", TOP_RETRIED, TOP_WARN);
    add_rate(lines, view, "dead", TOP_DEAD, TOP_BAD);
    top_add(lines, TOP_PLAIN, "late");
    top_indent(lines, LABEL);
    top_add(lines, TOP_PLAIN, "p50 %s  p99 %s  ",
            latency_of(top_series_last(view->series, TOP_LATE_P50), p50),
            latency_of(top_series_last(view->series, TOP_LATE_P99), p99));
    top_indent(lines, lines->look->columns > RATE_BARS + TOP_SECONDS ? RATE_BARS : 0);
    add_bars(lines, view, TOP_LATE_P99, TOP_PLAIN);
    top_end_line(lines);
}

/* ---- jobs ---- */

static void add_number(struct top_lines *lines, double count, const char *name, enum top_style style)
{
    char number[NUMBER_SIZE];
    short_number(count, number);
    top_wrap(lines, strlen(number) + strlen(name) + 3, LABEL);
    top_add(lines, count > 0 ? style : TOP_PLAIN, "%s %s", number, name);
    top_add(lines, TOP_PLAIN, "   ");
}

static void add_count(struct top_lines *lines, const json_t *object, const char *name, enum top_style style)
{
    if (json_object_get(object, name))
        add_number(lines, number_of(object, name), name, style);
}

/* Adds the numbers of jobs. The server's number of leased jobs includes pulled jobs. */
static void add_jobs(struct top_lines *lines, const struct top_view *view)
{
    const json_t *jobs = json_object_get(view->overview, "jobs");
    const json_t *workers = json_object_get(view->overview, "workers");
    if (jobs) {
        top_add(lines, TOP_PLAIN, "jobs");
        top_indent(lines, LABEL);
        add_count(lines, jobs, "delayed", TOP_PLAIN);
        add_count(lines, jobs, "ready", TOP_PLAIN);
        add_count(lines, jobs, "held", TOP_WARN);
        add_number(lines, number_of(jobs, "leased") - number_of(jobs, "pulled"), "in flight", TOP_PLAIN);
        add_count(lines, jobs, "pulled", TOP_PLAIN);
        add_count(lines, jobs, "dead", TOP_BAD);
        top_end_line(lines);
    }
    if (number_of(workers, "waiting") > 0 || number_of(workers, "leases") > 0) {
        top_add(lines, TOP_PLAIN, "workers");
        top_indent(lines, LABEL);
        add_count(lines, workers, "waiting", TOP_PLAIN);
        add_count(lines, workers, "leases", TOP_PLAIN);
        top_end_line(lines);
    }
}

/* ---- what is coming ---- */

static void add_span(struct top_lines *lines, const json_t *coming, const char *name)
{
    const json_t *counts = json_object_get(coming, name);
    double numbers[COMING_MAX] = {0}, sum = 0;
    char number[NUMBER_SIZE];
    size_t count = json_array_size(counts) < COMING_MAX ? json_array_size(counts) : COMING_MAX;
    for (size_t i = 0; i < count; i++)
        sum += numbers[i] = json_number_value(json_array_get(counts, i));
    top_wrap(lines, strlen(name) + count + 8, LABEL);
    top_add(lines, TOP_PLAIN, "%s %s ", name, short_number(sum, number));
    top_add_bars(lines, TOP_GOOD, numbers, count);
    top_add(lines, TOP_PLAIN, "  ");
}

static void add_coming(struct top_lines *lines, const struct top_view *view)
{
    const json_t *coming = json_object_get(view->overview, "coming");
    if (!coming)
        return;
    top_add(lines, TOP_PLAIN, "coming");
    top_indent(lines, LABEL);
    add_count(lines, coming, "overdue", TOP_WARN);
    add_span(lines, coming, "minute");
    add_span(lines, coming, "hour");
    add_span(lines, coming, "day");
    add_span(lines, coming, "week");
    add_count(lines, coming, "later", TOP_PLAIN);
    if (json_is_true(json_object_get(coming, "isSampled"))) {
        top_wrap(lines, strlen("(sampled)"), LABEL);
        top_add(lines, TOP_DIM, "(sampled)");
    }
    top_end_line(lines);
}

/* ---- sections ---- */

static void add_name(struct top_lines *lines, const char *name)
{
    size_t width = lines->look->columns / 3;
    width = width < NAME_MAX_WIDTH ? width : NAME_MAX_WIDTH;
    top_indent(lines, 2);
    top_add(lines, TOP_PLAIN, "%.*s", (int)(strlen(name) > width ? width - 1 : width), name);
    if (strlen(name) > width)
        top_add(lines, TOP_PLAIN, "~");
    top_indent(lines, width + 4);
}

static void add_overdue(struct top_lines *lines, const json_t *topic, const struct top_view *view)
{
    char late[NUMBER_SIZE], ready[NUMBER_SIZE], held[NUMBER_SIZE];
    (void)view;
    add_name(lines, text_of(topic, "topic"));
    top_add(lines, TOP_WARN, "%8s late", span_of(number_of(topic, "lateSeconds"), late));
    top_add(lines, TOP_PLAIN, "  %s ready", short_number(number_of(topic, "ready"), ready));
    if (number_of(topic, "held") > 0)
        top_add(lines, TOP_PLAIN, "  %s held", short_number(number_of(topic, "held"), held));
    if (json_is_true(json_object_get(topic, "isPaused")))
        top_add(lines, TOP_WARN, "  paused");
    else if (json_is_true(json_object_get(topic, "lacksUrl")))
        top_add(lines, TOP_WARN, "  no url");
    else if (json_is_true(json_object_get(topic, "isPull")))
        top_add(lines, TOP_WARN, "  no worker");
}

static void add_receiver(struct top_lines *lines, const json_t *receiver, const struct top_view *view)
{
    char wait[NUMBER_SIZE];
    const char *now = text_of(view->overview, "now"), *probe = text_of(receiver, "probeAt");
    double seconds = seconds_between(now, probe);
    add_name(lines, text_of(receiver, "receiver"));
    top_add(lines, strcmp(text_of(receiver, "state"), "closed") == 0 ? TOP_WARN : TOP_BAD, "%s",
            text_of(receiver, "state"));
    top_add(lines, TOP_PLAIN, "  %s", text_of(receiver, "cause"));
    if (seconds > 0)
        top_add(lines, TOP_PLAIN, "  probe in %s", span_of(seconds, wait));
    else if (probe[0])
        top_add(lines, TOP_PLAIN, "  probe now");
}

static void add_process(struct top_lines *lines, const json_t *process, const struct top_view *view)
{
    char up[NUMBER_SIZE], slots[NUMBER_SIZE];
    add_name(lines, text_of(process, "host"));
    top_add(lines, TOP_PLAIN, "%s  pid %.0f", text_of(process, "version"), number_of(process, "pid"));
    /* The start has the time of the host, which a manual clock is not compared with. */
    if (!text_of(view->overview, "clock")[0])
        top_add(lines, TOP_PLAIN, "  up %s",
                span_of(seconds_between(text_of(process, "startedAt"), text_of(view->overview, "now")), up));
    top_add(lines, TOP_PLAIN, "  %.0f in flight", number_of(process, "inFlight"));
    if (number_of(process, "receiverSlots") > 0)
        top_add(lines, TOP_PLAIN, " of %s", short_number(number_of(process, "receiverSlots"), slots));
    double reactors = number_of(process, "reactors");
    top_add(lines, TOP_PLAIN, "  %.0f reactor%s", reactors, reactors == 1 ? "" : "s");
}

struct section {
    const char *title;
    const json_t *entries; /* NULL: the answer does not have the section */
    size_t total, shown;
    void (*add)(struct top_lines *, const json_t *entry, const struct top_view *);
};

/* Divides the rows of the screen among the sections, so that a long section leaves room for the other ones.
 */
static void share_rows(struct section sections[SECTIONS], size_t rows)
{
    bool is_full = false;
    for (size_t i = 0; i < SECTIONS; i++)
        rows -= sections[i].entries && rows > 0;
    while (rows > 0 && !is_full) {
        is_full = true;
        for (size_t i = 0; i < SECTIONS && rows > 0; i++) {
            if (sections[i].shown == json_array_size(sections[i].entries))
                continue;
            sections[i].shown++;
            rows--;
            is_full = false;
        }
    }
}

static void add_sections(struct top_lines *lines, const struct top_view *view)
{
    const json_t *receivers = json_object_get(view->overview, "receivers");
    struct section sections[SECTIONS] = {
        {.title = "overdue topics",
         .entries = json_object_get(view->overview, "overdue"),
         .add = add_overdue},
        {.title = "impaired receivers", .entries = json_object_get(receivers, "first"), .add = add_receiver},
        {.title = "processes", .entries = json_object_get(view->overview, "processes"), .add = add_process},
    };
    for (size_t i = 0; i < SECTIONS; i++)
        sections[i].total = json_array_size(sections[i].entries);
    if (number_of(receivers, "impaired") > (double)sections[1].total)
        sections[1].total = (size_t)number_of(receivers, "impaired");
    share_rows(sections, lines->row < lines->look->rows ? lines->look->rows - lines->row : 0);
    for (size_t i = 0; i < SECTIONS; i++) {
        const struct section *section = &sections[i];
        if (!section->entries)
            continue;
        top_add(lines, TOP_TITLE, "%s", section->title);
        if (section->total == 0)
            top_add(lines, TOP_PLAIN, ": none");
        else if (section->total > section->shown)
            top_add(lines, TOP_PLAIN, ": %zu, of which %zu", section->total, section->shown);
        else
            top_add(lines, TOP_PLAIN, ": %zu", section->total);
        top_end_line(lines);
        for (size_t n = 0; n < section->shown; n++) {
            section->add(lines, json_array_get(section->entries, n), view);
            top_end_line(lines);
        }
    }
}

void top_view_write(struct buffer *text, const struct top_view *view, const struct top_look *look)
{
    struct top_lines lines = {.look = look, .text = text};
    add_head(&lines, view);
    if (!view->overview)
        return;
    add_clock(&lines, view);
    add_redis(&lines, view);
    add_rates(&lines, view);
    add_jobs(&lines, view);
    add_coming(&lines, view);
    add_sections(&lines, view);
}
