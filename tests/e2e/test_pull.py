"""Pull topics: workers lease jobs over HTTP and end their leases."""

import base64
import concurrent.futures
import json
import socket
import time

import pytest

from cluster import Cluster, topic_in
from duepost import Duepost
from patience import SLOW, until
from pull import JSON, Waiter, ask, await_waiting, end, lease, lease_one, make_pull, name
from redis_server import RedisServer
from sentinels import Sentinels
from timestamp import to_ms

ENDS = ["complete", "retry", "bury", "extend", "release"]


# ---- leasing ----

def test_a_worker_gets_the_whole_job(server, topic):
    make_pull(server, topic, headers={"X-Topic": "t"})
    posted = server.schedule(topic=topic, jobId="a/ü", body={"n": 1.10, "s": "\\u00e9"}, labels=["l", "m"], headers={"X-Job": "secret"}, ttl=3600)
    job = lease_one(server, topic, lease=60)
    assert job.pop("token")
    created, until_ms = to_ms(job.pop("createdAt")), to_ms(job.pop("leaseUntil"))
    assert until_ms - created >= 60000 and to_ms(job.pop("expiresAt")) == created + 3600_000
    assert job == {"topic": topic, "jobId": "a/ü", "attempt": 1, "dueAt": posted["dueAt"], "priority": 5, "labels": ["l", "m"],
                   "headers": {"X-Job": "secret", "X-Topic": "t"}, "body": {"n": 1.10, "s": "\\u00e9"}}


def test_bytes_come_as_base64_and_a_body_byte_for_byte(server, topic):
    make_pull(server, topic)
    server.post('{"topic":"%s","jobId":"a","body": {"b" : 1.10} }' % topic).expect(201)
    server.schedule(topic=topic, jobId="b", bodyBase64=base64.b64encode(b"\0\xff").decode())
    reply = ask(server, topic, max=2)
    assert b'"body":{"b" : 1.10}' in reply.body
    assert base64.b64decode(reply.expect(200)["jobs"][1]["bodyBase64"]) == b"\0\xff"


def test_jobs_come_in_the_order_of_their_times_and_at_most_max(server, topic):
    make_pull(server, topic)
    for number in range(5):
        server.schedule(topic=topic, jobId=str(number))
    server.schedule(topic=topic, jobId="later", delay=600)
    assert [job["jobId"] for job in lease(server, topic, max=3)] == ["0", "1", "2"]
    assert [job["jobId"] for job in lease(server, topic, max=100)] == ["3", "4"]
    assert lease(server, topic, max=100) == []


def test_a_call_leases_a_bounded_number_of_jobs(start, redis, topic):
    """One call to Redis serves the requests of many workers, and leases about 2,048 jobs at most."""
    behind = redis()
    server = start("--reactors", "1", redis=behind)
    make_pull(server, topic)
    for first in range(0, 13000, 1000):
        lines = "\n".join(json.dumps({"topic": topic, "jobId": str(first + i)}) for i in range(1000))
        server.request("POST", "/jobs", lines, {"Content-Type": "application/x-ndjson"}).expect(207)
    with socket.socket(socket.AF_UNIX) as monitor:
        monitor.settimeout(5 * SLOW)
        monitor.connect(str(behind.socket))
        monitor.sendall(b"MONITOR\r\n")
        monitor.recv(100)
        workers = [Waiter(server, topic, max=100) for _ in range(130)]
        seen = b""
        while seen.count(b'"100"') < 130:
            seen += monitor.recv(1 << 20)
        for worker in workers:
            worker.leave()
    requests = [line.count(b'"100"') for line in seen.splitlines() if b'"duepost_lease_' in line]
    assert 1 < max(requests) <= 21, requests


def test_a_request_without_a_body_leases_one_job_for_half_a_minute(server, topic):
    make_pull(server, topic)
    server.schedule(topic=topic, jobId="a")
    server.schedule(topic=topic, jobId="b")
    job, = server.request("POST", f"/topics/{topic}/lease").expect(200)["jobs"]
    assert 0 < to_ms(job["leaseUntil"]) - to_ms(job["createdAt"]) - 30000 < 10000 * SLOW


