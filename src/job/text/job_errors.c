#include "job/text/job_errors.h"

#include <ctype.h>
#include <stdio.h>

/* ---- errors ---- */

/* Returns how many bytes of text fit. A character that fits only in part does not count. */
static size_t fitting(struct slice text, size_t max)
{
    if (text.size <= max)
        return text.size;
    while (max > 0 && ((unsigned char)text.data[max] & 0xc0) == 0x80)
        max--;
    return max;
}

static void errors_put(struct job_errors *errors, struct slice text)
{
    memcpy(errors->text + errors->size, text.data, text.size);
    errors->size += text.size;
    errors->text[errors->size++] = '\0';
}

void job_errors_add_named(struct job_errors *errors, const char *prefix, struct slice name,
                          const char *detail)
{
    char field[JOB_ERROR_TEXT_SIZE];
    size_t start = (size_t)snprintf(field, sizeof field, "%s", prefix);
    size_t size = fitting(name, sizeof field - 1 - start);
    if (size)
        memcpy(field + start, name.data, size);
    field[start + size] = '\0'; /* if the name has a NUL, the copy ends before it */
    struct slice what = slice_of(detail);
    what.size = fitting(what, JOB_ERROR_TEXT_SIZE - 1);
    size = strlen(field);
    if (errors->count == JOB_ERRORS_MAX || size + what.size + 2 > sizeof errors->text - errors->size)
        return;
    errors->count++;
    errors_put(errors, slice_from(field, size));
    errors_put(errors, what);
}

void job_errors_add(struct job_errors *errors, const char *field, const char *detail)
{
    job_errors_add_named(errors, field, SLICE(""), detail);
}

bool job_errors_take(const struct job_errors *errors, size_t *at, struct job_error *error)
{
    if (*at == errors->size)
        return false;
    error->field = errors->text + *at;
    error->detail = error->field + strlen(error->field) + 1;
    *at += strlen(error->field) + 1 + strlen(error->detail) + 1;
    return true;
}

enum { NAME_MAX_BYTES = 32, PREFIX_MIN = 4, TYPED_MIN = 2, FAR = 1000 };

/* Writes a name in lower case, without underscores and hyphens. Returns false if the name is too long to be
 * similar to a known name. */
static bool reduce(struct slice name, char reduced[NAME_MAX_BYTES + 1])
{
    size_t size = 0;
    for (size_t i = 0; i < name.size; i++) {
        if (name.data[i] == '_' || name.data[i] == '-')
            continue;
        if (size == NAME_MAX_BYTES)
            return false;
        reduced[size++] = (char)tolower((unsigned char)name.data[i]);
    }
    reduced[size] = '\0';
    return true;
}

static unsigned least(unsigned a, unsigned b, unsigned c)
{
    unsigned least = a < b ? a : b;
    return least < c ? least : c;
}

/* Returns how many letters must be added, removed, replaced or swapped with their neighbour to change a into
 * b. */
static unsigned distance(const char *a, const char *b)
{
    unsigned rows[3]
                 [NAME_MAX_BYTES + 1]; /* the last two rows of the table of distances, and the current row */
    size_t columns = strlen(b);
    for (size_t j = 0; j <= columns; j++)
        rows[1][j] = (unsigned)j;
    for (size_t i = 1; a[i - 1]; i++) {
        rows[2][0] = (unsigned)i;
        for (size_t j = 1; j <= columns; j++) {
            unsigned replaced = rows[1][j - 1] + (a[i - 1] != b[j - 1]);
            rows[2][j] = least(rows[1][j] + 1, rows[2][j - 1] + 1, replaced);
            bool is_swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
            if (is_swapped && rows[0][j - 2] + 1 < rows[2][j])
                rows[2][j] = rows[0][j - 2] + 1;
        }
        memcpy(rows[0], rows[1], sizeof rows[0]);
        memcpy(rows[1], rows[2], sizeof rows[1]);
    }
    return rows[1][columns];
}

/* Returns whether other systems use the typed word for what is called right here. Both are as reduce writes
 * them. */
static bool is_foreign_word(const char *typed, const char *right)
{
    static const char *const words[][2] = {
        {"payload", "body"}, {"data", "body"},         {"runat", "dueat"},
        {"sendat", "dueat"}, {"scheduledat", "dueat"}, {"eta", "dueat"},
        {"status", "state"}, {"queue", "topic"},       {"retries", "retry"},
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(typed, words[i][0]) == 0 && strcmp(right, words[i][1]) == 0)
            return true;
    return false;
}

/* Returns the distance of two names. Two names are close if only one letter is wrong, or at most one letter
 * in four. They are also close if one name begins with the other. Such names have a larger distance than
 * names with wrong letters; the longer the common beginning, the smaller the distance. */
static unsigned weigh(const char *typed, const char *right)
{
    unsigned found = is_foreign_word(typed, right) ? 1 : distance(typed, right);
    if (found <= 1 || found <= strlen(right) / 4)
        return found;
    size_t size_typed = strlen(typed), size_right = strlen(right);
    size_t size = size_typed < size_right ? size_typed : size_right;
    bool begins_same = size >= PREFIX_MIN && strncmp(typed, right, size) == 0;
    return begins_same ? FAR - (unsigned)size : FAR;
}

void suggestion_weigh(struct suggestion *suggestion, const char *name)
{
    char typed[NAME_MAX_BYTES + 1] = "", right[NAME_MAX_BYTES + 1] = "";
    if (!reduce(suggestion->name, typed) || !reduce(slice_of(name), right) || strlen(typed) < TYPED_MIN)
        return;
    unsigned found = weigh(typed, right);
    if (found == FAR || (suggestion->best && suggestion->distance <= found))
        return;
    suggestion->best = name;
    suggestion->distance = found;
}

void suggestion_write(const struct suggestion *suggestion, const char *what,
                      char detail[SUGGESTION_DETAIL_SIZE])
{
    if (suggestion->best)
        snprintf(detail, SUGGESTION_DETAIL_SIZE, "%s; did you mean %s?", what, suggestion->best);
    else
        snprintf(detail, SUGGESTION_DETAIL_SIZE, "%s", what);
}

void suggestion_write_hint(const struct suggestion *suggestion, const char *what, const char *hint,
                           char detail[SUGGESTION_DETAIL_SIZE])
{
    suggestion_write(suggestion, what, detail);
    size_t size = strlen(detail);
    snprintf(detail + size, SUGGESTION_DETAIL_SIZE - size, "%s %s", suggestion->best ? "" : ";", hint);
}
