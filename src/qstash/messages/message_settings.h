/* message_settings.h - the settings of a published message. A request sends them as headers Upstash-..., in
 * the items of a batch, or in the query of the destination. Settings of callbacks have the same names with a
 * prefix.
 *
 * Names are compared without regard to case. Unknown names are ignored, because clients also send headers
 * that the server does not need. Settings borrow their values, except decoded values of a query. */
#ifndef DUEPOST_QSTASH_SETTINGS_H
#define DUEPOST_QSTASH_SETTINGS_H

#include "job/job.h"

enum {
    CALLBACK_SETTINGS_MAX = 40, /* maximum number of settings of one callback */
    MESSAGE_RETRIES = 3,        /* retries of a message without Upstash-Retries */
    REDACTED_HEADERS_MAX = 16,
    MESSAGE_SETTINGS_FAULT_SIZE = 256,
    MESSAGE_SETTINGS_DECODED_MAX = 8 * 1024, /* maximum size of decoded values of a query */
    RUN_ID_MAX = 200,                        /* maximum size of the id of a run in bytes */
};

struct callback_setting {
    struct slice name, value;
};

/* A callback: its url, and the settings of the message that calls it; the names are without the prefix. */
struct callback_settings {
    struct slice url; /* empty: none */
    struct callback_setting pairs[CALLBACK_SETTINGS_MAX];
    size_t count;
};

/* Limits of a flow-control key. */
struct flow_control {
    struct slice key;          /* empty: none */
    int64_t parallelism, rate; /* 0: not given */
    int64_t period_s;          /* 1 if not given */
};

/* The parts of a message that answers do not show: the body, all headers, or the named headers. */
struct redaction {
    bool body, headers;
    struct slice names[REDACTED_HEADERS_MAX];
    size_t count;
};

/* The durable run to which a message belongs, see runs.h. */
struct run_settings {
    struct slice id;        /* id of the run; empty: the message belongs to no run */
    struct slice url;       /* url of the run's endpoint */
    struct slice call_type; /* kind of the message; empty: a step */
    bool is_init;           /* the message creates the run */
    bool is_invoke;         /* another run creates the run */
    bool is_by_sdk;      /* sent by the SDK: creates the run anew, in place of the one that POST /v2/trigger
                            created */
    bool is_without_sdk; /* POST /v2/trigger creates the run */
    int64_t starts;      /* how often the SDK has created this run anew, see RUN_STARTS_MAX */
};

struct message_settings {
    enum job_method method;
    struct job_header headers[JOB_HEADERS_MAX]; /* headers to forward, with Content-Type */
    size_t header_count;
    bool has_delay, has_not_before, has_retries, has_timeout;
    int64_t delay_ms;
    int64_t not_before_ms; /* since 1970; overrides the delay */
    int retries;
    struct slice retry_delay; /* an expression; empty: none */
    int64_t timeout_ms;
    struct callback_settings callback, failure_callback;
    struct slice deduplication_id;
    bool is_content_based, forwards_all;
    struct flow_control flow;
    struct job_labels labels;
    struct redaction redact;
    struct slice queue, schedule_id, cron; /* settings of schedules */
    struct run_settings run;
    /* The settings that the request has, as bits 1 << row of the table in message_settings.c. */
    unsigned given;
    const char *prefix;                      /* text that errors put in front of a setting's name */
    unsigned fault_status;                   /* status of fault */
    char fault[MESSAGE_SETTINGS_FAULT_SIZE]; /* the first error; empty: none */
    struct buffer decoded;                   /* owned */
};

void message_settings_init(struct message_settings *);
void message_settings_fini(struct message_settings *);

/* Takes one header of the request: a setting, or Content-Type. Also checks settings of callbacks. */
void message_settings_take(struct message_settings *, struct slice name, struct slice value);

/* Checks a header if it is a setting of a callback: a callback with a wrong setting would not arrive.
 * Settings of callbacks of callbacks are not used, so they are not checked. Headers to forward are not
 * checked, either: a callback leaves out invalid ones, such as the name of a workflow's step that is not
 * ASCII. */
void message_settings_check_callback(struct message_settings *, struct slice name, struct slice value);

/* Takes a setting whose name has no prefix, such as Retries: a setting of a callback. */
void message_settings_take_short(struct message_settings *, struct slice name, struct slice value);

/* Takes a stored header as a default, which is used only if no header with the same name was taken before. */
void message_settings_take_default(struct message_settings *, struct slice name, struct slice value);

/* Takes a parameter of a query, whose value is percent-encoded. */
void message_settings_take_encoded(struct message_settings *, struct slice name, struct slice value);

/* Refuses a flow-control key without limits. Called when all settings of a client are taken; stored settings
 * of earlier versions may have such a key. */
void message_settings_check_flow(struct message_settings *);

/* Forwards a header unchanged, unless it belongs to the request itself. Used for Upstash-Header-Forward. */
void message_settings_forward(struct message_settings *, struct slice name, struct slice value);

/* Takes one limit: parallelism, rate or period. Returns false for another name or a wrong value. */
bool flow_control_take(struct flow_control *, struct slice name, struct slice value);

/* Reads a duration: one or more numbers, each followed by s, m, h or d, in any order, such as "1d10m".
 * Returns false for another text, or if the duration exceeds max_ms. */
bool message_settings_read_duration(struct slice text, int64_t max_ms, int64_t *ms);

/* Sets the error, unless there already is one. */
void message_settings_refuse(struct message_settings *, unsigned status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