def test_a_url_is_kept_and_not_used(server, receiver, topic):
    make_pull(server, topic)
    server.schedule(topic=topic, jobId="a", url=receiver.url())
    assert end(server, "complete", topic, name(lease_one(server, topic))).expect(200) == {"jobId": "a", "topic": topic, "state": "delivered"}
    assert receiver.count(topic) == 0
    server.request("PATCH", f"/topics/{topic}", '{"delivery":null}', JSON).expect(200)
    server.post({"topic": topic}).expect(400)


def test_the_bounds_of_a_lease_request(server, topic):
    make_pull(server, topic)
    for members, fields in (({"max": 0}, ["max"]), ({"max": 101}, ["max"]), ({"lease": 0.9}, ["lease"]), ({"lease": "13h"}, ["lease"]),
                            ({"wait": 61, "jobs": 1, "max": "1"}, ["max", "wait", "jobs"])):
        assert ask(server, topic, **members).fields() == fields
    server.request("POST", f"/topics/{topic}/lease", "[]", JSON).expect(400)
    for members in ({"max": 100, "lease": "12h", "wait": 0}, {"lease": 1}):
        assert lease(server, topic, **members) == []
    server.request("POST", f"/topics/{topic}/lease", "x" * 2_000_000, JSON).expect(413)
    server.request("POST", f"/topics/{topic}/lease", "{}", {"Content-Type": "text/plain"}).expect(415)
    server.request("GET", f"/topics/{topic}/lease").expect(405)
    server.request("POST", f"/topics/{topic[:20]}*/lease", check=False).expect(404)


def test_jobs_that_are_posted_are_not_leased(server, topic):
    assert "delivery" in ask(server, topic).expect(409)["detail"]
    make_pull(server, topic)
    assert lease(server, topic) == []


# ---- ends ----

def test_how_leases_end(server, topic):
    make_pull(server, topic)
    for action in ENDS:
        server.schedule(topic=topic, jobId=action)
    jobs = {job["jobId"]: job for job in lease(server, topic, max=10)}
    assert end(server, "complete", topic, name(jobs["complete"])).expect(200)["state"] == "delivered"
    assert server.job(topic, "complete") is None
    retried = end(server, "retry", topic, name(jobs["retry"], delay=600, error="It is locked.")).expect(200)
    assert retried["state"] == "delayed"
    assert retried["dueAt"] == server.job(topic, "retry")["dueAt"]
    attempt, = server.get(f"/jobs/{topic}/retry/attempts").expect(200)["attempts"]
    assert (attempt["error"], attempt["errorDetail"]) == ("worker", "It is locked.")
    assert end(server, "bury", topic, name(jobs["bury"], error="nonsense")).expect(200) == {
        "jobId": "bury", "topic": topic, "state": "dead", "reason": "rejected"}
    assert server.job(topic, "bury")["reason"] == "rejected"
    extended = end(server, "extend", topic, name(jobs["extend"], lease="1h")).expect(200)
    assert extended["state"] == "leased" and to_ms(extended["leaseUntil"]) > to_ms(jobs["extend"]["leaseUntil"])
    assert end(server, "release", topic, name(jobs["release"])).expect(200)["state"] == "ready"
    again = lease_one(server, topic)
    assert (again["jobId"], again["attempt"]) == ("release", 1) and again["token"] != jobs["release"]["token"]


def test_a_retry_without_a_delay_waits_as_its_schedule_says(server, topic):
    make_pull(server, topic)
    server.schedule(topic=topic, jobId="a", retrySchedule=[0, 700], retry=2)
    assert end(server, "retry", topic, name(lease_one(server, topic))).expect(200)["state"] in ("ready", "delayed")
    job = lease_one(server, topic, wait=10)
    assert job["attempt"] == 2
    assert end(server, "retry", topic, name(job)).expect(200)["state"] == "delayed"
    server.run(topic, "a").expect(202)
    dead = end(server, "retry", topic, name(lease_one(server, topic, wait=10), error="again")).expect(200)
    assert dead == {"jobId": "a", "topic": topic, "state": "dead", "reason": "retries_exhausted"}


