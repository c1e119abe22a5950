/* life.pml - a model of the life of a job. Spin checks every order of events, for small numbers.
 *
 * The model has jobs of one topic, two consumers, an owner of the jobs, the carry worker, and a Redis with a
 * replica. Each script of src/store/scripts is an inline with its name, between "the scripts" and "the
 * others" below (run_ instead of run, which is a word of Promela). Each script is one transition, because
 * Redis runs a script at one instant. The following scripts are not modelled, because they do not change the
 * place of a job, or repair states that must not occur, or do the same as cancel or schedule.
 * tests/model/spin compares the names. pull.pml has the scripts of workers' leases.
 *
 *   exceptions: access alert alerts append archive archived arrive attempts audit await begin certificate clock coming conclude define demand export fire fires forget group groups heads import key_set keys leased limit_set limits list mend note notify open openings patterns read receivers recurring reoffer replace_send report reseal resume rights schedule_all secrets send sent set_patterns settings stream survey sweep symptoms topics trail trial undefine unsend used wait waiters workflow workflow_list
 *
 * A dead job has left the pool and does not occupy its id. Of several dead jobs with one id, the last one is
 * kept. Kept delivered and cancelled jobs are not modelled.
 *
 * These events may happen at any time, and any number of times:
 * - a consumer dies, freezes (time and all others continue), or loses the reply of a script. If the lost
 *   reply was that of a claim, no consumer has the leased job; if it was that of an outcome, the consumer sends
 *   the outcome again; if it was that of a renewal, the consumer counts its lease from the previous renewal;
 * - Redis fails over to a replica that lags by up to LAG writes. A lag of 0 stands for a restart without loss.
 *   With WAIT, a change is confirmed when the replica has it. Without WAIT, it is confirmed at once, and may be
 *   lost in a failover;
 * - Redis's clock jumps past every deadline, or back to before every due time.
 *
 * Time is counted in ticks. All clocks tick together, and numbers count down to 0 or up to a bound. Calls
 * take no time, because a longer call only leaves the consumer less of its lease. A consumer checks its clock
 * and sends in one step. So the model does not cover a process that is stopped exactly between the two, nor a
 * primary that continues after its replica was promoted. The doorbell is left out, because consumers also
 * claim without it. The carry workers' lock is left out, because carrying twice does no harm; each carry worker has
 * its own quiet time, in which no lease counts as lost. It begins at every failover, restart and jump. The answer "no
 * such job" confirms nothing in this model.
 *
 * With -DONE_PLACE and a limit of one job in flight, the attempt of a cancelled or replaced job counts as in flight, and
 * two attempts are never at receivers at once. Without -DONE_PLACE, such an attempt does not count; for the jobs,
 * this makes no difference.
 *
 * With -DFIFO (and two jobs, a limit of one in flight, and -DONE_PLACE) the topic is delivered in order: no
 * claim overtakes a job whose attempts have begun, or a job that comes first.
 *
 * With -DEXPIRES, a waiting job may expire at any time.
 *
 * With -DLIVE, faults and calls of run are limited, and time passes only when no process has anything to do,
 * or for a fault. Then no execution may be infinite (pan -l) or stuck: each job must be delivered, cancelled
 * or dead in the end.
 *
 * With -DAT_ONCE, a job that recovery lists is buried at once, because the largest search would otherwise
 * need too much memory.
 *
 * -DBUG_<NAME> adds a bug, which Spin must find. */

#ifndef JOBS
#define JOBS 1
#endif
#ifndef LIVES
#define LIVES 2 /* number of jobs that have the same id, one after another */
#endif
#ifndef LIMIT
#define LIMIT 2 /* limit of jobs in flight of the topic */
#endif
#ifndef RETRIES
#define RETRIES 2 /* failed attempts after which a job is dead */
#endif
#ifndef LOSSES
#define LOSSES 5 /* lost consumers after which a job is dead */
#endif
#ifndef FAULTS
#define FAULTS 3 /* maximum number of faults with -DLIVE */
#endif
#ifndef LAG
#define LAG 2 /* maximum lag of the replica in writes, with -DREPLICATION */
#endif
#define CONSUMERS 2
#define LEASE 2 /* length of a lease in ticks */
#define SPARE 1 /* the last ticks of a lease, in which no request is sent */
#define FAR 3   /* a deadline or due time written before the clock went back; longer than the quiet time */

#ifdef LIVE
byte faults_left = FAULTS;
bit may_run = 1;
#define MAY_FAIL faults_left > 0
#define FAIL     faults_left--
#else
#define MAY_FAIL true
#define FAIL     skip
#endif

/* ---- the data ---- */

/* Redis's data about an id. The members from life on exist only in the model; a failover sets them back like the
 * others. */
