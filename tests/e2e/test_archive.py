"""Ended jobs reach the history exactly once, whatever fails on the way."""

import contextlib
import json
import pathlib
import re
import sqlite3
import time

import pytest

from duepost import Duepost
from patience import SLOW, until
from mongo_server import MongoServer
from postgres_server import PostgresServer
from redis_server import RedisServer
import scratch
from sentinels import Sentinels

COLUMNS = "topic, job_id, outcome, status, created_at"
BATCH = 200


class File:
    """A history in a file of SQLite. While it is locked, duepost cannot write."""

    def __init__(self):
        self.path = scratch.file("history.sqlite")
        self.option = f"sqlite:{self.path}"

    def rows(self):
        if not pathlib.Path(self.path).exists():
            return []
        with contextlib.closing(sqlite3.connect(f"file:{self.path}?mode=ro", uri=True, timeout=10)) as link:
            try:
                return link.execute(f"SELECT {COLUMNS} FROM duepost_jobs").fetchall()
            except sqlite3.OperationalError as error:
                assert "no such table" in str(error) or "locked" in str(error), error
                return []

    @contextlib.contextmanager
    def away(self):
        until(lambda: self.path.exists() and self.is_made(), 10, "the tables")
        with contextlib.closing(sqlite3.connect(self.path, timeout=30, isolation_level=None)) as link:
            link.execute("BEGIN IMMEDIATE")
            yield
            link.execute("ROLLBACK")

    def is_made(self):
        with contextlib.closing(sqlite3.connect(f"file:{self.path}?mode=ro", uri=True, timeout=10)) as link:
            return link.execute("SELECT count(*) FROM sqlite_master WHERE name = 'duepost_jobs'").fetchone()[0] == 1

    def begin(self):
        pass

    def stop(self):
        pass


class Server:
    """A history in PostgreSQL. how: whether away() kills the server, or freezes it with its connections open."""

    def __init__(self, how):
        self.how = how
        self.postgres = PostgresServer()
        self.option = self.postgres.url

    def begin(self):
        pass

    def rows(self):
        return self.postgres.rows(f"SELECT {COLUMNS} FROM duepost_jobs") or []

    @contextlib.contextmanager
    def away(self):
        if self.how == "killed":
            self.postgres.kill()
        else:
            self.postgres.freeze()
        yield
        if self.how == "killed":
            self.postgres.start()
        else:
            self.postgres.thaw()

    def stop(self):
        self.postgres.stop()


class Documents:
    """A history in a server that speaks MongoDB's protocol. how: as above."""

    def __init__(self, how):
        self.how = how
        self.mongo = MongoServer()
        self.option = self.mongo.url("history")
        self.is_made = False

    def begin(self):
        """Waits for the collections. FerretDB 1.24 cannot use a collection if it, or its client, is killed while it makes it."""
        if not self.is_made:
            until(lambda: self.mongo.has_history("history"), 20, "the collections")
            self.is_made = True

    def rows(self):
        return [tuple(document[name] for name in COLUMNS.split(", ")) for document in self.mongo.documents("history")]

    @contextlib.contextmanager
    def away(self):
        if self.how == "killed":
            self.mongo.kill()
        else:
            self.mongo.freeze()
        yield
        if self.how == "killed":
            self.mongo.start()
        else:
            self.mongo.thaw()

    def stop(self):
        self.mongo.stop()


@pytest.fixture
def redis():
    server = RedisServer()
    yield server
    server.stop()


@pytest.fixture(params=["locked file", "killed server", "frozen server", "killed mongodb", "frozen mongodb"])
def history(request):
    how, where = request.param.split()
    made = {"file": lambda _: File(), "server": Server, "mongodb": Documents}[where](how)
    yield made
    made.stop()


def start(redis, history, *options):
    server = Duepost("--history", history.option, *options, redis=redis)
    history.begin()
    return server


def outcomes(history):
    return sorted((topic, job_id, outcome) for topic, job_id, outcome, *_ in history.rows())


def expected(topic, job_ids, outcome="delivered"):
    return sorted((topic, job_id, outcome) for job_id in job_ids)


