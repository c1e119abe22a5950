#include "cli/output.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>
#include <time.h>

#include "base/duration.h"
#include "base/utf8.h"

/* ---- text and tables ---- */

enum { TEXT_MAX = 256 * 1024 * 1024, LINE_SIZE = 64 * 1024 };

void table_init(struct table *table, size_t columns, const char *const *titles)
{
    *table = (struct table){.columns = columns};
    buffer_init(&table->text, TEXT_MAX);
    for (size_t i = 0; i < columns; i++)
        table_add(table, titles[i]);
}

void table_fini(struct table *table)
{
    buffer_fini(&table->text);
}

/* Returns the width of a cell: the number of its UTF-8 characters. Each byte that begins a character counts
 * as one column. */
static size_t width_of(const char *cell)
{
    size_t width = 0;
    for (; *cell; cell++)
        width += ((unsigned char)*cell & 0xc0) != 0x80;
    return width;
}

/* Returns the size of the first character if a terminal would not show it but act on it, else 0. These are
 * the control characters of ASCII and C1, and characters that have no width, end a line or change the
 * direction of text: U+200B to U+200F, U+2028 to U+202E and U+2060 to U+206F. */
static size_t unseen_size(struct slice text)
{
    const unsigned char *at = (const unsigned char *)text.data;
    if (at[0] < 0x20 || at[0] == 0x7f)
        return 1;
    if (at[0] == 0xc2 && text.size > 1 && at[1] < 0xa0)
        return 2;
    if (at[0] != 0xe2 || text.size < 3)
        return 0;
    unsigned low = at[2];
    bool is_general = at[1] == 0x80 && ((low >= 0x8b && low <= 0x8f) || (low >= 0xa8 && low <= 0xae));
    bool is_invisible = at[1] == 0x81 && low >= 0xa0 && low <= 0xaf;
    return is_general || is_invisible ? 3 : 0;
}

/* Returns the size of the first character, or 0 if the first byte is not part of UTF-8. */
static size_t character_size(struct slice text)
{
    const uint8_t *at = (const uint8_t *)text.data;
    size_t size = at[0] < 0x80 ? 1 : utf8_size(at[0]);
    return size <= 1 || (size <= text.size && utf8_is_sound(at, size)) ? size : 0;
}

void table_append_shown(struct buffer *out, struct slice text)
{
    while (text.size) {
        size_t unseen = unseen_size(text), size = unseen ? unseen : character_size(text);
        buffer_append(out, unseen || !size ? SLICE("?") : slice_from(text.data, size));
        text = slice_skip(text, size ? size : 1);
    }
}

void table_print_line(FILE *file, const char *format, ...)
{
    va_list values;
    struct buffer shown;
    char room[LINE_SIZE];
    va_start(values, format);
    int size = vsnprintf(room, sizeof room, format, values);
    va_end(values);
    size_t length = size < 0 ? 0 : (size_t)size < sizeof room ? (size_t)size : sizeof room - 1;
    buffer_init(&shown, sizeof room);
    table_append_shown(&shown, slice_from(room, length > 0 ? length - 1 : 0));
    fprintf(file, "%.*s\n", SLICE_ARG(buffer_slice(&shown)));
    buffer_fini(&shown);
}

void table_print_json(const char *json)
{
    for (struct slice text = slice_of(json); text.size;) {
        size_t unseen = unseen_size(text);
        const unsigned char *at = (const unsigned char *)text.data;
        if (at[0] == 0x7f)
            fputs("\\u007f", stdout);
        else if (unseen == 2)
            printf("\\u%04x", at[1]);
        else if (unseen == 3)
            printf("\\u%04x", 0x2000u | (at[1] & 0x3fu) << 6 | (at[2] & 0x3fu));
        else
            putchar(at[0]);
        text = slice_skip(text, unseen ? unseen : 1);
    }
    putchar('\n');
}

void table_add(struct table *table, const char *cell)
{
    size_t column = table->cells % table->columns;
    size_t width = width_of(cell ? cell : "");
    if (width > table->widths[column])
        table->widths[column] = width;
    table_append_shown(&table->text, slice_of(cell ? cell : ""));
    buffer_append_byte(&table->text, '\0');
    table->cells++;
}

