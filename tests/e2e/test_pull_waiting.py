"""Workers that wait for jobs of pull topics: order, wake-ups, disconnects, limits, processes that stop."""

import json
import os
import socket
import struct
import time

import pytest

from duepost import Duepost
from patience import SLOW, until, watch
from pull import JSON, Waiter, ask, await_waiting, end, lease, lease_one, make_pull, name, waiting
from timestamp import to_ms


@pytest.fixture(scope="module")
def server():
    """A server for the tests of this file only, because they count waiting workers. It has one reactor, because each
    reactor has its own order of the workers."""
    started = Duepost("--reactors", "1", "--breaker", "off")
    yield started
    started.stop()
    assert "ERROR: AddressSanitizer" not in started.log()


def metric(server, line):
    return line in server.get("/metrics").body.decode()


# ---- wake-ups ----

def test_a_job_that_is_scheduled_reaches_a_waiting_worker(server, topic):
    make_pull(server, topic)
    waiter = Waiter(server, topic)
    await_waiting(server, 1)
    assert not waiter.has_answer()
    server.schedule(topic=topic, jobId="a")
    job, = waiter.jobs()
    assert (job["jobId"], job["attempt"]) == ("a", 1)
    await_waiting(server, 0)
    end(server, "complete", topic, name(job)).expect(200)


def test_a_job_reaches_a_waiting_worker_when_it_is_due(server, topic):
    make_pull(server, topic)
    server.schedule(topic=topic, jobId="a", delay=1)
    job = lease_one(server, topic, wait=30)
    assert 0 <= to_ms(job["leaseUntil"]) - 30000 - to_ms(job["dueAt"]) < 2000 * SLOW


@pytest.mark.parametrize("change", [
    {"paused": None}, {"delivery": "pull", "maxInFlight": 5}], ids=["pause", "limit"])
def test_a_change_of_the_topic_wakes_a_waiting_worker(server, topic, change):
    make_pull(server, topic, maxInFlight=1)
    server.schedule(topic=topic, jobId="held")
    server.schedule(topic=topic, jobId="a")
    held = lease_one(server, topic, lease=600)
    if "paused" in change:
        server.request("PATCH", f"/topics/{topic}", '{"paused":true,"maxInFlight":null}', JSON).expect(200)
    waiter = Waiter(server, topic)
    await_waiting(server, 1)
    assert not waiter.has_answer()
    server.request("PATCH", f"/topics/{topic}", json.dumps(change), JSON).expect(200)
    assert [job["jobId"] for job in waiter.jobs()] == ["a"]
    end(server, "complete", topic, name(held)).expect(200)


@pytest.mark.parametrize("action, members", [("release", {}), ("retry", {"delay": 0}), ("complete", {})])
def test_an_end_wakes_a_waiting_worker(server, topic, action, members):
    make_pull(server, topic, order="fifo")
    for job_id in "a", "b":
        server.schedule(topic=topic, jobId=job_id)
    held = lease_one(server, topic)
    waiter = Waiter(server, topic)
    await_waiting(server, 1)
    assert not waiter.has_answer()
    end(server, action, topic, name(held, **members)).expect(200)
    assert [job["jobId"] for job in waiter.jobs()] == ["b" if action == "complete" else "a"]


def test_a_wait_ends_with_an_empty_list(server, topic):
    make_pull(server, topic)
    began = time.monotonic()
    assert lease(server, topic, wait=1) == []
    assert time.monotonic() - began >= 1
    await_waiting(server, 0)


def test_a_waiting_worker_gets_409_when_the_topic_becomes_push(server, topic):
    make_pull(server, topic)
    waiters = [Waiter(server, topic) for _ in range(10)]
    await_waiting(server, 10)
    server.request("PUT", f"/topics/{topic}", "{}", JSON).expect(200)
    for waiter in waiters:  # the answers come at once, not only when duepost checks the waiting topics again
        waiter.reply().expect(409)


# ---- order ----

def test_waiting_workers_are_served_in_their_order(server, topic):
    make_pull(server, topic)
    waiters = []
    for number in range(20):
        waiters.append(Waiter(server, topic))
        await_waiting(server, number + 1)
    for number in range(10):
        server.schedule(topic=topic, jobId=str(number))
        assert [job["jobId"] for job in waiters[number].jobs()] == [str(number)]
        assert not any(waiter.has_answer() for waiter in waiters[number + 1:])
    server.post(json.dumps([{"topic": topic, "jobId": str(number)} for number in range(10, 20)])).expect(207)
    assert [waiter.jobs()[0]["jobId"] for waiter in waiters[10:]] == [str(number) for number in range(10, 20)]


def test_a_request_that_does_not_wait_is_behind_those_that_do(server, topic):
    make_pull(server, topic)
    waiter = Waiter(server, topic)
    await_waiting(server, 1)
    assert lease(server, topic) == []
    server.schedule(topic=topic, jobId="a")
    assert [job["jobId"] for job in waiter.jobs()] == ["a"]
    server.schedule(topic=topic, jobId="b")
    assert lease_one(server, topic)["jobId"] == "b"