def test_a_job_without_a_retry_left_is_given_to_no_worker(server, topic):
    """The topic's shorter schedule is judged when a worker asks; the worker gets the next job instead."""
    make_pull(server, topic, retrySchedule=[0.05, 0.05])
    for job in "a", "b":
        server.schedule(topic=topic, jobId=job)
    assert end(server, "retry", topic, name(lease_one(server, topic), error="first")).expect(200)["state"] == "delayed"
    server.request("PATCH", f"/topics/{topic}", json.dumps({"retrySchedule": []}), {"Content-Type": "application/json"}).expect(200)
    until(lambda: server.job(topic, "a")["state"] == "ready", 10, "the retry is due")
    leased = lease(server, topic, max=2)
    assert [job["jobId"] for job in leased] == ["b"]
    dead = server.wait_for_state(topic, "a", "dead")
    assert (dead["reason"], dead["attempts"], dead["lastAttempt"]["errorDetail"]) == ("retries_exhausted", 1, "first")


@pytest.mark.parametrize("action", ENDS)
def test_a_token_that_does_not_hold_the_lease_changes_nothing(server, topic, action):
    make_pull(server, topic)
    server.schedule(topic=topic, jobId="a")
    job = lease_one(server, topic)
    wrong = end(server, action, topic, {"jobId": "a", "token": "p" + "0" * 30}).expect(409)
    assert wrong["state"] == "leased"
    end(server, "release", topic, name(job)).expect(200)
    assert end(server, action, topic, name(job)).expect(409)["state"] == "ready"
    assert "state" not in end(server, action, topic, {"jobId": "none", "token": job["token"]}).expect(409)
    assert lease_one(server, topic)["attempt"] == 1


@pytest.mark.parametrize("action", ENDS)
def test_many_ends_in_one_request_have_a_result_each(server, topic, action):
    make_pull(server, topic)
    for number in range(3):
        server.schedule(topic=topic, jobId=str(number))
    jobs = lease(server, topic, max=3)
    items = [name(jobs[0]), {"jobId": "1", "token": "wrong"}, {"jobId": "2"}, name(jobs[2])]
    results = end(server, action, topic, items).expect(207)["results"]
    assert [result["status"] for result in results] == [200, 409, 400, 200]
    assert [result.get("jobId") for result in results] == ["0", "1", None, "2"]
    assert results[2]["errors"] == [{"field": "token", "detail": "is required"}]
    assert results[1]["state"] == "leased"


@pytest.mark.parametrize("action", ENDS)
def test_bad_ends_change_nothing(server, topic, action):
    make_pull(server, topic)
    server.schedule(topic=topic, jobId="a")
    job = lease_one(server, topic)
    assert end(server, action, topic, {"jobId": "", "token": 1, "x": 2}).fields() == ["jobId", "token", "x"]
    for text in "[]", "[{", "7", json.dumps([name(job)] * 101), "":
        end(server, action, topic, text).expect(400)
    end(server, action, topic, " " * 2_000_000).expect(413)
    server.request("POST", f"/topics/{topic}/{action}", json.dumps(name(job)), {"Content-Type": "text/plain"}).expect(415)
    server.request("PUT", f"/topics/{topic}/{action}", json.dumps(name(job)), JSON).expect(405)
    assert end(server, "extend", topic, name(job)).expect(200)["state"] == "leased"


def test_the_members_of_ends_have_limits(server, topic):
    make_pull(server, topic)
    token = {"jobId": "a", "token": "t"}
    assert end(server, "retry", topic, {**token, "delay": 31536001, "error": "x" * 257}).fields() == ["delay", "error"]
    assert end(server, "bury", topic, {**token, "error": "ü" * 129, "delay": 1}).fields() == ["error", "delay"]
    assert end(server, "extend", topic, {**token, "lease": 0}).fields() == ["lease"]
    assert end(server, "complete", topic, {"jobId": "a", "token": "t" * 129}).fields() == ["token"]


