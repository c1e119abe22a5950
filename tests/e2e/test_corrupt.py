"""Data in Redis that duepost did not write: it does not end the process or delay other jobs, every answer is valid,
and a job whose record cannot be read is listed as dead, with its id in the log."""

import concurrent.futures
import json
import os
import random
import subprocess

import pytest

import duepost
from duepost import Duepost
from patience import until
from pull import ask, make_pull
import scratch

KEYS = "duepost:{0}:"
HEAD = '{"createdAt":1700000000000,"url":"http://127.0.0.1:9/"'
MAX = str(2**63 - 1)

# Pairs of a text, which the test writes into Redis as a job's record, and a flag: whether duepost leaves the text
# there. The flag is True for valid records, and for the empty text, which duepost takes for a missing job.
RECORDS = [
    ("", True), ("x", False), ("{", False), ("[]", False), ("null", False), ("{}", False), ("\xff\xfe", False),
    (HEAD, False), (HEAD + ',"lastAttempt":{"at":' + MAX + '}}', False), (HEAD + ',"lastAttempt":{"durationMs":' + MAX + '}}', False),
    (HEAD + ',"lastAttempt":{"at":1,"status":-1}}', False), (HEAD + ',"attempts":' + MAX + '}', False), (HEAD + ',"waitMs":' + MAX + '}', False),
    ('{"createdAt":' + MAX + ',"url":"http://127.0.0.1:9/"}', False), ('{"createdAt":253402300799999,"url":"http://127.0.0.1:9/","ttl":315360000}', True),
    (HEAD + ',"headers":{"X":"a\\r\\nY: b"}}', False), (HEAD + ',"headers":{"Content-Length":"7"}}', False), (HEAD + ',"traceparent":"' + "0" * 55 + '"}', False),
    (HEAD + ',"retrySchedule":[],"retry":5,"attempts":1}', True), (HEAD + ',"body":"\\ud800"}', False), (HEAD + ',"body":"\\x"}', False),
    ('{"createdAt":1700000000000,"url":"nowhere"}', False), ('{"createdAt":1700000000000,"url":"http://[::1"}', False),
    (HEAD + ',"ttl":1.2.3}', False), (HEAD + ',"needs":{}}', False), (HEAD + ',"url":"http://127.0.0.1:9/"}', False), ("{" * 10000, False),
    (HEAD + ',"a":1' * 40 + ',"reason":"' + "r" * 5000 + '","body":' + "[" * 60 + "]" * 60 + "}", True),
]
SCORES = ["-1", "-1e300", "1e300", "inf", "-inf", "9223372036854775807", "0.5"]


@pytest.fixture
def behind(redis):
    return redis()


@pytest.fixture
def corrupt(behind):
    """Writes into Redis without duepost."""
    def write(command, key, *words):
        reply = behind.command(command, KEYS + key, *[word.encode("latin-1") if isinstance(word, str) else word for word in words])
        assert reply[:1] == b":", reply
    return write


def look(server, topic, job_id):
    """Sends every request that reads a job, and checks the answers against the contract."""
    server.get(f"/jobs/{topic}/{job_id}")
    server.get(f"/jobs/{topic}/{job_id}/why")
    server.get(f"/jobs/{topic}/{job_id}/attempts")


def look_at_lists(server, topic):
    for state in ("delayed", "ready", "dead", "leased"):
        for path in ("/jobs", "/jobs/count"):
            assert server.get(f"{path}?state={state}&topic={topic}").status == 200
    server.get("/topics?limit=1000").expect(200)
    server.get(f"/topics/{topic}").expect(200)
    assert server.get("/metrics").status == 200


def is_well(server, receiver, topic):
    server.schedule(topic=topic + ".well", jobId="w", url=receiver.url())
    until(lambda: receiver.count(topic + ".well") > 0, 20, "another job is delivered")
    assert server.process.poll() is None


