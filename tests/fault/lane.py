"""A lane is an isolated test site in a Redis that many stories share: a prefix, the record of one client, and duepost
processes. A lane is used in runs in which many short stories happen at the same time."""

import concurrent.futures
import datetime
import http.client
import time

import audit
from client import Told
from node import Node
from patience import until
from redis_link import Link
from redis_server import release_port
import verdict


class Lane:
    def __init__(self, site_redis, judge, name, *, redis=None, binary=None, extra=None, options=("--reactors", "1"), members=None):
        """members: JSON members that each job of the lane gets in addition to its own."""
        self.redis, self.judge, self.name = site_redis, judge, name
        self.keys = f"{name}:{{0}}:"
        self.members = members or {}
        self.told = {}
        self.faults = []
        self.make_node = lambda: Node(0, "--prefix", f"{name}:", *options, redis=redis or site_redis.address, binary=binary,
                                      extra=extra)
        self.nodes = []
        self.last = None  # the answer to the last schedule request

    def start(self, wait=True, **extra):
        self.nodes.append(self.make_node())
        return self.nodes[-1].start(wait=wait, **extra)

    def schedule(self, node, job_id, path="/200", url=None, **job):
        """Returns the status of the answer; 0 if it was lost."""
        key = f"{self.name}/{job_id}"
        told = self.told.setdefault(key, Told(sent_us=time.time_ns() // 1000))
        body = {"topic": self.name, "jobId": job_id, "url": (url or self.judge.url) + path,
                "retrySchedule": [0.5] * 3, **self.members, **job}
        told.scheduled, answer = request(node, "POST", "/jobs", body)
        self.last = answer
        told.nothing_changed = told.scheduled == 507 or "nothing changed" in str(answer)
        told.answered_us = time.time_ns() // 1000
        if answer and "dueAt" in answer:
            told.due_ms = int(datetime.datetime.fromisoformat(answer["dueAt"]).timestamp() * 1000 + 0.5)
        return told.scheduled

    def cancel(self, node, job_id):
        told = self.told[f"{self.name}/{job_id}"]
        told.cancel_sent_us = time.time_ns() // 1000
        told.cancel, answer = request(node, "DELETE", f"/jobs/{self.name}/{job_id}")
        told.cancelled_us = time.time_ns() // 1000
        told.was_running = bool(answer and answer.get("attemptInFlight"))
        told.may_be_cancelled = told.cancel in (0, 503) and "nothing changed" not in str(answer)
        return told.cancel

    def send(self, node, job_id, group, endpoints, **job):
        """Like schedule, for a job that is sent to each endpoint of a group."""
        all_told = [self.told.setdefault(f"{self.name}/{job_id}~{endpoint}", Told(sent_us=time.time_ns() // 1000)) for endpoint in endpoints]
        status, answer = request(node, "POST", "/jobs", {"topic": self.name, "jobId": job_id, "group": group, "retrySchedule": [0.5] * 3, **job})
        for told in all_told:
            told.scheduled, told.answered_us = status, time.time_ns() // 1000
            told.nothing_changed = status in (400, 507) or "nothing changed" in str(answer)
            if answer and "dueAt" in answer:
                told.due_ms = int(datetime.datetime.fromisoformat(answer["dueAt"]).timestamp() * 1000 + 0.5)
        return status

    def unsend(self, node, job_id, group, endpoints):
        """Like cancel, for all jobs that were sent and have not arrived."""
        all_told = [self.told[f"{self.name}/{job_id}~{endpoint}"] for endpoint in endpoints]
        for told in all_told:
            told.cancel_sent_us = time.time_ns() // 1000
        status, answer = request(node, "DELETE", f"/jobs/{self.name}/{job_id}?group={group}")
        for told in all_told:
            told.cancel, told.cancelled_us = status, time.time_ns() // 1000
            told.was_running = bool(answer and answer.get("attemptInFlight"))
            told.may_be_cancelled = status in (0, 503) and "nothing changed" not in str(answer)
        return status

    def arrivals(self, job_id=None):
        if job_id is not None:
            return self.judge.of(f"{self.name}/{job_id}")
        return [arrival for key, found in self.judge.arrivals().items() if key.startswith(self.name + "/") for arrival in found]

    def ask(self, *words):
        link = Link(str(self.redis.socket))
        try:
            return link(*words)
        finally:
            link.close()

    def counts(self):
        return self.redis.counts(self.keys)

    def is_settled(self):
        jobs, leases = self.counts()
        return jobs == leases == 0

    def await_settled(self, seconds=30):
        until(self.is_settled, seconds, lambda: f"{self.name} settled: {self.counts()}\n{self.nodes[-1].log()[-3000:]}")

    def books(self):
        link = Link(str(self.redis.socket))
        try:
            return audit.Books(link, self.keys)
        finally:
            link.close()

    def verdict(self, **how):
        books = self.books()
        arrivals = {k: v for k, v in self.judge.arrivals().items() if k.startswith(self.name + "/")}
        said = verdict.judge(self.told, arrivals, books.dead, self.faults, **how)
        said.broken += [f"books of {self.name}: {what}" for what in audit.faults(books)]
        return said

    def stop(self):
        for node in self.nodes:
            node.kill()
            release_port(node.port)


def request(node, method, target, body=None, headers=None):
    try:
        return node.request(method, target, body, headers)
    except (OSError, http.client.HTTPException, ValueError):
        return 0, None


def side_by_side(work, items, at_once):
    """Calls work(item) for each item, at_once at a time; returns the results in order."""
    with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
        return list(pool.map(work, items))


def summed(verdicts):
    total = verdict.Verdict(verdict.collections.Counter(), [])
    for each in verdicts:
        total.counts += each.counts
        total.broken += each.broken
    return total