def test_a_complete_may_be_repeated(server, topic):
    make_pull(server, topic)
    server.schedule(topic=topic, jobId="a")
    job = lease_one(server, topic)
    for _ in range(3):
        assert end(server, "complete", topic, name(job)).expect(200)["state"] == "delivered"
    server.schedule(topic=topic, jobId="a")
    assert end(server, "complete", topic, name(job)).expect(200)["state"] == "delivered", "of the job before"
    assert server.job(topic, "a")["state"] == "ready"


def test_a_cancelled_job_is_not_held_any_more(server, topic):
    make_pull(server, topic)
    server.schedule(topic=topic, jobId="a")
    job = lease_one(server, topic)
    assert server.cancel(topic, "a").expect(200)["attemptInFlight"]
    assert "state" not in end(server, "extend", topic, name(job)).expect(409)


@pytest.mark.parametrize("limit", [{"order": "fifo"}, {"maxInFlight": 1}], ids=["fifo", "maxInFlight"])
@pytest.mark.parametrize("action", ["complete", "retry", "bury", "release"])
def test_a_cancelled_job_holds_its_place_until_its_worker_reports(server, topic, action, limit):
    make_pull(server, topic, **limit)
    for job_id in "ab":
        server.schedule(topic=topic, jobId=job_id, onDead="http://127.0.0.1:9/")
    job = lease_one(server, topic, lease=3600)
    assert server.cancel(topic, "a").expect(200)["attemptInFlight"]
    end(server, action, topic, {"jobId": "a", "token": "p123"}).expect(409)
    assert lease(server, topic, max=2) == []  # the cancelled job still counts as in flight
    with concurrent.futures.ThreadPoolExecutor() as pool:
        waiter = pool.submit(lease, server, topic, wait=50)
        await_waiting(server, 1)
        end(server, action, topic, name(job)).expect(409)
        assert [job["jobId"] for job in waiter.result()] == ["b"]
    end(server, action, topic, name(job)).expect(409)
    assert lease(server, topic) == []


# ---- leases that run out ----

def test_a_lease_that_runs_out_is_a_failed_attempt(turned, topic):
    make_pull(turned, topic, retrySchedule=[0])
    turned.schedule(topic=topic, jobId="a", retry=1)
    first = lease_one(turned, topic, lease="12h")
    turned.clock.move_to(to_ms(first["leaseUntil"]) - 1)
    assert lease(turned, topic) == []
    turned.clock.advance(0.001)
    second = lease_one(turned, topic, lease=1)
    assert second["attempt"] == 2
    assert end(turned, "complete", topic, name(first)).expect(409)["state"] == "leased"
    turned.clock.advance(1)
    job = turned.job(topic, "a")
    assert (job["state"], job["reason"]) == ("dead", "retries_exhausted") and job["lastAttempt"]["error"] == "lease_expired"
    assert [attempt["error"] for attempt in turned.get(f"/jobs/{topic}/a/attempts").expect(200)["attempts"]] == ["lease_expired"] * 2


# ---- idempotency keys ----

def test_the_same_request_gets_the_same_leases(server, topic):
    make_pull(server, topic)
    for number in range(3):
        server.schedule(topic=topic, jobId=str(number))
    key = {"Idempotency-Key": "k"}
    first = ask(server, topic, key, max=2).expect(200)["jobs"]
    assert len(first) == 2
    assert ask(server, topic, key, max=2).expect(200)["jobs"] == first
    end(server, "complete", topic, name(first[0])).expect(200)
    assert ask(server, topic, key, max=2).expect(200)["jobs"] == first[1:]
    ask(server, topic, key, max=3).expect(422)
    ask(server, topic, {"Idempotency-Key": "ü"}).expect(400)
    assert [job["jobId"] for job in lease(server, topic, max=5)] == ["2"]


