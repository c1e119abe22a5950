"""duepost outbox: jobs of a table in PostgreSQL, which an application inserts in its own transactions."""

import collections
import contextlib
import http.server
import json
import os
import pathlib
import random
import re
import signal
import socket
import subprocess
import threading
import time
import urllib.parse

import pytest

from duepost import BINARY, run
from patience import SLOW, until, watch
from postgres_server import PostgresServer
from tokens import TokenFile
import processes


@pytest.fixture(scope="module")
def postgres():
    started = PostgresServer()
    yield started
    started.stop()


@pytest.fixture
def database(postgres, topic):
    """The name of a database with the tables."""
    postgres.create(topic)
    done = relay_once(postgres, topic, "--install")
    assert done.returncode == 0 and "version 1 now" in done.stdout, done.stderr
    return topic


def source(postgres, database):
    return postgres.url.replace("/postgres?", f"/{database}?")


def words(postgres, database, *more):
    return [BINARY, "outbox", *more, "--source", source(postgres, database)]


def relay_once(postgres, database, *more, server=None):
    environment = {**os.environ, "DUEPOST_SERVER": server.url if server else "http://127.0.0.1:1"}
    return subprocess.run(words(postgres, database, *more), env=environment, capture_output=True, text=True, timeout=60 * SLOW, check=False)


class Relay:
    """A relay that runs until the end of the block."""

    def __init__(self, postgres, database, server, **environment):
        self.command = words(postgres, database)
        self.environment = {**os.environ, "DUEPOST_SERVER": server.url, **environment}
        self.process, self.lines = None, []

    def start(self):
        self.process = subprocess.Popen(self.command, env=self.environment, stderr=subprocess.PIPE, text=True)
        threading.Thread(target=self._read, args=(self.process.stderr,), daemon=True).start()

    def _read(self, stream):
        self.lines.extend(stream)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.kill()

    @property
    def text(self):
        return "".join(self.lines)


def is_empty(postgres, database):
    return postgres.psql("SELECT count(*) FROM duepost_outbox", database) == "0\n"


def insert(**columns):
    return f"INSERT INTO duepost_outbox ({', '.join(columns)}) VALUES ({', '.join(columns.values())});"


def test_a_row_becomes_a_job_when_its_transaction_is_committed(server, receiver, postgres, database, topic):
    row = insert(topic=f"'{topic}'", url=f"'{receiver.url()}'", body="'{\"order\": 1041, \"note\": null}'")
    with Relay(postgres, database, server):
        postgres.psql(f"BEGIN; {row} ROLLBACK; BEGIN; {row} COMMIT;", database)
        until(lambda: receiver.count(topic) == 1, 10, "the delivery")
        until(lambda: is_empty(postgres, database), 10, "the row is deleted")
        watch(0.5, lambda: receiver.count(topic) == 1, "the row that was rolled back")
    assert json.loads(receiver.of(topic)[0].body) == {"order": 1041, "note": None}


def test_each_column_is_a_member_of_the_job(server, receiver, postgres, database, topic):
    postgres.psql("SET TIME ZONE 'America/New_York';" + insert(
        topic=f"'{topic}'", job_id="'a/ü\"'", key="'customer 7'", due_at="'2030-07-01 09:00:00.5'", url=f"'{receiver.url('/x')}'",
        body="'\"text\"'", headers="'{\"X-A\": \"1\"}'", labels="'[\"red\", \"blue\"]'", priority="7", retry="2"), database)
    postgres.psql(insert(topic=f"'{topic}'", job_id="'b'", delay="'1 day 90 minutes'", url=f"'{receiver.url()}'",
                         body_bytes="decode(repeat('00ff', 200), 'hex')"), database)
    assert relay_once(postgres, database, "--until-empty", server=server).returncode == 0
    job = server.job(topic, urllib.parse.quote("a/ü\"", safe=""))
    assert job["dueAt"] == "2030-07-01T13:00:00.500Z" and job["body"] == "text" and job["retry"] == 2 and job["priority"] == 7
    assert job["key"] == "customer 7" and list(job["headers"]) == ["X-A"] and sorted(job["labels"]) == ["blue", "red"]
    assert job["url"] == receiver.url("/x")
    other = server.job(topic, "b")
    assert 90_000 < other["delay"] + 1 <= 91_801 and other["bodyBase64"].startswith("AP8A") and len(other["bodyBase64"]) == 536
    assert is_empty(postgres, database)


def test_rows_of_one_job_go_in_their_order(server, receiver, postgres, database, topic):
    def row(action, number, **more):
        return insert(topic=f"'{topic}'", job_id="'a'", action=f"'{action}'", url=f"'{receiver.url()}'", body=f"'{number}'", delay="'1 hour'", **more)
    cancel = insert(topic=f"'{topic}'", job_id="'b'", action="'cancel'")
    postgres.psql(row("schedule", 1) + row("replace", 2) + row("cancel", 0) + row("schedule", 3) + row("replace", 4) + cancel, database)
    assert relay_once(postgres, database, "--until-empty", server=server).returncode == 0
    assert server.job(topic, "a")["body"] == 4 and is_empty(postgres, database)
    postgres.psql(insert(topic=f"'{topic}'", job_id="'a'", action="'cancel'"), database)
    assert relay_once(postgres, database, "--until-empty", server=server).returncode == 0
    assert server.job(topic, "a") is None


