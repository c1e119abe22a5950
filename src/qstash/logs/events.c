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
#include <assert.h>
#include <stdlib.h>

#include "base/memory.h"
#include "http/query.h"
#include "qstash/logs/event.h"
#include "qstash/messages/message.h"
#include "qstash/topics/topics.h"

/* ---- the cursor ---- */

/* The cursor of GET /v2/events: where the next answer begins. An answer may end between two
 * events of a message. Then the cursor names this message, because its earlier events must still be listed.
 *
 *     p~0~7~<cursor of a list>~<messageId>
 *
 * The fields are: the source of the messages; how many ids of the request were read; the number of the
 * oldest event that was listed of the message; the cursor of the list of messages; the message. Fields may
 * be empty. */

/* The sources of messages, in the order in which they are read. */
enum event_origin {
    EVENTS_OF_IDS,     /* events of the messages whose ids the request names; no other source is read */
    EVENTS_OF_POOL,    /* events of messages that wait or are being delivered; without a history, also of dead
                          messages */
    EVENTS_OF_HISTORY, /* events of messages that have ended */
    EVENTS_END,
};

enum { EVENT_CURSOR_SIZE = WALK_CURSOR_MAX + MESSAGE_ID_MAX + 64 };

struct event_cursor {
    enum event_origin origin;
    size_t ids;              /* number of the request's ids that were read */
    struct slice list;       /* cursor of the list; empty: its beginning */
    struct slice message_id; /* message of which some events are not listed yet; empty: none */
    /* The events of message_id with smaller numbers than this are not listed yet. */
    int number;
};

static const char letters[] = {
    [EVENTS_OF_IDS] = 'i', [EVENTS_OF_POOL] = 'p', [EVENTS_OF_HISTORY] = 'h', [EVENTS_END] = 'e'};

static bool take_origin(struct slice *rest, enum event_origin *origin)
{
    struct slice word;
    if (!slice_cut(*rest, '~', &word, rest) || word.size != 1)
        return false;
    const char *found = memchr(letters, word.data[0], sizeof letters);
    *origin = found ? (enum event_origin)(found - letters) : EVENTS_END;
    return found != NULL;
}

static bool take_number(struct slice *rest, uint64_t *number)
{
    struct slice word;
    return slice_cut(*rest, '~', &word, rest) && slice_to_number(word, INT32_MAX, number);
}

/* Parses a cursor of events, which borrows text. Returns false if the text is not such a cursor. The cursor
 * of the list is not examined. */
static bool event_cursor_parse(struct slice text, struct event_cursor *cursor)
{
    uint64_t ids, number;
    *cursor = (struct event_cursor){.origin = EVENTS_END};
    if (!take_origin(&text, &cursor->origin) || !take_number(&text, &ids) || !take_number(&text, &number) ||
        !slice_cut(text, '~', &cursor->list, &cursor->message_id) || cursor->list.size > WALK_CURSOR_MAX)
        return false;
    cursor->ids = ids;
    cursor->number = (int)number;
    return true;
}

/* ---- the result ---- */

/* Collects the events of one answer, sorted by time and without duplicates. */

enum { EVENT_RESULT_BYTES = 4 * 1024 * 1024 /* an answer larger than this gets no further messages */ };

/* An event that was written. */
struct event_found {
    char message_id[MESSAGE_ID_MAX + 1];
    int64_t at_ms;
    int number;
    size_t text, size; /* where its JSON begins in texts, and its size */
};

struct event_result {
    struct event_found *items; /* owned */
    size_t count, max;
    struct buffer texts; /* the events as JSON; marked as failed if there is no memory */
};

enum { TEXTS_MAX = 64 * 1024 * 1024 };

static bool event_result_is_full(const struct event_result *result)
{
    return result->count == result->max || result->texts.size >= EVENT_RESULT_BYTES;
}

