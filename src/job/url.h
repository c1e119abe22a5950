/* url.h - the rules for a job's url, and its parts. */
#ifndef DUEPOST_JOB_URL_H
#define DUEPOST_JOB_URL_H

#include "base/buffer.h"
#include "base/slice.h"
#include "base/status.h"
#include "job/address.h"

enum { JOB_URL_MAX = 2048 }; /* bytes */

struct url {
    bool is_https;
    struct slice host;    /* as in the url, but without the brackets of an IPv6 address */
    uint16_t port;        /* 80 or 443 when the url has none */
    bool host_is_address; /* the host is an address, in any spelling that resolvers accept: 127.1, 0x7f000001,
                             [::1] */
    struct address address; /* when host_is_address */
    struct slice target;    /* path and query as in the url; may be empty; no fragment */
    struct slice query;     /* query with its '?'; empty: no query */
};

/* Parses an absolute http or https URL of at most JOB_URL_MAX bytes. The URL must be visible ASCII, without
 * userinfo and fragment. If INVALID, *detail is a literal that names the broken rule; otherwise *detail is
 * NULL. The parts borrow text. */
enum status url_parse(struct slice text, struct url *, const char **detail) MUST_USE;

/* Returns whether both urls have the same scheme, host and port. Different spellings of an address count as
 * the same host. */
bool url_is_same_origin(const struct url *, const struct url *);

/* Writes the url as a JSON string. The mask replaces the query, which may hold secrets. */
#define URL_HIDDEN_QUERY "?***"
void url_show(struct slice text, struct buffer *);

/* Returns whether a host is a name, not an address in any spelling. */
bool url_host_is_name(struct slice host);

/* Returns whether a name is localhost or ends with .localhost. Such a name means this host, whatever a name
 * server answers. */
bool url_host_is_localhost(struct slice host);

/* Returns whether two host names are equal. Ignores case and a dot at the end. */
bool url_host_equal(struct slice, struct slice);

#endif