typedef job_in_redis {
  bit in_jobs;
  bit in_bucket;
  bit in_leases;
  bit in_dead;           /* a dead job with the id is kept; the pool may have another job with the id */
  unsigned dead_life : 2;
  unsigned dead_nonce : 2; /* nonce of the consumer whose loss made the job dead; 0: none */
  unsigned due : 2;      /* in the bucket: ticks until the job is due */
  unsigned left : 2;     /* in leases: ticks until the deadline, or FAR */
  unsigned holder : 2;   /* nonce of the holder; 0: none */
  bit is_doomed;         /* recovery has listed the job, and leases it as NOBODY until it has buried it */
  unsigned holder_due : 2; /* due time at the claim */
  unsigned losses : 3;   /* crashes: number of lost consumers, and the nonce of the last one */
  unsigned lost_nonce : 2;
  unsigned attempts : 2; /* attempts in the job's record */
  unsigned life : 2;     /* which of the jobs with this id has it, or had it last; from 1 */
  unsigned not_before : 2;
  unsigned failures : 2; /* failures that were recorded */
  unsigned delivered : 3; /* sets of lives (jobs with this id), a bit for each */
  unsigned cancelled : 3;
#ifdef FIFO
  bit has_begun;
#endif
};
#define WAITING 1
#define AT_LIMIT 2
typedef redis {
  job_in_redis job[JOBS];
  unsigned in_due : 2; /* 0: not in "due"; else WAITING or AT_LIMIT (score inf) */
  bit in_turns;
#ifdef ONE_PLACE
  unsigned lingers : 2;     /* nonce of the cancelled job's attempt that counts as in flight; 0: none */
  unsigned linger_left : 2; /* ticks until it no longer counts, or FAR */
#endif
#ifdef FIFO
  unsigned line : 2;      /* index of the job whose next attempt the others wait for, plus 1; 0: none */
  unsigned line_left : 2; /* ticks until this job's next attempt may begin */
  bit first;              /* index of the job with the lower score */
  bit first_due;          /* only in the model: index of the first job by due time and arrival */
#endif
};
redis primary, replica;

/* A nonce matters only while a consumer has it, and a consumer has only one. So the nonce is the number of
 * the consumer, or that of NOBODY when the consumer has forgotten the attempt. */
#define NONCE(c) ((c) + 1)
#define NOBODY 3

#define IDLE    0
#define CLAIMED 1 /* claimed and not sent yet */
#define POSTING 2
#define KNOWN   3 /* the attempt is over, with or without an outcome; Redis has not confirmed this yet */
#define GIVE_BACK 0
#define FAILED  1
#define DONE    2
#define HELD    3 /* released and held: the receiver's breaker is open, or its limit is reached */
typedef attempt {
  unsigned state : 2;
  unsigned job : 1;
  unsigned age : 2;      /* ticks since the claim or the last renewal was sent; LEASE if it does not matter */
  unsigned attempts : 2; /* attempts in the record that the claim returned */
  unsigned outcome : 2;
  bit is_lease_lost;     /* Redis has answered that the lease is lost */
  unsigned life : 2;     /* the members from here on exist only in the model */
  bit is_sent;
  bit is_recorded;       /* Redis has stored the outcome, and the reply was lost */
  bit was_cancelled;     /* cancelled by a call whose answer was that an attempt is running */
  bit is_claim_kept;     /* the replica has, or had, this claim */
  bit is_claim_lost;     /* a failover has lost this claim */
};
attempt consumer[CONSUMERS];

unsigned quiet : 2; /* ticks until expired leases count as lost */

/* The promises that clients rely on, as sets of lives, and the events so far. */
typedef promises {
  unsigned lives : 2;     /* number of jobs that were scheduled under the id */
  unsigned scheduled : 3; /* confirmed */
  unsigned cancelled : 3; /* confirmed */
  unsigned answered : 3;  /* a receiver has answered 2xx */
  unsigned since_cancel : 2; /* ticks since the last cancel */
};
promises promise[JOBS];

#define R(id) primary.job[id]
#define BIT(life) (1 << (life))
#define HAS(set, life) ((set) & BIT(life))

/* ---- what may never break ---- */

#ifdef WAIT
#define CONFIRMING replica
#else
#define CONFIRMING primary
#endif
#ifdef BUG_NO_WAIT
#undef CONFIRMING
#define CONFIRMING primary
#endif

/* In the model, clients get their answers as early as possible. */
inline confirm(id)
{
  if
  :: CONFIRMING.job[id].life != 0 -> promise[id].scheduled = promise[id].scheduled | BIT(CONFIRMING.job[id].life)
  :: else
  fi;
  promise[id].cancelled = promise[id].cancelled | CONFIRMING.job[id].cancelled
}

#define PLACES(id) (R(id).in_bucket + R(id).in_leases)
#define IS_DUE(id) (R(id).in_bucket && R(id).due == 0)
#ifdef ONE_PLACE
#define LINGERING(server) (server.lingers != 0)
#define LINGER_COUNTS(server) (server.lingers != 0 && server.linger_left > 0 && server.linger_left < FAR)
#define IS_PLACE_LOST (primary.lingers != 0 && (primary.linger_left == 0 || primary.linger_left == FAR))
#define LINGERS(c) (primary.lingers == NONCE(c))
#else
#define LINGERING(server) 0
#define LINGER_COUNTS(server) 0
#define IS_PLACE_LOST 0
#define LINGERS(c) 0
#endif
#ifdef FIFO
#define HEAD (R(0).in_bucket && R(1).in_bucket -> primary.first : R(1).in_bucket)
#define LINE_HOLDS (primary.line == HEAD + 1 && primary.line_left > 0)
#else
#define LINE_HOLDS false
#endif
#define IN_FLIGHT ((R(0).holder != 0) + (JOBS > 1 && R(JOBS - 1).holder != 0) + LINGERING(primary))
#define ANY_WAITING (R(0).in_bucket || R(JOBS - 1).in_bucket)
#define ANY_DUE (IS_DUE(0) || IS_DUE(JOBS - 1))
#define ENDED(id) (R(id).delivered | R(id).cancelled)
#define IS_KEPT(id, life_) \
  (!HAS(promise[id].scheduled, life_) || HAS(ENDED(id), life_) || R(id).in_jobs && R(id).life == life_ || \
   R(id).in_dead && R(id).dead_life == life_)