/* Returns whether the result has the event already. A message that ends during the request can be found
 * twice: among the waiting messages, and again in the history. */
static bool has_event(const struct event_result *result, struct slice message_id, const struct event *event)
{
    for (size_t i = 0; i < result->count; i++) {
        const struct event_found *found = &result->items[i];
        if (found->number == event->number && slice_equal(slice_of(found->message_id), message_id))
            return true;
    }
    return false;
}

/* Adds an event, unless the result has it already. The result must not be full. */
static void event_result_add(struct event_result *result, const struct message_view *view,
                             const struct event *event)
{
    struct slice message_id = view->job.job_id;
    struct event_found *found = &result->items[result->count];
    struct json_writer json = json_writer_to(&result->texts);
    assert(result->count < result->max && message_id.size <= MESSAGE_ID_MAX);
    if (has_event(result, message_id, event))
        return;
    *found = (struct event_found){.at_ms = event->at_ms, .number = event->number, .text = result->texts.size};
    memcpy(found->message_id, message_id.data, message_id.size);
    event_put(&json, view, event);
    found->size = result->texts.size - found->text;
    result->count++;
}

static int by_time(const void *left, const void *right)
{
    const struct event_found *a = left, *b = right;
    if (a->at_ms != b->at_ms)
        return a->at_ms > b->at_ms ? -1 : 1;
    int order = strcmp(b->message_id, a->message_id);
    return order ? order : (a->number < b->number) - (a->number > b->number);
}

/* ---- the request that lists events ---- */

enum {
    EVENTS_COUNT = 1000, /* maximum and default of the parameter count */
    PAGES_MAX = 40,      /* maximum number of pages that a request reads */
};

#define ACCEPTED                                                                                             \
    (FILTERS_OF_MESSAGES | 1U << FILTER_STATE | 1U << FILTER_COUNT | 1U << FILTER_CURSOR |                   \
     1U << FILTER_FROM | 1U << FILTER_TO)

/* The state of a request that lists events. */
struct listing {
    struct exchange *exchange;
    const char *name; /* name of the array of events in the answer */
    struct filters filters;
    unsigned states; /* requested states, as bits 1 << event_state */
    char topic[MESSAGE_TOPIC_SIZE];
    struct slice queue; /* topic of the queue, if exactly one is requested; empty: any */
    /* Where the next page begins. */
    enum event_origin origin;
    size_t ids; /* number of the request's ids that were read */
    char from[WALK_CURSOR_MAX + 1];
    /* The id of a message whose events before number are not listed yet; empty: none. This message is read
     * before the next page. */
    char left[MESSAGE_ID_MAX + 1];
    int number;
    bool is_of_left; /* the page being read has only the message with the id left */
    /* Not 0: the page being read is needed only for its cursor, and has this number of messages. */
    size_t to_pass;
    struct event_page page;
    size_t pages;
    struct event_result result;
};

static void listing_free(void *arg)
{
    struct listing *listing = arg;
    event_page_fini(&listing->page);
    filters_fini(&listing->filters);
    free(listing->result.items);
    buffer_fini(&listing->result.texts);
    free(listing);
}

/* ---- the sources of messages ---- */

static bool has_history(const struct listing *listing)
{
    return app_of(listing->exchange)->history != NULL;
}

/* Returns the states of the jobs that must be read from this source, because their messages may have
 * requested events. If there is a history, dead messages are read there, and not in Redis. */
