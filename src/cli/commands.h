/* commands.h - the commands of the command line, for the table in cli.c.
 *
 * Each function runs one command with the arguments of the call. It returns false after an error; the problem
 * of the call then says why. Commands that have verbs, such as duepost history export, find theirs in the
 * first word. */
#ifndef DUEPOST_CLI_COMMANDS_H
#define DUEPOST_CLI_COMMANDS_H

#include <jansson.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/status.h"
#include "cli/call.h"
#include "cli/output.h"
#include "io/http/request.h"
#include "job/delivery/signature.h"

/* A row of the table of commands. */
struct command {
    const char *name, *words, *help;
    bool (*run)(struct call *); /* NULL: main.c runs the command, because it has the options of the server */
    int words_max;
    const char *options; /* one line each; NULL: the command has no options of its own */
};

/* ---- jobs.c ---- */

bool jobs_run(struct call *);
bool dead_run(struct call *);
bool show_run(struct call *);
bool why_run(struct call *);
bool attempts_run(struct call *);
bool run_run(struct call *);
bool cancel_run(struct call *);
bool reschedule_run(struct call *);
bool redrive_run(struct call *);

/* Lists workflows, or shows the one that the first word names as TOPIC/ID. */
bool workflows_run(struct call *);

/* ---- schedules.c ---- */

bool schedule_run(struct call *);
bool schedules_run(struct call *);

/* ---- topics.c ---- */

/* Prints the patterns that have settings, then the topics. With --json, only the topics. With a topic as the
 * first word, shows this topic, or removes its settings. */
bool topics_run(struct call *);

/* Changes settings. The words are the topic, then NAME=VALUE for each setting. A value is JSON or text; an
 * empty value removes the setting. */
bool set_run(struct call *);

bool pause_run(struct call *);

/* Resumes a topic, even if a pattern pauses it. */
bool resume_run(struct call *);

/* Prints every second the topics whose numbers of jobs have changed, until the user interrupts the
 * command. */
bool tail_run(struct call *);

/* Lists limits that topics share. With a limit as the first word, shows it; the next words pause or resume it
 * (pause [REASON], resume), or create or change it (NAME=VALUE). With --remove, removes it. */
bool limits_run(struct call *);

/* Lists the keys of the topic that the first word names. With a key as the second word, works like
 * limits_run.
 */
bool keys_run(struct call *);

bool groups_run(struct call *);

/* Shows the group that the first word names. With --remove, removes it. With more words, creates it with
 * these endpoints, each given as ENDPOINT=URL, or replaces all its endpoints. */
bool group_run(struct call *);

bool receivers_run(struct call *);
bool audit_run(struct call *);
bool close_run(struct call *);

/* ---- outbox/ ---- */

/* Sends the rows of a table in PostgreSQL as jobs, until it is killed. With --install, creates the tables;
 * with the words status or retry, shows the tables, or sends the failed rows again. */
bool outbox_run(struct call *);

/* ---- clock.c ---- */

/* Shows the clock of a server with --clock manual. With words, turns it: advance DURATION, to TIME or
 * until-idle. Repeats the request until the clock shows the time, and prints what fired. */
bool clock_run(struct call *);

/* ---- apply.c ---- */

/* Make limits, patterns, topics, keys, groups and schedules as the file of --file declares them, or print the
 * differences. */
bool apply_run(struct call *);
bool diff_run(struct call *);

/* ---- history.c ---- */

/* Exports, counts or deletes the jobs of the history. */
bool history_run(struct call *);

/* ---- forecast.c ---- */

/* Prints which jobs become due and begin in each step, and which limits are narrow. */
bool forecast_run(struct call *);

/* ---- move.c ---- */

/* Writes all data of a server to the file of --to, or to standard output. */
bool export_run(struct call *);
bool rekey_run(struct call *);

/* Sends the file that the first word names, or standard input, to a server. */
bool import_run(struct call *);

/* ---- work/, top/, bench/ ---- */

