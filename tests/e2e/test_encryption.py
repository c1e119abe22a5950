"""Encryption at rest: what a client or a receiver has sent is in no file, in no dump and in no export."""

import base64
import json
import pathlib
import re
import secrets
import sqlite3
import time

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
import pytest

from duepost import Duepost, run
from mongo_server import MongoServer, skip_without
from patience import until
from postgres_server import PostgresServer
from pull import end, lease_one, make_pull, name
from qstash import QStash, arrivals
from receiver import Answer
from runs import TAKEN, Run, encoded, step
from test_deferred import deferred
from test_export import export
from test_qstash_runs import call_webhook, wait
from test_schedules import ago
from tokens import TokenFile
import scratch

JSON = {"Content-Type": "application/json"}


def key_file(*keys):
    """Writes the keys into a file. Its inode changes with its content, as with any careful editor."""
    path = scratch.file("keys")
    write_keys(path, *keys)
    return path


def write_keys(path, *keys):
    path = pathlib.Path(path)
    fresh = path.with_suffix(".new")
    fresh.write_text("".join(key + "\n" for key in keys))
    fresh.chmod(0o600)
    fresh.rename(path)


def new_key():
    return secrets.token_hex(32)


def _decoded(run):
    return base64.b64decode(run[:len(run) // 4 * 4])


class Marks:
    """Texts that occur nowhere else. Each has a name, so that a failed test says what was found."""

    def __init__(self):
        self.by_name = {}

    def __call__(self, name):
        return self.by_name.setdefault(name, "mk" + secrets.token_hex(12))

    def found_in(self, blobs):
        """Returns the names of the marks in the blobs: plain, in hexadecimal, or in base64 at any place, also inside of base64."""
        blobs = list(blobs)
        inner = blobs
        for _ in range(3):  # a step's output is in its body, which is in an element
            inner = [_decoded(run) for blob in inner for run in re.findall(rb"[A-Za-z0-9+/]{32,}", blob)]
            blobs = blobs + inner
        found = set()
        for name, mark in self.by_name.items():
            text = mark.encode()
            forms = [text, text.hex().encode()]
            for offset in range(3):
                digits = base64.b64encode(b"x" * offset + text).rstrip(b"=")
                forms.append(digits[(offset * 8 + 5) // 6:-1])
            if any(form in blob for blob in blobs for form in forms):
                found.add(name)
        return found


def files_of(*folders):
    return [path.read_bytes() for folder in folders for path in sorted(pathlib.Path(folder).rglob("*"))
            if path.is_file() and not path.is_socket()]


def files_of_redis(redis):
    assert redis.command("CONFIG", "SET", "rdbcompression", "no") == b"+OK\r\n"
    redis.command("SAVE")
    return files_of(redis.directory)


# ---- something of everything ----

def put(server, kind, name, **members):
    reply = server.request("PUT", f"/{kind}/{name}", json.dumps(members), JSON)
    assert reply.status in (200, 201), reply.body


def jobs_with_secrets(server, receiver, mark, topic):
    """Jobs in each state, with a secret in each member that may have one."""
    put(server, "topics", topic, retention=3600, events=True, results=True, url=receiver.url(f"/t?{mark('query of a topic')}"),
        headers={"x-topic": mark("header of a topic")}, secrets=["whsec_" + base64.b64encode(mark("signing secret").encode().ljust(32)).decode()],
        onDead=receiver.url("/cb?" + mark("callback of a topic")),
        alerts=[{"on": "died", "url": receiver.url("/alert?" + mark("url of an alert"))}])
    put(server, "topics", "mk-*", headers={"x-all": mark("header of a pattern")})
    members = {"url": receiver.url(f"/j?{mark('query')}"), "headers": {"x-secret": mark("header")},
               "onDelivered": {"url": receiver.url(f"/cb?{mark('callback')}"), "headers": {"x-back": mark("header of a callback")}},
               "labels": [mark("label")]}
    receiver.script(topic, Answer(body=mark("answer").encode()), job_id="done")
    receiver.script(topic, Answer(500, body=mark("answer of a failure").encode()), job_id="dead")
    receiver.script(topic, Answer(500, body=b"\xff" + mark("binary answer").encode()), job_id="retried")
    server.schedule(topic=topic, jobId="waits", delay=3600, body={"text": mark("body")}, **members)
    server.schedule(topic=topic, jobId="bytes", delay=3600, bodyBase64=encoded(mark("bytes")))
    server.schedule(topic=topic, jobId="done", body=mark("body of a delivered job"), **members)
    server.schedule(topic=topic, jobId="dead", retry=0, body=mark("body of a dead job"))
    server.schedule(topic=topic, jobId="retried", retrySchedule=[3600], body=mark("body of a retried job"))
    server.wait_for_state(topic, "done", "delivered")
    server.wait_for_state(topic, "dead", "dead")
    until(lambda: server.job(topic, "retried")["attempts"] == 1, 10, "the first attempt")
    server.request("POST", "/jobs", json.dumps({"topic": topic, "delay": 3600, "body": mark("body with a key")}),
                   {**JSON, "Idempotency-Key": "k1"}).expect(201)
    put(server, "schedules", f"{topic}/each", every=3600, job={"url": receiver.url(f"/s?{mark('query of a schedule')}"), "body": mark("body of a schedule"),
                                                            "headers": {"x-each": mark("header of a schedule")}, "labels": [mark("label")]})
    server.request("POST", f"/schedules/{topic}/each/run").expect(202)
    put(server, "groups", topic, endpoints={"one": {"url": receiver.url(f"/g?{mark('query of an endpoint')}"), "headers": {"x-one": mark("header of an endpoint")}}})
    server.schedule(topic=topic, jobId="sent", group=topic, delay=3600, body=mark("body to a group"))


def attempts_of_workers(server, receiver, mark, topic):
    pull = f"{topic}-pull"
    make_pull(server, pull, retention=3600, events=True)
    for job_id in "ended", "under way":
        server.schedule(topic=pull, jobId=job_id, body=mark(f"body of a pulled job, {job_id}"))
        job = lease_one(server, pull)
        end(server, "extend", pull, name(job, lease=60, progress={"at": mark(f"progress, {job_id}")})).expect(200)
        if job_id == "ended":
            end(server, "complete", pull, name(job, result={"is": mark("result")})).expect(200)
    token = deferred(server, receiver, f"{topic}-later", body=mark("body of a deferred job"))
    end(server, "complete", f"{topic}-later", {"jobId": "a", "token": token, "result": mark("result of a deferred job")}).expect(200)


def messages_and_runs(server, receiver, mark, topic):
    server.publish(receiver.url(f"/{topic}-q?{mark('query of a message')}"), mark("body of a message"), Upstash_Delay="1h",
                   Upstash_Forward_Secret=mark("header of a message"), Upstash_Callback=receiver.url("/cb?" + mark("callback of a message")))
    receiver.script(f"/{topic}-run", TAKEN)
    made = Run(server, receiver, f"/{topic}-run", mark("payload of a run"))
    arrivals(receiver, made.path, 1)
    made.step(step(next(made.steps), mark("output of a step")))
    arrivals(receiver, made.path, 2)
    assert wait(made, "hook", stepType="WaitForWebhook").status == 200
    server.call("POST", f"notify/{made.id}/{topic}-event", mark("data of an event").encode()).expect(201)
    assert wait(made, "waits", stepName=mark("name of a wait")).status == 200
    assert call_webhook(server, made, "hook", mark("body of a webhook").encode()).status == 200
    return made


def everything(server, receiver, mark, topic):
    jobs_with_secrets(server, receiver, mark, topic)
    attempts_of_workers(server, receiver, mark, topic)
    return messages_and_runs(server, receiver, mark, topic)


LOOSE = {"label"}  # sealed with --encrypt-labels only


def test_no_secret_is_in_redis_its_files_or_an_export(redis, own, topic):
    """The same data without keys has all of them, so the search finds what there is."""
    topic = "mk-" + topic[-20:].replace(".", "")
    for keys in [], ["--encryption-keys", key_file(new_key()), "--encrypt-labels", "on"]:
        place, mark = redis(), Marks()
        database = scratch.file("history.sqlite")
        server = QStash(*keys, "--history", f"sqlite:{database}", redis=place)
        try:
            everything(server, own, mark, topic)
            exported = json.dumps(export(server)[0]).encode()
            until(lambda: sqlite3.connect(database).execute("SELECT count(*) FROM duepost_jobs").fetchone()[0] >= 3, 10, "the history")
        finally:
            server.stop()
        of_redis = files_of_redis(place)
        of_history = [path.read_bytes() for path in pathlib.Path(database).parent.glob(pathlib.Path(database).name + "*")]
        own.forget()
        found = {"redis": mark.found_in(of_redis), "export": mark.found_in([exported]), "history": mark.found_in(of_history)}
        assert not mark.found_in([server.log().encode()])
        if keys:
            assert found == {"redis": set(), "export": set(), "history": set()}
        else:
            assert set(mark.by_name) - found["redis"] == set()
            assert len(found["export"]) > 20 and {"answer", "body of a delivered job"} <= found["history"]


@pytest.fixture(scope="module", params=["postgresql", "mongodb"])
def database(request):
    if request.param == "mongodb":
        skip_without()
    started = PostgresServer() if request.param == "postgresql" else MongoServer()
    yield request.param, started
    started.stop()


def test_no_secret_is_in_other_databases(database, own, topic):
    kind, where = database
    mark = Marks()
    url = where.create("sealed") if kind == "postgresql" else where.url("sealed")
    server = Duepost("--breaker", "off", "--encryption-keys", key_file(new_key()), "--encrypt-labels", "on", "--history", url)

    def dump():
        if kind == "postgresql":
            return b"".join(where.psql(f"SELECT row_to_json(j) FROM {table} j", "sealed").encode() for table in ("duepost_jobs", "duepost_labels"))
        return repr(where.documents("sealed")).encode()
    try:
        jobs_with_secrets(server, own, mark, "mk-other")
        until(lambda: server.get("/history/stats").json.get("dead") or server.get("/jobs?topic=mk-other&state=delivered").json["jobs"], 20, "the history")
        until(lambda: b"dead" in dump(), 20, "the dead job")
        assert mark.found_in([dump()]) == set()
        # The history is read through the same server.
        job, = [one for one in server.get("/jobs?topic=mk-other&state=delivered&limit=10").expect(200)["jobs"] if one["jobId"] == "done"]
        assert job["body"] == mark("body of a delivered job")
    finally:
        server.stop()


# ---- an independent reader ----

def opened(sealed, owner, key):
    raw = base64.urlsafe_b64decode(sealed + "=" * (-len(sealed) % 4))
    assert raw[0] == 1
    salt, nonce, text = raw[5:37], b"\0" * 4 + raw[37:45], raw[45:]
    data_key = HKDF(hashes.SHA256(), 32, salt, b"duepost data key").derive(bytes.fromhex(key))
    return AESGCM(data_key).decrypt(nonce, text, owner.encode())


def test_another_implementation_opens_a_record(redis, start, topic):
    place, key = redis(), new_key()
    server = start("--encryption-keys", key_file(key), redis=place)
    server.schedule(topic=topic, jobId="a", url="http://127.0.0.1:9/x?q=1", delay=3600, body={"order": 1}, headers={"x-a": "1"})
    record = json.loads(place.command("HGET", "duepost:{0}:jobs", f"{topic}/a").split(b"\r\n", 1)[1].strip())
    assert record["url"] == "http://127.0.0.1:9/x" and record["needs"] == ["sealed"] and "body" not in record
    assert json.loads(opened(record["sealed"], f"{topic}/a", key)) == {
        "url": "http://127.0.0.1:9/x?q=1", "headers": {"x-a": "1"}, "body": {"order": 1}}
    for owner, other in (f"{topic}/b", key), (f"{topic}/a", new_key()):
        with pytest.raises(InvalidTag):
            opened(record["sealed"], owner, other)


# ---- keys ----

def test_jobs_of_both_kinds_are_delivered_before_and_after_the_key_comes(redis, start, own, topic):
    place = redis()
    plain = start(redis=place)
    plain.schedule(topic=topic, jobId="plain", url=own.url(), delay=3600, body="old")
    sealing = start("--encryption-keys", key_file(new_key()), redis=place)
    sealing.schedule(topic=topic, jobId="sealed", url=own.url(), delay=3600, body="new")
    assert sealing.job(topic, "plain")["body"] == "old" and sealing.job(topic, "sealed")["body"] == "new"
    plain.stop()
    for job_id in "plain", "sealed":
        sealing.run(topic, job_id).expect(202)
        sealing.wait_for_state(topic, job_id, None)
    assert sorted(a.body for a in own.of(topic)) == [b"new", b"old"]


def test_without_its_key_a_job_waits_and_is_never_buried(redis, start, own, topic):
    place, key = redis(), new_key()
    first = start("--encryption-keys", key_file(key), redis=place)
    first.schedule(topic=topic, jobId="a", url=own.url(), delay=2, retry=0, body="secret")
    first.stop()
    other = key_file(new_key())
    server = start("--encryption-keys", other, redis=place)
    until(lambda: "job_needs_encryption_key" in server.log(), 20, "the warning")
    assert own.count(topic) == 0 and server.get(f"/jobs/{topic}/a").status == 200
    why = server.get(f"/jobs/{topic}/a/why").expect(200)
    assert why["why"] == "encryption_key" and "--encryption-keys" in why["detail"]
    server.request("PATCH", f"/jobs/{topic}/a", '{"body":"x"}', {"Content-Type": "application/merge-patch+json"}).expect(409)
    write_keys(other, new_key(), key)
    server.reload()
    server.wait_for_state(topic, "a", None, 30)
    assert [(a.attempt, a.body) for a in own.of(topic)] == [(1, b"secret")]


def test_a_damaged_or_swapped_text_does_not_open(redis, start, own, topic):
    place = redis()
    server = start("--encryption-keys", key_file(new_key()), redis=place)
    for job_id in "a", "b":
        server.schedule(topic=topic, jobId=job_id, url=own.url(), delay=3600, body=f"body of {job_id}", headers={"x": job_id})
    record = place.command("HGET", "duepost:{0}:jobs", f"{topic}/a").split(b"\r\n", 1)[1].strip()
    place.command("HSET", "duepost:{0}:jobs", f"{topic}/b", record)
    server.run(topic, "b")
    until(lambda: (server.job(topic, "b") or {}).get("state") == "dead", 20, "its end")
    assert own.count(topic) == 0


def test_labels_that_are_encrypted_are_no_filter(start, topic):
    server = start("--encryption-keys", key_file(new_key()), "--encrypt-labels", "on")
    server.schedule(topic=topic, jobId="a", url="http://127.0.0.1:9/", delay=3600, labels=["red"])
    assert server.job(topic, "a")["labels"] == ["red"]
    refused = server.get(f"/jobs?topic={topic}&state=delayed&label=red").expect(400)
    assert "encrypt-labels" in json.dumps(refused)


@pytest.mark.parametrize("text, why", [("12\n", "64 hexadecimal digits"), ("", "it has no key"), ("ab" * 32 + "\n" + "AB" * 32, "line 2")])
def test_a_bad_file_is_refused(text, why):
    path = pathlib.Path(scratch.file("keys"))
    path.write_text(text)
    ended = run("--encryption-keys", str(path), "--redis", "redis://127.0.0.1:1")
    assert ended.returncode == 2 and why in ended.stderr and text.strip()[:8] not in ended.stderr.replace(why, "") or not text


def test_check_names_the_keys(redis, start, topic):
    place, key = redis(), new_key()
    server = start("--encryption-keys", key_file(key), redis=place)
    server.schedule(topic=topic, jobId="a", url="http://127.0.0.1:9/", delay=3600, body="secret")
    server.stop()

    def line(*options):
        ended = run("check", "--json", "--listen", "127.0.0.1:0", "--history", "off", "--redis", place.address, *options, seconds=40)
        return next((each["result"], each["text"]) for each in json.loads(ended.stdout)["checks"] if each["name"] == "encryption")
    result, text = line("--encryption-keys", key_file(key))
    assert result == "ok" and re.fullmatch(r"1 key in the file, [0-9a-f]{8} encrypts; each of 1 texts in Redis opens", text)
    name = text.split()[5]
    for result, text in line("--encryption-keys", key_file(new_key())), line():
        assert result == "FAIL" and name in text and "--encryption-keys" in text


# ---- schedules ----

@pytest.mark.parametrize("has_group, misfire, count", [(False, "all", 20), (True, "all", 20), (True, "one", 1)])
def test_missed_times_of_a_schedule_are_delivered(redis, start, own, topic, has_group, misfire, count):
    """Each occurrence is sealed for its own job, so one record does not do for all of them."""
    place, keys = redis(), key_file(new_key())
    first = start("--encryption-keys", keys, redis=place)
    put(first, "groups", topic, endpoints={"e": {"url": own.url(), "headers": {"x-e": "secret"}}})
    target = {"group": topic} if has_group else {"url": own.url()}
    put(first, "schedules", f"{topic}/a", every=10, startAt=ago(19995), grace=5, misfire=misfire, job={**target, "body": "secret"})
    first.stop()
    score = place.command("ZSCORE", "duepost:{0}:fires", f"{topic}/a").split(b"\r\n")[1]
    place.command("ZADD", "duepost:{0}:fires", str(int(float(score)) - 10000 * 20), f"{topic}/a")
    server = start("--encryption-keys", keys, redis=place)
    until(lambda: own.count(topic) >= count, 20, lambda: f"{own.count(topic)} of {count}: {server.log()[-400:]}")
    server.request("DELETE", f"/schedules/{topic}/a").expect(200)
    assert {a.body for a in own.of(topic)} == {b"secret"} and "job_dead" not in server.log()


@pytest.mark.parametrize("has_keys", [True, False])
def test_a_schedule_whose_key_is_missing_is_held(redis, start, own, topic, has_keys):
    """No job is made of a text that opens only as that of the definition."""
    place, key = redis(), new_key()
    first = start("--encryption-keys", key_file(key), redis=place)
    put(first, "schedules", f"{topic}/a", every=3600, startAt=ago(-3), job={"url": own.url(), "body": "secret", "retry": 0})
    first.stop()
    other = start(*(("--encryption-keys", key_file(new_key())) if has_keys else ()), redis=place)
    other.request("POST", f"/schedules/{topic}/a/run").expect(409)
    until(lambda: "schedule_unserved" in other.log(), 30, "the warning")
    other.stop()
    assert own.count(topic) == 0
    server = start("--encryption-keys", key_file(key), redis=place)
    until(lambda: own.count(topic) == 1, 40, lambda: server.log()[-400:])
    assert own.of(topic)[0].body == b"secret"


def test_a_history_without_bodies_keeps_the_other_secrets(start, own, topic):
    database = scratch.file("history.sqlite")
    server = start("--encryption-keys", key_file(new_key()), "--history", f"sqlite:{database}", "--history-bodies", "off")
    server.schedule(topic=topic, jobId="a", url=own.url("/x?q=1"), body="secret", headers={"x-a": "1"})
    until(lambda: own.count("/x") or own.arrivals, 10, "the delivery")
    job = until(lambda: next(iter(server.get(f"/jobs?topic={topic}&state=delivered").json["jobs"]), None), 15, "the row")
    assert job["headers"] == {"x-a": "***"} and job["url"].endswith("/x?***") and "body" not in job and job["bodyLeftOut"] is True


# ---- rekey ----

def rekey(server, expect=0):
    ended = run("rekey", "--server", server.url, seconds=60)
    assert ended.returncode == expect, ended.stderr
    return ended.stdout


def test_rekey_moves_all_data_to_the_first_key(redis, own, topic):
    """Afterwards the old key opens nothing, the data are the same as before, and jobs go on."""
    topic = "mk-" + topic[-20:].replace(".", "")
    place, mark, old, fresh = redis(), Marks(), new_key(), new_key()
    database = scratch.file("history.sqlite")
    plain = QStash("--history", f"sqlite:{database}", redis=place)
    jobs_with_secrets(plain, own, mark, topic)  # before there were keys
    plain.stop()
    keys = key_file(old)
    server = QStash("--history", f"sqlite:{database}", "--encryption-keys", keys, redis=place)

    def look():
        shown = [server.get(f"/jobs/{topic}/{job_id}").expect(200) for job_id in ("waits", "bytes", "done", "dead", "retried")]
        # the list from the history and the attempts
        shown += [server.get(f"/jobs/{topic}/dead/attempts").expect(200), server.get(f"/topics/{topic}").expect(200)["settings"]]
        return shown + [server.get(f"/schedules/{topic}/each").expect(200)["job"], server.get(f"/groups/{topic}").expect(200)]
    try:
        attempts_of_workers(server, own, mark, topic)
        made = messages_and_runs(server, own, mark, topic)
        before = look()
        write_keys(keys, fresh, old)
        server.reload()
        assert look() == before
        assert "encrypted with the first key" in rekey(server)
        assert ", 0 encrypted" in rekey(server)
        write_keys(keys, fresh)
        server.reload()
        assert look() == before
        server.request("POST", f"/schedules/{topic}/each/run").expect(202)  # its definition has a new tag
        server.run(topic, "waits").expect(202)
        server.wait_for_state(topic, "waits", "delivered")
        delivered, = [a for a in own.of(topic, "waits")]
        assert json.loads(delivered.body) == {"text": mark("body")} and delivered.headers["x-secret"] == mark("header")
        count = own.count(made.path)
        made.step(step(next(made.steps), "after"))
        until(lambda: own.count(made.path) > count, 15, "the next step")
        assert encoded(mark("payload of a run")) in own.of(made.path)[-1].body.decode()
    finally:
        server.stop()
    place.command("BGREWRITEAOF")
    until(lambda: b"aof_rewrite_in_progress:0" in place.command("INFO", "persistence") and b"aof_rewrite_scheduled:0" in place.command("INFO", "persistence"), 20, "the rewrite")
    # Plain text of before is in no live data; streams of events keep theirs for a week.
    with sqlite3.connect(database) as link:
        link.execute("VACUUM")
        link.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    assert mark.found_in(path.read_bytes() for path in pathlib.Path(database).parent.glob(pathlib.Path(database).name + "*")) <= LOOSE
    assert mark.found_in(files_of_redis(place)) <= LOOSE


def test_rekey_without_keys_and_with_a_missing_one(redis, start, topic):
    place, key = redis(), new_key()
    server = start("--encryption-keys", key_file(key), redis=place)
    server.schedule(topic=topic, jobId="a", url="http://127.0.0.1:9/", delay=3600, body="secret")
    other = start("--encryption-keys", key_file(new_key()), redis=place)
    assert other.request("POST", "/rekey").expect(200)["left"] == 1
    rekey(other, expect=3)
    without = start(redis=place)
    without.request("POST", "/rekey").expect(409)
    for cursor in "x", "0:0:x", "0:99:0", "9:0:0", "0:0:" + "1" * 80:
        server.request("POST", "/rekey?cursor=" + cursor).expect(400)
    assert server.job(topic, "a")["body"] == "secret"
    place.kill()
    until(lambda: server.request("POST", "/rekey").status == 503, 20, "503")


def test_rekey_disturbs_no_job_that_changes(redis, start, own, topic):
    """Jobs are delivered, retried and patched while the walk goes on, again and again, between two keys."""
    place, keys = redis(), [new_key(), new_key()]
    path = key_file(*keys)
    server = start("--encryption-keys", path, redis=place)
    own.script(topic, lambda a: 500 if a.attempt == 1 else 200)
    for i in range(400):
        server.schedule(topic=topic, jobId=str(i), url=own.url(), delay=i % 20 / 5, retrySchedule=[1], body=f"body {i}")
    deadline = time.monotonic() + 60
    while any(own.of(topic, str(i))[1:] == [] for i in range(400)):
        assert time.monotonic() < deadline
        keys.reverse()
        write_keys(path, *keys)
        server.reload()
        rekey(server)
    until(lambda: own.count(topic) == 800, 10, "all attempts")
    assert all(a.body == f"body {a.job_id}".encode() for a in own.of(topic))


def test_rekey_of_a_process_that_lacks_the_key_of_a_result_keeps_it(redis, start, topic):
    """The record and the result may have different keys, because they were written at different times."""
    place, old, fresh = redis(), new_key(), new_key()
    first = start("--encryption-keys", key_file(old), redis=place)
    make_pull(first, topic, retention=3600)
    first.schedule(topic=topic, jobId="a", body="secret")
    first.stop()
    both = start("--encryption-keys", key_file(fresh, old), redis=place)
    end(both, "complete", topic, name(lease_one(both, topic), result={"answer": 1})).expect(200)
    behind = start("--encryption-keys", key_file(old), redis=place)
    assert behind.request("POST", "/rekey").expect(200)["left"] == 1
    assert both.job(topic, "a")["result"] == {"answer": 1}
    report = both.request("POST", "/rekey").expect(200)
    assert (report["encrypted"], report["left"]) == (1, 0)
    only = start("--encryption-keys", key_file(fresh), redis=place)
    assert (only.job(topic, "a")["result"], only.job(topic, "a")["body"]) == ({"answer": 1}, "secret")


def test_rekey_seals_labels_of_before(redis, start, own, topic):
    place, keys = redis(), key_file(new_key())
    first = start("--encryption-keys", keys, redis=place)
    first.schedule(topic=topic, jobId="a", url=own.url(), delay=3600, body="secret", labels=["red"])
    first.stop()
    server = start("--encryption-keys", keys, "--encrypt-labels", "on", redis=place)
    assert [server.request("POST", "/rekey").expect(200)["encrypted"] for _ in range(2)] == [1, 0]
    assert b"red" not in place.command("HGET", "duepost:{0}:jobs", f"{topic}/a")
    assert server.job(topic, "a")["labels"] == ["red"]


# ---- workflows ----

def test_an_event_does_not_pass_by_a_wait_whose_key_is_missing(redis, own, topic):
    place, servers = redis(), []
    try:
        servers += [QStash("--encryption-keys", key_file(new_key()), redis=place), QStash("--encryption-keys", key_file(new_key()), redis=place)]
        server, other = servers
        own.script(f"/{topic}", TAKEN)
        made = Run(server, own, f"/{topic}")
        arrivals(own, made.path, 1)
        wait(made, topic).expect(200)
        assert other.call("POST", f"notify/{topic}", b"news").status == 503
        assert other.call("POST", f"notify/{made.id}/{topic}", b"news").status == 503
        told, = server.call("POST", f"notify/{topic}", b"news").expect(201)
        assert told["workflowRunId"] == made.id
    finally:
        for each in servers:
            each.stop()


def test_a_token_for_some_topics_does_not_remove_settings_that_may_name_a_limit(redis, start):
    """A process that lacks their key does not know whether they do."""
    place, tokens = redis(), TokenFile()
    tokens.add("all")
    tokens.add("bound", topics="mine-*")
    first, other = (start("--encryption-keys", key_file(new_key()), "--tokens", str(tokens.path), redis=place, token=tokens.texts["all"]) for _ in range(2))
    put(first, "limits", "shared", maxInFlight=1)
    put(first, "topics", "mine-a", limit="shared", headers={"x-a": "secret"})
    other.with_token(tokens.texts["bound"]).request("DELETE", "/topics/mine-a").expect(403)
    assert first.get("/topics/mine-a").expect(200)["settings"]["limit"] == "shared"
    other.request("DELETE", "/topics/mine-a").expect(200)


def rows(database):
    with sqlite3.connect(database) as link:
        has_table = link.execute("SELECT 1 FROM sqlite_master WHERE name = 'duepost_jobs'").fetchone()
        return [row[0] for row in link.execute("SELECT coalesce(body, '') || coalesce(rest, '') FROM duepost_jobs")] if has_table else []


def test_rekey_keeps_the_bodies_that_the_history_has(redis, start, own, topic):
    """Also if the option has been changed since then."""
    place, database, keys = redis(), scratch.file("history.sqlite"), key_file(new_key())
    plain = start("--history", f"sqlite:{database}", "--history-bodies", "on", redis=place)
    plain.schedule(topic=topic, jobId="a", url=own.url(), body="kept")
    until(lambda: rows(database) and re.search(rb"^duepost_outbox_jobs(\{.*\})? 0$", plain.get("/metrics").body, re.M), 5, "the history")
    plain.stop()
    server = start("--history", f"sqlite:{database}", "--history-bodies", "off", "--encryption-keys", keys, redis=place)
    rekey(server)
    assert ["kept" in row for row in rows(database)] == [False]
    assert server.get(f"/jobs/{topic}/a").expect(200)["body"] == "kept"
