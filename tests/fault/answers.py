"""Tests duepost's reaction to each answer of Redis in the table of src/store/README.md. Real servers make the answers
where possible. Each answer has an expected status for new jobs. Afterwards everything works again, and no job is
lost."""

import os
import re
import shutil
import signal
import time

from judge import Judge
from lane import Lane, side_by_side
from nemesis import now_us
from patience import SLOW, until
from premises import Site
from proxy import Proxy
from client import Order
from redis import Redis
from redis_link import RedisError
from redis_server import free_port
import scratch
from verdict import Fault

GONE = 1  # a port of 127.0.0.1 on which nothing listens


class Answer:
    """begin makes Redis give this answer, and end stops it. status: the status that a new job gets until then.
    delivers: whether due jobs are delivered meanwhile. words: part of the problem's detail or of duepost's log."""
    status, delivers, words, options, seconds = 503, False, "", (), 1.5

    def __init__(self, redis):
        self.redis = redis

    def ask(self, *words):
        return self.redis.ask(*words)


class Oom(Answer):
    status, delivers, words = 507, True, "no memory left"

    def begin(self):
        self.ask("CONFIG", "SET", "maxmemory", "1")

    def end(self):
        self.ask("CONFIG", "SET", "maxmemory", "0")


class Misconf(Answer):
    """A snapshot that fails, as on a full disk, with stop-writes-on-bgsave-error."""
    words, options = "MISCONF", ("--enable-protected-configs", "yes")

    def begin(self):
        self.home = self.ask("CONFIG", "GET", "dir")[1]
        away = scratch.directory("away")
        self.ask("CONFIG", "SET", "dir", str(away))
        shutil.rmtree(away)
        self.ask("CONFIG", "SET", "save", "3600 1")
        self.ask("BGSAVE")
        until(lambda: "rdb_last_bgsave_status:err" in self.ask("INFO", "persistence"), 10, "a failed snapshot")

    def end(self):
        self.ask("CONFIG", "SET", "save", "")
        self.ask("CONFIG", "SET", "dir", self.home)


class NoReplicas(Answer):
    words = "NOREPLICAS"

    def begin(self):
        self.ask("CONFIG", "SET", "min-replicas-to-write", "1")

    def end(self):
        self.ask("CONFIG", "SET", "min-replicas-to-write", "0")


class Loading(Answer):
    """Redis restarts and loads its keys slowly."""
    words, seconds = "LOADING", 0.3

    def begin(self):
        self.ask("EVAL", "for i = 1, 6000 do redis.call('SET', 'other' .. i, 1) end", 0)
        self.redis.end()
        self.redis.options += ["--key-load-delay", "1000", "--loading-process-events-interval-bytes", "1024"]
        self.redis.start_loading()
        until(lambda: b"LOADING" in (self.redis.try_command("PING") or b""), 10, "LOADING")

    def end(self):
        self.redis.await_answer()
        self.ask("EVAL", "for i = 1, 6000 do redis.call('DEL', 'other' .. i) end", 0)


class MasterDown(Answer):
    """A replica that has lost its primary, and serves no stale data."""
    words = "MASTERDOWN|replica"

    def begin(self):
        self.ask("CONFIG", "SET", "replica-serve-stale-data", "no")
        self.ask("REPLICAOF", "127.0.0.1", GONE)

    def end(self):
        self.ask("REPLICAOF", "NO", "ONE")


class ReadOnly(Answer):
    words = "READONLY|replica"

    def begin(self):
        self.ask("REPLICAOF", "127.0.0.1", GONE)

    def end(self):
        self.ask("REPLICAOF", "NO", "ONE")


class Busy(Answer):
    """A script of another client runs too long."""
    words = "BUSY|outcome is unknown|did not answer"

    def begin(self):
        self.ask("CONFIG", "SET", "busy-reply-threshold", "50")
        self.link = self.redis.link()
        self.link.send("EVAL", "while true do end", 0)
        until(lambda: b"BUSY" in (self.redis.try_command("GET", "x") or b""), 10, "BUSY")

    def end(self):
        self.ask("SCRIPT", "KILL")
        self.link.close()