def test_rows_that_are_refused_fail_alone(server, receiver, postgres, database, topic):
    good = insert(topic=f"'{topic}'", url=f"'{receiver.url()}'")
    bad = {
        "no topic of this name": insert(topic="'a b'", url=f"'{receiver.url()}'"),
        "priority": insert(topic=f"'{topic}'", url=f"'{receiver.url()}'", priority="12"),
        "labels": insert(topic=f"'{topic}'", url=f"'{receiver.url()}'", labels="'{\"a\": 1}'"),
        "over 1048576": insert(topic=f"'{topic}'", url=f"'{receiver.url()}'", body="to_jsonb(repeat('a', 2000000))"),
        "over 16": insert(topic=f"'{topic}'", url=f"'{receiver.url()}'", body="to_jsonb(repeat('a', 17000000))"),
    }
    for each in bad.values():
        postgres.psql(good + each, database)
    done = relay_once(postgres, database, "--until-empty", server=server)
    assert done.returncode == 0, done.stderr
    until(lambda: receiver.count(topic) == len(bad), 10, "the good rows")
    failed = postgres.psql("SELECT error FROM duepost_outbox_failed ORDER BY id", database)
    assert failed.count("\n") == len(bad), failed
    for word in "topic", "priority", "labels", "over 1048576", "over 16":
        assert word in failed, failed
    assert done.stderr.count("has failed") == len(bad)
    status = json.loads(relay_once(postgres, database, "status", "--json").stdout)
    assert status == {"waiting": 0, "oldestSeconds": 0, "failed": len(bad), "relayActive": False}
    postgres.psql("UPDATE duepost_outbox_failed SET priority = 1, labels = NULL, due_at = NULL, topic = $$" + topic + "$$, body = NULL", database)
    assert f"{len(bad)} rows" in relay_once(postgres, database, "retry").stdout
    assert relay_once(postgres, database, "--until-empty", server=server).returncode == 0
    until(lambda: receiver.count(topic) == 2 * len(bad), 10, "the rows that were mended")


def test_a_topic_at_its_quota_waits_and_the_others_go_on(server, receiver, postgres, database, topic):
    server.request("PATCH", f"/topics/{topic}.full", json.dumps({"maxPending": 1}), {"Content-Type": "application/json"}).expect(200)
    for number in range(3):
        postgres.psql(insert(topic=f"'{topic}.full'", job_id=f"'{number}'", delay="'1 hour'", url=f"'{receiver.url()}'"), database)
    postgres.psql(insert(topic=f"'{topic}'", url=f"'{receiver.url()}'"), database)
    with Relay(postgres, database, server) as relay:
        until(lambda: receiver.count(topic) == 1, 10, "the other topic")
        until(lambda: json.loads(relay_once(postgres, database, "status", "--json").stdout)["waiting"] == 2, 10, "two rows wait")
        for number in range(3):
            until(lambda number=number: server.job(f"{topic}.full", str(number)), 90, "the next row")
            server.cancel(f"{topic}.full", str(number))
        until(lambda: is_empty(postgres, database), 90, "all rows")
    assert "failed" not in relay.text


def test_a_second_relay_waits_for_the_end_of_the_first(server, receiver, postgres, database, topic):
    with Relay(postgres, database, server) as first:
        until(lambda: json.loads(relay_once(postgres, database, "status", "--json").stdout)["relayActive"], 10, "the first is at work")
        with Relay(postgres, database, server) as second:
            until(lambda: "another relay" in second.text, 10, "the second waits")
            first.kill()
            postgres.psql(insert(topic=f"'{topic}'", url=f"'{receiver.url()}'"), database)
            until(lambda: receiver.count(topic) == 1, 10, "the second took over")


def test_a_row_is_accepted_soon_after_its_commit(server, receiver, postgres, database, topic):
    """The bound is 50 ms on a quiet machine; a test of it must not fail on a busy one."""
    with Relay(postgres, database, server):
        until(lambda: json.loads(relay_once(postgres, database, "status", "--json").stdout)["relayActive"], 10, "the relay is at work")
        began = time.time() * 1000
        postgres.psql(insert(topic=f"'{topic}'", url=f"'{receiver.url()}'"), database)
        until(lambda: receiver.count(topic) == 1, 10, "the delivery")
        assert receiver.of(topic)[0].at_ms - began < 800 * SLOW  # a tick without notifications would take up to 1,000 more


def test_metrics_are_in_a_file(server, receiver, postgres, database, topic, tmp_path):
    def metrics():
        text = (tmp_path / "outbox.prom").read_text() if (tmp_path / "outbox.prom").exists() else ""
        return dict(line.split() for line in text.splitlines() if not line.startswith("#"))
    postgres.psql(insert(topic=f"'{topic}'", url=f"'{receiver.url()}'") + insert(topic="'a b'", url=f"'{receiver.url()}'"), database)
    with Relay(postgres, database, server) as relay:
        relay.kill()
        relay.command += ["--metrics-file", str(tmp_path / "outbox.prom")]
        relay.start()
        until(lambda: metrics().get("duepost_relay_up") == "1", 20, "the file")
        until(lambda: metrics()["duepost_relay_sent_total"] == "1" and metrics()["duepost_relay_failed_total"] == "1", 20, "the rows")
        assert float(metrics()["duepost_relay_oldest_seconds"]) == 0


def test_mistakes_are_named(server, postgres, topic):
    postgres.create(topic)
    assert "--install" in relay_once(postgres, topic).stderr
    assert "needs --source" in subprocess.run([BINARY, "outbox"], capture_output=True, text=True, check=False, timeout=30 * SLOW).stderr
    assert "does not exist" in relay_once(postgres, topic + "-none").stderr
    for _ in range(2):
        assert relay_once(postgres, topic, "--install").returncode == 0
    postgres.psql("UPDATE duepost_outbox_meta SET value = '99' WHERE name = 'version'", topic)
    assert "only knows 1: it is too old" in relay_once(postgres, topic).stderr


def restart(start, server, data, *options):
    """Starts the server again at the same address with the same data, after it was killed."""
    server.kill()
    return start("--retry-schedule", "0.1 0.1 0.1 0.1 0.1", *options, data=data, listen=f"127.0.0.1:{server.port}")