/* Properties that must be true after every script. */
inline check()
{
  for (check_j : 0 .. JOBS - 1) {
    confirm(check_j);
    /* an id in the pool is in exactly one of bucket, leases */
    assert(PLACES(check_j) == R(check_j).in_jobs);
    assert(R(check_j).in_leases == (R(check_j).holder != 0));
    assert(R(check_j).in_jobs || R(check_j).losses == 0);
    /* no accepted job is lost; a job counts as delivered only if its receiver has answered 2xx */
    assert(IS_KEPT(check_j, 1) && IS_KEPT(check_j, 2));
    assert((R(check_j).delivered & ~promise[check_j].answered) == 0);
    /* lost consumers do not count as attempts; the fifth loss ends the job */
    assert(R(check_j).attempts == R(check_j).failures);
    assert(R(check_j).losses < LOSSES || R(check_j).is_doomed);
    assert(!R(check_j).is_doomed || R(check_j).in_leases);
  }
  check_j = 0;
  /* a topic with a bucket is in exactly one of "due" and "turns" */
  assert((primary.in_due != 0) + primary.in_turns == ANY_WAITING);
  assert(IN_FLIGHT <= LIMIT)
}
byte check_j;

/* Consumer c sends a POST. OTHER is the other consumer. */
#define ME consumer[c]
#define OTHER consumer[1 - (c)]
inline check_sent(c)
{
  /* after a confirmed cancel, only an attempt that was already running may send, and only while it had its
   * lease by its own clock */
  assert(!HAS(promise[ME.job].cancelled, ME.life) ||
         (ME.was_cancelled || ME.is_claim_lost) && promise[ME.job].since_cancel < LEASE);
  /* a job is not sent again after its success was recorded, unless Redis lost the record */
  assert(!HAS(R(ME.job).delivered, ME.life) || ME.is_claim_lost);
  /* two POSTs of a job run at once only if the earlier POST's consumer lost its lease, or Redis lost one of the claims */
  assert(!(OTHER.is_sent && OTHER.job == ME.job && OTHER.life == ME.life) || OTHER.is_recorded ||
         OTHER.age >= LEASE || OTHER.is_claim_lost || ME.is_claim_lost);
#ifdef ONE_PLACE
  /* two POSTs run at once only if the earlier one no longer counts as in flight */
  assert(OTHER.state != POSTING || OTHER.age >= LEASE || OTHER.is_claim_lost || ME.is_claim_lost);
#endif
}

/* The job is dead because consumer c counted as lost, but c now reports its outcome. */
#define IS_DEAD_OF(c) (!R(ME.job).in_jobs && R(ME.job).in_dead && R(ME.job).dead_nonce == NONCE(c))

/* Recovery has listed the job because consumer c counted as lost, but c now reports its outcome before the job is
 * buried. */
#define IS_DOOMED_OF(c) (R(ME.job).is_doomed && R(ME.job).lost_nonce == NONCE(c))

/* Redis may refuse the outcome of c only if the outcome is already recorded, or c has lost its lease, or the
 * job has ended. */
inline check_refused(c)
{
  assert(ME.is_recorded || ME.is_claim_lost || ME.age >= LEASE && !IS_DEAD_OF(c) && !IS_DOOMED_OF(c) ||
         !R(ME.job).in_jobs && !IS_DEAD_OF(c) ||
         R(ME.job).life != ME.life || ME.outcome == GIVE_BACK)
}

/* ---- the replica ---- */

byte k; /* 0 between transitions, like all variables that helpers use */
inline copy(to, from)
{
  for (k : 0 .. JOBS - 1) {
    to.job[k].in_jobs = from.job[k].in_jobs;
    to.job[k].in_bucket = from.job[k].in_bucket;
    to.job[k].in_leases = from.job[k].in_leases;
    to.job[k].in_dead = from.job[k].in_dead;
    to.job[k].dead_life = from.job[k].dead_life;
    to.job[k].dead_nonce = from.job[k].dead_nonce;
    to.job[k].due = from.job[k].due;
    to.job[k].left = from.job[k].left;
    to.job[k].holder = from.job[k].holder;
    to.job[k].is_doomed = from.job[k].is_doomed;
    to.job[k].holder_due = from.job[k].holder_due;
    to.job[k].losses = from.job[k].losses;
    to.job[k].lost_nonce = from.job[k].lost_nonce;
    to.job[k].attempts = from.job[k].attempts;
    to.job[k].life = from.job[k].life;
    to.job[k].not_before = from.job[k].not_before;
    to.job[k].failures = from.job[k].failures;
    to.job[k].delivered = from.job[k].delivered;
    to.job[k].cancelled = from.job[k].cancelled
  }
  k = 0;
#ifdef ONE_PLACE
  to.lingers = from.lingers;
  to.linger_left = from.linger_left;
#endif
  to.in_due = from.in_due;
  to.in_turns = from.in_turns
}

inline replicate()
{
  copy(replica, primary);
  consumer[0].is_claim_kept = (consumer[0].state != IDLE);
  consumer[1].is_claim_kept = (consumer[1].state != IDLE);
  lag = 0
}

/* ---- parts of the scripts: lib ---- */

#ifdef BUG_FIFO_TWO
#define HAS_ROOM true
#else
#define HAS_ROOM (IN_FLIGHT < LIMIT)
#endif
inline offer()
{
  keep_line();
  primary.in_turns = 0;
  primary.in_due = 0;
  if
  :: !ANY_WAITING
  :: ANY_WAITING && (!ANY_DUE || HAS_ROOM && LINE_HOLDS) -> primary.in_due = WAITING
  :: ANY_DUE && !HAS_ROOM -> primary.in_due = AT_LIMIT
  :: ANY_DUE && HAS_ROOM && !LINE_HOLDS -> primary.in_turns = 1
  fi
}

