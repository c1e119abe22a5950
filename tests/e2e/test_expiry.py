"""Jobs that expire."""

import time

from patience import until, watch
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