class NoFunction(Answer):
    status, delivers = 201, True

    def begin(self):
        self.ask("FUNCTION", "FLUSH")

    def end(self):
        self.begin()


class NoAuth(Answer):
    words = "NOAUTH|Authentication"

    def begin(self):
        self.ask("CONFIG", "SET", "requirepass", "s3cret")
        self.redis.password = "s3cret"
        self.command("CLIENT", "KILL", "TYPE", "normal")

    def command(self, *words):
        return self.redis.command(*words)

    def end(self):
        self.command("CONFIG", "SET", "requirepass", "")
        self.redis.password = None


class NoPerm(Answer):
    words = "NOPERM|permission"

    def begin(self):
        self.ask("ACL", "SETUSER", "default", "-fcall")

    def end(self):
        self.ask("ACL", "SETUSER", "default", "+fcall")


class Unblocked(Answer):
    """The BLPOP that waits at the doorbell gets an error."""
    status, delivers = 201, True

    def begin(self):
        for number in re.findall(r"id=(\d+) [^\n]*cmd=blpop", self.ask("CLIENT", "LIST")):
            self.ask("CLIENT", "UNBLOCK", number, "ERROR")

    end = begin


class ProtocolError(Answer):
    """The bytes that arrive are not the Redis protocol."""
    status, words = None, "rotocol error"  # None: not checked, because another connection may get these bytes

    def begin(self):
        self.redis.proxy.garbage = b"HTTP/1.1 400 Bad Request\r\n\r\n"

    def end(self):
        pass


class Silence(Answer):
    words, seconds = "unknown|did not answer", 4

    def begin(self):
        os.kill(self.redis.pid, signal.SIGSTOP)

    def end(self):
        os.kill(self.redis.pid, signal.SIGCONT)


class ClusterDown(Answer):
    """A node of a cluster that has no slots yet."""
    words, options = "CLUSTERDOWN|cluster is down", ("--cluster-enabled", "yes", "--cluster-port", str(free_port()))

    def begin(self):
        self.ask("CLUSTER", "DELSLOTSRANGE", 0, 16383)

    def end(self):
        self.serve(self.redis)

    @staticmethod
    def serve(redis):
        redis.ask("CLUSTER", "ADDSLOTSRANGE", 0, 16383)
        until(lambda: "cluster_state:ok" in redis.ask("CLUSTER", "INFO"), 10, "the cluster is up")


ANSWERS = (Oom, Misconf, NoReplicas, Loading, MasterDown, ReadOnly, Busy, NoFunction, NoAuth, NoPerm, Unblocked,
           ProtocolError, Silence, ClusterDown)


class AnsweringRedis(Redis):
    def start_loading(self):
        """Starts Redis without waiting until it has loaded its data."""
        self.is_awaited = False
        try:
            super().start()
        finally:
            self.is_awaited = True

    is_awaited = True

    def try_command(self, *words):
        reply = super().try_command(*words)
        if not self.is_awaited and words == ("PING",) and reply:
            return b"+PONG\r\n"
        return reply


