/* defer.pml - a model of an attempt whose receiver ends it later. Spin checks every order of events, for small
 * numbers.
 *
 * The model has one job, two consumers, a carry worker, an owner who may cancel the job, and a program that has
 * the tokens of all requests that were sent, also those of attempts that are over. As in life.pml, each script is
 * one transition. A use of a token takes up to three scripts (store/pull_end.c): it addresses the lease of a
 * worker; if that is refused, defer makes the lease of the consumer that of a worker; then it addresses that lease
 * again. Between two scripts, these events may happen, any number of times:
 * - the answer comes: 202 with Duepost-Defer, another 2xx, or a failure; or it does not come in time. The consumer
 *   sends its outcome until Redis answers;
 * - a consumer dies, or freezes for longer than its lease;
 * - the lease of the consumer or of the worker runs out;
 * - the owner cancels the job.
 *
 * pull.pml has the repeats of ends whose reply was lost, and the two steps of a lease that has run out.
 *
 * -DBUG_<NAME> adds a bug, which Spin must find. */

#ifndef RETRIES
#define RETRIES 2 /* failed attempts after which the job is dead */
#endif
#ifndef FAULTS
#define FAULTS 3 /* maximum number of faults with -DLIVE */
#endif
#define TOKENS 4 /* maximum number of attempts */
#define LEASE  1 /* length of a consumer's lease in ticks */
#define LONG   2 /* length of a lease after the token has extended it */

#ifdef LIVE
byte faults;
#define MAY_FAIL (faults < FAULTS)
#define FAIL     faults++
#else
#define MAY_FAIL true
#define FAIL     skip
#endif

/* ---- the data ---- */

#define NOBODY   0
#define CONSUMER 1
#define WORKER   2
bit in_jobs, in_bucket;
unsigned holder : 2;   /* kind of the lease */
unsigned nonce : 3;    /* of the lease; 0: none */
unsigned left : 2;     /* ticks until its deadline */
unsigned attempts : 2; /* in the record */
unsigned failures : 2; /* a number; the next three: how the job has ended */
bit delivered, dead, cancelled;
unsigned last : 3;     /* number of the last attempt, which is its token */
byte sent;             /* tokens whose request was sent; a set */

#define IDLE    0
#define CLAIMED 1
#define POSTED  2
#define ENDING  3 /* the consumer sends its outcome until an answer comes */
#define DEFERRED  0
#define SUCCEEDED 1
#define FAILED    2
#define UNANSWERED 3 /* has failed, too */
typedef consumer {
  unsigned state : 2;
  unsigned token : 3;
  unsigned left : 2; /* ticks until the deadline, by the consumer's clock */
  unsigned outcome : 2;
};
consumer C[2];

#define COMPLETE 0
#define RETRY    1
#define BURY     2
#define EXTEND   3
#define TRY   1
#define TAKE  2
#define AGAIN 3
unsigned step : 2; /* of the use of a token; 0: none */
unsigned way : 2;
unsigned used : 3; /* the token */
bit verdict;       /* result of the last script; 0 between transitions */
unsigned before : 2; /* 0 between transitions */

#define HAS_ENDED (delivered || dead || cancelled)
#define WAS_SENT(token_) (sent & (1 << (token_)))
#define HOLDS(kind, token_) (holder == kind && nonce == token_)
#ifdef BUG_ANY_ATTEMPT
#define MAY_END(token_) (holder == WORKER)
#else
#define MAY_END(token_) HOLDS(WORKER, token_)
#endif

/* The receiver's answer ends the attempt, also if its token has extended the lease before. */
#ifdef BUG_EXTEND_WINS
#define MAY_BE_ANSWERED(token_) HOLDS(CONSUMER, token_)
#else
#define MAY_BE_ANSWERED(token_) (holder != NOBODY && nonce == token_)
#endif

/* ---- what may never break ---- */

