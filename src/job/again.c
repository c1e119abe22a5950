#include "job/again.h"

#include <stdio.h>

#include "base/duration.h"
#include "job/http_date.h"

enum { SHOWN_MAX = 50 /* maximum number of bytes of the header's value that an error shows */ };

/* Copies the beginning of the header's value for an error, without bytes that an error must not have (see
 * again.h). */
static void show(struct slice value, char shown[SHOWN_MAX + sizeof "..."])
{
    bool is_cut = value.size > SHOWN_MAX;
    size_t size = is_cut ? SHOWN_MAX : value.size;
    for (size_t i = 0; i < size; i++) {
        char byte = value.data[i];
        bool is_shown = byte >= ' ' && byte <= '~' && byte != '"' && byte != '\\';
        shown[i] = is_shown ? byte : '?';
    }
    snprintf(shown + size, sizeof "...", "%s", is_cut ? "..." : "");
}

bool again_parse(struct slice value, int64_t now_ms, int64_t *wait_ms, char detail[AGAIN_DETAIL_SIZE])
{
    char shown[SHOWN_MAX + sizeof "..."];
    int64_t ms = 0;
    bool is_date = http_date_parse(value, &ms);
    *wait_ms = is_date ? ms - now_ms : 0;
    if ((is_date || duration_parse(value, AGAIN_MAX_MS, wait_ms)) && *wait_ms >= AGAIN_MIN_MS &&
        *wait_ms <= AGAIN_MAX_MS)
        return true;
    show(value, shown);
    snprintf(
        detail, AGAIN_DETAIL_SIZE,
        "The answer has Duepost-Again: %s; expected are seconds, a duration such as 5m, or an HTTP date, "
        "1 s to 365 days ahead",
        shown);
    return false;
}