/* The job that the others wait for stays first, even if a job with an earlier time is added. When it is no longer
 * in the bucket, the others need not wait. */
inline keep_line()
{
#ifdef FIFO
  if
  :: primary.line > 0 && !R(primary.line - 1).in_bucket -> primary.line = 0; primary.line_left = 0
  :: primary.line > 0 && R(primary.line - 1).in_bucket ->
#ifndef BUG_HEAD_IS_PASSED
    primary.first = primary.line - 1
#else
    skip
#endif
  :: else
  fi;
  if
  :: R(0).in_jobs && R(1).in_jobs
  :: else -> primary.first = 0; primary.first_due = 0
  fi
#else
  skip
#endif
}

/* With -DREPLICATION: the replica is at most LAG writes behind. */
byte lag;
inline written()
{
#ifdef REPLICATION
  if
  :: lag < LAG -> lag++
  :: else -> replicate()
  fi;
#endif
  check()
}

inline finish()
{
  offer();
  written()
}

inline take(id)
{
  R(id).in_bucket = 0;
  R(id).due = 0;
  R(id).in_leases = 0;
  R(id).left = 0;
  R(id).holder = 0;
  R(id).is_doomed = 0;
  R(id).holder_due = 0
}

inline put_back(id, at)
{
  R(id).in_bucket = 1;
  R(id).due = at
}

/* Puts the job into the bucket, after the jobs with the same due time. */
inline put(id, at)
{
#ifdef FIFO
  if
  :: R(1 - id).in_jobs && (R(1 - id).in_bucket -> R(1 - id).due : R(1 - id).holder_due) <= at ->
    primary.first = 1 - id
  :: else -> primary.first = id
  fi;
  primary.first_due = primary.first;
  if
  :: primary.line == id + 1 -> primary.line = 0; primary.line_left = 0
  :: else
  fi;
#endif
  put_back(id, at)
}

/* Allows the head's next attempt to begin at once. */
inline let_go(id)
{
#ifdef BUG_LET_GO_IS_PASSED
  primary.line = 0;
#endif
  primary.line_left = 0
}

/* Puts the job back for its next attempt: at the due time that its claim noted, or after a wait. In a fifo topic,
 * the job keeps its place, and the other jobs wait for it. */
inline again(id, at, wait)
{
#ifdef FIFO
#ifdef BUG_HEAD_LOSES_PLACE
  put(id, wait);
#else
  put_back(id, at);
  primary.line = id + 1;
  primary.line_left = (at > wait -> at : wait);
#endif
#ifdef BUG_LINE_HOLDS_NOTHING
  primary.line_left = 0;
#endif
#else
  if
  :: at > wait -> put_back(id, at)
  :: else -> put_back(id, wait)
  fi
#endif
}

inline forget_crashes(id)
{
  R(id).losses = 0;
  R(id).lost_nonce = 0
}

inline forget_job(id)
{
  R(id).in_jobs = 0;
  R(id).attempts = 0;
  R(id).failures = 0;
  R(id).not_before = 0;
  not_begun(id)
}

/* Forgets that attempts of the job have begun, because its owner has changed its due time or it has ended. */
inline not_begun(id)
{
#ifdef FIFO
  R(id).has_begun = 0
#else
  skip
#endif
}

#define CAN_STILL_SEND(c, id) (consumer[c].state == CLAIMED && consumer[c].job == id)

/* Removes a kept dead job, as if it had been cancelled. Only a consumer whose claim Redis lost can still send
 * the job. */
inline end_dead(id)
{
  if
  :: R(id).in_dead && (CAN_STILL_SEND(0, id) || CAN_STILL_SEND(1, id)) -> promise[id].since_cancel = 0
  :: else
  fi;
  if
  :: R(id).in_dead -> R(id).cancelled = R(id).cancelled | BIT(R(id).dead_life)
  :: else
  fi;
  forget_dead(id)
}

/* The job dies and leaves the pool. An earlier dead job with its id is no longer kept. */
inline die(id, nonce)
{
  assert(R(id).attempts == RETRIES || R(id).losses == LOSSES);
  die_early(id, nonce)
}

/* A job may die with attempts left: if it has expired, or its owner says so. */
inline die_early(id, nonce)
{
  end_dead(id);
  R(id).in_dead = 1;
  R(id).dead_life = R(id).life;
  R(id).dead_nonce = nonce;
  forget_crashes(id);
  forget_job(id)
}

inline bring_back(id)
{
  R(id).in_jobs = 1;
  R(id).life = R(id).dead_life;
  forget_dead(id)
}

inline forget_dead(id)
{
  R(id).in_dead = 0;
  R(id).dead_life = 0;
  R(id).dead_nonce = 0
}

inline bring_back_if_dead(c)
{
  if
  :: IS_DEAD_OF(c) ->
    bring_back(ME.job);
    R(ME.job).failures = ME.attempts
  :: else
  fi
}

#define HAS_LEASE(c) (R(ME.job).holder == NONCE(c))
#ifdef BUG_DOOMED_DEAF
#define IS_LATE(c) (R(ME.job).holder == 0 && R(ME.job).lost_nonce == NONCE(c))
#else
#define IS_LATE(c) ((R(ME.job).holder == 0 || R(ME.job).is_doomed) && R(ME.job).lost_nonce == NONCE(c))
#endif
#ifdef BUG_DEAD_DEAF
#define FENCE(c) (HAS_LEASE(c) || IS_LATE(c))
#elif defined(BUG_NO_FENCE)
#define FENCE(c) R(ME.job).in_jobs
#else
#define FENCE(c) (HAS_LEASE(c) || IS_LATE(c) || IS_DEAD_OF(c))
#endif

