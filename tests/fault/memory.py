"""Makes the n-th allocation of a working duepost fail, for each n: allocations of duepost itself and of the libraries.

A small allocation of duepost that fails ends the process with a message; if an allocation whose size depends on a
client fails, the request is refused. No answer is ever wrong, and after a restart every accepted job exists. A story
runs once for each n, until it needs fewer allocations than n.

Then the same for large allocations only, whose size a client or receiver chose. No failure of a large allocation may
end the process, even if all later ones fail, too."""

import http.client
import itertools
import json
import mmap
import re
import signal
import struct

from memory_stories import FAR, LARGE_BODY, LARGE_STORIES, LISTED, LONG_BODY, REFUSED, STORIES
from node import Node
from patience import SLOW, until
from receiver import Receiver
from redis_server import RedisServer
from tokens import TokenFile
import place
import scratch

LARGE = 64 * 1024  # of allocations with this size or more, a client or receiver chose the size
MAX = 3000  # far above the number of allocations of any story
DEAD = 20


class Plan:
    """The file that memory_preload.c reads."""

    FORMAT = "qqqqq"

    def __init__(self):
        size = struct.calcsize(self.FORMAT)
        self.path = scratch.file("plan")
        self.path.write_bytes(bytes(size))
        with self.path.open("r+b") as file:
            self.memory = mmap.mmap(file.fileno(), size)

    def fail(self, number, at_least=0, lasting=False):
        self.memory[:] = struct.pack(self.FORMAT, 0, number, 0, at_least, lasting)

    def stop(self):
        """Returns whether an allocation has failed."""
        self.memory[8:16] = bytes(8)
        return struct.unpack(self.FORMAT, self.memory[:])[2] > 0


def is_library(said):
    """Returns whether a library's allocation failed; some libraries do not survive this."""
    callers = [line for line in said.splitlines() if re.match(r"/.*\(.*\)\[0x", line)]
    ours = [line for line in callers if "memory_preload" not in line]
    return bool(ours) and "/duepost(" not in ours[0]


class Gone(Exception):
    """The request got no answer, or only a refusal."""


