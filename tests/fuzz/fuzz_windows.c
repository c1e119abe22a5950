#include "fuzz.h"
#include "job/job.h"
#include "job/schedule/windows.h"
#include "job/text/json.h"

static const struct time_zone *utc(void *arg, struct slice name)
{
    (void)arg;
    assert(name.size <= TIME_ZONE_NAME_MAX);
    return time_zone_utc();
}

/* The spans of accepted windows must be in order, apart from each other and not over. Within a week, one
 * opens, and what is computed later differs only where the last span went on. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct windows windows;
    struct slice text = input_of(data, size);
    struct window_span spans[WINDOW_SPANS_MAX], later[WINDOW_SPANS_MAX];
    struct json_fault fault;
    struct problem problem = {""};
    if (json_check(text, &(struct json_limits){JOB_DEPTH_MAX, JOB_MEMBERS_MAX}, &fault) != STATUS_OK)
        return 0;
    if (windows_parse(text, &windows, &problem) != STATUS_OK) {
        assert(problem.text[0]);
        return 0;
    }
    assert(windows.count > 0 && windows.count <= WINDOWS_MAX);
    size_t count = windows_spans(&windows, FUZZ_NOW_MS, utc, NULL, spans);
    assert(count > 0 && count <= WINDOW_SPANS_MAX);
    assert(spans[0].opens_ms <= FUZZ_NOW_MS + INT64_C(7) * 86400 * 1000);
    for (size_t i = 0; i < count; i++) {
        assert(spans[i].opens_ms < spans[i].closes_ms && spans[i].closes_ms > FUZZ_NOW_MS);
        assert(i == 0 || spans[i].opens_ms > spans[i - 1].closes_ms);
    }
    if (count > 1) {
        size_t rest = windows_spans(&windows, spans[0].closes_ms, utc, NULL, later);
        assert(rest > 0 && later[0].opens_ms == spans[1].opens_ms);
        assert(count == 2 || later[0].closes_ms == spans[1].closes_ms);
    }
    return 0;
}
