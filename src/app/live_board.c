#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "app/live.h"
#include "base/memory.h"
#include "base/system.h"

#define SILENT_US INT64_C(5000000) /* a process without messages for this time has ended, or is cut off */

/* One process: its data (id, host, version and so on), and the figures of its last seconds. */
struct member {
    struct live_process line;
    int64_t heard_us;
    int64_t topics_second;
    size_t topic_count;
    struct live_topic topics[LIVE_TOPICS_MAX];
    int64_t seconds[LIVE_SECONDS]; /* for each index: the second to which the figures at this index belong */
    struct live_second figures[LIVE_SECONDS];
};

struct live_board {
    pthread_mutex_t lock;
    struct member *members[LIVE_PROCESSES_MAX + 1]; /* the first member is this process */
    size_t member_count;
    int64_t last_second; /* last second that this process has counted */
    int64_t asked_us;
    char *settings; /* NULL: none */
};

/* Copies a text as one word of a message. Each space, control character and byte beyond ASCII becomes '-'. An
 * empty text becomes "-". */
static void copy_word(char word[LIVE_WORD_SIZE], const char *text)
{
    size_t size = 0;
    for (; *text && size < LIVE_WORD_SIZE - 1; text++)
        word[size++] = *text > ' ' && *text < 0x7f ? *text : '-';
    if (size == 0)
        word[size++] = '-';
    word[size] = '\0';
}

struct live_board *live_board_new(size_t reactors)
{
    struct live_board *board = NEW(struct live_board);
    struct member *self = NEW(struct member);
    char host[256] = "";
    uint64_t id;
    random_fill(&id, sizeof id);
    gethostname(host, sizeof host - 1);
    snprintf(self->line.id, sizeof self->line.id, "%016llx", (unsigned long long)id);
    copy_word(self->line.host, host);
    copy_word(self->line.version, DUEPOST_VERSION);
    self->line.pid = getpid();
    self->line.started_ms = clock_wall_ms();
    self->line.reactors = (int64_t)reactors;
    pthread_mutex_init(&board->lock, NULL);
    board->members[board->member_count++] = self;
    return board;
}

void live_board_free(struct live_board *board)
{
    if (!board)
        return;
    for (size_t i = 0; i < board->member_count; i++)
        free(board->members[i]);
    free(board->settings);
    pthread_mutex_destroy(&board->lock);
    free(board);
}

void live_board_set_settings(struct live_board *board, struct slice settings)
{
    char *fresh = slice_dup(settings);
    pthread_mutex_lock(&board->lock);
    char *old = board->settings;
    board->settings = fresh;
    pthread_mutex_unlock(&board->lock);
    free(old);
}

void live_board_settings(struct live_board *board, struct buffer *settings)
{
    pthread_mutex_lock(&board->lock);
    buffer_append(settings, slice_of(board->settings ? board->settings : ""));
    pthread_mutex_unlock(&board->lock);
}

static struct member *find_member(const struct live_board *board, const char *id)
{
    for (size_t i = 0; i < board->member_count; i++)
        if (strcmp(board->members[i]->line.id, id) == 0)
            return board->members[i];
    return NULL;
}

/* Returns an empty member for a process that is not on the board. If the board is full, empties the member
 * that has been silent for the longest time. */
static struct member *take_member(struct live_board *board)
{
    struct member *silent = NULL;
    if (board->member_count <= LIVE_PROCESSES_MAX)
        return board->members[board->member_count++] = NEW(struct member);
    for (size_t i = 1; i < board->member_count; i++)
        if (!silent || board->members[i]->heard_us < silent->heard_us)
            silent = board->members[i];
    memset(silent, 0, sizeof *silent);
    return silent;
}

static size_t place_of(int64_t second)
{
    return (size_t)(second % LIVE_SECONDS);
}

static bool has_second(const struct member *member, int64_t second)
{
    return member->seconds[place_of(second)] == second;
}

/* ---- what is noted ---- */

void live_board_note_process(struct live_board *board, const struct live_process *process, int64_t heard_us)
{
    pthread_mutex_lock(&board->lock);
    struct member *member = find_member(board, process->id);
    if (!member)
        member = take_member(board);
    member->line = *process;
    member->heard_us = heard_us;
    pthread_mutex_unlock(&board->lock);
}

void live_board_note_second(struct live_board *board, const char *id, int64_t second,
                            const struct live_second *figures)
{
    pthread_mutex_lock(&board->lock);
    struct member *member = find_member(board, id);
    if (member && second > 0) {
        member->seconds[place_of(second)] = second;
        member->figures[place_of(second)] = *figures;
        if (member == board->members[0])
            board->last_second = second;
    }
    pthread_mutex_unlock(&board->lock);
}

void live_board_note_topics(struct live_board *board, const char *id, int64_t second,
                            const struct live_topic *topics, size_t count)
{
    pthread_mutex_lock(&board->lock);
    struct member *member = find_member(board, id);
    if (member) {
        member->topics_second = second;
        member->topic_count = count < LIVE_TOPICS_MAX ? count : LIVE_TOPICS_MAX;
        memcpy(member->topics, topics, member->topic_count * sizeof *topics);
    }
    pthread_mutex_unlock(&board->lock);
}