#define IS_LOST(id) (R(id).in_leases && (R(id).left == 0 || R(id).left == FAR))

/* The job is cancelled, and its attempt still counts as in flight. */
inline linger(id)
{
#if defined(ONE_PLACE) && !defined(BUG_CANCEL_FREES_PLACE)
  if
  :: R(id).in_leases && !R(id).is_doomed -> primary.lingers = R(id).holder; primary.linger_left = R(id).left
  :: else
  fi
#else
  skip
#endif
}

inline free_place()
{
#ifdef ONE_PLACE
  primary.lingers = 0;
  primary.linger_left = 0;
#endif
  finish()
}

/* An outcome of a cancelled job's attempt ends this attempt, even if Redis refuses the outcome. */
inline end_lingering(c)
{
  if
  :: LINGERS(c) -> free_place()
  :: else
  fi
}

/* The consumer gets the reply and is free; or the reply is lost, and it sends its outcome again. */
inline reply(c)
{
  if
  :: free_attempt(c)
  :: MAY_FAIL -> FAIL; ME.is_recorded = 1; ME.age = LEASE
  fi
}

inline forget_nonce(server, c)
{
#ifdef ONE_PLACE
  if
  :: server.lingers == NONCE(c) -> server.lingers = NOBODY
  :: else
  fi;
#endif
  if
  :: server.job[ME.job].holder == NONCE(c) -> server.job[ME.job].holder = NOBODY
  :: else
  fi;
  if
  :: server.job[ME.job].lost_nonce == NONCE(c) -> server.job[ME.job].lost_nonce = 0
  :: else
  fi;
  if
  :: server.job[ME.job].dead_nonce == NONCE(c) -> server.job[ME.job].dead_nonce = 0
  :: else
  fi
}

inline free_attempt(c)
{
  forget_nonce(primary, c);
  forget_nonce(replica, c);
  ME.state = IDLE;
  ME.job = 0;
  ME.age = 0;
  ME.attempts = 0;
  ME.outcome = 0;
  ME.is_lease_lost = 0;
  ME.life = 0;
  ME.is_sent = 0;
  ME.is_recorded = 0;
  ME.was_cancelled = 0;
  ME.is_claim_kept = 0;
  ME.is_claim_lost = 0
}

/* The owner ends the job. */
inline end_life(id)
{
  if
  :: CAN_STILL_SEND(0, id) || CAN_STILL_SEND(1, id) -> promise[id].since_cancel = 0
  :: else
  fi;
  consumer[0].was_cancelled = consumer[0].was_cancelled || CAN_STILL_SEND(0, id) && R(id).holder == NONCE(0);
  consumer[1].was_cancelled = consumer[1].was_cancelled || CAN_STILL_SEND(1, id) && R(id).holder == NONCE(1);
  R(id).cancelled = R(id).cancelled | BIT(R(id).life)
}

/* ---- the scripts ---- */

inline schedule(id, wait)
{
  promise[id].lives++;
  R(id).in_jobs = 1;
  R(id).life = promise[id].lives;
  R(id).not_before = wait;
  put(id, wait);
  finish()
}

inline carry()
{
  finish()
}

inline claim(c, id)
{
  assert(R(id).not_before == 0);                            /* a claim is never early */
  assert(!HAS(promise[id].cancelled, R(id).life));           /* no attempt begins after a confirmed cancel */
#ifdef FIFO
  assert(!R(1 - id).has_begun);                              /* no attempt begins while another job has begun its attempts */
  assert(R(id).has_begun || !R(1 - id).in_jobs || primary.first_due == id); /* jobs begin in order of due time and arrival */
  R(id).has_begun = 1;
#endif
  ME.state = CLAIMED;
  ME.job = id;
  ME.attempts = R(id).attempts;
  ME.life = R(id).life;
  take(id);
#ifndef BUG_DESTRUCTIVE_POP
  R(id).in_leases = 1;
  R(id).left = LEASE;
  R(id).holder = NONCE(c);
#endif
  finish()
}

inline complete(c)
{
  if
  :: FENCE(c) ->
    bring_back_if_dead(c);
    take(ME.job);
    forget_crashes(ME.job);
    forget_job(ME.job);
    R(ME.job).delivered = R(ME.job).delivered | BIT(R(ME.job).life);
    finish()
  :: else -> check_refused(c); end_lingering(c)
  fi
}

inline retry(c, wait)
{
  if
  :: FENCE(c) ->
#ifdef FIFO
    has_place = R(ME.job).in_jobs;
    again_due = (R(ME.job).in_bucket -> R(ME.job).due : R(ME.job).holder_due);
#endif
    bring_back_if_dead(c);
    take(ME.job);
    forget_crashes(ME.job);
    R(ME.job).attempts = ME.attempts + 1;
    R(ME.job).failures++;
    R(ME.job).not_before = wait;
#ifdef FIFO
    if
    :: has_place -> again(ME.job, again_due, wait)
    :: else -> put(ME.job, wait)
    fi;
    has_place = 0;
    again_due = 0;
#else
    put(ME.job, wait);
#endif
#ifdef BUG_RETRY_OFFERS_NOT
    written()
#else
    finish()
#endif
  :: else -> check_refused(c); end_lingering(c)
  fi
}

inline bury(c)
{
  if
  :: FENCE(c) ->
    bring_back_if_dead(c);
    take(ME.job);
    forget_crashes(ME.job);
    R(ME.job).attempts = ME.attempts + 1;
    R(ME.job).failures++;
    die(ME.job, 0);
    finish()
  :: else -> check_refused(c); end_lingering(c)
  fi
}

