/* events.c - GET /v2/events and /v2/logs: the events of messages.
 *
 *   1. page    reads a page of messages: by the ids in the request, or from Redis, or from the history
 *   2. take    adds the requested events of the page, message by message, to the answer
 *   3. pass    if the answer is full in the middle of a page, reads the page again up to the last message
 *              of the answer, to get the cursor for this position
 *   4. answer  answers if there are enough events, if there are no more messages, or if the request has
 *              read the maximum number of pages; otherwise continues with 1
 *
 * An event exists as long as its message is in Redis or in the history. The pages have the messages in the
 * order of their lists; each answer sorts its events by time. */
#include "base/memory.h"
#include "http/query.h"
#include "qstash/event_cursor.h"
#include "qstash/event_page.h"
#include "qstash/event_result.h"
#include "qstash/place.h"

enum {
    EVENTS_COUNT = 1000, /* maximum and default of the parameter count */
    PAGES_MAX = 40,      /* maximum number of pages that a request reads */
};

#define ACCEPTED                                                                                             \
    (FILTERS_OF_MESSAGES | 1U << FILTER_STATE | 1U << FILTER_COUNT | 1U << FILTER_CURSOR |                   \
     1U << FILTER_FROM | 1U << FILTER_TO)

/* The state of a request that lists events. */
struct walk {
    struct exchange *exchange;
    const char *name; /* name of the array of events in the answer */
    struct filters filters;
    unsigned states; /* requested states, as bits 1 << event_state */
    char topic[PLACE_SIZE];
    struct slice queue; /* topic of the queue, if exactly one is requested; empty: any */
    /* Where the next page begins. */
    enum event_place place;
    size_t ids; /* number of the request's ids that were read */
    char from[EVENT_LIST_CURSOR_MAX + 1];
    /* The id of a message whose events before number are not listed yet; empty: none. This message is read
     * before the next page. */
    char left[MESSAGE_ID_MAX + 1];
    int number;
    bool is_of_left; /* the page being read has only the message with the id left */
    /* Not 0: the page being read is needed only for its cursor, and has this number of messages. */
    size_t to_pass;
    struct app_list list;
    struct event_page page;
    size_t pages;
    struct event_result result;
};

static void walk_free(void *arg)
{
    struct walk *walk = arg;
    event_page_fini(&walk->page);
    filters_fini(&walk->filters);
    event_result_fini(&walk->result);
    free(walk);
}

/* ---- places ---- */

static bool has_history(const struct walk *walk)
{
    return app_of(walk->exchange)->history != NULL;
}

/* Returns the states of the jobs that must be read from this source, because their messages may have
 * requested events. If there is a history, dead messages are read there, and not in Redis. */
static unsigned states_in(const struct walk *walk, enum event_place place)
{
    static const unsigned alive = 1U << JOB_STATE_DELAYED | 1U << JOB_STATE_READY | 1U << JOB_STATE_LEASED;
    static const unsigned during =
        1U << EVENT_CREATED | 1U << EVENT_ACTIVE | 1U << EVENT_RETRY | 1U << EVENT_ERROR;
    bool is_any = walk->states & during;
    unsigned states = 0;
    if (is_any || walk->states & 1U << EVENT_FAILED) /* a deleted dead letter has the state cancelled */
        states |= 1U << JOB_STATE_DEAD | 1U << JOB_STATE_CANCELLED;
    if (is_any || walk->states & 1U << EVENT_DELIVERED)
        states |= 1U << JOB_STATE_DELIVERED;
    if (is_any || walk->states & 1U << EVENT_CANCELED)
        states |= 1U << JOB_STATE_CANCELLED;
    if (place == EVENTS_OF_HISTORY)
        return states;
    return (is_any ? alive : 0) | (has_history(walk) ? 0 : states & 1U << JOB_STATE_DEAD);
}

/* Returns the first source, from this one on, that may have messages with requested events. */
static enum event_place place_from(const struct walk *walk, enum event_place place)
{
    if (place == EVENTS_OF_POOL && !states_in(walk, place))
        place = EVENTS_OF_HISTORY;
    if (place == EVENTS_OF_HISTORY && (!has_history(walk) || !states_in(walk, place)))
        place = EVENTS_END;
    return place;
}

/* Sets the position for the next page behind the page that was read from a list. */
static void move_on(struct walk *walk)
{
    memcpy(walk->from, walk->page.next, sizeof walk->from);
    if (!walk->from[0])
        walk->place = place_from(walk, walk->place == EVENTS_OF_POOL ? EVENTS_OF_HISTORY : EVENTS_END);
}

/* ---- 4. answer ---- */

static void add_cursor(struct json_writer *json, const struct walk *walk)
{
    char room[EVENT_CURSOR_SIZE];
    struct buffer text = buffer_of(room, sizeof room);
    struct event_cursor cursor = {walk->place, walk->ids, slice_of(walk->from), slice_of(walk->left),
                                  walk->number};
    if (walk->place == EVENTS_END && !walk->left[0])
        return;
    event_cursor_write(&text, &cursor);
    query_add_cursor(json, buffer_slice(&text));
}

