/* header.h - which extra request headers a job may ask for. */
#ifndef DUEPOST_JOB_HEADER_H
#define DUEPOST_JOB_HEADER_H

#include "base/slice.h"

/* A token (RFC 9110, 5.6.2). */
bool header_name_is_valid(struct slice name);

/* Visible ASCII, space and tab; may be empty. */
bool header_value_is_valid(struct slice value);

/* Names that belong to the connection, to proxies or to us, in any case. */
bool header_is_refused(struct slice name);

#endif
