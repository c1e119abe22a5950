"""The n-th allocation of a duepost at work fails, for each n: of ours, and of the libraries.

What is small and ours ends the process with a line that says so; what a client sizes is refused. Never is an
answer wrong, and after a restart every job is there that was accepted. A story is told once for each n, until it
needs fewer allocations than that.

Then the same for large allocations only, whose size somebody else chose, once and for good: nothing of ours may
end the process for one of those."""

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
from tokens import TokenFile
import place
import scratch

LARGE = 64 * 1024  # from here on it counts as chosen by somebody else
LONG_BODY = {"text": "x" * 20000}
REFUSED = (413, 503)
MAX = 3000  # allocations of a story, far more than there are
FAR = 3600
LISTED = 20
DEAD = 20


class Plan:
    """What memory_preload.c reads."""

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
        """Whether there was a failure."""
        self.memory[8:16] = bytes(8)
        return struct.unpack(self.FORMAT, self.memory[:])[2] > 0


def is_library(said):
    """Whether it was a library that found no memory; some of them do not survive that."""
    callers = [line for line in said.splitlines() if re.match(r"/.*\(.*\)\[0x", line)]
    ours = [line for line in callers if "memory_preload" not in line]
    return bool(ours) and "/duepost(" not in ours[0]


class Gone(Exception):
    """No answer came."""


class Site:
    def __init__(self, report, body):
        self.report = report
        self.known = body  # of the jobs that the stories find
        self.plan, self.redis, self.receiver, tokens = Plan(), RedisServer(), Receiver(), TokenFile()
        self.numbers = itertools.count(1)
        self.later = []  # checks of what takes the time of a lease
        self.dead = []  # topics with one dead job each, and its receiver will not have it
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
        """Status and body of an answer that is not a refusal."""
        link = http.client.HTTPConnection("127.0.0.1", self.node.port, timeout=15 * SLOW)
        try:
            text = body if isinstance(body, (str, type(None))) else json.dumps(body)
            headers = {"Authorization": f"Bearer {self.token}", **({"Content-Type": media} if text else {})}
            link.connect()
            try:
                link.request(method, target, text, headers)
            except (BrokenPipeError, ConnectionResetError):
                pass  # refused before all of it was sent
            answer = link.getresponse()
            data = answer.read()
        except (OSError, http.client.HTTPException):
            self.unanswered += 1
            raise Gone from None
        finally:
            link.close()
        if answer.status in REFUSED:
            if "json" in answer.headers.get("Content-Type", ""):  # libmicrohttpd has words of its own
                json.loads(data)
            self.refused += 1
            raise Gone
        return answer.status, data

    def expect(self, condition, what):
        self.report.expect(condition, what)

    def expect_json(self, method, target, statuses=(200,), body=None):
        """What the answer says, which is one of these."""
        status, data = self.ask(method, target, body)
        self.expect(status in statuses, f"{method} {target}: {status} {data[:300]!r}")
        return json.loads(data)

    def tell(self, story, number, lasting=False):
        """False: the story is over before its allocation number so many."""
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
        if is_library(said):
            self.libraries += 1
        elif self.at_least or code != -signal.SIGABRT or not ("out of memory" in said or "Assertion" in said):
            self.expect(False, f"{what}: ended by {code}: {said[-2000:]}")
        self.node.kill()
        self.node.start()
        self.node.await_ready()

    # What a check needs.

    def retried(self, ask):
        """Asked until there is an answer: the last failure may still be felt."""
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
        """Its topic; at the end it is to be dead again."""
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
        """What the stories find."""
        self.schedule("known", body=self.known)
        for i in range(LISTED):
            self.schedule(f"{i}", topic="listed", body=self.known)
        self.prepare_dead()


def post(site, job_id):
    site.schedule(job_id)

    def check():
        job = site.job(job_id)
        site.expect(job and job["body"] == LONG_BODY, f"post: {job_id} was accepted and is {job}")
    return check


def post_again(site, _):
    """It is there already, and another one is not it."""
    status, data = site.ask("POST", "/jobs", {"topic": "memory", "jobId": "known", "url": site.url(), "delay": FAR, "body": site.known})
    site.expect(status == 200, f"post_again: {status} {data[:200]!r}")


def _post_many(site, jobs, what):
    status, data = site.ask("POST", "/jobs", jobs)
    assert status == 207, (status, data)
    accepted = [job["jobId"] for job, result in zip(jobs, json.loads(data)["results"]) if result["status"] == 201]
    odd = [result for result in json.loads(data)["results"] if result["status"] not in (201, *REFUSED)]
    site.expect(not odd, f"{what}: {odd}")
    return accepted