static void walk_answer(struct walk *walk)
{
    struct exchange *exchange = walk->exchange;
    if (walk->page.fault_status) {
        exchange_refuse(exchange, walk->page.fault_status, "%s", walk->page.fault);
        return;
    }
    if (walk->result.texts.failed) {
        exchange_refuse(exchange, 503, "the events are too large together; ask for fewer of them with count");
        return;
    }
    struct buffer *body = exchange_scratch(exchange);
    struct json_writer json = json_writer_to(body);
    json_put_object(&json);
    json_add_array(&json, walk->name);
    event_result_write(&walk->result, &json);
    json_end_array(&json);
    add_cursor(&json, walk);
    json_end_object(&json);
    exchange_answer(exchange, 200, NULL, 0, buffer_slice(body));
}

/* ---- 3. pass, and 1. page ---- */

/* Reads at most max messages of the list. If to_pass is not 0, reads to_pass messages only to get the cursor
 * after them. */
static void read_list(struct walk *walk, size_t max, size_t to_pass)
{
    bool is_of_history = walk->place == EVENTS_OF_HISTORY;
    struct slice cursor = slice_of(walk->from);
    walk->to_pass = to_pass;
    walk->list = (struct app_list){
        .filter = {.states = states_in(walk, walk->place),
                   .topic = walk->queue,
                   .owner = is_of_history || walk->queue.size ? SLICE("") : SLICE(QSTASH_TOPIC),
                   .id_prefix = SLICE(MESSAGE_ID_PREFIX),
                   .labels = filters_only(&walk->filters, FILTER_LABEL),
                   .after_ms = is_of_history ? walk->filters.from_ms : 0},
        .is_of_history = is_of_history,
        .is_newest_first = true,
        .max = max,
    };
    if (cursor.size && (!app_cursor_parse(app_of(walk->exchange), cursor, &walk->list.from) ||
                        walk->list.from.is_of_history != is_of_history))
        exchange_refuse(walk->exchange, 400, "parameter cursor: is not a cursor of this list");
    else if (to_pass)
        event_page_pass(&walk->page, &walk->list);
    else
        event_page_list(&walk->page, &walk->list);
}

static void read_ids(struct walk *walk)
{
    struct slice message_id;
    size_t at = 0, skipped = 0;
    while (skipped < walk->ids && filters_next(&walk->filters, FILTER_MESSAGE_ID, &at).size)
        skipped++;
    event_page_begin_ids(&walk->page);
    while (walk->page.seen < EVENT_PAGE_MAX &&
           (message_id = filters_next(&walk->filters, FILTER_MESSAGE_ID, &at)).size)
        event_page_add_id(&walk->page, message_id, 0);
    event_page_end_ids(&walk->page);
}

static void read_page(struct walk *walk)
{
    size_t room = walk->result.max - walk->result.count;
    bool takes_any = filters_are_empty(&walk->filters);
    walk->pages++;
    walk->is_of_left = walk->left[0] != '\0';
    if (walk->is_of_left) {
        event_page_begin_ids(&walk->page);
        event_page_add_id(&walk->page, slice_of(walk->left), walk->number);
        event_page_end_ids(&walk->page);
    } else if (walk->place == EVENTS_OF_IDS) {
        read_ids(walk);
    } else {
        read_list(walk, takes_any && room < EVENT_PAGE_MAX ? room : EVENT_PAGE_MAX, 0);
    }
}

/* Reads the next page, or answers if there is nothing more to read. */
static void walk_go_on(struct walk *walk)
{
    bool is_over = walk->place == EVENTS_END && !walk->left[0];
    if (is_over || walk->page.fault_status || event_result_is_full(&walk->result) || walk->pages == PAGES_MAX)
        walk_answer(walk);
    else
        read_page(walk);
}

/* ---- 2. take ---- */

/* Adds the requested events of a message to the result, the newest first. Returns false if the result had no
 * room for all. */
static bool take_events(struct walk *walk, const struct event_source *source, int before)
{
    struct event events[EVENTS_MAX];
    for (size_t i = events_of(source, events); i > 0; i--) {
        const struct event *event = &events[i - 1];
        bool is_wanted = (!before || event->number < before) && walk->states & 1U << event->state &&
                         filters_match_time(&walk->filters, event->at_ms);
        if (!is_wanted)
            continue;
        if (event_result_is_full(&walk->result)) {
            struct slice message_id = source->view->job.job_id;
            memcpy(walk->left, message_id.data, message_id.size);
            walk->left[message_id.size] = '\0';
            walk->number = event->number + 1;
            return false;
        }
        event_result_add(&walk->result, source->view, event);
    }
    return true;
}