def test_a_database_that_is_away_is_waited_for(server, receiver, topic):
    behind = PostgresServer()
    with contextlib.ExitStack() as stack:
        stack.callback(behind.stop)
        behind.create(topic)
        assert relay_once(behind, topic, "--install").returncode == 0
        relay = stack.enter_context(Relay(behind, topic, server))
        for turn in range(3):
            behind.psql(insert(topic=f"'{topic}'", url=f"'{receiver.url()}'"), topic)
            behind.kill()
            time.sleep(0.5)
            behind.start()
            behind.psql(insert(topic=f"'{topic}'", url=f"'{receiver.url()}'"), topic)
            until(lambda turn=turn: receiver.count(topic) == 2 * turn + 2, 30,
                  lambda: f"the rows before and after; {receiver.count(topic)} came: {relay.text}")
        assert "trying again" in relay.text and relay.process.poll() is None
        assert len({arrival.headers["duepost-job-id"] for arrival in receiver.of(topic)}) == 6


def test_a_server_that_is_away_is_waited_for(start, receiver, postgres, database, topic, data):
    server = start(data=data)
    with Relay(postgres, database, server) as relay:
        os.kill(server.pid, signal.SIGSTOP)
        postgres.psql(insert(topic=f"'{topic}'", url=f"'{receiver.url()}'"), database)
        time.sleep(1)
        os.kill(server.pid, signal.SIGCONT)
        until(lambda: receiver.count(topic) == 1, 30, "the delivery")
        server.kill()
        postgres.psql(insert(topic=f"'{topic}'", url=f"'{receiver.url()}'"), database)
        until(lambda: "trying again" in relay.text, 30, "the relay says it")
        restart(start, server, data)
        until(lambda: receiver.count(topic) == 2, 60, "the delivery after the return")


# ---- faults ----

class Patient(http.server.ThreadingHTTPServer):
    request_queue_size = 128  # more than the relay has requests under way


class FakeServer:
    """Stands before a server, or answers itself. script(method, path) returns (status, body) for the answer that the relay gets, or None for
    that of the server. self.came has the requests."""

    def __init__(self, script, server=None):
        fake, self.script, self.server, self.came = self, script, server, []

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                fake.came.append((self.command, self.path, body))
                own = fake.script(self.command, self.path)
                if own is None or own[0] == "lost":
                    reply = fake.server.request(self.command, self.path, body.decode() if body else None,
                                                {"Content-Type": "application/json"} if body else {})
                    if own:
                        self.close_connection = True
                        return
                    own = reply.status, reply.body.decode()
                self.send_response(own[0])
                self.send_header("Content-Length", str(len(own[1].encode())))
                self.end_headers()
                self.wfile.write(own[1].encode())

            do_POST = do_PUT = do_DELETE = answer

            def log_message(self, *_):
                pass

        self.http = Patient(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}"
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.http.shutdown()
        self.http.server_close()


def count_failed(postgres, database):
    return int(postgres.psql("SELECT count(*) FROM duepost_outbox_failed", database))


def test_rows_of_a_topic_that_begins_to_wait_keep_their_order(server, receiver, postgres, database, topic):
    """The quota refuses the first row. The cancel behind it, in the same read, must not go before it."""
    server.request("PATCH", f"/topics/{topic}", json.dumps({"maxPending": 1}), {"Content-Type": "application/json"}).expect(200)
    server.schedule(topic=topic, jobId="first", url=receiver.url(), delay=3600)
    postgres.psql(insert(topic=f"'{topic}'", job_id="'a'", delay="'1 hour'", url=f"'{receiver.url()}'")
                  + insert(topic=f"'{topic}'", job_id="'a'", action="'cancel'"), database)
    with Relay(postgres, database, server):
        watch(1.5, lambda: postgres.psql("SELECT count(*) FROM duepost_outbox", database) == "2\n", "the cancel waits, too")
        server.cancel(topic, "first")
        until(lambda: is_empty(postgres, database), 90, "both rows")
    assert server.job(topic, "a") is None


@pytest.mark.parametrize("status, body", [(404, "<h1>Not Found</h1>"), (200, "<h1>Welcome</h1>"), (301, ""), (405, "{}"), (400, "plain HTTP"),
                                          (404, '{"type":"about:blank","title":"Not Found","status":404,"detail":"There is nothing at this path."}')])
def test_an_answer_that_is_not_of_duepost_ends_no_row(receiver, postgres, database, topic, status, body):
    """A wrong address, or a proxy that is being set up, must neither drop a row nor let it fail."""
    rows = {"schedule": insert(topic=f"'{topic}'", url=f"'{receiver.url()}'"),
            "replace": insert(topic=f"'{topic}'", job_id="'a'", action="'replace'"),
            "cancel": insert(topic=f"'{topic}'", job_id="'a'", action="'cancel'")}
    for row in rows.values():
        postgres.psql(f"TRUNCATE duepost_outbox; {row}", database)
        with FakeServer(lambda *_: (status, body)) as fake, Relay(postgres, database, fake) as relay:
            until(lambda relay=relay: "trying again" in relay.text, 10, lambda relay=relay: f"the relay says it: {relay.text}")
            assert postgres.psql("SELECT count(*) FROM duepost_outbox", database) == "1\n" and count_failed(postgres, database) == 0


def test_names_do_not_become_other_paths(postgres, database, topic):
    rows = [("..", "jobs"), (".", "x"), (topic, ".."), (topic, ""), (topic, "a" * 20000), ("t" * 9000, "a"), (topic, "a/../b")]
    for action in "cancel", "replace":
        for of, job_id in rows:
            postgres.psql(insert(topic=f"'{of}'", job_id=f"'{job_id}'", action=f"'{action}'"), database)
    with FakeServer(lambda *_: (200, '{"state":"delayed"}')) as fake, Relay(postgres, database, fake) as relay:
        until(lambda: is_empty(postgres, database), 10, lambda: relay.text)
        assert [came[:2] for came in fake.came] == [(method, f"/jobs/{topic}/a%2F..%2Fb") for method in ("DELETE", "PUT")]
    assert count_failed(postgres, database) == 12


