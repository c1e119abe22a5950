/* live_text.h - the messages by which processes exchange their figures.
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
 * can exchange figures. Invalid lines are ignored, too. agreement.h adds more kinds of lines. */
#ifndef DUEPOST_APP_LIVE_TEXT_H
#define DUEPOST_APP_LIVE_TEXT_H

#include "app/live_board.h"

void live_text_add_look(struct buffer *, const char *id);
void live_text_add_process(struct buffer *, const struct live_process *);
void live_text_add_second(struct buffer *, int64_t second, const struct live_second *);
void live_text_add_topic(struct buffer *, int64_t second, const struct live_topic *);

/* Stores the lines of a message on the board, except those of this process. Seconds that are not within the
 * last 15 minutes, or are more than a minute ahead, are left out. If the message has a line "look", returns
 * true and copies the id in this line. */
bool live_text_note(struct slice message, struct live_board *, int64_t now_us, int64_t now_second,
                    char looking[LIVE_ID_SIZE]);

#endif
