/* topic_view.c - completes a topic of the store: why its jobs wait, and who waits for them. */
#include "app/lease_board.h"
#include "app/use_case.h"
#include "job/topic/topic_settings.h"

/* State of a topic. is_pull: the topic is a pull topic. has_room: its maxInFlight lets workers lease more
 * jobs. */
struct pull_state {
    bool is_pull, has_room;
};

static struct pull_state pull_state_of(const struct topic *topic)
{
    struct topic_settings settings;
    struct pull_state state = {.is_pull = false};
    if (!topic->settings.size ||
        topic_settings_read_for(topic->name, topic->settings, &settings) != STATUS_OK)
        return state;
    state.is_pull = topic_settings_are_pull(&settings);
    state.has_room = !settings.max_in_flight || topic->leased < settings.max_in_flight;
    topic_settings_fini(&settings);
    return state;
}

/* In the store, a pull topic is always held, because the consumers, which POST jobs, must not claim its jobs.
 * Clients do not see this hold as long as workers may lease more jobs. */
static enum topic_hold hold_of(const struct topic *topic, struct pull_state pull)
{
    if (topic->held_ms == TOPIC_FREE)
        return topic->lacks_url ? HOLD_NO_URL : HOLD_NONE;
    switch (topic_settings_service(topic->settings)) {
    case TOPIC_PAUSED:
        return HOLD_PAUSED;
    case TOPIC_UNREADABLE:
        return HOLD_SETTINGS;
    default:
        if (topic->lacks_url)
            return HOLD_NO_URL;
        if (topic->head.size)
            return HOLD_LINE;
        if (topic->held_ms != TOPIC_HELD)
            return HOLD_RATE;
        return pull.is_pull && pull.has_room ? HOLD_NONE : HOLD_IN_FLIGHT;
    }
}

static struct slice job_id_of(struct slice id)
{
    struct slice topic, job_id;
    return slice_cut(id, '/', &topic, &job_id) ? job_id : SLICE("");
}

struct topic topic_view(const struct app *app, const struct topic *topic)
{
    struct pull_state pull = pull_state_of(topic);
    struct topic view = *topic;
    view.is_pull = pull.is_pull;
    view.waiting = app->lease_board ? lease_board_waiting(app->lease_board, topic->name) : 0;
    view.hold = hold_of(topic, pull);
    view.head_job = job_id_of(topic->head);
    view.held_until_ms = topic->held_ms > 0 && view.hold != HOLD_NO_URL ? topic->held_ms : 0;
    return view;
}
