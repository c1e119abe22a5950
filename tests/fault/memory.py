"""The n-th allocation of a duepost at work fails, for each n: of ours, and of the libraries.

What is small and ours ends the process with a line that says so; what a client sizes is refused. Never is an
answer wrong, and after a restart every job is there that was accepted. A story is told once for each n, until it
needs fewer allocations than that."""

import http.client
import itertools
import json
import mmap
import re
import signal
import struct

from node import Node
from patience import SLOW, until
from receiver import Receiver
from redis_server import RedisServer
import place
import scratch

LONG_BODY = {"text": "x" * 20000}
REFUSED = (413, 503)
MAX = 3000  # allocations of a story, far more than there are
FAR = 3600


class Plan:
    """What memory_preload.c reads."""

    def __init__(self):
        self.path = scratch.file("plan")
        self.path.write_bytes(bytes(24))
        with self.path.open("r+b") as file:
            self.memory = mmap.mmap(file.fileno(), 24)

    def fail(self, number):
        self.memory[:] = struct.pack("qqq", 0, number, 0)

    def has_failed(self):
        return struct.unpack("qqq", self.memory[:])[2] > 0


def is_library(said):
    """Whether it was a library that found no memory; some of them do not survive that."""
    callers = [line for line in said.splitlines() if re.match(r"/.*\(.*\)\[0x", line)]
    ours = [line for line in callers if "memory_preload" not in line]
    return bool(ours) and "/duepost(" not in ours[0]


class Gone(Exception):
    """No answer came."""