static unsigned states_in(const struct listing *listing, enum event_origin origin)
{
    static const unsigned alive = 1U << JOB_STATE_DELAYED | 1U << JOB_STATE_READY | 1U << JOB_STATE_LEASED;
    static const unsigned during =
        1U << EVENT_CREATED | 1U << EVENT_ACTIVE | 1U << EVENT_RETRY | 1U << EVENT_ERROR;
    bool is_any = listing->states & during;
    unsigned states = 0;
    if (is_any || listing->states & 1U << EVENT_FAILED) /* a deleted dead letter has the state cancelled */
        states |= 1U << JOB_STATE_DEAD | 1U << JOB_STATE_CANCELLED;
    if (is_any || listing->states & 1U << EVENT_DELIVERED)
        states |= 1U << JOB_STATE_DELIVERED;
    if (is_any || listing->states & 1U << EVENT_CANCELED)
        states |= 1U << JOB_STATE_CANCELLED;
    if (origin == EVENTS_OF_HISTORY)
        return states;
    return (is_any ? alive : 0) | (has_history(listing) ? 0 : states & 1U << JOB_STATE_DEAD);
}

/* Returns the first source, from this one on, that may have messages with requested events. */
static enum event_origin origin_from(const struct listing *listing, enum event_origin origin)
{
    if (origin == EVENTS_OF_POOL && !states_in(listing, origin))
        origin = EVENTS_OF_HISTORY;
    if (origin == EVENTS_OF_HISTORY && (!has_history(listing) || !states_in(listing, origin)))
        origin = EVENTS_END;
    return origin;
}

/* Sets the position for the next page behind the page that was read from a list. */
static void move_on(struct listing *listing)
{
    memcpy(listing->from, listing->page.walk.cursor, sizeof listing->from);
    if (!listing->from[0])
        listing->origin =
            origin_from(listing, listing->origin == EVENTS_OF_POOL ? EVENTS_OF_HISTORY : EVENTS_END);
}

/* ---- 4. answer ---- */

static void listing_answer(struct listing *listing)
{
    struct exchange *exchange = listing->exchange;
    if (listing->page.fault_status) {
        exchange_refuse(exchange, listing->page.fault_status, "%s", listing->page.fault);
        return;
    }
    if (listing->result.texts.failed) {
        exchange_refuse(exchange, 503, "the events are too large together; ask for fewer of them with count");
        return;
    }
    struct buffer *body = exchange_scratch(exchange);
    struct json_writer json = json_writer_to(body);
    json_put_object(&json);
    json_add_array(&json, listing->name);
    /* the events, the newest first */
    struct event_result *result = &listing->result;
    qsort(result->items, result->count, sizeof *result->items, by_time);
    for (size_t i = 0; i < result->count; i++)
        json_put_raw(&json, slice_from(result->texts.data + result->items[i].text, result->items[i].size));
    json_end_array(&json);
    char room[EVENT_CURSOR_SIZE];
    struct buffer text = buffer_of(room, sizeof room);
    if (listing->origin != EVENTS_END || listing->left[0]) {
        buffer_printf(&text, "%c~%zu~%d~%s~%s", letters[listing->origin], listing->ids, listing->number,
                      listing->from, listing->left);
        query_add_cursor(&json, buffer_slice(&text));
    }
    json_end_object(&json);
    exchange_answer(exchange, 200, NULL, 0, buffer_slice(body));
}

/* ---- 3. pass, and 1. page ---- */

/* Reads at most max messages of the list. If to_pass is not 0, reads to_pass messages only to get the cursor
 * after them. */
static void read_list(struct listing *listing, size_t max, size_t to_pass)
{
    bool is_of_history = listing->origin == EVENTS_OF_HISTORY;
    listing->to_pass = to_pass;
    listing->page.walk.messages = (struct app_list){
        .filter = {.states = states_in(listing, listing->origin),
                   .topic = listing->queue,
                   .owner = is_of_history || listing->queue.size ? SLICE("") : SLICE(QSTASH_TOPIC),
                   .id_prefix = SLICE(MESSAGE_ID_PREFIX),
                   .labels = filters_only(&listing->filters, FILTER_LABEL),
                   .after_ms = is_of_history ? listing->filters.from_ms : 0},
        .is_of_history = is_of_history,
        .is_newest_first = true,
    };
    if (walk_move(&listing->page.walk, slice_of(listing->from)))
        event_page_list(&listing->page, max, to_pass > 0);
    else
        exchange_refuse(listing->exchange, 400, "parameter cursor: is not a cursor of this list");
}

