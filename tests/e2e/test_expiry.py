"""Jobs that expire."""

import json
import time

import pytest

from clock import MANUAL, ManualClock, attempts
from patience import SLOW, until, watch
from pull import end, lease_one, name
from receiver import Answer
from timestamp import from_ms, to_ms


def set_paused(server, topic, is_paused):
    server.request("PATCH", f"/topics/{topic}", '{"paused":%s}' % str(is_paused).lower(),
                   {"Content-Type": "application/json"}).expect(200)


def dead_by_expiry(server, topic, url, **members):
    """Returns a job that has expired while its topic was paused. It was due before its expiry."""
    set_paused(server, topic, True)
    server.schedule(topic=topic, jobId="a", url=url, **members)
    until(lambda: time.time() * 1000 > to_ms(server.job(topic, "a")["expiresAt"]), 5, "the job's expiry")
    set_paused(server, topic, False)
    return server.wait_for_state(topic, "a", "dead")


def test_a_job_in_time_is_delivered(server, receiver, topic):
    server.schedule(topic=topic, jobId="a", url=receiver.url(), ttl=3600)
    server.schedule(topic=topic, jobId="b", url=receiver.url(), expiresAt="2099-01-01T00:00:00Z")
    until(lambda: receiver.count(topic) == 2, 3, "both deliveries")


def test_a_read_job_shows_when_it_expires(server, receiver, topic):
    server.schedule(topic=topic, jobId="a", url=receiver.url(), delay=60, ttl=60.5)
    server.schedule(topic=topic, jobId="b", url=receiver.url(), delay=60, expiresAt="2030-01-01T01:00:00+01:00")
    job = server.job(topic, "a")
    assert to_ms(job["expiresAt"]) == to_ms(job["createdAt"]) + 60500 == to_ms(job["dueAt"]) + 500
    assert server.job(topic, "b")["expiresAt"] == "2030-01-01T00:00:00.000Z"


def test_an_expired_job_is_dead_without_an_attempt(server, receiver, topic):
    job = dead_by_expiry(server, topic, receiver.url(), ttl=0.3)
    assert job["reason"] == "expired" and job["attempts"] == 0 and "lastAttempt" not in job
    watch(0.3, lambda: not receiver.count(topic), "a delivery")


def test_a_retry_that_is_too_late_keeps_the_attempts_before_it(server, receiver, topic):
    receiver.script(topic, 500)
    server.schedule(topic=topic, jobId="a", url=receiver.url(), ttl=0.5, retrySchedule=[0.8])
    job = server.wait_for_state(topic, "a", "dead")
    assert job["reason"] == "expired" and job["attempts"] == 1 and job["lastAttempt"]["status"] == 500
    assert receiver.count(topic) == 1 and to_ms(job["deadAt"]) >= to_ms(job["expiresAt"])


def test_an_expired_job_is_not_run(server, receiver, topic):
    dead_by_expiry(server, topic, receiver.url(), expiresAt=from_ms(int(time.time() * 1000) + 400))
    problem = server.run(topic, "a").expect(409)
    assert problem["state"] == "dead" and "expired" in problem["detail"]
    assert "expiresAt" in server.get(f"/jobs/{topic}/a/why").expect(200)["detail"]


def test_the_same_job_has_the_same_expiry(server, receiver, topic):
    job = {"topic": topic, "jobId": "a", "url": receiver.url(), "delay": 60}
    server.post({**job, "ttl": 90}).expect(201)
    server.post({**job, "ttl": 90.0}).expect(200)
    for other in ({}, {"ttl": 91}, {"expiresAt": server.job(topic, "a")["expiresAt"]}):
        server.post({**job, **other}).expect(409)


# ---- jobs that cannot be attempted ----

HOLDS = {
    "paused": {"paused": True},
    "rate": {"rate": {"jobs": 1, "per": 3600, "burst": 1}},
    "maxInFlight": {"maxInFlight": 1},
    "fifo": {"order": "fifo"},
    "pull": {"delivery": "pull"},
}


