/* time_zone.c - reads TZif files (RFC 8536) and finds the offset of a time.
 *
 *   1. checks the header, and skips the first data block, whose times have 32 bits
 *   2. copies transitions and offsets of the second data block, whose times have 64 bits
 *   3. reads the rule in the footer for times after the last transition (RFC 8536, 3.3) */
#include "base/time_zone.h"

#include <ctype.h>

#include "base/memory.h"
#include "base/timestamp.h"

enum {
    HEADER_SIZE = 44,
    TYPE_SIZE = 6,
    TRANSITIONS_MAX = 4096,
    TYPES_MAX = 256,
    OFFSET_MAX = 26 * 3600, /* RFC 8536, 3.2 */
    DAY_S = 86400,
    RULE_YEARS = 3, /* the year of the wanted time, the year before it and the year after it */
};

enum day_kind {
    DAY_OF_YEAR,      /* day n: 0 to 365, 29 February is counted */
    DAY_WITHOUT_LEAP, /* day Jn: 1 to 365, 29 February is never counted */
    DAY_OF_WEEK,      /* Mm.w.d */
};

/* The time of a change between summer time and standard time, in each year. */
struct yearly {
    enum day_kind kind;
    int month, week, day; /* day of the year, or of the week; week 5: the last */
    int time_s;           /* local time before the change */
};

struct rule {
    bool is_set, has_summer;
    int standard_s, summer_s; /* offsets */
    struct yearly start, end; /* start and end of summer time */
};

struct transition {
    int64_t at_s;
    int offset_s; /* offset from at_s on */
};

struct time_zone {
    int first_offset_s; /* offset before the first transition */
    struct rule rule;   /* rule after the last transition */
    size_t count;
    struct transition transitions[];
};

/* ---- names ---- */

static bool is_name_byte(char byte)
{
    return isalnum((unsigned char)byte) || byte == '_' || byte == '-' || byte == '+' || byte == '.';
}

bool time_zone_name_is_valid(struct slice name)
{
    if (name.size == 0 || name.size > TIME_ZONE_NAME_MAX || slice_starts_with(name, SLICE("right/")) ||
        slice_starts_with(name, SLICE("posix/")))
        return false;
    for (bool has_more = true; has_more;) {
        struct slice part;
        has_more = slice_cut(name, '/', &part, &name);
        if (part.size == 0 || part.data[0] == '.')
            return false;
        for (size_t i = 0; i < part.size; i++)
            if (!is_name_byte(part.data[i]))
                return false;
    }
    return true;
}

bool time_zone_name_is_of_host(struct slice name)
{
    return slice_equal(name, SLICE("localtime")) || slice_equal(name, SLICE("posixrules")) ||
           slice_equal(name, SLICE("Factory"));
}

/* ---- the footer ---- */

static bool take_char(struct slice *rest, char byte)
{
    if (rest->size == 0 || rest->data[0] != byte)
        return false;
    *rest = slice_skip(*rest, 1);
    return true;
}

static bool take_number(struct slice *rest, int max, int *value)
{
    size_t size = 0;
    uint64_t number;
    while (size < rest->size && isdigit((unsigned char)rest->data[size]))
        size++;
    if (!slice_to_number(slice_from(rest->data, size), (uint64_t)max, &number))
        return false;
    *value = (int)number;
    *rest = slice_skip(*rest, size);
    return true;
}

/* Takes a zone's name, such as "CET" or "<+03>", from the front of *rest. */
static bool take_zone_name(struct slice *rest)
{
    bool is_quoted = take_char(rest, '<');
    size_t size = 0;
    while (size < rest->size && (isalpha((unsigned char)rest->data[size]) ||
                                 (is_quoted && (isdigit((unsigned char)rest->data[size]) ||
                                                rest->data[size] == '+' || rest->data[size] == '-'))))
        size++;
    *rest = slice_skip(*rest, size);
    return size >= 3 && (!is_quoted || take_char(rest, '>'));
}

/* Takes a time of the form "[+-]hh[:mm[:ss]]" from the front of *rest. */
static bool take_time(struct slice *rest, int hours_max, int *seconds)
{
    int hours, minutes = 0, s = 0;
    bool is_negative = take_char(rest, '-');
    if (!is_negative)
        (void)take_char(rest, '+');
    if (!take_number(rest, hours_max, &hours))
        return false;
    if (take_char(rest, ':') &&
        (!take_number(rest, 59, &minutes) || (take_char(rest, ':') && !take_number(rest, 59, &s))))
        return false;
    *seconds = ((hours * 60 + minutes) * 60 + s) * (is_negative ? -1 : 1);
    return true;
}

