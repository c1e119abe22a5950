"""A story for each guarantee that random faults would rarely test, with a control without the safeguard."""

import itertools
import random
import signal
import threading
import time

from archive import Archive
from client import mixed_orders
from clock import MovableClock
import control
from judge import Judge
from lane import Lane, side_by_side
from nemesis import LONG, RECONNECT_US, now_us
from node import Node, freeze, is_stopped
from patience import SLOW, until
import place
from power import Disk
from premises import Site
import processes
from redis import Redis
import scratch
from verdict import Fault


class Stage:
    """Shared by all stories: a Redis and a judge. Each story has a lane of its own."""

    def __init__(self):
        self.redis, self.judge = Redis(), Judge()
        self.names = itertools.count()

    def lane(self, name, **how):
        return Lane(self.redis, self.judge, f"{name}-{next(self.names)}", **how)

    def stop(self):
        self.redis.end()
        self.judge.stop()


# ---- another consumer delivers the jobs of a dead one ----

ORPHAN_S = 10  # limit for the p99 of the time from a consumer's death to the next attempt of its jobs


class Orphans:
    """Consumers die while attempts are under way that may take an hour."""

    def __init__(self, stage, seed, deaths, settle_s, binary=None):
        self.stage, self.chance = stage, random.Random(f"orphans {seed}")
        self.lane = stage.lane("orphans", binary=binary)
        self.deaths, self.settle_s = deaths, settle_s
        self.numbers = itertools.count()
        self.waits = []

    def run(self):
        """Returns the verdict. waits gets the waiting time of each orphan."""
        lane = self.lane
        try:
            nodes = [lane.start(), lane.start()]
            for _ in range(self.deaths):
                self.one_death(nodes, self.chance.randrange(2))
            return lane.verdict()
        finally:
            lane.stop()

    def one_death(self, nodes, index):
        lane, victim = self.lane, nodes[index]
        for _ in range(100):
            lane.schedule(nodes[0], f"j{next(self.numbers)}", "/200w3000", timeout=3600)
        until(lambda: self.stage.judge.open_posts(victim.source) > 20, 10, "attempts under way")
        freeze(victim.pid)
        died_us = now_us()
        lane.faults.append(Fault("kill", died_us, died_us, (victim.source,)))
        victim.kill()
        nodes[index] = lane.start()
        try:
            lane.await_settled(self.settle_s)
        except AssertionError:
            pass  # jobs that still wait are reported as lost
        self.waits += waits_of(self.stage, lane, victim.source, died_us)


def orphans(stage, report):
    right = Orphans(stage, report.seed, report.amount(2, 10), 40)
    naive = Orphans(stage, report.seed, 1, ORPHAN_S, control.without("short leases"))
    said, wrong = side_by_side(Orphans.run, [right, naive], 2)
    waits = sorted(right.waits)
    report.say(f"{len(waits)} orphaned leases taken up again after {waits[len(waits) // 2]:.1f} s (median), "
               f"{waits[int(len(waits) * .99)]:.1f} s (p99)")
    report.expect(waits[int(len(waits) * .99)] <= ORPHAN_S * SLOW, f"orphaned leases waited longer than {ORPHAN_S} s")
    report.verdict("orphans", said)
    report.control("leases as long as timeouts", wrong)


def waits_of(stage, lane, source, died_us):
    waits = []
    for key, arrivals in stage.judge.arrivals().items():
        if not key.startswith(lane.name + "/"):
            continue
        for before, after in zip(arrivals, arrivals[1:]):
            if before.source == source and before.answered_us is None:
                waits.append((after.at_us - died_us) / 1e6)
    return waits


# ---- a job whose attempts kill five consumers ----