def schedule(server, receiver, topic, first, number=BATCH, **members):
    ids = [f"j{n}" for n in range(first, first + number)]
    jobs = [{"topic": topic, "jobId": name, "url": receiver.url(), "body": {"n": 1}, **members} for name in ids]
    reply = server.request("POST", "/jobs", json.dumps(jobs), {"Content-Type": "application/json"})
    assert reply.status in (200, 201, 207), reply.body
    return ids


def counter(server, name):
    return int(re.search(rf"^{re.escape(name)} (\d+)$", server.get("/metrics").body.decode(), re.M)[1])


def until_archived(history, topic, ids, seconds=30):
    """Waits until the history has each of these jobs exactly once, and no others."""
    wanted = expected(topic, ids)
    until(lambda: len(history.rows()) >= len(wanted), seconds, lambda: f"{len(history.rows())} of {len(wanted)} rows")
    assert outcomes(history) == wanted


def test_each_way_to_end_brings_a_row(receiver, topic):
    history = File()
    server = Duepost("--history", history.option)
    try:
        server.schedule(topic=topic, jobId="delivered", url=receiver.url(), body={"n": 1})
        receiver.script(topic, 410, job_id="dead")
        server.schedule(topic=topic, jobId="dead", url=receiver.url())
        server.schedule(topic=topic, jobId="cancelled", url=receiver.url(), delay=3600)
        server.cancel(topic, "cancelled").expect(200)
        wanted = sorted((topic, name, name) for name in ("delivered", "dead", "cancelled"))
        until(lambda: outcomes(history) == wanted, 10, lambda: f"{outcomes(history)}\n{server.log()}")
        assert {name: status for _, name, _, status, _ in history.rows()} == {"delivered": 200, "dead": 410, "cancelled": None}
        until(lambda: counter(server, "duepost_outbox_jobs") == 0, 10, "an empty outbox")
    finally:
        server.stop()


def test_a_job_that_ended_can_be_read_while_the_database_is_away(receiver, redis, topic):
    history = File()
    server = start(redis, history)
    try:
        with history.away():
            schedule(server, receiver, topic, 0, 1)
            server.wait_for_state(topic, "j0", "delivered")
            assert [attempt["status"] for attempt in server.get(f"/jobs/{topic}/j0/attempts").expect(200)["attempts"]] == [200]
        until_archived(history, topic, ["j0"])
    finally:
        server.stop()


def test_a_database_that_is_away_delays_rows_and_no_delivery(receiver, redis, history, topic):
    server = start(redis, history)
    try:
        ids = schedule(server, receiver, topic, 0)
        until_archived(history, topic, ids)
        # Waits until the outbox is empty. The outbox still has the entries for a moment after the database has the
        # rows, and would keep them if the database failed in that moment.
        until(lambda: counter(server, "duepost_outbox_jobs") == 0, 10, "an empty outbox")
        with history.away():
            ids += schedule(server, receiver, topic, BATCH)
            until(lambda: receiver.count(topic) == len(ids), 20, "all deliveries")
            until(lambda: counter(server, "duepost_outbox_jobs") == BATCH, 10,
                  lambda: f"{counter(server, 'duepost_outbox_jobs')} of {BATCH} wait\n{server.log()}")
            time.sleep(1)  # so that the archiver tries to write
        until_archived(history, topic, ids, 60)
        until(lambda: counter(server, "duepost_outbox_jobs") == 0, 20, "an empty outbox")
        assert counter(server, "duepost_outbox_bytes") == 0 and counter(server, "duepost_outbox_dropped_total") == 0
    finally:
        server.stop()


def test_killed_processes_lose_and_double_no_row(receiver, redis, history, topic):
    """The database stops and starts again, and duepost is killed several times meanwhile."""
    ids = []
    server = start(redis, history)
    try:
        for turn in range(4):
            ids += schedule(server, receiver, topic, turn * BATCH)
            until(lambda: receiver.count(topic) >= len(ids), 30, "all deliveries")
            if turn % 2:
                with history.away():
                    server.kill()
                    server.stop()
                    server = start(redis, history)
            else:
                server.kill()
                server.stop()
                server = start(redis, history)
        until(lambda: {row[1] for row in history.rows()} == set(ids), 60, lambda: f"{len(history.rows())} of {len(ids)}")
        assert outcomes(history) == expected(topic, ids)
    finally:
        server.stop()


