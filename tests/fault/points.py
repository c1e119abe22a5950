"""At each test point of src/ (base/test_point.h) the process is killed, stopped for longer than a lease, or
delayed; a second process takes over meanwhile. Names the points that no story reaches."""

import collections
import itertools
import os
import pathlib
import re
import signal
import threading
import time

from archive import Archive
from batch_story import BatchStory
import callbacks
from client import Told
import control
from judge import Judge
from lane import Lane, request, side_by_side, summed
from node import is_stopped
from nemesis import LONG, now_us
from patience import SLOW, until
import place
from pull_story import PullStory
from redis import Redis
import scratch
from ticks import Ticks
from token_server import TokenServer
from verdict import Fault, Verdict


def points():
    """Returns all test points, from the sources. Each script has test points where its call is sent."""
    source = place.SCRIPTS.parents[1]
    scripts = sorted(path.stem for path in place.SCRIPTS.glob("*.lua") if path.stem not in ("certificate", "clock", "survey", "trial", "used"))
    # certificate needs a receiver with TLS, and changes no job; clock needs --clock manual, used --tokens, survey thousands of topics, and only duepost check runs trial
    found = set()
    for path in source.rglob("*.c"):
        for when, literal in re.findall(r'TEST_POINT\("(\w+)", (?:"(\w+)"|[^)]*)\)', path.read_text()):
            found |= {f"{when} {name}" for name in ([literal] if literal else scripts)}
    return sorted(found)


CLOSED_PORT = 9
ENDPOINTS = ("a", "b")  # the group of each story has these endpoints
ALWAYS = [{"from": "00:00", "to": "12:00"}, {"from": "12:00", "to": "24:00"}]  # windows: no attempt begins before they are computed
SETTINGS = {"maxInFlight": 100, "windows": ALWAYS, "defer": True, "events": True}  # of the topic of each story


