/* dead_letter_delete.h - removes one dead message. */
#ifndef DUEPOST_QSTASH_DEAD_LETTER_DELETE_H
#define DUEPOST_QSTASH_DEAD_LETTER_DELETE_H

#include "qstash/bulk.h"

/* Removes the message in the path, and answers the request. */
void dead_letter_delete_and_answer(struct exchange *, struct slice message_id);

/* Removes one of the messages of a bulk action. */
void dead_letter_delete_of_bulk(struct bulk *, struct slice message_id);
void dead_letters_answer_deleted(struct bulk *);

#endif
