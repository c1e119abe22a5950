/* dead_letters.h - /v2/dlq: dead messages. Lists, reads and deletes them, and sends them again as new
 * messages. */
#ifndef DUEPOST_QSTASH_DEAD_LETTERS_H
#define DUEPOST_QSTASH_DEAD_LETTERS_H

#include "qstash/messages/bulk.h"

/* Removes the message in the path, and answers the request. */
void dead_letter_delete_and_answer(struct exchange *, struct slice message_id);

/* Removes one of the messages of a bulk action. */
void dead_letter_delete_of_bulk(struct bulk *, struct slice message_id);
void dead_letters_answer_deleted(struct bulk *);

#endif