def losses(stage, binary):
    """Kills the consumer at each attempt. The waits between the attempts are shortened."""
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
        until(lambda: node.request("GET", f"/jobs/{lane.name}/killer")[1].get("state") not in ("leased", None)
              or len(lane.arrivals("killer")) > 5, 25,
              lambda: f"the fifth recovery: {node.request('GET', f'/jobs/{lane.name}/killer')}")
        time.sleep(0.5)  # a sixth attempt, which would be an error, would come in this time
        job = node.request("GET", f"/jobs/{lane.name}/killer")[1]
        said = lane.verdict()
        is_right = (job.get("state"), job.get("reason"), job.get("attempts")) == ("dead", "consumer_lost", 0)
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

DRAIN_S = 3
HEARD_US = 1_000_000  # on a busy host, duepost may miss an answer that comes this shortly before the end of the drain


def drained(stage, seed, end):
    """Calls end(node) while 1,000 attempts are in flight. Returns two results: the verdict, which is bad if a job was
    repeated that had its answer before end(node) returned, and the number of other jobs that were repeated."""
    lane = stage.lane("drain", options=("--reactors", "2", "--max-in-flight", "2048", "--max-in-flight-topic", "2048",
                                        "--drain-timeout", f"{DRAIN_S}s"))
    chance = random.Random(f"drain {seed}")
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
        end(node)
        fault.end_us = now_us()
        lane.start()
        lane.await_settled(60)
        lane.faults.append(fault)
        said = lane.verdict()
        found = {k: v for k, v in stage.judge.arrivals().items() if k.startswith(lane.name + "/") and len(v) > 1}
        said.broken += [f"{key}: was answered before the end of the drain, and repeated" for key, arrivals in found.items()
                        if arrivals[0].answered_us and arrivals[0].answered_us < fault.begin_us + DRAIN_S * 1e6 - HEARD_US]
        return said, len(found)
    finally:
        lane.stop()


def kill_instead(node):
    """Waits until the drain would end, and kills the node."""
    time.sleep(DRAIN_S - HEARD_US / 1e6)
    node.kill()


def drain(stage, report):
    (right, cut), (wrong, _) = side_by_side(lambda end: drained(stage, report.seed, end), [Node.terminate, kill_instead], 2)
    report.say(f"SIGTERM with 1,000 attempts in flight: {cut} cut and repeated, {1000 - cut} not")
    report.verdict("drain", right)
    report.control("no drain", wrong)


# ---- a job is cancelled while its consumer is frozen ----

def frozen(stage, still_clock):
    """The consumer is stopped for longer than its lease, just before its request would leave."""
    extra = {"LD_PRELOAD": place.tool("libfault_still_preload.so")} if still_clock else {}
    lane = stage.lane("frozen", extra=extra)
    try:
        second = lane.start()
        second.await_ready()
        freeze(second.pid)  # so that the first process gets the job
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
            pass  # the guarantee holds
        return lane.verdict()
    finally:
        lane.stop()


def frozen_and_cancelled(stage, report):
    right, wrong = side_by_side(lambda still: frozen(stage, still), [False, True], 2)
    report.verdict("frozen before it sends, its job cancelled", right)
    report.control("a lease by a clock that stands still", wrong)


# ---- the outcome of a cancelled job arrives when a new job has its id ----

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
        time.sleep(max(0, 3.3 - (time.monotonic() - frozen_at)))  # the receiver has now answered the first process
        first.signal(signal.SIGCONT)
        lane.await_settled(20)
        said = lane.verdict(is_cut=True)
        said.broken = [what for what in said.broken if "books" in what]  # the judge cannot tell two jobs with the same id apart
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
    """The clock steps an hour forward and back while jobs are under way."""
    clock = MovableClock()
    site = Site(redis=Redis(environment=clock.environment), binary=binary)
    steps = [(0, 0.0)]

    def move(seconds):
        steps.append((now_us(), seconds))
        clock.move_by(seconds)

    def clock_ms(at_us):
        """Returns the highest time that the clock has shown in the last seconds."""
        began = [i for i, (when, _) in enumerate(steps) if when <= at_us - 6_000_000][-1]
        return at_us / 1000 + max(seconds for when, seconds in steps[began:] if when <= at_us) * 1000
    try:
        site.begin(mixed_orders(seed, 1400, 16))
        for wait, seconds in ((7, 3600), (3.5, 0), (3, -3600), (2, 0)):  # a new process counts no lease as lost for some seconds
            time.sleep(wait)
            move(seconds)
        site.await_client(60)
        move(7200)  # now the jobs are due that were scheduled while the clock was ahead
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
        return processes.redis_servers_of(self.data)

    def kill(self):
        for pid in self.pids():
            processes.end(pid)