def test_a_key_is_not_used_up_by_a_job_that_has_expired(server, topic):
    make_pull(server, topic, paused=True)
    server.schedule(topic=topic, jobId="old", ttl=1)
    expires = to_ms(server.job(topic, "old")["expiresAt"])
    until(lambda: to_ms(server.post({"topic": topic, "delay": 600}).expect(201)["dueAt"]) > expires + 600_000, 10, "the job's ttl is over")
    server.schedule(topic=topic, jobId="new")
    server.request("PATCH", f"/topics/{topic}", '{"paused":null}', JSON).expect(200)
    first = ask(server, topic, {"Idempotency-Key": "k"}, max=1).expect(200)["jobs"]
    assert [job["jobId"] for job in first] == ["new"]
    assert ask(server, topic, {"Idempotency-Key": "k"}, max=1).expect(200)["jobs"] == first


# ---- limits and pauses that hold jobs back ----

def test_pause_limit_rate_and_order_hold(server, topic):
    def patched(**settings):
        server.request("PATCH", f"/topics/{topic}", json.dumps(settings), JSON).expect(200)
        return [job["jobId"] for job in lease(server, topic, max=10)]
    make_pull(server, topic, paused=True)
    for number in range(9):
        server.schedule(topic=topic, jobId=str(number))
    assert lease(server, topic, max=10) == []
    assert patched(paused=None, maxInFlight=2) == ["0", "1"]
    assert patched() == []
    assert patched(maxInFlight=None, rate={"jobs": 1, "per": 3600, "burst": 3}) == ["2", "3", "4"]
    assert patched() == []
    assert patched(rate=None) == ["5", "6", "7", "8"]


def test_a_fifo_topic_gives_one_job_at_a_time(server, topic):
    make_pull(server, topic, order="fifo")
    for number in range(3):
        server.schedule(topic=topic, jobId=str(number))
    for number in range(3):
        jobs = lease(server, topic, max=10)
        assert [job["jobId"] for job in jobs] == [str(number)]
        assert lease(server, topic, max=10) == []
        if number == 0:
            end(server, "release", topic, name(jobs[0])).expect(200)
            jobs = lease(server, topic)
            assert jobs[0]["jobId"] == "0"
        end(server, "complete", topic, name(jobs[0])).expect(200)


def test_an_expired_job_is_dead_and_not_leased(server, topic):
    make_pull(server, topic)
    server.schedule(topic=topic, jobId="old", ttl=1, delay=0.5)
    server.request("PATCH", f"/topics/{topic}", '{"paused":true}', JSON).expect(200)
    until(lambda: server.job(topic, "old")["state"] == "ready", 10, "ready")
    until(lambda: to_ms(server.post({"topic": topic, "delay": 600}).expect(201)["dueAt"]) > to_ms(server.job(topic, "old")["expiresAt"]) + 600_000,
          10, "it has expired")
    server.request("PATCH", f"/topics/{topic}", '{"paused":null}', JSON).expect(200)
    assert lease(server, topic, max=10) == []
    assert server.wait_for_state(topic, "old", "dead")["reason"] == "expired"


def test_callbacks_follow_the_ends(server, receiver, topic):
    make_pull(server, topic)
    for number in range(2):
        server.schedule(topic=topic, jobId=str(number), onDelivered=receiver.url("/delivered"), onDead=receiver.url("/dead"))
    jobs = lease(server, topic, max=2)
    end(server, "complete", topic, name(jobs[0])).expect(200)
    end(server, "bury", topic, name(jobs[1])).expect(200)
    until(lambda: receiver.count(f"{topic}~callbacks") == 2, 10, "callbacks")


def test_a_group_can_be_sent_to_a_pull_topic(server, receiver, topic):
    make_pull(server, topic)
    server.request("PUT", f"/groups/{topic}", json.dumps({"endpoints": {"a": {"url": receiver.url()}, "b": {"url": receiver.url()}}}), JSON).expect(201)
    server.post({"topic": topic, "jobId": "g", "group": topic}).expect(201)
    assert {job["jobId"] for job in lease(server, topic, max=5)} == {"g~a", "g~b"}


def test_lists_filters_and_counts_know_leased_jobs(server, topic):
    make_pull(server, topic)
    server.schedule(topic=topic, jobId="a", labels=["x"])
    server.schedule(topic=topic, jobId="b")
    lease(server, topic, max=2)
    assert [job["jobId"] for job in server.get(f"/jobs?state=leased&topic={topic}&label=x").expect(200)["jobs"]] == ["a"]
    assert server.get(f"/jobs/count?state=leased&topic={topic}").expect(200)["count"] == 2
    assert server.get(f"/topics/{topic}").expect(200)["jobs"]["leased"] == 2


