/* live.h - counts the figures of this process each second, and exchanges them with the other processes.
 *
 * The figures go through a channel of Redis (store/store.h), so nothing is stored in Redis. A process
 * sends "look" on the channel if a client has requested the figures within the last seconds. Then all
 * processes send their figures each second, until no "look" has come for 15 seconds. After the first "look"
 * of a process, they also send the figures of their last 15 minutes. At the start, the processes also compare
 * settings (agreement.c). */
#ifndef DUEPOST_APP_LIVE_H
#define DUEPOST_APP_LIVE_H

#include "base/buffer.h"
#include "base/metrics.h"
#include "io/http/limits.h"
#include "io/loop.h"
#include "job/job_id.h"

struct live;
struct live_board;
struct store;

/* Begins to count. One reactor of a process does this. Borrows all arguments. */
struct live *live_new(struct loop *, struct store *, struct metrics_board *, struct http_limits *,
                      struct live_board *);

/* Call it after the store has been freed. NULL is ignored. */
void live_free(struct live *);

/* ---- the board ----
 *
 * Figures of the last 15 minutes, second by second, of all processes on one Redis.
 *
 * Each process counts its own figures (live.h) and sends them to the others, which keep them in memory.
 * Nothing is written to Redis. If a process has sent no figures for a second, they count as zero. Any thread
 * may use the board.
 *
 * Seconds are seconds since 1970 by the wall clock of the process that counted them. */

enum {
    LIVE_SECONDS = 900,
    LIVE_PROCESSES_MAX = 64, /* maximum number of other processes */
    LIVE_TOPICS_MAX = METRICS_TOPICS_MAX + 1,
    LIVE_ID_SIZE = 17,
    LIVE_WORD_SIZE = 65,
    LIVE_SETTINGS_MAX = 2048,
};

/* Figures of one second. failed: attempts that failed. */
struct live_second {
    uint64_t accepted, delivered, cancelled, dead, failed;
    uint64_t
        late[HISTOGRAM_BUCKETS]; /* numbers of attempts, by how late each attempt began, see histogram.h */
};

/* Figures of one topic in the last second. */
struct live_topic {
    char name[JOB_TOPIC_NAME_MAX + 1];
    uint64_t accepted, delivered, cancelled, dead, failed;
};

struct live_process {
    char id[LIVE_ID_SIZE]; /* id of the process: 16 random hexadecimal digits, new at each start */
    int64_t pid, started_ms, reactors;
    uint64_t in_flight;                                 /* number of attempts in flight */
    uint64_t waiting;                                   /* workers that wait for jobs of pull topics */
    char version[LIVE_WORD_SIZE], host[LIVE_WORD_SIZE]; /* texts without spaces */
};

struct live_board;

/* Creates a board for this process. reactors is the number of its reactors. */
struct live_board *live_board_new(size_t reactors);
void live_board_free(struct live_board *); /* NULL is ignored */

/* ---- what is noted ---- */

/* Copies the options of this process that all processes must share, see agreement.c. Until this call, the
 * board has no options. */
void live_board_set_settings(struct live_board *, struct slice settings);

/* Stores the data of a process, and its figures and topics of one second. figures may be NULL. heard_us is
 * CLOCK_BOOTTIME. If the board already has LIVE_PROCESSES_MAX other processes, a new process replaces the one
 * whose last message is oldest. */
void live_board_note_process(struct live_board *, const struct live_process *, int64_t heard_us);
void live_board_note_second(struct live_board *, const char *id, int64_t second, const struct live_second *);
void live_board_note_topics(struct live_board *, const char *id, int64_t second, const struct live_topic *,
                            size_t count);

/* Notes that a client has requested the figures. */
void live_board_ask(struct live_board *, int64_t now_us);

/* ---- what is read ---- */

/* Copies the data of this process from the board. */
void live_board_self(struct live_board *, struct live_process *);

/* Appends the options that live_board_set_settings stored. */
void live_board_settings(struct live_board *, struct buffer *settings);

/* Returns when a client last requested the figures (CLOCK_BOOTTIME); 0: never. */
int64_t live_board_asked_us(struct live_board *);

/* Copies the figures of one process for a second. Returns false if the process has no figures for this
 * second. */
