#include "cli/cli.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/manual.h"
#include "cli/output.h"
#include "job/text/job_errors.h"

enum {
    EXIT_USAGE = 2,
    KEY_MAX = 255, /* bytes of an idempotency key */
    HELP_MAX = 16384,
    NAME_MAX_BYTES = 128,
    BEARER_MAX = 1024,
};

/* ---- versions ---- */

/* The overview has the processes. A token that is limited to topics does not get them. */
static bool version_run(struct call *call)
{
    size_t i;
    json_t *process;
    if (!call->arguments.is_json) {
        puts("client " DUEPOST_VERSION);
        fflush(stdout);
    }
    json_t *answer = remote_ask_json(call->remote, "GET", "/overview", NULL, &call->problem);
    const json_t *processes = json_object_get(answer, "processes");
    struct slice text = call_member(remote_text(call->remote), "processes");
    if (answer && call->arguments.is_json) {
        struct buffer json;
        buffer_init(&json, REMOTE_ANSWER_MAX);
        buffer_printf(&json, "{\"client\":\"" DUEPOST_VERSION "\",\"servers\":");
        buffer_append(&json, processes ? text : SLICE("[]"));
        buffer_append_byte(&json, '}');
        call_print_json(buffer_slice(&json));
        buffer_fini(&json);
    } else if (answer && json_array_size(processes) == 0) {
        puts("server unknown; this token does not show the processes");
    }
    json_array_foreach(processes, i, process)
    {
        if (!call->arguments.is_json)
            table_print_line(stdout, "server %s on %s, process %lld, started %s\n",
                             call_text(process, "version"), call_text(process, "host"),
                             call_number(process, "pid"), call_text(process, "startedAt"));
    }
    json_decref(answer);
    return answer;
}

/* ---- the table of commands ---- */

static bool help_run(struct call *);
static bool completion_run(struct call *);

#define ANY_FILTER_HELP                                                                                      \
    "  --topic TOPIC         only jobs of this topic\n"                                                      \
    "  --url-host HOST       only jobs whose url has this host, given as HOST or HOST:PORT\n"                \
    "  --id-prefix TEXT      only jobs whose jobId begins with TEXT\n"                                       \
    "  --last-status 5xx     only jobs whose last attempt got this status: 503, 5xx, or several: 404,5xx\n"  \
    "  --label TEXT          only jobs with this label; if repeated, with all of them\n"                     \
    "  --key TEXT            only jobs with this key; '': only jobs without a key\n"                         \
    "  --limit N             at most N jobs in all\n"
#define DEAD_FILTER_HELP                                                                                     \
    ANY_FILTER_HELP                                                                                          \
    "  --reason WORD         only jobs that died for this reason, such as gone, or several: gone,expired\n"  \
    "  --died-after TIME     only jobs that died at TIME or later: RFC 3339, now, -1h or +15m\n"             \
    "  --died-before TIME    only jobs that died before TIME\n"                                              \
    "  --since 1h            only jobs that ended within this time, or since this TIME\n"
#define ENDED_HELP                                                                                           \
    "  --ended-after TIME    only jobs that ended at TIME or later: RFC 3339, now or -1h\n"                  \
    "  --ended-before TIME   only jobs that ended before TIME\n"
#define FILTER_HELP                                                                                          \
    DEAD_FILTER_HELP                                                                                         \
    "  --due-after TIME      only delayed and ready jobs due at TIME or later\n"                             \
    "  --due-before TIME     only delayed and ready jobs due before TIME\n"
#define LIST_ORDER_HELP                                                                                      \
    "  --order oldest        lists the oldest jobs first; default: the newest first, but jobs that wait by " \
    "due time\n"
#define BULK_ORDER_HELP                                                                                      \
    "  --order newest        takes the newest jobs first; default: the oldest, which have waited longest\n"
#define BULK_HELP                                                                                            \
    "  --all                 acts on all jobs that match, instead of at most --limit N\n"                    \
    "  --dry-run             only counts the jobs that match, and changes none\n"

#define DECLARED_HELP                                                                                        \
    "  --write-hidden        also writes objects of which only hidden values, such as secrets, may differ\n" \
    "The file has objects by name in limits, patterns, topics, keys, groups and schedules. ${NAME} in a "    \
    "text "                                                                                                  \
    "is\n"                                                                                                   \
    "an environment variable. Settings that the file does not name are removed from the objects that it "    \
    "names,\nexcept a pause.\n"

