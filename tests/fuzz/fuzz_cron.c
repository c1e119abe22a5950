#include "fuzz.h"
#include "job/schedule/cron.h"
#include "job/schedule/recurrence.h"

static void check_words(const struct cron *cron)
{
    char text[CRON_WORDS_MAX + 1];
    struct buffer words = {.data = text, .capacity = sizeof text, .max = CRON_WORDS_MAX};
    cron_write_words(cron, &words);
    assert(!words.failed && words.size > 0);
}

/* The times of an accepted expression must ascend. From any second between two times, the next time must be
 * the later one. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct recurrence recurrence = {.zone = time_zone_utc(), .last_ms = RECURRENCE_NEVER_MS};
    struct problem problem = {""};
    int64_t at_s = FUZZ_NOW_MS / 1000, next_s = 0, again_s = 0;
    if (cron_parse(input_of(data, size), &recurrence.cron, &problem) != STATUS_OK) {
        assert(problem.text[0]);
        return 0;
    }
    check_words(&recurrence.cron);
    assert(size <= CRON_TEXT_MAX && !problem.text[0]);
    for (int i = 0; i < 5; i++) {
        bool is_found = cron_next(&recurrence.cron, at_s, at_s + INT64_C(60) * 366 * 86400, &next_s);
        assert(is_found && next_s > at_s);
        assert(recurrence_next_ms(&recurrence, at_s * 1000) == next_s * 1000);
        is_found = cron_next(&recurrence.cron, at_s + (next_s - at_s) / 2, next_s + 1, &again_s);
        assert(is_found == (next_s > at_s + (next_s - at_s) / 2) && (!is_found || again_s == next_s));
        at_s = next_s;
    }
    return 0;
}
