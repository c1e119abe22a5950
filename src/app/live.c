#include "app/live.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/system.h"
#include "store/store.h"

enum { AHEAD_MAX = 60 }; /* maximum number of seconds by which the clock of another host may be ahead */

#define NUMBER_MAX (UINT64_C(1) << 48) /* maximum of a number in a message, so that sums cannot overflow */

void live_text_add_look(struct buffer *text, const char *id)
{
    buffer_printf(text, "look %s\n", id);
}

void live_text_add_process(struct buffer *text, const struct live_process *process)
{
    buffer_printf(text, "process %s %lld %lld %lld %llu %s %s %llu\n", process->id, (long long)process->pid,
                  (long long)process->started_ms, (long long)process->reactors,
                  (unsigned long long)process->in_flight, process->version, process->host,
                  (unsigned long long)process->waiting);
}

void live_text_add_second(struct buffer *text, int64_t second, const struct live_second *figures)
{
    buffer_printf(text, "second %lld %llu %llu %llu %llu %llu", (long long)second,
                  (unsigned long long)figures->accepted, (unsigned long long)figures->delivered,
                  (unsigned long long)figures->cancelled, (unsigned long long)figures->dead,
                  (unsigned long long)figures->failed);
    for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++)
        if (figures->late[i])
            buffer_printf(text, " %zu:%llu", i, (unsigned long long)figures->late[i]);
    buffer_append_byte(text, '\n');
}

void live_text_add_topic(struct buffer *text, int64_t second, const struct live_topic *topic)
{
    buffer_printf(text, "topic %s %lld %llu %llu %llu %llu %llu\n", topic->name, (long long)second,
                  (unsigned long long)topic->accepted, (unsigned long long)topic->delivered,
                  (unsigned long long)topic->cancelled, (unsigned long long)topic->dead,
                  (unsigned long long)topic->failed);
}

/* ---- reading ---- */

/* The state while a message is read. Lines of topics belong to the process whose id is in the member id. */
struct reading {
    struct live_board *board;
    int64_t now_us, now_second;
    char self[LIVE_ID_SIZE];
    char
        id[LIVE_ID_SIZE]; /* id of the process to which the following lines belong; empty: they are ignored */
    int64_t topics_second;
    size_t topic_count;
    struct live_topic topics[LIVE_TOPICS_MAX];
};

static bool take_number(struct slice *line, uint64_t max, uint64_t *number)
{
    struct slice word;
    slice_cut(*line, ' ', &word, line);
    return slice_to_number(word, max, number);
}

static bool take_int(struct slice *line, int64_t *number)
{
    uint64_t value;
    if (!take_number(line, NUMBER_MAX, &value))
        return false;
    *number = (int64_t)value;
    return true;
}

/* Takes a word of at least one byte and less than size. */
static bool take_word(struct slice *line, char *word, size_t size)
{
    struct slice text;
    slice_cut(*line, ' ', &text, line);
    if (text.size == 0 || text.size >= size)
        return false;
    for (size_t i = 0; i < text.size; i++)
        if (text.data[i] <= ' ' || text.data[i] >= 0x7f)
            return false;
    memcpy(word, text.data, text.size);
    word[text.size] = '\0';
    return true;
}

/* Takes a word that is an id. If the next word is not an id, returns false and does not change id. */
static bool take_id(struct slice *line, char id[LIVE_ID_SIZE])
{
    char word[LIVE_ID_SIZE];
    if (!take_word(line, word, sizeof word) || strspn(word, "0123456789abcdef") != LIVE_ID_SIZE - 1)
        return false;
    memcpy(id, word, sizeof word);
    return true;
}

static bool take_second(const struct reading *reading, struct slice *line, int64_t *second)
{
    return take_int(line, second) && *second > reading->now_second - LIVE_SECONDS &&
           *second <= reading->now_second + AHEAD_MAX;
}

static void note_topics(struct reading *reading)
{
    if (reading->id[0])
        live_board_note_topics(reading->board, reading->id, reading->topics_second, reading->topics,
                               reading->topic_count);
    reading->topic_count = 0;
}