#define NEW_JOB_HELP                                                                                         \
    "  --url URL             send the job to this URL; default: the topic's url\n"                           \
    "  --method PUT          GET, PUT, PATCH, DELETE or HEAD; default: POST\n"                               \
    "  --body TEXT           the body: JSON is sent byte for byte, anything else as a JSON string\n"         \
    "  --body-file FILE      reads the body from a file; - is standard input; bytes that are not UTF-8 are " \
    "sent as they are\n"                                                                                     \
    "  --body-base64 TEXT    the body as base64 of any bytes\n"                                              \
    "  --label TEXT          a label, by which lists and filters find the job; may be repeated\n"            \
    "  --key TEXT            whose job this is, such as a customer: the topic's settings for keys apply\n"   \
    "  --priority N          0 to 9: due jobs with a higher priority go first; default: 5\n"                 \
    "  --header 'NAME: VALUE'  a request header; may be repeated\n"                                          \
    "  --retry N             at most N retries after the first attempt\n"                                    \
    "  --ttl 1h              the job expires this long after its creation: no attempt begins later\n"        \
    "  --timeout 10s         time limit for each attempt\n"                                                  \
    "  --on-delivered URL    POSTs a report of the delivery to this URL; or a JSON object with url and "     \
    "headers\n"                                                                                              \
    "  --on-dead URL         like --on-delivered, but reports that the job is dead\n"                        \
    "  --on-attempt URL      like --on-delivered, but reports each attempt\n"

