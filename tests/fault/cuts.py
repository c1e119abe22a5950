"""Connections that end after byte k of an exchange, for each k: to Redis, and to a receiver; and slow, sliced,
silent and half-open ones."""

import random
import time

from client import QUICK, mixed_orders
import control
from judge import Judge
from lane import Lane, side_by_side, summed
from nemesis import RECONNECT_US, now_us
from patience import SLOW, until
from premises import Site
from proxy import Proxy
from redis import Redis
from verdict import Fault, unanswered

LANES = 12
UNHEARD_US = 2_500_000  # if the reply to a claim is lost, its jobs arrive within this time, before their leases end


def exchange(redis, judge, name, cut_after, cut_before=None, binary=None):
    """Runs one job's life. The connection between duepost and Redis ends after this number of bytes, or before the reply
    that contains cut_before. Without a cut, returns the number of bytes."""
    proxy = Proxy(redis.port)
    lane = Lane(redis, judge, name, redis=f"redis://127.0.0.1:{proxy.port}/0", binary=binary)
    try:
        node = lane.start()
        node.await_ready()
        proxy.arm(cut_after)
        proxy.cut_before = cut_before
        lane.schedule(node, "a", "/500/200", retrySchedule=[0.1])
        if lane.told[f"{name}/a"].scheduled != 201:
            until(node.is_ready, 10, "ready again")
            lane.schedule(node, "b")
        lane.await_settled(40)
        passed = proxy.passed
        lane.faults = [Fault("cut", at, at + 1_000_000) for at in proxy.cuts]
        said = lane.verdict(retry_ms=100)
        if cut_before:
            said.broken += [f"came {(arrival.at_us - proxy.cuts[0]) / 1e6:.1f} s after its claim's reply was cut"
                            for arrival in lane.arrivals("a")[:1] if arrival.at_us - proxy.cuts[0] > UNHEARD_US * SLOW]
        return passed, said
    finally:
        lane.stop()
        proxy.stop()


def to_redis(report, redis, judge):
    total = exchange(redis, judge, "whole", None)[0]
    chance = random.Random(f"cuts {report.seed}")
    bytes_ = range(1, total + 1) if report.is_long else sorted(chance.sample(range(1, total + 1), 36))
    said = summed(side_by_side(lambda k: exchange(redis, judge, f"cut-{k}", k)[1], bytes_, LANES))
    report.verdict(f"a connection to Redis cut behind byte k, {len(bytes_)} of {total}", said)
    report.expect(said.counts["repeated"] <= said.counts["accepted"], "more repetitions than jobs")
    in_claim = b"/500/200"  # the reply to a claim contains the job's url
    report.verdict("a connection to Redis cut before a claim's reply", exchange(redis, judge, "claim", None, in_claim)[1])
    report.control("destructive pop, cut", exchange(redis, judge, "control", None, in_claim,
                                                    control.without("destructive pop"))[1])


def to_receiver(report, redis, judge):
    """Each k has its own port, so all cuts run at the same time. The first connection is cut, the next one is not."""
    for label, binary in (("a connection to a receiver cut behind byte k", None), ("no retry", control.without("no retry"))):
        lane = Lane(redis, judge, "receiver" if binary is None else "receiver-control", binary=binary)
        total = 420  # bytes of request and answer: a later cut has no effect
        proxies = [Proxy(judge.port, k) for k in range(1, total, 1 if binary is None else 40)]
        try:
            node = lane.start()
            node.await_ready()
            for number, proxy in enumerate(proxies):
                lane.schedule(node, f"k{number}", url=f"http://127.0.0.1:{proxy.port}", retrySchedule=[0.5])
            lane.await_settled(30)
            cut = [proxy for proxy in proxies if proxy.cuts]
            lane.faults = [Fault("cut", at, at + 100_000) for proxy in cut for at in proxy.cuts]
            said = lane.verdict(is_cut=True)
            if binary is None:
                report.verdict(f"{label}, {len(cut)} of {len(cut)}", said)
            else:
                report.control(label, said)
        finally:
            lane.stop()
            for proxy in proxies:
                proxy.stop()


TRAVEL_US = 3_000_000  # on a busy host, a slow proxy passes the bytes of a request within this time

# Mode of the proxies -> the fault of control.CONTROLS that a run in this mode must detect. "no leases": slow attempts
# need a renewal of their leases. "destructive pop": a job must stay in the pool if the reply to its claim never came.
MODES = {"delay": "no leases", "slice": "no leases", "blackhole": "destructive pop", "half-open": "destructive pop"}


def in_mode(seed, mode, binary=None):
    """Runs jobs through proxies on both sides of duepost: no job is lost or repeated over slow and sliced connections; silent
    connections are closed. Returns the verdict."""
    redis = Redis()
    proxy = Proxy(redis.port)
    redis.address = f"redis://127.0.0.1:{proxy.port}/0"
    site = Site(redis=redis, binary=binary)
    inward = Proxy(site.judge.port)
    is_silent = mode in ("blackhole", "half-open")
    faults = []
    try:
        if not is_silent:
            proxy.set_mode(mode)
            inward.set_mode(mode)
        jobs = {"delay": 800, "slice": 160}.get(mode, 400)
        site.begin(mixed_orders(seed, jobs, 10, mix=SOLID), f"http://127.0.0.1:{inward.port}")
        if is_silent:
            time.sleep(2)
            faults.append(Fault(mode, now_us()))
            proxy.set_mode("one-way")  # bytes that are on their way at that moment arrive
            time.sleep(0.3)
            proxy.set_mode(mode)
            time.sleep(4)  # duepost counts Redis as lost after 3 s
            proxy.set_mode("pass")
            faults[0].end_us = now_us() + RECONNECT_US
        site.await_client(60)
        settled = site.await_settled(60)
        if not is_silent:
            faults = unanswered(node.log() for node in site.nodes)  # on a busy host, bytes that come singly take longer than a lease
        said = site.verdict(faults, travel_us=0 if is_silent else TRAVEL_US)
        if settled is None:
            said.broken.append(f"{mode}: not settled")
        return said
    finally:
        site.stop()
        proxy.stop()
        inward.stop()


CONTROL_TRIES = 3


def in_mode_or_without(seed, mode, binary):
    """Runs the mode once, or repeats it in a control: there, the fault shows only if a claim that has leased jobs is under
    way when its connection falls silent, which depends on chance."""
    for i in range(CONTROL_TRIES if binary else 1):
        verdict = in_mode(seed + i, mode, binary)
        if verdict.broken:
            break
    return verdict


def in_modes(report):
    runs = [(mode, binary) for mode, lacks in MODES.items() for binary in (None, control.without(lacks))]
    said = dict(zip(runs, side_by_side(lambda run: in_mode_or_without(report.seed, *run), runs, 2)))
    for (mode, binary), verdict in said.items():
        if binary is None:
            report.verdict(mode, verdict)
        else:
            report.control(f"{mode}, {MODES[mode]}", verdict)


SOLID = ((70, "/200", QUICK), (20, "/200w900", QUICK), (10, "/500/200", QUICK))


def run(report):
    redis, judge = Redis(), Judge()
    try:
        to_redis(report, redis, judge)
        to_receiver(report, redis, judge)
    finally:
        redis.end()
        judge.stop()
    in_modes(report)
