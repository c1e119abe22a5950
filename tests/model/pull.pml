/* pull.pml - a model of the life of a job of a pull topic. Spin checks every order of events, for small
 * numbers.
 *
 * The model has jobs of one topic, two workers, two carry workers that end leases which have run out, an
 * owner of the jobs, and a Redis. As in life.pml, each script of src/store/scripts is an inline with its
 * name, and one transition. The ends retry and bury need the record, so they take two scripts: pulled reads
 * the job, and retry or bury is fenced by the token. The end of a lease that has run out also takes two
 * scripts: recover lists the lease, and retry or bury is fenced by the listed token. Between two scripts,
 * these events may happen, any number of times:
 * - a worker dies, or its lease runs out before it ends the lease, and it still sends the end;
 * - the reply of a script is lost. If it was the reply to the script lease, a worker with an idempotency key
 *   requests the lease again, and without a key no worker has the leased job. If it was the reply to an end,
 *   the end is sent again;
 * - a process releases the jobs that the worker did not get (abandon). In the model, this may also happen
 *   after the death of a worker, which duepost does not do;
 * - a carry worker dies, or ends a lease that it listed long ago;
 * - the owner cancels the job, and schedules another job under its id.
 *
 * Time is counted in ticks, and all clocks tick together. A worker's lease ends by the worker's own clock at
 * the deadline that the answer had. Restarts and failovers of Redis, and jumps of its clock, are modelled in
 * life.pml only.
 *
 * A new token is a number that no process has any more; there are enough numbers.
 *
 * With -DLIVE, faults, releases and extensions are limited, and time passes only when nothing else can be
 * done. Then no execution may be infinite (pan -l), and each job must be delivered, cancelled or dead in the
 * end.
 *
 * -DBUG_<NAME> adds a bug, which Spin must find. */

#ifndef JOBS
#define JOBS 1
#endif
#ifndef LIVES
#define LIVES 2 /* number of jobs that have the same id, one after another */
#endif
#ifndef LIMIT
#define LIMIT 2 /* maxInFlight of the topic */
#endif
#ifndef RETRIES
#define RETRIES 2 /* failed attempts after which a job is dead */
#endif
#ifndef FAULTS
#define FAULTS 3 /* maximum number of faults with -DLIVE */
#endif
#define WORKERS 2
#define KEEPERS 2
#ifndef LEASE
#define LEASE 2 /* length of a lease in ticks */
#endif
#define REMEMBERS LEASE /* ticks for which Redis keeps a token that has completed a job */
#define TOKENS 9

#ifdef LIVE
byte faults;
#define MAY_FAIL (faults < FAULTS)
#define FAIL     faults++
#else
#define MAY_FAIL true
#define FAIL     skip
#endif

/* ---- the data ---- */

typedef job_in_redis {
  bit in_jobs;
  bit in_bucket;
  bit in_pulled;
  unsigned due : 2;        /* in the bucket: ticks until the job is due */
  unsigned left : 2;       /* in pulled: ticks until the deadline */
  unsigned holder : 4;     /* token of the holder; 0: none */
  unsigned attempts : 2;   /* attempts in the job's record */
  unsigned completed : 4;  /* token of the lease that completed a job of this id; 0: none is kept */
  unsigned remembers : 2;  /* ticks until this token is no longer kept */
  unsigned life : 2;       /* which of the jobs with this id has it, or had it last; from 1 */
  unsigned failures : 2;   /* a number; the next three: sets of lives (jobs with this id) */
  unsigned delivered : 3;
  unsigned cancelled : 3;
  unsigned dead : 3;
};
job_in_redis R[JOBS];

#define IDLE   0
#define ASKED  1 /* requested with an idempotency key; no answer has come */
#define HELD   2
#define ENDING 3 /* the worker sends the end of its lease until an answer comes */
#define DONE    0
#define FAILED  1
#define REJECTED 2
#define BACK    3
typedef lease_of_worker {
  unsigned state : 2;
  unsigned job : 1;
  unsigned token : 4;
  unsigned left : 2;       /* ticks until the deadline, by the worker's clock */
  unsigned outcome : 2;
  bit has_read;
  unsigned attempts : 2;   /* attempts in the record that the script pulled has read */
  unsigned life : 2;       /* the members from here on exist only in the model */
  bit has_sent;            /* Redis has stored the end, and the reply was lost */
};
lease_of_worker W[WORKERS];

/* A lease that a carry worker has listed. */
typedef listed_lease {
  bit is_there;
  unsigned job : 1;
  unsigned token : 4;
  unsigned attempts : 2;
};
listed_lease K[KEEPERS];

unsigned lives_of_0 : 2;
unsigned lives_of_1 : 2;
#define LIVES_OF(id) (id == 0 -> lives_of_0 : lives_of_1)
byte j, t, i; /* 0 between transitions */
bit verdict;  /* result of the last script; 0 between transitions */

