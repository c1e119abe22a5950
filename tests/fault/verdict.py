"""Compares accepted and delivered jobs after a run, and checks that a fault explains each difference.

    each accepted job is delivered, cancelled or dead
    no job came early, by Redis's clock, and no job came after a confirmed cancel
    no job came that was refused with "nothing changed"
    each repetition follows an attempt whose outcome was lost in a recorded fault
    a crash of duepost does not use up an attempt of a job
    an attempt whose end was deferred stays open for the deferral, and nothing comes after its confirmed complete"""

import collections
import dataclasses
import datetime
import re

STORIES = 5  # maximum number of broken promises that are reported with all details
LEASE_US = 5_000_000
RETRY_MS = 500  # the shortest wait in the retry schedules of most jobs, see client.MIX
REPLY_US = 3_000_000   # the longest time for which a duepost waits for a reply of Redis
RECORD_US = 3_000_000  # the longest time from an answer to its record in Redis, on a busy host
HURRY_MS = 5000  # longer than the timeout of jobs that hang, and shorter than all other timeouts, see client.MIX
DRIP_US = 2_000_000    # time for the rest of an answer's body after the status


@dataclasses.dataclass
class Fault:
    """A fault from begin_us to end_us, in which outcomes of attempts may have been lost. sources: the processes that it affected; None: all."""
    kind: str
    begin_us: int
    end_us: int = None
    sources: tuple = None

    def explains(self, arrival, next_us):
        """Returns whether this fault explains that the attempt was repeated."""
        if self.sources is not None and arrival.source not in self.sources:
            return False
        end_us = next_us
        if arrival.answered_us is not None:
            end_us = arrival.answered_us + RECORD_US + DRIP_US * (arrival.action.startswith("drip"))
        return self.begin_us <= end_us and arrival.at_us - RECORD_US <= (self.end_us or self.begin_us)


@dataclasses.dataclass
class Verdict:
    counts: collections.Counter
    broken: list  # the broken promises, a sentence each

    def __bool__(self):
        return not self.broken

    def __str__(self):
        c = self.counts
        return (f"{c['accepted']} accepted, {c['delivered']} delivered, {c['cancelled']} cancelled, {c['dead']} dead "
                f"({c['consumer lost']} consumer_lost), {c['repeated']} repeated, {c['unknown']} unknown, "
                f"{c['refused']} refused; {len(self.broken)} broken promises")


class Case:
    def __init__(self, key, told, arrivals, dead, faults, context):
        self.key, self.told, self.arrivals = key, told, arrivals
        self.dead, self.faults, self.context = dead, faults, context
        self.clock_ms = context.clock_ms
        self.is_accepted = told is not None and told.scheduled in (200, 201)
        self.is_delivered = any(a.is_success for a in arrivals)
        self.is_cancelled = told is not None and told.cancel == 200
        self.repetitions = 0

    def broken(self):
        yield from self.lost()
        yield from self.uninvited()
        yield from self.early()
        yield from self.after_cancel()
        yield from self.after_complete()
        yield from self.repeated()
        yield from self.spent()

    def story(self):
        """Returns details for developers who search for the cause."""
        near = [fault for fault in self.faults for a in self.arrivals if fault.explains(a, a.at_us + 10_000_000)]
        return "".join(f"\n      {what}" for what in (self.told, *self.arrivals, *near[:5]))

    def lost(self):
        if self.is_accepted and not (self.is_delivered or self.is_cancelled or self.dead is not None):
            if not self.told.may_be_cancelled:
                yield "lost"

    def uninvited(self):
        if self.arrivals and self.told is None:
            yield "came, and nobody scheduled it"
        elif self.arrivals and self.told.nothing_changed:
            yield "came, and its schedule was answered with 'nothing changed'"

    def early(self):
        due_ms = self.told.due_ms if self.told else 0
        if self.arrivals and due_ms and self.clock_ms(self.arrivals[0].at_us) < due_ms:
            yield f"early by {due_ms - self.clock_ms(self.arrivals[0].at_us):.1f} ms"
        for arrival in self.arrivals:
            ends_us = [(a.answered_us or a.at_us) + a.deferral_us for a in self.arrivals if a.attempt == arrival.attempt - 1]
            if self.is_first_reset(arrival.attempt - 1):
                continue
            if ends_us and not self.context.is_cut and self.clock_ms(arrival.at_us) < min(ends_us) / 1000 + self.context.retry_ms:
                yield f"attempt {arrival.attempt} came early, {(arrival.at_us - min(ends_us)) / 1e6:.3f} s after the one before"

    def is_first_reset(self, number):
        """Returns whether this is the job's first attempt whose connection the receiver has reset. If the connection
        was used before, duepost sends the request again at once."""
        resets = {a.attempt for a in self.arrivals if a.action == "reset"}
        return bool(resets) and min(resets) == number

    def after_cancel(self):
        if not self.is_cancelled:
            return
        end_us = self.told.cancelled_us + (LEASE_US + self.context.travel_us if self.told.was_running else 0)
        for arrival in self.arrivals:
            if arrival.at_us > end_us:
                yield f"came {(arrival.at_us - self.told.cancelled_us) / 1e6:.3f} s after its cancel"

    def after_complete(self):
        for completed in self.arrivals:
            for arrival in self.arrivals:
                if completed.completed_us and arrival.at_us > completed.completed_us + self.context.travel_us:
                    yield f"attempt {arrival.attempt} came {(arrival.at_us - completed.completed_us) / 1e6:.3f} s after its confirmed complete"

    def repeated(self):
        """Yields each attempt that was repeated although no fault explains it."""
        for before, after in zip(self.arrivals, self.arrivals[1:]):
            if after.attempt > before.attempt and (not before.is_success or self.context.is_cut):
                continue
            self.repetitions += 1
            if not any(fault.explains(before, after.at_us) for fault in self.faults):
                yield (f"attempt {after.attempt} at {after.at_us} repeats attempt {before.attempt} ({before.action}) of "
                       f"{before.source} at {before.at_us}, answered at {before.answered_us}, without a fault")

    def spent(self):
        """Yields each attempt, except the last one, that did not fail because of the receiver."""
        last = max((a.attempt for a in self.arrivals), default=0)
        for number in range(1, last):
            is_failed = any(a.attempt == number and a.is_failure for a in self.arrivals)
            if not self.context.is_cut and not is_failed and not self.ran_out_of_time(number):
                yield f"attempt {number} of {last} was spent without a failure of the receiver"

    def ran_out_of_time(self, number):
        """Returns whether the process was stopped, by a fault or a busy host, for longer than the timeout of this
        attempt before it sent anything. The process neither died nor lost its lease, so this is a timeout, which its
        log shows. Only jobs that hang have such a short timeout: see client.MIX."""
        return (self.key, number) in self.context.hurried()