def test_records(start, behind, corrupt, receiver, topic):
    server = start(redis=behind)
    for i in range(len(RECORDS)):
        server.schedule(topic=topic, jobId=str(i), url=receiver.url(), delay=1000)
    for i, (text, _) in enumerate(RECORDS):
        corrupt("HSET", "jobs", f"{topic}/{i}", text)
        look(server, topic, i)
        server.request("PATCH", f"/jobs/{topic}/{i}", '{"retry":1}', {"Content-Type": "application/json"})
        server.post({"topic": topic, "jobId": str(i), "url": receiver.url()})
        corrupt("HSET", "jobs", f"{topic}/{i}", text)
    look_at_lists(server, topic)
    unreadable = {str(i) for i, (_, is_record) in enumerate(RECORDS) if not is_record}
    for i in range(len(RECORDS)):
        server.run(topic, i)

    def left():
        return {i for i in unreadable if (server.job(topic, i) or {}).get("state") != "dead"}
    until(lambda: not left(), 20, lambda: f"{[(i, RECORDS[int(i)][0], server.job(topic, i)) for i in left()]} are not dead")
    for i in unreadable:
        assert f"job={topic}/{i}" in server.log(), i
        look(server, topic, i)
        server.run(topic, i)
    look_at_lists(server, topic)
    server.request("POST", f"/jobs/redrive?topic={topic}&all=true")
    is_well(server, receiver, topic)
    server.request("DELETE", f"/jobs?state=dead&topic={topic}&limit=1000")


def test_a_key_of_a_lease_is_not_used_up_by_unreadable_jobs(start, behind, corrupt, topic):
    server = start(redis=behind)
    make_pull(server, topic, paused=True)

    def damaged(job_id, delay=0):
        server.schedule(topic=topic, jobId=job_id, delay=delay)
        corrupt("HSET", "jobs", f"{topic}/{job_id}", "{")

    def leased(key, **body):
        return [job["jobId"] for job in ask(server, topic, {"Idempotency-Key": key}, **body).expect(200)["jobs"]]

    def pause(value):
        server.request("PATCH", f"/topics/{topic}", json.dumps({"paused": value}), {"Content-Type": "application/json"}).expect(200)

    for job_id in "012":
        damaged(job_id)
    server.schedule(topic=topic, jobId="3")
    pause(None)
    assert leased("k", max=2) == ["3"]
    assert leased("k", max=2) == ["3"]
    pause(True)
    damaged("4")
    pause(None)
    assert leased("l") == []
    server.schedule(topic=topic, jobId="5")
    assert leased("l") == ["5"]
    assert leased("l") == ["5"]
    damaged("6", delay=2)
    with concurrent.futures.ThreadPoolExecutor() as pool:
        waiting = pool.submit(leased, "m", wait=50)
        until(lambda: (server.job(topic, "6") or {}).get("state") == "dead", 20, "the waiting request met the damaged job")
        server.schedule(topic=topic, jobId="7")
        assert waiting.result() == ["7"]
    assert leased("m", wait=50) == ["7"]
    for job_id in "01246":
        until(lambda: (server.job(topic, job_id) or {}).get("state") == "dead", 10, f"{job_id} is dead")


def test_places(start, behind, corrupt, receiver, topic):
    server = start(redis=behind)
    for i, score in enumerate(SCORES):
        server.schedule(topic=topic, jobId=str(i), url=receiver.url(), delay=1000)
        corrupt("ZADD", f"bucket:{topic}", score, f"{topic}/{i}")
        look(server, topic, i)
        corrupt("ZADD", "due", score, f"{topic}.{i}")
    look_at_lists(server, topic)
    corrupt("HSET", "jobs", "no id", "{}")
    corrupt("HSET", "jobs", "/", HEAD + "}")
    corrupt("HSET", "jobs", "\xff/\xff", HEAD + "}")
    corrupt("ZADD", "leases", "1", "/x")
    corrupt("HSET", f"holders:{topic}", f"{topic}/5", "")
    corrupt("HSET", "crashes", f"{topic}/6", "")
    look_at_lists(server, topic)
    is_well(server, receiver, topic)
    for word in (b"no id", b"/", b"\xff/\xff"):
        until(lambda: "foreign " + word.decode(errors="replace") in server.log(), 20, f"{word} is removed")
        assert behind.command("HEXISTS", KEYS + "jobs", word) == b":0\r\n"
    is_well(server, receiver, topic + ".later")


@pytest.mark.parametrize("name", [b"\xff", b'a"b', b"a\nb"], ids=repr)
def test_no_answer_has_a_name_that_no_topic_has(start, behind, receiver, topic, name):
    """A consumer finds the damaged job before the janitor does. The job is dead then, and counts as one of another topic."""
    server = start(redis=behind)
    prefix, job_id = KEYS.encode(), name + b"/a"
    for words in ((b"ZADD", prefix + b"bucket:" + name, b"1", job_id), (b"HSET", prefix + b"jobs", job_id, (HEAD + "}").encode()),
                  (b"HINCRBY", prefix + b"numbers", b"waiting", b"1"), (b"ZADD", prefix + b"due", b"1", name)):
        assert behind.command(*words) == b":1\r\n"
    until(lambda: behind.command("HLEN", KEYS + "jobs") == b":0\r\n", 20, "the damaged job is gone")
    look_at_lists(server, topic)
    metrics = server.get("/metrics").body.decode()
    assert 'duepost_jobs_ended_total{topic="_other",how="dead"} 1' in metrics, [line for line in metrics.splitlines() if "ended" in line]
    is_well(server, receiver, topic)