def post_many(site, job_id):
    accepted = _post_many(site, [{"topic": "memory", "jobId": f"{job_id}-{i}", "url": site.url(), "delay": FAR} for i in range(20)], "post_many")

    def check():
        for name in accepted:
            site.expect(site.job(name), f"post_many: {name} was accepted and is gone")
    return check


def put(site, job_id):
    status, data = site.ask("PUT", "/jobs/memory/put", {"url": site.url(), "delay": FAR, "body": job_id + "x" * 20000})
    assert status in (200, 201), (status, data)

    def check():
        job = site.job("put")
        site.expect(job and job["body"].startswith(job_id), f"put: {job_id} is not there, but {str(job)[:200]}")
    return check


def read(site, _):
    job = site.expect_json("GET", "/jobs/memory/known")
    site.expect(job["body"] == site.known, f"read: {str(job)[:200]}")


def list_jobs(site, _):
    names = [job["jobId"] for job in site.expect_json("GET", "/jobs?topic=listed&state=delayed&limit=50")["jobs"]]
    site.expect(len(names) == LISTED, f"list: {len(names)} of {LISTED}")


def count(site, _):
    answer = site.expect_json("GET", "/jobs/count?topic=listed&state=delayed")
    site.expect(answer["count"] == LISTED, f"count: {answer}")


def why(site, _):
    answer = site.expect_json("GET", "/jobs/memory/known/why")
    site.expect(answer["state"] == "delayed", f"why: {answer}")


def attempts(site, _):
    answer = site.expect_json("GET", f"/jobs/{site.dead[0]}/dead/attempts")
    site.expect(answer["attempts"] and answer["attempts"][0]["status"] == 410, f"attempts: {answer}")


def receivers(site, _):
    site.expect("receivers" in site.expect_json("GET", "/receivers"), "receivers")


def metrics(site, _):
    status, data = site.ask("GET", "/metrics")
    site.expect(status == 200 and b"duepost_" in data, f"metrics: {status} {data[:200]!r}")


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


def cancel_many(site, job_id):
    _post_many(site, [{"topic": job_id, "jobId": f"{i}", "url": site.url(), "delay": FAR} for i in range(5)], "cancel_many")
    answer = site.expect_json("DELETE", f"/jobs?topic={job_id}&state=delayed")

    def check():
        left = json.loads(site.retried(lambda: site.ask("GET", f"/jobs/count?topic={job_id}&state=delayed"))[1])["count"]
        site.expect(left == 0, f"cancel_many: {answer}, and {left} are there")
    return check


def run_dead(site, _):
    site.expect_json("POST", f"/jobs/{site.take_dead()}/dead/run", (202,))


def redrive(site, _):
    site.expect_json("POST", f"/jobs/redrive?topic={site.take_dead()}")


def topic_put(site, job_id):
    header = {"X-Number": job_id}
    answer = site.expect_json("PUT", "/topics/set", body={"headers": header, "maxInFlight": 7})
    site.expect(answer["settings"]["maxInFlight"] == 7, f"topic_put: {answer}")


def topic_patch(site, _):
    answer = site.expect_json("PATCH", "/topics/set", body={"maxInFlight": 8})
    site.expect(answer["settings"]["maxInFlight"] == 8, f"topic_patch: {answer}")


def topic_get(site, _):
    site.expect(site.expect_json("GET", "/topics/listed")["jobs"]["delayed"] == LISTED, "topic_get")


def topics(site, _):
    found = site.expect_json("GET", "/topics?limit=3")["topics"]
    site.expect(len(found) == 3, f"topics: {found}")


def _deliver(site, job_id, what, body):
    """A failed attempt first, so that the retry is recorded, too."""
    site.receiver.script("memory", 503, 200, job_id=job_id)
    site.schedule(job_id, delay=0, retrySchedule=[0.05], retry=5, body=body)

    def check():
        until(lambda: site.job(job_id) is None, 30, lambda: f"{what}: gone, and not {site.job(job_id)}\n{site.node.log()[-3000:]}")
        arrivals = site.receiver.of("memory", job_id)
        site.expect(len(arrivals) >= 2, f"{what}: {job_id} is gone, and was not delivered")
        wanted = body if isinstance(body, str) else None
        site.expect(wanted is None or all(arrival.body.decode() == wanted for arrival in arrivals), f"{what}: another body")
        site.expect(all("json" in arrival.headers["content-type"] for arrival in arrivals), f"{what}: another type")
    site.later.append(check)

    def is_over():
        return (not site.node.is_alive() or f"no_memory_for_job job=memory/{job_id}" in site.node.log()
                or any(arrival.attempt > 1 for arrival in site.receiver.of("memory", job_id)))
    try:
        until(is_over, 2, "")
    except AssertionError:
        pass  # its claim was lost, or so; there is a lease to wait for