static void read_process(struct reading *reading, struct slice line)
{
    struct live_process process = {.pid = 0};
    note_topics(reading);
    reading->id[0] = '\0';
    if (!take_id(&line, process.id) || strcmp(process.id, reading->self) == 0 ||
        !take_int(&line, &process.pid) || !take_int(&line, &process.started_ms) ||
        !take_int(&line, &process.reactors) || !take_number(&line, NUMBER_MAX, &process.in_flight) ||
        !take_word(&line, process.version, sizeof process.version) ||
        !take_word(&line, process.host, sizeof process.host))
        return;
    if (!take_number(&line, NUMBER_MAX, &process.waiting))
        process.waiting = 0;
    live_board_note_process(reading->board, &process, reading->now_us);
    memcpy(reading->id, process.id, sizeof reading->id);
}

static void read_second(struct reading *reading, struct slice line)
{
    struct live_second figures = {.accepted = 0};
    int64_t second;
    if (!reading->id[0] || !take_second(reading, &line, &second) ||
        !take_number(&line, NUMBER_MAX, &figures.accepted) ||
        !take_number(&line, NUMBER_MAX, &figures.delivered) ||
        !take_number(&line, NUMBER_MAX, &figures.cancelled) ||
        !take_number(&line, NUMBER_MAX, &figures.dead) || !take_number(&line, NUMBER_MAX, &figures.failed))
        return;
    while (line.size) {
        struct slice word, bucket_text, rest;
        uint64_t bucket, number;
        slice_cut(line, ' ', &word, &line);
        if (slice_cut(word, ':', &bucket_text, &rest) &&
            slice_to_number(bucket_text, HISTOGRAM_BUCKETS - 1, &bucket) &&
            slice_to_number(rest, NUMBER_MAX, &number))
            figures.late[bucket] = number;
    }
    live_board_note_second(reading->board, reading->id, second, &figures);
}

static void read_topic(struct reading *reading, struct slice line)
{
    struct live_topic topic = {.accepted = 0};
    int64_t second;
    if (!reading->id[0] || reading->topic_count == LIVE_TOPICS_MAX ||
        !take_word(&line, topic.name, sizeof topic.name) || !take_second(reading, &line, &second) ||
        !take_number(&line, NUMBER_MAX, &topic.accepted) ||
        !take_number(&line, NUMBER_MAX, &topic.delivered) ||
        !take_number(&line, NUMBER_MAX, &topic.cancelled) || !take_number(&line, NUMBER_MAX, &topic.dead) ||
        !take_number(&line, NUMBER_MAX, &topic.failed))
        return;
    reading->topics_second = second;
    reading->topics[reading->topic_count++] = topic;
}

/* A message with the figures of a second also has the figures of all topics in this second. */
bool live_text_note(struct slice message, struct live_board *board, int64_t now_us, int64_t now_second,
                    char looking[LIVE_ID_SIZE])
{
    struct reading reading = {
        .board = board, .now_us = now_us, .now_second = now_second, .topics_second = now_second};
    struct live_process self;
    bool is_looked = false;
    live_board_self(board, &self);
    memcpy(reading.self, self.id, sizeof reading.self);
    while (message.size) {
        struct slice line, kind;
        slice_cut(message, '\n', &line, &message);
        slice_cut(line, ' ', &kind, &line);
        if (slice_equal(kind, SLICE("process")))
            read_process(&reading, line);
        else if (slice_equal(kind, SLICE("second")))
            read_second(&reading, line);
        else if (slice_equal(kind, SLICE("topic")))
            read_topic(&reading, line);
        else if (slice_equal(kind, SLICE("look")) && take_id(&line, looking))
            is_looked = true;
    }
    note_topics(&reading);
    return is_looked;
}

#define SECOND_US INT64_C(1000000)
#define ASKED_US                                                                                             \
    (5 * SECOND_US) /* a client counts as watching the figures if its last request was within this time */
#define LOOK_US    (5 * SECOND_US)  /* time between two "look" messages, which request figures (live.h) */
#define WATCHED_US (15 * SECOND_US) /* time for which figures are sent after a "look" */
#define SETTLE_US  INT64_C(10000)   /* wait after a second's end: its figures are then complete */

enum {
    MESSAGE_MAX =
        256 * 1024, /* enough for 15 minutes of figures: at most 900 lines, of at most 250 bytes each */
    LOOKERS_MAX = LIVE_PROCESSES_MAX,
    AGAIN_SECONDS =
        15, /* the figures of this many past seconds are sent again; a failover takes fewer seconds */
};

