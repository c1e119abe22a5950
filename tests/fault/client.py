"""Clients that schedule and cancel jobs (client.c): their plan, and the answers to their requests."""

import dataclasses
import mmap
import random
import struct
import subprocess

import place
import scratch

PORTS_MAX = 16

# Kinds of jobs: share, path and members of the job. The path defines the receiver's behaviour: see judge.c.
QUICK = '"retrySchedule":[0.5,0.5,0.5]'
MIX = (
    (66, "/200", QUICK),
    (10, "/200w30", QUICK),
    (6, "/200w300", QUICK),
    (1, "/200w2500", QUICK),
    (6, "/500/200", QUICK),
    (3, "/reset/200", QUICK),
    (3, "/500w100/500/200", QUICK),
    (2, "/hang/200", QUICK + ',"timeout":0.5'),
    (2, "/drip", QUICK),
    (1, "/410", QUICK),
)


@dataclasses.dataclass(slots=True)
class Order:
    at_ms: int
    topic: str
    job_id: str
    delay_ms: int = 0
    cancel_after_ms: int = -1
    path: str = "/200"
    more: str = "-"

    @property
    def key(self):
        return f"{self.topic}/{self.job_id}"


def mixed_orders(seed, jobs, seconds, topics=20, cancels=0.1, delay_ms=3000, mix=MIX):
    """Yields jobs of all kinds, which clients schedule within this number of seconds."""
    chance = random.Random(f"orders {seed}")
    shares = [share for share, _, _ in mix]
    for number in range(jobs):
        _, path, more = chance.choices(mix, shares)[0]
        topic = chance.randrange(topics)
        yield Order(
            at_ms=int(number * seconds * 1000 / jobs),
            topic=f"t{topic}",
            job_id=str(number),
            delay_ms=0 if chance.random() < 0.3 else chance.randrange(delay_ms + 1),
            cancel_after_ms=chance.randrange(2500) if chance.random() < cancels else -1,
            path=path, more=more + (f',"key":"c{number % 7}"' if topic % 3 == 0 else "") + (f',"priority":{number % 10}' if topic % 5 == 0 else ""))


@dataclasses.dataclass(slots=True)
class Told:
    """The client's record of one job. Status 0: the answer was lost."""
    scheduled: int = None        # status of the answer to the schedule request
    sent_us: int = 0
    answered_us: int = 0
    nothing_changed: bool = False
    due_ms: int = 0
    cancel: int = None           # status of the answer to the cancel
    cancel_sent_us: int = 0
    cancelled_us: int = 0        # when the cancel was answered
    was_running: bool = False    # whether an attempt was under way at the cancel
    may_be_cancelled: bool = False  # the cancel has no answer, or its outcome is unknown


class Client:
    def __init__(self, orders, receiver, ports, connections=32):
        directory = scratch.directory("client")
        self.plan_path, self.log_path = directory / "plan", directory / "log"
        with self.plan_path.open("w") as plan:
            for o in orders:
                plan.write(f"{o.at_ms} {o.topic} {o.job_id} {o.delay_ms} {o.cancel_after_ms} {o.path} {o.more}\n")
        gauges = directory / "gauges"
        gauges.write_bytes(bytes(8 * PORTS_MAX))
        with gauges.open("rb") as file:
            self._gauges = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
        self.process = subprocess.Popen(
            [place.tool("fault_client"), self.plan_path, self.log_path, gauges, receiver, str(connections),
             *map(str, ports)])

    def open_schedules(self, index):
        return struct.unpack_from("=q", self._gauges, 8 * index)[0]

    def is_done(self):
        code = self.process.poll()
        assert code in (None, 0), f"the client ended with {code}"
        return code == 0

    def told(self):
        """By job."""
        jobs = {}
        with self.log_path.open() as log:
            for line in log:
                words = line.split()
                told = jobs.setdefault(words[-1], Told())
                if words[0] == "P":
                    told.sent_us, told.answered_us, told.scheduled = int(words[1]), int(words[2]), int(words[4])
                    told.nothing_changed, told.due_ms = words[5] == "n", int(words[6])
                else:
                    told.cancel_sent_us, told.cancelled_us, told.cancel = int(words[1]), int(words[2]), int(words[4])
                    told.was_running = words[5] == "y"
                    told.may_be_cancelled = told.cancel in (0, 503) and words[5] != "n"
        return jobs

    def stop(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
