#include "worker/unserved.h"

#include "base/log.h"

#define HOLD_MIN_US INT64_C(5000000)
#define HOLD_MAX_US INT64_C(600000000)
#define EACH_US     INT64_C(2000)
#define TELL_US     INT64_C(10000000)

int64_t unserved_hold_ms(struct unserved *unserved, int64_t now_us)
{
    int64_t hold_us = unserved->row_us + EACH_US - now_us;
    if (hold_us < HOLD_MIN_US)
        hold_us = HOLD_MIN_US;
    if (hold_us > HOLD_MAX_US)
        hold_us = HOLD_MAX_US;
    unserved->row_us = now_us + hold_us;
    return hold_us / 1000;
}

void unserved_tell(struct unserved *unserved, int64_t now_us, enum unserved_why why, struct slice name,
                   struct slice lacks)
{
    static const struct {
        const char *event, *what, *advice;
    } words[UNSERVED_WHYS] = {
        [UNSERVED_JOB_LACKS] = {"job_needs_later_version", "job", "run a duepost of the version that wrote it"},
        [UNSERVED_TOPIC_LACKS] = {"topic_needs_later_version", "topic",
                                  "run a duepost of the version that wrote its settings, or DELETE them"},
        [UNSERVED_SETTINGS] = {"settings_unreadable", "topic", "PUT or DELETE the topic's settings"},
    };
    int64_t since_us = now_us - unserved->told[why].us;
    if (unserved->told[why].us && since_us < TELL_US) {
        unserved->told[why].quiet++;
        return;
    }
    log_warning(words[why].event, LOG_SLICE(words[why].what, name), LOG_SLICE("needs", lacks),
                LOG_NUMBER("more", unserved->told[why].quiet), LOG_TEXT("do", words[why].advice));
    unserved->told[why].us = now_us;
    unserved->told[why].quiet = 0;
}