def test_a_redis_that_is_killed_loses_no_row(receiver, redis, topic):
    history = File()
    server = start(redis, history)
    try:
        ids = schedule(server, receiver, topic, 0)
        with history.away():
            until(lambda: receiver.count(topic) >= len(ids), 30, "all deliveries")
            until(lambda: counter(server, "duepost_outbox_jobs") >= 1, 10, "a job in the outbox")
            redis.kill()
            redis.start()
            until(lambda: server.get("/readyz").status == 200, 20, "ready")
        until(lambda: {row[1] for row in history.rows()} == set(ids), 60, lambda: f"{len(history.rows())} of {len(ids)}")
        assert outcomes(history) == expected(topic, ids)
    finally:
        server.stop()


def test_a_failover_that_forgets_the_last_ends_brings_no_row_twice(receiver, topic):
    """The new primary still has jobs that the history has already. These jobs are delivered and archived once more."""
    history, nodes = File(), Sentinels(down_after_ms=5000)  # Sentinels promote no replica that was cut off for more than ten times this time
    server = Duepost("--history", history.option, redis=nodes.address)
    try:
        old = nodes.primary()
        replicas = [node for node in nodes.nodes if node is not old]
        schedule(server, receiver, topic, 0, 50, delay=4 * SLOW)
        until(lambda: old.command("WAIT", "2", "1000") == b":2\r\n", 10, "the replicas have the jobs")
        for node in replicas:
            node.command("CONFIG", "SET", "masterauth", "wrong")  # so that the replica cannot connect again
        old.command("CLIENT", "KILL", "TYPE", "replica")
        until(lambda: len(history.rows()) == 50, 20 + 4 * SLOW, "rows of jobs whose ends no replica has")
        forgotten = schedule(server, receiver, topic, 50, 20)
        until(lambda: len(history.rows()) == 70, 20, "rows of jobs that no replica has")
        old.kill()
        for node in replicas:
            node.command("CONFIG", "SET", "masterauth", "")
        until(lambda: nodes.primary() is not old, 30, "another primary")
        until(lambda: server.get("/readyz").status == 200, 30, "ready")
        until(lambda: all(len(receiver.of(topic, f"j{n}")) == 2 for n in range(50)), 60, "the forgotten ends come again")
        ids = schedule(server, receiver, topic, 70, 20)
        until(lambda: counter(server, "duepost_outbox_jobs") == 0 and len(history.rows()) == 90, 60, lambda: len(history.rows()))
        assert outcomes(history) == expected(topic, [f"j{n}" for n in range(50)] + forgotten + ids)
    finally:
        server.stop()
        nodes.stop()


def test_beyond_the_backlog_exactly_as_many_are_missing_as_are_counted(receiver, redis, topic):
    history = File()
    server = start(redis, history, "--history-backlog", "65536")
    try:
        with history.away():
            ids = schedule(server, receiver, topic, 0, 1000)
            until(lambda: receiver.count(topic) == len(ids), 60, "all deliveries")
            until(lambda: counter(server, 'duepost_jobs{state="leased"}') == 0, 20, "all ends")
        until(lambda: counter(server, "duepost_outbox_jobs") == 0, 60, "an empty outbox")
        dropped = counter(server, "duepost_outbox_dropped_total")
        assert dropped > 0
        assert len(history.rows()) + dropped == len(ids) and set(outcomes(history)) < set(expected(topic, ids))
        assert counter(server, "duepost_outbox_bytes") == 0
    finally:
        server.stop()


def test_a_history_that_is_switched_off_leaves_the_outbox_for_the_next_one(receiver, redis, topic):
    history = File()
    server = start(redis, history)
    try:
        with history.away():
            ids = schedule(server, receiver, topic, 0, 5)
            until(lambda: counter(server, "duepost_outbox_jobs") == 5, 20, "5 jobs in the outbox")
            server.kill()
            server.stop()
        server = Duepost(redis=redis)
        until(lambda: "event=history_is_off" in server.log(), 10, "a line in the log")
        until(lambda: redis.command("EXISTS", "duepost:{0}:history") == b":0\r\n", 10, "the history is off")
        schedule(server, receiver, topic, 5, 5)
        until(lambda: receiver.count(topic) == 10, 10, "all deliveries")
        server.stop()
        server = start(redis, history)
        until_archived(history, topic, ids)
    finally:
        server.stop()
