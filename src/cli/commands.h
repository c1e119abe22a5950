/* commands.h - the commands of the command line, for the table in cli.c.
 *
 * Each function runs one command with the arguments of the call. It returns false after an error; the problem
 * of the call then says why. Commands that have verbs, such as duepost history export, find theirs in the
 * first word. */
#ifndef DUEPOST_CLI_COMMANDS_H
#define DUEPOST_CLI_COMMANDS_H

#include "cli/call.h"

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

/* ---- receivers.c ---- */

bool groups_run(struct call *);

/* Shows the group that the first word names. With --remove, removes it. With more words, creates it with
 * these endpoints, each given as ENDPOINT=URL, or replaces all its endpoints. */
bool group_run(struct call *);

bool receivers_run(struct call *);
bool close_run(struct call *);

/* ---- history.c, workflows.c ---- */

/* Exports, counts or deletes the jobs of the history. */
bool history_run(struct call *);

/* Lists workflows, or shows the one that the first word names as TOPIC/ID. */
bool workflows_run(struct call *);

/* ---- work/, top/, bench/ ---- */

/* Takes jobs of a pull topic and runs the command after -- for each, until it is stopped. */
bool work_run(struct call *);

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

#endif
