"""One story for each promise that chance alone would rarely try: each with its control."""

import itertools
import os
import random
import signal
import subprocess
import time

from client import mixed_orders
from clock import MovableClock
import control
from judge import Judge
from lane import Lane, side_by_side
from nemesis import LONG, now_us
from node import Node, freeze, is_stopped
from patience import until
import place
from premises import Site
from redis import Redis
import scratch
from verdict import Fault


class Stage:
    """What all stories share: a Redis, a judge; each has a lane of its own."""

    def __init__(self):
        self.redis, self.judge = Redis(), Judge()
        self.names = itertools.count()

    def lane(self, name, **how):
        return Lane(self.redis, self.judge, f"{name}-{next(self.names)}", **how)

    def stop(self):
        self.redis.end()
        self.judge.stop()


# ---- leases of a dead consumer are taken up again ----

def orphans(stage, report):
    """Within 10 s of its death (p99), whatever the attempt's timeout."""
    lane = stage.lane("orphans")
    waits, number = [], itertools.count()
    try:
        nodes = [lane.start(), lane.start()]
        for _ in range(report.amount(2, 10)):
            victim = random.Random(report.seed).randrange(2)
            for _ in range(100):
                lane.schedule(nodes[0], f"j{next(number)}", "/200w1500", timeout=3600)
            until(lambda: stage.judge.open_posts(nodes[victim].source) > 20, 10, "attempts under way")
            freeze(nodes[victim].pid)
            died_us = now_us()
            source = nodes[victim].source
            lane.faults.append(Fault("kill", died_us, died_us, (source,)))
            nodes[victim].kill()
            nodes[victim] = lane.start()
            lane.await_settled(40)
            waits += waits_of(stage, lane, source, died_us)
        waits.sort()
        report.say(f"{len(waits)} orphaned leases taken up again after {waits[len(waits) // 2]:.1f} s (median), "
                   f"{waits[int(len(waits) * .99)]:.1f} s (p99)")
        report.expect(waits[int(len(waits) * .99)] <= 10, "orphaned leases waited longer than 10 s")
        report.verdict("orphans", lane.verdict())
    finally:
        lane.stop()


def waits_of(stage, lane, source, died_us):
    waits = []
    for key, arrivals in stage.judge.arrivals().items():
        if not key.startswith(lane.name + "/"):
            continue
        for before, after in zip(arrivals, arrivals[1:]):
            if before.source == source and before.answered_us is None:
                waits.append((after.at_us - died_us) / 1e6)
    return waits


# ---- a job that outlives five consumers ----

def losses(stage, binary):
    """Kills the consumer at each attempt. The waits between are cut short."""
    lane = stage.lane("losses", binary=binary)
    try:
        node = lane.start()
        node.await_ready()
        lane.schedule(node, "killer", "/200w60000", timeout=3600)
        for loss in range(1, 6):
            until(lambda: len(lane.arrivals("killer")) == loss, 25, f"attempt after {loss - 1} losses")
            died_us = now_us()
            lane.faults.append(Fault("kill", died_us, died_us, (node.source,)))
            node.kill()
            node = lane.start()
        node.await_ready()
        until(lambda: node.request("GET", f"/jobs/{lane.name}/killer")[1].get("state") != "leased", 25, "the fifth recovery")
        time.sleep(0.5)  # would it come a sixth time?
        job = node.request("GET", f"/jobs/{lane.name}/killer")[1]
        said = lane.verdict()
        is_right = job["state"] == "dead" and job["reason"] == "consumer_lost" and job["attempts"] == 0
        if not is_right or len(lane.arrivals("killer")) != 5:
            said.broken.append(f"after five losses: {job}")
        return said
    finally:
        lane.stop()


def five_losses(stage, report):
    quick = ("recover", "math.random(0, 2 ^ losses * lease_ms)", "math.random(0, 100)")
    binaries = [control.patched("quick", [quick]), control.patched("endless", [quick, *control.CONTROLS["no end of losses"]])]
    right, wrong = side_by_side(lambda binary: losses(stage, binary), binaries, 2)
    report.verdict("a job that outlives five consumers is dead, with no attempt spent", right)
    report.control("no end of losses", wrong)


# ---- drain ----

