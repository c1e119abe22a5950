/* group_lookup.h - finds a URL group, and takes the settings that the group sets by default. */
#ifndef DUEPOST_QSTASH_GROUP_LOOKUP_H
#define DUEPOST_QSTASH_GROUP_LOOKUP_H

#include "app/app.h"
#include "http/exchange.h"
#include "qstash/answer.h"
#include "qstash/url_group.h"

/* status is 200 if the group was found. Otherwise error is a sentence, which is valid until the callback
 * returns. */
typedef void group_lookup_fn(void *arg, unsigned status, const char *error);

struct group_lookup {
    struct slice name, topic; /* topic is empty if the name is not a valid name of a group */
    struct url_group group;   /* set when the group was found */
    char topic_room[PLACE_SIZE];
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
void group_lookup_take_defaults(struct group_lookup *, const struct http_request *, struct settings *);

/* Takes one default header of a group: its name and value as JSON. Decodes texts into the buffer, which the
 * settings borrow. Returns the header. */
struct settings_pair group_header_take(struct slice key, struct slice value, struct buffer *text,
                                       struct settings *);

#endif
