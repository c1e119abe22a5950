/* lists.h - how a request selects messages or runs: reads its filters, and then the list, page by page. */
#ifndef DUEPOST_QSTASH_LISTS_H
#define DUEPOST_QSTASH_LISTS_H

#include "app/lists.h"
#include "app/workflows.h"
#include "http/exchange.h"
#include "qstash/messages/message.h"

/* ---- filters ---- */

/* Reads the parameters with which a list or a bulk action selects messages.
 *
 * A parameter may be repeated, and its value may have several words, separated by commas. A message is
 * selected if each parameter has a word that matches. An unknown parameter is an error, because a typo must
 * not select all messages. A JSON object in the body may contain the same parameters. */

enum filter {
    /* filters_match applies the following filters. */
    FILTER_LABEL,
    FILTER_URL,
    FILTER_HOST,
    FILTER_PATH,
    FILTER_GROUP,
    FILTER_QUEUE,
    FILTER_FLOW_KEY,
    FILTER_SCHEDULE_ID,
    FILTER_CALLER_IP,
    FILTER_MESSAGE_ID, /* messageId and messageIds */
    FILTER_RUN_ID,
    FILTER_RUN_URL,
    FILTER_RUN_MADE,
    FILTER_MATCHED, /* number of the filters above */
    /* The handler applies the following filters itself. */
    FILTER_DLQ_ID = FILTER_MATCHED,
    FILTER_RESPONSE_STATUS,
    FILTER_STATE,
    FILTER_SOURCE,
    FILTER_FAILURE_STATE,
    FILTER_EXACT_URL,
    FILTER_COUNT,
    FILTER_CURSOR,
    FILTER_FROM,
    FILTER_TO,
    FILTER_ORDER,
    FILTER_GROUP_BY,
    FILTER_TRIM,
    FILTERS,
};

/* The filters for messages that do not belong to a run, as bits 1 << filter. */
#define FILTERS_OF_MESSAGES ((1U << FILTER_RUN_ID) - 1)

enum { FILTER_WORDS_MAX = 1000, FILTER_TEXT_MAX = 256 * 1024 };

struct filter_word {
    enum filter filter;
    struct slice text;
};

struct filters {
    struct filter_word *words; /* owned */
    size_t word_count;
    unsigned given;         /* filters that the request uses, as bits 1 << filter */
    bool has_object;        /* the body is a JSON object, perhaps without members */
    int64_t from_ms, to_ms; /* since 1970; to_ms is INT64_MAX without toDate */
    int64_t count;          /* 0: not given */
    int64_t trim;           /* trimBody: bytes; -1: not given */
    struct slice cursor;    /* empty: none */
    struct buffer text;     /* owned: decoded words */
    char fault[160];        /* the first error; empty: none */
};

/* Reads the query and the body of the request. accepted: the filters that this path accepts, as bits 1 <<
 * filter. Returns false after answering 400. Call filters_fini in any case. */
bool filters_read(struct exchange *, unsigned accepted, struct filters *);
void filters_fini(struct filters *);

/* Returns whether a query has this pair, name=value. */
bool query_has(struct slice query, struct slice pair);

/* Returns true if the request has no filter. */
static inline bool filters_are_empty(const struct filters *filters)
{
    return filters->given == 0;
}

/* filters_match returns whether a message matches the filters up to FILTER_MATCHED. filters_match_time
 * returns whether a time is between fromDate and toDate. */
bool filters_match(const struct filters *, const struct message_view *);
bool filters_match_time(const struct filters *, int64_t at_ms);

/* Returns the filter's word if it has exactly one, else an empty slice. */
struct slice filters_only(const struct filters *, enum filter);

/* Returns the next word of a filter that the handler applies itself; empty: there are no more. *at must be 0
 * for the first call, and is advanced. */
struct slice filters_next(const struct filters *, enum filter, size_t *at);

/* ---- pages ---- */

/* Reads a list of messages, or of durable runs, page by page. Between two pages, a walk is at a
 * cursor, which a client gets to continue later. */

enum { WALK_CURSOR_MAX = 2048 /* bytes */ };

/* The caller fills the members up to arg. */
struct walk {
    struct app *app;
    bool is_of_runs;
    struct app_list messages; /* what is listed, unless is_of_runs; without max and from */
    struct workflow_list runs;
    /* Called for each message or run of a page, and then once. A page without an error moves the cursor. */
    app_job_fn *on_message;
    app_workflow_each_fn *on_run;
    app_verdict_fn *on_page;
    void *arg;
    /* Where the next page begins. Empty: at the beginning; after a page: the list has ended. */
    char cursor[WALK_CURSOR_MAX + 1];
};

/* Moves the walk to a cursor; an empty one is the beginning. Returns false if the text is not a cursor of
 * this list. */
bool walk_move(struct walk *, struct slice cursor);

/* Reads the next page, of at most max messages or runs. */
void walk_read(struct walk *, size_t max);

#endif