#define OTHER(w) W[1 - (w)]
#define BIT(life) (1 << (life))
#define HAS(set, life) ((set) & BIT(life))
#define IS_DUE(id) (R[id].in_bucket && R[id].due == 0)
#define IN_FLIGHT (R[0].in_pulled + (JOBS > 1 && R[JOBS - 1].in_pulled))
#define CAN_LEASE(id) (IS_DUE(id) && IN_FLIGHT < LIMIT)
#define HOLDS(id, token_) (R[id].holder == token_)
#ifdef BUG_ANY_TOKEN
#define FENCE(id, token_) (R[id].in_pulled)
#else
#define FENCE(id, token_) HOLDS(id, token_)
#endif
#define IS_REMEMBERED(token_) \
  (W[0].token == token_ || W[1].token == token_ || K[0].token == token_ || K[1].token == token_ || \
   R[0].holder == token_ || R[JOBS - 1].holder == token_ || R[0].completed == token_ || R[JOBS - 1].completed == token_)
#define ENDED(id) (R[id].delivered | R[id].cancelled | R[id].dead)

/* ---- what may never break ---- */

/* Properties that must be true after every script. */
inline check()
{
  for (i : 0 .. JOBS - 1) {
    assert(R[i].in_bucket + R[i].in_pulled == R[i].in_jobs);
    assert(R[i].in_pulled == (R[i].holder != 0));
    /* each job that had the id is in the pool, or has ended in exactly one way */
    for (t : 1 .. LIVES) {
      assert(t > LIVES_OF(i) || (R[i].in_jobs && R[i].life == t) + (HAS(R[i].delivered, t) != 0) +
             (HAS(R[i].cancelled, t) != 0) + (HAS(R[i].dead, t) != 0) == 1)
    }
    /* each failure, and nothing else, counts as an attempt */
    assert(R[i].attempts == R[i].failures && R[i].attempts <= RETRIES)
  }
  i = 0;
  t = 0;
  assert(IN_FLIGHT <= LIMIT)
}

/* A worker gets a job only if the job has not ended, and no other worker still has a
 * lease of it by that worker's own clock. */
inline check_lease(w, id)
{
  assert(!(OTHER(w).state >= HELD && OTHER(w).job == id && OTHER(w).life == R[id].life && OTHER(w).left > 0 && !OTHER(w).has_sent));
  assert(!HAS(ENDED(id), R[id].life))
}

/* An end or an extension may be refused only if Redis has already stored the end, or the lease ran out, or
 * the owner has cancelled the job. */
inline check_refused(w)
{
  assert(W[w].has_sent || W[w].left == 0 || HAS(R[W[w].job].cancelled, W[w].life))
}

/* ---- parts of the scripts ---- */

inline take(id)
{
  R[id].in_bucket = 0;
  R[id].in_pulled = 0;
  R[id].due = 0;
  R[id].left = 0;
  R[id].holder = 0
}

inline put(id, wait)
{
  R[id].in_bucket = 1;
  R[id].due = wait
}

inline forget_job(id)
{
  take(id);
  R[id].in_jobs = 0;
  R[id].attempts = 0;
  R[id].failures = 0
}

/* ---- the scripts ---- */

inline schedule(id, wait)
{
  if
  :: id == 0 -> lives_of_0++
  :: else -> lives_of_1++
  fi;
  R[id].in_jobs = 1;
  R[id].life = LIVES_OF(id);
  put(id, wait);
  check()
}

inline cancel(id)
{
  R[id].cancelled = R[id].cancelled | BIT(R[id].life);
#ifdef BUG_CANCEL_LEAVES_WORKER
  R[id].in_jobs = 0;
  R[id].in_bucket = 0;
#else
  forget_job(id);
#endif
  check()
}

/* Leases a job to worker w, with t as the token. */
inline lease(w, id)
{
  check_lease(w, id);
  t = 1;
  do
  :: t <= TOKENS && IS_REMEMBERED(t) -> t++
  :: else -> break
  od;
  assert(t <= TOKENS);
  take(id);
  R[id].in_pulled = 1;
  R[id].holder = t;
  R[id].left = LEASE;
  W[w].job = id;
  W[w].token = t;
  W[w].life = R[id].life;
  t = 0;
  check()
}

inline renew(id, token_)
{
  if
#ifdef BUG_EXTEND_REVIVES
  :: HOLDS(id, token_) -> R[id].left = LEASE; verdict = 1
#else
  :: HOLDS(id, token_) && R[id].left > 0 -> R[id].left = LEASE; verdict = 1
#endif
  :: else
  fi;
  check()
}