@dataclasses.dataclass
class Context:
    """clock_ms: a function that returns the latest time that Redis's clock may have shown before a moment. retry_ms:
    the shortest wait of the jobs' retry schedules. is_cut: connections to the judge were cut, so that an answer may
    not have come. hurried: a function that returns the attempts, as (job, number), that by the logs timed out in less
    than HURRY_MS. travel_us: how long a request that duepost has sent may take to the judge."""
    clock_ms: callable = lambda at_us: at_us / 1000
    retry_ms: int = RETRY_MS
    is_cut: bool = False
    hurried: callable = set
    travel_us: int = 0


def hurried(logs):
    """Returns the attempts in the logs that timed out in less than HURRY_MS."""
    found = re.compile(r'event=attempt_failed job=(\S+) receiver=\S+ attempt=(\d+) error=timeout (?:error_detail="[^"]*" )?ms=(\d+)')
    return {(job, int(number)) for log in logs for job, number, ms in found.findall(log) if int(ms) < HURRY_MS}


def unanswered(logs):
    """Returns a fault for each time that a worker lost Redis because a reply took longer than 3 s. The outcomes of its attempts are
    sent again over the next connection, and may come after the end of their leases."""
    found = re.compile(r'time=(\S+) \S+ event=redis_lost \S+ connection=worker why="Redis did not answer in time"')
    lost = [datetime.datetime.fromisoformat(time).timestamp() for log in logs for time in found.findall(log)]
    return [Fault("unanswered", int(at * 1e6) - REPLY_US, int(at * 1e6) + LEASE_US) for at in lost]


def judge(told, arrivals, dead, faults, **context):
    """told and arrivals map a job to its record and to its arrivals. dead maps a job to its number of lost consumers."""
    context = Context(**context)
    counts, broken = collections.Counter(), []
    for key in told.keys() | arrivals.keys():
        case = Case(key, told.get(key), arrivals.get(key, []), dead.get(key), faults, context)
        broken += [f"{key}: {what}{case.story() if len(broken) < STORIES else ''}" for what in case.broken()]
        scheduled = case.told.scheduled if case.told else None
        counts["accepted"] += case.is_accepted
        counts["delivered"] += case.is_delivered
        counts["cancelled"] += case.is_cancelled
        counts["dead"] += case.dead is not None
        counts["consumer lost"] += (case.dead or 0) >= 5
        counts["repeated"] += case.repetitions
        counts["unknown"] += scheduled is not None and scheduled not in (200, 201) and not case.told.nothing_changed
        counts["refused"] += scheduled is not None and case.told.nothing_changed
    return Verdict(counts, broken)