def test_a_row_whose_deletion_fails_is_not_sent_again(server, receiver, postgres, database, topic):
    """The deletion waits for a lock until its timeout. A replace that were sent again would be delivered again."""
    postgres.psql(insert(topic=f"'{topic}'", job_id="'a'", action="'replace'", url=f"'{receiver.url()}'"), database)
    relay = Relay(postgres, database, server)
    relay.command[-1] += "&options=-c%20statement_timeout%3D300"
    lock = subprocess.Popen([postgres.programs / "psql", "--no-psqlrc", "-qtA", source(postgres, database)], stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE, text=True)
    lock.stdin.write("BEGIN; LOCK TABLE duepost_outbox IN SHARE MODE; SELECT 1;\n")
    lock.stdin.flush()
    assert lock.stdout.readline() == "1\n"
    with relay:
        until(lambda: "trying again" in relay.text and receiver.count(topic) == 1, 10, lambda: relay.text)
        watch(3, lambda: receiver.count(topic) == 1, "sent again")
        lock.communicate("ROLLBACK;\n")
        until(lambda: is_empty(postgres, database), 30, "the row is deleted")
        assert receiver.count(topic) == 1


def test_rights_that_are_missing_are_named_before_a_row_is_sent(server, receiver, postgres, database, topic):
    role = f"r{abs(hash(topic))}"
    postgres.psql(f"CREATE ROLE {role} LOGIN; GRANT SELECT ON duepost_outbox, duepost_outbox_meta TO {role};"
                  + insert(topic=f"'{topic}'", job_id="'a'", action="'replace'", url=f"'{receiver.url()}'"), database)

    def as_role(*more):
        command = words(postgres, database, *more)
        return subprocess.run([*command[:-1], command[-1].replace("postgres@", f"{role}@")], env={**os.environ, "DUEPOST_SERVER": server.url},
                              capture_output=True, text=True, timeout=60 * SLOW, check=False)
    assert "needs the right DELETE on duepost_outbox" in as_role("--until-empty").stderr
    postgres.psql(f"GRANT DELETE ON duepost_outbox TO {role}", database)
    assert "needs the right INSERT on duepost_outbox_failed" in as_role("--until-empty").stderr
    assert receiver.count(topic) == 0
    postgres.psql(f"GRANT INSERT, SELECT ON duepost_outbox_failed TO {role}; ALTER ROLE {role} SET default_transaction_read_only = on", database)
    assert "read-only" in as_role("--until-empty").stderr
    postgres.psql(f"ALTER ROLE {role} RESET default_transaction_read_only" + ";" + insert(topic="'a b'"), database)
    assert as_role("--until-empty").returncode == 0 and count_failed(postgres, database) == 1
    assert json.loads(as_role("status", "--json").stdout)["failed"] == 1
    until(lambda: receiver.count(topic) == 1, 10, "the row")


@pytest.mark.parametrize("encoding", ["UTF8", "LATIN1"])
def test_a_reason_that_the_database_cannot_keep_stops_nothing(postgres, topic, encoding):
    """The reason is cut in a character, and LATIN1 has no such characters."""
    postgres.psql(f"CREATE DATABASE \"{topic}\" ENCODING '{encoding}' TEMPLATE template0", "postgres")
    assert relay_once(postgres, topic, "--install").returncode == 0
    for number in range(3):
        postgres.psql(insert(topic=f"'{topic}'", job_id=f"'{number}'", action="'replace'"), topic)

    def refuse(_, path):
        return 400, json.dumps({"status": 400, "detail": "a" * int(path[-1]) + "\u4e2d" * 300})
    with FakeServer(refuse) as fake, Relay(postgres, topic, fake) as relay:
        until(lambda: is_empty(postgres, topic), 10, lambda: relay.text)
    assert count_failed(postgres, topic) == 3


def test_many_topics_that_wait_stop_no_other(postgres, database, topic):
    """150 topics without rights: they are tried again each 10 s, and not at once."""
    postgres.psql("INSERT INTO duepost_outbox (topic, job_id, action) SELECT 't' || n, 'a', 'cancel' FROM generate_series(1, 150) AS n", database)
    postgres.psql(insert(topic=f"'{topic}'", job_id="'a'", action="'cancel'"), database)
    refusal = (403, '{"type":"about:blank","title":"Forbidden","status":403,"detail":"The token has no right to this topic."}')
    with FakeServer(lambda _, path: (200, '{"state":"cancelled"}') if topic in path else refusal) as fake, Relay(postgres, database, fake):
        until(lambda: any(topic in path for _, path, _ in fake.came), 10, "the other topic")
        until(lambda: len(fake.came) >= 151, 10, "all topics")
        watch(1.5, lambda: len(fake.came) == 151, "a topic is tried again at once")


def test_ids_that_come_again_are_new_jobs(server, receiver, postgres, database, topic):
    for number in range(1, 3):
        postgres.psql("TRUNCATE duepost_outbox RESTART IDENTITY;" + insert(topic=f"'{topic}'", url=f"'{receiver.url()}'"), database)
        assert relay_once(postgres, database, "--until-empty", server=server).returncode == 0
        until(lambda number=number: receiver.count(topic) == number, 10, "the delivery")