static const struct command commands[] = {
    {"schedule", "TOPIC[/ID]", "schedules a job", schedule_run, 1,
     "  --group GROUP         sends the job to each endpoint of this group, instead of --url\n"
     "  --delay 15m           due this long from now; default: now\n"
     "  --due-at TIME         due at this time, instead of --delay: RFC 3339 or +15m\n"
     "  --timezone ZONE       --due-at is a local time of this IANA time zone, such as 2030-01-01T09:00\n"
     "  --throttle-key KEY    the first job with this key stands for all others of the topic within "
     "--throttle-per\n"
     "  --throttle-per 1m     how long the first job stands for the others\n"
     "  --debounce-key KEY    the job replaces the one with this key that waits\n"
     "  --debounce-wait 10s   due this long after the last command with the key\n"
     "  --debounce-max-wait 1m  due at most this long after the first command with the key; default: 10 "
     "times "
     "--debounce-wait\n"
     "  --idempotency-key KEY  a repeated command with this key prints the first answer and schedules no "
     "second job\n" NEW_JOB_HELP},
    {"jobs", "[--state STATE] [FILTER]", "lists jobs: delayed, ready, leased and dead", jobs_run, 0,
     "  --state STATE         delayed, ready, leased or dead; delivered, cancelled or any (from the "
     "history)\n"
     "  --source history      also dead jobs that only the history has\n" FILTER_HELP ENDED_HELP
         LIST_ORDER_HELP},
    {"dead", "[FILTER]", "lists dead jobs", dead_run, 0, DEAD_FILTER_HELP LIST_ORDER_HELP},
    {"show", "TOPIC/ID", "prints all details of a job", show_run, 1,
     "  --group GROUP         the jobs that were sent to this group under ID\n"},
    {"why", "TOPIC/ID", "explains why a job is not delivered yet, or how it ended", why_run, 1, NULL},
    {"attempts", "TOPIC/ID", "lists the last attempts of a job, the newest first", attempts_run, 1,
     "  --since 1h            only attempts within this time, or since this TIME\n"},
    {"run", "TOPIC/ID | --state STATE FILTER", "makes jobs due now; dead jobs get all their attempts again",
     run_run, 1,
     "  --resend              with TOPIC/ID: also sends a job again that was delivered or cancelled\n"
     "  --state STATE         delayed, ready or dead\n" FILTER_HELP BULK_ORDER_HELP BULK_HELP},
    {"reschedule", "--state STATE FILTER --delay 15m", "gives jobs another due time", reschedule_run, 0,
     "  --state STATE         delayed, ready or dead\n"
     "  --delay 15m           due this long from now\n"
     "  --due-at TIME         due at this time, instead of --delay: RFC 3339 or +15m\n" FILTER_HELP
         BULK_ORDER_HELP BULK_HELP},
    {"cancel", "TOPIC/ID | --state STATE FILTER", "cancels a job, or all jobs that match a filter",
     cancel_run, 1,
     "  --state STATE         delayed, ready, leased or dead\n" FILTER_HELP BULK_ORDER_HELP BULK_HELP
     "  --group GROUP         with TOPIC/ID: the jobs that were sent to this group under ID\n"},
    {"redrive", "[FILTER] --limit N|--all", "runs dead jobs again", redrive_run, 0,
     "  --source history      also dead jobs that only the history has\n" DEAD_FILTER_HELP BULK_ORDER_HELP
         BULK_HELP
     "  --per-second N        spreads the jobs over time: N of them are due each second; default: all now\n"},
    {"history", "export | stats | delete", "exports, counts or removes jobs that have ended", history_run, 1,
     "Options of export, which writes one job per line:\n"
     "  --format csv          ndjson (default) or csv\n"
     "  --state STATE         delivered, cancelled, dead or any (default)\n" DEAD_FILTER_HELP ENDED_HELP
     "  --order newest        writes the newest jobs first; default: the oldest first, as they ended\n"
     "Options of stats, which counts the oldest step first:\n"
     "  --from TIME           counts jobs that ended at TIME or later; default: an hour ago; RFC 3339, now "
     "or -1h\n"
     "  --to TIME             counts jobs that ended before TIME; default: now\n"
     "  --since 1h            the same as --from -1h\n"
     "  --step 5m             counts the jobs for each step of this length; default: 1m\n"
     "  --topic TOPIC         only jobs of this topic\n"
     "Options of delete:\n"
     "  --topic TOPIC         only jobs of this topic\n"
     "  --before TIME         only jobs that ended before TIME: RFC 3339, now or -30d\n"
     "  --state STATE         delivered, cancelled, dead or any (default)\n"},
    {"topics", "[TOPIC]", "lists patterns and topics, or shows one: its jobs, settings, and what holds it",
     topics_run, 1,
     "  --limit N             lists at most N topics\n"
     "  --remove              removes all settings of TOPIC, which can be a pattern ('orders-*'); its jobs "
     "stay\n"},
    {"set", "TOPIC NAME=VALUE...", "changes settings of a topic or a pattern ('orders-*')", set_run,
     ARGUMENT_WORDS_MAX,
     "  NAME=VALUE            such as maxInFlight=10 rate=100/1m url=https://shop.example/hook\n"
     "  OBJECT.NAME=VALUE     one setting in an object, such as perKey.maxInFlight=2\n"
     "  NAME=                 removes the setting\n"},
    {"pause", "TOPIC", "pauses a topic: no new attempts begin", pause_run, 1, NULL},
    {"resume", "TOPIC", "resumes a paused topic", resume_run, 1, NULL},
    {"limits", "[NAME [VERB | SETTING=VALUE...]]", "lists limits that topics share, or shows or changes one",
     limits_run, ARGUMENT_WORDS_MAX,
     "  pause [REASON]        pauses all topics that share the limit\n"
     "  resume                resumes them\n"
     "  SETTING=VALUE         creates the limit, or changes it: maxInFlight=20 rate=100/1s; SETTING= removes "
     "the setting\n"
     "  --remove              removes the limit, unless topics or patterns name it\n"
     "  --limit N             lists at most N limits\n"},
    {"keys", "TOPIC [KEY [VERB | SETTING=VALUE...]]", "lists the keys of a topic, or shows or changes one",
     keys_run, ARGUMENT_WORDS_MAX,
     "  pause [REASON]        pauses the jobs of the key\n"
     "  resume                resumes them\n"
     "  SETTING=VALUE         sets a setting of the key: maxInFlight=2 rate=10/1s weight=3; SETTING= removes "
     "it\n"
     "  --remove              removes the settings of the key; its jobs stay\n"
     "  --limit N             lists at most N keys, those with the most jobs first\n"},
    {"apply", "-f FILE", "makes limits, topics, groups and schedules as a file declares them", apply_run, 0,
     "  -f, --file FILE       YAML or JSON; - is standard input\n"
     "  --prune               also removes what the file does not name, of the kinds that it has\n"
     "  --dry-run             only prints what would change\n" DECLARED_HELP},
    {"diff", "-f FILE", "prints what duepost apply would change", diff_run, 0,
     "  -f, --file FILE       YAML or JSON; - is standard input\n"
     "  --prune               also prints what apply --prune would remove\n" DECLARED_HELP
     "Exit status: 0 if nothing would change, 1 if something would, 2 after an error.\n"},
    {"groups", "", "lists groups and their endpoints", groups_run, 0,
     "  --limit N             at most N groups\n"},
    {"group", "NAME [ENDPOINT=URL...]", "shows, creates or removes a group", group_run, ARGUMENT_WORDS_MAX,
     "  ENDPOINT=URL          creates the group with these endpoints, or replaces all its endpoints\n"
     "  --remove              removes the group\n"},
    {"schedules", "[set|preview|show|pause|resume|run|delete TOPIC/ID]", "lists schedules, or changes one",
     schedules_run, 2,
     "  --topic TOPIC         lists only schedules of this topic\n"
     "  --paused              lists only schedules that are paused\n"
     "  --next-after TIME     lists only schedules whose next time is TIME or later: RFC 3339 or +1h\n"
     "  --next-before TIME    lists only schedules whose next time is before TIME\n"
     "  --label LABEL         lists only schedules whose jobs have this label; can be repeated\n"
     "  --key KEY             lists only schedules whose jobs have this key; '': no key\n"
     "  --limit N             lists at most N schedules\n"
     "Options of run, which creates a job now:\n"
     "  --idempotency-key KEY  a repeated command with this key prints the first answer and creates no "
     "second job\n"
     "Options of set and preview, where set creates a schedule or replaces it, and preview only lists its "
     "next times:\n"
     "  --cron '30 4 * * *'   creates a job at these times; also @hourly, @daily, @weekly, @monthly, "
     "@yearly\n"
     "  --every 15m           creates a job every 15 minutes, instead of --cron\n"
     "  --timezone ZONE       the time zone of --cron, such as Europe/Berlin; default: UTC\n"
     "  --start-at TIME       no jobs before TIME: RFC 3339 or +15m\n"
     "  --end-at TIME         no jobs after TIME\n"
     "  --jitter 30s          each job is due a random time later, at most this long\n"
     "  --misfire skip        for times that were missed, creates one job (one, the default), none (skip) or "
     "all\n"
     "  --grace 60s           a time counts as missed if duepost is later than this; default: 60s\n"
     "  --overlap skip        creates no job while the schedule's last job has not ended\n"
     "  --expect-by 10m       the alert missed begins if no job is delivered so soon after it was due\n"
     "  --paused              creates no jobs until the schedule is resumed\n"
     "  --count N             preview: at most N times, 1 to 100; default: 20\n"
     "  --group GROUP         sends each job to each endpoint of this group, instead of "
     "--url\n" NEW_JOB_HELP},
    {"workflows", "[TOPIC/ID]", "lists workflows, the newest first, or shows one", workflows_run, 1,
     "  --topic TOPIC         lists only workflows of this topic\n"
     "  --state STATE         lists only workflows in this state: active, succeeded, failed or cancelled\n"
     "  --id-prefix TEXT      lists only workflows whose id begins with TEXT\n"
     "  --since 1h            lists only workflows that were created within this time, or since this TIME\n"
     "  --limit N             lists at most N workflows\n"},
    {"work", "TOPIC -- COMMAND...", "runs a command for each job of a pull topic", work_run, 1,
     "  --parallel N          runs at most N commands at once, 1 to 100; default: 1\n"
     "  --lease 30s           length of a job's lease, which is extended while its command runs; default: "
     "30s\n"
     "  --timeout 1h          kills a command that runs longer; default: never\n"
     "  --grace 10s           after SIGTERM, kills commands that still run after this time; default: 10s\n"
     "  --key TEXT            takes only jobs of this key; '': only jobs without a key\n"
     "  --once                exits after one job\n"
     "  --until-empty         exits when there is no job to lease\n"
     "The command gets the body on standard input, and DUEPOST_TOPIC, DUEPOST_JOB_ID, DUEPOST_ATTEMPT,\n"
     "DUEPOST_CREATED_AT, DUEPOST_DUE_AT, DUEPOST_EXPIRES_AT, DUEPOST_KEY, DUEPOST_PRIORITY,\n"
     "DUEPOST_LABELS and DUEPOST_HEADER_... in its environment.\n"
     "Exit status 0 completes the job and 100 buries it. Anything else is a failed attempt.\n"},
    {"listen", "TOPIC --to URL",
     "POSTs the jobs of a topic to a url of this host, such as a program under test", listen_run, 1,
     "  --to URL              POSTs each job to this URL, such as http://localhost:3000/hook\n"
     "  --take                takes the jobs from the receivers of the topic until the command ends: sets\n"
     "                        delivery=pull, and restores it at the end\n"
     "  --signing-secret-file FILE  signs the requests with the keys in FILE, as the server does\n"
     "  --key TEXT            takes only jobs of this key; '': only jobs without a key\n"
     "  --parallel N          sends at most N requests at once, 1 to 100; default: 1\n"
     "  --timeout 30s         time limit for each request, at most 1h; default: 30s\n"
     "  --lease 30s           length of a job's lease, which is extended during its request; default: 30s\n"
     "  --grace 10s           after Ctrl-C, releases jobs whose requests still run after this time; default: "
     "10s\n"
     "  --once                exits after one job\n"
     "  --until-empty         exits when there is no job to lease\n"
     "Prints a line for each request. Method, headers and body are those of a delivery, and the answer has "
     "the\n"
     "same meaning; but Duepost-Again counts as an attempt, Retry-After may shorten a wait, and each request "
     "has\n"
     "a Duepost-Token. The requests have no traceparent, no Duepost-Round and no batches. The secrets of a "
     "topic\n"
     "cannot be read: without --signing-secret-file, the requests are not signed.\n"},
    {"clock", "[advance 3d | to TIME | until-idle]",
     "shows or turns the clock of a server with --clock manual", clock_run, 2,
     "  --most 30d            until-idle: turns the clock by at most this time\n"
     "  advance 3d            turns the clock by this time\n"
     "  to TIME               turns the clock to this time, as RFC 3339\n"
     "  until-idle            turns the clock until no job waits for a time; schedules alone do not keep it "
     "going\n"
     "The clock goes from event to event, and each one is over before the next. Prints what fired.\n"},
    {"receivers", "", "lists receivers that failed or asked for fewer attempts within the last hour",
     receivers_run, 0, NULL},
    {"close", "HOST:PORT", "closes a receiver's circuit breaker", close_run, 1, NULL},
    {"audit", "[--since 1h] [--topic TOPIC]", "lists which client changed what, the latest first", audit_run,
     0,
     "  --topic TOPIC         only changes of this topic or pattern, and of its jobs, keys and schedules\n"
     "  --action NAME         only changes of this kind, such as settings_changed\n"
     "  --by NAME             only changes by the token of this name; -: by clients without a token\n"
     "  --from TIME           only changes at TIME or later: RFC 3339, now or -1h\n"
     "  --to TIME             only changes before TIME\n"
     "  --since 1h            the same as --from -1h\n"
     "  --limit N             lists at most N changes\n"
     "The server needs a history, and the token the scope admin for all topics. --json also prints the "
     "settings\n"
     "before and after each change.\n"},
    {"tail", "[TOPIC]", "prints what happens to the jobs of a topic, as it happens", tail_run, 1,
     "The topic needs the setting events (duepost set TOPIC events=true). Without it, and without a TOPIC,\n"
     "prints every second the topics whose numbers of jobs have changed.\n"},
    {"export", "[--to FILE]", "writes all data of a server, for another Redis", export_run, 0,
     "  --to FILE             writes the file, which only its owner can read; default: standard output\n"
     "  --resume              continues the file of an export that was cut off\n"
     "The file has everything that is in Redis: bodies, headers, secrets. Before it, let no attempt begin: "
     "pause "
     "all\n"
     "topics, or run one process with --max-in-flight 0 and no other.\n"
     "Exit status: 0; 1 after an error; 3 if attempts were under way, or topics with jobs were not "
     "paused.\n"},
    {"import", "[FILE]", "writes an export into the Redis of another server", import_run, 1,
     "  --resume              continues an import that was cut off, by FILE.imported\n"
     "  --moving              also imports jobs of which an attempt was under way; they are attempted again\n"
     "Without FILE, reads standard input: duepost export | duepost import --server URL. Nothing that is "
     "there is\n"
     "changed, and a repeated import does no harm until the server has begun to deliver.\n"
     "Exit status: 0; 1 after an error; 3 if some lines were not imported, which it prints.\n"},
    {"rekey", "", "encrypts all data of a server with the first of its keys", rekey_run, 0,
     "Begin all servers with the new key as the first one in the file of --encryption-keys first. The "
     "command\n"
     "encrypts what another key has encrypted, or none, in Redis and in the history, and prints its "
     "progress.\n"
     "It can be repeated at any time. Afterwards the old key can be removed, see the guide on encryption.\n"
     "Exit status: 0; 1 after an error; 3 if texts were left, because their key is missing.\n"},
    {"outbox", "[status | retry] --source URL",
     "sends the rows of a table in PostgreSQL as jobs: jobs of your own transactions", outbox_run, 1,
     "  --source URL          the database: postgresql://USER@HOST/DATABASE; default: DUEPOST_SOURCE. The\n"
     "                        password may be in PGPASSWORD or in a passfile\n"
     "  --install             creates the tables duepost_outbox and duepost_outbox_failed, or upgrades them, "
     "and "
     "exits\n"
     "  --until-empty         exits when all rows are sent\n"
     "  --metrics-file FILE   writes metrics each 10 s, for the textfile collector of Prometheus\n"
     "outbox status shows how many rows wait, and for how long; outbox retry sends the rows of\n"
     "duepost_outbox_failed again. Without a word, the command runs until it is killed, which it may be at "
     "any "
     "time.\n"},
    {"forecast", "", "prints which jobs will become due and begin, and which limits are too narrow for them",
     forecast_run, 0,
     "  --from TIME           begins at TIME: RFC 3339 or +1h; default: now\n"
     "  --to TIME             ends at TIME, at most 35 days after now; default: a day after the beginning\n"
     "  --step 1h             length of a step; default: 1h for a day\n"
     "  --topic TOPIC         only this topic\n"
     "  --duration 200ms      how long each attempt takes; default: as measured\n"
     "In the chart, # are jobs that begin, and dots are due jobs that must wait.\n"},
    {"top", "[--once]", "shows the overview of the server and refreshes it each second", top_run, 0,
     "  --once                prints the overview once, as text; needs no terminal\n"
     "Shows rates, with a bar for each second of the last minute, jobs by state, when waiting jobs become\n"
     "due, overdue topics, impaired receivers and processes. The key q quits.\n"
     "NO_COLOR=1 turns colours off.\n"},
    {"bench", "[--jobs N]", "measures how fast a running server accepts and delivers jobs, and how late",
     bench_run, 0,
     "  --jobs N              accepts and delivers N jobs, 1 to 10000000; default: 100000\n"
     "  --batch N             schedules N jobs in each request, 1 to 10000; default: 100\n"
     "  --parallel N          sends at most N requests at once, 1 to 100; default: 8\n"
     "  --per-second N        measures lateness at N jobs per second, 1 to 100000; default: 200\n"
     "  --topic NAME          beginning of the name of the topic that bench creates; default: bench\n"
     "  --yes                 asks nothing before it loads a server on another host\n"
     "  --receiver-listen HOST:PORT  where the receiver of bench listens; default: 127.0.0.1:0, any free "
     "port\n"
     "  --receiver-url URL    the URL at which the server reaches this receiver; default: from "
     "--receiver-listen\n"
     "The server must be permitted to send to the receiver, such as with --allow-target 127.0.0.1. A token "
     "needs "
     "the\n"
     "scopes schedule, read, cancel and admin. The jobs get a topic of their own, which is removed at the "
     "end, "
     "and after\n"
     "Ctrl-C. A history keeps these jobs; duepost history delete --topic TOPIC removes them.\n"},
    {"receive", "[--status 500] [[HOST:]PORT]", "prints each request that arrives, for trying out duepost",
     receive_run, 1,
     "  --status 500          answers each request with this status; default: 204\n"
     "Listens at 127.0.0.1:9000 unless another place is given. The server must be permitted to send there, "
     "such "
     "as with\n"
     "--allow-target 127.0.0.0/8. Ctrl-C ends it.\n"},
    {"dev", "[--data DIR] [-- OPTION...]", "starts a server and a receiver, for trying out duepost", dev_run,
     0,
     "  --data DIR            keeps the jobs in this directory; default: a temporary one, removed at the "
     "end\n"
     "  --receiver-listen HOST:PORT  where the receiver listens; default: 127.0.0.1:9000\n"
     "  --status 500          the receiver answers each request with this status; default: 204\n"
     "  --clock manual        the server's clock stands still until duepost clock turns it\n"
     "The server has a Redis of its own and may send to loopback addresses. It reads no configuration file "
     "and no\n"
     "variable DUEPOST_...; the words after -- are options for it, such as --listen 127.0.0.1:7701. Ctrl-C "
     "ends "
     "both.\n"},
    {"check", "[--json] [--server URL] [--source URL] [OPTION]...",
     "checks options, this host and Redis, and changes nothing", NULL, 0,
     "Reads the options of the server from flags, environment and file, and prints ok, warn or FAIL for "
     "each\n"
     "check. The exit status is 1 if a line says FAIL. Run it as the user of the server.\n"
     "\n  --json                prints JSON\n"
     "  --server URL          also asks the running server at this URL whether a proxy changes paths\n"
     "  --source URL          also checks the outbox in this database (default: that of --outbox)\n"},
    {"token", "new NAME FIELD...", "creates a token, and its line for the file of --tokens", token_run, 0,
     "  scopes=schedule,read  the token's rights: some of schedule, read, cancel, admin and lease\n"
     "  topics=orders-*,mail  limits the token to these topics; default: all\n"
     "  groups=shops-*        limits the token to these groups; default: all, or none if topics= is given\n"
     "  rate=1000/s           limits the token's requests per s, m or h in each process; default: no limit\n"
     "  --for-qstash          a token for QStash's clients; their createWebhook accepts no other\n"
     "Prints the token, which the client keeps secret, and then the line for the server's file.\n"},
    {"sign-test", "URL FILE", "POSTs a sample request, signed with the keys in FILE", sign_run, 0,
     "FILE is the file of --signing-secret-file. Prints what is signed, the headers and the answer.\n"},
    {"version", "", "prints the versions of this program and of the server's processes", version_run, 0,
     NULL},
    {"completion", "bash|zsh|fish", "prints the completion of a shell", completion_run, 1,
     "For this shell: source <(duepost completion bash). For all: the package installs the files.\n"},
    {"help", "[COMMAND]", "prints this list, or the options of a command", help_run, 0, NULL},
};

