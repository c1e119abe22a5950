/* qstash.h - the HTTP API of QStash v2, at /v2: clients of QStash work with this server as they are.
 *
 * Messages are jobs of the sibling topics of "qstash", which the native API shows, too. Everything else holds
 * for them as for any job: targets, limits, durability, breakers, history. docs/qstash.md says what differs.
 */
#ifndef DUEPOST_QSTASH_QSTASH_H
#define DUEPOST_QSTASH_QSTASH_H

#include "http/dialect.h"

#define QSTASH_FORM "qstash" /* name of its form of delivery */

struct app;
struct delivery_form;
struct qstash;

extern const struct dialect qstash_dialect;    /* its self is a struct qstash */
extern const struct delivery_form qstash_form; /* every process delivers it, also with --qstash off */

/* is_development: signs with the keys of the clients' development mode, which everybody knows. */
struct qstash *qstash_new(struct app *, bool is_development);
void qstash_free(struct qstash *); /* NULL is ignored */

#endif
