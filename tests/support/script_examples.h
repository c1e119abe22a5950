/* script_examples.h - tests a script on a literal keyspace. An example has all data in Redis before the call,
 * the call, the script's answer with the wake-ups that it publishes, and all data afterwards, as text (see
 * keyspace.h). Redis's clock stands still at 456 us after a whole ms, so a time that counts from the next ms
 * is shown as now+1.
 *
 * The comments of examples use the names of keys, which docs/redis.md describes. The most frequent ones:
 *   jobs      the pool: the records of all jobs that have not ended
 *   bucket:t  the waiting jobs of topic t, with their due times (a job's place)
 *   turns     topics with due jobs that consumers may claim
 *   due       other topics with waiting jobs, and when to check each again; inf: held by a pause or a limit
 *   ready     the doorbell: an entry wakes a process that waits for due jobs
 *   holders   ids of leased jobs, with the nonces of their claims, and their due times
 *   crashes   how often the processes that delivered a job were lost */
#ifndef DUEPOST_TESTS_SCRIPT_EXAMPLES_H
#define DUEPOST_TESTS_SCRIPT_EXAMPLES_H

#include <check.h>
#include <hiredis/hiredis.h>
#include <stdint.h>

#define NOW_MS INT64_C(1700000000123)
#define NOW_US (NOW_MS * 1000 + 456)

/* ---- the states of the job a in topic t; n1 is the nonce of its last lease ---- */

#define ABSENT ""

#define DELAYED                                                                                              \
    "bucket:t: t/a@now+60000\n"                                                                              \
    "due: t@now+60000\n"                                                                                     \
    "jobs: t/a={r}\n"

/* The job is due, but the script carry has not moved its topic from "due" to "turns" yet. */
#define COME                                                                                                 \
    "bucket:t: t/a@now-1000\n"                                                                               \
    "due: t@now-1000\n"                                                                                      \
    "jobs: t/a={r}\n"

#define READY                                                                                                \
    "bucket:t: t/a@now-1000\n"                                                                               \
    "jobs: t/a={r}\n"                                                                                        \
    "ready: t\n"                                                                                             \
    "turns: t@1\n"

#define LEASED                                                                                               \
    "holders:t: t/a=n1,now-1000\n"                                                                           \
    "jobs: t/a={r}\n"                                                                                        \
    "leases: t/a@now+3000\n"

/* The consumer with nonce n1 has lost the lease, and the consumer with nonce n2 has it now. */
#define LEASED_AGAIN                                                                                         \
    "crashes: t/a=1,n1\n"                                                                                    \
    "holders:t: t/a=n2,now-1000\n"                                                                           \
    "jobs: t/a={r}\n"                                                                                        \
    "leases: t/a@now+3000\n"

/* The lease has run out and is not recovered yet. */
#define EXPIRED                                                                                              \
    "holders:t: t/a=n1,now-1000\n"                                                                           \
    "jobs: t/a={r}\n"                                                                                        \
    "leases: t/a@now\n"

#define LOST                                                                                                 \
    "bucket:t: t/a@now-1000\n"                                                                               \
    "crashes: t/a=1,n1\n"                                                                                    \
    "jobs: t/a={r}\n"                                                                                        \
    "ready: t\n"                                                                                             \
    "turns: t@1\n"

#define LOST_THRICE                                                                                          \
    "bucket:t: t/a@now+7000\n"                                                                               \
    "crashes: t/a=3,n1\n"                                                                                    \
    "due: t@now+7000\n"                                                                                      \
    "jobs: t/a={r}\n"

/* The job is dead: it is no longer in the key jobs, and its record is in the key kept. */
#define DIED(at, rest)                                                                                       \
    "dead: t/a@" at "\n"                                                                                     \
    "dead:t: t/a@" at "\n"                                                                                   \
    "dead_due: t@inf\n"                                                                                      \
    "kept: t/a=dead," at "," rest "\n"

#define DEAD           DIED("now-5000", "0,3,{r}")
#define DEAD_BY_LOSSES DIED("now-5000", "5/n1,3,{r}")

/* The job was cancelled while it was leased. The job's attempt still counts as in flight. */
#define LINGERING                                                                                            \
    "holders:t: t/a|n1=\n"                                                                                   \
    "lingering: t/a|n1@now+3000\n"

/* The list "ready" may still name a topic without ready jobs. The claim that takes this name finds
 * nothing, and has no other effect. */
#define BELL "ready: t\n"

#define DUE_NOW(record)                                                                                      \
    "bucket:t: t/a@now\n"                                                                                    \
    "jobs: t/a=" record "\n"                                                                                 \
    "ready: t\n"                                                                                             \
    "turns: t@1\n"

struct example {
    const char *before;
    const char *call;
    const char *answer; /* the script's answer, followed by the published wake-ups */
    const char *after;  /* all data after the call, keys in any order; NULL: unchanged */
};

void check_example(const struct example *);

#define CHECK_EXAMPLES(...)                                                                                  \
    do {                                                                                                     \
        static const struct example examples[] = {__VA_ARGS__};                                              \
        for (size_t i = 0; i < sizeof examples / sizeof *examples; i++)                                      \
            check_example(&examples[i]);                                                                     \
    } while (0)

/* The private Redis of the examples. A test may use it directly. */
struct redis_server;
struct redis_server *examples_server(void);
redisContext *examples_redis(void);

/* Creates a test case whose tests have this Redis. */
TCase *examples_case(const char *name);

#endif