enum { COMMANDS = sizeof commands / sizeof *commands };

static const struct command *find_command(const char *name)
{
    for (size_t i = 0; i < COMMANDS; i++)
        if (strcmp(commands[i].name, name) == 0)
            return &commands[i];
    return NULL;
}

/* Returns whether the command reads its arguments itself and calls no server. */
static bool reads_itself(const struct command *command)
{
    return command->run == token_run || command->run == sign_run || command->run == help_run;
}

/* Returns whether the command calls no server. */
static bool is_without_server(const struct command *command)
{
    return reads_itself(command) || command->run == receive_run || command->run == dev_run ||
           command->run == completion_run;
}

bool cli_is_meant(int argc, char *const *argv)
{
    return argc > 1 && argv[1][0] != '-';
}

/* Returns the exit status of a command. Prints the error, and where the help is after wrong usage. */
static int cli_end(const struct command *command, const struct call *call, bool is_done)
{
    if (is_done)
        return call->exit_status;
    const char *text = call->problem.text, *mark = strrchr(text, '?');
    if (call->has_sent)
        table_print_line(stderr, "duepost %s: %s\n", command->name, text);
    else
        table_print_line(stderr, "duepost %s: %s%s duepost %s -h\n", command->name, text,
                         mark && !mark[1] ? " See" : "; see", command->name);
    return call->exit_status ? call->exit_status : call->has_sent ? EXIT_FAILURE : EXIT_USAGE;
}