def test_a_read_of_long_rows_is_divided(server, receiver, postgres, database, topic):
    """800 MB of text, which the database cannot make within its timeout."""
    postgres.psql(f"INSERT INTO duepost_outbox (topic, url, body) SELECT '{topic}', '{receiver.url()}', to_jsonb(array(SELECT repeat(chr(97 + n % 7), 900)"
                  " FROM generate_series(1, 1000))) FROM generate_series(1, 800) AS n", database)
    relay = Relay(postgres, database, server)
    relay.command[-1] += f"&options=-c%20statement_timeout%3D{500 * SLOW}"
    with relay:
        until(lambda: int(postgres.psql("SELECT count(*) FROM duepost_outbox", database)) < 790, 30, lambda: relay.text)


def test_a_lost_answer_schedules_nothing_twice(server, receiver, postgres, database, topic):
    answers = iter([("lost", "")])
    for number in range(20):
        postgres.psql(insert(topic=f"'{topic}'", url=f"'{receiver.url()}'", body=f"'{number}'"), database)
    with FakeServer(lambda *_: next(answers, None), server) as fake, Relay(postgres, database, fake) as relay:
        until(lambda: is_empty(postgres, database), 20, lambda: relay.text)
        assert len(fake.came) > 1
    until(lambda: receiver.count(topic) >= 20, 10, "the deliveries")
    watch(0.5, lambda: receiver.count(topic) == 20, "a second job")


def test_a_relay_that_lost_the_lock_sends_nothing_more(postgres, database, topic):
    """The first relay hangs in a request while its session ends and the second relay takes over. Rows of one job go one after the other."""
    def hang(*_):
        if len(fake.came) == 1:
            until(lambda: is_empty(postgres, database), 30, "the second relay sends all")
            time.sleep(1.5)
        return 200, '{"state":"delayed"}'
    for _ in range(2):
        postgres.psql(insert(topic=f"'{topic}'", job_id="'slow'", action="'cancel'"), database)
    with FakeServer(hang) as fake, Relay(postgres, database, fake):
        until(lambda: fake.came, 10, "the first row")
        with Relay(postgres, database, fake):
            time.sleep(0.5)
            postgres.psql("SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND granted", database)
            until(lambda: len(fake.came) == 3, 10, "the second took over")
            watch(4, lambda: len(fake.came) == 3, "the first goes on")


def test_the_first_process_of_a_container_ends_on_sigterm(server, postgres, database):
    inside = ["unshare", *([] if os.geteuid() == 0 else ["-r"]), "-f", "-p", "--kill-child"]
    if subprocess.run([*inside, "true"], stderr=subprocess.DEVNULL, check=False).returncode:
        pytest.skip("this host gives no namespaces")
    outer = subprocess.Popen([*inside, *words(postgres, database)], env={**os.environ, "DUEPOST_SERVER": server.url})
    with contextlib.ExitStack() as stack:
        stack.callback(outer.wait)
        stack.callback(outer.kill)
        until(lambda: json.loads(relay_once(postgres, database, "status", "--json").stdout)["relayActive"], 10, "the relay is at work")
        children = pathlib.Path(f"/proc/{outer.pid}/task/{outer.pid}/children").read_text().split()
        os.kill(int(children[0]), signal.SIGTERM)
        assert outer.wait(timeout=10 * SLOW) in (143, -15)


# ---- many at a time ----

def test_rows_of_many_jobs_go_together_and_those_of_one_job_in_order(postgres, database, topic):
    """Each answer takes a random time. At no moment are two requests for one job under way."""
    busy, order, most = collections.Counter(), collections.defaultdict(list), [0]
    lock, chance = threading.Lock(), random.Random(3)

    def answer(method, path):
        with lock:
            busy[path] += 1
            most[0] = max(most[0], sum(busy.values()))
            assert busy[path] == 1, path
            pause = chance.uniform(0, 0.02)
        time.sleep(pause)
        with lock:
            busy[path] -= 1
        return 200, '{"state":"delayed"}'
    postgres.psql(f"""INSERT INTO duepost_outbox (topic, job_id, action, body) SELECT '{topic}', n % 40, 'replace', to_jsonb(n)
        FROM generate_series(0, 999) AS n""", database)
    with FakeServer(answer) as fake, Relay(postgres, database, fake) as relay:
        until(lambda: is_empty(postgres, database), 30, lambda: relay.text)
    for _, path, body in fake.came:
        order[path].append(json.loads(body)["body"])
    assert len(order) == 40 and all(numbers == list(range(numbers[0], 1000, 40)) for numbers in order.values())
    assert most[0] > 8, "the requests went one after the other"


def test_rows_that_wait_are_not_read_each_time(server, receiver, postgres, database, topic):
    """Nor is a row missed that comes meanwhile, or whose transaction is committed late."""
    server.request("PATCH", f"/topics/{topic}.full", json.dumps({"maxPending": 1}), {"Content-Type": "application/json"}).expect(200)
    server.schedule(topic=f"{topic}.full", jobId="first", url=receiver.url(), delay=3600)
    late = subprocess.Popen([postgres.programs / "psql", "--no-psqlrc", "-qtA", source(postgres, database)], stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE, text=True)
    late.stdin.write("BEGIN;" + insert(topic=f"'{topic}'", url=f"'{receiver.url('/late')}'") + "SELECT 1;\n")
    late.stdin.flush()
    assert late.stdout.readline() == "1\n"
    postgres.psql(f"INSERT INTO duepost_outbox (topic, url, delay) SELECT '{topic}.full', '{receiver.url()}', '1 hour' FROM generate_series(1, 20000);"
                  "ANALYZE duepost_outbox", database)

    def fetched():
        return int(postgres.psql("SELECT idx_tup_fetch FROM pg_stat_user_tables WHERE relname = 'duepost_outbox'", database))
    with Relay(postgres, database, server) as relay:
        postgres.psql(insert(topic=f"'{topic}'", url=f"'{receiver.url()}'"), database)
        until(lambda: receiver.count(topic) == 1, 20, lambda: relay.text)
        before, began = fetched(), time.monotonic()
        for number in range(2, 42):
            postgres.psql(insert(topic=f"'{topic}'", url=f"'{receiver.url()}'"), database)
            until(lambda number=number: receiver.count(topic) == number, 20, lambda: relay.text)
        assert fetched() - before < 40 * 20000 / 3 + 20000 * (time.monotonic() - began), "each read reads all rows that wait"
        late.communicate("COMMIT;\n")
        until(lambda: receiver.count(topic) == 42, 40, lambda: relay.text)
        assert postgres.psql("SELECT count(*) FROM duepost_outbox", database) == "20000\n"