#ifdef FIFO
bit has_place;
byte again_due;
#endif

/* Releases a job; with wait, the job is held. */
inline release(c, wait)
{
  if
  :: HAS_LEASE(c) ->
    release_due = R(ME.job).holder_due;
    take(ME.job);
    again(ME.job, release_due, wait);
    release_due = 0;
    finish()
  :: else -> end_lingering(c)
  fi
}
byte release_due;

/* Releases a job of a claim whose answer never came. In the model, this may also happen after the death of a
 * consumer, which duepost does not do. */
inline abandon(id)
{
  abandon_due = R(id).holder_due;
  take(id);
#ifdef BUG_ABANDON_EARLY
  put_back(id, 0);
#else
  again(id, abandon_due, 0);
#endif
  abandon_due = 0;
  finish()
}
byte abandon_due;

inline renew(c)
{
  if
  :: HAS_LEASE(c) ->
    assert(!HAS(R(ME.job).cancelled, ME.life));
    R(ME.job).left = LEASE;
    written();
    if
    :: ME.age = 0
    :: MAY_FAIL -> FAIL
    fi
#ifdef ONE_PLACE
  :: LINGERS(c) ->
    ME.is_lease_lost = 1;
    primary.linger_left = LEASE;
    written();
    if
    :: ME.age = 0
    :: MAY_FAIL -> FAIL
    fi
  :: !HAS_LEASE(c) && !LINGERS(c) ->
#else
  :: else ->
#endif
#ifdef BUG_RENEW_REVIVES
    R(ME.job).in_leases = 1;
    R(ME.job).left = LEASE;
    R(ME.job).holder = NONCE(c);
    ME.age = 0;
    written()
#elif !defined(BUG_RENEW_DEAF)
    ME.is_lease_lost = 1
#endif
  fi
}

inline recover(id, wait)
{
  recover_due = R(id).holder_due;
  if
  :: R(id).is_doomed /* the job was not buried: it is listed again, and no further loss is counted */
  :: else ->
    R(id).losses++;
    R(id).lost_nonce = (R(id).holder == NOBODY -> 0 : R(id).holder)
  fi;
#ifdef BUG_RECOVER_SPENDS
  R(id).attempts++;
#endif
  if
  :: R(id).losses == LOSSES ->
#ifdef AT_ONCE
    take(id);
    die(id, R(id).lost_nonce)
#else
    R(id).is_doomed = 1;
    R(id).holder = NOBODY;
    R(id).left = LEASE
#endif
  :: R(id).losses < LOSSES && R(id).losses > 1 && recover_due < wait ->
    take(id);
    again(id, recover_due, wait)
  :: else ->
    take(id);
#ifdef BUG_RECOVER_EARLY
    put_back(id, 0)
#else
    again(id, recover_due, 0)
#endif
  fi;
  recover_due = 0;
  finish()
}
byte recover_due;

inline cancel(id)
{
  if
  :: !R(id).in_jobs ->
    end_dead(id)
  :: else ->
    end_life(id);
    linger(id);
#ifdef BUG_CANCEL_LEAVES_LEASE
    R(id).in_bucket = 0;
    R(id).due = 0;
#else
    take(id);
#endif
#ifndef BUG_CANCEL_REMEMBERS
    forget_crashes(id);
#else
    R(id).losses = 0;
#endif
    forget_job(id)
  fi;
  finish()
}

/* A replaced job ends as if it had been cancelled, also during an attempt. */
inline replace(id, wait)
{
  skip; /* an option of an if with an else must not begin with another else */
  end_life(id);
  linger(id);
#ifdef BUG_REPLACE_LEAVES_LEASE
  R(id).in_bucket = 0;
  R(id).due = 0;
#else
  take(id);
#endif
#ifndef BUG_REPLACE_REMEMBERS
  forget_crashes(id);
#endif
  forget_job(id);
  schedule(id, wait)
}

/* Changes the due time of a waiting job. Changes of a dead job, or of a record only, do not change a place
 * and are not modelled. */
inline change(id, wait)
{
  take(id);
  forget_crashes(id);
  not_begun(id);
  R(id).not_before = wait;
  put(id, wait);
  finish()
}

/* A waiting job is buried because it has expired. change.lua does the same if the owner wants it. */
inline expire(id)
{
#ifdef BUG_EXPIRE_LEASED
  R(id).in_bucket = 0;
  R(id).due = 0;
#else
  take(id);
#endif
  die_early(id, 0);
  finish()
}

inline run_(id)
{
  if
  :: !R(id).in_jobs -> bring_back(id)
  :: else
  fi;
  take(id);
  forget_crashes(id);
  not_begun(id);
  R(id).not_before = 0;
  put(id, 0);
  finish()
}

/* ---- the others ---- */

/* Recovery buries the job that it has listed. If recovery dies first, its lease runs out and the job is
 * listed again, so this lease is not modelled. */
inline bury_doomed(id)
{
  take(id);
  die(id, R(id).lost_nonce);
  finish()
}

#ifdef FIFO
#define CAN_CLAIM(id) (primary.in_turns && HEAD == id && IS_DUE(id) && HAS_ROOM && !LINE_HOLDS)
#else
#define CAN_CLAIM(id) (primary.in_turns && IS_DUE(id) && IN_FLIGHT < LIMIT)
#endif
#ifdef BUG_NO_CARRY
#define CAN_CARRY false
#else
#define CAN_CARRY (primary.in_due == WAITING && ANY_DUE && !LINE_HOLDS || primary.in_turns && !ANY_DUE)
#endif
#ifdef BUG_NO_QUIET
#define CAN_RECOVER(id) IS_LOST(id)
#else
#define CAN_RECOVER(id) (IS_LOST(id) && quiet == 0)
#endif
#ifdef BUG_PLACE_STAYS
#define CAN_FREE_PLACE false
#else
#define CAN_FREE_PLACE (IS_PLACE_LOST && quiet == 0)
#endif
#ifdef BUG_NO_OWN_CLOCK
#define MAY_SEND(c) true
#else
#define MAY_SEND(c) (!ME.is_lease_lost && ME.age < LEASE - SPARE)
#endif