void live_board_ask(struct live_board *board, int64_t now_us)
{
    pthread_mutex_lock(&board->lock);
    board->asked_us = now_us;
    pthread_mutex_unlock(&board->lock);
}

/* ---- what is read ---- */

void live_board_self(struct live_board *board, struct live_process *self)
{
    pthread_mutex_lock(&board->lock);
    *self = board->members[0]->line;
    pthread_mutex_unlock(&board->lock);
}

int64_t live_board_asked_us(struct live_board *board)
{
    pthread_mutex_lock(&board->lock);
    int64_t asked_us = board->asked_us;
    pthread_mutex_unlock(&board->lock);
    return asked_us;
}

bool live_board_second(struct live_board *board, const char *id, int64_t second, struct live_second *figures)
{
    pthread_mutex_lock(&board->lock);
    const struct member *member = find_member(board, id);
    bool has = member && second > 0 && has_second(member, second);
    if (has)
        *figures = member->figures[place_of(second)];
    pthread_mutex_unlock(&board->lock);
    return has;
}

void live_second_add(struct live_second *sum, const struct live_second *figures)
{
    sum->accepted += figures->accepted;
    sum->delivered += figures->delivered;
    sum->cancelled += figures->cancelled;
    sum->dead += figures->dead;
    sum->failed += figures->failed;
    for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++)
        sum->late[i] += figures->late[i];
}

size_t live_board_sum(struct live_board *board, int64_t from, struct live_second sums[LIVE_SECONDS],
                      int64_t *first)
{
    size_t count = 0;
    pthread_mutex_lock(&board->lock);
    int64_t last = board->last_second, oldest = last - LIVE_SECONDS + 1;
    *first = from > oldest ? from : oldest;
    for (int64_t second = *first; last > 0 && second <= last; second++) {
        struct live_second *sum = &sums[count++];
        *sum = (struct live_second){.accepted = 0};
        for (size_t i = 0; i < board->member_count; i++)
            if (has_second(board->members[i], second))
                live_second_add(sum, &board->members[i]->figures[place_of(second)]);
    }
    pthread_mutex_unlock(&board->lock);
    return count;
}

static bool is_heard(const struct live_board *board, size_t i, int64_t now_us)
{
    return i == 0 || now_us - board->members[i]->heard_us < SILENT_US;
}

size_t live_board_processes(struct live_board *board, int64_t now_us,
                            struct live_process processes[LIVE_PROCESSES_MAX + 1])
{
    size_t count = 0;
    pthread_mutex_lock(&board->lock);
    for (size_t i = 0; i < board->member_count; i++)
        if (is_heard(board, i, now_us))
            processes[count++] = board->members[i]->line;
    pthread_mutex_unlock(&board->lock);
    return count;
}

static void add_topic(struct live_topic topics[LIVE_TOPICS_MAX], size_t *count,
                      const struct live_topic *figures)
{
    size_t i = 0;
    while (i < *count && strcmp(topics[i].name, figures->name) != 0)
        i++;
    if (i == LIVE_TOPICS_MAX)
        return;
    if (i == *count) {
        topics[(*count)++] = *figures;
        return;
    }
    topics[i].accepted += figures->accepted;
    topics[i].delivered += figures->delivered;
    topics[i].cancelled += figures->cancelled;
    topics[i].dead += figures->dead;
    topics[i].failed += figures->failed;
}

/* Returns whether the figures of a member's topics are recent. The last second of another process may be one
 * second before or after the last second of this process. */
static bool has_recent_topics(const struct live_board *board, size_t i)
{
    int64_t age = board->last_second - board->members[i]->topics_second;
    return age >= -2 && age <= 2;
}

size_t live_board_topics(struct live_board *board, int64_t now_us, struct live_topic topics[LIVE_TOPICS_MAX])
{
    size_t count = 0;
    pthread_mutex_lock(&board->lock);
    for (size_t i = 0; i < board->member_count; i++)
        for (size_t t = 0; t < board->members[i]->topic_count; t++)
            if (is_heard(board, i, now_us) && has_recent_topics(board, i))
                add_topic(topics, &count, &board->members[i]->topics[t]);
    pthread_mutex_unlock(&board->lock);
    return count;
}

int64_t live_second_late_us(const struct live_second *second, double part)
{
    uint64_t all = 0;
    for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++)
        all += second->late[i];
    double wanted = part * (double)all, before = 0;
    for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
        double here = (double)second->late[i];
        int64_t low_us = i ? histogram_bounds_us[i - 1] : 0;
        if (here > 0 && before + here >= wanted)
            return i == HISTOGRAM_BUCKETS - 1 ? low_us
                                              : low_us + (int64_t)((double)(histogram_bounds_us[i] - low_us) *
                                                                   (wanted - before) / here);
        before += here;
    }
    return -1;
}