inline check()
{
  assert(in_jobs == in_bucket + (holder != NOBODY));
  assert(in_jobs + delivered + dead + cancelled == 1);
  assert((holder == NOBODY) == (nonce == 0));
  assert(attempts == failures && attempts <= RETRIES)
}

/* ---- parts of the scripts ---- */

inline take()
{
  in_bucket = 0;
  holder = NOBODY;
  nonce = 0;
  left = 0
}

inline forget_job()
{
  take();
  in_jobs = 0;
  attempts = 0;
  failures = 0
}

/* An attempt has failed: the job is tried again, or dies. */
inline fail()
{
  attempts++;
  failures++;
  take();
  if
  :: attempts < RETRIES -> in_bucket = 1
  :: else -> dead = 1; forget_job()
  fi
}

/* ---- the scripts ---- */

inline claim(c)
{
  assert(!HAS_ENDED);
  last++;
  take();
  holder = CONSUMER;
  nonce = last;
  left = LEASE;
  C[c].state = CLAIMED;
  C[c].token = last;
  C[c].left = LEASE;
  check()
}

/* The lease of the attempt becomes that of a worker. If it is one already, it does not become shorter. */
inline defer(token_, ticks)
{
  if
  :: HOLDS(CONSUMER, token_) ->
#ifndef BUG_STAYS_CONSUMER
    holder = WORKER;
#endif
    left = ticks;
    verdict = 1
  :: HOLDS(WORKER, token_) ->
    before = left;
#ifdef BUG_SHORTER
    left = ticks;
#else
    left = (ticks > left -> ticks : left);
#endif
    assert(left >= before);
    before = 0;
    verdict = 1
  :: else
  fi;
  check()
}

inline renew(c)
{
  if
  :: HOLDS(CONSUMER, C[c].token) -> left = LEASE; C[c].left = LEASE
  :: else -> C[c].left = 0
  fi;
  check()
}

/* ---- the others ---- */

/* A token ends or extends the lease of a worker. */
inline end_by_token()
{
  if
  :: !MAY_END(used) || (way == EXTEND && left == 0)
  :: MAY_END(used) && way == COMPLETE -> assert(nonce == used); delivered = 1; forget_job(); verdict = 1
  :: MAY_END(used) && way == RETRY -> assert(nonce == used); fail(); verdict = 1
  :: MAY_END(used) && way == BURY -> assert(nonce == used); dead = 1; forget_job(); verdict = 1
  :: MAY_END(used) && way == EXTEND && left > 0 -> left = LONG; verdict = 1
  fi;
  check()
}

inline forget_use()
{
  step = 0;
  way = 0;
  used = 0;
  verdict = 0
}

/* A token may be refused only if its attempt is over, or its lease has run out. */
inline check_refused()
{
  assert(nonce != used || left == 0)
}

proctype use()
{
end:
  do
  :: atomic { step == 0 && MAY_FAIL && last > 0 -> FAIL;
      if
      :: WAS_SENT(1) -> used = 1
      :: WAS_SENT(2) -> used = 2
      :: WAS_SENT(3) -> used = 3
      :: WAS_SENT(4) -> used = 4
      :: else -> goto end
      fi;
      if
      :: way = COMPLETE
      :: way = RETRY
      :: way = BURY
      :: way = EXTEND
      fi;
      step = TRY }
  :: atomic { step == TRY ->
      end_by_token();
      if
      :: verdict -> forget_use()
#ifdef BUG_NO_TAKE
      :: !verdict -> check_refused(); forget_use()
#else
      :: !verdict -> step = TAKE
#endif
      fi }
  :: atomic { step == TAKE ->
      defer(used, LEASE);
      if
      :: verdict -> step = AGAIN; verdict = 0
      :: !verdict -> check_refused(); forget_use()
      fi }
  :: atomic { step == AGAIN ->
      end_by_token();
      if
      :: verdict
      :: !verdict -> check_refused()
      fi;
      forget_use() }
  /* the process that serves the token dies */
  :: atomic { step != 0 && MAY_FAIL -> FAIL; forget_use() }
  od
}