static void read_page(struct listing *listing)
{
    size_t room = listing->result.max - listing->result.count;
    bool takes_any = filters_are_empty(&listing->filters);
    listing->pages++;
    listing->is_of_left = listing->left[0] != '\0';
    if (listing->is_of_left) {
        event_page_begin_ids(&listing->page);
        event_page_add_id(&listing->page, slice_of(listing->left), listing->number);
        event_page_end_ids(&listing->page);
    } else if (listing->origin == EVENTS_OF_IDS) {
        struct slice message_id;
        size_t at = 0, skipped = 0;
        while (skipped < listing->ids && filters_next(&listing->filters, FILTER_MESSAGE_ID, &at).size)
            skipped++;
        event_page_begin_ids(&listing->page);
        while (listing->page.seen < EVENT_PAGE_MAX &&
               (message_id = filters_next(&listing->filters, FILTER_MESSAGE_ID, &at)).size)
            event_page_add_id(&listing->page, message_id, 0);
        event_page_end_ids(&listing->page);
    } else {
        read_list(listing, takes_any && room < EVENT_PAGE_MAX ? room : EVENT_PAGE_MAX, 0);
    }
}

/* Reads the next page, or answers if there is nothing more to read. */
static void listing_go_on(struct listing *listing)
{
    bool is_over = listing->origin == EVENTS_END && !listing->left[0];
    if (is_over || listing->page.fault_status || event_result_is_full(&listing->result) ||
        listing->pages == PAGES_MAX)
        listing_answer(listing);
    else
        read_page(listing);
}

/* ---- 2. take ---- */

/* Adds the requested events of a message to the result, the newest first. Returns false if the result had no
 * room for all. */
static bool take_events(struct listing *listing, const struct event_source *source, int before)
{
    struct event events[EVENTS_MAX];
    for (size_t i = events_of(source, events); i > 0; i--) {
        const struct event *event = &events[i - 1];
        bool is_wanted = (!before || event->number < before) && listing->states & 1U << event->state &&
                         filters_match_time(&listing->filters, event->at_ms);
        if (!is_wanted)
            continue;
        if (event_result_is_full(&listing->result)) {
            struct slice message_id = source->view->job.job_id;
            memcpy(listing->left, message_id.data, message_id.size);
            listing->left[message_id.size] = '\0';
            listing->number = event->number + 1;
            return false;
        }
        event_result_add(&listing->result, source->view, event);
    }
    return true;
}

static bool take_item(struct listing *listing, const struct event_item *item)
{
    struct message_view view;
    if (!item->id.size || !message_view_read(item->id, buffer_slice(&item->record), &view))
        return true;
    const struct event_source source = {&view, item->state, item->at_ms, buffer_slice(&item->lines)};
    bool is_whole = !filters_match(&listing->filters, &view) || take_events(listing, &source, item->number);
    message_view_fini(&view);
    return is_whole;
}

/* Adds the events of the page to the result. Returns how many of its messages were processed; of the last
 * one, some events may not have fit. */
static size_t take_items(struct listing *listing)
{
    const struct event_page *page = &listing->page;
    for (size_t i = 0; i < page->count; i++) {
        if (i && event_result_is_full(&listing->result))
            return page->items[i - 1].position;
        if (!take_item(listing, &page->items[i]))
            return page->items[i].position;
    }
    return page->seen;
}

