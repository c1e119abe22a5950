/* topics.h - the topics of the QStash API: those of messages, queues and flow-control keys, and URL groups.
 */
#ifndef DUEPOST_QSTASH_TOPICS_H
#define DUEPOST_QSTASH_TOPICS_H

#include "app/app.h"
#include "app/topics.h"
#include "base/json_writer.h"
#include "http/exchange.h"
#include "job/group.h"
#include "job/topic/topic_settings.h"
#include "qstash/messages/message_settings.h"
#include "qstash/qstash_private.h"

/* ---- message_topic.c, limits.c ---- */

/* Finds the topic of a message: the topic of its queue, or else of its flow-control key, or
 * else the topic of all other messages.
 *
 *     queue orders            qstash~queue.orders
 *     key mail                qstash~flow.mail
 *     key "any text"          qstash~flow.~<the key as base64url>
 *
 * A message with a queue and a key goes to the topic of the queue, so it keeps the order of the queue. The
 * rate of its key then applies to the whole queue. */

#define QSTASH_TOPIC          "qstash"
#define QSTASH_TOPIC_MESSAGES QSTASH_TOPIC "~messages"

#define QUEUE_TOPICS "qstash~queue." /* prefix of the topics of queues */
#define FLOW_TOPICS  "qstash~flow."  /* prefix of the topics of flow-control keys */

enum {
    MESSAGE_TOPIC_SIZE = JOB_TOPIC_NAME_MAX + 1,
    QUEUE_NAME_MAX = JOB_SIBLING_MAX - (sizeof "~queue." - 1), /* maximum size of a queue's name */
    FLOW_KEY_MAX = 90,                                         /* maximum size of a key */
};

/* Write the topic of a queue or of a key into room, and return it. Return an empty slice if the name or the
 * key is invalid. */
struct slice queue_topic(struct slice name, char room[MESSAGE_TOPIC_SIZE]);
struct slice flow_topic(struct slice key, char room[MESSAGE_TOPIC_SIZE]);

/* Returns the key of a topic that begins with FLOW_TOPICS. The result is a part of topic, or is in room. */
struct slice flow_topic_key(struct slice topic, char room[MESSAGE_TOPIC_SIZE]);

/* Use topic only if the verdict is OK. It is valid until the callback returns. */
typedef void message_topic_fn(void *arg, const struct app_verdict *, struct slice topic);

/* Finds the topic, and creates or changes its settings as the message requests. queue and the key of the flow
 * may be empty. Borrows the arguments until the callback, which may come before the call returns. */
void message_topic_find(struct app *, const struct app_caller *, struct slice queue,
                        const struct flow_control *, message_topic_fn *, void *arg);

/* ---- limits ---- */

/* The limits of a queue or of a flow-control key, as settings of their topic.
 *
 * A queue whose parallelism is 1 is a fifo topic. A rate limits the attempts in each window of time. Messages
 * with a key request its limits, but do not change limits that are pinned. The setting "note" has the other
 * data: when the queue was created, the limits that the last message with the key requested, and which limits
 * are pinned. */

enum {
    LIMITS_PARALLELISM_MAX = TOPIC_MAX_IN_FLIGHT_MAX,
    LIMITS_NOTE_SIZE = 256,
};

struct limits {
    bool is_queue, is_paused;
    int64_t parallelism;    /* limit in force; 0: none except the limit that applies to all topics */
    int64_t rate, period_s; /* limit in force; rate 0: none */
    /* Windows of the rate that began before this time are ignored; 0: no window is ignored. */
    int64_t since_ms;
    int64_t created_ms, updated_ms;
    /* Only with a flow-control key: */
    struct flow_control asked; /* limits of the last message that requested any; asked.key is not set */
    bool is_pinned_parallelism, is_pinned_rate;
};

/* Returns the limits that a new queue has, or, if is_queue is false, a new flow-control key. */
struct limits limits_new(bool is_queue, int64_t now_ms);

/* Reads the limits of a topic that has settings. */
struct limits limits_read(bool is_queue, const struct topic_settings *);
struct limits limits_read_text(bool is_queue, struct slice text);

/* Writes the limits into the settings, which borrow note. */
void limits_write(const struct limits *, char note[LIMITS_NOTE_SIZE], struct topic_settings *);

/* Applies the limits that a message requests, except pinned limits. Returns whether the limits have
 * changed. */
bool limits_ask(struct limits *, const struct flow_control *);

/* Unpins the limits for which the argument is true, and sets them as the last message with the key
 * requested. */
void limits_unpin(struct limits *, bool parallelism, bool rate);

/* ---- lists of queues and of flow-control keys ---- */

/* Writes a topic as an item of the array. To leave the topic out, writes nothing. */
typedef void sibling_list_fn(struct json_writer *, const struct topic *, const void *arg);

/* Answers with an array of the topics whose names begin with prefix, at most max of them. Call this at most
 * once for an exchange. Borrows prefix and arg until the answer. */
void sibling_list_answer(struct exchange *, struct slice prefix, size_t max, sibling_list_fn *put,
                         const void *arg);

/* ---- url_group.c ---- */

/* A URL group: endpoints with urls, and settings for messages that are sent to it.
 *
 * A group is stored as a note in the settings of the topic qstash~group.<name> (app/topics.h):
 *
 *     {"createdAt":1,"updatedAt":2,"endpoints":[{"name":"e1","url":"https://h/"}],"headers":{"Upstash-Retries":"3"}}
 */

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
    bool is_lacking;             /* this process cannot use the group, see lacks in topic_settings.h */
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