struct looker {
    char id[LIVE_ID_SIZE];
    int64_t looked_us;
};

struct live {
    struct store *store;
    struct metrics_board *metrics;
    struct http_limits *limits;
    struct live_board *board;
    struct timer *timer;
    struct buffer text;
    struct metrics_sums sums; /* the metrics' sums at the end of the last second */
    struct metrics_topic_sums topics[METRICS_TOPICS_MAX + 1];
    size_t topic_count;
    struct looker lookers[LOOKERS_MAX]; /* processes that have sent "look" lately */
    struct agreement agreement;
    int64_t watched_us, looked_us; /* time of the last "look" of any process, and of this process */
};

/* ---- counting ---- */

static struct live_second second_of(const struct metrics_sums *now, const struct metrics_sums *before)
{
    struct live_second second = {
        .accepted = now->accepted - before->accepted,
        .delivered = now->delivered - before->delivered,
        .cancelled = now->cancelled - before->cancelled,
        .dead = now->dead - before->dead,
        .failed = now->failed - before->failed,
    };
    for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++)
        second.late[i] = now->late[i] - before->late[i];
    return second;
}

/* Computes the figures of a topic from the sums now and the sums before (NULL for a new topic). Returns
 * whether a figure is not 0. */
static bool make_topic(struct live_topic *topic, const struct metrics_topic_sums *now,
                       const struct metrics_topic_sums *before)
{
    static const struct metrics_topic_sums none;
    if (!before)
        before = &none;
    topic->accepted = now->accepted - before->accepted;
    topic->delivered = now->delivered - before->delivered;
    topic->cancelled = now->cancelled - before->cancelled;
    topic->dead = now->dead - before->dead;
    topic->failed = now->failed - before->failed;
    snprintf(topic->name, sizeof topic->name, "%s", now->name);
    return topic->accepted || topic->delivered || topic->cancelled || topic->dead || topic->failed;
}

/* Computes the figures of each topic in the last second. A topic keeps its index in the table, except
 * "_other", which is always last and moves when a topic is added. */
static size_t make_topics(const struct live *live, const struct metrics_topic_sums *now, size_t now_count,
                          struct live_topic topics[LIVE_TOPICS_MAX])
{
    size_t count = 0;
    for (size_t i = 0; i < now_count; i++) {
        const struct metrics_topic_sums *before = i + 1 < live->topic_count ? &live->topics[i] : NULL;
        if (i + 1 == now_count && live->topic_count)
            before = &live->topics[live->topic_count - 1];
        count += make_topic(&topics[count], &now[i], before);
    }
    return count;
}

/* Computes the figures of the second that has just ended. Returns the number of topics. */
static size_t count_second(struct live *live, int64_t second, struct live_process *self,
                           struct live_second *figures, struct live_topic topics[LIVE_TOPICS_MAX])
{
    struct metrics_sums sums;
    struct metrics_topic_sums now[METRICS_TOPICS_MAX + 1];
    size_t now_count = metrics_sum(live->metrics, &sums, now);
    size_t count = make_topics(live, now, now_count, topics);
    *figures = second_of(&sums, &live->sums);
    live->sums = sums;
    memcpy(live->topics, now, now_count * sizeof *now);
    live->topic_count = now_count;
    live_board_self(live->board, self);
    self->in_flight = sums.in_flight;
    self->waiting = http_limits_count(live->limits).lingering;
    live_board_note_process(live->board, self, clock_boot_us());
    live_board_note_second(live->board, self->id, second, figures);
    live_board_note_topics(live->board, self->id, second, topics, count);
    return count;
}

/* ---- telling ---- */

static void publish(struct live *live)
{
    if (live->text.size && !live->text.failed)
        store_publish_live(live->store, buffer_slice(&live->text));
    buffer_clear(&live->text);
}

/* Adds the figures of the seconds in which something has happened. */
static void add_seconds(struct live *live, const char *id, int64_t from, int64_t until)
{
    static const struct live_second none;
    struct live_second figures;
    for (int64_t second = from; second < until; second++)
        if (live_board_second(live->board, id, second, &figures) && memcmp(&figures, &none, sizeof none) != 0)
            live_text_add_second(&live->text, second, &figures);
}

