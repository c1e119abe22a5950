/* cron_words.h - a cron expression in English words: "every 15 minutes from 09:00 to 17:45, on Monday to
 * Friday". */
#ifndef DUEPOST_JOB_CRON_WORDS_H
#define DUEPOST_JOB_CRON_WORDS_H

#include "base/buffer.h"
#include "job/cron.h"

enum { CRON_WORDS_MAX = 1024 }; /* bytes; enough for each expression */

/* Appends the words for an expression. Two expressions that match the same times have the same words, even if
 * they are written differently. */
void cron_write_words(const struct cron *, struct buffer *);

#endif
