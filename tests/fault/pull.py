"""Workers of pull topics, duepost and Redis are killed at random. Then the recorded leases and ends must keep these
rules:

    a confirmed job is completed, or dead, and none is lost
    no job is leased twice within a lease; a lease that is held can be ended
    a lease that ran out is a failed attempt: the job comes back after its wait, with the next attempt number
    no job comes back after a confirmed complete or bury; a job is dead after its last attempt, not before
    maxInFlight and fifo hold over all workers and processes"""

import collections
import dataclasses
import datetime
import json
import random
import subprocess
import sys
import threading
import time

import control
import place
from node import Node
from patience import until
from redis import Redis
import processes
import scratch

WORKERS, LEASE_MS, WAIT_MS, RETRIES, IN_FLIGHT = 8, 1500, 300, 3, 4
TOPICS = {"plain": {}, "narrow": {"maxInFlight": IN_FLIGHT}, "line": {"order": "fifo"}}
SHARES = ("plain", "narrow", "plain", "line", "plain", "narrow")  # topics of the jobs; a topic that is listed twice gets twice as many jobs
ROUNDING_MS = 2
SETTLE_S = 90


def ms_of(text):
    return datetime.datetime.fromisoformat(text).timestamp() * 1000


@dataclasses.dataclass
class Lease:
    token: str
    attempt: int
    until_ms: float
    begin_ms: float = 0
    ends: list = dataclasses.field(default_factory=list)  # (action, when it was sent, status, when the answer came)

    @property
    def end_ms(self):
        """Returns the time until which no other worker may have the job."""
        return min([self.until_ms, *(sent for action, sent, _, _ in self.ends if action != "extend")])

    def may_have_ended(self, before_ms):
        """Returns whether Redis may have accepted an end before this time. An expired lease can still be ended with its token until the
        carry worker has ended it."""
        return any(action != "extend" and sent < before_ms and status != 409 for action, sent, status, _ in self.ends)

    def confirmed(self, *actions):
        """Returns when an end was confirmed, or None."""
        return next((answered for action, _, status, answered in self.ends if action in actions and status == 200), None)


class Ledger:
    """Returns the leases and ends in the workers' ledgers, by job."""

    def __init__(self, paths):
        self.jobs = collections.defaultdict(dict)  # (topic, jobId): token: Lease
        for path in paths:
            for line in path.read_text().splitlines():
                try:
                    self.add(json.loads(line))
                except json.JSONDecodeError:
                    continue  # the last line of a killed worker
        for leases in self.jobs.values():
            for lease in leases.values():
                lease.ends.sort(key=lambda end: end[1])

    def add(self, line):
        leases = self.jobs[line["topic"], line["job"]]
        if line["what"] == "lease":
            until_ms = ms_of(line["until"])
            leases.setdefault(line["token"], Lease(line["token"], line["attempt"], until_ms, until_ms - LEASE_MS))
            return
        lease = leases[line["token"]]
        if line["what"] == "send":
            lease.ends.append((line["action"], line["at"], None, None))
            return
        action, sent, _, _ = lease.ends[-1]
        lease.ends[-1] = action, sent, line["status"], line["at"]
        if line["until"] and action == "extend":
            lease.until_ms = max(lease.until_ms, ms_of(line["until"]))

    def of(self, job):
        return sorted(self.jobs[job].values(), key=lambda lease: lease.begin_ms)


# ---- what must hold ----

def pair_faults(first, second):
    """Returns the faults of two consecutive leases of a job."""
    if second.begin_ms < first.end_ms - ROUNDING_MS:
        yield f"leased again {first.end_ms - second.begin_ms:.0f} ms before its lease was over"
    for action in ("complete", "bury"):
        if first.confirmed(action):
            yield f"leased again after a confirmed {action}"
    for action, sent, status, _ in first.ends:
        if status == 200 and sent > second.begin_ms + ROUNDING_MS:
            yield f"its {action} was confirmed {sent - second.begin_ms:.0f} ms after it was leased again"
    if second.attempt < first.attempt:
        yield f"attempt {second.attempt} after attempt {first.attempt}"
    has_lapsed = not first.may_have_ended(second.begin_ms)
    retried = first.confirmed("retry")
    if (has_lapsed or retried) and second.attempt <= first.attempt:
        yield f"attempt {first.attempt} {'was retried' if retried else 'ran out'} and did not count"
    failed_ms = first.until_ms if has_lapsed else min(sent for action, sent, _, _ in first.ends if action == "retry") if retried else None
    if failed_ms and second.begin_ms < failed_ms + WAIT_MS - ROUNDING_MS:
        yield f"came back {second.begin_ms - failed_ms:.0f} ms after its attempt failed"