static void print_help(const struct command *command)
{
    bool is_remote = command->run && !is_without_server(command);
    printf("Usage: duepost %s%s%s%s\nThe command %s.\n", command->name, is_remote ? " [OPTION]..." : "",
           *command->words ? " " : "", command->words, command->help);
    if (command->options)
        printf("\n%s", command->options);
    if (!is_remote)
        return;
    puts("\n  --json                prints JSON\n"
         "  --server URL          the server; default: DUEPOST_SERVER, else http://127.0.0.1:7700\n"
         "  --token-file FILE     a file with the token; default: DUEPOST_TOKEN, else no token\n"
         "  --ca-file FILE        certificates that https trusts; default: those of this host");
}

/* ---- a command that calls a server ---- */

static enum status read_file(const char *path, char text[BEARER_MAX], struct problem *problem)
{
    FILE *file = fopen(path, "re");
    if (!file) {
        problem_set(problem, "cannot read %s: %s", path, strerror(errno));
        return STATUS_INVALID;
    }
    size_t size = fread(text, 1, BEARER_MAX - 1, file);
    text[size] = '\0';
    enum status status = ferror(file) ? STATUS_INVALID : STATUS_OK;
    if (status != STATUS_OK)
        problem_set(problem, "cannot read %s: %s", path, strerror(errno));
    fclose(file);
    return status;
}