def test_ended_jobs(start, behind, corrupt, receiver, topic):
    """Jobs that are kept after their end, and whose data are damaged, are shown as dead with the reason unreadable.
    They are removed like other jobs."""
    server = start(redis=behind)
    receiver.script(topic, 410)
    texts = ["", "x", "dead", "dead 1", "dead 1 1 99 {}", f"dead {MAX} 1 2 {{}}", "sold 1 1 2 {}x", "dead x 1 2 {}"]
    for i in range(len(texts)):
        server.schedule(topic=topic, jobId=str(i), url=receiver.url())
    until(lambda: server.get(f"/jobs/count?state=dead&topic={topic}").expect(200)["count"] == len(texts), 20, "all are dead")
    for i, text in enumerate(texts):
        corrupt("HSET", "kept", f"{topic}/{i}", text)
        look(server, topic, i)
        server.run(topic, i)
        server.request("PATCH", f"/jobs/{topic}/{i}", '{"retry":1}', {"Content-Type": "application/json"})
    corrupt("HSET", "kept", f"{topic}/unknown", "x")
    corrupt("HSET", "rates", topic, "nan")
    look_at_lists(server, topic)
    is_well(server, receiver, topic)
    server.request("POST", f"/jobs/redrive?topic={topic}&all=true")
    for i in range(len(texts)):
        server.cancel(topic, i)
    look_at_lists(server, topic)
    is_well(server, receiver, topic + ".later")


@pytest.mark.parametrize("text", ["x", "null", "[]", '{"paused":1}', '{"secrets":["whsec_"]}', '{"url":1}', '{"headers":{"a":"b\\r\\nc: d"}}', '{"rate":{}}',
                                  '{"maxInFlight":"1"}', "\xff", "{" * 100], ids=repr)
def test_settings(server_of_settings, corrupt, receiver, topic, text):
    server = server_of_settings
    corrupt("HSET", "topics", topic, text)
    server.schedule(topic=topic, jobId="a", url=receiver.url())
    look(server, topic, "a")
    look_at_lists(server, topic)
    is_well(server, receiver, topic)
    assert receiver.count(topic) == 0, "a job went out without the settings of its topic"
    assert server.request("PATCH", f"/topics/{topic}", "{}", {"Content-Type": "application/json"}).status == 409
    server.request("PUT", f"/topics/{topic}", '{"timeout":5}', {"Content-Type": "application/json"}).expect(200)
    until(lambda: receiver.count(topic) == 1, 20, "the topic's job is delivered after its settings were replaced")


@pytest.fixture
def server_of_settings(start, behind):
    return start(redis=behind)


RECEIVERS = ["", "x", " ".join([MAX] * 8) + " connect " + MAX, "0 1 1 1 1 1 0 1 \xff 1", "-1 -1", "1 " * 40, f"20 1 {MAX} 1 0 0 0 {MAX} 503 {MAX}"]


def test_receivers(start, behind, corrupt, receiver, topic):
    server = start(redis=behind)
    place = f"127.0.0.1:{receiver.port}"
    receiver.script(topic, 503, 503, 200)
    for i, text in enumerate(RECEIVERS):
        corrupt("HSET", "receivers", place, text)
        corrupt("HSET", "receivers", "version", MAX if i % 2 else "7")
        corrupt("ZADD", "reported", str(8 + i), place)
        assert server.get("/receivers").status == 200
        server.get(f"/receivers/{place}")
        server.schedule(topic=topic, jobId=str(i), url=receiver.url(), retrySchedule=[0.1])
        look(server, topic, i)
        server.request("POST", f"/receivers/{place}/close")
    assert server.process.poll() is None
    corrupt("DEL", "receivers")
    corrupt("DEL", "reported")
    is_well(server, receiver, topic)


# ---- lists ----

TOKENS = [b'"', b"\\", b"{", b"}", b"[", b"]", b",", b":", b"1e999", b"-", b".", b"\0", b"\xff", b"\n", b"nul", b"01", b"\\u0000", b"\\ud800", b"\xed\xa0\x80",
          b" ", b"9" * 30]