# ---- why ----

def test_why_names_the_worker(server, topic):
    def why():
        return server.get(f"/jobs/{topic}/a/why").expect(200)
    make_pull(server, topic)
    server.schedule(topic=topic, jobId="a")
    assert why()["why"] == "waits_for_worker" and f"/topics/{topic}/lease" in why()["detail"]
    job = lease_one(server, topic)
    held = why()
    assert (held["why"], held["state"], held["until"]) == ("under_way", "leased", job["leaseUntil"])
    assert f"A worker has leased it until {job['leaseUntil']}" in held["detail"]
    end(server, "retry", topic, name(job, delay=600, error="locked")).expect(200)
    assert why()["why"] == "waits_for_retry" and "worker: locked" in why()["detail"]


# ---- a topic with jobs changes between push and pull ----

def test_delivery_may_change_while_a_job_is_leased(server, receiver, topic):
    make_pull(server, topic)
    for job_id in "a", "b":
        server.schedule(topic=topic, jobId=job_id, url=receiver.url())
    job = lease_one(server, topic)
    server.request("PUT", f"/topics/{topic}", "{}", JSON).expect(200)
    until(lambda: receiver.count(topic) == 1, 10, "the other one is delivered")
    assert end(server, "complete", topic, name(job)).expect(200)["state"] == "delivered"
    ask(server, topic).expect(409)


# ---- Redis ----

def test_without_redis_it_is_503_and_nothing_changes(start, redis, topic):
    store = redis()
    server = start(redis=store)
    make_pull(server, topic)
    server.schedule(topic=topic, jobId="a")
    job = lease_one(server, topic, lease=600)
    store.freeze()
    try:
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            wrong = [pool.submit(end, server, action, topic, {**name(job), "token": "no-token"}) for action in ("complete", "retry")]
            replies = list(pool.map(lambda action: end(server, action, topic, name(job)) if action != "lease" else ask(server, topic), ["lease", *ENDS]))
            many = end(server, "complete", topic, [name(job)]).expect(207)["results"]
    finally:
        store.thaw()
    for reply in [*replies, *(future.result() for future in wrong)]:
        assert reply.expect(503)
    assert many[0]["status"] == 503 and many[0]["jobId"] == "a"
    until(lambda: server.get("/readyz").status == 200, 15, "ready")


def test_without_redis_no_worker_gets_an_empty_list(start, redis, topic):
    """Lease requests get an error, also those that wait behind other requests of the same topic."""
    store = redis()
    server = start("--reactors", "1", redis=store)
    make_pull(server, topic)
    server.schedule(topic=topic, jobId="a")
    store.freeze()
    try:
        with concurrent.futures.ThreadPoolExecutor(12) as pool:
            replies = list(pool.map(lambda _: ask(server, topic), range(12)))
    finally:
        store.thaw()
    assert [reply.status for reply in replies] == 12 * [503]


@pytest.mark.parametrize("kind", [Sentinels, Cluster])
def test_sentinels_and_clusters(kind, topic):
    group = kind()
    try:
        server = Duepost(redis=group.address)
        try:
            names = [topic_in(shard, topic) for shard in range(3)] if kind is Cluster else [topic]
            for each in names:
                make_pull(server, each)
                server.schedule(topic=each, jobId="a", delay=0.5)
            with concurrent.futures.ThreadPoolExecutor(8) as pool:
                jobs = list(pool.map(lambda each: lease_one(server, each, wait=20), names))
            for each, job in zip(names, jobs):
                assert end(server, "complete", each, name(job)).expect(200)["state"] == "delivered"
        finally:
            server.stop()
    finally:
        group.stop()