@pytest.mark.parametrize("hold", HOLDS)
def test_a_job_ends_in_time_wherever_it_waits(server, receiver, topic, hold):
    """The first job keeps the second one waiting. The second one dies at its expiry, and its callback is sent."""
    server.request("PUT", f"/topics/{topic}", json.dumps(HOLDS[hold]), {"Content-Type": "application/json"}).expect(200)
    receiver.script(topic, Answer(delay=4), job_id="first")
    server.schedule(topic=topic, jobId="first", url=receiver.url())
    if hold not in ("paused", "pull"):
        until(lambda: receiver.count(topic) == 1, 10, "the first attempt")
    server.schedule(topic=topic, jobId="a", url=receiver.url(), ttl=0.5, onDead=receiver.url("/dead"))
    expires_ms = to_ms(server.job(topic, "a")["expiresAt"])
    until(lambda: server.job(topic, "a")["state"] == "dead", 10, "the end of the job")
    problem = server.run(topic, "a").expect(409)
    assert problem["state"] == "dead" and "expired" in problem["detail"]
    until(lambda: receiver.count(f"{topic}~callbacks") == 1, 10, "the callback")
    job = server.job(topic, "a")
    assert job["reason"] == "expired" and job["attempts"] == 0 and 0 <= to_ms(job["deadAt"]) - expires_ms <= 1000 * SLOW
    assert not [arrival for arrival in receiver.of(topic) if arrival.job_id == "a"]
    assert "expiresAt" in server.get(f"/jobs/{topic}/a/why").expect(200)["detail"]


def test_a_job_ends_while_it_waits_for_its_retry(turned, receiver, topic):
    receiver.script(topic, 500)
    turned.schedule(topic=topic, jobId="a", url=receiver.url(), ttl="1d", retrySchedule=["2d"])
    assert len(attempts(turned.clock.advance(86400 - 1), topic)) == 1 and turned.job(topic, "a")["state"] == "delayed"
    turned.clock.advance("1h")
    job = turned.job(topic, "a")
    assert (job["state"], job["reason"], job["attempts"]) == ("dead", "expired", 1) and job["lastAttempt"]["status"] == 500
    assert 0 <= to_ms(job["deadAt"]) - to_ms(job["expiresAt"]) < 1000


def test_an_attempt_in_flight_is_not_ended(server, receiver, topic):
    receiver.script(topic, Answer(delay=2), Answer(status=500, delay=2), job_id=None)
    for job_id, state in (("good", None), ("bad", "dead")):
        server.schedule(topic=topic, jobId=job_id, url=receiver.url(), ttl=0.7, retrySchedule=[600])
        server.wait_for_state(topic, job_id, "leased")
        until(lambda: time.time() * 1000 > to_ms(server.job(topic, job_id)["expiresAt"]) + 500, 10, "the expiry")
        assert server.job(topic, job_id)["state"] == "leased"
        job = server.wait_for_state(topic, job_id, state, 10)
    assert job["reason"] == "expired" and job["attempts"] == 1


def test_a_worker_that_fails_late_ends_the_job(turned, topic):
    turned.request("PUT", f"/topics/{topic}", '{"delivery":"pull"}', {"Content-Type": "application/json"}).expect(200)
    turned.schedule(topic=topic, jobId="a", ttl="10m")
    leased = lease_one(turned, topic, lease="1h")
    turned.clock.advance("30m")
    assert turned.job(topic, "a")["state"] == "leased"
    end(turned, "release", topic, name(leased)).expect(200)
    turned.clock.settle()
    assert turned.job(topic, "a")["reason"] == "expired"


def test_expired_jobs_leave_room_for_others(start, receiver, topic):
    server = start("--max-jobs", "10", *MANUAL)
    clock = ManualClock(server)
    set_paused(server, topic, True)
    for number in range(10):
        server.schedule(topic=topic, jobId=str(number), url=receiver.url(), ttl="1h" if number else "2h")
    job = {"topic": topic, "jobId": "more", "url": receiver.url(), "delay": 600}
    clock.advance(3599)
    server.post(job).expect(507)
    clock.advance(1)
    server.post(job).expect(201)
    until(lambda: [job["jobId"] for job in server.get(f"/jobs?state=ready&topic={topic}").expect(200)["jobs"]] == ["0"], 5, "one ready job")


@pytest.mark.parametrize("is_head", [False, True])
def test_only_the_head_of_a_line_pauses_its_topic_when_it_expires(turned, receiver, topic, is_head):
    turned.request("PUT", f"/topics/{topic}", '{"order": "fifo", "onHeadDead": "pause"}', {"Content-Type": "application/json"}).expect(200)
    receiver.script(topic, 500)
    turned.schedule(topic=topic, jobId="head", url=receiver.url(), retrySchedule=["1d"], **({"ttl": "1h"} if is_head else {}))
    turned.schedule(topic=topic, jobId="behind", url=receiver.url(), **({} if is_head else {"ttl": "1h"}))
    assert len(attempts(turned.clock.advance("2h"), topic)) == 1
    dead, = turned.get(f"/jobs?state=dead&topic={topic}").expect(200)["jobs"]
    assert (dead["jobId"], dead["reason"]) == ("head" if is_head else "behind", "expired")
    assert turned.get(f"/topics/{topic}").expect(200)["settings"].get("pauseReason") == ("job head is dead" if is_head else None)
    turned.request("DELETE", f"/jobs?topic={topic}&state=delayed&all=true").expect(200)