# ---- the role of the server ----

def numbers_of(server):
    """The numbers of the relay in this server, by the ends of their names."""
    text = server.get("/metrics").body.decode()
    return {name: float(value) for name, value in re.findall(r"^duepost_relay_(\w+) (.+)$", text, re.M)}


def test_the_server_is_its_own_relay(start, receiver, postgres, database, topic):
    server = start("--outbox", source(postgres, database))
    postgres.psql(insert(topic=f"'{topic}'", url=f"'{receiver.url()}'") + insert(topic="'a b'", url=f"'{receiver.url()}'")
                  + insert(topic=f"'{topic}'", job_id="'a/b'", action="'replace'", delay="'1 hour'", url=f"'{receiver.url()}'")
                  + insert(topic=f"'{topic}'", job_id="'none'", action="'cancel'"), database)
    until(lambda: receiver.count(topic) == 1, 10, "the delivery")
    until(lambda: is_empty(postgres, database), 10, "the rows are deleted")
    assert server.job(topic, "a%2Fb")["state"] == "delayed" and count_failed(postgres, database) == 1
    until(lambda: numbers_of(server).get("sent_total") == 3, 10, "the metrics")
    found = numbers_of(server)
    assert found["failed_total"] == found["up"] == found["active"] == 1 and found["stuck_total"] == 0
    assert found["oldest_seconds"] < 10 * SLOW and "outbox_row_failed" in server.log()
    overview = server.get("/overview").expect(200)["outbox"]
    assert (overview["isUp"], overview["isActive"], overview["sent"], overview["failed"]) == (True, True, 3, 1)
    assert "outbox ok" in run("top", "--once", "--server", server.url).stdout


def test_one_of_several_relays_works(start, receiver, postgres, database, topic, redis):
    """Two servers and a command. Whichever dies or ends, another takes over at once."""
    behind = redis()
    first, second = (start("--outbox", source(postgres, database), redis=behind) for _ in range(2))
    until(lambda: numbers_of(first)["active"] + numbers_of(second)["active"] == 1, 10, "one of them")
    active, other = (first, second) if numbers_of(first)["active"] else (second, first)
    with Relay(postgres, database, other) as relay:
        until(lambda: "another relay" in relay.text, 10, "the command waits, too")
        relay.kill()
        active.terminate()
        until(lambda: numbers_of(other)["active"] == 1, 10, "the other server")
        relay.start()
        until(lambda: relay.text.count("another relay") == 2, 10, "the command waits again")
        assert "outbox_standby" in other.log()
        third = start(redis=behind)
        relay.kill()
        relay.environment["DUEPOST_SERVER"] = third.url
        relay.start()
        other.kill()
        postgres.psql(insert(topic=f"'{topic}'", url=f"'{receiver.url()}'"), database)
        until(lambda: receiver.count(topic) == 1, 20, "the command takes over")


def test_the_role_needs_no_token_and_gives_no_access(start, receiver, postgres, database, topic):
    """With tokens, no token is needed for the role; the socket that it uses serves no other program."""
    tokens = TokenFile()
    token = tokens.add("root")
    server = start("--tokens", str(tokens.path), "--outbox", source(postgres, database), token=token)
    postgres.psql(insert(topic=f"'{topic}'", url=f"'{receiver.url()}'"), database)
    until(lambda: receiver.count(topic) == 1, 10, "the delivery")
    inodes = {os.readlink(f"/proc/{server.pid}/fd/{fd}")[8:-1] for fd in os.listdir(f"/proc/{server.pid}/fd")
              if os.readlink(f"/proc/{server.pid}/fd/{fd}").startswith("socket:")}
    names = {words[7] for words in (each.split() for each in pathlib.Path("/proc/net/unix").read_text().splitlines())
             if len(words) == 8 and words[6] in inodes and words[7].startswith("@")}
    assert len(names) == 1, names
    for head in "", "Authorization: Bearer x\r\n", f"Authorization: Bearer {token}\r\n":
        with socket.socket(socket.AF_UNIX) as link:
            link.connect("\0" + names.copy().pop()[1:])
            link.settimeout(10 * SLOW)
            link.sendall(f"GET /jobs?topic=a HTTP/1.1\r\nHost: localhost\r\n{head}\r\n".encode())
            assert link.recv(4096).startswith(b"HTTP/1.1 401 "), head


def test_a_database_that_hangs_delays_nothing(start, receiver, topic):
    """Frozen, the database answers nothing, and its sockets stay open. Jobs of the API are accepted and delivered, and the server ends in time."""
    behind = PostgresServer()
    with contextlib.ExitStack() as stack:
        stack.callback(behind.stop)
        behind.create(topic)
        assert relay_once(behind, topic, "--install").returncode == 0
        server = start("--outbox", source(behind, topic))
        until(lambda: numbers_of(server)["active"] == 1, 10, "the relay")
        behind.freeze()
        stack.callback(behind.thaw)
        for number in range(20):
            server.schedule(topic=topic, jobId=str(number), url=receiver.url())
        until(lambda: receiver.count(topic) == 20, 5, "the deliveries")
        assert server.terminate(15) == 0