def lease_faults(lease):
    """Yields the faults of one lease. While the lease is held, its first end must not be refused."""
    ends = [end for end in lease.ends if end[0] != "extend"]
    if lease.attempt > RETRIES + 1:
        yield f"attempt {lease.attempt} of {RETRIES + 1}"
    if ends and ends[0][2] == 409 and ends[0][3] < lease.until_ms:
        yield f"its {ends[0][0]} was refused {lease.until_ms - ends[0][3]:.0f} ms before its lease was over"
    for action, _, status, answered in lease.ends:
        if action == "extend" and status == 409 and answered < lease.until_ms:
            yield f"its extend was refused {lease.until_ms - answered:.0f} ms before its lease was over"
        if status not in (None, 0, 200, 409, 503):
            yield f"its {action} was answered {status}"


def end_faults(job, is_confirmed, ledger, dead):
    """Yields the faults in the end of a job. The caller has waited until no job is left."""
    leases = ledger.of(job)
    sent = {action for lease in leases for action, *_ in lease.ends}
    reason = dead.get(job, {}).get("reason")
    if is_confirmed and not reason and "complete" not in sent:
        yield "lost"
    if reason and any(lease.confirmed("complete") for lease in leases):
        yield f"completed, and dead with {reason}"
    if reason == "retries_exhausted" and dead[job]["attempts"] != RETRIES + 1:
        yield f"dead after {dead[job]['attempts']} attempts of {RETRIES + 1}"
    if reason == "rejected" and "bury" not in sent or reason not in (None, "retries_exhausted", "rejected"):
        yield f"dead with {reason}"
    if any(lease.confirmed("bury") for lease in leases) and reason != "rejected":
        yield "buried, and not dead"


def most_at_once(ledger, topic):
    """Returns how many leases of a topic certainly existed at the same time."""
    steps = []
    for job in [job for job in ledger.jobs if job[0] == topic]:
        for lease in ledger.of(job):
            steps += [(lease.begin_ms + ROUNDING_MS, 1), (max(lease.end_ms, lease.begin_ms + ROUNDING_MS), -1)]
    count = most = 0
    for _, step in sorted(steps):
        count += step
        most = max(most, count)
    return most


def faults(ledger, scheduled, dead):
    for job in ledger.jobs.keys() | scheduled.keys():
        leases = ledger.of(job)
        found = [fault for first, second in zip(leases, leases[1:]) for fault in pair_faults(first, second)]
        found += [fault for lease in leases for fault in lease_faults(lease)]
        found += end_faults(job, scheduled.get(job) in (200, 201), ledger, dead)
        if job not in scheduled:
            found.append("leased, and never scheduled")
        yield from (f"{'/'.join(job)}: {fault}" for fault in found)
    for topic, most in (("narrow", IN_FLIGHT), ("line", 1)):
        if most_at_once(ledger, topic) > most:
            yield f"{topic}: {most_at_once(ledger, topic)} leases at once, not {most}"


class Verdict:
    def __init__(self, broken):
        self.broken = broken

    def __str__(self):
        return f"{len(self.broken)} broken promises"


# ---- the run ----