def test_topics_do_not_hold_each_other_up(server, topic):
    for suffix in ".a", ".b":
        make_pull(server, topic + suffix)
    waiters = {suffix: Waiter(server, topic + suffix) for suffix in (".a", ".b")}
    await_waiting(server, 2)
    server.schedule(topic=topic + ".b", jobId="b")
    assert waiters[".b"].jobs()[0]["jobId"] == "b"
    assert not waiters[".a"].has_answer()
    waiters[".a"].leave()
    await_waiting(server, 0)


# ---- workers that leave ----

def test_a_worker_that_has_left_leases_nothing(server, topic):
    make_pull(server, topic)
    gone = [Waiter(server, topic) for _ in range(5)]
    await_waiting(server, 5)
    for waiter in gone:
        waiter.leave()
    await_waiting(server, 0)
    server.schedule(topic=topic, jobId="a")
    assert lease_one(server, topic)["attempt"] == 1


def test_a_worker_that_leaves_at_any_time_loses_no_job_and_counts_no_attempt(server, topic):
    make_pull(server, topic)
    for number in range(100):
        waiter = Waiter(server, topic)
        waiter.leave()
        server.post({"topic": topic, "jobId": str(number)}, check=False).expect(201)
        job = lease_one(server, topic, wait=5)
        assert (job["jobId"], job["attempt"]) == (str(number), 1)
        end(server, "complete", topic, name(job)).expect(200)
    await_waiting(server, 0)


def test_10000_workers_that_have_left_lease_nothing(start, topic):
    """In each round, workers send lease requests and close their connections; then a job is scheduled. In half of the
    rounds, duepost may read the requests only after the connections were closed. A claim that was on its way to Redis
    may then get the job, which is released at once without an attempt."""
    server = start("--reactors", "1")
    make_pull(server, topic)
    for number in range(100):
        gone = [Waiter(server, topic) for _ in range(100)]
        if number % 2 == 0:
            await_waiting(server, 100)
        for waiter in gone:
            waiter.leave()
        server.post({"topic": topic, "jobId": str(number)}, check=False).expect(201)
        job = lease_one(server, topic, wait=30)
        assert (job["jobId"], job["attempt"]) == (str(number), 1)
        end(server, "complete", topic, name(job)).expect(200)
    await_waiting(server, 0)
    assert metric(server, "duepost_leased_total 100\n")


def test_a_worker_that_resets_its_connection_leases_nothing(server, topic):
    make_pull(server, topic)
    waiter = Waiter(server, topic)
    await_waiting(server, 1)
    waiter.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    waiter.leave()
    await_waiting(server, 0)
    server.schedule(topic=topic, jobId="a")
    assert lease_one(server, topic)["jobId"] == "a"


def test_jobs_of_an_answer_that_is_not_read_come_back_at_once(start, topic):
    server = start("--answer-timeout", "1s")
    make_pull(server, topic)
    for number in range(20):
        server.schedule(topic=topic, jobId=str(number), body="x" * 400_000)
    waiter = Waiter(server, topic, receive_bytes=4096, max=20, lease="1h")
    until(lambda: "event=leases_returned" in server.log(), 20, "the log has leases_returned")
    taken = lease(server, topic, max=20, wait=10)
    assert taken and all(job["attempt"] == 1 for job in taken)
    waiter.leave()
    assert "duepost_leases_returned_total 0\n" not in server.get("/metrics").body.decode()


def test_leases_with_an_idempotency_key_stay_when_the_answer_is_not_read(start, topic):
    server = start("--answer-timeout", "1s")
    make_pull(server, topic)
    for number in range(20):
        server.schedule(topic=topic, jobId=str(number), body="x" * 400_000)
    link = socket.socket()
    link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    link.connect((server.host, server.port))
    body = b'{"max": 20, "lease": 600}'
    link.sendall(b"POST /topics/%s/lease HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nIdempotency-Key: k\r\n"
                 b"Content-Length: %d\r\n\r\n%s" % (topic.encode(), len(body), body))
    until(lambda: server.get(f"/jobs/count?state=leased&topic={topic}").expect(200)["count"] > 0, 10, "leased")

    def again():
        reply = server.request("POST", f"/topics/{topic}/lease", body, {**JSON, "Idempotency-Key": "k"})
        return reply.status == 200 and reply.json["jobs"]  # 409 while duepost answers the first request with this key
    assert until(again, 10, "the same leases")[0]["jobId"] == "0"
    assert "event=leases_returned" not in server.log()
    link.close()


# ---- limits ----

def test_many_workers_behind_one_address(start, topic):
    server = start("--max-connections-per-address", "20", "--max-waiting", "10", "--reactors", "1")
    make_pull(server, topic)
    waiters = []
    for number in range(100):
        waiters.append(Waiter(server, topic))
        await_waiting(server, number + 1)
    server.post(json.dumps([{"topic": topic, "jobId": str(number)} for number in range(100)])).expect(207)
    assert {waiter.jobs()[0]["jobId"] for waiter in waiters} == {str(number) for number in range(100)}
    waiters[0].send(wait=0)
    assert waiters[0].jobs() == [], "the connection goes on"


