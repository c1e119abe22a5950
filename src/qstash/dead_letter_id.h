/* dead_letter_id.h - ids of dead letters: that of the message, with dlq_ instead of msg_. */
#ifndef DUEPOST_QSTASH_DEAD_LETTER_ID_H
#define DUEPOST_QSTASH_DEAD_LETTER_ID_H

#include "qstash/message_id.h"

/* Both write into room and return its text, or an empty slice if the id is not one. */
struct slice dead_letter_id(struct slice message_id, char room[MESSAGE_ID_MAX + 1]);
struct slice dead_letter_message(struct slice dead_letter_id, char room[MESSAGE_ID_MAX + 1]);

#endif
