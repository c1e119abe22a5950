/* url_group.h - a URL group: endpoints with urls, and settings for messages that are sent to it.
 *
 * A group is stored as a note in the settings of the topic qstash~group.<name> (app/topics.h):
 *
 *     {"createdAt":1,"updatedAt":2,"endpoints":[{"name":"e1","url":"https://h/"}],"headers":{"Upstash-Retries":"3"}}
 */
#ifndef DUEPOST_QSTASH_URL_GROUP_H
#define DUEPOST_QSTASH_URL_GROUP_H

#include "app/app.h"
#include "base/json_writer.h"
#include "http/exchange.h"
#include "job/group.h"
#include "qstash/handler.h"
#include "qstash/topics/message_topic.h"

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
struct slice url_group_topic(struct slice name, char room[MESSAGE_TOPIC_SIZE]);

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

/* ---- finds a group, and takes the settings that it sets by default ---- */

/* status is 200 if the group was found. Otherwise error is a sentence, which is valid until the callback
 * returns. */
typedef void group_lookup_fn(void *arg, unsigned status, const char *error);

struct group_lookup {
    struct slice name, topic; /* topic is empty if the name is not a valid name of a group */
    struct url_group group;   /* set when the group was found */
    char topic_room[MESSAGE_TOPIC_SIZE];
    struct buffer note, headers; /* the stored text of the group, and its default headers, decoded */
    group_lookup_fn *fn;
    void *arg;
};

/* Borrows name. */
void group_lookup_init(struct group_lookup *, struct slice name);
void group_lookup_fini(struct group_lookup *);

/* Calls back once, perhaps before the call returns. */
void group_lookup_start(struct group_lookup *, struct app *, group_lookup_fn *, void *arg);

/* Adds the default settings of the group that was found. A setting that the request itself has stays
 * unchanged. If the settings say so, adds the headers of the request to those that are forwarded. The
 * settings borrow the texts of the lookup and of the request. */
void group_lookup_take_defaults(struct group_lookup *, const struct http_request *,
                                struct message_settings *);

/* Takes one default header of a group: its name and value as JSON. Decodes texts into the buffer, which the
 * settings borrow. Returns the header. */
struct callback_setting group_header_take(struct slice key, struct slice value, struct buffer *text,
                                          struct message_settings *);

/* ---- messages of a schedule ---- */

/* The messages of an occurrence that a schedule sends to a URL group: one for each
 * endpoint, with the ids <messageId>~1, <messageId>~2 and so on. The functions are pure: no clock, no I/O. */

/* Writes the messages for the endpoints of the group as it is now. message: the message of the schedule,
 * without a url. text: the settings of the group's topic. Returns a status as group_jobs_write does. */
enum status group_messages_write(const struct job *message, struct slice text, struct group_jobs *) MUST_USE;

#endif
