/* run_letter.h - reads a dead message (a letter) that made its run fail, and the state of the run's
 * failure callback. */
#ifndef DUEPOST_QSTASH_RUN_LETTER_H
#define DUEPOST_QSTASH_RUN_LETTER_H

#include "qstash/bulk.h"
#include "qstash/callback.h"
#include "qstash/dead_letter_view.h"
#include "qstash/message_id.h"

struct run_letter;

/* is_known is false if Redis or the history could not be read. If there is no such dead message, is_there is
 * false. The letter is valid until the callback returns. */
typedef void run_letter_fn(void *arg, struct run_letter *, bool is_known);

/* A letter is read in two steps: the dead message, then the failure callback of its run if there is one. */
struct run_letter {
    struct app *app;
    char key[MESSAGE_KEY_SIZE];
    struct buffer id, record, lines; /* texts of the dead message; lines has its attempts */
    struct stored_job job;           /* slices point into id, record and lines */
    struct message_view view;
    bool is_there;
    char callback_key[CALLBACK_KEY_SIZE];
    struct buffer callback; /* failureCallbackInfo; empty: none */
    struct slice state;     /* state of the callback, a literal; empty: there is no callback */
    run_letter_fn *fn;
    void *arg;
};

/* Reads the dead message with this id. message_id is not used after the call. Calls back once, perhaps before
 * the call returns. */
void run_letter_read(struct app *, struct slice message_id, run_letter_fn *, void *arg);

/* Writes the letter as an object. */
void run_letter_put(struct json_writer *, const struct run_letter *);

/* ---- actions on many letters, one after the other ---- */

/* The filters that these actions accept. */
#define RUN_LETTER_FILTERS                                                                                   \
    (1U << FILTER_LABEL | 1U << FILTER_FLOW_KEY | 1U << FILTER_CALLER_IP | 1U << FILTER_RUN_ID |             \
     1U << FILTER_RUN_URL | 1U << FILTER_RUN_MADE | 1U << FILTER_FAILURE_STATE | 1U << FILTER_DLQ_ID |       \
     1U << FILTER_RESPONSE_STATUS | 1U << FILTER_COUNT | 1U << FILTER_CURSOR | 1U << FILTER_FROM |           \
     1U << FILTER_TO)

/* Acts on one letter, and then calls bulk_end_one. */
typedef void run_letter_act_fn(struct bulk *, const struct run_letter *);

/* Reads a letter, and acts on it if it matches. Used as the member "act" of a bulk_kind. */
void run_letter_act(struct bulk *, struct slice message_id, run_letter_act_fn *);

#endif
