"""Topics with the setting batch: one request delivers many jobs."""

import base64
import collections
import hashlib
import hmac
import json
import signal
import time

import pytest

from clock import MANUAL, ManualClock, attempts
from patience import SLOW, until
from receiver import CLOSE, HANG, Answer, Raw, Receiver
from timestamp import to_ms

JSON, MERGE = {"Content-Type": "application/json"}, {"Content-Type": "application/merge-patch+json"}
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


def put(server, topic, **settings):
    return server.request("PUT", f"/topics/{topic}", json.dumps(settings), JSON)


def patch(server, path, **members):
    return server.request("PATCH", path, json.dumps(members), MERGE)


def jobs_in(arrival):
    return json.loads(arrival.body)


def ids_in(arrival):
    return [job["jobId"] for job in jobs_in(arrival)]


def sizes(receiver, topic):
    return [len(jobs_in(arrival)) for arrival in receiver.of(topic)]


def schedule(server, topic, number, first=0, **members):
    """Schedules jobs in one request, so that all are due in the same millisecond."""
    jobs = [{"topic": topic, "jobId": f"{n:04}", "body": n, **members} for n in range(first, first + number)]
    return server.request("POST", "/jobs", json.dumps(jobs), JSON)


def by_id(decide):
    """An answer with a result for each job."""
    return lambda arrival: Answer(body=json.dumps({"results": [{"jobId": job["jobId"], **decide(job)} for job in jobs_in(arrival)]}).encode())


def poisoned(*ids):
    """500 for a request that has one of these jobs."""
    return lambda arrival: 500 if set(ids) & set(ids_in(arrival)) else 200


def state(server, topic, job_id):
    reply = server.get(f"/jobs/{topic}/{job_id}")
    return None if reply.status == 404 else reply.expect(200)["state"]


# ---- sizes and waits ----

def test_a_batch_waits_for_its_size_or_its_time(turned, receiver, topic):
    put(turned, topic, url=receiver.url(), batch={"size": 10, "wait": 5}).expect(200)
    start = turned.clock.now()
    schedule(turned, topic, 25)
    fired = turned.clock.settle()
    assert sizes(receiver, topic) == [10, 10] and len(attempts(fired, topic)) == 20
    assert turned.clock.advance(4.999) == [] and receiver.count(topic) == 2
    fired = turned.clock.advance(0.001)
    assert sizes(receiver, topic) == [10, 10, 5]
    assert {to_ms(one["at"]) - start for one in attempts(fired, topic)} <= {5000, 5001, 5002}
    assert sorted(job for arrival in receiver.of(topic) for job in ids_in(arrival)) == [f"{n:04}" for n in range(25)]


def test_the_job_that_makes_a_batch_whole_ends_its_wait(turned, receiver, topic):
    put(turned, topic, url=receiver.url(), batch={"size": 3, "wait": 60}).expect(200)
    for n in range(2):
        turned.schedule(topic=topic, jobId=f"{n}", body=n)
    turned.clock.advance(10)
    assert receiver.count(topic) == 0
    turned.schedule(topic=topic, jobId="2", body=2, delay=20)
    turned.clock.advance(19)
    assert receiver.count(topic) == 0
    fired = turned.clock.advance(1)
    assert len(attempts(fired, topic)) == 3 and sizes(receiver, topic) == [3]