/* Returns whether a token may have this character. Returns false for characters that could end the header or
 * begin another header. */
static bool is_token(struct slice text)
{
    for (size_t i = 0; i < text.size; i++)
        if (text.data[i] <= ' ' || text.data[i] >= 0x7f)
            return false;
    return text.size > 0;
}

/* Appends "Authorization: Bearer ..." with the token on the only line of file. If file is NULL, the token
 * comes from the environment variable DUEPOST_TOKEN. If this variable is not set, nothing is appended. No
 * option takes the token itself, because every user of the host can read a command's arguments. Returns
 * STATUS_INVALID after an error; problem then says what is wrong. */
static enum status bearer_read(const char *file, struct buffer *header, struct problem *problem)
{
    char text[BEARER_MAX];
    const char *variable = getenv("DUEPOST_TOKEN");
    struct slice token = slice_of(variable);
    if (file) {
        if (read_file(file, text, problem) != STATUS_OK)
            return STATUS_INVALID;
        token = slice_from(text, strcspn(text, "\r\n"));
    }
    if (!file && token.size == 0)
        return STATUS_OK;
    if (!is_token(token)) {
        problem_set(problem,
                    "%s has no token on its first line; a token is one word, as duepost token new prints it",
                    file ? file : "DUEPOST_TOKEN");
        return STATUS_INVALID;
    }
    buffer_append(header, SLICE("Authorization: Bearer "));
    buffer_append(header, token);
    return STATUS_OK;
}

