/* form.h - forms of delivery: which headers a request has of its own, and what its answer means.
 *
 * A job names its form in the member form; without it the standard form delivers the job. formData is an
 * object of the job that only its form reads. The functions of a form are pure: no clock, no I/O. A process
 * that lacks the form of a job gives the job back, as with any other need (carried.h). */
#ifndef DUEPOST_JOB_FORM_H
#define DUEPOST_JOB_FORM_H

#include "job/again.h"
#include "job/header_lines.h"
#include "job/topic_settings.h"

enum { FORMS_MAX = 4 }; /* maximum number of forms in a process */

/* An attempt whose request is being written. All is borrowed. */
struct form_attempt {
    const struct job *job; /* job->attempts does not include this attempt yet */
    struct slice id;       /* topic/jobId */
    struct slice url, payload;
    const struct topic_settings *settings; /* settings of the topic; NULL: none */
    const struct signing_keys *keys;       /* signing keys of the server */
    int64_t now_ms;                        /* when the attempt was claimed, by Redis's clock */
    int64_t workflow_ms; /* when the workflow of the job was created; 0: the job has no workflow */
    const struct job_header *headers; /* the request has these, too */
    size_t header_count;
};

/* An answer, or an attempt without one. All is borrowed. */
struct form_answer {
    const struct job *job; /* job->attempts does not include this attempt yet */
    const struct attempt_result *result;
    int64_t retry_after_ms; /* -1: no such header */
    bool has_again;         /* the header Duepost-Again, and its value */
    struct slice again;
    struct slice headers; /* lines "Name: value", if the form wants them */
};

/* The meaning of an answer beyond its status: a 2xx that is not final delivers the job, anything else is a
 * failed attempt. */
struct form_judgement {
    int64_t again_ms;        /* a 2xx that asks for the job again after this wait; 0: no */
    const char *again_fault; /* a 2xx whose wait cannot be read: the reason; the attempt has then failed */
    struct slice final;      /* a literal: the answer ends the job, and this is the reason; empty: no */
    struct slice detail;     /* with final: a literal that is reported as the answer's body; empty: no */
    int64_t at_least_ms;     /* the wait before the next attempt is at least this; -1: not asked for */
    bool has_wait;           /* the wait before the next attempt is exactly wait_ms */
    int64_t wait_ms;
    char room[AGAIN_DETAIL_SIZE]; /* again_fault points into it */
};

struct callback_report;
struct callback_job;
struct group_jobs;

struct delivery_form {
    struct slice name;  /* empty: the standard form */
    bool wants_headers; /* judge needs the headers of the answer */
    /* Adds the form's headers. The caller adds the job's own ones and the trace. */
    void (*write_headers)(const struct form_attempt *, struct header_lines *);
    /* Judges an answer. The judgement is all zeros, with at_least_ms -1. */
    void (*judge)(const struct form_answer *, struct form_judgement *);
    /* Writes the callback to a url: of an attempt, or of the death if is_dead. Returns false if there is no
     * memory. NULL: callbacks have the documents of duepost. */
    bool (*write_callback)(const struct callback_report *, bool is_dead, struct slice url,
                           struct callback_job *);
    /* Writes the jobs of a job that is sent to a group of the form. Such a group is a sibling topic, and
     * settings are its settings in Redis. The status is that of group_jobs_write. NULL: the form has no
     * groups of its own. */
    enum status (*write_group_jobs)(const struct job *, struct slice settings, struct group_jobs *);
};

/* The forms that a process can deliver. */
struct delivery_forms {
    const struct delivery_form *items[FORMS_MAX]; /* the first is the standard form; NULL: no more */
};

/* Headers duepost-* and webhook-*, Duepost-Again, 410, Retry-After. */
extern const struct delivery_form delivery_form_standard;

/* Returns the form with this name, or NULL. */
const struct delivery_form *delivery_form_find(const struct delivery_forms *, struct slice name);

/* Judges an answer by a form. */
void delivery_form_judge(const struct delivery_form *, const struct form_answer *, struct form_judgement *);

#endif
