"""The states of jobs in plain Python: the answer that each script must give, and the keyspace that it must leave.

A method has the name of its script and returns the script's answer without the time. Whether a topic is in turns or due
is worked out only when a script touches the topic, as in the product.

Words, most of which src/store/README.md and docs/redis.md explain:
    pool     all jobs that have not ended
    place    where the id of a job is: the bucket of its topic while the job waits, or leases or pulled
    turns    topics with due jobs that may be claimed, in the order in which claims serve them
    due      other topics with waiting jobs, and when to examine each again
    offer    to move a topic to turns if its jobs may be claimed now, and otherwise to due
    head     the first job of a fifo topic; after an attempt of the head, all jobs of the topic (its line) wait for it
    held     a job is held until its receiver is tried again, because a circuit breaker is open
"""

import collections
import hashlib
import json
import math
import re

from workflows import Workflows

LEASE_MS = 5000
PULL_LEASE_MAX_MS = 43_200_000
COMPLETED_MS = 60_000
A_JOB = 1048576  # a job adds this number to the turn score of its topic, divided by the topic's weight
BEHIND_MS, NEWEST_LIMIT = 500, 8
LET_IN_MAX = 16
TIES = 2048
CREDIT_US, SECOND_US, SLOT_US = 100_000, 1_000_000, 2000
PATIENCE_MS = 250  # another carry worker carries topics that the lock's owner has left overdue for this long
STEP_MS = 1000  # a larger difference of the clocks is a step
LOSSES_MAX = 5
SUSPECT_LOSSES = 2
ASIDE_MS = 600_000  # how long a suspect is set aside
OFFERED_MS = 1000
FORGOTTEN_MS = 10_000  # an answer whose idempotency key has expired longer ago counts: the clock has stepped ahead
ANSWERED_MS = 86_400_000  # how long the answer to a request with an idempotency key is kept
DEBOUNCED_MS = 3_600_000  # how much longer than its longest wait a debounce is kept; then as long as its job is in the pool
DAY_MS = 86_400_000
ATTEMPTS_MAX = 10
INF = float("inf")
FREED = "freed"  # mark of a topic that a call has touched: fewer of its jobs are in flight, and nothing else has changed
CHUNK, CHUNK_MAX, CHUNK_BYTES = 16, 256, 262144  # a call reads texts of the outbox in chunks of CHUNK to CHUNK_MAX texts, and of about CHUNK_BYTES
DISTURBED = -35

Claim = collections.namedtuple("Claim", "id due record")


def topic_of(job_id):
    return job_id.split("/")[0]


def owner_of(topic):
    """Returns the part of the topic before its first ~."""
    return topic.split("~")[0]


def is_recovering(nonce):
    """Returns whether the nonce is one of recovery, which leases a job until it has buried the job."""
    return nonce.startswith("!")


def settings_json(settings):
    """Returns the text of settings as the product writes it."""
    return json.dumps(settings, separators=(",", ":"))


def spans_in(text):
    """Returns (opens, closes) of each span in a text of the hash openings."""
    times = [int(number) for number in re.findall(r"\d+", text.partition("-")[0])]
    return list(zip(times[::2], times[1::2]))


def spans_again(text):
    """Returns when the spans are computed again because a zone is unknown, ms, or None."""
    return int(text.partition("-")[2] or 0) if "-" in text else None


def is_pulled(nonce):
    """Returns whether the nonce is the token of a worker's lease."""
    return nonce.startswith("p")


def head_of(record):
    """Returns expiry and flags of the head of a record, or None if the record has none, as those of earlier versions."""
    found = re.match(r'{"createdAt":\d+,"head":"1 (\d+) 0 0 (\S+) ', record)
    return found and (int(found[1]) or INF, found[2])


def expiry_of(record):
    """Returns when the job with this record expires, ms; INF: never."""
    if head_of(record):
        return head_of(record)[0]
    found = re.match(r'{"createdAt":(\d+),"url":"h","ttl":([\d.]+)', record)
    return int(found[1]) + round(float(found[2]) * 1000) if found else INF


def is_expired(record, now):
    return now >= expiry_of(record)


def expiry_nonce(record):
    """Returns the nonce under which an expired job is buried if it waits."""
    return "=" + hashlib.sha1(record.encode()).hexdigest()[:30]


def record_of(created, text):
    """Returns the record of a job that is created at this time. In the head of a new job, + precedes the ttl in ms."""
    text = re.sub(r'^("head":"1 )\+(\d+)', lambda found: f"{found[1]}{created + int(found[2])}", text)
    return f'{{"createdAt":{created},{text}'