/* Checks the idempotency key here, because an error about a wrong header would not name the option. */
static bool is_key_sound(struct call *call)
{
    const char *key = call->arguments.values[ARGUMENT_IDEMPOTENCY_KEY];
    size_t size = key ? strlen(key) : 0, plain = 0;
    while (plain < size && key[plain] >= 0x20 && key[plain] < 0x7f)
        plain++;
    if (!key || (size > 0 && size <= KEY_MAX && plain == size))
        return true;
    problem_set(&call->problem, "--idempotency-key: expected 1 to %d visible ASCII characters or spaces",
                KEY_MAX);
    return false;
}

/* Runs a command that calls a server. */
static int run_remote(const struct command *command, struct call *call)
{
    struct buffer authorization;
    const char *given = call->arguments.values[ARGUMENT_SERVER], *kept = getenv("DUEPOST_SERVER");
    struct remote_options options = {.server = given || !kept || !kept[0] ? given : kept,
                                     .ca_file = call->arguments.values[ARGUMENT_CA_FILE],
                                     .key = call->arguments.values[ARGUMENT_IDEMPOTENCY_KEY]};
    bool is_done = false;
    buffer_init(&authorization, (size_t)2 * BEARER_MAX);
    if (call_begin(call) && is_key_sound(call) &&
        remote_options_check(&options, &call->problem) == STATUS_OK &&
        bearer_read(call->arguments.values[ARGUMENT_TOKEN_FILE], &authorization, &call->problem) ==
            STATUS_OK) {
        options.authorization = buffer_text(&authorization);
        call->remote = remote_new(&options);
        is_done = command->run(call);
        call->has_sent = remote_has_sent(call->remote);
        remote_free(call->remote);
    }
    buffer_fini(&authorization);
    return cli_end(command, call, is_done);
}

static bool wants_help(const struct call *call)
{
    const char *word = call->word_count == 1 ? call->words[0] : "";
    return strcmp(word, "-h") == 0 || strcmp(word, "--help") == 0;
}

static const char verb_title[] = "Options of ";

/* Returns whether a title such as "set and preview, which ..." names the verb before its first comma, colon
 * or end of line. */
static bool is_title_of(const char *title, const char *verb)
{
    struct slice words = slice_from(title, strcspn(title, ",:\n")), word;
    while (words.size) {
        slice_cut(words, ' ', &word, &words);
        if (slice_equal(word, slice_of(verb)))
            return true;
    }
    return false;
}

/* Returns the part of a command's help text that has the options of one verb, such as export. The help text
 * begins with the options of the command without a verb. */
static struct slice verb_options(const char *help, const char *verb)
{
    const char *at = help;
    while (verb && at) {
        at = strstr(at, verb_title);
        at = at ? at + strlen(verb_title) : NULL;
        if (at && is_title_of(at, verb))
            break;
    }
    const char *end = at ? strstr(at, verb_title) : NULL;
    return end ? slice_from(at, (size_t)(end - at)) : slice_of(at);
}