class Story:
    """A story makes duepost do everything that it can do, once or a few times, in its own lane. is_plain: only one
    job that is delivered. is_batched: only jobs that are delivered in batches. number: how often the process comes by
    the point until something happens."""

    def __init__(self, redis, judge, name, point, action, binary=None, is_plain=False, is_batched=False, number=1):
        self.hit = scratch.file("points")
        extra = {"DUEPOST_TEST_POINTS_HIT": str(self.hit)}
        self.archive = Archive()
        keys = pathlib.Path(scratch.file("keys"))
        keys.write_text("01" * 32)
        self.lane = Lane(redis, judge, name, binary=binary, extra=extra,
                         options=("--reactors", "1", "--drain-timeout", "500ms", "--qstash", "on", "--encryption-keys", str(keys), *self.archive.options),
                         members=callbacks.members(judge))
        self.name = point
        self.order = f"{point} {number} {action}" if point else ""
        self.action = action
        self.was_hit = False
        self.is_plain = is_plain
        self.batches = BatchStory(self.lane) if is_batched else None
        self.numbers = itertools.count()
        self.tokens = TokenServer()
        self.settings = {**SETTINGS, "auth": self.tokens.auth(self.lane.name, judge.url)}
        topic = f"/topics/{self.lane.name}"
        self.changes = ("free", topic, {**self.settings, "breaker": False}), ("freed", topic + "*", {"breaker": False})
        self.ticks = Ticks(self.lane)
        self.worker = PullStory(self.lane)
        self.over = threading.Event()

    def points_hit(self):
        return set(self.hit.read_text().splitlines()) if self.hit.exists() else set()

    def run(self):
        """The verdict."""
        watcher = None
        try:
            self.leave_litter()
            first = self.lane.start(wait=False, DUEPOST_TEST_POINT=self.order)
            watcher = threading.Thread(target=self.watch, args=(first,))
            watcher.start()
            self.use(first)
            self.drain(first)
            self.over.set()
            watcher.join()
            if first.is_alive():
                first.kill()
            for node in self.lane.nodes[1:] or [self.lane.start()]:
                until(node.is_ready, 20, "the second one is ready")
                self.turn_rest_off(node)
                self.lane.schedule(node, f"last-{next(self.numbers)}")
            until(lambda: self.lane.ask("ZSCORE", self.lane.keys + "dead", f"{self.lane.name}/nobody") is None, 30, "mended")
            until(lambda: self.lane.ask("EXISTS", self.lane.keys + "alerts") == 0, 30, "the alert without a rule is removed")
            self.ticks.await_all()
            faults = self.worker.end(self.lane.nodes[-1])
            faults += self.end_published(self.lane.nodes[-1])
            self.end_deferred(self.lane.nodes[-1])
            self.lane.await_settled(60)
            faults += self.ticks.faults()
            verdict = self.lane.verdict()
            verdict.broken += faults
            verdict.broken += self.halves()
            verdict.broken += self.archive.faults(self.lane)
            verdict.broken += self.batches.faults() if self.batches else []
            verdict.broken += callbacks.faults(self.lane, skipped=("run",), expiring=("expiring",))
            return verdict
        finally:
            self.over.set()
            if watcher:
                watcher.join()  # the watcher may still be starting the second process
            self.lane.stop()
            self.tokens.stop()
            if self.batches:
                self.batches.stop()

    def leave_litter(self):
        """Leaves data that only repairs and sweeps find: an alert about a topic without alerts, an entry in a topic's bucket (its waiting jobs) whose job does not exist, and a kept job and an
        idempotency key that have expired long ago."""
        self.lane.ask("ZADD", self.lane.keys + "dead", 1, f"{self.lane.name}/nobody")
        self.lane.ask("HSET", self.lane.keys + "kept", f"{self.lane.name}/nobody", 'delivered 1 0 15 {"createdAt":1}')
        self.lane.ask("ZADD", self.lane.keys + "kept_until", 1, f"{self.lane.name}/nobody")
        self.lane.ask("HSET", self.lane.keys + "idempotency", "nobody", "")
        self.lane.ask("HSET", self.lane.keys + "alerts", "died nobody 0123456789abcdef", "1 1 1 1")
        self.lane.ask("ZADD", self.lane.keys + "windows", 1, "nobody")

    def watch(self, node):
        """Waits until the test point has killed, stopped or delayed the process. Then starts another process. If the first one was stopped, continues it later."""
        while self.can_go_on(node) and not self.over.is_set():
            time.sleep(0.005)
        if self.can_go_on(node) or node.process.returncode == 0:
            return
        fault = Fault(self.action, now_us() - 100_000, now_us(), (node.source,))
        self.lane.faults.append(fault)
        self.was_hit = True
        self.lane.start()
        if node.is_alive():
            time.sleep(LONG)
            node.signal(signal.SIGCONT)
            fault.end_us = now_us() + 1_000_000

    def use(self, node):
        """Makes all calls of a story, and notes the confirmed changes. The answer to any call may be lost."""
        lane = self.lane
        try:
            until(lambda: not node.is_alive() or is_stopped(node.pid) or node.is_ready(), 10, "up, or gone")
        except AssertionError:
            pass
        if not self.can_go_on(node):
            return
        if self.is_plain or self.batches:
            if self.is_plain:
                lane.schedule(node, "unheard")
            else:
                self.batches.use(node, lambda: self.can_go_on(node))
            until(lambda: lane.is_settled() or not self.can_go_on(node), 12 * SLOW, "its end")
            return
        self.break_a_claim(node)
        self.open_a_breaker()
        self.ticks.define(node)
        self.send_to_a_group(node)
        self.share_a_limit(node)
        self.bound_a_key(node)
        self.move(node)
        self.meet_a_quota(node)
        self.publish_to_a_group(node)
        self.worker.use(node, lambda: self.can_go_on(node))
        self.defer(node)
        lane.schedule(node, "quick", key="a")
        lane.schedule(node, "failing", "/500/200", retrySchedule=[0.5], key="a")
        lane.schedule(node, "gone", "/410", key="b", priority=7)
        lane.schedule(node, "unwell", "/503/200", retrySchedule=[0.5], priority=2)
        lane.schedule(node, "long", "/200w2800")  # the attempt lasts long enough for a renewal of its lease
        lane.schedule(node, "expiring", "/500", retrySchedule=[60], ttl=2)  # is dead while it waits for its retry
        lane.schedule(node, "later", delay=1)
        lane.schedule(node, "cancelled", delay=60)
        lane.schedule(node, "run", delay=60)
        lane.schedule(node, "lost", delay=60)
        lane.schedule(node, "doomed", delay=60)
        if self.can_go_on(node) and lane.told[f"{lane.name}/cancelled"].scheduled == 201:
            lane.cancel(node, "cancelled")
        # These requests are sent even if the jobs were not accepted. The request run makes its job due at once, as
        # lose_a_lease() does below.
        job = f"/jobs/{lane.name}/run"
        for method, target, body in (("PUT", job, {"url": lane.judge.url + "/200", "delay": 60}), ("PATCH", job, {"timeout": 5}),
                                     ("POST", job + "/run", None), ("GET", job, None), ("GET", job + "/attempts", None), ("GET", job + "?wait=0.1s", None),
                                     ("GET", "/jobs?state=dead", None), ("GET", "/jobs?state=leased", None), ("GET", "/jobs?state=delayed", None),
                                     ("GET", "/topics", None), ("PUT", f"/topics/{lane.name}", self.settings),
                                     ("PUT", f"/topics/{lane.name}-*", {"timeout": 20}),
                                     ("POST", f"/topics/{lane.name}/lease", {"max": 1}),  # refused, because the topic's jobs are POSTed
                                     ("POST", f"/topics/{lane.name}/retry", {"jobId": "run", "token": "p0"}),
                                     ("POST", f"/topics/{lane.name}/extend", {"jobId": "run", "token": "p0"}),
                                     ("GET", f"/events?topic={lane.name}-none", None),  # refused, because this topic does not have the setting
                                     ("GET", "/receivers", None), ("GET", "/overview", None), ("GET", "/forecast", None)):
            if self.can_go_on(node):
                request(node, method, target, body)
        if self.can_go_on(node):
            time.sleep(1)  # a process reads the states of breakers a few times a second; held jobs resume only if it has seen that the breaker was open
            self.turn_breakers_off(node)
            request(node, "POST", "/receivers/127.0.0.1:1/close", None)
        for job_id in "run", "lost", "doomed":
            lane.told.setdefault(f"{lane.name}/{job_id}", Told()).due_ms = 0
        lane.told[f"{lane.name}/run"].nothing_changed = False  # the PUT may have scheduled the job even if the answer to the POST was that nothing changed
        if self.can_go_on(node):
            self.lose_a_lease("lost", 0)
            self.lose_a_lease("doomed", 4)
        if self.can_go_on(node):
            self.ticks.read(node)
        self.ticks.delete(node, lambda: self.can_go_on(node))
        self.begin_runs(node)
        deadline = time.monotonic() + 12 * SLOW
        while time.monotonic() < deadline and self.can_go_on(node) and not lane.is_settled():
            time.sleep(0.02)

    def send_to_a_group(self, node):
        """Schedules two jobs that must arrive, and two that are cancelled together."""
        lane, group = self.lane, f"/groups/{self.lane.name}"
        endpoints = {endpoint: {"url": lane.judge.url + "/200"} for endpoint in ENDPOINTS}
        if self.can_go_on(node):
            request(node, "PUT", group, {"endpoints": endpoints})
        if self.can_go_on(node):
            lane.send(node, "sent", lane.name, ENDPOINTS)
        if self.can_go_on(node) and lane.send(node, "unsent", lane.name, ENDPOINTS, delay=30) == 201:
            request(node, "PUT", f"/jobs/{lane.name}/unsent", {"group": lane.name, "delay": 30, "retrySchedule": [0.5] * 3})
            if self.can_go_on(node):
                request(node, "GET", f"/jobs/{lane.name}/unsent?group={lane.name}")
            if self.can_go_on(node):
                lane.unsend(node, "unsent", lane.name, ENDPOINTS)

    def share_a_limit(self, node):
        """A limit is made, named by a topic without jobs, read, and removed."""
        limit, topic = f"/limits/{self.lane.name}", f"/topics/{self.lane.name}-limited"
        for method, target, body in (("PUT", limit, {"maxInFlight": 2}), ("PUT", topic, {"limit": self.lane.name}), ("GET", limit, None),
                                     ("DELETE", topic, None), ("DELETE", limit, None)):
            if self.can_go_on(node):
                request(node, method, target, body)

    def bound_a_key(self, node):
        """A key gets settings of its own, which are read and removed; another one keeps them."""
        keys = f"/topics/{self.lane.name}/keys"
        for method, target, body in (("PUT", keys + "/b", {"maxInFlight": 5}), ("PUT", keys + "/c", {"weight": 2}), ("GET", keys, None),
                                     ("DELETE", keys + "/c", None)):
            if self.can_go_on(node):
                request(node, method, target, body)

    def move(self, node):
        """All data are exported, a line of an export is imported twice, and its secrets are encrypted."""
        for _ in range(2):
            if self.can_go_on(node):
                request(node, "POST", "/import", {"kind": "topic", "name": f"{self.lane.name}-moved", "settings": '{"paused":true,"headers":{"x":"1"}}'})
        for method, target in ("GET", "/export"), ("POST", "/rekey"):
            if self.can_go_on(node):
                request(node, method, target)

    def meet_a_quota(self, node):
        """A topic whose quota is 0 gets a job, which must be refused: it would not settle. Settings that are not confirmed may be absent."""
        name = f"{self.lane.name}-full"
        if self.can_go_on(node) and request(node, "PUT", f"/topics/{name}", {"maxPending": 0})[0] in (200, 201) and self.can_go_on(node):
            request(node, "POST", "/jobs", {"topic": name, "jobId": "a", "url": self.lane.judge.url + "/200", "delay": 3600})

    def defer(self, node):
        """The receiver defers the ends of two attempts: a later request completes the first one, and the lease of the other one runs out."""
        lane = self.lane
        if not self.can_go_on(node) or request(node, "PUT", f"/topics/{lane.name}", self.settings)[0] not in (200, 201):
            return
        for job_id, path in ("deferred", "/202d30/200"), ("let-go", "/202d1/200"):
            if self.can_go_on(node):
                lane.schedule(node, job_id, path)
        until(lambda: any(arrival.answered_us for arrival in lane.arrivals("deferred")) or not self.can_go_on(node), 10 * SLOW, "the deferral")
        if self.can_go_on(node):
            token = lane.arrivals("deferred")[-1].token
            request(node, "POST", f"/topics/{lane.name}/extend", {"jobId": "deferred", "token": token, "lease": 30, "progress": 0.5})
        if self.can_go_on(node):
            self.complete(node)

    def complete(self, node):
        """Completes the job with the token of its last attempt. Returns whether nothing is left to do."""
        lane = self.lane
        for arrival in lane.arrivals("deferred")[-1:]:
            if arrival.deferral_us and not arrival.completed_us:
                status, _ = request(node, "POST", f"/topics/{lane.name}/complete", {"jobId": "deferred", "token": arrival.token, "result": {"pages": 3}})
                arrival.completed_us = now_us() if status == 200 else None
        return any(arrival.is_success for arrival in lane.arrivals("deferred"))

    def end_deferred(self, node):
        """Repeats the complete whose answer was lost, and completes an attempt that has come again."""
        if f"{self.lane.name}/deferred" in self.lane.told:
            until(lambda: self.complete(node) or not self.lane.ask("HEXISTS", self.lane.keys + "jobs", f"{self.lane.name}/deferred"), 60, "completed")

    def publish_to_a_group(self, node):
        """Publishes a message to a URL group: two messages, which wait in a queue until the end of the story."""
        name, endpoints = self.lane.name, [{"url": f"{self.lane.judge.url}/200?{endpoint}"} for endpoint in ENDPOINTS]
        for target, body in (f"/v2/topics/{name}/endpoints", {"endpoints": endpoints}), (f"/v2/enqueue/{name}/{name}", {}):
            if self.can_go_on(node):
                request(node, "POST", target, body, {"Upstash-Delay": "1h"})

    def end_published(self, node):
        """Cancels the messages. Returns a fault if Redis has only some of them."""
        def waiting():
            return self.lane.ask("ZRANGE", f"{self.lane.keys}bucket:qstash~queue.{self.lane.name}", 0, -1, "WITHSCORES")
        found = waiting()

        def cancel():
            request(node, "DELETE", f"/v2/messages?queueName={self.lane.name}&count=100")
            return not waiting()
        until(cancel, 20, "the messages are cancelled")
        return [] if len(found) in (0, 2 * len(ENDPOINTS)) else [f"{self.lane.name}: only {found} of the messages to a group are there"]

    def begin_runs(self, node):
        """Durable runs at an endpoint that refuses connections: one run fails with its first message, and the other is cancelled."""
        url = f"http://127.0.0.1:{CLOSED_PORT}/"
        for run, init, delay in ("failing", "true", "1s"), ("failing", "false", "30s"), ("ended", "true", "30s"):
            headers = {"upstash-workflow-runid": run, "upstash-workflow-url": url, "upstash-workflow-init": init,
                       "upstash-retries": "0", "upstash-delay": delay}
            if self.can_go_on(node):
                request(node, "POST", "/v2/batch", [{"destination": url, "headers": headers}])
        wait = {"url": url, "timeout": "30s", "step": {}, "timeoutHeaders": {"Upstash-Retries": ["0"]}}
        for method, target, body in (("POST", "/v2/wait/news", wait), ("GET", "/v2/waiters/news", None), ("POST", "/v2/notify/ended/news", {}),
                                     ("GET", "/workflows", None), ("DELETE", "/v2/workflows/runs/ended?cancel=true", None)):
            if self.can_go_on(node):
                request(node, method, target, body, {"Upstash-Workflow-RunId": "ended"})
        self.go_on(node)

    def go_on(self, node):
        """Continues the failed run by resume, and then by restart; it fails again each time."""
        for action in "resume", "restart":
            deadline = time.monotonic() + 3 * SLOW
            while time.monotonic() < deadline and self.can_go_on(node):
                _, answer = request(node, "POST", f"/v2/workflows/dlq/{action}?count=1")
                if answer and answer.get("workflowRuns"):
                    break
                time.sleep(0.05)

    def halves(self):
        """Returns a fault if only some of the send's jobs have arrived."""
        arrived = {endpoint for endpoint in ENDPOINTS if self.lane.arrivals(f"sent~{endpoint}")}
        return [f"{self.lane.name}: of a send only {sorted(arrived)} came"] if 0 < len(arrived) < len(ENDPOINTS) else []

    def break_a_claim(self, node):
        """Makes a claim fail at a key that is not a hash, after the claim has written its leases. The consumer does
        not learn which jobs it has leased, as if the reply had been lost."""
        key, leases = self.lane.keys + "receivers", self.lane.keys + "leases"
        self.lane.ask("SET", key, "no hash")
        if self.lane.schedule(node, "unheard") == 201:
            until(lambda: self.lane.ask("ZSCORE", leases, f"{self.lane.name}/unheard") or not self.can_go_on(node), 10, "its claim")
        self.lane.ask("DEL", key)

    def open_a_breaker(self):
        """Opens a breaker as another process would. A later request of the story closes it."""
        keys, name, now_ms = self.lane.keys, "127.0.0.1:1", now_us() // 1000
        self.lane.ask("HSET", keys + "receivers", "version", 1000, name, f"20 {now_ms} {now_ms + 60000} 60000 0 0 0 {now_ms} connect {now_ms}")
        self.lane.ask("ZADD", keys + "reported", 1000, name)

    def turn_breakers_off(self, node):
        """Turns the breaker off, by each kind of change. Before each change, the topic has a job that a breaker holds
        for ten minutes. After the change, the job must arrive at once. A change of the topic resumes it in the same
        step, a change of a pattern in later steps, which another process may have to continue."""
        for job_id, target, body in self.changes:
            if self.can_go_on(node) and self.lane.schedule(node, job_id, delay=30) == 201 and self.hold_job(job_id) and self.can_go_on(node):
                request(node, "PUT", target, body)

    def turn_rest_off(self, node):
        """Repeats the changes that Redis did not get before the process died."""
        for _, target, body in self.changes:
            name = target.removeprefix("/topics/")
            if "breaker" not in (self.lane.ask("HGET", self.lane.keys + ("patterns" if name.endswith("*") else "topics"), name) or ""):
                request(node, "PUT", target, body)

    def hold_job(self, job_id):
        """Changes the data of the job as if it had become due now and a breaker held it. Returns False if the job was
        not waiting."""
        lane, keys = self.lane, self.lane.keys
        lane.told[f"{lane.name}/{job_id}"].due_ms = 0
        script = ("local now, bucket = tonumber(redis.call('TIME')[1]) * 1000, KEYS[1] .. 'bucket:' .. ARGV[2] "
                  "if not redis.call('ZSCORE', bucket, ARGV[1]) then return 0 end "
                  "redis.call('ZADD', bucket, now + 600000, ARGV[1]) "
                  "redis.call('ZADD', KEYS[1] .. 'held:' .. ARGV[2], now - 60000, ARGV[1]) "
                  "redis.call('ZADD', KEYS[1] .. 'held', now - 60000, ARGV[2]) "
                  "redis.call('HINCRBY', KEYS[1] .. 'numbers', 'held', 1) return 1")
        return lane.ask("EVAL", script, 1, keys, f"{lane.name}/{job_id}", lane.name)

    def can_go_on(self, node):
        return node.is_alive() and not is_stopped(node.pid)

    def lose_a_lease(self, job_id, losses):
        """Makes the job due, and leased by a process that no longer exists. losses: how many consumers of the job
        were lost before; after the fifth, the job is dead."""
        keys, key = self.lane.keys, f"{self.lane.name}/{job_id}"
        script = ("local due = redis.call('ZSCORE', KEYS[1] .. 'bucket:' .. ARGV[2], ARGV[1]) "
                  "if due and redis.call('ZREM', KEYS[1] .. 'bucket:' .. ARGV[2], ARGV[1]) == 1 then "
                  "redis.call('HINCRBY', KEYS[1] .. 'numbers', 'waiting', -1) "
                  "redis.call('ZADD', KEYS[1] .. 'leases', 1, ARGV[1]) "
                  "redis.call('HSET', KEYS[1] .. 'holders:' .. ARGV[2], ARGV[1], 'nobody ' .. string.format('%.0f', due - 60000)) "
                  "if ARGV[3] ~= '0' then redis.call('HSET', KEYS[1] .. 'crashes', ARGV[1], ARGV[3] .. ' earlier') end "
                  "redis.call('ZREM', KEYS[1] .. 'due', ARGV[2]) end")
        self.lane.ask("EVAL", script, 1, keys, key, self.lane.name, losses)

    def drain(self, node):
        """Drains the process (SIGTERM) during an attempt. The drain must abort the attempt and release its job."""
        if not self.can_go_on(node):
            return
        job_id = f"held-{next(self.numbers)}"
        if self.lane.schedule(node, job_id, "/200w1500") == 201:
            until(lambda: self.lane.arrivals(job_id) or not self.can_go_on(node), 10, "the attempt")
        if not self.can_go_on(node):
            return
        self.lane.faults.append(Fault("drain", now_us(), now_us() + 3_000_000, (node.source,)))
        try:
            os.kill(node.pid, signal.SIGTERM)
        except ProcessLookupError:
            return
        until(lambda: not self.can_go_on(node), 10, "its end")


