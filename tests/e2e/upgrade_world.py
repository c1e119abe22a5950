"""A duepost of any version with a Redis, a history, a receiver, and a clock that begins at a fixed time.

Deliveries go through the receiver as their proxy. So urls can name hosts that do not exist, and the urls in the data
are valid in each later run."""

import contextlib
import json
import sqlite3

from clock import MovableClock
from collector import Collector
from duepost import BINARY
from patience import until
from qstash import QStashWithBreakers
from receiver import Receiver
from redis_server import RedisServer
import scratch
from timestamp import from_ms, to_ms

BEGIN_MS = to_ms("2030-01-01T12:00:00.000Z")
HOST = "http://shop.example"
JSON = {"Content-Type": "application/json"}


class Shop(Receiver):
    """Takes the place of the proxy and of all hosts behind it. Records targets as in requests without a proxy."""

    def url(self, path="/hook"):
        return HOST + path

    def _log(self, arrival):
        arrival.target = arrival.target.removeprefix(HOST)
        arrival.topic = arrival.topic.removeprefix(HOST)
        return super()._log(arrival)


class World:
    def __init__(self, ms=BEGIN_MS):
        self.clock = MovableClock()
        self.clock.move_to(ms)
        self.shop = Shop()
        self.redis = RedisServer(aof=False, environment=self.clock.environment)
        self.history = scratch.file("history.sqlite")
        self.server, self.collector, self.options = None, None, ()
        self.notes = {}  # values that parts write in write() and read in check()
        self.paths = []  # paths whose answers must be the same before and after the upgrade

    def trace(self):
        """From the next start on, duepost sends spans to a collector."""
        self.collector = Collector()
        self.options = ("--otlp-url", self.collector.url)

    def start(self, binary=BINARY, history=None):
        """history: the value of --history, if it is not the file of this world."""
        self.server = QStashWithBreakers("--history", history or f"sqlite:{self.history}", "--egress-proxy", f"http://127.0.0.1:{self.shop.port}",
                                         "--breaker-wait", "10m", "--retry-schedule", "30m", *self.options,
                                         redis=self.redis, binary=binary,
                                         extra={**self.clock.environment, "ASAN_OPTIONS": "verify_asan_link_order=0"})

    def stop(self):
        if self.server:
            self.server.stop()
        self.redis.stop()
        self.shop.stop()
        if self.collector:
            self.collector.stop()

    # ---- requests ----

    def send(self, method, path, members, status=200, **headers):
        return self.server.request(method, path, json.dumps(members), {**JSON, **headers}).expect(status)

    def schedule(self, topic, job_id, path="/hook", **members):
        return self.server.schedule(topic=topic, jobId=job_id, url=self.shop.url(path), **members)

    def settings(self, topic, **members):
        self.send("PUT", f"/topics/{topic}", members)

    def show(self, *paths):
        self.paths += paths

    def answer(self, path):
        return self.server.request("GET", path, check=not path.startswith("/v2")).expect(200)

    def arrived(self, topic, job_id, count=1, seconds=20):
        """Waits for exactly count requests of a job, and returns them."""
        until(lambda: len(self.shop.of(topic, job_id)) >= count, seconds,
              lambda: f"{count} requests of {topic}/{job_id}, not {len(self.shop.of(topic, job_id))}")
        found = self.shop.of(topic, job_id)
        assert len(found) == count, [(each.topic, each.job_id, each.attempt) for each in found]
        return found

    def one(self, topic, job_id):
        return self.arrived(topic, job_id)[0]

    # ---- history ----

    def await_archived(self):
        until(lambda: b"duepost_outbox_jobs 0\n" in self.server.get("/metrics").body, 20, "the history has all ended jobs")

    def history_lines(self):
        with contextlib.closing(sqlite3.connect(f"file:{self.history}?mode=ro", uri=True)) as link:
            return list(link.iterdump())

    def restore_history(self, text):
        with contextlib.closing(sqlite3.connect(self.history)) as link:
            link.executescript(text)


def hours_later(ms, hours):
    return ms + hours * 3600_000


def occurrence(schedule_id, ms):
    """Returns the jobId of the occurrence at this time."""
    return f"{schedule_id}~" + from_ms(ms)[:19].replace("-", "").replace(":", "") + "Z"
