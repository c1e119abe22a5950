/* agreement.h - warns at the start if another process on this Redis has other settings.
 *
 * Processes share the work of one Redis, so some options must have the same values everywhere. For example,
 * if two processes have different values of --max-jobs, one of them may refuse a job that the other accepts.
 * A process asks the others for these settings over the live channel (live.h). The process repeats its
 * question each second until the channel brings the question back to this process, which proves that the
 * channel works. If an answer differs from its own settings, the process logs one warning, settings_differ.
 * The lines of the messages are:
 *
 *     ask <id>
 *     settings <id of the process that asked> <pid> <host> <option>=<value>...
 *
 * An option that only one of the two processes has is ignored, because they may have different versions. */
#ifndef DUEPOST_APP_AGREEMENT_H
#define DUEPOST_APP_AGREEMENT_H

#include "app/live.h"
#include "base/buffer.h"
#include "base/status.h"
#include "job/target/receiver.h"

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

/* ---- impaired receivers ----
 *
 * A summary of the impaired receivers, which failed or asked for fewer attempts: their number,
 * and the receivers that will be probed next. */

struct store;

enum { IMPAIRED_FIRST = 10 };

struct impaired_receiver {
    char name[RECEIVER_NAME_SIZE];
    char cause[RECEIVER_CAUSE_SIZE]; /* cause of the last failure; empty: unknown */
    /* is_open: the receiver's breaker is open; otherwise the receiver asked for fewer attempts */
    bool is_open, is_probing;
    int64_t probe_ms; /* earliest time of the next probe; 0: the breaker is closed */
};

struct impaired {
    size_t count;
    /* the receivers whose probes are next, the earliest first */
    struct impaired_receiver first[IMPAIRED_FIRST];
};

/* Called when the receivers have been read. At most a few thousand receivers are read. */
typedef void impaired_fn(void *arg, enum status, const struct impaired *);
void impaired_read(struct store *, impaired_fn *, void *arg);

#endif
