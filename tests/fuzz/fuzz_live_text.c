#include "app/live.h"

#include <stdio.h>
#include <string.h>

#include "fuzz.h"

#define NOW INT64_C(1893456000)

enum {
    OWN = 7,
    SECONDS = 30, /* seconds that are compared; all 15 minutes would take ten times as long */
    TEXT_MAX = 1 << 20,
};

static struct live_process processes[LIVE_PROCESSES_MAX + 1], copies[LIVE_PROCESSES_MAX + 1];
static struct live_second sums[LIVE_SECONDS], copied_sums[LIVE_SECONDS];

static struct live_board *new_board(void)
{
    struct live_board *board = live_board_new(2);
    struct live_process self;
    live_board_self(board, &self);
    live_board_note_second(board, self.id, NOW, &(struct live_second){.accepted = OWN});
    return board;
}

static bool is_word(const char *word, size_t size)
{
    size_t length = strnlen(word, size);
    for (size_t i = 0; i < length; i++)
        if (word[i] <= ' ' || word[i] > '~')
            return false;
    return length > 0 && length < size;
}

static void check_own_figures(struct live_board *board)
{
    struct live_process self;
    struct live_second figures;
    live_board_self(board, &self);
    bool has = live_board_second(board, self.id, NOW, &figures);
    assert(has && figures.accepted == OWN && figures.delivered == 0);
    has = live_board_second(board, self.id, NOW - 1, &figures);
    assert(!has && strcmp(processes[0].id, self.id) == 0);
}

static void check_topics(struct live_board *board)
{
    struct live_topic topics[LIVE_TOPICS_MAX];
    size_t count = live_board_topics(board, 1, topics);
    assert(count <= LIVE_TOPICS_MAX);
    for (size_t i = 0; i < count; i++)
        assert(is_word(topics[i].name, sizeof topics[i].name));
}

static void check_lateness(void)
{
    for (size_t i = 0; i < SECONDS; i++) {
        int64_t half_us = live_second_late_us(&sums[i], 0.5), most_us = live_second_late_us(&sums[i], 0.99);
        assert(half_us >= -1 && most_us >= half_us && (most_us < 0) == (half_us < 0));
    }
}

/* Writes the figures of the other processes as messages. */
static void retell(struct live_board *board, size_t count, struct buffer *text)
{
    struct live_second figures;
    for (size_t i = 1; i < count; i++) {
        assert(is_word(processes[i].version, LIVE_WORD_SIZE) && is_word(processes[i].host, LIVE_WORD_SIZE));
        live_text_add_process(text, &processes[i]);
        for (int64_t second = NOW - SECONDS + 1; second <= NOW; second++)
            if (live_board_second(board, processes[i].id, second, &figures))
                live_text_add_second(text, second, &figures);
    }
}

/* Figures that are read, written and read again must be the same. */
static void check_retold(struct live_board *board, size_t count)
{
    struct live_board *copy = new_board();
    struct buffer text;
    char looking[LIVE_ID_SIZE];
    int64_t first;
    buffer_init(&text, TEXT_MAX);
    retell(board, count, &text);
    bool is_looked = live_text_note(buffer_slice(&text), copy, 1, NOW, looking);
    size_t copied = live_board_processes(copy, 1, copies);
    assert(!is_looked && copied == count);
    for (size_t i = 1; i < count; i++) {
        const struct live_process *one = &processes[i], *other = &copies[i];
        assert(strcmp(one->id, other->id) == 0 && strcmp(one->version, other->version) == 0 &&
               strcmp(one->host, other->host) == 0 && one->pid == other->pid &&
               one->started_ms == other->started_ms && one->reactors == other->reactors &&
               one->in_flight == other->in_flight && one->waiting == other->waiting);
    }
    size_t seconds = live_board_sum(copy, NOW - SECONDS + 1, copied_sums, &first);
    assert(seconds == SECONDS && memcmp(sums, copied_sums, SECONDS * sizeof *sums) == 0);
    buffer_fini(&text);
    live_board_free(copy);
}

static void check_agreement(struct live_board *board, struct slice message)
{
    struct agreement agreement = {.asked = 0};
    char asking[LIVE_ID_SIZE];
    live_board_set_settings(board, SLICE("max-jobs=0 qstash=off"));
    if (agreement_note(&agreement, board, message, asking))
        assert(strspn(asking, "0123456789abcdef") == LIVE_ID_SIZE - 1 && !asking[LIVE_ID_SIZE - 1]);
    assert(!agreement.is_received && !agreement.has_warned);
}

/* Input: a message of another process. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct live_board *board = new_board();
    char looking[LIVE_ID_SIZE];
    int64_t first;
    if (live_text_note(input_of(data, size), board, 1, NOW, looking))
        assert(strspn(looking, "0123456789abcdef") == LIVE_ID_SIZE - 1 && !looking[LIVE_ID_SIZE - 1]);
    size_t count = live_board_processes(board, 1, processes);
    size_t seconds = live_board_sum(board, NOW - SECONDS + 1, sums, &first);
    assert(count >= 1 && seconds == SECONDS && first == NOW - SECONDS + 1);
    check_own_figures(board);
    check_topics(board);
    check_lateness();
    check_agreement(board, input_of(data, size));
    check_retold(board, count);
    live_board_free(board);
    return 0;
}