/* Takes jobs of a pull topic and runs the command after -- for each, until it is stopped. */
bool work_run(struct call *);

/* Takes jobs of a topic and POSTs each to the URL of --to, until it is stopped. */
bool listen_run(struct call *);

/* Prints the overview once with --once, with --json, or if standard output is not a terminal. Otherwise draws
 * it until q or a signal comes. */
bool top_run(struct call *);

bool bench_run(struct call *);

/* ---- without a server: receive.c, dev.c, tokens.c ---- */

/* Prints each request that arrives, and answers it. */
bool receive_run(struct call *);

bool dev_run(struct call *);

/* Prints a new token, then the line with its digest for the file of the option --tokens. After an error,
 * nothing was printed. */
bool token_run(struct call *);

/* POSTs a signed sample from this host to a receiver, signed like a delivery. Prints the signed text, the
 * headers and the answer. An answer other than 2xx is an error. */
bool sign_run(struct call *);

/* Reads a file of --signing-secret-file. */
enum status signing_file_read(const char *path, struct signing_keys *, struct problem *) MUST_USE;

/* ---- list.c ---- */

/* Paginated lists of the API, printed as tables: their paths, columns and rows. */

struct listing {
    const char *path, *member; /* path of the list in the API, and name of the array in the answer */
    size_t columns;
    const char *const *titles;
    void (*add)(struct table *, const json_t *page);
    const char *time;     /* the member by which --since selects entries; NULL: the API selects them */
    bool is_oldest_first; /* the API lists the oldest first, in one page; the command reverses the list */
};

extern const struct listing listing_jobs, listing_topics, listing_limits, listing_groups, listing_receivers,
    listing_workflows, listing_audit;

extern const struct listing listing_attempts; /* the path depends on the job */

extern const struct listing listing_keys; /* the path depends on the topic */

extern const struct listing listing_schedules; /* the path depends on the topic */

/* Prints all pages, or at most --limit entries. */
bool list_print(struct call *, const struct listing *);

/* Returns the page after the page given as before, or NULL at the end and after an error. target is a
 * buffer into which the request's target is written. */
json_t *list_next_page(struct call *, const struct listing *, struct buffer *target, const json_t *before);

/* ---- receive.c ---- */

/* A receiver of jobs in a thread of this process, for the commands receive, dev and bench. */

struct local_receiver;

enum { LOCAL_RECEIVER_HOST_SIZE = 64 };

struct local_receiver_place {
    char host[LOCAL_RECEIVER_HOST_SIZE]; /* an address of this host */
    uint16_t port;                       /* 0: any free port */
};

/* Reads HOST:PORT or PORT; without HOST, the host stays as it is. Returns false if text is neither. */
bool local_receiver_read_place(const char *text, struct local_receiver_place *);

struct local_receiver_options {
    struct local_receiver_place place;
    size_t max_body_bytes;
    const char *advice; /* what to do if the place is in use; borrowed during the start */
    /* Called in the receiver's thread for each complete request. Must answer. */
    void (*on_request)(void *arg, struct http_request *);
    void *arg;
};

/* Starts the receiver. The caller must block signals first, so that the receiver's thread does not get them.
 * Returns NULL after an error; problem then says why. */
struct local_receiver *local_receiver_start(const struct local_receiver_options *, struct problem *);

void local_receiver_stop(struct local_receiver *); /* NULL is ignored */

/* Writes the receiver's origin, such as http://127.0.0.1:9000. */
void local_receiver_write_origin(const struct local_receiver *, struct buffer *);

/* Starts such a receiver at value, or at 127.0.0.1:9000 if value is NULL. It answers with --status. Prints
 * where it listens. flag names value in errors. Returns NULL after an error; the call's problem then says
 * why. The caller must block signals first. The call must exist until the receiver is stopped with
 * local_receiver_stop. */
struct local_receiver *receive_start(struct call *, const char *flag, const char *value);

#endif