static bool take_item(struct walk *walk, const struct event_item *item)
{
    struct message_view view;
    if (!item->id.size || !message_view_read(item->id, buffer_slice(&item->record), &view))
        return true;
    const struct event_source source = {&view, item->state, item->at_ms, buffer_slice(&item->lines)};
    bool is_whole = !filters_match(&walk->filters, &view) || take_events(walk, &source, item->number);
    message_view_fini(&view);
    return is_whole;
}

/* Adds the events of the page to the result. Returns how many of its messages were processed; of the last
 * one, some events may not have fit. */
static size_t take_items(struct walk *walk)
{
    const struct event_page *page = &walk->page;
    for (size_t i = 0; i < page->count; i++) {
        if (i && event_result_is_full(&walk->result))
            return page->items[i - 1].place;
        if (!take_item(walk, &page->items[i]))
            return page->items[i].place;
    }
    return page->seen;
}

static void take_page(struct walk *walk)
{
    size_t seen = walk->page.seen;
    walk->left[0] = '\0';
    size_t taken = take_items(walk);
    if (walk->is_of_left) {
        walk_go_on(walk);
    } else if (walk->place == EVENTS_OF_IDS) {
        walk->ids += taken;
        if (seen < EVENT_PAGE_MAX && taken == seen)
            walk->place = EVENTS_END;
        walk_go_on(walk);
    } else if (taken < seen) {
        read_list(walk, taken, taken);
    } else {
        move_on(walk);
        walk_go_on(walk);
    }
}

/* Called after a page that is read only for its cursor. A page of several topics may have fewer messages than
 * requested although there are more; the remaining ones are then read with further pages. */
static void take_passed(struct walk *walk)
{
    size_t passed = walk->page.seen;
    enum event_place place = walk->place;
    move_on(walk);
    if (passed < walk->to_pass && walk->place == place)
        read_list(walk, walk->to_pass - passed, walk->to_pass - passed);
    else
        walk_answer(walk);
}

static void on_page(void *arg)
{
    struct walk *walk = arg;
    if (walk->page.fault_status) {
        walk_answer(walk);
    } else if (walk->to_pass) {
        take_passed(walk);
    } else {
        take_page(walk);
    }
}

/* ---- the request ---- */

/* Reads the requested states. Returns false after answering 400. */
static bool read_states(struct walk *walk)
{
    struct slice word;
    bool is_given = walk->filters.given & 1U << FILTER_STATE;
    walk->states = is_given ? 0 : ~0U;
    for (size_t at = 0; (word = filters_next(&walk->filters, FILTER_STATE, &at)).size;) {
        if (event_states_take(word, &walk->states))
            continue;
        exchange_refuse(walk->exchange, 400,
                        "parameter state: must be CREATED, ACTIVE, RETRY, ERROR, IN_PROGRESS, DELIVERED, "
                        "FAILED, CANCEL_REQUESTED or CANCELED");
        return false;
    }
    return true;
}

/* Begins at the position of the cursor. Returns false after answering 400. */
static bool read_cursor(struct walk *walk)
{
    struct event_cursor cursor;
    char key[MESSAGE_KEY_SIZE];
    bool has_ids = walk->filters.given & 1U << FILTER_MESSAGE_ID;
    if (walk->filters.cursor.size == 0) {
        walk->place = has_ids ? EVENTS_OF_IDS : place_from(walk, EVENTS_OF_POOL);
        return true;
    }
    bool is_known = event_cursor_parse(walk->filters.cursor, &cursor) &&
                    (cursor.place == EVENTS_END || has_ids == (cursor.place == EVENTS_OF_IDS)) &&
                    (!cursor.message_id.size || message_id_key(cursor.message_id, key).size);
    if (!is_known) {
        exchange_refuse(walk->exchange, 400, "parameter cursor: is not a cursor of this list");
        return false;
    }
    walk->place = has_ids ? cursor.place : place_from(walk, cursor.place);
    walk->ids = cursor.ids;
    walk->number = cursor.number;
    if (walk->place == cursor.place)
        memcpy(walk->from, cursor.list.data, cursor.list.size);
    memcpy(walk->left, cursor.message_id.data, cursor.message_id.size);
    return true;
}

static void events_begin(struct exchange *exchange, const char *name)
{
    struct walk *walk = NEW(struct walk);
    walk->exchange = exchange;
    walk->name = name;
    exchange_keep(exchange, walk, walk_free);
    if (!filters_read(exchange, ACCEPTED, &walk->filters) || !read_states(walk) || !read_cursor(walk))
        return; /* the answer may have freed walk */
    int64_t count = walk->filters.count;
    event_result_init(&walk->result, count && count < EVENTS_COUNT ? (size_t)count : EVENTS_COUNT);
    event_page_init(&walk->page, exchange, &walk->filters, on_page, walk);
    struct slice queue = filters_only(&walk->filters, FILTER_QUEUE);
    walk->queue = queue.size ? place_of_queue(queue, walk->topic) : queue;
    walk_go_on(walk);
}

HANDLER(events_handle)
{
    events_begin(exchange, "events");
}

HANDLER(logs_handle)
{
    events_begin(exchange, "logs");
}