def stories_of(redis, judge, names, action, binary=None, label="", **kind):
    return [Story(redis, judge, f"{label}{action}-{name.replace(' ', '-').replace('_', '-')}", name, action, binary, **kind)
            for name in names]


AT_ONCE = 48  # number of stories that run at the same time, each with one or two processes of duepost


def tell(stories):
    """Runs all stories, many at the same time. Returns the verdict of each, or why it has none."""
    def one(story):
        try:
            return story.run()
        except AssertionError as why:
            return Verdict(collections.Counter(), [f"{story.lane.name}: {why}"])
    return dict(zip(stories, side_by_side(one, stories, AT_ONCE)))


# The points at which a process that is stopped for longer than a lease could break a promise.
STOPS = ("claim", "complete", "defer", "retry", "release", "http_call", "may_send", "renew", "carry", "recover")


# The scripts and calls of a delivery in batches, and how often the process comes by until something happens. The first claim
# comes before the jobs. The second time, some jobs of a batch have been recorded, and others have not.
BATCHED = {"claim": (2, 3), "http_call": (1, 2), "may_send": (1, 2), "complete": (1, 2), "retry": (1, 2), "bury": (1,)}


def batched(redis, judge, action, label="batched", binary=None, names=None):
    names = names or [name for name in points() if name.split()[1] in BATCHED]
    return [story for name in names for number in BATCHED[name.split()[1]]
            for story in stories_of(redis, judge, [name], action, binary, f"{label}-{number}-", is_batched=True, number=number)]