static void on_page(void *arg)
{
    struct listing *listing = arg;
    if (listing->page.fault_status) {
        listing_answer(listing);
    } else if (listing->to_pass) {
        /* A page of several topics may have fewer messages than requested although there are more; the
         * remaining ones are then read with further pages. */
        size_t passed = listing->page.seen;
        enum event_origin origin = listing->origin;
        move_on(listing);
        if (passed < listing->to_pass && listing->origin == origin)
            read_list(listing, listing->to_pass - passed, listing->to_pass - passed);
        else
            listing_answer(listing);
    } else {
        size_t seen = listing->page.seen;
        listing->left[0] = '\0';
        size_t taken = take_items(listing);
        if (listing->is_of_left) {
            listing_go_on(listing);
        } else if (listing->origin == EVENTS_OF_IDS) {
            listing->ids += taken;
            if (seen < EVENT_PAGE_MAX && taken == seen)
                listing->origin = EVENTS_END;
            listing_go_on(listing);
        } else if (taken < seen) {
            read_list(listing, taken, taken);
        } else {
            move_on(listing);
            listing_go_on(listing);
        }
    }
}

/* ---- the parameters ---- */

/* Reads the requested states. Returns false after answering 400. */
static bool read_states(struct listing *listing)
{
    struct slice word;
    bool is_given = listing->filters.given & 1U << FILTER_STATE;
    listing->states = is_given ? 0 : ~0U;
    for (size_t at = 0; (word = filters_next(&listing->filters, FILTER_STATE, &at)).size;) {
        if (event_states_take(word, &listing->states))
            continue;
        exchange_refuse(listing->exchange, 400,
                        "parameter state: must be CREATED, ACTIVE, RETRY, ERROR, IN_PROGRESS, DELIVERED, "
                        "FAILED, CANCEL_REQUESTED or CANCELED");
        return false;
    }
    return true;
}

/* Begins at the position of the cursor. Returns false after answering 400. */
static bool read_cursor(struct listing *listing)
{
    struct event_cursor cursor;
    char key[MESSAGE_KEY_SIZE];
    bool has_ids = listing->filters.given & 1U << FILTER_MESSAGE_ID;
    if (listing->filters.cursor.size == 0) {
        listing->origin = has_ids ? EVENTS_OF_IDS : origin_from(listing, EVENTS_OF_POOL);
        return true;
    }
    bool is_known = event_cursor_parse(listing->filters.cursor, &cursor) &&
                    (cursor.origin == EVENTS_END || has_ids == (cursor.origin == EVENTS_OF_IDS)) &&
                    (!cursor.message_id.size || message_id_key(cursor.message_id, key).size);
    if (!is_known) {
        exchange_refuse(listing->exchange, 400, "parameter cursor: is not a cursor of this list");
        return false;
    }
    listing->origin = has_ids ? cursor.origin : origin_from(listing, cursor.origin);
    listing->ids = cursor.ids;
    listing->number = cursor.number;
    if (listing->origin == cursor.origin)
        memcpy(listing->from, cursor.list.data, cursor.list.size);
    memcpy(listing->left, cursor.message_id.data, cursor.message_id.size);
    return true;
}

static void events_begin(struct exchange *exchange, const char *name)
{
    struct listing *listing = NEW(struct listing);
    listing->exchange = exchange;
    listing->name = name;
    exchange_keep(exchange, listing, listing_free);
    if (!filters_read(exchange, ACCEPTED, &listing->filters) || !read_states(listing) ||
        !read_cursor(listing))
        return; /* the answer may have freed listing */
    int64_t count = listing->filters.count;
    listing->result.max = count && count < EVENTS_COUNT ? (size_t)count : EVENTS_COUNT;
    listing->result.items = NEW_ARRAY(struct event_found, listing->result.max);
    buffer_init_fallible(&listing->result.texts, TEXTS_MAX);
    event_page_init(&listing->page, exchange, &listing->filters, on_page, listing);
    struct slice queue = filters_only(&listing->filters, FILTER_QUEUE);
    listing->queue = queue.size ? queue_topic(queue, listing->topic) : queue;
    listing_go_on(listing);
}

HANDLER(events_handle)
{
    events_begin(exchange, "events");
}

HANDLER(logs_handle)
{
    events_begin(exchange, "logs");
}