def damaged(dice, text):
    """Returns the text with one to four changes, half of them between the tokens of JSON."""
    text = bytearray(text)
    for _ in range(dice.choice((1, 1, 2, 4))):
        place = dice.randrange(len(text))
        text[place:place + dice.choice((0, 0, 1, 3))] = dice.choice((*TOKENS, bytes([dice.randrange(256)]), bytes(text[:5])))
    return bytes(text)


def strict(server, path):
    """Reads a path without the checks of the contract, which are for data that duepost wrote. The answer must be JSON (RFC 8259)."""
    def refuse(word):
        raise AssertionError(f"{path}: {word}")
    reply = server.request("GET", path, check=False)
    assert reply.status in (200, 404, 503), (path, reply.status, reply.body)
    json.loads(reply.body.decode(), parse_constant=refuse)


def test_lists_are_json_whatever_records_hold(start, behind):
    server, dice = start("--breaker", "off", "--history", f"sqlite:{scratch.file('history.sqlite')}", redis=behind), random.Random(5)
    job = {"topic": "t", "url": "http://127.0.0.1:9/", "body": {"a": [1, 2.5, "\u20ac"]}, "headers": {"X-A": "1"}, "labels": ["l"], "ttl": 7200,
           "onDead": {"url": "http://a/", "headers": {"A": "b"}}}
    ids = [str(number) for number in range(25)]
    for job_id in ids:
        server.schedule(**job, jobId=f"waits{job_id}", delay=3600)
        server.schedule(**job, jobId=f"dies{job_id}", retry=0)
    server.request("PUT", "/topics/t", '{"rate": {"jobs": 1000, "per": 1}, "headers": {"A": "b"}}', {"Content-Type": "application/json"}).expect(200)
    server.request("PUT", "/limits/l", '{"maxInFlight": 5, "rate": {"jobs": 1000, "per": 1}}', {"Content-Type": "application/json"}).expect(201)
    server.request("PUT", "/groups/g", '{"endpoints": {"a": {"url": "http://a/"}}}', {"Content-Type": "application/json"}).expect(201)
    server.request("PUT", "/schedules/t/s", '{"every": 3600, "job": {"url": "http://a/", "body": {"a": 1.50}}}', {"Content-Type": "application/json"}).expect(201)
    until(lambda: server.get("/jobs/count?state=dead").expect(200)["count"] == len(ids), 20, "the jobs without a receiver are dead")
    until(lambda: server.get("/jobs/count?state=any").expect(200)["count"] == len(ids), 20, "they are in the history")
    fields = [(key, field) for key, name in (("jobs", "waits"), ("kept", "dies"), ("attempts", "waits")) for field in (f"t/{name}{job_id}" for job_id in ids)]
    fields += [("topics", "t"), ("limits", "l"), ("groups", "g"), ("schedules", "t/s"), ("receivers", "127.0.0.1:9")]
    sound = {}
    for key, field in fields:
        reply = behind.command("HGET", KEYS + key, field)
        sound[key, field] = reply.split(b"\r\n", 1)[1][:-2] if not reply.startswith(b"$-1") else b"1 1 503 1 {}\n"
    lists = ["/jobs", "/jobs?state=dead", "/jobs?state=any", "/jobs?state=delayed&order=newest", "/jobs?label=l", "/topics", "/topics/t", "/topics?patterns=true",
             "/limits", "/limits/l", "/groups", "/groups/g", "/schedules", "/schedules/t/s", "/receivers", "/overview"]
    single = [f"/jobs/t/{name}{job_id}{suffix}" for name in ("waits", "dies") for job_id in ids[:5] for suffix in ("", "/why", "/attempts")]
    for number in range(5):
        for (key, field), text in sound.items():
            behind.command("HSET", KEYS + key, field, damaged(dice, text))
            if key == "kept":  # the outbox of the history, too
                behind.command("HSET", KEYS + "ended", f"{field}/{number}", damaged(dice, text))
                behind.command("RPUSH", KEYS + "ended_ids", f"{field}/{number}")
        behind.command("HSET", KEYS + "jobs", "t/waits0", (HEAD + ',"delay":3600,"body":[1e400,' + "9" * 30 + ',"\\u0000"]}').encode())
        for path in lists + single:
            strict(server, path)
        for words in (["jobs"], ["dead"], ["topics"], ["jobs", "--state", "any"]):
            for form in ([], ["--json"]) if number % 2 else ([],):
                done = subprocess.run([duepost.BINARY, *words, *form], env={**os.environ, "DUEPOST_SERVER": server.url}, capture_output=True, text=True, check=False)
                assert done.returncode == 0, done.stderr
    assert server.process.poll() is None