class Site:
    def __init__(self, seed, binary=None):
        self.seed, self.folder = seed, scratch.directory("pull")
        self.redis = Redis()
        self.nodes = [Node(index, "--reactors", "2", "--history", "off", redis=self.redis.address, binary=binary).start() for index in range(2)]
        self.workers, self.number, self.scheduled = [], 0, {}
        for node in self.nodes:
            node.await_ready()
        for topic, settings in TOPICS.items():
            document = {"delivery": "pull", "retrySchedule": [WAIT_MS / 1000] * RETRIES, **settings}
            status, answer = self.nodes[0].request("PUT", f"/topics/{topic}", document)
            assert status == 200, answer

    def start_worker(self, *more):
        self.number += 1
        ports, path = ",".join(str(node.port) for node in self.nodes), self.folder / f"{self.number}.ledger"
        return subprocess.Popen([sys.executable, place.HERE / "pull_worker.py", path, f"{self.seed} {self.number}", ports, ",".join(TOPICS), *more])

    def schedule(self, jobs, seconds):
        """Schedules jobs of all topics, evenly over this time. If an answer is lost, its job may exist."""
        begin = time.monotonic()
        for number in range(jobs):
            topic = SHARES[number % len(SHARES)]
            time.sleep(max(0, begin + number * seconds / jobs - time.monotonic()))
            node = self.nodes[number % 2]
            self.scheduled[topic, str(number)] = 0
            try:
                self.scheduled[topic, str(number)] = node.schedule(topic=topic, jobId=str(number), body={"number": number}, delay=number % 4 / 4)[0]
            except (OSError, ValueError, ConnectionError) as _:
                continue
            except Exception as problem:  # any exception of http.client: the answer was lost
                assert type(problem).__module__ == "http.client", problem

    def kill_worker(self, chance):
        victim = chance.randrange(len(self.workers))
        processes.end(self.workers[victim].pid)
        self.workers[victim].wait()
        self.workers[victim] = self.start_worker()

    def kill_node(self, chance):
        node = chance.choice(self.nodes)
        node.kill()
        node.start(wait=False)

    def kill_redis(self, _):
        self.redis.end()
        self.redis.start()

    def run(self, jobs, kills, seconds):
        chance, done = random.Random(f"pull {self.seed}"), collections.Counter()
        self.workers = [self.start_worker() for _ in range(WORKERS)]
        owner = threading.Thread(target=self.schedule, args=(jobs, seconds))
        owner.start()
        begin = time.monotonic()
        for at in sorted(chance.uniform(0.5, seconds) for _ in range(kills)):
            time.sleep(max(0, begin + at - time.monotonic()))
            what = chance.choices(("kill_worker", "kill_node", "kill_redis"), (50, 35, 15))[0]
            getattr(self, what)(chance)
            done[what] += 1
        owner.join()
        until(lambda: all(node.is_ready() for node in self.nodes), 30, "all are ready again")
        self.end_workers()
        return done

    def settle(self):
        """Runs workers that complete all jobs, until none is left."""
        self.workers = [self.start_worker("calm") for _ in range(2)]
        until(lambda: self.redis.counts()[0] == 0, SETTLE_S, lambda: f"no job is left, there are {self.redis.counts()[0]}")
        self.end_workers()

    def end_workers(self):
        for worker in self.workers:
            processes.end(worker.pid)
            worker.wait()
        self.workers = []

    def dead(self):
        found, cursor = {}, ""
        while True:
            status, answer = self.nodes[0].request("GET", f"/jobs?state=dead&limit=1000{cursor}")
            assert status == 200, answer
            found.update({(job["topic"], job["jobId"]): job for job in answer["jobs"]})
            if "cursor" not in answer:
                return found
            cursor = f"&cursor={answer['cursor']}"

    def stop(self):
        self.end_workers()
        for node in self.nodes:
            node.kill()
        self.redis.end()


def one_run(seed, jobs, kills, seconds, binary=None):
    site = Site(seed, binary)
    try:
        done = site.run(jobs, kills, seconds)
        site.settle()
        ledger, dead = Ledger(site.folder.glob("*.ledger")), site.dead()
        return ledger, done, dead, Verdict(sorted(faults(ledger, site.scheduled, dead)))
    finally:
        site.stop()


def run(report):
    jobs, kills, seconds = report.amount(1500, 15_000), report.amount(30, 300), report.amount(25, 250)
    ledger, done, dead, verdict = one_run(report.seed, jobs, kills, seconds)
    leases = [lease for job in ledger.jobs for lease in ledger.of(job)]
    ends = collections.Counter(action for lease in leases for action, _, status, _ in lease.ends if status == 200)
    lapsed = sum(not lease.ends for lease in leases)
    report.say(f"{len(leases)} leases of {jobs} jobs, {lapsed} of them never ended; confirmed: "
               + ", ".join(f"{number} {action}" for action, number in sorted(ends.items()))
               + f"; {len(dead)} dead; " + ", ".join(f"{number} {what.replace('_', ' ')}" for what, number in sorted(done.items())))
    report.verdict("pull", verdict)
    report.expect(lapsed > 0 and len(dead) > 0, "no lease ran out, or no job died")
    for name in ("leases of workers",):
        report.control(name, one_run(report.seed, 800, 0, 16, control.without(name))[3])