def deliver(site, job_id):
    _deliver(site, job_id, "deliver", LONG_BODY)


# ---- with what a client made large ----

def with_many_keys(escape=""):
    """A JSON text of 4,000 keys that stay open until the end, some of them to be read without their escapes."""
    text = "1"
    for depth in range(5):
        keys = ",".join(f'"{escape if i % 100 == 0 else ""}k{depth}-{i}-{"y" * 20}":0' for i in range(800))
        text = "{" + keys + ',"inner":' + text + "}"
    return text


LARGE_BODY = json.loads(with_many_keys())
ESCAPED = with_many_keys("\\u0041")


def post_large(site, job_id):
    text = f'{{"topic":"memory","jobId":"{job_id}","url":"{site.url()}","delay":3600,"body":{ESCAPED}}}'
    status, data = site.ask("POST", "/jobs", text.replace("http://", "http:\\/\\/"))
    assert status == 201, (status, data)
    return lambda: site.expect(site.job(job_id)["body"] == json.loads(ESCAPED), "post_large: another body")


def post_again_large(site, _):
    post_again(site, _)


def post_many_large(site, job_id):
    jobs = [{"topic": "memory", "jobId": f"{job_id}-{i}", "url": site.url(), "delay": FAR} for i in range(3000)]
    jobs[7]["body"] = LARGE_BODY
    accepted = _post_many(site, jobs, "post_many_large")

    def check():
        for name in accepted[:10]:
            site.expect(site.job(name), f"post_many_large: {name} was accepted and is gone")
    return check


def put_large(site, job_id):
    status, data = site.ask("PUT", "/jobs/memory/put", {"url": site.url(), "delay": FAR, "body": [job_id, LARGE_BODY]})
    assert status in (200, 201), (status, data)
    return lambda: site.expect(site.job("put")["body"][0] == job_id, "put_large: another body")


def patch_large(site, job_id):
    status, data = site.ask("PATCH", "/jobs/memory/known", {"body": LARGE_BODY, "headers": {"X-Number": job_id}})
    assert status == 200, (status, data)


def headers_large(site, job_id):
    """Refused for what they are, or for lack of memory."""
    job = {"topic": "memory", "jobId": job_id, "url": site.url(), "headers": {"X-Long": "\n" + "x" * 200000}}
    status, data = site.ask("POST", "/jobs", job)
    site.expect(status == 400, f"headers_large: {status} {data[:200]!r}")


def topic_put_large(site, _):
    status, data = site.ask("PUT", "/topics/set", ESCAPED)
    site.expect(status == 400, f"topic_put_large: {status} {data[:200]!r}")


def topic_patch_large(site, _):
    status, data = site.ask("PATCH", "/topics/set", {"odd": [0] * 20000})
    site.expect(status == 400, f"topic_patch_large: {status} {data[:200]!r}")


def deliver_large(site, job_id):
    """A string that is JSON, with escapes, signed."""
    _deliver(site, job_id, "deliver_large", with_many_keys())


STORIES = (post, post_again, post_many, put, read, list_jobs, count, why, attempts, receivers, metrics, patch, cancel,
           cancel_many, run_dead, redrive, topic_put, topic_patch, topic_get, topics, deliver)
LARGE_STORIES = (post_large, post_again_large, post_many_large, put_large, read, list_jobs, patch_large, headers_large,
                 cancel_many, run_dead, redrive, topic_put_large, topic_patch_large, topics, metrics, deliver_large)


def tell_each(site, report, step):
    """Each step-th allocation, of any size."""
    for story in STORIES:
        told = 0
        for number in range(1 + report.seed % step, MAX, step):
            told += 1
            if not site.tell(story, number):
                break
        report.say(f"{story.__name__}: told {told} times, up to allocation {number}")


def tell_large(site, report, step):
    """Each step-th large one, and the first, or each, with all behind it."""
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