def drain(stage, report):
    """With 1,000 attempts in flight: what was answered before the end is not repeated."""
    lane = stage.lane("drain", options=("--reactors", "2", "--max-in-flight", "2048", "--max-in-flight-topic", "2048",
                                        "--drain-timeout", "3s"))
    chance = random.Random(f"drain {report.seed}")
    try:
        node = lane.start()
        node.await_ready()
        kinds = ["/dripw"] * 200 + ["/200w"] * 800
        paths = [f"{kind}{chance.randrange(1500, 9000)}" for kind in kinds]
        at = time.time() + 3
        due = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(at)) + f".{int(at % 1 * 1000):03d}Z"
        side_by_side(lambda item: lane.schedule(node, str(item[0]), item[1], dueAt=due), list(enumerate(paths)), 16)
        until(lambda: len(lane.arrivals()) == 1000, 20, lambda: f"1,000 attempts, {len(lane.arrivals())}")
        fault = Fault("drain", now_us(), None, (node.source,))
        node.terminate()
        fault.end_us = now_us()
        cut_us = fault.begin_us + 3_000_000 - 20_000  # what was on its way then, nobody had heard
        lane.start()
        lane.await_settled(60)
        arrivals = {k: v for k, v in stage.judge.arrivals().items() if k.startswith(lane.name + "/")}
        wrong = [key for key, found in arrivals.items()
                 if found[0].answered_us and found[0].answered_us < cut_us and len(found) > 1]
        cut = sum(len(found) > 1 for found in arrivals.values())
        report.say(f"SIGTERM with 1,000 attempts in flight: {cut} cut and repeated, {1000 - cut} not")
        report.expect(not wrong, f"drain: {len(wrong)} were answered before its end and repeated, e.g. "
                                 f"{[(k, arrivals[k]) for k in wrong[:2]]}")
        lane.faults.append(fault)
        report.verdict("drain", lane.verdict())
    finally:
        lane.stop()


# ---- a frozen consumer, and a job cancelled meanwhile ----

def frozen(stage, still_clock):
    """It is stopped just before its request would leave, for longer than its lease."""
    extra = {"LD_PRELOAD": place.tool("libfault_still_preload.so")} if still_clock else {}
    lane = stage.lane("frozen", extra=extra)
    try:
        second = lane.start()
        second.await_ready()
        freeze(second.pid)  # so that the job is the other one's
        first = lane.start(wait=False, DUEPOST_TEST_POINT="before may_send 1 stop")
        until(first.is_ready, 20, "ready")
        lane.schedule(first, "a")
        until(lambda: is_stopped(first.pid), 10, "stopped")
        second.signal(signal.SIGCONT)
        assert lane.cancel(second, "a") == 200, lane.told
        assert lane.told[f"{lane.name}/a"].was_running
        time.sleep(LONG)
        first.signal(signal.SIGCONT)
        until(first.is_ready, 20, "it goes on")
        try:
            until(lambda: lane.arrivals("a"), 3, "it comes")
        except AssertionError:
            pass  # as it should be
        return lane.verdict()
    finally:
        lane.stop()


def frozen_and_cancelled(stage, report):
    right, wrong = side_by_side(lambda still: frozen(stage, still), [False, True], 2)
    report.verdict("frozen before it sends, its job cancelled", right)
    report.control("a lease by a clock that stands still", wrong)


# ---- an outcome that comes late, for a job that was made anew under the same id ----

def late(stage, binary):
    lane = stage.lane("late", binary=binary)
    try:
        first = lane.start()
        first.await_ready()
        lane.schedule(first, "a", "/200w3000")
        until(lambda: lane.arrivals("a"), 10, "the first attempt")
        freeze(first.pid)
        frozen_at = time.monotonic()
        second = lane.start()
        second.await_ready()
        assert lane.cancel(second, "a") == 200
        lane.told.clear()
        assert lane.schedule(second, "a", "/500w4500/200") == 201
        time.sleep(max(0, 3.3 - (time.monotonic() - frozen_at)))  # until the first one's answer is there
        first.signal(signal.SIGCONT)
        lane.await_settled(20)
        said = lane.verdict(is_cut=True)
        said.broken = [what for what in said.broken if "books" in what]  # two jobs under one id are too much for it
        if not any(a.attempt == 2 for a in lane.arrivals("a")):
            said.broken.append(f"{lane.name}/a: lost, the late outcome of the job before has ended it")
        return said
    finally:
        lane.stop()


def late_outcome(stage, report):
    right, wrong = side_by_side(lambda binary: late(stage, binary), [None, control.without("no nonce check")], 2)
    report.verdict("a late outcome for a job made anew", right)
    report.control("no nonce check", wrong)


# ---- Redis's clock ----