/* Completes a job. A token that has already completed the job gets the same answer again. */
inline complete(id, token_)
{
  if
  :: FENCE(id, token_) ->
    R[id].delivered = R[id].delivered | BIT(R[id].life);
    forget_job(id);
    R[id].completed = token_;
    R[id].remembers = REMEMBERS;
    verdict = 1
  :: else -> verdict = (R[id].completed == token_)
  fi;
  check()
}

inline pulled(w)
{
  verdict = HOLDS(W[w].job, W[w].token);
  W[w].has_read = verdict;
  W[w].attempts = (verdict -> R[W[w].job].attempts : 0)
}

inline retry(id, token_, attempts_, wait)
{
  if
  :: FENCE(id, token_) ->
    take(id);
#ifndef BUG_RETRY_SPENDS_NOTHING
    R[id].attempts = attempts_ + 1;
#endif
    R[id].failures++;
    put(id, wait);
    verdict = 1
  :: else
  fi;
  check()
}

inline bury(id, token_)
{
  if
  :: FENCE(id, token_) ->
    R[id].dead = R[id].dead | BIT(R[id].life);
    forget_job(id);
    verdict = 1
  :: else
  fi;
  check()
}

inline release(id, token_)
{
  if
  :: FENCE(id, token_) ->
    take(id);
    put(id, 0);
#ifdef BUG_RELEASE_SPENDS
    R[id].attempts++;
#endif
    verdict = 1
  :: else
  fi;
  check()
}

/* Releases the jobs of a token that no worker has. */
inline abandon(id)
{
  take(id);
#ifndef BUG_ABANDON_FORGETS
  put(id, 0);
#endif
  check()
}

inline recover(n, id)
{
  K[n].is_there = 1;
  K[n].job = id;
  K[n].token = R[id].holder;
  K[n].attempts = R[id].attempts
}

/* ---- the others ---- */

inline forget_token(token_)
{
  for (j : 0 .. JOBS - 1) {
    if
    :: R[j].completed == token_ -> R[j].completed = 0; R[j].remembers = 0
    :: else
    fi
  }
  j = 0
}

inline forget_worker(w)
{
  forget_token(W[w].token);
  W[w].state = IDLE;
  W[w].job = 0;
  W[w].token = 0;
  W[w].left = 0;
  W[w].outcome = 0;
  W[w].has_read = 0;
  W[w].attempts = 0;
  W[w].life = 0;
  W[w].has_sent = 0
}

/* The reply to an end reaches the worker, or is lost. */
inline answer(w)
{
  if
  :: verdict -> W[w].has_sent = 1
  :: else -> check_refused(w)
  fi;
  verdict = 0;
  if
  :: forget_worker(w)
  :: MAY_FAIL -> FAIL
  fi
}

#define OWN W[w].job, W[w].token
#define IS_UNHEARD(id) (R[id].in_pulled && W[0].token != R[id].holder && W[1].token != R[id].holder)
#ifdef BUG_ABANDON_ANY
#define MAY_ABANDON(id) R[id].in_pulled
#else
#define MAY_ABANDON(id) IS_UNHEARD(id)
#endif
#ifdef BUG_LAPSE_EARLY
#define HAS_LAPSED(id) R[id].in_pulled
#else
#define HAS_LAPSED(id) (R[id].in_pulled && R[id].left == 0)
#endif
#define CAN_END(w) (W[w].state == HELD || W[w].state == ENDING && W[w].outcome != FAILED && W[w].outcome != REJECTED)