inline start_post(c)
{
  ME.state = POSTING;
  ME.is_sent = 1;
  ME.was_cancelled = 0
}

proctype consume(byte c)
{
end:
  do
  /* Idle consumers do not differ, so only the first one claims. */
  :: atomic { ME.state == IDLE && (c == 0 || OTHER.state != IDLE) ->
      if
      :: CAN_CLAIM(0) -> claim(c, 0)
#if JOBS > 1
      :: CAN_CLAIM(1) -> claim(c, 1)
#endif
      fi }
  :: d_step { ME.state == CLAIMED && MAY_SEND(c) -> check_sent(c); start_post(c) }
  :: d_step { ME.state == CLAIMED && !MAY_SEND(c) -> ME.state = KNOWN; ME.outcome = GIVE_BACK; ME.age = LEASE }
#ifndef REPLICATION /* with replication, it would only add states */
  :: d_step { ME.state == CLAIMED && MAY_FAIL -> FAIL; ME.state = KNOWN; ME.outcome = HELD; ME.age = LEASE }
#endif
  :: atomic { ME.state == POSTING ->
      ME.state = KNOWN;
      ME.is_lease_lost = 0;
      if
      :: ME.outcome = DONE; promise[ME.job].answered = promise[ME.job].answered | BIT(ME.life)
      :: ME.outcome = FAILED
      :: MAY_FAIL -> FAIL; ME.outcome = GIVE_BACK; ME.is_sent = 0; ME.age = LEASE /* the attempt is aborted at the end of a drain */
      fi }
  :: atomic { ME.state == KNOWN && ME.outcome == DONE -> complete(c); reply(c) }
  :: atomic { ME.state == KNOWN && ME.outcome == FAILED && ME.attempts + 1 < RETRIES -> retry(c, 1); reply(c) }
  :: atomic { ME.state == KNOWN && ME.outcome == FAILED && ME.attempts + 1 == RETRIES -> bury(c); reply(c) }
  :: atomic { ME.state == KNOWN && ME.outcome == GIVE_BACK -> release(c, 0); reply(c) }
  :: atomic { ME.state == KNOWN && ME.outcome == HELD -> release(c, 1); reply(c) }
  :: atomic { (ME.state == CLAIMED || ME.state == POSTING) && ME.age > 0 && (!ME.is_lease_lost || LINGERS(c)) -> renew(c) }
  /* the consumer dies, or loses the reply to its claim */
  :: atomic { ME.state != IDLE && MAY_FAIL -> FAIL; free_attempt(c) }
  od
}

#define CAN_RUN(id) (R(id).in_jobs && !R(id).in_leases && !IS_DUE(id) || !R(id).in_jobs && R(id).in_dead)
proctype own(byte id)
{
end:
  do
  :: atomic { !R(id).in_jobs && promise[id].lives < LIVES ->
      if
      :: schedule(id, 0)
      :: schedule(id, 1)
      fi }
  :: atomic { R(id).in_jobs || R(id).in_dead -> cancel(id) }
  :: atomic { R(id).in_jobs && promise[id].lives < LIVES ->
      if
      :: replace(id, 0)
      :: replace(id, 1)
      fi }
#ifdef LIVE
  :: atomic { CAN_RUN(id) && may_run -> may_run = 0; run_(id) }
  :: atomic { R(id).in_bucket && may_run -> may_run = 0; change(id, 1) }
#else
#ifndef REPLICATION /* with replication, it would only add states */
  :: atomic { IS_DUE(id) -> change(id, 1) }
#endif
  :: atomic { CAN_RUN(id) -> run_(id) }
#endif
  :: atomic { IS_DUE(id) && R(id).losses > 0 -> forget_crashes(id) } /* the script run.lua, for a ready job */
#ifdef EXPIRES
#ifdef BUG_EXPIRE_LEASED
  :: atomic { R(id).in_jobs -> expire(id) }
#else
  :: atomic { R(id).in_bucket -> expire(id) }
#endif
#endif
#ifdef FIFO
  :: atomic { IS_DUE(id) && primary.line == id + 1 && primary.line_left > 0 ->
      R(id).not_before = 0; let_go(id); finish() }
#endif
  od
}

proctype keep()
{
end:
  do
  :: atomic { CAN_CARRY -> carry() }
#ifdef ONE_PLACE
  :: atomic { CAN_FREE_PLACE -> free_place() } /* the script recover also does this */
#endif
  :: atomic { R(0).holder == NOBODY && !R(0).is_doomed -> abandon(0) }
  :: atomic { R(0).is_doomed -> bury_doomed(0) }
#if JOBS > 1
  :: atomic { R(1).holder == NOBODY && !R(1).is_doomed -> abandon(1) }
  :: atomic { R(1).is_doomed -> bury_doomed(1) }
#endif
  :: atomic { CAN_RECOVER(0) ->
      if
      :: recover(0, 0)
      :: R(0).losses > 0 -> recover(0, 1)
      fi }
#if JOBS > 1
  :: atomic { CAN_RECOVER(1) ->
      if
      :: recover(1, 0)
      :: R(1).losses > 0 -> recover(1, 1)
      fi }
#endif
  od
}

