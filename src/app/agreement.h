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

#include "app/live_board.h"
#include "base/buffer.h"

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