def test_a_start_without_the_database_or_its_tables(start, receiver, topic):
    """The server starts, says what is missing, and sends the rows as soon as they are there."""
    behind = PostgresServer()
    with contextlib.ExitStack() as stack:
        stack.callback(behind.stop)
        behind.create(topic)
        behind.kill()
        server = start("--outbox", source(behind, topic))
        until(lambda: "outbox_away" in server.log(), 20, server.log)
        assert numbers_of(server)["up"] == 0
        behind.start()
        assert relay_once(behind, topic, "--install").returncode == 0
        behind.psql(insert(topic=f"'{topic}'", url=f"'{receiver.url()}'"), topic)
        until(lambda: receiver.count(topic) == 1, 30, server.log)
        until(lambda: "outbox_back" in server.log() and numbers_of(server)["up"] == 1, 10, server.log)


# ---- rows that the database itself refuses ----

def refusing(table, when):
    """A trigger that raises an error for the rows whose job_id is bad."""
    return f"""CREATE FUNCTION refuse_{table}() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN IF {when}.job_id = 'bad' THEN RAISE EXCEPTION 'never'; END IF; RETURN {when}; END $$;
        CREATE TRIGGER refuse BEFORE {'DELETE' if when == 'OLD' else 'INSERT'} ON {table} FOR EACH ROW EXECUTE FUNCTION refuse_{table}();"""


def test_a_row_that_cannot_be_deleted_stops_no_other(server, receiver, postgres, database, topic):
    """Nor is it sent again."""
    postgres.psql(refusing("duepost_outbox", "OLD") + insert(topic=f"'{topic}'", job_id="'bad'", action="'replace'", url=f"'{receiver.url()}'"), database)
    for number in range(5):
        postgres.psql(insert(topic=f"'{topic}'", job_id=f"'{number}'", url=f"'{receiver.url()}'"), database)
    with Relay(postgres, database, server) as relay:
        until(lambda: receiver.count(topic) == 6, 10, lambda: relay.text)
        postgres.psql(insert(topic=f"'{topic}'", job_id="'last'", url=f"'{receiver.url()}'"), database)
        until(lambda: receiver.count(topic, ) == 7, 10, lambda: relay.text)
        until(lambda: postgres.psql("SELECT job_id FROM duepost_outbox", database) == "bad\n", 10, "the others are deleted")
        watch(2, lambda: receiver.count(topic) == 7, "sent again")
        assert relay.text.count("the database refuses to delete it: PostgreSQL: never") == 1


def test_a_deletion_that_does_nothing_stops_no_other(server, receiver, postgres, database, topic):
    postgres.psql("CREATE RULE keep AS ON DELETE TO duepost_outbox WHERE OLD.job_id = 'bad' DO INSTEAD NOTHING;"
                  + insert(topic=f"'{topic}'", job_id="'bad'", action="'replace'", url=f"'{receiver.url()}'")
                  + insert(topic=f"'{topic}'", job_id="'good'", url=f"'{receiver.url()}'"), database)
    with Relay(postgres, database, server) as relay:
        until(lambda: "the row is still there" in relay.text and receiver.count(topic) == 2, 10, lambda: relay.text)
        watch(2, lambda: receiver.count(topic) == 2, "sent again")


def test_a_row_that_can_neither_fail_nor_become_a_job_stops_no_other(server, receiver, postgres, database, topic):
    postgres.psql(refusing("duepost_outbox_failed", "NEW") + insert(topic=f"'{topic}'", job_id="'bad'", priority="12", url=f"'{receiver.url()}'")
                  + insert(topic="'a b'", url=f"'{receiver.url()}'") + insert(topic=f"'{topic}'", job_id="'good'", url=f"'{receiver.url()}'"), database)
    with Relay(postgres, database, server) as relay:
        until(lambda: receiver.count(topic) == 1 and count_failed(postgres, database) == 1, 10, lambda: relay.text)
        until(lambda: postgres.psql("SELECT job_id FROM duepost_outbox", database) == "bad\n", 10, "the others are gone")
        watch(1.5, lambda: relay.text.count("which the database refuses: PostgreSQL: never") == 1, lambda: relay.text)


def test_rows_that_cannot_be_read_fail_alone(server, receiver, postgres, topic):
    """Invalid UTF-8, which a database with the encoding SQL_ASCII takes."""
    postgres.psql(f"CREATE DATABASE \"{topic}\" ENCODING 'SQL_ASCII' TEMPLATE template0", "postgres")
    assert relay_once(postgres, topic, "--install").returncode == 0
    postgres.psql(f"""INSERT INTO duepost_outbox (topic, job_id, url) SELECT '{topic}', CASE WHEN n % 100 = 50 THEN E'bad\\xff' ELSE '' END || n,
        '{receiver.url()}' FROM generate_series(1, 500) AS n""", topic)
    with Relay(postgres, topic, server) as relay:
        until(lambda: is_empty(postgres, topic), 20, lambda: relay.text)
        until(lambda: receiver.count(topic) == 495, 20, lambda: relay.text)
    assert count_failed(postgres, topic) == 5 and "invalid byte sequence" in relay.text
    assert postgres.psql("SELECT DISTINCT status IS NULL, error LIKE '%invalid byte sequence%' FROM duepost_outbox_failed", topic) == "t|t\n"


def test_columns_of_the_application_do_no_harm(server, postgres, database, topic):
    postgres.psql("ALTER TABLE duepost_outbox ADD COLUMN tenant text NOT NULL DEFAULT 'x'", database)
    postgres.psql(insert(topic="'a b'"), database)
    assert relay_once(postgres, database, "--until-empty", server=server).returncode == 0
    assert count_failed(postgres, database) == 1


# ---- everything dies ----