/* ---- time, and faults of Redis ---- */

#define COUNT_DOWN(number) number = (number > 0 -> number - 1 : 0)
inline tick_in(server)
{
  for (k : 0 .. JOBS - 1) {
    COUNT_DOWN(server.job[k].due);
    COUNT_DOWN(server.job[k].not_before);
    COUNT_DOWN(server.job[k].holder_due);
    if
    :: server.job[k].left > 0 && server.job[k].left < FAR -> server.job[k].left--
    :: else
    fi
  }
#ifdef ONE_PLACE
  if
  :: LINGER_COUNTS(server) -> server.linger_left--
  :: else
  fi
#endif
#ifdef FIFO
  COUNT_DOWN(server.line_left)
#endif
}

inline tick()
{
  tick_in(primary);
  tick_in(replica);
  COUNT_DOWN(quiet);
  for (k : 0 .. CONSUMERS - 1) {
    if
    :: consumer[k].state != IDLE && consumer[k].age < LEASE -> consumer[k].age++
    :: else
    fi
  }
  for (k : 0 .. JOBS - 1) {
    if
    :: promise[k].since_cancel < LEASE -> promise[k].since_cancel++
    :: else
    fi
  }
  k = 0
}

#define COUNTS(job_) (job_.due > 0 || job_.left > 0 && job_.left < FAR || job_.holder_due > 0)
#ifdef FIFO
#define LINE_COUNTS (primary.line_left > 0)
#else
#define LINE_COUNTS false
#endif
#define IS_AGING(c) (consumer[c].state != IDLE && consumer[c].age < LEASE)
#define TIME_MATTERS \
  (quiet > 0 || IS_AGING(0) || IS_AGING(1) || COUNTS(primary.job[0]) || COUNTS(primary.job[JOBS - 1]) || \
   COUNTS(replica.job[0]) || COUNTS(replica.job[JOBS - 1]) || LINGER_COUNTS(primary) || LINGER_COUNTS(replica) || LINE_COUNTS)

/* At least one process can do something without waiting. */
#define ANY_IDLE (consumer[0].state == IDLE || consumer[1].state == IDLE)
#define IS_BUSY \
  (consumer[0].state != IDLE || consumer[1].state != IDLE || CAN_CARRY || CAN_RECOVER(0) || \
   CAN_RECOVER(JOBS - 1) || R(0).is_doomed || R(JOBS - 1).is_doomed || CAN_FREE_PLACE || ANY_IDLE && (CAN_CLAIM(0) || CAN_CLAIM(JOBS - 1)))
#define IS_OPEN(id) R(id).in_jobs

#define LOSE_CLAIM(c) \
  consumer[c].is_claim_lost = (consumer[c].is_claim_lost || consumer[c].state != IDLE && !consumer[c].is_claim_kept); \
  consumer[c].is_claim_kept = (consumer[c].state != IDLE)
inline fail_over()
{
  LOSE_CLAIM(0);
  LOSE_CLAIM(1);
  copy(primary, replica);
#if !defined(WAIT) && !defined(BUG_NO_WAIT)
  for (k : 0 .. JOBS - 1) {
    promise[k].scheduled = promise[k].scheduled & ((2 << replica.job[k].life) - 2);
    promise[k].cancelled = promise[k].cancelled & replica.job[k].cancelled
  }
  k = 0;
#endif
  lag = 0;
  quiet = LEASE;
  check()
}

inline clock_jumps(server, due_, left_)
{
  for (k : 0 .. JOBS - 1) {
    server.job[k].due = (server.job[k].in_bucket -> due_ : 0);
    server.job[k].not_before = (server.job[k].in_bucket || server.job[k].in_leases -> due_ : 0);
    server.job[k].holder_due = (server.job[k].in_leases -> due_ : 0);
    server.job[k].left = (server.job[k].in_leases -> left_ : 0)
  }
#ifdef ONE_PLACE
  server.linger_left = (server.lingers -> left_ : 0);
#endif
#ifdef FIFO
  server.line_left = (server.line -> due_ : 0);
#endif
  k = 0
}

proctype happen()
{
end:
  do
#ifdef LIVE
  :: d_step { TIME_MATTERS && !IS_BUSY -> tick() }
  :: d_step { TIME_MATTERS && IS_BUSY && MAY_FAIL -> FAIL; tick() }
#else
  :: d_step { TIME_MATTERS -> tick() }
#endif
  /* for a job that is not delivered, cancelled or dead, there is always a next step */
  :: d_step { (IS_OPEN(0) || IS_OPEN(JOBS - 1)) && !IS_BUSY && !TIME_MATTERS -> assert(false) }
#ifdef REPLICATION
  :: d_step { lag > 0 -> replicate(); check() }
  :: d_step { MAY_FAIL && (lag > 0 || quiet < LEASE) -> FAIL; fail_over() }
#else
  :: d_step { MAY_FAIL && quiet < LEASE -> FAIL; quiet = LEASE } /* a restart of Redis without loss */
#endif
#ifdef JUMPS
  :: d_step { MAY_FAIL -> FAIL; clock_jumps(primary, 0, 0); clock_jumps(replica, 0, 0); quiet = LEASE }
  :: d_step { MAY_FAIL -> FAIL; clock_jumps(primary, FAR, FAR); clock_jumps(replica, FAR, FAR); quiet = LEASE }
#endif
  od
}

init
{
  atomic {
    promise[0].since_cancel = LEASE;
    promise[JOBS - 1].since_cancel = LEASE;
    run consume(0);
    run consume(1);
    run own(0);
#if JOBS > 1
    run own(1);
#endif
    run keep();
    run happen()
  }
}
