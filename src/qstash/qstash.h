/* qstash.h - the HTTP API of QStash v2, at /v2: clients of QStash work with this server unchanged.
 *
 * Messages are jobs of the sibling topics of "qstash", which the native API also shows. Messages have the
 * same rules as all jobs: targets, limits, durability, breakers, history. docs/qstash.md describes the
 * differences. */
#ifndef DUEPOST_QSTASH_QSTASH_H
#define DUEPOST_QSTASH_QSTASH_H

#include "http/dialect.h"

#define QSTASH_FORM "qstash" /* name of its form of delivery */

struct app;
struct delivery_form;
struct qstash;

extern const struct dialect qstash_dialect; /* the argument self of its site_add is a struct qstash */
extern const struct delivery_form
    /* All processes have this form, so that a process with --qstash off can deliver messages, too. */
    qstash_form;

/* Creates the dialect's data. is_development: deliveries are signed with the keys of the clients' development
 * mode, which are public. */
struct qstash *qstash_new(struct app *, bool is_development);
void qstash_free(struct qstash *); /* NULL is ignored */

#endif
