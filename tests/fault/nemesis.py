"""Injects faults into a site, by a plan that depends on a seed, and records their times.

A kill counts if a schedule request or an attempt of the victim had no answer at that moment: the victim is stopped,
examined, and then killed."""

import collections
import dataclasses
import os
import random
import signal
import time

from node import freeze
from patience import until
from verdict import Fault

RECONNECT_US = 2_500_000  # at most this long after Redis has come back, all connections exist again
LONG = 6.5                # seconds; longer than a lease


@dataclasses.dataclass
class Step:
    at: float  # seconds from the start
    kind: str
    node: int
    seconds: float


def now_us():
    return time.time_ns() // 1000


def bursts(seed, kills, rounds, burst=5.0, calm=6.0):
    """Returns a plan: rounds of kills in quick succession, with other faults between them. After each round, there is time to recover."""
    chance = random.Random(f"nemesis {seed}")
    per_round = kills / rounds
    steps = []
    for number in range(rounds):
        begin = 1 + number * (burst + calm)
        wanted = round((number + 1) * per_round) - round(number * per_round)
        while wanted > 0:
            kind = chance.choices(("kill node", "kill redis", "kill both"), (60, 22, 18))[0]
            wanted -= 2 if kind == "kill both" else 1
            steps.append(Step(begin + chance.uniform(0, burst), kind, chance.randrange(2), 0))
        for kind in chance.sample(("freeze node", "freeze long", "freeze redis", "flush", "client kill", "pause", "sleep",
                                   "full"), 3):
            longest = {"freeze long": LONG + 1, "freeze redis": 4.0, "full": 2.0}.get(kind, 1.5)
            shortest = LONG if kind == "freeze long" else 0.2
            steps.append(Step(begin + chance.uniform(0, burst + 1), kind, chance.randrange(2),
                              chance.uniform(shortest, longest)))
    return sorted(steps, key=lambda step: step.at)


class Nemesis:
    def __init__(self, site):
        self.site = site
        self.faults = []
        self.thaws = []  # (when, node)
        self.done = collections.Counter()
        self.counted = 0  # kills that hit a request or an attempt

    @property
    def kills(self):
        return self.done["killed"]

    def run(self, steps):
        """Ends when all steps are done and all frozen processes run again."""
        begin = time.monotonic()
        for step in steps:
            self.wait_until(begin + step.at)
            getattr(self, step.kind.replace(" ", "_"))(step)
            self.done[step.kind] += 1
        self.wait_until(max((when for when, _, _ in self.thaws), default=0))

    def wait_until(self, when):
        while True:
            for thaw in [t for t in self.thaws if t[0] <= time.monotonic()]:
                self.thaw(thaw)
            left = min([when, *(t[0] for t in self.thaws)]) - time.monotonic()
            if left <= 0 and when <= time.monotonic():
                return
            time.sleep(max(0, left))

    def note(self, kind, sources=None):
        fault = Fault(kind, now_us(), None, sources)
        self.faults.append(fault)
        return fault

    # ---- kills ----

    def look(self, node):
        """Returns whether a stopped process has a request or an attempt without an answer."""
        return self.site.client.open_schedules(node.index) > 0 or self.site.judge.open_posts(node.source) > 0

    def stop_in_the_middle(self, pid, nodes):
        """Stops a node in the middle of scheduling or of an attempt, if that happens within two seconds. Counts the
        kill."""
        deadline = time.monotonic() + 2
        while True:
            freeze(pid)
            is_busy = any(self.look(node) for node in nodes)
            if is_busy or time.monotonic() > deadline:
                break
            os.kill(pid, signal.SIGCONT)
            time.sleep(0.005)
        self.counted += is_busy
        self.done["killed"] += 1

    def end_node(self, node):
        self.forget_thaw(node)
        assert node.is_alive(), f"it has ended by itself\n{node.log()[-3000:]}"
        self.stop_in_the_middle(node.pid, [node])
        fault = self.note("kill node", (node.source,))
        node.kill()
        fault.end_us = now_us()

    def end_redis(self):
        redis = self.site.redis
        self.stop_in_the_middle(redis.pid, self.site.nodes)
        fault = self.note("kill redis")
        redis.end()
        return fault

    def begin_redis(self, fault):
        self.site.redis.start()
        fault.end_us = now_us() + RECONNECT_US

    def kill_node(self, step):
        node = self.site.nodes[step.node]
        self.end_node(node)
        node.start(wait=False)

    def kill_redis(self, _):
        self.begin_redis(self.end_redis())

    def kill_both(self, step):
        node = self.site.nodes[step.node]
        self.end_node(node)
        fault = self.end_redis()
        self.begin_redis(fault)
        node.start(wait=False)

    # ---- freezes ----

    def freeze_node(self, step):
        node = self.site.nodes[step.node]
        if any(n is node for _, n, _ in self.thaws) or not node.is_alive():
            return
        freeze(node.pid)
        fault = self.note("freeze node", (node.source,))
        self.thaws.append((time.monotonic() + step.seconds, node, fault))

    freeze_long = freeze_node

    def thaw(self, thaw):
        self.thaws.remove(thaw)
        _, node, fault = thaw
        node.signal(signal.SIGCONT)
        fault.end_us = now_us() + 1_000_000

    def forget_thaw(self, node):
        """Continues the process if it is frozen, because it will be killed."""
        for thaw in [t for t in self.thaws if t[1] is node]:
            self.thaw(thaw)

    def freeze_redis(self, step):
        redis = self.site.redis
        freeze(redis.pid)
        fault = self.note("freeze redis")
        time.sleep(step.seconds)
        redis.thaw()
        fault.end_us = now_us() + RECONNECT_US

    # ---- faults of Redis ----

    def flush(self, _):
        self.site.redis.ask("FUNCTION", "FLUSH")
        self.site.redis.ask("SCRIPT", "FLUSH")

    def client_kill(self, _):
        fault = self.note("client kill")
        self.site.redis.ask("CLIENT", "KILL", "TYPE", "normal")
        fault.end_us = now_us() + RECONNECT_US

    def pause(self, step):
        self.site.redis.ask("CLIENT", "PAUSE", int(step.seconds * 1000), "ALL")

    def sleep(self, step):
        self.site.redis.ask("DEBUG", "SLEEP", step.seconds)

    def full(self, step):
        self.site.redis.ask("CONFIG", "SET", "maxmemory", "1")
        time.sleep(step.seconds)
        self.site.redis.ask("CONFIG", "SET", "maxmemory", "0")

    def end(self):
        """Ends all faults: continues frozen processes and restarts dead ones."""
        for thaw in list(self.thaws):
            self.thaw(thaw)
        for node in self.site.nodes:
            if not node.is_alive():
                node.start(wait=False)
        until(lambda: all(node.is_ready() for node in self.site.nodes), 30, "all are ready again")