def test_a_pull_topic_is_held_by_its_limits_only(server, topic):
    make_pull(server, topic, maxInFlight=2)
    for job_id in "a", "b", "c":
        server.schedule(topic=topic, jobId=job_id)
    assert "heldBy" not in server.get(f"/topics/{topic}").expect(200)
    jobs = lease(server, topic, max=2)
    assert server.get(f"/topics/{topic}").expect(200)["heldBy"] == "maxInFlight"
    end(server, "complete", topic, name(jobs[0])).expect(200)
    assert "heldBy" not in server.get(f"/topics/{topic}").expect(200)


def test_a_reload_while_redis_is_away_changes_no_retry_under_way(start, redis, topic):
    """A reload frees the retry schedule that the options had. The retry that has begun must not use the freed
    memory."""
    behind = redis()
    server = start("--reactors", "1", "--retry-schedule", "1h", redis=behind)
    make_pull(server, topic)
    server.schedule(topic=topic, jobId="a")
    body = json.dumps(name(lease_one(server, topic, lease=60), error="x"))
    with server.connect() as link:
        behind.freeze()
        link.sendall(f"POST /topics/{topic}/retry HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                     f"Content-Length: {len(body)}\r\n\r\n{body}".encode())
        time.sleep(0.2)  # duepost has read the request by then
        server.reload()
        behind.thaw()
        assert link.recv(1000).startswith(b"HTTP/1.1 200 ")
    assert to_ms(server.job(topic, "a")["dueAt"]) > 1000 * time.time() + 3000_000
    assert "ERROR: AddressSanitizer" not in server.log()


@pytest.fixture
def replicated(start):
    """A server that promises one replica, and this replica."""
    primary, replica = RedisServer(tcp=True, options=["--repl-diskless-sync-delay", "0"]), RedisServer(tcp=True)
    replica.command("REPLICAOF", primary.host.address, str(primary.port))
    until(lambda: primary.replicas_online() == 1, 20, "the replica is online")
    replica.primary = primary
    yield start("--durability", "replicated:1", redis=primary.address), replica
    replica.stop()
    primary.stop()


def test_a_change_without_its_replica_is_told_as_made_but_not_durable(replicated, topic):
    server, replica = replicated
    make_pull(server, topic)
    actions = {"complete": "delivered", "retry": "delayed", "bury": "dead", "release": "ready", "extend": "leased"}
    for action in actions:
        server.schedule(topic=topic, jobId=action)
    server.schedule(topic=topic, jobId="cancelled", delay=100)
    held = {job["jobId"]: job for job in lease(server, topic, max=5)}

    def tell(action):
        members = {"delay": 100} if action == "retry" else {"lease": 600} if action == "extend" else {}
        return end(server, action, topic, name(held[action], **members))

    def not_durable(reply):
        problem = reply.expect(503)
        assert "carried out, but not durable yet" in problem["detail"], problem
        return problem

    replica.freeze()
    for action, state in actions.items():
        assert not_durable(tell(action))["state"] == state
    assert not_durable(tell("complete"))["state"] == "delivered"
    assert not_durable(tell("extend"))["state"] == "leased"
    assert tell("bury").expect(409)["state"] == "dead"
    each, = end(server, "complete", topic, [name(held["complete"])]).expect(207)["results"]
    assert (each["status"], each["jobId"], each["state"]) == (503, "complete", "delivered")
    not_durable(server.request("PUT", f"/jobs/{topic}/new", '{"delay":100}', JSON))
    not_durable(server.request("PUT", f"/jobs/{topic}/new", '{"delay":100}', JSON))
    not_durable(server.cancel(topic, "cancelled"))
    not_durable(server.cancel(topic, "cancelled"))
    replica.kill()
    until(lambda: server.get("/readyz").status == 503, 10, "the missing replica is known")
    assert not_durable(tell("complete"))["state"] == "delivered"
    assert "nothing changed" in server.post({"topic": topic}).expect(503)["detail"]
    replica.start()
    replica.command("REPLICAOF", replica.primary.host.address, str(replica.primary.port))
    until(lambda: tell("complete").status == 200, 20, "the repeat is confirmed")
    server.get(f"/jobs/{topic}/new").expect(200)
    server.get(f"/jobs/{topic}/cancelled").expect(404)