proctype work(byte w)
{
end:
  do
  /* idle workers do not differ, so only the first one requests a lease */
  :: atomic { W[w].state == IDLE && (w == 0 || W[0].state != IDLE) && (CAN_LEASE(0) || CAN_LEASE(JOBS - 1)) ->
      if
      :: CAN_LEASE(0) -> lease(w, 0)
#if JOBS > 1
      :: CAN_LEASE(1) -> lease(w, 1)
#endif
      fi;
      if
      :: W[w].state = HELD; W[w].left = LEASE
      :: MAY_FAIL -> FAIL; W[w].state = ASKED
      :: MAY_FAIL -> FAIL; forget_worker(w)
      fi }
  :: atomic { W[w].state == ASKED ->
      if
      :: HOLDS(W[w].job, W[w].token) && R[W[w].job].left > 0 -> W[w].state = HELD; W[w].left = R[W[w].job].left
      :: else -> forget_worker(w)
      fi }
  :: atomic { W[w].state == HELD && MAY_FAIL -> FAIL;
      renew(OWN);
      if
      :: !verdict -> check_refused(w); forget_worker(w)
      :: verdict -> W[w].left = LEASE
      :: verdict && MAY_FAIL -> FAIL
      fi;
      verdict = 0 }
  :: atomic { W[w].state == HELD ->
      W[w].state = ENDING;
      if
      :: W[w].outcome = DONE
      :: W[w].outcome = FAILED
      :: W[w].outcome = REJECTED
      :: MAY_FAIL -> FAIL; W[w].outcome = BACK
      fi }
  :: atomic { W[w].state == ENDING && W[w].outcome == DONE -> complete(OWN); answer(w) }
  :: atomic { W[w].state == ENDING && W[w].outcome == BACK -> release(OWN); answer(w) }
  :: atomic { W[w].state == ENDING && (W[w].outcome == FAILED || W[w].outcome == REJECTED) && !W[w].has_read ->
      pulled(w);
      if
      :: verdict -> verdict = 0
      :: else -> answer(w)
      fi }
  :: atomic { W[w].state == ENDING && W[w].has_read ->
      if
      :: W[w].outcome == FAILED && W[w].attempts + 1 < RETRIES -> retry(OWN, W[w].attempts, 1)
      :: W[w].outcome == FAILED && W[w].attempts + 1 < RETRIES -> retry(OWN, W[w].attempts, 0)
      :: W[w].outcome == FAILED && W[w].attempts + 1 >= RETRIES -> bury(OWN)
      :: W[w].outcome == REJECTED -> bury(OWN)
      fi;
      W[w].has_read = 0;
      answer(w) }
  :: atomic { W[w].state != IDLE && MAY_FAIL -> FAIL; forget_worker(w) }
  od
}

proctype own(byte id)
{
end:
  do
  :: atomic { !R[id].in_jobs && LIVES_OF(id) < LIVES ->
      if
      :: true -> schedule(id, 0)
      :: true -> schedule(id, 1)
      fi }
  :: atomic { R[id].in_jobs -> cancel(id) }
  od
}

inline forget_listed(n)
{
  K[n].is_there = 0;
  K[n].job = 0;
  K[n].token = 0;
  K[n].attempts = 0;
  verdict = 0
}

#define CAN_LIST(n, id) (!K[n].is_there && HAS_LAPSED(id))
proctype keep(byte n)
{
end:
  do
#ifndef BUG_LAPSE_NEVER
  :: atomic { CAN_LIST(n, 0) -> recover(n, 0) }
#if JOBS > 1
  :: atomic { CAN_LIST(n, 1) -> recover(n, 1) }
#endif
#endif
  :: atomic { K[n].is_there ->
      if
      :: K[n].attempts + 1 < RETRIES -> retry(K[n].job, K[n].token, K[n].attempts, 1)
      :: else -> bury(K[n].job, K[n].token)
      fi;
      forget_listed(n) }
  :: atomic { K[n].is_there && MAY_FAIL -> FAIL; forget_listed(n) }
  :: atomic { n == 0 && MAY_ABANDON(0) && MAY_FAIL -> FAIL; abandon(0) }
#if JOBS > 1
  :: atomic { n == 0 && MAY_ABANDON(1) && MAY_FAIL -> FAIL; abandon(1) }
#endif
  od
}

/* ---- time ---- */

#define COUNT_DOWN(number) number = (number > 0 -> number - 1 : 0)
inline tick()
{
  for (j : 0 .. JOBS - 1) {
    COUNT_DOWN(R[j].due);
    COUNT_DOWN(R[j].left);
    COUNT_DOWN(R[j].remembers);
    R[j].completed = (R[j].remembers > 0 -> R[j].completed : 0)
  }
  for (j : 0 .. WORKERS - 1) {
    COUNT_DOWN(W[j].left)
  }
  j = 0
}

#define COUNTS(id) (R[id].due > 0 || R[id].left > 0 || R[id].remembers > 0)
#define TIME_MATTERS (COUNTS(0) || COUNTS(JOBS - 1) || W[0].left > 0 || W[1].left > 0)
#define ANY_IDLE (W[0].state == IDLE || W[1].state == IDLE)
#ifdef BUG_LAPSE_NEVER
#define CAN_LAPSE(id) false
#else
#define CAN_LAPSE(id) HAS_LAPSED(id)
#endif
#define IS_BUSY \
  (W[0].state != IDLE || W[1].state != IDLE || K[0].is_there || K[1].is_there || CAN_LAPSE(0) || CAN_LAPSE(JOBS - 1) || \
   ANY_IDLE && (CAN_LEASE(0) || CAN_LEASE(JOBS - 1)))

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
  /* for a job in the pool, there is always a next step */
  :: d_step { (R[0].in_jobs || R[JOBS - 1].in_jobs) && !IS_BUSY && !TIME_MATTERS -> assert(false) }
  od
}

init
{
  atomic {
    run work(0);
    run work(1);
    run own(0);
#if JOBS > 1
    run own(1);
#endif
    run keep(0);
#ifndef ONE_KEEPER
    run keep(1);
#endif
    run happen()
  }
}
