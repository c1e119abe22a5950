/* cron.c - parses and matches cron expressions.
 *
 *   1. cuts the text into fields, or replaces an @word by its fields
 *   2. reads each field into bits: a list of ranges with steps
 *   3. refuses expressions whose date never comes, such as 31 February
 *   4. finds the next matching day, then the next matching time of that day */
#include "job/schedule/cron.h"

#include "base/timestamp.h"

enum { FIELDS_MAX = 6, STEP_MAX = 999, FOUND_MAX = 40, DAY_S = 86400 };

#define CYCLE_DAYS INT64_C(146097) /* the calendar repeats after 400 years */

/* ---- parsing ---- */

struct cron_field {
    const char *name, *allowed;
    int min, max;
    const char *names; /* names of three letters each, in a row; first_name is the value of the first */
    int first_name;
};

enum { CRON_SECOND, CRON_MINUTE, CRON_HOUR, CRON_DAY, CRON_MONTH, CRON_WEEKDAY };

static const struct cron_field fields[FIELDS_MAX] = {
    [CRON_SECOND] = {"second", "0 to 59", 0, 59, "", 0},
    [CRON_MINUTE] = {"minute", "0 to 59", 0, 59, "", 0},
    [CRON_HOUR] = {"hour", "0 to 23", 0, 23, "", 0},
    [CRON_DAY] = {"day of month", "1 to 31", 1, 31, "", 0},
    [CRON_MONTH] = {"month", "1 to 12 or jan to dec", 1, 12, "janfebmaraprmayjunjulaugsepoctnovdec", 1},
    [CRON_WEEKDAY] = {"day of week", "0 to 7 or sun to sat", 0, 7, "sunmontuewedthufrisat", 0},
};

static enum status cron_refuse(const struct cron_field *field, struct slice found, const char *rule,
                               struct problem *problem)
{
    found.size = found.size < FOUND_MAX ? found.size : FOUND_MAX;
    problem_set(problem, "%s: found '%.*s'; %s%s", field->name, SLICE_ARG(found),
                rule ? rule : "allowed are ", rule ? "" : field->allowed);
    return STATUS_INVALID;
}

/* Reads a number or a name. */
static bool read_value(const struct cron_field *field, struct slice text, int *value)
{
    uint64_t number;
    const char *name = field->names;
    for (int i = 0; text.size == 3 && *name; i++, name += 3) {
        if (slice_equal_nocase(text, slice_from(name, 3))) {
            *value = field->first_name + i;
            return true;
        }
    }
    if (!slice_to_number(text, (uint64_t)field->max, &number) || (int)number < field->min)
        return false;
    *value = (int)number;
    return true;
}

/* Reads "*", "3" or "3-7", without a step. */
static enum status read_range(const struct cron_field *field, struct slice text, int *first, int *last,
                              bool *is_single, struct problem *problem)
{
    struct slice from, to;
    *first = field->min;
    *last = field->max;
    *is_single = false;
    if (slice_equal(text, SLICE("*")))
        return STATUS_OK;
    *is_single = !slice_cut(text, '-', &from, &to);
    if (!read_value(field, from, first))
        return cron_refuse(field, from, NULL, problem);
    if (*is_single)
        *last = *first;
    else if (!read_value(field, to, last))
        return cron_refuse(field, to, NULL, problem);
    return *first <= *last ? STATUS_OK
                           : cron_refuse(field, text, "a range must not end before it begins", problem);
}

/* Reads one item of a list, such as "9-17/2". */
static enum status read_item(const struct cron_field *field, struct slice item, uint64_t *bits,
                             struct problem *problem)
{
    struct slice range, step_text;
    uint64_t step = 1;
    int first, last;
    bool is_single, has_step = slice_cut(item, '/', &range, &step_text);
    enum status status = read_range(field, range, &first, &last, &is_single, problem);
    if (status != STATUS_OK)
        return status;
    if (has_step && is_single)
        return cron_refuse(field, item, "a step needs a range or *, such as 5-59/10 or */10", problem);
    if (has_step && (!slice_to_number(step_text, STEP_MAX, &step) || step == 0))
        return cron_refuse(field, item, "allowed steps are 1 to 999", problem);
    for (int i = first; i <= last; i += (int)step)
        *bits |= UINT64_C(1) << i;
    return STATUS_OK;
}

