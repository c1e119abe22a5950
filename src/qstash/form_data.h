/* form_data.h - the data of a message that only its delivery, its callbacks and its answers need. The job has
 * it in the member formData. */
#ifndef DUEPOST_QSTASH_FORM_DATA_H
#define DUEPOST_QSTASH_FORM_DATA_H

#include "base/json_writer.h"
#include "qstash/settings.h"

/* The durable run of a message. */
struct form_data_run {
    struct slice id; /* empty: none */
    struct slice url, call_type;
    bool is_init;          /* the message created the run */
    bool is_without_sdk;   /* the endpoint must start the run again, see POST /v2/trigger */
    int64_t made_ms;       /* time at which the run was created; 0: together with this message */
    struct slice inherits; /* for a call: settings of the run that the call's answer gets, as a JSON object,
                              see run.h */
};

/* The data of a message. The struct borrows the texts of all slices. An empty slice means that the value is
 * absent. */
struct form_data {
    struct slice group, endpoint; /* message to a group: the group and its endpoint, which may have no name */
    struct slice queue, schedule_id, caller_ip;
    struct slice callback, failure_callback; /* objects: names of settings without their prefix, and values */
    struct settings_flow flow;
    struct settings_redact redact;
    struct form_data_run run;
};

/* Writes the object formData. The callbacks, flow and redact are taken from settings. */
void form_data_write(struct buffer *, const struct form_data *, const struct settings *);

/* Reads the object formData of a message. If duepost did not write the object, members are left empty. text
 * gets the decoded strings, and must have room for JOB_FORM_DATA_MAX bytes. */
void form_data_read(struct slice object, struct form_data *, struct buffer *text);

#endif
