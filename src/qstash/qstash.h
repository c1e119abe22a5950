/* qstash.h - the HTTP API of QStash v2, at /v2: clients of QStash work with this server unchanged.
 *
 * A message is a job in a topic qstash~..., so duepost's own API shows it, too. The rules for all jobs
 * apply: allowed targets, limits, durability, circuit breakers, history. docs/qstash.md describes the
 * differences. */
#ifndef DUEPOST_QSTASH_QSTASH_H
#define DUEPOST_QSTASH_QSTASH_H

#include "http/dialect.h"

#define QSTASH_FORM "qstash" /* name of the form of delivery of messages (form.c) */

struct app;
struct delivery_form;
struct qstash;

extern const struct dialect qstash_dialect; /* site_add gets a struct qstash as its self */
extern const struct delivery_form
    /* The form of delivery of messages. All processes have it, so a process with --qstash off can deliver
     * messages, too. */
    qstash_form;

/* Creates the data of the API. is_development: signs deliveries with the public keys that QStash's clients
 * use in their development mode. */
struct qstash *qstash_new(struct app *, bool is_development);
void qstash_free(struct qstash *); /* NULL is ignored */

#endif