static enum status read_field(const struct cron_field *field, struct slice text, uint64_t *bits,
                              struct problem *problem)
{
    struct slice item, rest = text;
    enum status status = STATUS_OK;
    *bits = 0;
    for (bool has_more = true; has_more && status == STATUS_OK;) {
        has_more = slice_cut(rest, ',', &item, &rest);
        status = read_item(field, item, bits, problem);
    }
    return status;
}

static bool is_space(char byte)
{
    return byte == ' ' || byte == '\t';
}

/* Cuts the text at spaces and tabs. Returns the number of fields, FIELDS_MAX + 1 if there are more. */
static size_t cut_fields(struct slice text, struct slice *cut)
{
    size_t count = 0;
    for (size_t i = 0; i < text.size;) {
        size_t start = i;
        while (i < text.size && !is_space(text.data[i]))
            i++;
        if (i > start && count == FIELDS_MAX)
            return FIELDS_MAX + 1;
        if (i > start)
            cut[count++] = slice_from(text.data + start, i - start);
        while (i < text.size && is_space(text.data[i]))
            i++;
    }
    return count;
}

/* Returns the expression for an @word, or an empty slice. */
static struct slice find_word(struct slice text)
{
    static const struct {
        struct slice word, expression;
    } words[] = {
        {SLICE_INIT("@hourly"), SLICE_INIT("0 * * * *")},   {SLICE_INIT("@daily"), SLICE_INIT("0 0 * * *")},
        {SLICE_INIT("@midnight"), SLICE_INIT("0 0 * * *")}, {SLICE_INIT("@weekly"), SLICE_INIT("0 0 * * 0")},
        {SLICE_INIT("@monthly"), SLICE_INIT("0 0 1 * *")},  {SLICE_INIT("@yearly"), SLICE_INIT("0 0 1 1 *")},
        {SLICE_INIT("@annually"), SLICE_INIT("0 0 1 1 *")},
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (slice_equal_nocase(text, words[i].word))
            return words[i].expression;
    return (struct slice){NULL, 0};
}

static bool begins_with_star(struct slice field)
{
    return field.data[0] == '*';
}

static enum status read_fields(const struct slice cut[FIELDS_MAX], struct cron *cron, struct problem *problem)
{
    uint64_t *const bits[FIELDS_MAX] = {&cron->seconds, &cron->minutes, &cron->hours,
                                        &cron->days,    &cron->months,  &cron->weekdays};
    for (size_t i = 0; i < FIELDS_MAX; i++) {
        enum status status = read_field(&fields[i], cut[i], bits[i], problem);
        if (status != STATUS_OK)
            return status;
    }
    cron->weekdays = (cron->weekdays | cron->weekdays >> 7) & 0x7f;
    cron->is_any_day = begins_with_star(cut[CRON_DAY]);
    cron->is_any_weekday = begins_with_star(cut[CRON_WEEKDAY]);
    cron->is_wild = begins_with_star(cut[CRON_MINUTE]) || begins_with_star(cut[CRON_HOUR]);
    return STATUS_OK;
}

enum status cron_parse(struct slice text, struct cron *cron, struct problem *problem)
{
    struct slice cut[FIELDS_MAX], word;
    int64_t next_s;
    if (text.size > CRON_TEXT_MAX) {
        problem_set(problem, "has %zu bytes; allowed are at most %d", text.size, CRON_TEXT_MAX);
        return STATUS_INVALID;
    }
    text = slice_trim(text);
    if (slice_starts_with(text, SLICE("@"))) {
        word = find_word(text);
        if (word.size == 0) {
            text.size = text.size < FOUND_MAX ? text.size : FOUND_MAX;
            problem_set(problem,
                        "found '%.*s'; allowed words are @hourly, @daily, @midnight, @weekly, @monthly, "
                        "@yearly and @annually",
                        SLICE_ARG(text));
            return STATUS_INVALID;
        }
        text = word;
    }
    size_t count = cut_fields(text, cut);
    if (count == FIELDS_MAX - 1) {
        memmove(cut + 1, cut, count * sizeof *cut);
        cut[CRON_SECOND] = SLICE("0");
        count = FIELDS_MAX;
    }
    if (count != FIELDS_MAX) {
        problem_set(problem,
                    "found %s%zu fields; allowed are 5 (minute, hour, day of month, month, day of week), or "
                    "6 with seconds first",
                    count > FIELDS_MAX ? "more than " : "", count > FIELDS_MAX ? FIELDS_MAX : count);
        return STATUS_INVALID;
    }
    enum status status = read_fields(cut, cron, problem);
    if (status == STATUS_OK && !cron_next(cron, 0, CYCLE_DAYS * DAY_S, &next_s)) {
        problem_set(problem, "day of month: no month allowed here has such a day, so the date never comes");
        return STATUS_INVALID;
    }
    return status;
}

/* ---- matching ---- */

/* Returns the index of the lowest set bit from bit number "from" upwards, or -1 if no such bit is set. */
static int next_bit(uint64_t bits, int from)
{
    return from > 63 || !(bits >> from) ? -1 : from + __builtin_ctzll(bits >> from);
}

/* Returns the first second of a day, not before the given second, that matches. Returns -1 if no such second
 * matches. */
static int find_time(const struct cron *cron, int from)
{
    int hour = from / 3600, minute = from / 60 % 60, second = from % 60;
    for (int h = next_bit(cron->hours, hour); h >= 0; h = next_bit(cron->hours, h + 1)) {
        int first = h == hour ? minute : 0;
        for (int m = next_bit(cron->minutes, first); m >= 0; m = next_bit(cron->minutes, m + 1)) {
            int s = next_bit(cron->seconds, h == hour && m == minute ? second : 0);
            if (s >= 0)
                return (h * 60 + m) * 60 + s;
        }
    }
    return -1;
}

static bool day_matches(const struct cron *cron, int64_t days, struct date date)
{
    bool is_day = cron->days >> date.day & 1, is_weekday = cron->weekdays >> date_weekday(days) & 1;
    return cron->is_any_day || cron->is_any_weekday ? is_day && is_weekday : is_day || is_weekday;
}

bool cron_next(const struct cron *cron, int64_t after_s, int64_t limit_s, int64_t *next_s)
{
    int64_t start_s = after_s + 1;
    int64_t days = start_s / DAY_S - (start_s % DAY_S < 0);
    int from = (int)(start_s - days * DAY_S);
    struct date date = date_from_days(days);
    while (days * DAY_S < limit_s) {
        int length = date_month_days(date.year, date.month);
        bool is_month = cron->months >> date.month & 1;
        int time = is_month && day_matches(cron, days, date) ? find_time(cron, from) : -1;
        if (time >= 0) {
            *next_s = days * DAY_S + time;
            return *next_s < limit_s;
        }
        int skipped = is_month ? 1 : length - date.day + 1;
        from = 0;
        days += skipped;
        date.day += skipped;
        if (date.day > length)
            date = (struct date){date.year + (date.month == 12), date.month % 12 + 1, 1};
    }
    return false;
}

/* ---- counting ---- */

/* Returns how many of the values below end match. */
static int64_t count_below(uint64_t bits, int end)
{
    return __builtin_popcountll(bits & ((UINT64_C(1) << end) - 1));
}

/* Returns how many seconds before the second "end" of a matching day match. */
static int64_t count_of_day(const struct cron *cron, int end)
{
    int hour = end / 3600, minute = end / 60 % 60;
    int64_t seconds = __builtin_popcountll(cron->seconds);
    int64_t count = count_below(cron->hours, hour) * __builtin_popcountll(cron->minutes) * seconds;
    if (cron->hours >> hour & 1) {
        count += count_below(cron->minutes, minute) * seconds;
        count += cron->minutes >> minute & 1 ? count_below(cron->seconds, end % 60) : 0;
    }
    return count;
}

int64_t cron_count(const struct cron *cron, int64_t from_s, int64_t limit_s)
{
    int64_t count = 0;
    for (int64_t days = from_s / DAY_S - (from_s % DAY_S < 0); days * DAY_S < limit_s; days++) {
        struct date date = date_from_days(days);
        int64_t from = from_s - days * DAY_S, end = limit_s - days * DAY_S;
        if (cron->months >> date.month & 1 && day_matches(cron, days, date))
            count += count_of_day(cron, (int)(end < DAY_S ? end : DAY_S)) -
                     count_of_day(cron, (int)(from > 0 ? from : 0));
    }
    return count;
}