def moved(seed, binary=None):
    """An hour forward, and back, under way."""
    clock = MovableClock()
    site = Site(redis=Redis(environment=clock.environment), binary=binary)
    steps = [(0, 0.0)]

    def move(seconds):
        steps.append((now_us(), seconds))
        clock.move_by(seconds)

    def clock_ms(at_us):
        """What it said at most in the seconds before."""
        began = [i for i, (when, _) in enumerate(steps) if when <= at_us - 6_000_000][-1]
        return at_us / 1000 + max(seconds for when, seconds in steps[began:] if when <= at_us) * 1000
    try:
        site.begin(mixed_orders(seed, 1400, 16))
        for wait, seconds in ((7, 3600), (3.5, 0), (3, -3600), (2, 0)):  # the first after the quiet time
            time.sleep(wait)
            move(seconds)
        site.await_client(60)
        move(7200)  # so that what was due in an hour comes
        site.await_settled(60)
        return site.verdict(clock_ms=clock_ms, retry_ms=-7_200_000)
    finally:
        site.stop()


def clock(_, report):
    report.verdict("Redis's clock moved by an hour, four times", moved(report.seed))
    report.control("no leases", moved(report.seed, control.without("no leases")))


# ---- the private Redis ----

class Embedded:
    """The redis-server that a duepost runs, seen from outside."""

    def __init__(self, data):
        self.data, self.socket, self.address = data, data / "redis.sock", None

    counts = Redis.counts
    link = Redis.link

    def pids(self):
        import processes
        return processes.redis_servers_of(self.data)


def embedded(stage, report):
    """Killed under a duepost that lives on: at once, and while a thousand jobs wait."""
    data = scratch.directory("data")
    redis = Embedded(data)
    lane = stage.lane("embedded")
    lane.redis = redis
    lane.make_node = lambda: Node(0, "--prefix", f"{lane.name}:", "--reactors", "2", "--data", str(data))
    numbers = itertools.count()
    try:
        node = lane.start()
        node.await_ready()
        for _ in range(3):
            for _ in range(60):
                lane.schedule(node, f"j{next(numbers)}", random.choice(("/200", "/200w300", "/500/200")), delay=random.random())
            begin_us = now_us()
            for pid in redis.pids():
                os.kill(pid, signal.SIGKILL)
            for _ in range(20):
                lane.schedule(node, f"j{next(numbers)}")
            until(node.is_ready, 20, "ready again")
            lane.faults.append(Fault("kill redis", begin_us, now_us() + 2_500_000))
        lane.await_settled(60)
        report.verdict("the private Redis killed three times", lane.verdict())
    finally:
        lane.stop()
        for pid in redis.pids():
            os.kill(pid, signal.SIGKILL)


# ---- a full disk ----

def full_disk(stage, report):
    """A private Redis that fsyncs always ends when it cannot write; what was confirmed comes once there is room."""
    place_ = scratch.directory("disk")
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=3m,mode=700", "tmpfs", place_], capture_output=True, check=False)
    if mounted.returncode != 0:
        report.skip("a full disk needs a tmpfs, and mount says " + mounted.stderr.decode().strip())
        return
    data = place_ / "data"
    ballast = place_ / "ballast"
    ballast.write_bytes(bytes(2 << 20))
    lane = stage.lane("disk")
    lane.redis = Embedded(data)
    lane.make_node = lambda: Node(0, "--prefix", f"{lane.name}:", "--reactors", "1", "--data", str(data))
    try:
        node = lane.start()
        node.await_ready()
        begin_us, statuses = now_us(), []
        for number in range(400):
            statuses.append(lane.schedule(node, f"j{number}", body="x" * 8000, delay=2))
            if statuses.count(503) + statuses.count(0) >= 5:
                break
        report.expect(503 in statuses, "a full disk refuses nothing")
        ballast.unlink()
        until(node.is_ready, 40, lambda: "ready once there is room\n" + node.log()[-2000:])
        lane.faults.append(Fault("full disk", begin_us, now_us() + 2_500_000))
        lane.schedule(node, "last")
        lane.await_settled(60)
        report.say(f"a full disk: {statuses.count(201)} jobs accepted, then {statuses.count(503)} refused")
        report.verdict("a full disk", lane.verdict())
    finally:
        lane.stop()
        for pid in lane.redis.pids():
            os.kill(pid, signal.SIGKILL)
        until(lambda: not lane.redis.pids(), 10, "its Redis ended")
        subprocess.run(["umount", place_], check=False)


STORIES = (orphans, five_losses, drain, frozen_and_cancelled, late_outcome, clock, embedded, full_disk)


def run(report):
    """Beside each other, for most only wait."""
    stage = Stage()

    def one(story):
        mine = report.part()
        try:
            story(stage, mine)
        except AssertionError as why:
            mine.failed.append(f"{story.__name__}: {why}")
            mine.say(f"{story.__name__}: {why}")
        return mine
    try:
        for mine in side_by_side(one, STORIES, 4):
            report.take(mine)
    finally:
        stage.stop()