class Site:
    def __init__(self, report, body):
        self.report = report
        self.known = body  # the body of the jobs that exist when the stories begin
        self.plan, self.redis, self.receiver, tokens = Plan(), RedisServer(), Receiver(), TokenFile()
        self.numbers = itertools.count(1)
        self.later = []  # checks that must wait for the end of a lease
        self.dead = []  # topics with one dead job each, which the receiver refuses
        self.at_least = 0
        self.token = tokens.add("root")
        self.deaths = self.libraries = self.refused = self.unanswered = 0
        self.node = Node(0, "--reactors", "1", "--breaker", "off", "--tokens", str(tokens.path), redis=self.redis.address,
                         extra={"LD_PRELOAD": place.tool("libfault_memory_preload.so"),
                                "MEMORY_PLAN": str(self.plan.path)})
        self.node.start()
        self.node.await_ready()

    def stop(self):
        self.node.stop()
        self.redis.stop()
        self.receiver.stop()

    def new_id(self):
        return f"job-{next(self.numbers)}"

    def url(self, path="/ok"):
        return self.receiver.url(path)

    def ask(self, method, target, body=None, media="application/json"):
        """Returns status and body of an answer that is not a refusal."""
        link = http.client.HTTPConnection("127.0.0.1", self.node.port, timeout=15 * SLOW)
        try:
            text = body if isinstance(body, (str, type(None))) else json.dumps(body)
            headers = {"Authorization": f"Bearer {self.token}", **({"Content-Type": media} if text else {})}
            link.connect()
            try:
                link.request(method, target, text, headers)
            except (BrokenPipeError, ConnectionResetError):
                pass  # duepost refused the request before it had all bytes
            answer = link.getresponse()
            data = answer.read()
        except (OSError, http.client.HTTPException):
            self.unanswered += 1
            raise Gone from None
        finally:
            link.close()
        if answer.status in REFUSED:
            if "json" in answer.headers.get("Content-Type", ""):  # libmicrohttpd's own error pages are not JSON
                json.loads(data)
            self.refused += 1
            raise Gone
        return answer.status, data

    def expect(self, condition, what):
        self.report.expect(condition, what)

    def expect_json(self, method, target, statuses=(200,), body=None):
        """Returns the JSON of an answer whose status must be one of these."""
        status, data = self.ask(method, target, body)
        self.expect(status in statuses, f"{method} {target}: {status} {data[:300]!r}")
        return json.loads(data)

    def tell(self, story, number, lasting=False):
        """Returns False if the story ended before its allocation with this number."""
        if not self.dead:
            self.prepare_dead()
        before = len(self.node.log())
        self.plan.fail(number, self.at_least, lasting)
        job_id = self.new_id()
        try:
            check = story(self, job_id)
        except Gone:
            check = None
        has_failed = self.plan.stop()
        if has_failed:
            kind = f"of {self.at_least} bytes and more, " * bool(self.at_least) + "and all behind it, " * lasting
            self.look_after(f"{story.__name__}, {kind}allocation {number}", before)
        if check:
            check()
        return has_failed

    def look_after(self, what, before):
        """Waits until the process is ready or has ended. If it has ended, checks that it gave a reason, and restarts it."""
        try:
            alive = self.node.is_ready()
        except OSError:
            alive = False
        if not alive:
            until(lambda: not self.node.is_alive() or self.node.is_ready(), 10, f"{what}: dead, or ready")
        if self.node.is_alive():
            return
        said = self.node.log()[before:]
        code = self.node.process.returncode
        self.deaths += 1
        is_ours = code == -signal.SIGABRT and ("duepost: out of memory" in said or "Assertion" in said)
        if not is_ours and is_library(said):
            self.libraries += 1
        elif not is_ours or self.at_least:
            self.expect(False, f"{what}: ended by {code}: {said[-2000:]}")
        self.node.kill()
        self.node.start()
        self.node.await_ready()

    # Helpers of the checks.

    def retried(self, ask):
        """Asks until there is an answer, because the last failure may still have an effect."""
        def answer():
            try:
                return ask()
            except Gone:
                return None
        return until(answer, 20, "an answer")

    def job(self, job_id, topic="memory"):
        status, data = self.retried(lambda: self.ask("GET", f"/jobs/{topic}/{job_id}"))
        return json.loads(data) if status == 200 else None

    def schedule(self, job_id, **members):
        status, data = self.ask("POST", "/jobs", {"topic": "memory", "jobId": job_id, "url": self.url(), "delay": FAR,
                                                   "body": LONG_BODY, **members})
        assert status == 201, (status, data)

    def await_dead(self, topic):
        until(lambda: (self.job("dead", topic) or {}).get("state") == "dead", 30, lambda: f"{topic}/dead dead, not {self.job('dead', topic)}")

    def take_dead(self):
        """Returns a topic with a dead job. At the end, this job must be dead again."""
        topic = self.dead.pop()
        self.later.append(lambda: self.await_dead(topic))
        return topic

    def prepare_dead(self):
        self.dead = [f"dying-{next(self.numbers)}" for _ in range(DEAD)]
        for topic in self.dead:
            self.receiver.script(topic, *[410] * 10)
            self.schedule("dead", topic=topic, delay=0, body=self.known)
        for topic in self.dead:
            self.await_dead(topic)

    def prepare(self):
        """Creates the jobs that exist when the stories begin."""
        self.schedule("known", body=self.known)
        for i in range(LISTED):
            self.schedule(f"{i}", topic="listed", body=self.known)
        self.prepare_dead()


def tell_each(site, report, step):
    """Fails each step-th allocation, of any size."""
    for story in STORIES:
        told = 0
        for number in range(1 + report.seed % step, MAX, step):
            told += 1
            if not site.tell(story, number):
                break
        report.say(f"{story.__name__}: told {told} times, up to allocation {number}")


def tell_large(site, report, step):
    """Fails the first large allocation together with all later ones, then each step-th allocation alone. With step 1, each
    allocation also fails together with all later allocations."""
    site.at_least = LARGE
    for story in LARGE_STORIES:
        site.tell(story, 1, lasting=True)
        told = 0
        for number in range(1 + report.seed % step, MAX, step):
            told += 1
            if not site.tell(story, number) or (step == 1 and not site.tell(story, number, lasting=True)):
                break
        report.say(f"{story.__name__}: told {told} times, up to large allocation {number}")


def end(site, report):
    site.look_after("the end", 0)
    for check in site.later:
        check()
    report.say(f"{site.deaths} ended, {site.libraries} of them by a library without a word, {site.refused} refused, "
               f"{site.unanswered} connections without an answer")


def story_of(report, tell, body):
    site = Site(report, body)
    try:
        site.prepare()
        tell(site)
        end(site, report)
        return site
    finally:
        site.stop()


def run(report):
    site = story_of(report, lambda site: tell_each(site, report, report.amount(23, 1)), LONG_BODY)
    report.expect(site.deaths > 0, "no allocation of ours has failed")
    site = story_of(report, lambda site: tell_large(site, report, report.amount(6, 1)), LARGE_BODY)
    report.expect(site.refused > 0, "no large allocation was refused")