class EmbeddedLane(Lane):
    """A lane whose duepost runs its private Redis in the directory data. is_unsafe:
    Redis never calls fsync, and duepost confirms changes that are only in memory."""

    def __init__(self, stage, name, data, is_unsafe=False, extra=None):
        # With two reactors, one may be ready and the other may get the next job.
        options = ["--reactors", "1", "--data", str(data), *["--durability", "memory"] * is_unsafe]
        super().__init__(Embedded(data), stage.judge, f"{name}-{next(stage.names)}")
        binary = control.without_fsync() if is_unsafe else None
        self.make_node = lambda: Node(0, "--prefix", f"{self.name}:", *options, binary=binary, extra=extra)

    def stop(self):
        super().stop()
        self.redis.kill()


def embedded(stage, report):
    """Redis is killed while duepost survives: once right after the start, and once while a thousand jobs wait."""
    lane = EmbeddedLane(stage, "embedded", scratch.directory("data"))
    numbers, chance = itertools.count(), random.Random(f"embedded {report.seed}")
    try:
        node = lane.start()
        node.await_ready()
        for _ in range(3):
            for _ in range(60):
                lane.schedule(node, f"j{next(numbers)}", chance.choice(("/200", "/200w300", "/500/200")), delay=chance.random())
            begin_us = now_us()
            lane.redis.kill()
            for _ in range(20):
                lane.schedule(node, f"j{next(numbers)}")
            until(node.is_ready, 20, "ready again")
            lane.faults.append(Fault("kill redis", begin_us, now_us() + RECONNECT_US))
        lane.await_settled(60)
        report.verdict("the private Redis killed three times", lane.verdict())
    finally:
        lane.stop()


def dark(stage, seed, is_unsafe):
    """The power fails three times while jobs are scheduled: duepost and its Redis die at once."""
    data, chance = scratch.directory("data"), random.Random(f"dark {seed}")
    disk = Disk(data, slow_us=2000)
    lane = EmbeddedLane(stage, "dark", data, is_unsafe,
                        {"LD_PRELOAD": place.tool("libfault_power_preload.so"), **disk.environment})
    numbers = itertools.count()
    try:
        node = lane.start()
        node.await_ready()
        for _ in range(3):
            owners = [threading.Thread(target=lambda: [lane.schedule(node, f"j{next(numbers)}", delay=2) for _ in range(50)])
                      for _ in range(4)]
            for owner in owners:
                owner.start()
            time.sleep(chance.uniform(0.05, 0.2))
            begin_us = now_us()
            for pid in (*lane.redis.pids(), node.pid):
                freeze(pid)
            node.kill()
            lane.redis.kill()
            for owner in owners:
                owner.join()
            disk.cut(chance)
            node.start(wait=False)
            until(node.is_ready, 20, "ready again")
            lane.faults.append(Fault("power cut", begin_us, now_us() + RECONNECT_US))
        lane.await_settled(60)
        return lane.verdict()
    finally:
        lane.stop()


def embedded_power(stage, report):
    right, wrong = side_by_side(lambda is_unsafe: dark(stage, report.seed, is_unsafe), [False, True], 2)
    report.verdict("three power cuts with the private Redis", right)
    report.control("the private Redis without fsync", wrong)


# ---- a full disk ----

FREE_BYTES = 1 << 18


def fill(ballast, data, names="*"):
    """From now on the disk has room for FREE_BYTES."""
    with ballast.open("wb") as file:
        file.truncate(FREE_BYTES + max(path.stat().st_size for path in data.rglob(names) if path.is_file()))