def run(report):
    redis, judge = Redis(), Judge()
    names = points()
    kinds = {
        "killed": stories_of(redis, judge, names, "kill"),
        f"stopped for {LONG} s": stories_of(redis, judge, [n for n in names if n.split()[1] in STOPS], "stop"),
        "delayed": stories_of(redis, judge, names if report.is_long else [], "delay"),
        "batches, killed": batched(redis, judge, "kill"),
        f"batches, stopped for {LONG} s": batched(redis, judge, "stop"),
    }
    controls = stories_of(redis, judge, ["before http_call", "before may_send", "after claim"], "kill",
                          control.without("destructive pop"), "control-")
    unrecorded = batched(redis, judge, "kill", "unretried", control.without("no retry"), ["before http_call"])
    lost = stories_of(redis, judge, ["after http_call"], "kill", control.without("follow-ups"), "unreported-")
    above = stories_of(redis, judge, ["before begin"], "kill", control.without("quota"), "above-")
    # This bug shows only if a job has callbacks and the other process has recorded the job's end before.
    doubled = [story for number in range(4)
               for story in stories_of(redis, judge, ["before complete"], "stop", control.without("fence of follow-ups"), f"doubled-{number}-", is_plain=True)]
    try:
        verdicts = tell([story for kind in (*kinds.values(), controls, unrecorded, lost, above, doubled) for story in kind])
        for kind, stories in kinds.items():
            if stories:
                report.verdict(f"{kind} at each of {len(stories)} points", summed(verdicts[s] for s in stories))
        idle = [story.name for story in kinds["killed"] if not story.was_hit]
        again = stories_of(redis, judge, idle, "kill", label="again-")  # on a busy machine, a story may end before the process reaches this point
        if again:
            report.verdict(f"killed once more at {len(again)} points that nothing came by", summed(tell(again).values()))
        idle = [story.name for story in again if not story.was_hit]
        report.expect(not idle, f"points that nothing came by: {', '.join(idle)}")
        report.control("destructive pop, killed at the points", summed(verdicts[s] for s in controls))
        report.control("batches without retries", summed(verdicts[s] for s in unrecorded))
        report.control("no follow-ups", summed(verdicts[s] for s in lost))
        report.control("no quota", summed(verdicts[s] for s in above))
        report.control("no fence of follow-ups", summed(verdicts[s] for s in doubled))
    finally:
        redis.end()
        judge.stop()