/* Takes the day and time of a yearly change, such as ",M3.5.0/2", ",J60" or ",59". */
static bool take_yearly(struct slice *rest, struct yearly *yearly)
{
    *yearly = (struct yearly){.time_s = 2 * 3600};
    if (!take_char(rest, ','))
        return false;
    if (take_char(rest, 'M')) {
        yearly->kind = DAY_OF_WEEK;
        if (!take_number(rest, 12, &yearly->month) || yearly->month == 0 || !take_char(rest, '.') ||
            !take_number(rest, 5, &yearly->week) || yearly->week == 0 || !take_char(rest, '.') ||
            !take_number(rest, 6, &yearly->day))
            return false;
    } else {
        yearly->kind = take_char(rest, 'J') ? DAY_WITHOUT_LEAP : DAY_OF_YEAR;
        if (!take_number(rest, 365, &yearly->day) || (yearly->kind == DAY_WITHOUT_LEAP && yearly->day == 0))
            return false;
    }
    return !take_char(rest, '/') || take_time(rest, 167, &yearly->time_s);
}

static bool read_rule(struct slice text, struct rule *rule)
{
    int west_s;
    *rule = (struct rule){.is_set = text.size > 0};
    if (text.size == 0)
        return true;
    if (!take_zone_name(&text) || !take_time(&text, 24, &west_s))
        return false;
    rule->standard_s = -west_s;
    rule->summer_s = rule->standard_s + 3600;
    if (text.size == 0)
        return true;
    rule->has_summer = true;
    if (!take_zone_name(&text))
        return false;
    if (text.size && text.data[0] != ',') {
        if (!take_time(&text, 24, &west_s))
            return false;
        rule->summer_s = -west_s;
    }
    return take_yearly(&text, &rule->start) && take_yearly(&text, &rule->end) && text.size == 0;
}

/* ---- the file ---- */

struct header {
    size_t isutc, isstd, leap, transitions, types, chars;
};

static uint64_t read_big(const char *at, size_t size)
{
    uint64_t number = 0;
    for (size_t i = 0; i < size; i++)
        number = number << 8 | (unsigned char)at[i];
    return number;
}

/* Takes a header from the front of *rest. Returns false if it is not the header of a TZif file, or if one of
 * its counts is too large. */
static bool take_header(struct slice *rest, struct header *header)
{
    if (rest->size < HEADER_SIZE || memcmp(rest->data, "TZif", 4) != 0 || rest->data[4] < '2')
        return false;
    size_t *const counts[] = {&header->isutc,       &header->isstd, &header->leap,
                              &header->transitions, &header->types, &header->chars};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        *counts[i] = (size_t)read_big(rest->data + 20 + 4 * i, 4);
    *rest = slice_skip(*rest, HEADER_SIZE);
    return header->transitions <= TRANSITIONS_MAX && header->types <= TYPES_MAX && header->chars <= 4096 &&
           header->leap <= TRANSITIONS_MAX && header->isstd <= TYPES_MAX && header->isutc <= TYPES_MAX;
}

static size_t block_size(const struct header *header, size_t time_size)
{
    return header->transitions * (time_size + 1) + header->types * TYPE_SIZE + header->chars +
           header->leap * (time_size + 4) + header->isstd + header->isutc;
}

/* Reads the offset from UTC of the local time type with this index. Returns false if the offset is out of
 * range. */
static bool read_offset(const char *types, size_t index, int *offset_s)
{
    *offset_s = (int)(int32_t)read_big(types + TYPE_SIZE * index, 4);
    return *offset_s >= -OFFSET_MAX && *offset_s <= OFFSET_MAX;
}

static bool copy_transitions(const struct header *header, const char *block, struct time_zone *zone)
{
    const char *indexes = block + 8 * header->transitions, *types = indexes + header->transitions;
    if (!read_offset(types, 0, &zone->first_offset_s))
        return false;
    for (size_t i = 0; i < header->transitions; i++) {
        struct transition *transition = &zone->transitions[i];
        size_t index = (unsigned char)indexes[i];
        transition->at_s = (int64_t)read_big(block + 8 * i, 8);
        if (index >= header->types || !read_offset(types, index, &transition->offset_s) ||
            (i && transition->at_s <= transition[-1].at_s))
            return false;
    }
    zone->count = header->transitions;
    return true;
}

static enum status zone_refuse(const char *why, struct problem *problem)
{
    problem_set(problem, "is not a valid time zone file: %s", why);
    return STATUS_INVALID;
}