def filled(stage, is_unsafe):
    """With fsync always, a private Redis stops when it cannot write. Confirmed jobs are delivered when the disk has room
    again, even if all processes are killed before. Returns the verdict, and the statuses of the jobs."""
    ballast, data = scratch.file("ballast"), scratch.directory("data")
    lane = EmbeddedLane(stage, "disk", data, is_unsafe,
                        {"LD_PRELOAD": place.tool("libfault_full_preload.so"), "FULL_BALLAST": str(ballast)})
    try:
        node = lane.start()
        node.await_ready()
        assert lane.schedule(node, "first", delay=5) == 201
        fill(ballast, data)
        begin_us, statuses = now_us(), []
        for number in range(100):
            statuses.append(lane.schedule(node, f"j{number}", body="x" * 8000, delay=5))  # no job is due before the disk is full
            if statuses.count(503) + statuses.count(0) >= 5:
                break
        node.kill()
        lane.redis.kill()
        ballast.unlink()
        node.start(wait=False)
        until(node.is_ready, 40, lambda: "ready once there is room\n" + node.log()[-2000:])
        lane.faults.append(Fault("full disk", begin_us, now_us() + RECONNECT_US))
        lane.schedule(node, "last")
        lane.await_settled(60)
        return lane.verdict(), statuses
    finally:
        lane.stop()


def full_disk(stage, report):
    (right, statuses), (wrong, _) = side_by_side(lambda is_unsafe: filled(stage, is_unsafe), [False, True], 2)
    report.say(f"a full disk: {statuses.count(201)} jobs accepted, then {statuses.count(503)} refused")
    report.expect(503 in statuses, "a full disk refuses nothing")
    report.verdict("a full disk", right)
    for _ in range(3):  # in one try, there may be no loss by chance
        if wrong.broken:
            break
        wrong, _ = filled(stage, True)
    report.control("the private Redis without fsync, on a full disk", wrong)


# ---- the disk of the history is full ----

def archived(stage, backlog):
    """The disk of the history's database is full. Meanwhile jobs are delivered, also by a process that starts at this time, and the outbox
    keeps the ended jobs until the disk has room. Returns the verdict, and how many jobs the outbox kept."""
    ballast, archive = scratch.file("ballast"), Archive()
    lane = stage.lane("full-history", options=("--reactors", "1", "--history-backlog", backlog, *archive.options),
                      extra={"LD_PRELOAD": place.tool("libfault_full_preload.so"), "FULL_BALLAST": str(ballast)})
    try:
        node = lane.start()
        node.await_ready()
        lane.schedule(node, "first")
        until(archive.rows, 20, "the first row")
        fill(ballast, archive.path.parent, archive.path.name + "*")
        for number in range(300):
            lane.schedule(node, f"j{number}", body="x" * 8000)
        lane.await_settled()
        node.kill()
        node = lane.start()
        node.await_ready()
        lane.schedule(node, "last", body="x" * 8000)
        lane.await_settled()
        kept = lane.ask("HLEN", lane.keys + "ended")
        ballast.unlink()
        verdict = lane.verdict()
        verdict.broken += archive.faults(lane)
        return verdict, kept
    finally:
        lane.stop()


def full_history(stage, report):
    (right, kept), (wrong, _) = side_by_side(lambda backlog: archived(stage, backlog), ["256MiB", "1MiB"], 2)
    report.say(f"a full disk of the history: {kept} jobs in the outbox until there is room")
    report.expect(kept > 1, "the disk of the history was not full")
    report.verdict("a full disk of the history", right)
    report.control("a full disk of the history, with a backlog of 1 MiB", wrong)


STORIES = (orphans, five_losses, drain, frozen_and_cancelled, late_outcome, clock, embedded, embedded_power, full_disk, full_history)


def run(report):
    """The stories run at the same time, because most of them only wait."""
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