inline forget_consumer(c)
{
  C[c].state = IDLE;
  C[c].token = 0;
  C[c].left = 0;
  C[c].outcome = 0;
  verdict = 0
}

proctype consume(byte c)
{
end:
  do
  :: atomic { C[c].state == IDLE && in_bucket && last < TOKENS && (c == 0 || C[0].state != IDLE) -> claim(c) }
  :: atomic { C[c].state == CLAIMED && C[c].left > 0 ->
      assert(HOLDS(CONSUMER, C[c].token) || HAS_ENDED);
      sent = sent | (1 << C[c].token);
      C[c].state = POSTED }
  :: atomic { C[c].state == CLAIMED && C[c].left == 0 -> forget_consumer(c) }
  :: atomic { C[c].state == POSTED && C[c].left > 0 && MAY_FAIL -> FAIL; renew(c) }
  :: atomic { C[c].state == POSTED ->
      C[c].state = ENDING;
      if
      :: C[c].outcome = DEFERRED
      :: C[c].outcome = SUCCEEDED
      :: C[c].outcome = FAILED
      :: C[c].outcome = UNANSWERED
      fi }
  :: atomic { C[c].state == ENDING ->
      if
#ifdef BUG_202_DELIVERS
      :: C[c].outcome == DEFERRED && HOLDS(CONSUMER, C[c].token) -> in_bucket = 1; delivered = 1
#else
      :: C[c].outcome == DEFERRED -> defer(C[c].token, LEASE)
#endif
      :: C[c].outcome == SUCCEEDED && MAY_BE_ANSWERED(C[c].token) -> delivered = 1; forget_job()
      :: C[c].outcome == FAILED && MAY_BE_ANSWERED(C[c].token) -> fail()
      :: C[c].outcome == UNANSWERED && HOLDS(CONSUMER, C[c].token) -> fail()
      /* an answer may be refused only if its attempt is over */
      :: else -> assert(nonce != C[c].token || C[c].outcome == DEFERRED || C[c].outcome == UNANSWERED)
      fi;
      check();
      if
      :: forget_consumer(c)
      :: MAY_FAIL -> FAIL; verdict = 0 /* the reply is lost: it is sent again */
      fi }
  :: atomic { C[c].state != IDLE && MAY_FAIL -> FAIL; forget_consumer(c) }
  od
}

proctype own()
{
  if
  :: atomic { in_jobs -> cancelled = 1; forget_job(); check() }
  :: true
  fi
}

/* Leases that have run out: that of a consumer costs no attempt, that of a worker is a failed one. */
proctype keep()
{
end:
  do
  :: atomic { holder == CONSUMER && left == 0 -> take(); in_bucket = 1; check() }
  :: atomic { holder == WORKER && left == 0 -> fail(); check() }
  od
}

/* ---- time ---- */

#define COUNT_DOWN(number) number = (number > 0 -> number - 1 : 0)
#define IS_BUSY (in_bucket && last < TOKENS || C[0].state != IDLE || C[1].state != IDLE || step != 0 || holder != NOBODY && left == 0)
proctype happen()
{
end:
  do
#ifdef LIVE
  :: d_step { left > 0 && (!IS_BUSY || MAY_FAIL) -> if :: IS_BUSY -> FAIL :: else fi; COUNT_DOWN(left); COUNT_DOWN(C[0].left); COUNT_DOWN(C[1].left) }
#else
  :: d_step { left > 0 || C[0].left > 0 || C[1].left > 0 -> COUNT_DOWN(left); COUNT_DOWN(C[0].left); COUNT_DOWN(C[1].left) }
#endif
  /* for a job in the pool, there is always a next step */
  :: d_step { in_jobs && last < TOKENS && !IS_BUSY && left == 0 -> assert(false) }
  od
}

init
{
  atomic {
    in_jobs = 1;
    in_bucket = 1;
    run consume(0);
    run consume(1);
    run use();
    run own();
    run keep();
    run happen()
  }
}