class Site:
    def __init__(self, report):
        self.report = report
        self.plan, self.redis, self.receiver = Plan(), RedisServer(), Receiver()
        self.numbers = itertools.count(1)
        self.later = []  # checks of what takes the time of a lease
        self.deaths = self.libraries = self.refused = self.unanswered = 0
        self.node = Node(0, "--reactors", "1", redis=self.redis.address,
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
        """Status and body of an answer that is not a refusal."""
        link = http.client.HTTPConnection("127.0.0.1", self.node.port, timeout=15 * SLOW)
        try:
            text = body if isinstance(body, (str, type(None))) else json.dumps(body)
            link.request(method, target, text, {"Content-Type": media} if text else {})
            answer = link.getresponse()
            data = answer.read()
        except (OSError, http.client.HTTPException):
            self.unanswered += 1
            raise Gone from None
        finally:
            link.close()
        if answer.status in REFUSED:
            self.refused += 1
            raise Gone
        return answer.status, data

    def expect(self, condition, what):
        self.report.expect(condition, what)

    def tell(self, story, number):
        """False: the story is over before its allocation number so many."""
        before = len(self.node.log())
        self.plan.fail(number)
        job_id = self.new_id()
        try:
            check = story(self, job_id)
        except Gone:
            check = None
        has_failed = self.plan.has_failed()
        self.plan.fail(0)
        if has_failed:
            self.look_after(f"{story.__name__}, allocation {number}", before)
        if check:
            check()
        return has_failed

    def look_after(self, what, before):
        """Whether it lives or died, it said why, and goes on."""
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
        if code == -signal.SIGABRT and ("out of memory" in said or "Assertion" in said):
            pass
        elif is_library(said):
            self.libraries += 1
        else:
            self.expect(False, f"{what}: ended by {code}: {said[-2000:]}")
        self.node.kill()
        self.node.start()
        self.node.await_ready()

    # What a check needs.

    def job(self, job_id):
        """Asked until there is an answer: the last failure may still be felt."""
        def answer():
            try:
                return self.ask("GET", f"/jobs/memory/{job_id}")
            except Gone:
                return None
        status, data = until(answer, 20, f"whether there is {job_id}")
        return json.loads(data) if status == 200 else None

    def schedule(self, job_id, **members):
        status, data = self.ask("POST", "/jobs", {"topic": "memory", "jobId": job_id, "url": self.url(), "delay": FAR,
                                                   "body": LONG_BODY, **members})
        assert status == 201, (status, data)


def post(site, job_id):
    site.schedule(job_id)

    def check():
        job = site.job(job_id)
        site.expect(job and job["body"] == LONG_BODY, f"post: {job_id} was accepted and is {job}")
    return check


def post_many(site, job_id):
    jobs = [{"topic": "memory", "jobId": f"{job_id}-{i}", "url": site.url(), "delay": FAR} for i in range(20)]
    status, data = site.ask("POST", "/jobs", jobs)
    assert status == 207, (status, data)
    accepted = [job["jobId"] for job, result in zip(jobs, json.loads(data)["results"]) if result["status"] == 201]
    odd = [result for result in json.loads(data)["results"] if result["status"] not in (201, *REFUSED)]
    site.expect(not odd, f"post_many: {odd}")

    def check():
        for name in accepted:
            site.expect(site.job(name), f"post_many: {name} was accepted and is gone")
    return check


def read(site, _):
    status, data = site.ask("GET", "/jobs/memory/known")
    site.expect(status == 200 and json.loads(data)["body"] == LONG_BODY, f"read: {status} {data[:200]!r}")


def list_jobs(site, _):
    status, data = site.ask("GET", "/jobs?topic=listed&state=delayed&limit=50")
    names = [job["jobId"] for job in json.loads(data)["jobs"]] if status == 200 else []
    site.expect(len(names) == 20, f"list: {status}, {len(names)} of 20")


def patch(site, job_id):
    status, data = site.ask("PATCH", "/jobs/memory/known", {"headers": {"X-Number": job_id}})
    assert status == 200, (status, data)

    def check():
        job = site.job("known")
        site.expect(job["headers"]["X-Number"] == "***" or job["headers"]["X-Number"] == job_id, f"patch: {job['headers']}")
    return check


def cancel(site, job_id):
    site.schedule(job_id)
    status, data = site.ask("DELETE", f"/jobs/memory/{job_id}")
    assert status in (200, 204), (status, data)
    return lambda: site.expect(site.job(job_id) is None, f"cancel: {job_id} is still there")


def deliver(site, job_id):
    """A failed attempt first, so that the retry is recorded, too."""
    site.receiver.script("memory", 503, 200, job_id=job_id)
    site.schedule(job_id, delay=0, retrySchedule=[0.05], retry=5)

    def check():
        until(lambda: site.job(job_id) is None, 30, lambda: f"deliver: gone, and not {site.job(job_id)}\n{site.node.log()[-3000:]}")
        site.expect(len(site.receiver.of("memory", job_id)) >= 2, f"deliver: {job_id} is gone, and was not delivered")
    site.later.append(check)

    def is_over():
        return not site.node.is_alive() or any(a.attempt > 1 for a in site.receiver.of("memory", job_id))
    try:
        until(is_over, 2, "")
    except AssertionError:
        pass  # its claim was lost, or so; there is a lease to wait for


STORIES = (post, post_many, read, list_jobs, patch, cancel, deliver)


def run(report):
    site = Site(report)
    try:
        site.schedule("known")
        for i in range(20):
            site.ask("POST", "/jobs", {"topic": "listed", "jobId": f"{i}", "url": site.url(), "delay": FAR})
        step = report.amount(17, 1)
        for story in STORIES:
            told = 0
            for number in range(1 + report.seed % step, MAX, step):
                told += 1
                if not site.tell(story, number):
                    break
            report.say(f"{story.__name__}: told {told} times, up to allocation {number}")
        site.look_after("the end", 0)
        for check in site.later:
            check()
        report.say(f"{site.deaths} ended, {site.libraries} of them by a library without a word, {site.refused} refused, {site.unanswered} connections without an answer")
        report.expect(site.deaths > 0, "no allocation of ours has failed")
    finally:
        site.stop()