def test_1000_workers_behind_one_address_are_no_attack(start, topic):
    """Ten times as many workers wait as one address may have connections. Other clients of the same address are
    served, too."""
    server = start("--reactors", "2", "--max-connections-per-address", "100")
    for number in range(10):
        make_pull(server, f"{topic}.{number}")
    waiters = [Waiter(server, f"{topic}.{number % 10}") for number in range(1000)]
    await_waiting(server, 1000, 30)
    assert server.get("/readyz").status == 200
    jobs = [{"topic": f"{topic}.{number % 10}", "jobId": str(number)} for number in range(1000)]
    server.post(json.dumps(jobs)).expect(207)
    assert sorted(int(waiter.jobs()[0]["jobId"]) for waiter in waiters) == list(range(1000))
    for waiter in waiters:
        waiter.leave()


def test_workers_that_wait_have_a_limit(start, topic):
    server = start("--max-waiting-leases", "2")
    make_pull(server, topic)
    waiters = [Waiter(server, topic) for _ in range(2)]
    await_waiting(server, 2)
    refused = ask(server, topic, wait=1)
    assert "--max-waiting-leases" in refused.expect(503)["detail"] and refused.headers["Retry-After"]
    assert lease(server, topic) == []
    waiters[0].leave()
    await_waiting(server, 1)
    assert lease(server, topic, wait=0.1) == []


# ---- processes ----

def test_a_process_that_stops_sends_empty_lists(start, topic):
    server = start()
    make_pull(server, topic)
    waiters = [Waiter(server, topic) for _ in range(30)]
    await_waiting(server, 30)
    assert server.terminate() == 0
    for waiter in waiters:
        reply = waiter.reply()
        assert reply.expect(200) == {"jobs": []} and reply.headers["Connection"] == "close"


def test_a_job_posted_to_one_process_reaches_a_worker_of_the_other(start, redis, topic):
    store = redis()
    one, other = start("--reactors", "2", redis=store), start("--reactors", "2", redis=store)
    make_pull(one, topic)
    waiters = [Waiter(server, topic) for server in (one, other, one, other)]
    await_waiting(one, 2)
    await_waiting(other, 2)
    for number in range(4):
        one.schedule(topic=topic, jobId=str(number))
    jobs = [job for waiter in waiters for job in waiter.jobs()]
    assert sorted(job["jobId"] for job in jobs) == ["0", "1", "2", "3"]
    for job in jobs:
        end(other, "complete", topic, name(job)).expect(200)


def test_workers_wait_through_a_restart_of_redis(start, redis, topic):
    store = redis()
    server = start(redis=store)
    make_pull(server, topic)
    waiter = Waiter(server, topic)
    await_waiting(server, 1)
    store.kill()
    until(lambda: server.get("/readyz").status == 503, 15, "not ready")
    store.start()
    until(lambda: server.get("/readyz").status == 200, 15, "ready")
    server.schedule(topic=topic, jobId="a")
    reply = waiter.reply()
    if reply.status == 503:  # the worker sent its request while Redis was away
        reply.expect(503)
        assert lease_one(server, topic, wait=20)["jobId"] == "a"
    else:
        assert reply.expect(200)["jobs"][0]["jobId"] == "a"


def test_a_killed_process_leaves_leases_that_run_out(start, redis, topic):
    store = redis()
    first = start(redis=store)
    make_pull(first, topic, retrySchedule=[0])
    first.schedule(topic=topic, jobId="a")
    lease_one(first, topic, lease=1)
    first.kill()
    second = start(redis=store)
    assert lease_one(second, topic, wait=30)["attempt"] == 2


def test_a_topic_shows_its_workers(start, topic):
    server = start("--reactors", "2")
    make_pull(server, topic)

    def shown():
        return server.get(f"/topics/{topic}").expect(200)["pull"]
    assert shown() == {"waiting": 0, "leases": 0}
    for job_id in "a", "b":
        server.schedule(topic=topic, jobId=job_id)
    first = lease_one(server, topic, max=1, lease=600)
    since = shown()["oldestLeaseAt"]
    lease_one(server, topic, max=1, lease=600)
    assert shown() == {"waiting": 0, "leases": 2, "oldestLeaseAt": since}
    waiters = [Waiter(server, topic, wait=60) for _ in range(3)]
    until(lambda: shown()["waiting"] == 3, 10, shown)
    end(server, "release", topic, name(first)).expect(200)
    until(lambda: shown()["waiting"] == 2, 10, shown)
    for waiter in waiters:
        waiter.leave()
    until(lambda: shown()["waiting"] == 0, 10, shown)
    assert "pull" not in server.get("/topics/other").expect(200)