TRANSACTIONS = int(os.environ.get("DUEPOST_TEST_OUTBOX", "600"))
SEED = int(os.environ.get("DUEPOST_TEST_SEED", "1"))
SESSIONS = 6


class Sessions:
    """Applications that insert rows in transactions of their own, of which a third is rolled back and some are committed late, so that
    ids become visible out of their order. After a crash a session repeats its last transactions, unless they were committed."""

    def __init__(self, postgres, database, topic, url, chance):
        self.postgres, self.database, self.topic, self.url = postgres, database, topic, url
        self.seeds = [chance.random() for _ in range(SESSIONS)]
        self.threads = [threading.Thread(target=self._run, args=(number,), daemon=True) for number in range(SESSIONS)]
        postgres.psql("CREATE TABLE orders (number int PRIMARY KEY)", database)
        for thread in self.threads:
            thread.start()

    def _transaction(self, number, chance):
        sql = f"""BEGIN; WITH new AS (INSERT INTO orders VALUES ({number}) ON CONFLICT DO NOTHING RETURNING number)
            INSERT INTO duepost_outbox (topic, url, body) SELECT '{self.topic}', '{self.url}', to_jsonb(number) FROM new;"""
        if chance.random() < 0.1:
            sql += f"SELECT pg_sleep({chance.uniform(0.05, 0.6)});"
        return sql + ("ROLLBACK;" if number % 3 == 0 else "COMMIT;")

    def _run(self, session):
        chance = random.Random(self.seeds[session])
        numbers = list(range(session, TRANSACTIONS, SESSIONS))
        while numbers:
            some, numbers = numbers[:10], numbers[10:]
            sql = "\n".join(self._transaction(number, chance) for number in some)
            command = [self.postgres.programs / "psql", "--no-psqlrc", "-q", "-v", "ON_ERROR_STOP=1", source(self.postgres, self.database), "-f", "-"]
            while subprocess.run(command, input=sql, text=True, capture_output=True, check=False).returncode:
                time.sleep(0.1)

    def are_busy(self):
        return any(thread.is_alive() for thread in self.threads)


@pytest.mark.parametrize("form", ["command", "role", "both"])
def test_whatever_dies_each_committed_row_is_one_job(start, receiver, topic, data, form):
    """Kills of the relay, of duepost, of its Redis (fsync always) and of PostgreSQL, each in several ways, in random order and at random moments,
    while transactions are committed and rolled back: the jobs that were delivered are the rows that were committed, each exactly one job.
    DUEPOST_TEST_OUTBOX=10000 takes four to six minutes for each form."""
    print(f"DUEPOST_TEST_SEED={SEED} DUEPOST_TEST_OUTBOX={TRANSACTIONS}")
    chance, deaths = random.Random(f"{SEED} {form}"), collections.Counter()
    postgres = PostgresServer()
    with contextlib.ExitStack() as stack:
        stack.callback(postgres.stop)
        postgres.create(topic)
        assert relay_once(postgres, topic, "--install").returncode == 0
        options = () if form == "command" else ("--outbox", source(postgres, topic))
        servers = [start("--retry-schedule", "0.1 0.1 0.1 0.1 0.1", *options, data=data)]
        relay = stack.enter_context(Relay(postgres, topic, servers[0])) if form != "role" else None

        def server_dies():
            servers.append(restart(start, servers[-1], data, *options))

        def server_ends():
            servers[-1].terminate(30)
            servers.append(restart(start, servers[-1], data, *options))

        def redis_dies():
            for pid in servers[-1].redis_pids():
                processes.end(pid)

        def relay_dies():
            relay.kill()
            relay.start()

        def postgres_dies(how):
            def die():
                how()
                postgres.start()
            return die

        def session_of_relay_dies():
            postgres.crash_session("application_name = 'duepost outbox'")
            until(lambda: postgres.rows("SELECT 1"), 30, "PostgreSQL has recovered")

        def relay_loses_its_session():
            postgres.psql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'duepost outbox'", "postgres")

        ways = {"server killed": server_dies, "server ended": server_ends, "Redis killed": redis_dies, "PostgreSQL killed": postgres_dies(postgres.kill_all),
                "PostgreSQL stopped": postgres_dies(postgres.quit), "postmaster killed": postgres_dies(postgres.kill_postmaster),
                "session killed": session_of_relay_dies, "session ended": relay_loses_its_session}
        if relay:
            ways["relay killed"] = relay_dies
        sessions = Sessions(postgres, topic, topic, receiver.url(), chance)
        order = []
        while sessions.are_busy():
            time.sleep(chance.uniform(0.02, 0.5))
            if sum(deaths.values()) >= TRANSACTIONS // 300 * len(ways):
                continue
            order = order or chance.sample(sorted(ways), len(ways))
            way = order.pop()
            ways[way]()
            deaths[way] += 1
        until(lambda: is_empty(postgres, topic), 60, lambda: f"all rows are sent; {servers[-1].log()[-2000:]}")
        expected = {number for number in range(TRANSACTIONS) if number % 3}
        assert {int(number) for number in postgres.psql("SELECT number FROM orders", topic).split()} == expected
        until(lambda: len({arrival.body for arrival in receiver.of(topic)}) >= len(expected), 60, "all deliveries")
        watch(0.5, lambda: len({arrival.body for arrival in receiver.of(topic)}) == len(expected), "rows that were not committed")
        assert count_failed(postgres, topic) == 0
    jobs = collections.defaultdict(set)
    for arrival in receiver.of(topic):
        jobs[int(arrival.body)].add(arrival.headers["duepost-job-id"])
    assert set(jobs) == expected
    assert not [number for number, ids in jobs.items() if len(ids) > 1], "a row became two jobs"
    print(f"{form}: {TRANSACTIONS} transactions, {len(expected)} committed, {len(receiver.of(topic))} deliveries; {dict(deaths)}")