void table_add_number(struct table *table, long long number)
{
    char text[24];
    snprintf(text, sizeof text, "%lld", number);
    table_add(table, text);
}

void table_print(const struct table *table)
{
    const char *at = table->text.data;
    for (size_t cell = 0; cell < table->cells; cell++) {
        size_t column = cell % table->columns;
        bool is_last = column + 1 == table->columns;
        size_t pad = is_last ? 0 : table->widths[column] - width_of(at) + 2;
        printf("%s%*s%s", at, (int)pad, "", is_last ? "\n" : "");
        at += strlen(at) + 1;
    }
}

/* ---- times ---- */

#define MS_PER_S   INT64_C(1000)
#define MS_PER_MIN (60 * MS_PER_S)
#define MS_PER_H   (60 * MS_PER_MIN)
#define MS_PER_DAY (24 * MS_PER_H)

/* Returns the time of the host's clock, because times of the API are calendar times. */
static int64_t when_now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * MS_PER_S + now.tv_nsec / 1000000;
}

bool when_parse(const char *text, char time[TIMESTAMP_SIZE])
{
    int64_t at = when_now_ms(), span = 0;
    bool is_relative = text[0] == '-' || text[0] == '+';
    if (is_relative && !duration_parse(slice_of(text + 1), TIMESTAMP_MAX_MS - at, &span))
        return false;
    if (is_relative)
        at = text[0] == '-' ? at - span : at + span;
    else if (strcmp(text, "now") != 0 && !timestamp_parse(slice_of(text), &at))
        return false;
    timestamp_format(at < 0 ? 0 : at, time);
    return true;
}

bool when_parse_past(const char *text, char time[TIMESTAMP_SIZE])
{
    int64_t span;
    if (!duration_parse(slice_of(text), TIMESTAMP_MAX_MS, &span))
        return when_parse(text, time);
    int64_t at = when_now_ms() - span;
    timestamp_format(at < 0 ? 0 : at, time);
    return true;
}

bool when_span(const char *time, char span[WHEN_SPAN_SIZE])
{
    char text[WHEN_SPAN_SIZE / 2];
    int64_t at;
    if (!timestamp_parse(slice_of(time), &at))
        return false;
    int64_t left = at - when_now_ms();
    int64_t ms = left < 0 ? -left : left;
    /* Two units: the largest unit that fits into the span, and the next smaller unit. */
    if (ms >= MS_PER_DAY)
        snprintf(text, sizeof text, "%" PRId64 " d %" PRId64 " h", ms / MS_PER_DAY,
                 ms % MS_PER_DAY / MS_PER_H);
    else if (ms >= MS_PER_H)
        snprintf(text, sizeof text, "%" PRId64 " h %" PRId64 " min", ms / MS_PER_H,
                 ms % MS_PER_H / MS_PER_MIN);
    else if (ms >= MS_PER_MIN)
        snprintf(text, sizeof text, "%" PRId64 " min %" PRId64 " s", ms / MS_PER_MIN,
                 ms % MS_PER_MIN / MS_PER_S);
    else
        snprintf(text, sizeof text, "%" PRId64 ".%" PRId64 " s", ms / MS_PER_S, ms % MS_PER_S / 100);
    if (left > -100 && left < 100)
        snprintf(span, WHEN_SPAN_SIZE, "now");
    else
        snprintf(span, WHEN_SPAN_SIZE, left < 0 ? "%s ago" : "in %s", text);
    return true;
}

bool when_age(const char *time, char age[WHEN_SPAN_SIZE])
{
    static const struct {
        int64_t ms;
        char name;
    } units[] = {{MS_PER_DAY, 'd'}, {MS_PER_H, 'h'}, {MS_PER_MIN, 'm'}, {MS_PER_S, 's'}};
    enum { LAST = sizeof units / sizeof *units - 1 };
    int64_t at;
    size_t i = 0;
    if (!timestamp_parse(slice_of(time), &at))
        return false;
    int64_t ms = when_now_ms() > at ? when_now_ms() - at : 0;
    while (i < LAST && ms < units[i].ms)
        i++;
    snprintf(age, WHEN_SPAN_SIZE, "%" PRId64 "%c", ms / units[i].ms, units[i].name);
    return true;
}