/* Reads the arguments, and checks that each given option is an option of the command, or of the given verb.
 * Returns false after an error; the problem then says what is wrong. */
static bool read_arguments(const struct command *command, struct call *call)
{
    static const enum argument of_servers[] = {ARGUMENT_SERVER, ARGUMENT_TOKEN_FILE, ARGUMENT_CA_FILE};
    struct arguments *arguments = &call->arguments;
    struct buffer help, name;
    if (arguments_parse(call->word_count, call->words, command->words_max, command->options, arguments,
                        &call->problem) != STATUS_OK)
        return false;
    if (!arguments->wants_help) {
        bool has_verbs = command->options && strstr(command->options, verb_title);
        const char *verb = has_verbs ? arguments->word : NULL;
        buffer_init(&help, HELP_MAX);
        buffer_init(&name, NAME_MAX_BYTES);
        buffer_append(&help, has_verbs ? verb_options(command->options, verb) : slice_of(command->options));
        buffer_printf(&name, "%s%s%.64s", command->name, verb ? " " : "", verb ? verb : "");
        enum status status =
            arguments_check(arguments, buffer_text(&help), buffer_text(&name), &call->problem);
        buffer_fini(&help);
        buffer_fini(&name);
        if (status != STATUS_OK)
            return false;
    }
    for (size_t i = 0; i < sizeof of_servers / sizeof *of_servers && is_without_server(command); i++)
        if (arguments->values[of_servers[i]])
            problem_set(&call->problem, "%s: unknown option", argument_flag(of_servers[i]));
    if (arguments->is_json && is_without_server(command))
        problem_set(&call->problem, "--json: unknown option");
    if (arguments->command && command->run != work_run && command->run != dev_run)
        problem_set(&call->problem, "--: unknown option");
    return !call->problem.text[0];
}

static bool completion_run(struct call *call)
{
    const struct manual manual = {commands, COMMANDS, is_without_server, call->server_options,
                                  call->server_option_count};
    if (call->arguments.word && manual_print_completion(&manual, call->arguments.word, stdout))
        return true;
    problem_set(&call->problem, "expected bash, zsh or fish");
    return false;
}

void cli_print_manual(FILE *out, const struct cli_option *server, size_t count)
{
    const struct manual manual = {commands, COMMANDS, is_without_server, server, count};
    manual_print(&manual, out);
}

int cli_run(int argc, char *const *argv, const struct cli_option *server, size_t count)
{

    bool is_help = strcmp(argv[1], "help") == 0 && argc == 3 && argv[2][0] != '-';
    const struct command *command = find_command(argv[is_help ? 2 : 1]);
    struct call call = {
        .word_count = argc - 2, .words = argv + 2, .server_options = server, .server_option_count = count};
    if (!command) {
        struct suggestion meant = {.name = slice_of(argv[is_help ? 2 : 1])};
        char detail[SUGGESTION_DETAIL_SIZE];
        for (size_t i = 0; i < COMMANDS; i++)
            suggestion_weigh(&meant, commands[i].name);
        suggestion_weigh(&meant, "--version");
        suggestion_write_hint(&meant, "", "duepost help lists all commands", detail);
        table_print_line(stderr, "duepost: unknown command %s%s\n", argv[is_help ? 2 : 1], detail);
        return EXIT_USAGE;
    }
    if (is_help || wants_help(&call)) {
        print_help(command);
        return EXIT_SUCCESS;
    }
    if (reads_itself(command))
        return cli_end(command, &call, command->run(&call));
    if (!read_arguments(command, &call))
        return cli_end(command, &call, false);
    if (call.arguments.wants_help) {
        print_help(command);
        return EXIT_SUCCESS;
    }
    return is_without_server(command) ? cli_end(command, &call, command->run(&call))
                                      : run_remote(command, &call);
}

/* Prints the list of all commands. cli_run prints the help of one command. */
static bool help_run(struct call *call)
{
    if (call->word_count > 0) {
        problem_set(&call->problem, "expected one command, or none");
        return false;
    }
    puts("Usage: duepost COMMAND ...\n"
         "Calls the API of a running server; duepost without a command is that server. Options of each "
         "command\n"
         "that calls the server:\n"
         "  --server URL       the server; default: DUEPOST_SERVER, else http://127.0.0.1:7700\n"
         "  --token-file FILE  a file with the token; default: DUEPOST_TOKEN\n"
         "  --ca-file FILE     certificates that https trusts; default: those of this host\n"
         "  --json             prints JSON\n"
         "duepost COMMAND -h prints the options of a command, duepost --help the options of the server.\n"
         "Exit status: 0 after success; 2 if the command line is wrong, and nothing was sent; 1 after any "
         "other\n"
         "error, such as a request that the server refuses, or no answer.\n");
    for (size_t i = 0; i < COMMANDS; i++)
        printf("  %-10s %-32s %s\n", commands[i].name, commands[i].words, commands[i].help);
    return true;
}
