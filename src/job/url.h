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
    struct slice host;      /* without brackets; as spelt */
    uint16_t port;          /* 80 or 443 when the url names none */
    bool host_is_address;   /* a literal in any spelling that resolvers take: 127.1, 0x7f000001, [::1] */
    struct address address; /* when host_is_address */
    struct slice target;    /* path and query as spelt, maybe empty; no fragment */
    struct slice query;     /* with its '?', empty when there is none */
};

/* Absolute http or https, at most JOB_URL_MAX bytes, visible ASCII, no userinfo, no fragment.
 * INVALID: *detail is a literal that says which rule; else NULL. Borrows text. */
enum status url_parse(struct slice text, struct url *, const char **detail) MUST_USE;

/* Both lead to one scheme, host (two spellings of an address are one) and port. */
bool url_is_same_origin(const struct url *, const struct url *);

/* As a JSON string, without what a query may keep secret: "?***" stands for it. */
#define URL_HIDDEN_QUERY "?***"
void url_show(struct slice text, struct buffer *);

/* A host that is a name, and not an address in any spelling. */
bool url_host_is_name(struct slice host);

/* localhost, or a name below it: this host, whatever a name server says. */
bool url_host_is_localhost(struct slice host);

/* One name in any case, with or without a dot at its end. */
bool url_host_equal(struct slice, struct slice);

#endif
