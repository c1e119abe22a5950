/* url_group.h - a URL group: endpoints with urls, and settings for messages that are sent to it.
 *
 * A group is stored as a note in the settings of the topic qstash~group.<name> (app/siblings.h):
 *
 *     {"createdAt":1,"updatedAt":2,"endpoints":[{"name":"e1","url":"https://h/"}],"headers":{"Upstash-Retries":"3"}}
 */
#ifndef DUEPOST_QSTASH_URL_GROUP_H
#define DUEPOST_QSTASH_URL_GROUP_H

#include "base/json_writer.h"
#include "qstash/place.h"

#define URL_GROUPS "qstash~group." /* prefix of the names of topics of groups */

enum {
    URL_GROUP_NAME_MAX = JOB_SIBLING_MAX - (sizeof "~group." - 1), /* bytes */
    URL_GROUP_ENDPOINTS_MAX = 100,
    URL_GROUP_BYTES_MAX = 48 * 1024, /* maximum size of the note */
};

struct url_group_endpoint {
    struct slice name; /* may be empty */
    struct slice url;
};

struct url_group {
    int64_t created_ms, updated_ms;
    struct url_group_endpoint endpoints[URL_GROUP_ENDPOINTS_MAX];
    size_t count;
    struct slice headers; /* an object, as sent by the client; empty: none */
    struct buffer text;   /* owned: decoded strings */
};

/* Writes the topic into room. Returns it, or an empty slice if the name cannot be the name of a group. */
struct slice url_group_topic(struct slice name, char room[PLACE_SIZE]);

/* Reads a group from the note. The group borrows the note. If the note is not a text that duepost has
 * written, the group has no endpoints. */
void url_group_read(struct url_group *, struct slice note);
void url_group_fini(struct url_group *);

/* Reads the endpoints of a request into an empty group, which borrows text. Returns the error, or NULL. More
 * endpoints than a group can have are an error. If with_urls is true, each endpoint must have a url. */
const char *url_group_read_endpoints(struct url_group *, struct slice text, bool with_urls);

/* Changes the endpoint that has the same name, or else the one that has the same url; if there is neither,
 * adds an endpoint. Two endpoints never have the same url: any other endpoint with this url is removed.
 * Returns false if the group is full. */
bool url_group_put(struct url_group *, const struct url_group_endpoint *);

/* Removes the endpoints that have the given name, or, if the given name is empty, the given url. */
void url_group_remove(struct url_group *, const struct url_group_endpoint *);

/* url_group_write writes the text of the setting "note". url_group_show writes the group as JSON for
 * answers. */
void url_group_write(const struct url_group *, struct buffer *note);
void url_group_show(const struct url_group *, struct slice name, struct json_writer *);

#endif