bool live_board_second(struct live_board *, const char *id, int64_t second, struct live_second *);

/* For each second, sums the figures of all processes: from the given second, or from the oldest second on the
 * board, up to the last second that this process has counted. Sets first to the second of sums[0]. Returns
 * the number of summed seconds, which may be 0. */
size_t live_board_sum(struct live_board *, int64_t from, struct live_second sums[LIVE_SECONDS],
                      int64_t *first);

/* Copies the data of each process that sent a message within the last 5 seconds, beginning with this process.
 * Returns their number. */
size_t live_board_processes(struct live_board *, int64_t now_us,
                            struct live_process processes[LIVE_PROCESSES_MAX + 1]);

/* Sums the figures of each topic over all processes, from the last second that each process has sent. Returns
 * the number of topics. */
size_t live_board_topics(struct live_board *, int64_t now_us, struct live_topic topics[LIVE_TOPICS_MAX]);

/* Adds figures to a sum. */
void live_second_add(struct live_second *sum, const struct live_second *figures);

/* Returns a quantile of the lateness of a second's attempts, in us. part, from 0 to 1, is the share of
 * attempts whose lateness is at most the quantile. The quantile is estimated from the buckets of the
 * histogram. Returns -1 if there were no attempts. */
int64_t live_second_late_us(const struct live_second *, double part);

/* ---- the messages ----
 *
 * A message has lines of words with one space between them:
 *
 *     process <id> <pid> <started ms> <reactors> <attempts in flight> <version> <host>
 *     second <second> <accepted> <delivered> <cancelled> <dead> <failed> [<bucket>:<attempts>]...
 *     topic <name> <second> <accepted> <delivered> <cancelled> <dead> <failed>
 *     look <id>
 *
 * Lines of seconds and topics belong to the last process line before them. A line "look" says that a client
 * of the process requests figures. Unknown lines and additional words are ignored, so that different versions
 * can exchange figures. Invalid lines are ignored, too. agreement.c adds more kinds of lines. */

void live_text_add_look(struct buffer *, const char *id);
void live_text_add_process(struct buffer *, const struct live_process *);
void live_text_add_second(struct buffer *, int64_t second, const struct live_second *);
void live_text_add_topic(struct buffer *, int64_t second, const struct live_topic *);

/* Stores the lines of a message on the board, except those of this process. Seconds that are not within the
 * last 15 minutes, or are more than a minute ahead, are left out. If the message has a line "look", returns
 * true and copies the id in this line. */
bool live_text_note(struct slice message, struct live_board *, int64_t now_us, int64_t now_second,
                    char looking[LIVE_ID_SIZE]);

/* ---- agreement.c ----
 *
 * Warns at the start if another process on this Redis has other settings.
 *
 * Processes share the work of one Redis, so some options must have the same values everywhere. For example,
 * if two processes have different values of --max-jobs, one of them may refuse a job that the other accepts.
 * A process asks the others for these settings over the live channel. The process repeats its
 * question each second until the channel brings the question back to this process, which proves that the
 * channel works. If an answer differs from its own settings, the process logs one warning, settings_differ.
 * The lines of the messages are:
 *
 *     ask <id>
 *     settings <id of the process that asked> <pid> <host> <option>=<value>...
 *
 * An option that only one of the two processes has is ignored, because they may have different versions. */

struct agreement {
    unsigned asked;   /* number of questions sent */
    bool is_received; /* this process has received its own question, so the channel works */
    bool has_warned;
};

/* Adds the question to a message, unless this process has received its own question already. Call it each
 * second. */
void agreement_ask(struct agreement *, struct live_board *, struct buffer *message);

/* Reads a message. If the message has a question of another process, returns true and copies the id of that
 * process into asking. The caller then sends agreement_answer. */
bool agreement_note(struct agreement *, struct live_board *, struct slice message, char asking[LIVE_ID_SIZE]);

/* Adds to a message the settings of this process, as the answer to the process whose id is asking. */
void agreement_answer(struct live_board *, const char *asking, struct buffer *message);

/* Appends the options whose values differ: "max-jobs: 5 here, 9 there; ...". Both texts are options with
 * values, separated by spaces. */
void agreement_compare(struct slice here, struct slice there, struct buffer *differences);

#endif