@pytest.mark.parametrize("size", [1, 64, 100])
def test_batches_of_any_size_are_whole(turned, receiver, topic, size):
    put(turned, topic, url=receiver.url(), batch={"size": size, "wait": 30}).expect(200)
    schedule(turned, topic, 200)
    turned.clock.advance(30)
    assert sum(sizes(receiver, topic)) == 200
    assert sorted(sizes(receiver, topic)) == sorted([size] * (200 // size) + [200 % size] * (200 % size > 0))


def test_without_a_wait_a_request_has_what_is_due(turned, receiver, topic):
    put(turned, topic, url=receiver.url(), batch={"size": 100}).expect(200)
    schedule(turned, topic, 7, delay=10)
    schedule(turned, topic, 3, first=7, delay=10.5)
    turned.clock.advance(20)
    assert sizes(receiver, topic) == [7, 3]


def test_a_batch_in_real_time(server, receiver, topic):
    put(server, topic, url=receiver.url(), batch={"size": 50, "wait": 1}).expect(200)
    begin = time.time()
    schedule(server, topic, 60)
    until(lambda: receiver.count(topic) == 1, 5, "the whole batch")
    assert sizes(receiver, topic) == [50]
    until(lambda: receiver.count(topic) == 2, 10, "the rest")
    assert sizes(receiver, topic) == [50, 10] and 1 <= receiver.of(topic)[1].at_ms / 1000 - begin < 1 + SLOW


def test_delayed_jobs_wait_for_each_other(server, receiver, topic):
    put(server, topic, url=receiver.url(), batch={"size": 100, "wait": 2}).expect(200)
    for n in range(6):
        server.schedule(topic=topic, jobId=f"{n}", delay=1 + n / 10)
    until(lambda: sum(sizes(receiver, topic)) == 6, 10 * SLOW, lambda: sizes(receiver, topic))
    assert sizes(receiver, topic) == [6]


def test_a_batch_has_no_more_bytes_than_allowed(turned, receiver, topic):
    put(turned, topic, url=receiver.url(), batch={"size": 100, "wait": 1, "maxBytes": 10000}).expect(200)
    for n in range(9):
        turned.schedule(topic=topic, jobId=f"{n}", body="x" * 3000)
    turned.schedule(topic=topic, jobId="long", body="x" * 20000)
    turned.clock.advance(2)
    assert sum(sizes(receiver, topic)) == 10
    for arrival in receiver.of(topic):
        assert len(arrival.body) <= 10000 + 100 or ids_in(arrival) == ["long"]


# ---- what is not mixed ----

def test_keys_topics_and_urls_are_not_mixed(turned, receiver, topic):
    for name in (topic, topic + ".b"):
        put(turned, name, url=receiver.url(), batch={"size": 5, "wait": 3}).expect(200)
    jobs = [{"topic": name, "jobId": f"{key}{n}", "key": key, "body": n} for n in range(7) for name in (topic, topic + ".b") for key in ("acme", "blue", "cyan")]
    jobs += [{"topic": topic, "jobId": f"none{n}"} for n in range(6)]
    jobs += [{"topic": topic, "jobId": f"url{n}", "url": receiver.url("/own")} for n in range(2)]
    jobs += [{"topic": topic, "jobId": "headers", "headers": {"X-A": "b"}}, {"topic": topic, "jobId": "timeout", "timeout": 3}]
    turned.request("POST", "/jobs", json.dumps(jobs), JSON).expect(207)
    turned.clock.advance(3)
    turned.clock.advance(3)
    arrivals = receiver.of(topic)
    for arrival in arrivals + receiver.of(topic + ".b"):
        found = jobs_in(arrival)
        assert len({job.get("key") for job in found}) == 1 and {job["topic"] for job in found} == {arrival.topic}
        assert arrival.headers["duepost-batch"] == str(len(found)) and len(found) <= 5
        if found[0]["jobId"][:3] in ("url", "hea", "tim"):
            assert len(found) == 1
        assert (arrival.target == "/own") == found[0]["jobId"].startswith("url")
    assert sum(sizes(receiver, topic)) == 31 and sum(sizes(receiver, topic + ".b")) == 21
    per_key = collections.Counter((jobs_in(a)[0].get("key"), len(jobs_in(a))) for a in receiver.of(topic + ".b"))
    assert per_key == {(key, size): 1 for key in ("acme", "blue", "cyan") for size in (5, 2)}


def test_each_key_waits_for_itself(turned, receiver, topic):
    put(turned, topic, url=receiver.url(), batch={"size": 3, "wait": 10}).expect(200)
    for n in range(2):
        turned.schedule(topic=topic, jobId=f"a{n}", key="a")
    turned.clock.advance(4)
    for n in range(3):
        turned.schedule(topic=topic, jobId=f"b{n}", key="b")
    turned.schedule(topic=topic, jobId="none")
    turned.clock.settle()
    assert [ids_in(arrival) for arrival in receiver.of(topic)] == [["b0", "b1", "b2"]]
    why = turned.get(f"/jobs/{topic}/a0/why").expect(200)
    assert why["why"] == "batch" and abs(to_ms(why["until"]) - turned.clock.now() - 6000) <= 10
    assert turned.get(f"/jobs/{topic}/none/why").expect(200)["why"] == "batch"
    assert turned.get(f"/topics/{topic}/keys/a").expect(200)["heldBy"] == "batch"
    turned.clock.advance(6)
    assert [ids_in(arrival) for arrival in receiver.of(topic)[1:]] == [["a0", "a1"]]
    turned.clock.advance(4)
    assert ids_in(receiver.of(topic)[-1]) == ["none"]


def test_jobs_of_other_methods_go_as_always(turned, receiver, topic):
    put(turned, topic, url=receiver.url(), batch={"size": 3}).expect(200)
    turned.schedule(topic=topic, jobId="put", method="PUT", body={"a": 1})
    turned.clock.settle()
    arrival, = receiver.of(topic)
    assert arrival.method == "PUT" and json.loads(arrival.body) == {"a": 1} and arrival.job_id == "put" and "duepost-batch" not in arrival.headers


# ---- the body and its signature ----

def test_bodies_of_all_kinds(turned, receiver, topic):
    put(turned, topic, url=receiver.url(), batch={"size": 10, "wait": 1}, secrets=[SECRET]).expect(200)
    raw = bytes(range(256))
    turned.schedule(topic=topic, jobId="a", body={"x": [1, "é"]}, labels=["l1", "l2"])
    turned.schedule(topic=topic, jobId="b", bodyBase64=base64.b64encode(raw).decode())
    turned.schedule(topic=topic, jobId="c", body="NUL \0 and \"quotes\"\n")
    turned.schedule(topic=topic, jobId="d")
    turned.schedule(topic=topic, jobId='e"\\é', body=None)
    turned.schedule(topic=topic, jobId="f", body="")
    turned.clock.advance(1)
    arrival, = receiver.of(topic)
    found = {job["jobId"]: job for job in jobs_in(arrival)}
    assert set(found) == {"a", "b", "c", "d", 'e"\\é', "f"}
    assert found["a"] == {"jobId": "a", "topic": topic, "attempt": 1, "labels": ["l1", "l2"], "body": {"x": [1, "é"]}}
    assert base64.b64decode(found["b"]["bodyBase64"]) == raw and "body" not in found["b"]
    assert found["c"]["body"] == "NUL \0 and \"quotes\"\n"
    assert found["d"] == {"jobId": "d", "topic": topic, "attempt": 1}
    headers = arrival.headers
    assert headers["content-type"] == "application/json" and headers["duepost-batch"] == "6"
    assert "duepost-job-id" not in headers and "duepost-attempt" not in headers
    content = b"%s.%s." % (headers["webhook-id"].encode(), headers["webhook-timestamp"].encode()) + arrival.body
    expected = base64.b64encode(hmac.digest(base64.b64decode(SECRET.removeprefix("whsec_")), content, hashlib.sha256)).decode()
    assert headers["webhook-signature"] == "v1," + expected


def test_each_request_has_a_webhook_id_of_its_own(turned, receiver, topic):
    """Several batches may come from one claim."""
    put(turned, topic, url=receiver.url(), batch={"size": 7}, secrets=[SECRET]).expect(200)
    schedule(turned, topic, 70)
    turned.clock.settle()
    ids = [arrival.headers["webhook-id"] for arrival in receiver.of(topic)]
    assert len(ids) == 10 and len(set(ids)) == 10 and all(one.startswith("msg_") for one in ids)


# ---- results ----

def test_each_job_gets_its_own_result(turned, receiver, topic):
    put(turned, topic, url=receiver.url(), batch={"size": 10, "wait": 1}, retrySchedule=[600]).expect(200)
    results = {"0000": {"ok": True}, "0001": {"ok": False}, "0002": {"retry": "1h"}, "0003": {"bury": "no such user"}, "0004": {"retry": 30}}
    receiver.script(topic, lambda arrival: Answer(body=json.dumps({"results": [
        {"jobId": "unknown", "ok": True}, *({"jobId": name, **result} for name, result in results.items()), {"jobId": "0001", "ok": True}]}).encode()))
    schedule(turned, topic, 6)
    fired = turned.clock.advance(1)
    outcomes = {one["jobId"]: one["outcome"] for one in attempts(fired, topic)}
    assert outcomes == {"0000": "delivered", "0001": "retry", "0002": "retry", "0003": "dead", "0004": "retry", "0005": "retry"}
    now = turned.clock.now()
    waits = {name: round((to_ms(turned.job(topic, name)["dueAt"]) - now) / 1000) for name in ("0001", "0002", "0004", "0005")}
    assert waits == {"0001": 600, "0002": 3600, "0004": 30, "0005": 600}
    dead = turned.job(topic, "0003")
    assert dead["state"] == "dead" and "no such user" in json.dumps(dead["lastAttempt"])
    left_out = turned.job(topic, "0005")["lastAttempt"]
    assert left_out["error"] == "worker" and "leave this job out" in json.dumps(left_out)
    receiver.script(topic, 200)
    turned.clock.advance("2h")
    assert all(state(turned, topic, name) is None for name in ("0001", "0002", "0004", "0005"))


HOSTILE = {
    "nothing": (b"", "delivered"),
    "not json": (b"thank you", "delivered"),
    "an array": (b'[{"jobId":"0000","ok":false}]', "delivered"),
    "results of a wrong type": (b'{"results":{"0000":true}}', "delivered"),
    "results that are null": (b'{"results":null}', "delivered"),
    "no results": (b'{"results":[]}', "retry"),
    "wrong types": (b'{"results":[1,null,"0000",{"jobId":0},{"jobId":"0000","ok":1}]}', "retry"),
    "cut": (b'{"results":[{"jobId":"0000","ok":tr', "retry"),
    "10 MB of garbage": (b"x" * 10_000_000, "delivered"),
    "10 MB of results": (b'{"results":[' + b'{"jobId":"other","ok":true},' * 400_000 + b'{"jobId":"0000","ok":true}]}', "retry"),
    "deep": (b'{"results":' + b"[" * 50_000, "retry"),
    "unknown and twice": (b'{"results":[{"jobId":"x","ok":false},{"jobId":"0000","ok":true},{"jobId":"0000","bury":"no"}]}', "delivered"),
    "escaped": (b'{"results":[{"jobId":"\\u0030000","ok":true}]}', "delivered"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_results_that_nobody_should_send(turned, receiver, topic, name):
    body, outcome = HOSTILE[name]
    put(turned, topic, url=receiver.url(), batch={"size": 10}, retrySchedule=[60]).expect(200)
    receiver.script(topic, Answer(body=body), 200)
    schedule(turned, topic, 1)
    fired = turned.clock.settle()
    assert [one["outcome"] for one in attempts(fired, topic)] == [outcome]
    turned.clock.advance(120)
    assert state(turned, topic, "0000") is None


def test_results_after_64_kib_do_not_count(turned, receiver, topic):
    put(turned, topic, url=receiver.url(), batch={"size": 2, "wait": 1}, retrySchedule=[60]).expect(200)
    body = b'{"results":[{"jobId":"0000","ok":true},{"jobId":"0001","bury":"' + b"x" * 70_000 + b'"}]}'
    receiver.script(topic, Answer(body=body), 200)
    schedule(turned, topic, 2)
    fired = turned.clock.advance(1)
    assert {one["jobId"]: one["outcome"] for one in attempts(fired, topic)} == {"0000": "delivered", "0001": "retry"}
    assert "64 KiB" in json.dumps(turned.job(topic, "0001")["lastAttempt"])
    turned.clock.advance(120)


HEAD = b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n"


@pytest.mark.parametrize("raw, outcome", [
    (Raw((HEAD + b'{"resul',)), "retry"), (Raw((HEAD,)), "retry"), (Raw((HEAD + b' {"results":[',)), "retry"),
    (Raw((HEAD + b'{"re',), close=False), "retry"), (Raw((HEAD + b"ok",)), "delivered")], ids=range(5))
def test_results_that_may_be_lost_with_the_connection(turned, receiver, topic, raw, outcome):
    put(turned, topic, url=receiver.url(), batch={"size": 2, "wait": 1}, retrySchedule=[60]).expect(200)
    receiver.script(topic, raw, 200)
    schedule(turned, topic, 2)
    fired = turned.clock.advance(1)
    assert [one["outcome"] for one in attempts(fired, topic)] == [outcome] * 2
    turned.clock.advance(120)
    assert state(turned, topic, "0000") is None and sizes(receiver, topic)[0] == 2


# ---- failures ----

def test_one_poisoned_job_does_not_stop_the_others(turned, receiver, topic):
    put(turned, topic, url=receiver.url(), batch={"size": 100, "wait": 1}, retrySchedule=[10, 10]).expect(200)
    receiver.script(topic, poisoned("0042"))
    schedule(turned, topic, 100)
    fired = turned.clock.advance(60)
    assert sizes(receiver, topic)[0] == 100 and set(sizes(receiver, topic)[1:]) == {1}
    outcomes = collections.Counter(one["outcome"] for one in attempts(fired, topic))
    assert outcomes["delivered"] == 99 and outcomes["dead"] == 1
    dead = turned.job(topic, "0042")
    assert dead["state"] == "dead" and dead["attempts"] == 3 and dead["lastAttempt"]["status"] == 500
    turned.run(topic, "0042")
    receiver.script(topic, 200)
    turned.clock.advance(60)
    assert state(turned, topic, "0042") is None


def test_a_lost_connection_does_not_split_a_batch(turned, receiver, topic):
    put(turned, topic, url=receiver.url(), batch={"size": 5, "wait": 1}, retrySchedule=[10]).expect(200)
    receiver.script(topic, CLOSE, CLOSE, 200)
    schedule(turned, topic, 5)
    turned.clock.advance(60)
    assert set(sizes(receiver, topic)) == {5}
    assert state(turned, topic, "0000") is None


def test_410_buries_all(turned, receiver, topic):
    put(turned, topic, url=receiver.url(), batch={"size": 5, "wait": 1}).expect(200)
    receiver.script(topic, 410)
    schedule(turned, topic, 5)
    turned.clock.advance(1)
    assert [turned.job(topic, f"{n:04}")["reason"] for n in range(5)] == ["gone"] * 5
    receiver.script(topic, 200)
    receiver.forget()
    reply = turned.request("POST", "/runs", json.dumps({"topic": topic, "state": "dead"}), JSON)
    if reply.status == 404:  # dead jobs are run one by one
        for n in range(5):
            turned.run(topic, f"{n:04}")
    turned.clock.advance(10)
    assert sum(sizes(receiver, topic)) == 5


def test_a_batch_is_one_request_for_the_breaker(start, topic):
    receiver = Receiver()
    server = start(*MANUAL, "--reactors", "1", "--breaker-wait", "10s", "--retry-schedule", "1h")
    clock = ManualClock(server)
    put(server, topic, url=receiver.url(), batch={"size": 10, "wait": 1}).expect(200)
    receiver.script(topic, 503)
    for batch in range(19):
        schedule(server, topic, 10, first=10 * batch)
        clock.advance(1)
    assert sizes(receiver, topic) == [10] * 19
    assert not any(one.get("state") == "open" for one in server.get("/receivers").expect(200)["receivers"])
    schedule(server, topic, 10, first=190)
    clock.advance(1)
    schedule(server, topic, 10, first=200)
    clock.advance(2)
    assert sizes(receiver, topic) == [10] * 20, "the breaker is open"
    receiver.script(topic, 200)
    clock.advance(60)
    assert sizes(receiver, topic)[20:] == [10], "held jobs come back together"
    receiver.stop()


# ---- limits ----

def test_limits_and_rates_count_jobs(turned, receiver, topic):
    put(turned, topic, url=receiver.url(), batch={"size": 5, "wait": 1}, rate={"jobs": 10, "per": 60, "window": True}).expect(200)
    schedule(turned, topic, 30)
    turned.clock.settle()
    assert sum(sizes(receiver, topic)) == 10
    turned.clock.advance(60)
    assert sum(sizes(receiver, topic)) == 20
    turned.clock.advance(120)
    assert sum(sizes(receiver, topic)) == 30 and max(sizes(receiver, topic)) == 5


def test_max_in_flight_counts_jobs(server, receiver, topic):
    put(server, topic, url=receiver.url(), batch={"size": 5}, maxInFlight=10).expect(200)
    receiver.script(topic, Answer(delay=0.5))
    schedule(server, topic, 30)
    most = 0
    until_end = time.monotonic() + 30 * SLOW
    while sum(sizes(receiver, topic)) < 30 and time.monotonic() < until_end:
        most = max(most, server.get(f"/topics/{topic}").expect(200)["jobs"]["leased"])
    assert 5 <= most <= 10 and sum(sizes(receiver, topic)) == 30


def test_a_shared_limit_counts_jobs(server, receiver, topic):
    server.request("PUT", f"/limits/{topic}", json.dumps({"maxInFlight": 10}), JSON).expect(201)
    put(server, topic, url=receiver.url(), batch={"size": 5}, limit=topic).expect(200)
    receiver.script(topic, Answer(delay=0.3))
    schedule(server, topic, 30)
    most, end = 0, time.monotonic() + 30 * SLOW
    while sum(sizes(receiver, topic)) < 30 and time.monotonic() < end:
        most = max(most, server.get(f"/limits/{topic}").expect(200)["inFlight"])
    assert 5 <= most <= 10 and sum(sizes(receiver, topic)) == 30


# ---- expiry and callbacks ----

def test_what_expires_while_it_waits_is_not_sent(turned, receiver, topic):
    put(turned, topic, url=receiver.url(), batch={"size": 5, "wait": 10}).expect(200)
    turned.schedule(topic=topic, jobId="short", ttl=5)
    turned.schedule(topic=topic, jobId="long", ttl=50)
    fired = turned.clock.advance(10)
    assert [ids_in(arrival) for arrival in receiver.of(topic)] == [["long"]]
    assert ("short", "expired") in [(one["jobId"], one["event"]) for one in fired]


def test_each_job_has_its_callbacks(turned, receiver, topic):
    put(turned, topic, url=receiver.url(), batch={"size": 5, "wait": 1}, retrySchedule=[],
        onAttempt=receiver.url("/onAttempt"), onDelivered=receiver.url("/onDelivered"), onDead=receiver.url("/onDead")).expect(200)
    receiver.script(topic, by_id(lambda job: {"bury": "no"} if job["jobId"] == "0001" else {"ok": True}))
    schedule(turned, topic, 3)
    turned.clock.advance(1)
    turned.clock.settle()
    found = sorted((json.loads(a.body)["callback"], json.loads(a.body)["jobId"]) for a in receiver.of(f"{topic}~callbacks"))
    assert found == sorted([("onAttempt", f"{n:04}") for n in range(3)] + [("onDead", "0001"), ("onDelivered", "0000"), ("onDelivered", "0002")])


# ---- changes while a batch waits ----

def test_cancel_and_change_while_a_batch_waits(turned, receiver, topic):
    put(turned, topic, url=receiver.url(), batch={"size": 5, "wait": 60}).expect(200)
    schedule(turned, topic, 4)
    turned.clock.settle()
    assert turned.get(f"/topics/{topic}").expect(200)["heldBy"] == "batch"
    why = turned.get(f"/jobs/{topic}/0000/why").expect(200)
    assert why["why"] == "batch" and abs(to_ms(why["until"]) - turned.clock.now() - 60000) <= 10
    turned.cancel(topic, "0000")
    assert patch(turned, f"/jobs/{topic}/0001", body="changed").status == 200
    assert patch(turned, f"/topics/{topic}", batch={"size": 3, "wait": 60}).status == 200
    turned.clock.settle()
    assert sorted((job["jobId"], job["body"]) for job in jobs_in(receiver.of(topic)[0])) == [("0001", "changed"), ("0002", 2), ("0003", 3)]


@pytest.mark.parametrize("key", ["", "k"])
def test_a_topic_that_stops_batching_lets_its_jobs_go(turned, receiver, topic, key):
    put(turned, topic, url=receiver.url(), batch={"size": 5, "wait": 60}).expect(200)
    schedule(turned, topic, 2, **({"key": key} if key else {}))
    turned.clock.settle()
    assert receiver.count(topic) == 0
    assert patch(turned, f"/topics/{topic}", batch=None).status == 200
    turned.clock.settle()
    assert sorted(arrival.job_id for arrival in receiver.of(topic)) == ["0000", "0001"]


@pytest.mark.parametrize("settings, words", [
    ({"batch": {"size": 5}, "order": "fifo"}, "order"),
    ({"batch": {"size": 5}, "delivery": "pull"}, "delivery"),
    ({"batch": {"size": 5}, "priorityAge": 60}, "priorityAge"),
    ({"batch": {"size": 5}, "retryPriority": 3}, "retryPriority"),
    ({"batch": {"size": 5}, "perKey": {"order": "fifo"}}, "perKey.order"),
    ({"batch": {"size": 5}, "maxInFlight": 4}, "maxInFlight"),
    ({"batch": {"size": 5}, "rate": {"jobs": 9, "per": 1, "burst": 4}}, "rate.burst"),
    ({"batch": {"size": 5}, "rate": {"jobs": 4, "per": 1, "window": True}}, "rate.jobs"),
    ({"batch": {"size": 5}, "perKey": {"maxInFlight": 4}}, "perKey.maxInFlight"),
    ({"batch": {"size": 5}, "perKey": {"rate": {"jobs": 9, "per": 1}}}, "perKey.rate.burst"),
    ({"batch": {"size": 0}}, "batch.size"),
    ({"batch": {"size": 101}}, "batch.size"),
    ({"batch": {"wait": 1}}, "batch.size"),
    ({"batch": {"size": 2, "wait": 61}}, "batch.wait"),
    ({"batch": {"size": 2, "maxBytes": 1023}}, "batch.maxBytes"),
    ({"batch": {"size": 2, "maxBytes": 4194305}}, "batch.maxBytes"),
    ({"batch": {"size": 2, "other": 1}}, "batch.other"),
])
def test_settings_that_are_refused(server, topic, settings, words):
    reply = server.request("PUT", f"/topics/{topic}", json.dumps(settings), JSON)
    assert reply.status == 400 and words in reply.body.decode(), reply.body


# ---- what a batch leaves behind ----

def test_attempts_are_shown_as_for_other_jobs(turned, receiver, topic):
    put(turned, topic, url=receiver.url(), batch={"size": 2, "wait": 1}, retention=3600, retrySchedule=[10, 10]).expect(200)
    receiver.script(topic, by_id(lambda job: {"ok": False}), 200)
    schedule(turned, topic, 2)
    turned.clock.advance(60)
    for name in ("0000", "0001"):
        assert turned.job(topic, name)["state"] == "delivered"
        found = turned.get(f"/jobs/{topic}/{name}/attempts").expect(200)["attempts"]
        assert [(one["attempt"], one.get("error"), one.get("status")) for one in found] == [(1, "worker", None), (2, None, 200)]


# ---- the end of a process ----

def test_a_drain_gives_each_job_one_outcome(start, redis, topic):
    receiver, store = Receiver(), redis()
    server = start(redis=store)
    put(server, topic, url=receiver.url(), batch={"size": 20}).expect(200)
    receiver.script(topic, Answer(delay=1))
    schedule(server, topic, 60)
    until(lambda: sum(sizes(receiver, topic)) >= 60, 10, "requests under way")
    server.terminate(30)
    again = start(redis=store)
    until(lambda: all(state(again, topic, f"{n:04}") is None for n in range(60)), 30, "the end of all jobs")
    numbers = collections.Counter(job for arrival in receiver.of(topic) for job in ids_in(arrival))
    assert set(numbers.values()) == {1}
    receiver.stop()


def test_a_kill_repeats_with_the_same_attempt_number(start, redis, topic):
    receiver, store = Receiver(), redis()
    server = start(redis=store)
    put(server, topic, url=receiver.url(), batch={"size": 20}).expect(200)
    receiver.script(topic, HANG)
    schedule(server, topic, 40)
    until(lambda: sum(sizes(receiver, topic)) >= 40, 10, "requests under way")
    server.kill()
    receiver.script(topic, 200)
    again = start(redis=store)
    until(lambda: all(state(again, topic, f"{n:04}") is None for n in range(40)), 60, "the end of all jobs")
    numbers = collections.Counter((job["jobId"], job["attempt"]) for arrival in receiver.of(topic) for job in jobs_in(arrival))
    assert len(numbers) == 40 and set(numbers.values()) == {2}
    receiver.stop()


def test_a_kill_after_the_answer_loses_no_job_of_the_batch(start, redis, topic):
    """Some outcomes may be recorded, and others not: a repeat has the same number of the attempt."""
    receiver, store = Receiver(), redis()
    server = start(redis=store)
    put(server, topic, url=receiver.url(), batch={"size": 20}).expect(200)
    receiver.script(topic, by_id(lambda job: {"ok": True} if job["attempt"] == 1 else {"bury": "a second attempt"}))
    schedule(server, topic, 60)
    until(lambda: receiver.count(topic) >= 1, 10, "a request")
    server.kill()
    again = start(redis=store)
    until(lambda: all(state(again, topic, f"{n:04}") is None for n in range(60)), 60, "the end of all jobs")
    numbers = collections.Counter((job["jobId"], job["attempt"]) for arrival in receiver.of(topic) for job in jobs_in(arrival))
    assert len(numbers) == 60 and set(numbers.values()) <= {1, 2}
    receiver.stop()