enum status time_zone_read(struct slice bytes, struct time_zone **result, struct problem *problem)
{
    struct slice rest = bytes;
    struct header header;
    if (rest.size > TIME_ZONE_FILE_MAX)
        return zone_refuse("it is too long", problem);
    if (!take_header(&rest, &header) || rest.size < block_size(&header, 4))
        return zone_refuse("its header is damaged, or not of version 2 or later", problem);
    rest = slice_skip(rest, block_size(&header, 4));
    if (!take_header(&rest, &header) || header.types == 0 || rest.size < block_size(&header, 8))
        return zone_refuse("its second header is damaged", problem);
    if (header.leap)
        return zone_refuse("it counts leap seconds", problem);
    struct time_zone *zone = memory_new(sizeof *zone + header.transitions * sizeof *zone->transitions);
    const char *block = rest.data;
    rest = slice_skip(rest, block_size(&header, 8));
    bool has_footer = rest.size >= 2 && rest.data[0] == '\n' && rest.data[rest.size - 1] == '\n';
    if (has_footer && copy_transitions(&header, block, zone) &&
        read_rule(slice_from(rest.data + 1, rest.size - 2), &zone->rule)) {
        *result = zone;
        return STATUS_OK;
    }
    free(zone);
    return zone_refuse(has_footer ? "its transitions or its footer are damaged" : "its footer is missing",
                       problem);
}

void time_zone_free(struct time_zone *zone)
{
    free(zone);
}

const struct time_zone *time_zone_utc(void)
{
    static const struct time_zone utc = {.rule = {.is_set = true}};
    return &utc;
}

/* ---- finding an offset ---- */

/* Returns the day on which the change falls in this year, in days since 1970-01-01. */
static int64_t yearly_days(const struct yearly *yearly, int year)
{
    int64_t first = date_to_days((struct date){year, 1, 1});
    if (yearly->kind == DAY_OF_YEAR)
        return first + yearly->day;
    if (yearly->kind == DAY_WITHOUT_LEAP)
        return first + yearly->day - 1 + (yearly->day > 59 && date_month_days(year, 2) == 29);
    int64_t month = date_to_days((struct date){year, yearly->month, 1});
    int day = (yearly->day - date_weekday(month) + 7) % 7 + 7 * (yearly->week - 1);
    return month + (day < date_month_days(year, yearly->month) ? day : day - 7);
}

/* Writes the changes of RULE_YEARS years from first_year on, in the order of time. Returns the number of
 * changes. */
static size_t list_changes(const struct rule *rule, int first_year, struct transition changes[2 * RULE_YEARS])
{
    size_t count = 0;
    for (int year = first_year; year < first_year + RULE_YEARS; year++) {
        const struct transition both[] = {
            {yearly_days(&rule->end, year) * DAY_S + rule->end.time_s - rule->summer_s, rule->standard_s},
            {yearly_days(&rule->start, year) * DAY_S + rule->start.time_s - rule->standard_s, rule->summer_s},
        };
        for (size_t i = 0; i < 2; i++) {
            size_t at = count++;
            /* If two changes have the same time, the start of summer time comes last, because such a rule
             * means that summer time never ends. */
            for (; at > 0 &&
                   (changes[at - 1].at_s > both[i].at_s || (changes[at - 1].at_s == both[i].at_s && i == 0));
                 at--)
                changes[at] = changes[at - 1];
            changes[at] = both[i];
        }
    }
    return count;
}

/* Returns the span of time, with one offset, that contains at_s. The rule applies from from_s on. */
static struct time_zone_span span_by_rule(const struct rule *rule, int64_t from_s, int64_t at_s)
{
    struct time_zone_span span = {from_s, INT64_MAX, rule->standard_s};
    struct transition changes[2 * RULE_YEARS];
    if (!rule->has_summer)
        return span;
    int64_t days = (at_s + rule->standard_s) / DAY_S - ((at_s + rule->standard_s) % DAY_S < 0);
    size_t count = list_changes(rule, date_from_days(days).year - 1, changes);
    for (size_t i = 0; i < count; i++) {
        if (changes[i].at_s > at_s) {
            span.until_s = changes[i].at_s;
            break;
        }
        span.offset_s = changes[i].offset_s;
        span.from_s = changes[i].at_s > from_s ? changes[i].at_s : from_s;
    }
    return span;
}

struct time_zone_span time_zone_span(const struct time_zone *zone, int64_t at_s)
{
    size_t low = 0, high = zone->count; /* the first transition later than at_s */
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (zone->transitions[middle].at_s <= at_s)
            low = middle + 1;
        else
            high = middle;
    }
    struct time_zone_span span = {
        low ? zone->transitions[low - 1].at_s : INT64_MIN,
        low < zone->count ? zone->transitions[low].at_s : INT64_MAX,
        low ? zone->transitions[low - 1].offset_s : zone->first_offset_s,
    };
    return low == zone->count && zone->rule.is_set ? span_by_rule(&zone->rule, span.from_s, at_s) : span;
}

int64_t time_zone_to_utc(const struct time_zone *zone, int64_t local_s)
{
    enum { OFFSET_MAX_S = 2 * 86400 };
    for (int64_t from_s = local_s - OFFSET_MAX_S;;) {
        struct time_zone_span span = time_zone_span(zone, from_s);
        if (local_s - span.offset_s < span.until_s)
            return local_s - span.offset_s > span.from_s ? local_s - span.offset_s : span.from_s;
        from_s = span.until_s;
    }
}