class Pool(Workflows):
    def __init__(self, limit):
        super().__init__()
        self.limit = limit
        self.now_us = 0
        self.jobs = {}  # id -> record
        self.bucket, self.leases, self.pulled = {}, {}, {}  # id -> due time or end of the lease in ms; in the bucket with a fraction, see put
        self.progress = {}  # id of a job that a worker has -> how far it is, as it has reported
        self.pull_notes = {}  # id -> (when the worker's lease began; + if the job may have callbacks, else -)
        self.answered = {}  # idempotency key -> (fingerprint, expiry, nonce, ids) of a call of lease
        self.replies = {}  # other idempotency key, or key of a throttle or debounce -> (fingerprint, throttle or debounce; number; expiry; id)
        self.reply_times = {}  # the same key -> ms when forget examines it
        self.openings, self.openings_wanted = {}, set()  # topic with windows -> text of the spans in which it is open; topics whose spans are missing or end soon
        self.awaited = {}  # pull topic -> ms until which a process waits for its jobs
        self.asks_for_openings = False  # whether the call has told the owner of the lock that openings are wanted
        self.calls = []  # pull topics with new jobs, of which the call has notified the processes that wait
        self.shown, self.last_scores = None, {}  # shown: the buckets without the entries that the current call adds, see show
        self.holders = {}  # id -> (nonce, due)
        self.lingering = {}  # (id, nonce) -> ms: attempts of cancelled and replaced jobs, which still count as in flight
        self.replaced = set()  # those of replaced jobs
        self.crashes = {}  # id -> (losses, nonce)
        self.suspects = {}  # "id\nnonce" of the suspect that was attempted last -> 0, or "id\n" of the one that was offered last -> -ms; id of another suspect -> ms
        self.attempts = {}  # id -> the lines of the last attempts, one each
        self.expiries, self.new_expiries = {}, []  # id -> ms: an index of the jobs that expire, which may be wrong; (id, ms): what the call adds
        self.kept = {}  # id -> (state, ms, losses, record, lines) of a job that has ended
        self.kept_until = {}  # id -> ms until which a delivered or cancelled job is kept
        self.dead_due = {}  # topic -> ms
        self.undated = {}
        self.due = {}  # topic -> ms
        self.held = {}  # id -> when it was due, for jobs that are held until their receiver is tried again
        self.line = {}  # fifo topic -> (ms when the next attempt of its head may begin, score and id of the head)
        # Jobs that were put back behind the head of their line. The head's next attempt also waits until these jobs
        # are due; when the head has ended, they are due at once.
        self.behind_line = set()
        self.turn_scores = {}  # topic in turns -> its score there: the topic with the lowest score is served first
        self.offered = {}  # in the current call: topic -> whether it may be served
        self.settings = {}  # topic -> the settings that an operator has made
        self.patterns, self.patterns_version = {}, 0  # pattern -> the settings that an operator has made
        self.redates = False
        self.resumes = False  # a later step has to find the topics whose breaker was turned off by a change of patterns
        self.without_url = set()  # topics that hold jobs for want of a url: Redis has the key breaker:/<topic>
        self.lost_patterns = set()  # the patterns from which the setting "breaker" was removed before that step
        self.limits = {}  # name of a limit that topics share -> its settings. In rates, "~" and the name stand for the limit
        self.limited = {}  # topic -> (number of its attempts that count for a limit, the limit)
        self.limit_waits = {}  # limit -> {topic with due jobs that only the limit may hold: its number}
        self.freed = set()  # limits of which the current call may have freed places
        self.windows = {}  # topic -> (us when the window of its rate began, its attempts)
        self.spent = {}  # topic -> us up to which its rate is used up
        self.begun = {}  # topic -> ({slot: number of attempts that began in it}, the first slot that counts, time of the last change in us)
        self.bell = []
        self.touched = {}  # topic that the call has changed (in order) -> True; False: only jobs were added to its bucket; FREED: only attempts have ended
        self.places = {}  # topic -> [(id, score)]: entries that this call adds to the topic's bucket
        self.sends = {}  # topic/jobId -> (mark, group, endpoints, createdAt) of what was sent to a group
        self.sends_until = {}  # topic/jobId -> ms, when a call has to examine again what was sent to the group
        self.schedules = {}  # topic/scheduleId -> definition
        self.fired = {}  # topic/scheduleId -> (tag, outcome, missed, time, when that was written, id of the last job)
        self.expected = {}  # topic/scheduleId -> (expectBy and jitter, next time or '-', when a job was last delivered, times that have come)
        self.skipped = {}  # topic/scheduleId -> until, front, first, last, ...: ranges of the schedule's times that were missed and skipped
        self.fires = {}  # topic/scheduleId -> time of the next occurrence, ms
        self.backlog = 0  # bytes of the outbox; 0: there is no history
        self.outbox, self.outbox_ids, self.outbox_read = {}, [], []  # field -> text; fields not read yet; fields that were read
        self.outbox_last, self.outbox_again, self.outbox_removed = {}, 0, 0
        self.ends, self.dropped = [], []  # (id, text) of all jobs that came into the outbox, and of those that left it without reaching a history
        self.ending = []  # the jobs that the current call ends
        self.ended_before = set()  # the ids of jobs that the current call has ended
        self.follow = ()  # follow-ups of the next call, jobs that it schedules: (position of the item that must succeed, id, when, record)

    @property
    def turns(self):
        return sorted(self.turn_scores, key=lambda topic: (self.turn_scores[topic], topic))

    @property
    def now(self):
        return self.now_us // 1000

    @property
    def soonest(self):
        return -(-self.now_us // 1000)

    # ---- places ----

    def waiting(self, topic):
        """Returns (due, id) of a topic's waiting jobs, sorted."""
        return sorted((due, job_id) for job_id, due in self.bucket.items() if topic_of(job_id) == topic)

    def in_flight(self, topic):
        return sum(topic_of(job_id) == topic for job_id in (*self.holders, *(job_id for job_id, _ in self.lingering)))

    def limit_of(self, topic):
        return 1 if self.is_fifo(topic) else self.settings_of(topic).get("maxInFlight", INF if self.is_pull(topic) else self.limit)

    def is_pull(self, topic):
        return self.settings_of(topic).get("delivery") == "pull"

    def deadline(self, job_id):
        return self.leases.get(job_id, self.pulled.get(job_id))

    def is_fifo(self, topic):
        return self.settings_of(topic).get("order") == "fifo"

    def line_until(self, topic):
        """Returns the time until which the head waits for its next attempt, or None."""
        at, score, job_id = self.line.get(topic, (0, 0, ""))
        return at if at > self.now and self.waiting(topic)[:1] == [(score, job_id)] else None

    def hold_line(self, job_id, due, at):
        topic = topic_of(job_id)
        old_at, old_due, old_id = self.line.get(topic, (0, 0, job_id))
        at = max(at, int(due))
        if old_id != job_id:
            at = max(at, old_at)
            if old_due < due:
                job_id, old_id, due = old_id, job_id, old_due
            self.behind_line.add(old_id)
        self.line[topic] = (at, due, job_id)

    def let_go(self, job_id, due=0):
        """If the job is the head of a line, allows its next attempt from the time `due` on; 0: at once."""
        topic = topic_of(job_id)
        if self.is_fifo(topic):
            if topic in self.line and self.line[topic][2] == job_id:
                self.line[topic] = (math.floor(due), *self.line[topic][1:])
            self.touched[topic] = True

    def keep_line(self, topic):
        """Makes sure that the head of a fifo topic's line stays its first job. Removes the line if the head has ended."""
        waiting = self.waiting(topic)
        held = sorted((due, job_id) for job_id, due in self.held.items() if topic_of(job_id) == topic)
        if waiting and held and held[0][0] < waiting[0][0]:
            due, job_id = held[0]
            self.behind_line.add(self.line.get(topic, (0, 0, job_id))[2])
            self.line[topic] = (max(int(self.bucket[job_id]), self.line.get(topic, (0,))[0]), due, job_id)
            self.bucket[job_id] = due
            waiting = held
        at, score, job_id = self.line.get(topic, (0, 0, None))
        if not job_id or waiting[:1] == [(score, job_id)]:
            return
        if self.bucket.get(job_id) == score:
            at = max(at, int(score))
            score = waiting[0][0] - 1 / TIES
            self.bucket[job_id] = score
            self.line[topic] = (at, score, job_id)
        else:
            del self.line[topic]

    def again(self, job_id, due, at):
        """Puts a job back into its bucket. Its next attempt may begin at the time `at`; None: at once."""
        is_fifo = self.is_fifo(topic_of(job_id))
        self.note_expiry_again(job_id)
        if is_fifo or at is None or due > at:
            self.put_back(job_id, due)
        else:
            self.put(job_id, at)
        if is_fifo:
            self.hold_line(job_id, due, at or 0)

    def leave_line(self, topic):
        if topic not in self.line or self.is_fifo(topic):
            return
        at, score, job_id = self.line.pop(topic)
        held = self.held.get(job_id)
        if self.bucket.get(job_id) == score and at > int(score):
            self.put(job_id, at)
            if held is not None:
                self.held[job_id] = held

    def rate_of(self, topic):
        """Returns the state of the topic's rate: (us between two attempts, us that may be used in advance, us up to which the rate is used up), or None."""
        rate = self.settings_of(topic).get("rate")
        if not rate:
            return None
        step = rate["per"] * 1_000_000 / rate["jobs"]
        ahead = rate["burst"] * step
        return step, ahead, min(self.spent.get(topic, 0), self.now_us + ahead)

    def correct_rate(self, topic):
        """Corrects the time up to which the rate is used up, if this time is from before a step back of the clock or a change of the rate."""
        if self.window_rate(topic) or not self.rate_of(topic):
            return
        step, ahead, _ = self.rate_of(topic)
        if self.spent.get(topic, 0) > self.now_us + ahead + step / 100000 + 1:
            self.spent[topic] = math.ceil(self.now_us + ahead)

    def spent_since(self, topic, spent, first_due):
        """Returns the time up to which the rate is used up. While a due job waits, this time may lie up to CREDIT_US in the past,
        so that a late claim may also begin the attempts that an earlier claim could have begun."""
        return max(spent, self.now_us - CREDIT_US, min(int(first_due) * 1000, self.now_us))

    def most_in_second(self, topic):
        rate = self.settings_of(topic)["rate"]
        return math.floor(rate["jobs"] / rate["per"] + 0.000001) + rate["burst"]

    def begun_in_second(self, topic):
        """Returns {slot: attempts} of the last second, and the number of the first slot in it."""
        first = (self.now_us - SECOND_US) // SLOT_US
        slots, known_first, _ = self.begun.get(topic, ({}, first, 0))
        if first - known_first > SECOND_US // SLOT_US or known_first * SLOT_US > self.now_us:
            return {}, first
        return {slot: number for slot, number in slots.items() if slot >= first}, max(first, known_first)

    def window_rate(self, topic):
        rate = self.settings_of(topic).get("rate")
        return rate if rate and rate.get("window") else None

    def window(self, topic, rate):
        """Returns the current window of the rate, or None."""
        began, number = self.windows.get(topic, (INF, 0))
        is_over = began > self.now_us or self.now_us >= began + rate["per"] * 1_000_000
        return None if is_over else (began, number)

    def tokens_of_window(self, topic, rate):
        began, number = self.window(topic, rate) or (0, 0)
        left = rate["jobs"] - number
        return left, self.soonest if left > 0 else max(self.soonest, math.ceil((began + rate["per"] * 1_000_000) / 1000))

    def tokens(self, topic, first_due=None):
        """Returns how many attempts may begin now, and from which ms on the next one may. first_due: when the first waiting job became
        due, if that is not in the topic's bucket."""
        if self.window_rate(topic):
            return self.tokens_of_window(topic, self.window_rate(topic))
        rate = self.rate_of(topic)
        if not rate:
            return INF, 0
        step, ahead, spent = rate
        if first_due is None:
            first_due = self.first_due(topic)
        spent = self.spent_since(topic, spent, first_due)
        tokens = math.floor((ahead + (self.now_us - spent)) / step + 0.000001)
        if tokens < 1:
            return tokens, max(self.soonest, math.ceil((spent + (step - ahead)) / 1000))
        slots, _ = self.begun_in_second(topic)
        left = self.most_in_second(topic) - sum(slots.values())
        if left < 1:
            return left, max(self.soonest, math.ceil(((min(slots) + 1) * SLOT_US + SECOND_US) / 1000))
        return min(tokens, left), self.soonest

    def spend(self, topic, number, first_due):
        if not number:
            return
        if self.window_rate(topic):
            began, before = self.window(topic, self.window_rate(topic)) or (self.now_us, 0)
            self.windows[topic] = (began, before + number)
            self.begun.pop(topic, None)
            return
        self.windows.pop(topic, None)
        step, _, spent = self.rate_of(topic)
        self.spent[topic] = math.ceil(self.spent_since(topic, spent, first_due) + number * step)
        slots, first = self.begun_in_second(topic)
        slot = self.now_us // SLOT_US
        slots[slot] = slots.get(slot, 0) + number
        self.begun[topic] = (slots, first, self.now_us)

    # ---- limits that topics share ----

    def first_due(self, topic):
        waiting = self.waiting(topic)
        return waiting[0][0] if waiting else self.now

    def shared(self, topic):
        """Returns the limit of the topic, or None."""
        name = self.settings_of(topic).get("limit")
        return name if name in self.limits else None

    def used(self, name):
        return sum(number for number, limit in self.limited.values() if limit == name)

    def count_limited(self, topic):
        old, old_name = self.limited.pop(topic, (0, None))
        name = self.shared(topic)
        number = self.in_flight(topic) if name else 0
        if number:
            self.limited[topic] = number, name
        if old and (name != old_name or number < old):
            self.freed.add(old_name)

    def limit_room(self, name, first_due, planned=0):
        """Returns how many attempts may begin under the limit now, and, if its rate allows none, the time of the next one."""
        own = self.limits[name]
        if own.get("paused"):
            return 0, None
        room = own.get("maxInFlight", INF) - self.used(name) - planned
        if room < 1 or "rate" not in own:
            return room, None
        tokens, next_at = self.tokens("~" + name, first_due)
        return (0, next_at) if tokens - planned < 1 else (min(room, tokens - planned), None)

    def begin_limited(self, topic, spending, first_due):
        """Counts attempts that begin now, after their leases."""
        name = self.shared(topic)
        if name:
            self.count_limited(topic)
            if "rate" in self.limits[name]:
                self.spend("~" + name, spending, first_due)
            self.leave_limit(topic, name)

    def leave_limit(self, topic, name):
        if self.limit_waits.get(name, {}).pop(topic, None):
            self.freed.add(name)

    def limited_until(self, topic, first_due, is_offer):
        name = self.shared(topic)
        if not name:
            return None
        if is_offer:
            self.correct_rate("~" + name)
        room, next_at = self.limit_room(name, first_due)
        if self.is_pull(topic) and room >= 1:
            return None
        waiting = self.limit_waits.setdefault(name, {})
        if is_offer:
            self.has_asked = True
            waiting.setdefault(topic, max(waiting.values(), default=0) + 1)
        line = sorted(waiting, key=waiting.get)
        rank = line.index(topic) if topic in waiting else len(line)
        if rank < min(room, LET_IN_MAX):
            return None
        return next_at if rank == 0 and next_at else INF

    def to_let_in(self, name):
        waiting = self.limit_waits.get(name, {})
        while waiting:
            first = min(waiting, key=waiting.get)
            if self.shared(first) == name:
                break
            del waiting[first]
        if not waiting:
            return []
        self.correct_rate("~" + name)
        room, next_at = self.limit_room(name, self.first_due(first))
        if room < 1:
            return [first] if next_at and self.due.get(first) == INF else []
        return [topic for topic in sorted(waiting, key=waiting.get)[:int(min(room, LET_IN_MAX))] if topic not in self.turn_scores]

    def let_in(self):
        """Offers the first topics that wait for limits of which the call has freed places. Returns whether any may be served."""
        is_any_ready = False
        for _ in range(3):
            names, self.freed = sorted(self.freed), set()
            for name in names:
                for topic in self.to_let_in(name):
                    self.offer(topic)
            is_any_ready = is_any_ready or any(self.offered.values())
            self.write_offers()
        self.freed = set()
        return is_any_ready

    def set_limit(self, name, settings):
        if settings is None:
            users = sorted(user for users in (self.settings, {pattern: self.with_patterns(pattern[:-1], {}) for pattern in self.patterns})
                           for user, own in users.items() if own.get("limit") == name)
            if users:
                return [2, *users]
            del self.limits[name]
            self.limit_waits.pop(name, None)
        else:
            self.limits[name] = settings
        if "rate" not in (settings or {}):
            for kept in (self.spent, self.windows, self.begun):
                kept.pop("~" + name, None)
        if settings is not None:
            self.freed.add(name)
            self.finish()
        return [1]

    # ---- offers ----

    def held_until(self, topic, is_offer=False):
        """Returns the time until which the jobs of the topic must not be claimed; None: they may be claimed now."""
        if self.settings_of(topic).get("paused"):
            return INF
        if self.closed_until(topic, is_offer):
            return self.closed_until(topic, is_offer)
        if self.in_flight(topic) >= self.limit_of(topic):
            return INF
        if self.is_fifo(topic) and self.line_until(topic):
            return self.line_until(topic)
        if self.batch_until(topic, is_offer):
            return self.batch_until(topic, is_offer)
        if is_offer:
            self.correct_rate(topic)
        tokens, next_at = self.tokens(topic)
        if tokens < 1:
            return next_at
        return self.limited_until(topic, int(self.first_due(topic)), is_offer)

    def batch_until(self, topic, is_offer=False):
        """Returns the time until which the jobs of the topic wait for their batch: until as many as one batch are due, or the first one has
        waited long enough. None: they do not wait."""
        batch = self.settings_of(topic).get("batch")
        places = self.bucket if is_offer or self.shown is None else self.shown
        dues = sorted(int(due) for job_id, due in places.items() if topic_of(job_id) == topic)
        if not batch or not dues:
            return None
        at = min([math.ceil(dues[0] + 1000 * batch.get("wait", 0)), *dues[batch["size"] - 1:batch["size"]]])
        return at if at > self.now else None

    def closed_until(self, topic, may_ask=False):
        """Returns the time at which the windows of the topic open, INF if it is not known, or None if they are open. may_ask: the caller
        asks for spans if those that are known end soon."""
        if "windows" not in self.settings_of(topic):
            return None
        left = [span for span in spans_in(self.openings.get(topic, "")) if self.now < span[1]]
        again = spans_again(self.openings.get(topic, ""))
        asks = (not left or len(left) == 1 and left[0][1] - self.now < DAY_MS) if again is None else again <= self.now
        if may_ask and asks and topic not in self.openings_wanted:
            self.openings_wanted.add(topic)
            self.asks_for_openings = True
        opens = left[0][0] if left else INF
        if opens <= self.now:
            return None
        return min(opens, again) if again and not asks else opens

    def is_open(self, topic):
        """Returns whether an attempt of the topic may begin now, by its windows."""
        return "windows" not in self.settings_of(topic) or any(opens <= self.now < closes for opens, closes in spans_in(self.openings.get(topic, "")))

    def store_openings(self, items, listed, left):
        """items: topic, settings as they were listed, and spans. left: the topics that Redis now has in openings_wanted; if the call lists
        few topics, it chooses them at random."""
        for topic, settings, spans in items:
            if self.own_text(topic) == settings:
                self.openings[topic] = spans
                self.openings_wanted.discard(topic)
                self.touched[topic] = True
        self.finish()
        for topic in self.openings_wanted - left:
            if "windows" not in self.settings_of(topic):
                self.openings_wanted.discard(topic)
                self.openings.pop(topic, None)
        may_list = {topic for topic in self.openings_wanted if "windows" in self.settings_of(topic)}
        return [word for topic in listed[::2] for word in (topic, self.own_text(topic) if topic in may_list else "is not listed")]

    def own_text(self, topic):
        """Returns the settings of the topic as text, without those of its owner."""
        own = self.settings.get(topic)
        return self.told_settings(topic) if "~" not in topic else settings_json(own) if own else ""

    def offer(self, topic):
        self.has_asked = False
        if self.is_fifo(topic) and (self.line or self.held):
            self.keep_line(topic)
        waiting = self.waiting(topic)
        is_due = waiting and self.is_due(waiting[0][0])
        held_until = is_due and self.held_until(topic, True)
        if is_due and not held_until and self.is_pull(topic):
            held_until = INF
            if self.awaited.get(topic, 0) > self.now:
                self.calls.append(topic)
        if self.shared(topic) and not self.has_asked:
            self.leave_limit(topic, self.shared(topic))
        self.due.pop(topic, None)
        if waiting and (not is_due or held_until):
            self.due[topic] = held_until if is_due else int(waiting[0][0])
        if not is_due or held_until:
            self.offered[topic] = False
        else:
            self.offered[topic] = True

    def write_offers(self, served=None):
        """Writes the new turn scores. served: topic -> its new score after jobs of it were leased, or None if no job was leased.
        Without served, topics in turns keep their scores."""
        for topic, is_ready in self.offered.items():
            if not is_ready:
                self.turn_scores.pop(topic, None)
        last = max(self.turn_scores.values(), default=0)
        for topic in (topic for topic, is_ready in self.offered.items() if is_ready):
            score = served and served[topic]
            if not score:
                last += 1
                score = last
            if served or topic not in self.turn_scores:
                self.turn_scores[topic] = score
        self.offered = {}

    def ring(self):
        if self.turns and not self.bell:
            self.bell = [self.turns[0]]

    def write_expiries(self):
        for job_id, at in self.new_expiries:
            self.expiries[job_id] = min(self.expiries.get(job_id, INF), at)
        self.new_expiries = []

    def finish(self):
        self.write_expiries()
        self.date_dead()
        self.write_outbox()
        self.ended_before.clear()
        self.offer_suspect()
        for topic in self.touched:
            self.count_limited(topic)
        for topic, has_changed in self.touched.items():
            if topic in self.places and not self.are_behind(topic, self.places[topic]):
                has_changed = True
            if topic in self.places and "batch" in self.settings_of(topic):
                has_changed = True
            if has_changed == FREED:
                has_changed = self.due.get(topic, INF) == INF
            if has_changed:
                self.offer(topic)
        is_any_ready = any(self.offered.values())
        self.write_offers()
        if self.let_in() or is_any_ready:
            self.ring()
        self.touched, self.places = {}, {}
        self.shown, self.last_scores = None, {}

    # ---- suspects ----

    def suspect_in_flight(self):
        """Returns the entry of the suspect whose attempt runs, or None."""
        for place, score in self.suspects.items():
            job_id, _, nonce = place.partition("\n")
            if score == 0 and (self.holders.get(job_id, ("",))[0] == nonce or (job_id, nonce) in self.lingering):
                return place
        return None

    def note_attempted(self, job_id, nonce):
        self.suspects = {name: score for name, score in self.suspects.items() if score > 0 and name != job_id}
        self.suspects[f"{job_id}\n{nonce}"] = 0

    def offer_suspect(self):
        if self.suspect_in_flight() or any(score < 0 and 0 <= self.now + score < OFFERED_MS for score in self.suspects.values()):
            return
        self.suspects = {name: score for name, score in self.suspects.items() if score > 0}
        for job_id in sorted(self.suspects, key=lambda name: (self.suspects[name], name))[:16]:
            del self.suspects[job_id]
            if self.losses(job_id) >= SUSPECT_LOSSES and job_id in self.bucket and (self.shown is None or job_id in self.shown):
                self.resume_jobs([job_id])
                self.suspects[job_id + "\n"] = -self.now
                return

    def set_suspects_aside(self, places):
        """Returns the jobs that the claim may lease."""
        allowed = []
        for due, job_id in places:
            is_suspect = self.losses(job_id) >= SUSPECT_LOSSES
            if is_suspect and self.next_suspect is None:
                self.next_suspect = not self.suspect_in_flight() and job_id
            if not is_suspect or self.next_suspect == job_id:
                allowed.append((due, job_id))
                continue
            due = self.held.get(job_id, due)
            self.again(job_id, due, self.now + ASIDE_MS)
            self.held[job_id] = due
            self.suspects[job_id] = self.now
        return allowed

    def are_behind(self, topic, places):
        """Returns whether these jobs are new, and are due after all other jobs of their topic, or after a job that is not due.
        The topic then keeps its turn."""
        others = [score for other, score in self.shown.items() if topic_of(other) == topic]
        ids = [job_id for job_id, _ in places]
        are_new = len(set(ids)) == len(ids) and not any(job_id in self.shown for job_id in ids)
        waiting = self.waiting(topic_of(ids[0]))
        if not waiting:  # a later item of the call has removed the jobs again
            return False
        first, front = min(score for _, score in places), waiting[0][0]
        return others and are_new and (first >= max(others) or front < first and not self.is_due(front))

    def is_due(self, score):
        return score < self.now + 1

    def coming(self, spans):
        """Returns the number of waiting jobs that are overdue, that become due within each span, and that become due later."""
        counts, ends = [0] * (len(spans) + 2), [self.now + 1] + [self.now + 1 + span for span in spans]
        for topic in {topic_of(job_id) for job_id in self.bucket}:
            for place, (score, job_id) in enumerate(self.waiting(topic)):
                at = 0 if job_id in self.held else score
                if place == 0 and self.is_fifo(topic):
                    at = max(at, self.line_until(topic) or 0)
                counts[sum(at >= end for end in ends)] += 1
        return counts

    def show(self):
        """Copies the buckets before their first change, because the script reads the old entries until it writes the new ones at its end."""
        if self.shown is None:
            self.shown = dict(self.bucket)

    def put_back(self, job_id, score):
        """Puts a job back into its bucket, with the score that it had."""
        self.show()
        self.touched.setdefault(topic_of(job_id), False)
        self.places.setdefault(topic_of(job_id), []).append((job_id, score))
        self.held.pop(job_id, None)
        self.bucket[job_id] = score

    def put(self, job_id, at):
        """Puts a job after the others that are due in the same ms. In the model, one ms has room for all jobs. Returns the ms."""
        self.show()
        topic = topic_of(job_id)
        if (topic, at) not in self.last_scores:
            scores = [score for other, score in self.shown.items() if topic_of(other) == topic and at <= score < at + 1]
            self.last_scores[topic, at] = max(scores, default=None)
        last = self.last_scores[topic, at]
        self.last_scores[topic, at] = at if last is None else last + 1 / TIES
        self.put_back(job_id, self.last_scores[topic, at])
        return at

    def put_new(self, job_id, at):
        """Puts a job that is new, or was dead, into its bucket. If the topic is paused because its head with this id has died, the job is the head again."""
        topic, name = job_id.split("/", 1)
        own = self.settings_of(topic)
        self.show()
        first = min((score for other, score in self.shown.items() if topic_of(other) == topic), default=INF)
        if not own.get("paused") or not self.is_fifo(topic) or own.get("pauseReason") != f"job {name} is dead" or first > at:
            return self.put(job_id, at)
        score = first - 1 / TIES
        self.put_back(job_id, score)
        self.touched[topic] = True
        self.hold_line(job_id, score, at)
        return max(at, int(score))

    def touch_freed(self, topic):
        if self.touched.get(topic) is not True:
            self.touched[topic] = FREED

    def take(self, job_id, is_completed=False):
        """Removes the id from its bucket or lease, and returns the name of that place."""
        self.show()
        self.shown.pop(job_id, None)
        if is_completed and job_id in (self.leases | self.pulled):
            self.touch_freed(topic_of(job_id))
        else:
            self.touched[topic_of(job_id)] = True
        self.holders.pop(job_id, None)
        self.pull_notes.pop(job_id, None)
        self.held.pop(job_id, None)
        for name in ("leases", "pulled", "bucket"):
            if getattr(self, name).pop(job_id, None) is not None:
                return name
        return None

    def note(self, job_id, line):
        if line:
            self.attempts[job_id] = (self.attempts.get(job_id, []) + [line])[-ATTEMPTS_MAX:]

    def lines(self, job_id):
        return "".join(line + "\n" for line in self.attempts.get(job_id, []))

    def retention(self, job_id):
        """ms, or None."""
        seconds = self.settings_of(owner_of(topic_of(job_id))).get("retention")
        return seconds and round(seconds * 1000)

    @property
    def dead(self):
        """id -> ms"""
        return {job_id: at for job_id, (state, at, *_) in self.kept.items() if state == "dead"}

    def drop(self, job_id):
        if job_id in self.kept:
            if self.kept.pop(job_id)[0] == "dead":
                self.undated[topic_of(job_id)] = True
            self.kept_until.pop(job_id, None)

    # ---- the outbox ----

    def archive(self, job_id, state, at, losses, record, lines):
        if self.backlog:
            if job_id in self.ended_before:  # the script then first writes the ends that it has collected, and drops those that are too many
                self.write_outbox()
            self.ended_before.add(job_id)
            self.ending.append((job_id, f"{state} {at} {losses} {len(record)} {record}{lines}"))

    def last_end(self, job_id):
        return self.outbox.get(self.outbox_last.get(job_id, job_id))

    def outbox_bytes(self):
        return sum(2 * len(field) + len(text) for field, text in self.outbox.items())

    def write_outbox(self):
        for job_id, text in self.ending:
            self.outbox_last.pop(job_id, None)
            field = job_id
            if job_id in self.outbox:
                self.outbox_again += 1
                field = self.outbox_last[job_id] = f"{job_id}\nb{self.outbox_again}"
            self.outbox[field] = text
            self.outbox_ids.append(field)
            self.ends.append((job_id, text))
        if self.ending:
            self.ending = []
            self.drop_oldest()

    def remove_text(self, field):
        job_id = field.split("\n")[0]
        if self.outbox_last.get(job_id) == field:
            del self.outbox_last[job_id]
        return job_id, self.outbox.pop(field)

    def drop_oldest(self):
        while self.outbox_ids and self.outbox_bytes() > self.backlog:
            self.dropped.append(self.remove_text(self.outbox_ids.pop(0)))

    def read_outbox(self, backlog, most, max_bytes, in_hand):
        self.backlog = backlog
        if backlog:
            self.drop_oldest()
        answer = [len(self.outbox), self.outbox_bytes(), len(self.dropped), self.outbox_removed, 0]
        offset, chunk, left = min(in_hand, len(self.outbox_read)), CHUNK, max_bytes
        while backlog and most > 0 and left > 0:
            fields = self.outbox_read[offset:offset + min(most, chunk)]
            if not fields:
                fields, self.outbox_ids = self.outbox_ids[:min(most, chunk)], self.outbox_ids[min(most, chunk):]
                self.outbox_read += fields
            if not fields:
                break
            read = []
            for field in fields:
                if left > 0:
                    read.append(field)
                    left -= len(self.outbox[field])
            answer += [read, [self.outbox[field] for field in read]]
            most, offset = most - len(read), offset + len(read)
            chunk = max(CHUNK, min(CHUNK_MAX, int(CHUNK_BYTES // ((max_bytes - left) / len(read) + 1))))
        return answer

    def remove_archived(self, place, fields):
        if place != self.outbox_removed or self.outbox_read[:len(fields)] != fields:
            return [DISTURBED]
        for field in fields:
            self.remove_text(field)
        self.outbox_read = self.outbox_read[len(fields):]
        self.outbox_removed += len(fields)
        return [len(fields)]

    # ---- ends ----

    def with_progress(self, job_id, record):
        progress = self.progress.get(job_id)
        return f'{record[:-1]},"progress":{progress}}}' if progress and record.endswith("}") else record

    def keep(self, job_id, state, at, losses, record, lines):
        record = self.with_progress(job_id, record)
        self.archive(job_id, state, at, losses, record, lines)
        self.drop(job_id)
        self.kept[job_id] = (state, at, losses, record, lines)
        if state == "dead":
            self.undated[topic_of(job_id)] = True
        else:
            self.kept_until[job_id] = at + self.retention(job_id)

    def end_job(self, job_id, state, line=""):
        """Removes the job from the pool, and keeps it if its topic has a retention."""
        if self.retention(job_id) or self.backlog:
            self.note(job_id, line)
            keep = self.keep if self.retention(job_id) else self.archive
            record = self.jobs[job_id] if self.retention(job_id) else self.with_progress(job_id, self.jobs[job_id])
            keep(job_id, state, self.now, self.losses(job_id), record, self.lines(job_id))
        del self.jobs[job_id]
        self.forget(job_id)
        self.leave(job_id)

    def die(self, job_id, record, losses, line=""):
        self.note(job_id, line)
        self.keep(job_id, "dead", self.now, losses, record, self.lines(job_id))
        del self.jobs[job_id]
        self.forget(job_id)

    def bring_back(self, job_id, record=None):
        _, _, _, old, lines = self.kept[job_id]
        self.jobs[job_id] = old if record is None else record
        self.note_expiry(job_id, self.jobs[job_id])
        if lines:
            self.attempts[job_id] = lines.splitlines()
        self.drop(job_id)

    def date_dead(self):
        for topic in self.undated:
            times = [at for job_id, at in self.dead.items() if topic_of(job_id) == topic]
            self.dead_due.pop(topic, None)
            if times:
                self.dead_due[topic] = min(times) + (self.retention(topic) or INF)
        self.undated = {}

    def forget(self, job_id):
        self.progress.pop(job_id, None)
        self.crashes.pop(job_id, None)
        self.attempts.pop(job_id, None)
        self.expiries.pop(job_id, None)

    def state(self, job_id):
        if job_id in self.leases or job_id in self.pulled:
            return "leased", self.deadline(job_id)
        if job_id in self.bucket:
            return ("ready" if self.is_due(self.bucket[job_id]) else "delayed"), int(self.bucket[job_id])
        raise KeyError(job_id)

    def losses(self, job_id):
        return self.crashes.get(job_id, (0, ""))[0]

    # ---- expiries ----

    def note_expiry(self, job_id, record):
        if head_of(record) and head_of(record)[0] < INF:
            self.new_expiries.append((job_id, head_of(record)[0]))

    def note_expiry_again(self, job_id):
        if job_id in self.expiries:
            self.note_expiry(job_id, self.jobs[job_id])

    def note_expiries(self):
        """Notes the expiries of all jobs, also those of records without a head."""
        self.new_expiries += [(job_id, expiry_of(record)) for job_id, record in self.jobs.items() if expiry_of(record) < INF]

    def count_expired(self):
        return sum(at <= self.now for at in self.expiries.values())

    def room(self, max_jobs):
        """Returns how many jobs may be added. If the pool is full, jobs that have expired do not count."""
        number = len(self.jobs)
        return max_jobs - number + (self.count_expired() if number >= max_jobs else 0) if max_jobs else INF

    def has_expired(self, job_id, nonce):
        """Returns whether the job waits and has expired, and still has the record that the nonce names."""
        record = self.jobs.get(job_id)
        return record and self.deadline(job_id) is None and expiry_nonce(record) == nonce and is_expired(record, self.now)

    def is_first(self, job_id):
        """Returns whether this waiting job is the first one of its topic, and none is in flight."""
        self.show()
        scores = {(at, other) for other, at in self.shown.items() if topic_of(other) == topic_of(job_id)}
        return not self.in_flight(topic_of(job_id)) and min(scores)[1] == job_id

    def expire(self, most, expected):
        """Lists waiting jobs that have expired, and corrects the entries of others."""
        if abs(self.now - expected) > STEP_MS:
            return [-1]
        listed = []
        ids = [job_id for at, job_id in sorted((at, job_id) for job_id, at in self.expiries.items()) if at <= self.now][:most]
        for job_id in ids:
            record, deadline = self.jobs.get(job_id, ""), self.deadline(job_id)
            expires = expiry_of(record)
            if expires == INF:
                del self.expiries[job_id]
                continue
            self.expiries[job_id] = expires if expires > self.now else max(deadline, self.now + 1) if deadline else self.now + 5000
            if expires <= self.now and deadline is None:
                listed += [job_id, expiry_nonce(record), int(self.bucket[job_id]), self.now, record]
        topics = dict.fromkeys(map(topic_of, listed[::5]))
        told = [word for topic in topics if self.told_settings(topic) for word in (topic, self.told_settings(topic))]
        return [len(ids), len(listed) // 5, *listed, *told]

    def verdict(self, job_id, nonce):
        if job_id in self.holders:
            holder = self.holders[job_id][0]
            is_of_lost = is_recovering(holder) and self.crashes[job_id][1] == nonce
            return "lease" if holder == nonce else "late" if is_of_lost else None
        if self.crashes.get(job_id, (0, None))[1] == nonce:
            return "late"
        losses = self.kept[job_id][2] if job_id in self.dead and job_id not in self.jobs else ""
        return "dead" if str(losses).partition("/")[2] == nonce else None

    # ---- what owners do ----

    def quota_of(self, topic):
        return self.settings_of(owner_of(topic)).get("maxPending")

    def pending(self, topic):
        return len(self.waiting(topic)) + self.in_flight(topic)

    def look(self, ids):
        """Counts the jobs of the topics that have a quota, as a call does before its first write."""
        topics = {topic for topic in map(topic_of, ids) if self.quota_of(topic) is not None}
        self.rooms = {topic: self.quota_of(topic) - self.pending(topic) for topic in topics}
        self.refusal_waits = {}

    def wait_of(self, topic):
        if self.settings_of(topic).get("paused"):
            return 60000
        self.show()
        places = [at for job_id, at in self.shown.items() if topic_of(job_id) == topic]
        if not places or self.in_flight(topic):
            return 1000
        at = int(min(places))
        if at <= self.now:
            at = self.held_until(topic) or 0
        return max(1000, min(60000, (0 if at == INF else at) - self.now))

    def refusal(self, job_id, number=1):
        """Returns the answer that refuses this number of new jobs, or None if the quota of the topic has room for them."""
        topic = topic_of(job_id)
        if self.rooms.get(topic, INF) >= number:
            return None
        if topic not in self.refusal_waits:
            self.refusal_waits[topic] = self.wait_of(topic)
        quota = self.quota_of(topic)
        return ["quota", topic, quota, quota - self.rooms[topic], self.refusal_waits[topic]]

    def take_room(self, job_id, number=1):
        if topic_of(job_id) in self.rooms:
            self.rooms[topic_of(job_id)] -= number

    def schedule(self, max_jobs, items):
        answers, room, scheduled = [], self.room(max_jobs), {}
        self.look([job_id for job_id, *_ in items])
        for job_id, when, record, once in items:
            once, per, key = re.fullmatch(r"([^\n]*)(?:\nthrottle (\d+) (.+))?", once, re.DOTALL).groups()
            standing = key and self.standing(key)
            if once != "-" and self.reply_to(once):
                answers.append(self.reply_to(once))
                continue
            if standing:
                if once != "-":
                    self.keep_reply(once, standing[1], f"+{standing[0]}", ANSWERED_MS)
                answers.append(["throttled", *standing])
                continue
            if room < 1 and job_id not in self.jobs:
                answers.append(-7)
            elif job_id in scheduled and job_id not in self.shown:
                at = scheduled[job_id]
                answers.append(["delayed" if at > self.now else "ready", at, self.jobs[job_id]])
            elif job_id in self.jobs:
                answers.append([*self.state(job_id), self.jobs[job_id]])
            elif self.is_over(when, record):
                answers.append(-10)
            elif self.refusal(job_id):
                answers.append(self.refusal(job_id))
            else:
                room -= 1
                self.take_room(job_id)
                scheduled[job_id] = self.start(job_id, when, record)[0]
                answers.append(scheduled[job_id])
                if once != "-":
                    self.keep_reply(once, job_id, scheduled[job_id], ANSWERED_MS)
                if key:
                    self.keep_reply(f"throttle {key}", job_id, scheduled[job_id], int(per))
        self.finish()
        return answers

    # ---- requests that are answered with an earlier job ----

    def reply_to(self, once):
        """Returns the answer to a repeated request, or None."""
        fingerprint, _, key = once.partition(" ")
        word, number, expiry, job_id = self.replies.get(key, ("", 0, self.now, ""))
        if 0 <= self.now - expiry <= FORGOTTEN_MS:
            return None
        if word != fingerprint:
            return -8
        return ["throttled" if str(number)[0] == "+" else "repeated", int(number), job_id]

    def keep_reply(self, once, job_id, number, ms):
        word, _, key = once.partition(" ")
        self.replies[key] = word, number, self.now + ms, job_id
        self.reply_times[key] = self.now + ms

    def standing(self, key):
        """Returns number and id of the job that stands for all with this key of a throttle or debounce, or None."""
        word, number, expiry, job_id = self.replies.get(key, ("", 0, 0, ""))
        return (number, job_id) if word == "debounce" or expiry > self.now else None

    def schedule_all(self, max_jobs, items):
        answers, room = [], self.room(max_jobs)
        self.look([job_id for _, *words in items for job_id in words[::4]])
        for number, *words in items:
            jobs = list(zip(words[::4], words[1::4], words[2::4]))
            ids = {job_id for job_id, *_ in jobs}
            if len(ids) < number or ids & set(self.jobs):
                answers.append(-6)
            elif number > room:
                answers.append(-7)
            else:
                numbers = collections.Counter(topic_of(job_id) for job_id, *_ in jobs)
                refused = next(filter(None, (self.refusal(job_id, numbers[topic_of(job_id)]) for job_id, *_ in jobs)), None)
                if refused:
                    answers.append(refused)
                    continue
                room -= number
                for job_id, *_ in jobs:
                    self.take_room(job_id)
                answers.append([self.start(*job)[0] for job in jobs])
        self.finish()
        return answers

    def due_of(self, when):
        """Returns the due time, and the time from which its delay counts."""
        start = self.now if when == "0" or when[0] == "@" else self.soonest
        return (max(int(when[1:]), self.now) if when[0] == "@" else start + int(when)), start

    def is_over(self, when, record):
        """Returns whether a new job would have expired when it is due."""
        at, start = self.due_of(when)
        return (head_of(record_of(start, record)) or (INF,))[0] <= at

    def is_too_late(self, job_id, when, record):
        """Returns whether a change moves the job's expiry or its due time so that the job would expire before it is due."""
        if when not in "-!":
            return expiry_of(record) <= self.due_of(when)[0]
        self.show()
        return expiry_of(record) not in (INF, expiry_of(self.jobs[job_id])) and expiry_of(record) <= int(self.shown.get(job_id, -1))

    def start(self, job_id, when, record):
        at, start = self.due_of(when)
        self.jobs[job_id] = record_of(start, record)
        self.note_expiry(job_id, self.jobs[job_id])
        return self.put_new(job_id, at), start

    def tag(self, job_id):
        state, at = self.state(job_id)
        text = f"{state} {0 if state == 'leased' else at} {self.jobs[job_id]}"
        return hashlib.sha1(text.encode()).hexdigest()

    def dead_tag(self, job_id):
        _, at, _, record, _ = self.kept[job_id]
        return hashlib.sha1(f"dead {at} {record}".encode()).hexdigest()

    def seen(self, job_id, tags):
        """Returns where the job with one of these tags is: 'pool', 'dead' or None."""
        is_any = tags in ("", "*", "alive")
        if job_id in self.jobs and (is_any or self.tag(job_id) in tags):
            return "pool"
        if tags != "alive" and job_id in self.dead and (is_any and job_id not in self.jobs or not is_any and self.dead_tag(job_id) in tags):
            return "dead"
        return None

    def replace(self, max_jobs, items):
        answers, debounced = [], set()
        self.look([job_id for job_id, *_ in items])
        for job_id, when, record, tags in items:
            debounce = re.fullmatch(r"~(\d+) (\d+) (.+)", tags, re.DOTALL)
            if debounce:
                answers.append(self.debounce(max_jobs, job_id, record, int(debounce[1]), int(debounce[2]), debounce[3], debounced))
            else:
                answers.append(self.replace_one(max_jobs, job_id, when, record, tags))
        self.finish()
        return answers

    def replace_one(self, max_jobs, job_id, when, record, tags):
        is_there, is_excluded = job_id in self.jobs, False
        if tags.startswith("!"):  # tags after the mark: the job must have none of these
            is_excluded = is_there and (tags == "!*" or self.tag(job_id) in tags)
            tags = ""
        if is_excluded:
            return -4
        if tags and self.seen(job_id, tags) != ("pool" if is_there else "dead"):
            return -4
        if self.is_over(when, record):
            return -10
        if not is_there and self.room(max_jobs) < 1:
            return -7
        if not is_there and self.refusal(job_id):
            return self.refusal(job_id)
        self.take_room(job_id, int(not is_there))
        was_leased = is_there and self.make_way(job_id)
        return [*self.start(job_id, when, record), 2 if was_leased else int(is_there)]

    def debounce(self, max_jobs, job_id, record, wait, most, key, debounced):
        """Replaces the job that stands for the key if it waits and was never attempted. debounced: the jobs that earlier items of the call
        have put in place so."""
        self.show()
        first, standing = self.standing(key) or (0, "")
        if standing not in debounced and not (standing in self.shown and head_of(self.jobs[standing]) and "a" not in head_of(self.jobs[standing])[1]):
            first, standing = self.soonest, job_id
        answer = self.replace_one(max_jobs, standing, f"@{min(self.soonest + wait, first + most)}", record, "")
        if isinstance(answer, int) or answer[0] == "quota":
            return answer
        self.keep_reply(f"debounce {key}", standing, first, most + DEBOUNCED_MS)
        debounced.add(standing)
        return [*answer, standing]

    def make_way(self, job_id):
        """Prepares the replacement of the job, and returns whether it was leased. Then it ends as cancelled, and its attempt goes on."""
        was_leased = self.deadline(job_id) is not None
        if was_leased:
            if self.retention(job_id) or self.backlog:
                record = self.with_progress(job_id, self.jobs[job_id])
                record = record[:-1] + ',"reason":"replaced"}' if record.endswith("}") else record
                self.progress.pop(job_id, None)  # it is in the record
                keep = self.keep if self.retention(job_id) else self.archive
                keep(job_id, "cancelled", self.now, self.losses(job_id), record, self.lines(job_id))
            place = job_id, self.holders[job_id][0]
            if not is_recovering(place[1]):
                self.lingering[place] = self.deadline(job_id)
                self.replaced.add(place)
            self.take(job_id)
        self.forget(job_id)
        return was_leased

    def change(self, items):
        answers, self.met, placed = [], [], set()  # placed: jobs that kept their record; the script has not put them into a bucket yet
        for job_id, tag, when, record in items:
            seen = self.seen(job_id, tag)
            if job_id in placed and seen == "pool" and tag not in ("", "*"):
                seen = None
            self.met.append(seen)
            if seen != "dead" and self.deadline(job_id):
                answers.append(-3)
            elif not seen or seen == "dead" and when != "-":
                answers.append(-4)
            elif record == "" and is_expired(self.jobs[job_id], self.due_of(when)[0]):
                answers.append(-4)
            elif seen == "dead":
                state, at, _, _, lines = self.kept[job_id]
                self.keep(job_id, state, at, 0, record, lines)
                answers.append(0)
            elif record and self.is_too_late(job_id, when, record):
                answers.append(-10)
            elif when == "!":
                self.take(job_id)
                placed.discard(job_id)
                self.die(job_id, record, 0, "")
                self.pause_after(job_id)
                self.fail_workflow_of(job_id)
                answers.append(0)
            else:
                at = 0
                if record == "":
                    self.take(job_id)
                    placed.add(job_id)
                else:
                    self.jobs[job_id] = record
                    self.note_expiry(job_id, record)
                self.crashes.pop(job_id, None)
                if when != "-":
                    at = self.put(job_id, self.due_of(when)[0])
                elif job_id in self.held:
                    due = self.held[job_id]
                    self.put_back(job_id, due)
                    self.let_go(job_id, due)
                answers.append(at)
        self.finish()
        return answers

    def cancel(self, items):
        self.met = []  # for each item, which job with its id was found: "pool", "dead", "dropped" or None
        answers = [self.cancel_one(*item) for item in items]
        self.finish()
        return answers

    def cancel_one(self, job_id, tags):
        if job_id in dict(self.dropped_members) and job_id not in self.jobs and job_id not in self.dead:
            self.met.append("dropped")  # an earlier item of the call has ended the workflow, and so has dropped this job
            if job_id in self.answered_members:
                return -1
            self.answered_members.add(job_id)
            return int(dict(self.dropped_members)[job_id])
        seen = self.seen(job_id, tags)
        self.met.append(seen)
        if seen == "dead":
            self.remove_dead(job_id)
            return 0
        if not seen:
            return -4 if job_id in self.jobs or job_id in self.dead else -1
        place = self.members[job_id][3] if job_id in self.members else None
        was_leased = self.remove(job_id)
        if not place:
            return was_leased
        already = len(self.dropped_members)
        self.end_workflow(place, "cancelled", self.workflows[place].get("ifCancelled"))
        others = sorted(f"{int(is_leased)}{other}" for other, is_leased in self.dropped_members[already:])
        return [int(was_leased), *others] if others else was_leased

    def remove_dead(self, job_id):
        _, _, losses, record, lines = self.kept[job_id]
        self.drop(job_id)
        keep = self.keep if self.retention(job_id) else self.archive
        keep(job_id, "cancelled", self.now, int(str(losses).split("/")[0]), record, lines)

    def remove(self, job_id, state="cancelled"):
        """Removes the job, and returns whether it was leased. An attempt under way continues."""
        was_leased = self.deadline(job_id) is not None
        if was_leased and not is_recovering(self.holders[job_id][0]):
            self.lingering[job_id, self.holders[job_id][0]] = self.deadline(job_id)
        self.end_job(job_id, state)
        self.take(job_id)
        return int(was_leased)

    # ---- jobs of groups ----

    # ---- schedules ----

    def define(self, items):
        answers = []
        for name, tag, definition, next_ms, by, jitter in items:
            expectation = f"{by} {jitter}" if by != "0" else "-"
            was = self.fired.get(name)
            if (was[0] if was else "-") != tag:
                answers.append(0)
                continue
            outcome, *rest = was[1:] if was else ("-", 0, 0, 0, "")
            self.schedules[name] = definition
            self.fired[name] = (hashlib.sha1(definition.encode()).hexdigest(), "-" if outcome in ("hold", "quota") and next_ms != "=" else outcome, *rest)
            if next_ms != "=":
                self.skipped.pop(name, None)
            self.define_expected(name, expectation, next_ms, rest[1] if outcome in ("hold", "quota") else self.fires.get(name, "-"))
            if next_ms == "-":
                self.fires.pop(name, None)
            elif next_ms != "=":
                self.fires[name] = int(next_ms)
            answers.append(1)
        return answers

    def undefine(self, items):
        answers = []
        for name, tag in items:
            was = self.fired.get(name)
            answers.append(-1 if not was else -4 if tag not in ("*", was[0]) else 1)
            if answers[-1] == 1:
                self.schedules.pop(name), self.fired.pop(name), self.fires.pop(name, None), self.skipped.pop(name, None), self.expected.pop(name, None)
        return answers

    # ---- the times of schedules that must be delivered ----

    def define_expected(self, name, expectation, next_ms, next_now):
        if expectation == "-":
            self.expected.pop(name, None)
            return
        _, was_next, at, come = self.expected.get(name, (None, next_now if next_ms == "=" else "-", 0, []))
        if next_ms == "-":
            come = []
        self.expected[name] = (expectation, was_next if next_ms == "=" else next_ms, at, come)

    def fire_expected(self, name, outcome, time_ms, job_id, when, jobs, next_ms):
        """A time of the schedule has come. Those that have come are (time in the ids of its jobs or '-', due time, jobs that are left)."""
        if name not in self.expected:
            return
        expectation, next_before, at, come = self.expected[name]
        come = list(come)
        new = [("-", int(next_before), 1)] if next_before != "-" and int(next_before) < int(time_ms) else []
        due = int(when[1:]) if when[0] == "@" else self.now + int(when)
        new.append((job_id.split("~")[-1], due, jobs) if jobs else ("-", int(time_ms), 1))
        for one in new if outcome != "overlap" else []:
            if not come or one[1] > come[-1][1]:
                come[31:] = []
                come.append(one)
        self.expected[name] = (expectation, next_ms, at, come)

    def move_expected(self, name, next_ms):
        if name in self.expected:
            expectation, next_before, at, come = self.expected[name]
            if next_before == "-" or int(next_before) > self.now:
                self.expected[name] = (expectation, next_ms, at, come)

    def deliver_expected(self, job_id):
        parts = job_id.split("~")
        for size in (1, 2):
            name, mark = "~".join(parts[:-size]), parts[-size] if len(parts) > size else ""
            is_run = re.fullmatch("run-[0-9a-f]+", mark)
            if name not in self.expected or not is_run and not re.fullmatch(r"\d+T[\d.]+Z", mark):
                continue
            expectation, next_ms, _, come = self.expected[name]
            left, done = [], 0
            for number, (time, due, jobs) in enumerate(come, 1):
                jobs -= time == mark
                left.append((time, due, jobs))
                if time == mark and jobs < 1 or is_run and due <= self.now:
                    done = number
            self.expected[name] = (expectation, next_ms, self.now, left[done:])
            return

    def missed_at(self, name):
        expectation, next_ms, _, come = self.expected[name]
        by, jitter = map(int, expectation.split())
        due = min([due for _, due, _ in come[:1]] + ([int(next_ms) + jitter] if next_ms != "-" else []), default=None)
        return None if due is None else due + by

    def expected_keyspace(self):
        times = {name: self.missed_at(name) for name in self.expected}
        return {"expected": {name: " ".join(map(str, [expectation, next_ms, at, *(word for one in come for word in one)]))
                             for name, (expectation, next_ms, at, come) in self.expected.items()},
                "expected until": {name: at for name, at in times.items() if at is not None}}

    def fire(self, max_jobs, items):
        answers, self.room_left = [], self.room(max_jobs)
        self.look([item[9] for item in items if item[4] == "fire"])
        for name, tag, expected, next_ms, kind, time_ms, missed, overlap, skipped, job_id, when, record, once, number, *send in items:
            was = self.fired.get(name)
            if kind == "move":
                answers.append(self.move(name, tag, expected, next_ms, skipped))
                continue
            if not was or was[0] != tag or expected != "-" and not self.now >= self.fires.get(name, INF) == int(expected):
                answers.append(0)
                continue
            result, outcome = 1, kind
            if kind == "fire":
                previous = was[5] if overlap == "1" and expected != "-" else ""
                result, outcome = self.make(job_id, when, record, previous, send)
            if isinstance(result, list) and expected != "-":
                self.fires[name] = self.now + result[4]
                result = -11
            answers.append(result)
            if expected == "-":
                continue
            self.fired[name] = (tag, outcome, int(missed), int(time_ms), self.now, job_id if result > 1 else was[5])
            if result in (-7, -11):
                continue
            if kind != "hold":
                self.fire_expected(name, outcome, time_ms, job_id, when, len(send[2::2]) or 1 if result > 1 else 0, next_ms)
            self.set_next(name, next_ms, skipped)
        self.finish()
        return answers

    def set_next(self, name, next_ms, skipped):
        self.fires.pop(name, None)
        if next_ms != "-":
            self.fires[name] = int(next_ms)
        if skipped == "-":
            self.skipped.pop(name, None)
        elif skipped != "=":
            self.skipped[name] = skipped

    def move(self, name, tag, expected, next_ms, skipped):
        """Moves a schedule to an earlier next time, because the clock has stepped back."""
        if self.fired.get(name, ("",))[0] != tag or str(self.fires.get(name, "-")) != expected:
            return 0
        self.set_next(name, next_ms, skipped)
        self.move_expected(name, next_ms)
        return 1

    def ahead(self):
        """Returns (time, schedule) of the schedules that have skipped all times up to a time in the future, sorted.
        Their next times must be computed again."""
        until = self.skipped_until().items()
        return sorted((at, name) for name, at in until if at > self.now)

    def skipped_until(self):
        return {name: int(text.split()[0]) for name, text in self.skipped.items() if text.split()[0] != "0"}

    def is_in_pool(self, job_id):
        """Returns whether this job, or one that was sent to a group under its id, is in the pool."""
        return job_id in self.jobs or job_id in self.sends and self.first_left(job_id, *self.sends[job_id][2:])

    def make(self, job_id, when, record, previous, send):
        if self.is_in_pool(previous):
            return -20, "overlap"
        if self.is_in_pool(job_id) if send else job_id in self.jobs:
            return -6, "conflict"
        if send and self.first_left(job_id, send[2::2]):
            return -6, "conflict"
        if self.room_left < (len(send[2::2]) or 1):
            return -7, "full"
        if self.refusal(job_id, len(send[2::2]) or 1):
            return self.refusal(job_id, len(send[2::2]) or 1), "quota"
        self.take_room(job_id, len(send[2::2]) or 1)
        self.room_left -= len(send[2::2]) or 1
        if not send:
            return self.start(job_id, when, record)[0], "fire"
        return self.start_all(job_id, when, *send)[0], "fire"

    def start_all(self, send_id, when, mark, group, *parts):
        """Starts the jobs of a send, and returns their due times."""
        due, created = self.due_of(when)
        self.sends[send_id] = mark, group, parts[::2], created
        self.sends_until[send_id] = self.now + max(60_000, min(86_400_000, due - self.now + 60_000))
        return [self.start(f"{send_id}~{endpoint}", when, record)[0] for endpoint, record in zip(parts[::2], parts[1::2])]

    def is_of_send(self, job_id, sent_at):
        """Returns whether the job is in the pool, and was created by the send of this time. sent_at None: by any send, or by none."""
        return job_id in self.jobs and (sent_at is None or self.jobs[job_id].startswith(f'{{"createdAt":{sent_at},'))

    def first_left(self, send_id, endpoints, sent_at=None):
        return next((f"{send_id}~{endpoint}" for endpoint in endpoints if self.is_of_send(f"{send_id}~{endpoint}", sent_at)), None)

    def sent_states(self, send_id, endpoints, sent_at):
        """Returns endpoint, state and time for each endpoint."""
        found = []
        for endpoint in endpoints:
            job_id = f"{send_id}~{endpoint}"
            state = self.state(job_id) if self.is_of_send(job_id, sent_at) else self.kept[job_id][:2] if job_id in self.kept else ("ended", 0)
            found += [endpoint, *state]
        return found

    def send(self, max_jobs, items):
        answers, room = [], self.room(max_jobs)
        self.look([send_id for send_id, *_ in items])
        for send_id, when, _, mark, group, number, *parts in items:
            was = self.sends.get(send_id)
            left = was and self.first_left(send_id, *was[2:])
            taken = left or self.first_left(send_id, parts[::2])
            if left and was[:2] == (mark, group):
                answers.append(["same", *self.sent_states(send_id, *was[2:])])
            elif left or number and taken:
                answers.append(["taken", taken])
            elif number and self.is_over(when, parts[1]):
                answers.append(-10)
            elif not number or room < number:
                answers.append(-7 if number else -1)
            elif self.refusal(send_id, number):
                answers.append(self.refusal(send_id, number))
            else:
                room -= number
                self.take_room(send_id, number)
                answers.append(["sent", *self.start_all(send_id, when, mark, group, *parts)])
        self.finish()
        return answers

    def replace_send(self, max_jobs, items):
        answers, self.met = [], []
        self.look([send_id for send_id, *_ in items])
        for send_id, when, only, mark, group, number, *parts in items:
            ids = [f"{send_id}~{endpoint}" for endpoint in parts[::2]]
            same = [job_id for job_id in ids if job_id in self.jobs]
            earlier, sent_at = self.sends[send_id][2:] if send_id in self.sends else ((), None)
            others = [job_id for job_id in (f"{send_id}~{endpoint}" for endpoint in earlier) if self.is_of_send(job_id, sent_at) and job_id not in ids]
            more = number - len(same) - len(others)
            if only and same + others:
                answers.append(-4)
            elif self.is_over(when, parts[1]):
                answers.append(-10)
            elif more > 0 and self.room(max_jobs) < more:
                answers.append(-7)
            elif more > 0 and self.refusal(send_id, more):
                answers.append(self.refusal(send_id, more))
            else:
                self.take_room(send_id, more)
                for job_id in others:
                    self.cancel_one(job_id, "")
                leased = sum(self.make_way(job_id) for job_id in same)
                answers.append(["replaced", len(same), leased, len(others), *self.start_all(send_id, when, mark, group, *parts)])
        self.finish()
        return answers

    def sent(self, send_id, group):
        was = self.sends.get(send_id)
        return self.sent_states(send_id, *was[2:]) if was and was[1] == group else []

    def unsend(self, items):
        answers, self.met = [], []
        for send_id, group in items:
            was = self.sends.get(send_id)
            if not was or was[1] != group:
                answers.append(-1)
                continue
            answers.append([word for endpoint in was[2] for word in (endpoint, self.cancel_sent(f"{send_id}~{endpoint}", was[3]))])
            self.sends.pop(send_id), self.sends_until.pop(send_id)
        self.finish()
        return answers

    def cancel_sent(self, job_id, sent_at):
        if self.is_of_send(job_id, sent_at):
            return self.cancel_one(job_id, "")
        if job_id in self.dead and self.kept[job_id][3].startswith(f'{{"createdAt":{sent_at},'):
            self.met.append("dead")
            self.remove_dead(job_id)
            return 0
        self.met.append(None)
        return -1

    def forget_sends(self, most):
        """Forgets sends without jobs, and returns how many sends it has looked at."""
        due = sorted((at, send_id) for send_id, at in self.sends_until.items() if at <= self.now)[:most]
        for _, send_id in due:
            if self.first_left(send_id, *self.sends[send_id][2:]):
                self.sends_until[send_id] = self.now + 3_600_000
            else:
                self.sends.pop(send_id), self.sends_until.pop(send_id)
        return len(due)

    def forget_keys(self, most):
        """Removes expired idempotency keys, and the names of pull topics for whose jobs no worker waits. Returns the number of keys."""
        self.awaited = {topic: at for topic, at in self.awaited.items() if at > self.now}
        times = {key: answer[1] for key, answer in self.answered.items()} | self.reply_times
        old = sorted((at, key) for key, at in times.items() if at <= self.now)[:most]
        for _, key in old:
            if self.answered.pop(key, None):
                continue
            if self.replies[key][0] == "debounce" and self.replies[key][3] in self.jobs:
                self.reply_times[key] = self.now + 3_600_000
            else:
                del self.replies[key], self.reply_times[key]
        return len(old)

    def has_old_keys(self):
        return any(at <= self.now for at in (*(answer[1] for answer in self.answered.values()), *self.reply_times.values()))

    def has_old_sends(self):
        return any(at <= self.now for at in self.sends_until.values())

    def run(self, max_jobs, items):
        self.look([job_id for job_id, *_ in items])
        answers, placed = [], set()  # placed: jobs that this call schedules, and that are in no bucket yet
        for job_id, when, tags, old, new in items:
            seen = self.seen(job_id, tags)
            if job_id in placed and seen == "pool" and tags not in ("", "*"):
                seen = None
            if seen == "dead":
                answers.append(self.run_dead(job_id, when, old, new, max_jobs))
                if isinstance(answers[-1], int) and answers[-1] >= 0:
                    placed.add(job_id)
                continue
            if job_id not in self.jobs:
                answers.append(-4 if job_id in self.dead else -1)
                continue
            state, at = self.state(job_id)
            if state == "leased" or not seen or old:
                answers.append(-3 if state == "leased" else -6 if seen else -4)
                continue
            if job_id in self.expiries and is_expired(self.jobs[job_id], self.now):
                answers.append(-10)
                continue
            self.crashes.pop(job_id, None)
            if state != "ready" or job_id in placed:
                placed.add(job_id)
                self.take(job_id)
                at = self.due_of(when)[0]
                self.put(job_id, at)
            else:
                self.let_go(job_id)
            answers.append(at)
        self.finish()
        return answers

    def run_dead(self, job_id, when, old, new, max_jobs):
        if job_id in self.jobs:
            return -6
        if self.kept[job_id][3] != old:
            return -9
        if is_expired(new, self.due_of(when)[0]):
            return -10
        if self.room(max_jobs) < 1:
            return -7
        if self.refusal(job_id):
            return self.refusal(job_id)
        self.take_room(job_id)
        self.bring_back(job_id, new)
        return self.put_new(job_id, self.due_of(when)[0])

    def set(self, topic, settings):
        had_breaker, has_held = self.settings_of(topic).get("breaker"), bool(self.held)
        limit = self.shared(topic)
        self.settings.pop(topic, None)
        if settings:
            self.settings[topic] = settings
        if "rate" not in self.settings_of(topic):
            self.spent.pop(topic, None)
            self.windows.pop(topic, None)
            self.begun.pop(topic, None)
        if limit and limit != self.shared(topic):
            self.leave_limit(topic, limit)
        self.openings.pop(topic, None)
        self.touched[topic] = True
        self.leave_line(topic)
        self.undated[topic] = True
        ids = (*self.jobs, *self.kept, *(job_id for job_id, _ in self.lingering))
        self.redates = self.redates or any(topic_of(job_id).startswith(topic + "~") for job_id in ids)
        if has_held:
            is_off = self.settings_of(topic).get("breaker") is False or had_breaker and "breaker" not in self.settings_of(topic)
            self.resume_topics([topic] if is_off or self.has_url_again(topic) else [])
        self.finish()

    def needs_no_url(self, topic):
        return "url" in self.settings_of(topic) or self.is_pull(topic)

    def has_url_again(self, topic):
        return topic in self.without_url and self.needs_no_url(topic)

    def has_lost(self, topic):
        """Returns whether the setting "breaker" was removed from a pattern that matches the topic."""
        return "~" not in topic and any(topic.startswith(name[:-1]) for name in self.lost_patterns)

    def resume_topics(self, topics):
        """Resumes the held jobs of topics whose breaker was turned off, or which have a url again; here in a single step. After a change of patterns, it
        first finds these topics."""
        if self.resumes:
            found = {topic_of(job_id) for job_id in self.held}
            topics = [*topics, *sorted(topic for topic in found if self.settings_of(topic).get("breaker", not self.has_lost(topic)) is False
                                       or self.has_url_again(topic))]
        self.resumes, self.lost_patterns = False, set()
        for topic in topics:
            held = sorted((due, job_id) for job_id, due in self.held.items() if topic_of(job_id) == topic)
            self.resume_jobs([job_id for _, job_id in held])

    def reoffer(self):
        """Does the rest of a change of patterns: resumes held jobs. set_patterns has already offered all topics again."""
        self.resume_topics([])
        self.finish()
        return [0, 0]

    # ---- patterns ----

    def patterns_of(self, topic):
        """Returns the patterns that match the topic, the shortest first. Sibling topics match none."""
        return sorted((name for name in self.patterns if "~" not in topic and topic.startswith(name[:-1])), key=len)

    def with_patterns(self, name, own):
        """Returns the settings of the patterns that match, overridden by the settings own."""
        merged = {}
        for pattern in self.patterns_of(name):
            merged |= self.patterns[pattern]
        return merged | own

    def settings_of(self, topic):
        if topic.startswith("~"):
            return self.limits.get(topic[1:], {})
        return self.with_patterns(topic, self.settings.get(topic, {}))

    def pattern_text(self, name):
        """Returns the text of a pattern's settings in Redis, which includes the settings of shorter patterns."""
        return settings_json(self.with_patterns(name[:-1], {}))

    def with_breaker(self):
        return {name for name in self.patterns if self.with_patterns(name[:-1], {}).get("breaker")}

    def set_patterns(self, name, settings):
        """Changes a pattern, and offers all topics again; in the model in one step. First, topics that must be held now leave turns.
        Then the topics that were held are offered in the order of their names, so that they come next in turns."""
        had_breaker = self.with_breaker()
        self.patterns.pop(name, None)
        if settings:
            self.patterns[name] = settings
        if self.held:
            self.lost_patterns |= had_breaker - self.with_breaker()
        self.patterns_version = max(self.patterns_version + 1, self.now_us)
        self.redates = True  # the next sweep computes again when dead jobs are removed; here one step is enough
        self.resumes = self.resumes or bool(self.held)
        self.openings.clear()
        behind = sorted(topic for topic, at in self.due.items() if at > int(self.waiting(topic)[0][0]))
        offered = (*behind, *self.turns)
        for topic in list(self.line):  # as Redis walks through its lines, before the other topics
            self.leave_line(topic)
        self.touched.update(dict.fromkeys(offered, True))
        self.finish()

    def told_settings(self, topic):
        """Returns the text of settings that a consumer gets: the topic's own, then those of its longest pattern. A sibling topic has those of its owner."""
        own, names = self.settings.get(owner_of(topic)), self.patterns_of(owner_of(topic))
        text = settings_json(own) if own else ""
        if not names:
            return text
        return f"[{text},{self.pattern_text(names[-1])}]" if text else self.pattern_text(names[-1])

    def settings_text(self, job_id):
        return self.told_settings(topic_of(job_id))

    def read(self, ids):
        return [[*self.told_state(job_id), self.jobs[job_id], self.losses(job_id), self.settings_text(job_id),
                 *((0, "", self.progress.get(job_id, "")) if job_id in self.pulled else ())]
                if job_id in self.jobs else self.read_kept(job_id) for job_id in ids]

    def told_state(self, job_id):
        """Returns the state and time of a job in the pool that a client receives. A waiting job that has expired counts as dead."""
        record = self.jobs[job_id]
        return ("dead", expiry_of(record)) if self.deadline(job_id) is None and is_expired(record, self.now) else self.state(job_id)

    def read_kept(self, job_id):
        if job_id not in self.kept:
            return self.read_ended(job_id) if self.last_end(job_id) else []
        state, at, losses, record, lines = self.kept[job_id]
        return [state, at, record, int(str(losses).split("/")[0]), self.settings_text(job_id), *self.kept_more(job_id)]

    def read_ended(self, job_id):
        state, at, losses, size, rest = self.last_end(job_id).split(" ", 4)
        last = "".join(rest[int(size):].splitlines(True)[-1:])
        return [state, int(at), rest[:int(size)], int(losses.split("/")[0]), self.settings_text(job_id), 0, last]

    def kept_more(self, job_id):
        """Returns the time until which the job is kept, and the line of its last attempt."""
        state, at, _, _, lines = self.kept[job_id]
        until = self.kept_until.get(job_id, 0)
        if state == "dead" and self.retention(job_id):
            until = at + self.retention(job_id)
        return [until, "".join(lines.splitlines(True)[-1:])]

    def read_attempts(self, job_id):
        if job_id in self.jobs:
            return [self.lines(job_id)]
        if job_id in self.kept:
            return [self.kept[job_id][-1]]
        ended = self.last_end(job_id)
        return [ended.split(" ", 4)[4][int(ended.split(" ")[3]):]] if ended else []

    def list(self, state, topic, most, score, last):
        has_ended = state in ("dead", "delivered", "cancelled")
        places = {"leased": self.leases | self.pulled}.get(state, self.bucket)
        if has_ended:
            places = {job_id: kept[1] for job_id, kept in self.kept.items() if kept[0] == state}
        entries = sorted((at, job_id) for job_id, at in places.items() if (not topic or topic_of(job_id) == topic)
                         and (has_ended or self.state(job_id)[0] == state))
        if not has_ended and state != "leased" and self.count_expired():
            entries = [entry for entry in entries if not is_expired(self.jobs[entry[1]], self.now)]
        if state == "leased":
            entries.sort(key=lambda entry: entry[1])
            entries = [entry for entry in entries if entry[1] > last]
        elif last:
            entries = [entry for entry in entries if entry > (float(score), last)]
        answer = []
        for at, job_id in entries[:most]:
            if has_ended:
                state, at, record, losses, *more = self.read_kept(job_id)
                answer += [job_id, at, record, losses, *more]
            else:
                answer += [job_id, int(at), self.jobs[job_id], self.losses(job_id), self.settings_text(job_id), 0, ""]
        return answer

    # ---- what consumers do ----

    def first_places(self, topic, most):
        """Returns the entries of the jobs to lease. If the topic's jobs are long overdue, a quarter of the entries
        are of the jobs that became due last."""
        places = [place for place in self.waiting(topic) if self.is_due(place[0])]
        quarter = most // 4 if most >= 4 else int(self.now_us % 4 == 0)
        if self.limit_of(topic) < NEWEST_LIMIT:
            return places[:most]
        if not quarter or not most or len(places) < most or places[0][0] > self.now - BEHIND_MS:
            return places[:most]
        kept, last = places[:most - quarter], places[:-quarter - 1:-1]
        return kept + last if not kept or last[-1][0] > kept[-1][0] else places[:most]

    def weight_of(self, topic):
        return self.settings_of(topic).get("weight", 1)

    def after_turn(self, topic, number):
        return self.turn_scores[topic] + math.ceil(number * A_JOB / self.weight_of(topic))

    def plan_turns(self, left, share, rounds, leased):
        """Returns the next topics in turns, with the jobs that each may have leased. Ends before a topic whose turn comes after the
        next turn of a topic that is already in the plan, and before a topic for whose batch no room is left."""
        topics, plan, due_again, aside, is_full = self.turns[:min(64, left + 1)], [], INF, 0, False
        limited = {}  # limit -> number of its jobs in the plan
        for number, topic in enumerate(topics):
            planned = sum(len(places) for _, places, *_ in plan)
            if planned >= left or len(plan) >= rounds or self.turn_scores[topic] > due_again:
                break
            size = self.settings_of(topic).get("batch", {}).get("size")
            is_full = size and left - planned < size and leased + planned > 0
            if is_full:
                break
            weight, most = self.weight_of(topic), share
            if weight > 1:
                following = [self.turn_scores[other] for other in topics[number + 1:number + 2]]
                following += [self.after_turn(other, len(places)) for other, places, *_ in plan if places]
                most = max(share, math.floor((min(following, default=INF) - self.turn_scores[topic]) * weight / A_JOB) + 1 if following else INF)
            most = left if len(topics) == 1 else min(most, left - planned)
            if size:
                most = min(left - planned, max(1, most // size) * size)
            free = min(most, self.limit_of(topic) - self.in_flight(topic), self.tokens(topic)[0])
            name = self.shared(topic)
            if name:
                free = min(free, self.limit_room(name, self.first_due(topic), limited.get(name, 0))[0])
            if self.settings_of(topic).get("paused") or self.is_fifo(topic) and self.line_until(topic) or self.closed_until(topic):
                free = 0
            found = self.without_rest(topic, self.first_places(topic, max(free, 0)))
            first_due = min((due for due, _ in self.waiting(topic)), default=self.now)
            places = self.set_suspects_aside(found)
            if name:
                limited[name] = limited.get(name, 0) + len(places)
            aside += len(found) - len(places)
            left -= len(found) - len(places)
            plan.append((topic, places, free > 0, first_due))
            if weight > 1 and places:
                due_again = min(due_again, self.after_turn(topic, len(places)))
        return plan, len(topics) == 1, aside, is_full

    def without_rest(self, topic, places):
        """Leaves out the last jobs, too few for a batch, unless they are all, or the first of them has waited long enough."""
        batch = self.settings_of(topic).get("batch")
        rest = len(places) % batch["size"] if batch else 0
        if not rest or rest == len(places) or int(places[-rest][0]) + 1000 * batch.get("wait", 0) <= self.now:
            return places
        return places[:-rest]

    def claim(self, most, nonce, share, most_bytes):
        claims, rounds, full, is_full = [], 2 * most, False, False
        self.served, self.next_suspect = [], None
        while len(claims) < most and rounds and self.turn_scores and not full and not is_full and most_bytes > 0:
            plan, is_alone, aside, is_full = self.plan_turns(most - len(claims), share, rounds, len(claims))
            most -= aside
            rounds -= len(plan)
            moved, taken_of = {}, {}
            for topic, places, is_free, first_due in plan:
                if full or most_bytes <= 0:
                    break
                before = len(claims)
                for due, job_id in places:
                    record = self.jobs[job_id]
                    if len(record) > most_bytes and claims:
                        full = True
                        break
                    most_bytes -= len(record)
                    del self.bucket[job_id]
                    due = self.held.pop(job_id, due)
                    self.leases[job_id] = self.now + LEASE_MS
                    self.holders[job_id] = (nonce, due)
                    if job_id == self.next_suspect:
                        self.note_attempted(job_id, nonce)
                    claims.append(Claim(job_id, int(due), record))
                live = sum(not is_expired(claim.record, self.now) for claim in claims[before:])
                taken_of[topic] = len(claims) - before, live, is_free, first_due
            for topic, (taken, live, _, first_due) in taken_of.items():
                if taken:
                    self.begin_limited(topic, live, first_due)
            for topic, (taken, live, is_free, first_due) in taken_of.items():
                if self.rate_of(topic):
                    self.spend(topic, live, first_due)
                if is_free and topic not in self.served:
                    self.served.append(topic)
                moved[topic] = self.after_turn(topic, taken) if taken else None
                self.offer(topic)
            if is_alone:
                self.offered = {topic: False for topic, is_ready in self.offered.items() if not is_ready}
            self.write_offers(moved)
        self.touched, self.places = {}, {}
        self.shown, self.last_scores = None, {}
        self.write_expiries()
        self.let_in()
        self.ring()
        return claims

    def end(self, items, finish_item, verdicts=("lease", "late", "dead", "expired"), finish_call=lambda: None, end_item=lambda job_id: None,
            may_end=lambda job_id, nonce: False):
        answers, follow_up = [], []
        there = {item[0] for item in items if item[0] in self.jobs}
        for number, item in enumerate(items, 1):
            job_id, nonce = item[:2]
            verdict = self.verdict(job_id, nonce) or may_end(job_id, nonce) and "expired"
            if verdict == "dead" and job_id in there:
                verdict = None  # the script decides about the dead job before it ends the other job with this id
            is_held = verdict in verdicts
            answers.append(self.answer_of(job_id, nonce, is_held))
            self.place = self.bucket.get(job_id, self.dead.get(job_id, self.now))
            if verdict == "dead" and is_held:
                self.bring_back(job_id)
            if is_held:
                role, _, _, workflow = self.members.get(job_id, (None, 0, 0, None))
                finish_item(*item)
                follow_up += [(role, workflow, *entry[1:]) for entry in self.follow if entry[0] == number and entry[1] not in self.jobs]
                if not self.is_completing:
                    self.start_follow_ups(follow_up)
                end_item(job_id)
            elif not verdict:
                freed = self.free_place(job_id, nonce)
                answers[-1] = answers[-1] or freed
        self.start_follow_ups(follow_up)
        finish_call()
        self.finish()
        return answers

    def start_follow_ups(self, follow_up):
        while follow_up:
            role, workflow, *following = follow_up.pop(0)
            self.start(*following)
            if role == "c":
                self.add_membership(following[0], "a", 0, 0, workflow)

    def free_place(self, job_id, nonce):
        """Ends a lingering attempt. Returns -36 if its job was replaced, else 0."""
        if self.lingering.pop((job_id, nonce), None) is not None:
            self.touch_freed(topic_of(job_id))
        if (job_id, nonce) not in self.replaced:
            return 0
        self.replaced.remove((job_id, nonce))
        return -36

    def answer_of(self, job_id, nonce, is_held):
        """Returns 1 if the nonce held the job, or 0. If the item completes a worker's lease, returns when the lease
        began, or 2 if it was completed before."""
        if not self.is_completing or not is_pulled(nonce):
            return int(is_held)
        if is_held:
            return self.pull_notes[job_id][0]
        return 2 if (job_id, nonce) in self.remembered else 0

    is_completing = False

    def complete(self, items, remembered=()):
        """remembered: pairs (id, token) that Redis still lists as completed."""
        self.is_completing, self.remembered = True, set(remembered)
        plain = set()  # POSTed jobs without a retention; their ends go to the outbox together, after all others

        def finish_item(job_id, nonce, line):
            if not is_pulled(nonce) and self.verdict(job_id, nonce) == "lease" and not self.retention(job_id):
                plain.add(job_id)
            if is_pulled(nonce) and self.verdict(job_id, nonce) == "lease":
                self.remembered.add((job_id, nonce))
                line = line or self.line_of_completed(job_id)
            self.take(job_id, is_completed=True)
            self.end_job(job_id, "delivered", line)
            self.deliver_expected(job_id)

        def order_ends():
            self.ending.sort(key=lambda end: end[0] in plain)

        answers = self.end(items, finish_item, finish_call=order_ends)
        self.is_completing = False
        return answers

    def line_of_completed(self, job_id):
        """Returns the line about a worker's attempt, which the script writes if the job is kept."""
        began = self.pull_notes[job_id][0]
        last = re.match(r"(\d+)@?(\d*) \d+ \d+ (\S+)", (self.attempts.get(job_id) or [""])[-1])
        number, a_round = (int(last[1]), int(last[2] or 1)) if last else (0, 1)
        if last and re.fullmatch("2..", last[3]):
            number, a_round = 0, a_round + 1
        name = f"{number + 1}@{a_round}" if a_round > 1 else str(number + 1)
        return f"{name} {began} {max(0, self.now - began)} 200"

    # ---- what workers do ----

    def lease(self, items):
        answers = [self.lease_one(*item) for item in items]
        self.finish()
        return answers

    def told_own(self, topic):
        return self.told_settings(topic)

    def pullable(self, topic, most):
        """Returns how many jobs of a pull topic may be leased now, and from which ms on more may be leased; -1: no such time is known."""
        waiting = self.waiting(topic)
        if self.settings_of(topic).get("paused"):
            return 0, -1
        opens = self.closed_until(topic, True)
        if opens:
            return 0, -1 if opens == INF else opens
        most = min(most, self.limit_of(topic) - self.in_flight(topic))
        if most < 1 or not waiting:
            return 0, -1
        if not self.is_due(waiting[0][0]):
            return 0, int(waiting[0][0])
        if self.is_fifo(topic) and self.line_until(topic):
            return 0, self.line_until(topic)
        tokens, next_at = self.tokens(topic)
        if tokens == INF:
            next_at = -1
        most = min(most, tokens)
        if most >= 1 and self.shared(topic):
            room, room_at = self.limit_room(self.shared(topic), self.first_due(topic))
            return min(most, room), (room_at or -1) if room < 1 else next_at
        return most, next_at

    def lease_one(self, topic, most, nonce, lease_ms, wait_ms, once, key=""):
        fingerprint, _, key = once.partition(" ")
        kept = self.answered.get(key)
        if kept and 0 <= self.now - kept[1] <= FORGOTTEN_MS:
            kept = None
        if kept and kept[0] != fingerprint:
            return -8
        if not self.is_pull(topic):
            return -31
        settings = self.told_settings(topic)
        if kept:
            jobs = [word for job_id in kept[3] if self.holders.get(job_id, ("",))[0] == kept[2] and self.pulled[job_id] > self.now
                    for word in self.told_pulled(job_id)]
            return [kept[2], 1, 0, -1, settings, *jobs]
        number, _ = self.pullable(topic, most)
        places = [place for place in self.waiting(topic)[:max(number, 0)] if self.is_due(place[0])]
        first_due, spending, ids = places[0][0] if places else 0, 0, []
        for due, job_id in places:
            record = self.jobs[job_id]
            is_over = is_expired(record, self.now)
            spending += not is_over
            del self.bucket[job_id]
            self.touched[topic] = True
            due = self.held.pop(job_id, due)
            self.pulled[job_id] = self.now + (LEASE_MS if is_over else lease_ms)
            self.holders[job_id] = (nonce, due)
            self.pull_notes[job_id] = (self.now, "+" if self.has_callbacks(topic, record) else "-")
            ids.append(job_id)
        if spending and self.rate_of(topic):
            self.spend(topic, spending, first_due)
        if ids:
            self.begin_limited(topic, spending, first_due)
        left, next_at = self.pullable(topic, most)
        if spending and key:
            self.answered[key] = (fingerprint, self.now + max(lease_ms, 60_000), nonce, ids)
        if not spending and left < 1 and wait_ms:
            self.awaited = {name: at for name, at in self.awaited.items() if at > self.now}
            self.awaited[topic] = max(self.awaited.get(topic, 0), self.now + wait_ms)
        return [nonce, 0, int(left > 0), next_at, settings, *(word for job_id in ids for word in self.told_pulled(job_id))]

    def has_callbacks(self, topic, record):
        """Returns whether the job may have callbacks. A record without a head has to be read to find out."""
        own, head = self.settings_of(topic), head_of(record)
        return "onDelivered" in own or "onAttempt" in own or not head or "c" in head[1]

    def told_pulled(self, job_id):
        return [job_id, int(self.holders[job_id][1]), self.pull_notes[job_id][0], self.pulled[job_id], self.jobs[job_id]]

    def read_pulled(self, items):
        """Returns the answer of pulled.lua."""
        return [[int(self.holders[job_id][1]), self.pull_notes[job_id][0], self.jobs[job_id], self.told_settings(topic_of(job_id))]
                if self.holders.get(job_id, ("",))[0] == nonce and job_id in self.pulled else [] for job_id, nonce in items]

    def recover_workers(self, expected, most):
        if abs(self.now - expected) > STEP_MS:
            return [-1]
        ids = self.lost(self.pulled, most, PULL_LEASE_MAX_MS)
        self.free_lost(self.lost(self.lingering_of(True), most, PULL_LEASE_MAX_MS))
        self.finish()
        flat = [word for job_id in ids for word in (job_id, self.holders[job_id][0], int(self.holders[job_id][1]),
                                                    self.pull_notes[job_id][0], self.jobs[job_id])]
        topics = dict.fromkeys(map(topic_of, ids))
        told = [word for topic in topics if self.told_settings(topic) for word in (topic, self.told_settings(topic))]
        return [len(ids), len(ids), *flat, *told]

    def lingering_of(self, are_pulled):
        return {place: at for place, at in self.lingering.items() if is_pulled(place[1]) == are_pulled}

    def retry(self, items):
        def finish_item(job_id, nonce, wait, record, line):
            due = self.holders[job_id][1] if job_id in self.holders else None
            is_fifo = self.is_fifo(topic_of(job_id))
            if is_fifo and due is None:
                due = self.bucket.get(job_id)
            self.take(job_id)
            self.progress.pop(job_id, None)
            self.jobs[job_id] = record
            self.note_expiry(job_id, record)
            self.crashes.pop(job_id, None)
            self.note(job_id, line)
            if is_fifo and due is not None:
                self.again(job_id, due, None if wait < 0 else self.soonest + wait)
            elif wait < 0 and due is not None:
                self.put_back(job_id, due)
            else:
                self.put_new(job_id, max(self.now, int(self.place)) if wait < 0 else self.soonest + wait)
        return self.end(items, finish_item)

    def defer(self, items):
        answers = []
        for job_id, nonce, lease_ms, began, callbacks in items:
            deadline = self.now + lease_ms
            holder = self.holders.get(job_id, ("",))[0]
            if holder == nonce:
                del self.leases[job_id]
                self.pulled[job_id] = deadline
                self.holders[job_id] = ("p-" + nonce, self.holders[job_id][1])
                self.pull_notes[job_id] = (began, callbacks)
                self.crashes.pop(job_id, None)
            elif holder == "p-" + nonce:
                self.pulled[job_id] = deadline = max(deadline, self.pulled[job_id])
            else:
                deadline = self.free_place(job_id, nonce)
            answers.append(deadline)
        self.finish()
        return answers

    def bury(self, items):
        def finish_item(job_id, nonce, record, line):
            losses, last = self.crashes.get(job_id, (0, ""))
            may_pause = nonce[:1] != "=" or self.is_first(job_id)
            self.take(job_id)
            self.die(job_id, record, f"{losses}/{last}" if is_recovering(nonce) else 0, line)
            if may_pause:
                self.pause_after(job_id)
        return self.end(items, finish_item, end_item=self.fail_workflow_of, may_end=self.has_expired)

    def pause_after(self, job_id):
        """The head of a fifo topic has died. Pauses the topic if its setting onHeadDead says so."""
        topic = topic_of(job_id)
        merged = self.settings_of(topic)
        if merged.get("order") == "fifo" and merged.get("onHeadDead") == "pause" and not merged.get("paused"):
            rest = {member: value for member, value in self.settings.get(topic, {}).items() if member != "paused"}
            self.settings[topic] = {"paused": True, "pauseReason": f"job {job_id.split('/')[1]} is dead", **rest}

    def is_without_breaker(self, job_id, receiver, by_setting):
        """receiver: the receiver whose breaker holds the job, or '-'. by_setting: 1 if only the topic's setting had turned the breaker on;
        'url' if neither the job nor its topic had a url."""
        if by_setting == "url":
            return self.needs_no_url(topic_of(job_id))
        return receiver != "-" and not self.settings_of(topic_of(job_id)).get("breaker", not by_setting)

    def release(self, items):
        unsent = collections.Counter()

        def finish_item(job_id, nonce, wait, claimed, receiver, by_setting):
            due = self.holders[job_id][1]
            is_free = wait < 0 or self.is_without_breaker(job_id, receiver, by_setting)
            self.take(job_id)
            self.progress.pop(job_id, None)
            self.again(job_id, due, None if is_free else self.soonest + wait)
            unsent[topic_of(job_id), nonce, claimed] += wait >= 0
            if not is_free:
                self.held[job_id] = due

        def finish_call():
            for (topic, _, claimed), number in unsent.items():
                self.give_back(topic, number, claimed)
                if self.shared(topic):
                    self.give_back("~" + self.shared(topic), number, claimed)
                    self.freed.add(self.shared(topic))
        return self.end(items, finish_item, ("lease",), finish_call)

    def resume(self, guide):
        """guide: the entries of the key breaker:<receiver>, which names the jobs that the breaker holds or has held."""
        self.resume_jobs(guide)
        self.finish()
        return [len(guide)]

    def resume_jobs(self, guide):
        held = dict(self.held)
        for job_id in guide:
            if job_id in self.held and job_id in self.bucket and self.held[job_id] <= self.bucket[job_id]:
                self.put_back(job_id, self.held[job_id])
            if job_id in held:
                self.let_go(job_id, held[job_id])

    def give_back(self, topic, number, claimed):
        """Returns tokens to the rate of the topic, for claimed jobs whose attempts have not begun."""
        window = self.window_rate(topic)
        if window:
            began, before = self.window(topic, window) or (INF, 0)
            if began < (claimed + 1) * 1000:
                self.windows[topic] = (began, max(0, before - number))
            return
        rate = self.rate_of(topic)
        if not rate:
            return
        step, _, spent = rate
        late = max(0, self.now_us - claimed * 1000 - CREDIT_US)
        if number * step > late:
            self.spent[topic] = math.ceil(spent - number * step + late)
        slots, _, spent_us = self.begun.get(topic, ({}, 0, 0))
        slot = claimed * 1000 // SLOT_US
        if slot in slots and self.now_us // 1000 <= spent_us // 1000 + 2000:
            slots[slot] -= min(slots[slot], number)

    def abandon(self, nonce, most, first, last):
        def examined(places, name=str):
            return sorted((place for place, at in places.items() if self.now + first <= at <= self.now + last),
                          key=lambda place: (places[place], name(place)))[:most]
        ids = [job_id for job_id in examined(self.pulled if is_pulled(nonce) else self.leases) if self.holders[job_id][0] == nonce]
        for job_id in ids:
            due = self.holders[job_id][1]
            self.take(job_id)
            self.progress.pop(job_id, None)
            self.again(job_id, due, None)
        self.free_lost([place for place in examined(self.lingering_of(is_pulled(nonce)), "\n".join) if place[1] == nonce])
        self.finish()
        return [len(ids)]

    def renew(self, items):
        answers = []
        for job_id, nonce, lease_ms, progress in items:
            deadline, is_worker = self.now + lease_ms, is_pulled(nonce)
            is_held = self.holders.get(job_id, ("",))[0] == nonce and (not is_worker or self.pulled.get(job_id, 0) > self.now)
            answers.append(deadline if is_held else -36 if (job_id, nonce) in self.replaced else -38 if (job_id, nonce) in self.lingering else 0)
            if is_held:
                (self.pulled if is_worker else self.leases)[job_id] = deadline
                if progress:
                    self.progress[job_id] = progress
            elif answers[-1] and not is_worker:
                self.lingering[job_id, nonce] = deadline
        return answers

    # ---- upkeep ----

    def carry(self, most, is_tick, is_owner):
        latest = self.now if is_owner else self.now - PATIENCE_MS
        topics = [topic for at, topic in sorted((at, topic) for topic, at in self.due.items())
                  if at <= latest][:most]
        for topic in topics:
            self.touched[topic] = True
        self.finish()
        if is_tick and is_owner:
            self.ring()
        return self.next_due(), self.until_lost() if is_owner else -1, len(topics)

    def next_due(self):
        first = min(self.due.values(), default=INF)
        return -1 if first == INF else first

    def carry_for_claim(self):
        for _, topic in sorted((at, topic) for topic, at in self.due.items() if at <= self.now):
            self.offer(topic)
        self.write_offers()

    def until_lost(self):
        if (self.lost(self.leases, 1) or self.lost(self.lingering_of(False), 1) or self.lost(self.pulled, 1, PULL_LEASE_MAX_MS)
                or self.lost(self.lingering_of(True), 1, PULL_LEASE_MAX_MS)):
            return 0
        return min((*self.leases.values(), *self.pulled.values(), *self.lingering.values()), default=self.now - 1) - self.now

    def sweep(self, most, age, dead_max):
        """Returns the answer, and the dead jobs that are gone."""
        left, gone = most, []

        def drop(ids):
            nonlocal left
            ids = ids[:left]
            for job_id in ids:
                self.drop(job_id)
            left -= len(ids)
            return ids

        ended = drop([job_id for at, job_id in sorted((at, job_id) for job_id, at in self.kept_until.items()) if at <= self.now])
        topics = [topic for at, topic in sorted((at, topic) for topic, at in self.dead_due.items()) if at <= self.now][:most]
        by_retention = []
        for topic in topics:
            if left:
                self.undated[topic] = True
                ids = [job_id for at, job_id in self.oldest_dead() if topic_of(job_id) == topic and self.retention(topic)
                       and at + self.retention(topic) <= self.now]
                by_retention += drop(ids)
        by_age = drop([job_id for at, job_id in self.oldest_dead() if age and at + age <= self.now])
        if self.redates:
            self.undated.update(dict.fromkeys(self.dead_due, True))
            self.redates = False
        excess = len(self.dead) - dead_max if dead_max else 0
        by_number = drop([job_id for _, job_id in self.oldest_dead()][:max(excess, 0)])
        self.date_dead()
        counts = [len(ended), len(by_retention), len(by_age), len(by_number)]
        return [*counts, self.lateness(age, dead_max)], by_retention, by_age, by_number

    def lateness(self, age, dead_max):
        """Returns how many ms ago a sweep should have removed the next job; -1: no job must be removed now."""
        times = [*self.kept_until.values(), *self.dead_due.values()]
        times += [at + age for at in self.dead.values() if age]
        times += [at for at, _ in self.oldest_dead()[dead_max:dead_max + 1] if dead_max]
        return max(self.now - min(times, default=INF), -1)

    def oldest_dead(self):
        return sorted((at, job_id) for job_id, at in self.dead.items())

    def lost(self, places, most, longest_ms=LEASE_MS):
        entries = sorted((at, job_id) for job_id, at in places.items())
        lost = [job_id for at, job_id in entries if at <= self.now]
        if not lost:
            lost = [job_id for at, job_id in entries if at > self.now + longest_ms + STEP_MS]
        return lost[:most]

    def free_lost(self, places):
        for place in places:
            self.free_place(*place)
            self.touched[topic_of(place[0])] = True

    def recover(self, expected, most, nonce, waits, lines):
        """waits: id -> time that the script chose at random, for jobs with a random wait. lines: topic -> the same for fifo topics."""
        if abs(self.now - expected) > STEP_MS:
            return [-1]
        ids, doomed = self.lost(self.leases, most), []
        for job_id in ids:
            last, due = self.holders[job_id]
            losses = self.losses(job_id) + (not is_recovering(last))
            if not is_recovering(last):
                self.crashes[job_id] = (losses, last)
            if losses >= LOSSES_MAX:
                self.holders[job_id] = (nonce, due)
                self.leases[job_id] = self.now + LEASE_MS
                doomed.append(job_id)
                continue
            self.take(job_id)
            self.note_expiry_again(job_id)
            if self.is_fifo(topic_of(job_id)):
                at, *_ = lines.get(topic_of(job_id), (0,))
                self.again(job_id, due, min(max(at, self.now), self.now + 2 ** losses * LEASE_MS) if losses > 1 else None)
            elif losses > 1:
                at = int(waits.get(job_id, -1))
                if due > self.now and waits.get(job_id) == due:
                    self.put_back(job_id, due)
                else:
                    self.put(job_id, min(max(at, int(due), self.now), self.now + 2 ** losses * LEASE_MS))
            else:
                self.put_back(job_id, due)
        self.free_lost(self.lost(self.lingering_of(False), most))
        self.finish()
        flat = [word for job_id in doomed for word in (job_id, nonce, int(self.holders[job_id][1]), self.now, self.jobs[job_id])]
        topics = dict.fromkeys(map(topic_of, doomed))
        told = [word for topic in topics if self.told_settings(topic) for word in (topic, self.told_settings(topic))]
        return [len(ids), len(doomed), *flat, *told]

    # ---- the whole keyspace ----

    def keyspace(self):
        return self.workflow_keyspace() | self.expected_keyspace() | {
            "jobs": self.jobs, "bucket": self.bucket, "leases": self.leases, "pulled": self.pulled, "pull notes": self.pull_notes, "progress": self.progress, "awaited": self.awaited, "dead": self.dead, "dead_due": self.dead_due,
            "ended": {f"{state}:{job_id}": at for job_id, (state, at, *_) in self.kept.items()},
            "holders": self.holders, "crashes": self.crashes, "expiries": self.expiries, "lingering": self.lingering, "lines": self.line,
            "attempts": {job_id: self.lines(job_id) for job_id in self.attempts},
            "kept": {job_id: f"{state} {at} {losses} {len(record)} {record}{lines}"
                     for job_id, (state, at, losses, record, lines) in self.kept.items()},
            "outbox": self.outbox, "outbox ids": self.outbox_ids, "outbox read": self.outbox_read, "outbox last": self.outbox_last,
            "outbox numbers": [self.outbox_bytes(), len(self.dropped), self.outbox_again, self.outbox_removed],
            "event bytes": [self.event_bytes()],
            "limited": {topic: f"{number} {name}" for topic, (number, name) in self.limited.items()},
            "limits used": {name: self.used(name) for _, name in self.limited.values()},
            "limit waits": {name: topics for name, topics in self.limit_waits.items() if topics},
            "held": self.held, "suspects": self.suspects, "kept_until": self.kept_until, "due": self.due, "turns": self.turns,
            "openings": self.openings, "openings wanted": self.openings_wanted,
            "replies": {key: " ".join(map(str, reply)) for key, reply in self.replies.items()}, "reply times": self.reply_times,
            "ready": self.bell, "rates": self.spent, "sends_until": self.sends_until,
            "schedules": self.schedules, "fires": self.fires, "skipped": self.skipped,
            "skipped until": self.skipped_until(), "schedule names": sorted(self.schedules),
            "fired": {name: " ".join(map(str, words)) for name, words in self.fired.items()},
            "sends": {send_id: " ".join([mark, group, *endpoints, f"@{sent_at}"]) for send_id, (mark, group, endpoints, sent_at) in self.sends.items()},
        }
