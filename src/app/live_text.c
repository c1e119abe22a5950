#include "app/live_text.h"

#include <string.h>

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

static void read_late(struct slice line, struct live_second *figures)
{
    while (line.size) {
        struct slice word, bucket_text, rest;
        uint64_t bucket, number;
        slice_cut(line, ' ', &word, &line);
        if (slice_cut(word, ':', &bucket_text, &rest) &&
            slice_to_number(bucket_text, HISTOGRAM_BUCKETS - 1, &bucket) &&
            slice_to_number(rest, NUMBER_MAX, &number))
            figures->late[bucket] = number;
    }
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
    read_late(line, &figures);
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