def one(kind, judge):
    """Returns the broken promises as sentences, for one job before the fault, some during it and one after it."""
    redis = AnsweringRedis(options=kind.options)
    redis.proxy = Proxy(redis.port)
    if kind is ClusterDown:
        ClusterDown.serve(redis)
    answer, name = kind(redis), kind.__name__.lower()
    lane = Lane(redis, judge, name, redis=f"redis://127.0.0.1:{redis.proxy.port}/0")
    broken = []
    try:
        node = lane.start()
        node.await_ready()
        lane.schedule(node, "due", delay=2)
        lane.schedule(node, "running", "/200w1500")
        until(lambda: lane.arrivals("running"), 10, "the attempt")
        begin_us = now_us()
        answer.begin()
        status = lane.schedule(node, "meanwhile")
        seen = [str(lane.last)]

        def is_told():
            lane.schedule(node, f"later-{len(seen)}")
            seen.append(str(lane.last))
            return re.search(kind.words, "".join(seen) + node.log())
        if kind.status and status != kind.status:
            broken.append(f"{name}: {status} {lane.last}, and not {kind.status}")
        time.sleep(answer.seconds)
        if kind.delivers:
            until(lambda: lane.arrivals("due"), 10, f"{name}: what is due comes nevertheless")
        until(is_told, 3, lambda: f"{name}: neither {seen[-1]} nor the log says {kind.words}")
        if kind.status == 503 and node.is_ready():
            broken.append(f"{name}: new jobs are refused, and /readyz says 200")
        answer.end()
        cured = time.monotonic()
        lane.faults.append(Fault(name, begin_us, now_us() + 2_500_000))
        until(node.is_ready, 15, f"{name}: ready again\n{node.log()[-1500:]}")
        took = time.monotonic() - cured
        if lane.schedule(node, "after") != 201:
            broken.append(f"{name}: afterwards {lane.last}")
        lane.await_settled(30)
        broken += lane.verdict().broken
        if not node.is_alive():
            broken.append(f"{name}: duepost ended")
        return broken, f"{name} {status}, ready {took:.1f} s after"
    except (AssertionError, OSError, RedisError) as why:
        return broken + [f"{name}: {why!r}"], name
    finally:
        redis.password = None
        lane.stop()
        redis.proxy.stop()
        redis.end()


def moved_name(report, judge):
    """The host name of Redis now resolves to another Redis, and the old Redis is a replica. Every connection that writes, including the doorbell's, must move to the new Redis."""
    old, new = Redis(), Redis()
    proxy = Proxy(old.port)
    lane = Lane(new, judge, "moved", redis=f"redis://127.0.0.1:{proxy.port}/0")
    try:
        node = lane.start()
        node.await_ready()
        old.ask("REPLICAOF", "127.0.0.1", GONE)
        until(lambda: not node.is_ready(), 15, "it is seen")
        proxy.target = new.port
        until(node.is_ready, 15, "ready again")
        until(lambda: lane.schedule(node, "a") == 201, 5, "a job is taken")  # the first request may find the old Redis
        lane.await_settled(15)
        until(lambda: "cmd=blpop" in new.ask("CLIENT", "LIST"), 10, "the doorbell is the new one's")
        report.verdict("another Redis behind the same name", lane.verdict())
    finally:
        lane.stop()
        proxy.stop()
        for redis in (old, new):
            redis.end()


def outage(report):
    """Jobs become due while Redis is away. The first one is delivered within 2 s of its return."""
    jobs, seconds, delay_ms = report.amount((10_000, 5, 5000), (100_000, 60, 30_000))
    site = Site(connections=64)
    try:
        site.begin(Order(0, f"t{n % 50}", str(n), delay_ms=delay_ms) for n in range(jobs))
        site.await_client(60)
        begin_us = now_us()
        site.redis.end()
        time.sleep(seconds)
        before = site.judge.count()
        site.redis.start()
        begin = time.monotonic()
        until(lambda: site.judge.count() > before, 20, "the first delivery")
        took = time.monotonic() - begin
        settled = site.await_settled(120)
        report.say(f"Redis away for {seconds} s, {jobs} jobs due: the first came {took:.2f} s after its return")
        report.expect(took <= 2 * SLOW, f"the first delivery came {took:.1f} s after the return of Redis")
        report.expect(settled is not None, "not settled after the outage")
        report.verdict("outage", site.verdict([Fault("outage", begin_us, now_us())]))
    finally:
        site.stop()


def run(report):
    judge = Judge()
    try:
        results = side_by_side(lambda kind: one(kind, judge), ANSWERS, 5)
        for broken, words in results:
            report.say(words)
            for what in broken:
                report.expect(False, what)
        moved_name(report, judge)
    finally:
        judge.stop()
    outage(report)
