#include "base/status.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

void problem_set(struct problem *problem, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    int size = vsnprintf(problem->text, sizeof problem->text, format, values);
    va_end(values);
    if (size >= (int)sizeof problem->text) {
        /* A last character of more bytes is dropped, because the cut may be in it. */
        char *end = &problem->text[sizeof problem->text - 2];
        while (end > problem->text && (*end & 0xc0) == 0x80)
            end--;
        if (*end & 0x80)
            *end = '\0';
    }
}

/* ---- failures of HTTP calls ---- */

static const char *const words[] = {
    [FAILURE_NONE] = "",
#define FAILURE_WORD(name, word) [FAILURE_##name] = word,
    FAILURES(FAILURE_WORD)
#undef FAILURE_WORD
        [FAILURE_OTHER] = "other",
};

static const unsigned word_count = sizeof words / sizeof *words;

const char *failure_word(enum failure failure)
{
    assert(failure < word_count);
    return words[failure];
}

/* Returns whether text consists of small letters and '_', as the words of all failures do. */
static bool is_word(struct slice text)
{
    for (size_t i = 0; i < text.size; i++)
        if ((text.data[i] < 'a' || text.data[i] > 'z') && text.data[i] != '_')
            return false;
    return text.size > 0;
}

bool failure_parse(struct slice word, enum failure *failure)
{
    for (unsigned i = FAILURE_NONE + 1; i < word_count; i++) {
        if (slice_equal(word, slice_of(words[i]))) {
            *failure = (enum failure)i;
            return true;
        }
    }
    *failure = FAILURE_OTHER;
    return is_word(word);
}