/* Sends "look" if a client has requested figures. */
static void note_look(struct live *live, const struct live_process *self, int64_t now_us)
{
    int64_t asked_us = live_board_asked_us(live->board);
    if (!asked_us || now_us - asked_us > ASKED_US || (live->looked_us && now_us - live->looked_us < LOOK_US))
        return;
    live->looked_us = now_us;
    live_text_add_look(&live->text, self->id);
}

static void live_start_timer(struct live *live)
{
    timer_start(live->timer, (1000 - clock_wall_ms() % 1000) * 1000 + SETTLE_US);
}

static void live_on_timer(void *arg)
{
    struct live *live = arg;
    struct live_process self;
    struct live_second figures;
    struct live_topic *topics = NEW_ARRAY(struct live_topic, LIVE_TOPICS_MAX);
    int64_t now_us = clock_boot_us(), second = clock_wall_ms() / 1000 - 1;
    size_t count = count_second(live, second, &self, &figures, topics);
    note_look(live, &self, now_us);
    agreement_ask(&live->agreement, live->board, &live->text);
    if (live->watched_us && now_us - live->watched_us < WATCHED_US) {
        /* Sends the figures of the last second, and those of the seconds before it again, because messages
         * may have been lost. */
        live_text_add_process(&live->text, &self);
        add_seconds(live, self.id, second - AGAIN_SECONDS, second);
        live_text_add_second(&live->text, second, &figures);
        for (size_t i = 0; i < count; i++)
            live_text_add_topic(&live->text, second, &topics[i]);
    }
    free(topics);
    publish(live);
    live_start_timer(live);
}

/* ---- figures of other processes ---- */

/* Notes a "look" message of a process. Returns whether it is the first one of this process, or the first one
 * after a pause. */
static bool note_looker(struct live *live, const char *id, int64_t now_us)
{
    struct looker *oldest = live->lookers;
    for (struct looker *looker = live->lookers; looker < live->lookers + LOOKERS_MAX; looker++) {
        if (strcmp(looker->id, id) == 0) {
            bool is_new = now_us - looker->looked_us > WATCHED_US;
            looker->looked_us = now_us;
            return is_new;
        }
        if (looker->looked_us < oldest->looked_us)
            oldest = looker;
    }
    snprintf(oldest->id, sizeof oldest->id, "%s", id);
    oldest->looked_us = now_us;
    return true;
}

static void live_on_message(void *arg, struct slice text)
{
    struct live *live = arg;
    struct live_process self;
    char looking[LIVE_ID_SIZE], asking[LIVE_ID_SIZE];
    int64_t now_us = clock_boot_us();
    if (agreement_note(&live->agreement, live->board, text, asking)) {
        buffer_clear(&live->text);
        agreement_answer(live->board, asking, &live->text);
        publish(live);
    }
    if (!live_text_note(text, live->board, now_us, clock_wall_ms() / 1000, looking))
        return;
    live->watched_us = now_us;
    live_board_self(live->board, &self);
    if (strcmp(looking, self.id) != 0 && note_looker(live, looking, now_us)) {
        /* Sends the figures of the last 15 minutes. */
        int64_t now_second = clock_wall_ms() / 1000;
        live_board_self(live->board, &self);
        buffer_clear(&live->text);
        live_text_add_process(&live->text, &self);
        add_seconds(live, self.id, now_second - LIVE_SECONDS + 1, now_second);
        publish(live);
    }
}

/* ---- */

struct live *live_new(struct loop *loop, struct store *store, struct metrics_board *metrics,
                      struct http_limits *limits, struct live_board *board)
{
    struct live *live = NEW(struct live);
    live->store = store;
    live->metrics = metrics;
    live->limits = limits;
    live->board = board;
    live->timer = timer_new(loop, live_on_timer, live);
    buffer_init_fallible(&live->text, MESSAGE_MAX);
    live->topic_count = metrics_sum(metrics, &live->sums, live->topics);
    store_listen_live(store, live_on_message, live);
    live_start_timer(live);
    return live;
}

void live_free(struct live *live)
{
    if (!live)
        return;
    timer_free(live->timer);
    buffer_fini(&live->text);
    free(live);
}
