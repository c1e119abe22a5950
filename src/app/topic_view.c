#include "app/topic_view.h"

#include "app/lease_board.h"
#include "job/topic_settings.h"
#include "store/store.h"

/* State of a topic. is_pull: the topic is a pull topic. has_room: its maxInFlight lets workers lease more
 * jobs. */
struct pull_state {
    bool is_pull, has_room;
};

static struct pull_state pull_state_of(const struct store_topic *topic)
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
static enum app_hold hold_of(const struct store_topic *topic, struct pull_state pull)
{
    if (topic->held_ms == STORE_TOPIC_FREE)
        return topic->lacks_url ? APP_HOLD_NO_URL : APP_HOLD_NONE;
    switch (topic_settings_service(topic->settings)) {
    case TOPIC_PAUSED:
        return APP_HOLD_PAUSED;
    case TOPIC_UNREADABLE:
        return APP_HOLD_SETTINGS;
    default:
        if (topic->lacks_url)
            return APP_HOLD_NO_URL;
        if (topic->head.size)
            return APP_HOLD_LINE;
        if (topic->held_ms != STORE_TOPIC_HELD)
            return APP_HOLD_RATE;
        return pull.is_pull && pull.has_room ? APP_HOLD_NONE : APP_HOLD_IN_FLIGHT;
    }
}

static struct slice job_id_of(struct slice id)
{
    struct slice topic, job_id;
    return slice_cut(id, '/', &topic, &job_id) ? job_id : SLICE("");
}

struct app_topic topic_view(const struct app *app, const struct store_topic *topic)
{
    struct pull_state pull = pull_state_of(topic);
    enum app_hold hold = hold_of(topic, pull);
    return (struct app_topic){
        .name = topic->name,
        .settings = topic->settings,
        .own = topic->own,
        .pattern = topic->pattern,
        .delayed = topic->delayed,
        .ready = topic->ready,
        .held = topic->held,
        .leased = topic->leased,
        .dead = topic->dead,
        .due_ms = topic->due_ms,
        .now_ms = topic->now_ms,
        .is_pull = pull.is_pull,
        .waiting = app->lease_board ? lease_board_waiting(app->lease_board, topic->name) : 0,
        .leased_ms = topic->leased_ms,
        .hold = hold,
        .head = job_id_of(topic->head),
        .held_until_ms = topic->held_ms > 0 && hold != APP_HOLD_NO_URL ? topic->held_ms : 0,
        .window = {topic->window.began_ms, topic->window.attempts},
        .hour = {topic->hour.delivered, topic->hour.retried, topic->hour.dead},
        .fails = topic->fails,
        .last_answer = topic->last_answer,
    };
}
