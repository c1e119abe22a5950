""""Not yet": a receiver answers 2xx with Duepost-Again, and the job is sent again after that time."""

import base64
import email.utils
import hashlib
import hmac
import json
import time

import pytest

from clock import attempts, seconds_after
from patience import SLOW, until
from receiver import Answer
from timestamp import from_ms, to_ms

JSON = {"Content-Type": "application/json"}
KEY = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


def again(value, status=202, **more):
    return Answer(status, headers=(("Duepost-Again", str(value)),), **more)


def gaps(receiver, topic):
    """Returns the seconds from the end of each attempt to the beginning of the next."""
    arrivals = receiver.of(topic)
    return [(b.at_ms - a.answered_at_ms) / 1000 for a, b in zip(arrivals, arrivals[1:])]


def rounds(server, topic, number, job_id="a"):
    """Waits until this many rounds have ended, and returns the job."""
    return until(lambda: (job := server.job(topic, job_id)) and job.get("rounds") == number and job["state"] == "delayed" and job,
                 20, lambda: f"{number} rounds: {server.job(topic, job_id)}")


def test_the_job_comes_again_after_that_time(server, receiver, topic):
    receiver.script(topic, again(1), again("1500ms", 200), 200)
    server.schedule(topic=topic, jobId="a", url=receiver.url(), body={"n": 1.0})
    until(lambda: receiver.count(topic) == 3, 30, "three rounds")
    server.wait_for_state(topic, "a", None)
    first, second = gaps(receiver, topic)
    assert first >= 1 and second >= 1.5
    arrivals = receiver.of(topic)
    assert [(a.attempt, a.headers.get("duepost-round")) for a in arrivals] == [(1, None), (1, "2"), (1, "3")]
    assert {a.body for a in arrivals} == {b'{"n": 1.0}'}


def test_the_job_shows_its_rounds_and_what_it_waits_for(server, receiver, topic):
    receiver.script(topic, again("1h30m", body=b"still at it"))
    before_ms = time.time() * 1000
    server.schedule(topic=topic, jobId="a", url=receiver.url())
    job = rounds(server, topic, 1)
    assert job["attempts"] == 0 and job["lastAttempt"]["status"] == 202
    assert 5400_000 <= to_ms(job["dueAt"]) - before_ms < 5400_000 + 30_000 * SLOW
    why = server.get(f"/jobs/{topic}/a/why").expect(200)
    assert (why["state"], why["why"], why["until"]) == ("delayed", "not_yet", job["dueAt"])
    assert "said not yet" in why["detail"] and job["dueAt"] in why["detail"] and "number 2" in why["detail"]
    attempt, = server.get(f"/jobs/{topic}/a/attempts").expect(200)["attempts"]
    assert (attempt["attempt"], attempt["status"], attempt["answer"]) == (1, 202, "still at it") and "round" not in attempt
    receiver.script(topic, 500, again("2h"))
    server.run(topic, "a").expect(202)
    job = until(lambda: (job := server.job(topic, "a"))["attempts"] == 1 and job, 20, "a failed attempt")
    assert job["rounds"] == 1 and server.get(f"/jobs/{topic}/a/why").expect(200)["why"] == "waits_for_retry"
    server.run(topic, "a").expect(202)
    rounds(server, topic, 2)
    attempts = server.get(f"/jobs/{topic}/a/attempts").expect(200)["attempts"]
    assert [(a.get("round", 1), a["attempt"], a["status"]) for a in attempts] == [(1, 1, 202), (2, 1, 500), (2, 2, 202)]


def test_a_date_is_a_time(server, receiver, topic):
    receiver.script(topic, again(email.utils.formatdate(time.time() + 7200, usegmt=True)))
    server.schedule(topic=topic, jobId="a", url=receiver.url())
    job = rounds(server, topic, 1)
    assert abs(to_ms(job["dueAt"]) / 1000 - time.time() - 7200) < 30 * SLOW


def test_a_round_begins_with_all_retries(turned, receiver, topic):
    receiver.script(topic, 500, again("1h"), 500, 500, 200)
    begin = turned.clock.now()
    turned.schedule(topic=topic, jobId="a", url=receiver.url(), retry=1, retrySchedule=["10m"])
    assert seconds_after(begin, attempts(turned.clock.advance("3h"), topic)) == [0, 600, 600 + 3600, 1200 + 3600]
    job = turned.job(topic, "a")
    assert (job["reason"], job["attempts"], job["rounds"]) == ("retries_exhausted", 2, 1)
    assert [(a.attempt, a.headers.get("duepost-round")) for a in receiver.of(topic)] == [(1, None), (2, None), (1, "2"), (2, "2")]
    turned.run(topic, "a").expect(202)  # starts over
    turned.clock.settle()
    assert (receiver.of(topic)[4].attempt, receiver.of(topic)[4].headers.get("duepost-round")) == (1, None)


@pytest.mark.parametrize("value", ["", "0", "0.5", "-1", "soon", "366d", "30, 40", "Sun, 06 Nov 1994 08:49:37 GMT", "x" * 1000])
def test_an_invalid_duepost_again_is_a_failed_attempt(server, receiver, topic, value):
    receiver.script(topic, again(value))
    server.schedule(topic=topic, jobId="a", url=receiver.url(), retry=0)
    job = server.wait_for_state(topic, "a", "dead")
    last = job["lastAttempt"]
    assert (job["reason"], last["error"]) == ("retries_exhausted", "protocol") and "rounds" not in job
    assert f"Duepost-Again: {value[:20]}" in last["errorDetail"] and "an HTTP date" in last["errorDetail"]


def test_two_values_of_duepost_again_are_invalid(server, receiver, topic):
    receiver.script(topic, Answer(200, headers=(("Duepost-Again", "30"), ("duepost-again", "30"))))
    server.schedule(topic=topic, jobId="a", url=receiver.url(), retry=0)
    assert "Duepost-Again: 30, 30;" in server.wait_for_state(topic, "a", "dead")["lastAttempt"]["errorDetail"]


def test_other_answers_do_not_ask_for_it(server, receiver, topic):
    receiver.script(topic, again(3600, 503), again(3600, 410))
    server.schedule(topic=topic, jobId="a", url=receiver.url(), retrySchedule=[0.05])
    job = server.wait_for_state(topic, "a", "dead")
    assert (job["reason"], job["attempts"]) == ("gone", 2) and "rounds" not in job


def test_the_ttl_bounds_the_rounds(turned, receiver, topic):
    receiver.script(topic, again(3600))
    begin = turned.clock.now()
    turned.schedule(topic=topic, jobId="a", url=receiver.url(), ttl="150m")
    assert seconds_after(begin, attempts(turned.clock.advance("1d"), topic)) == [0, 3600, 7200]
    job = turned.job(topic, "a")
    assert (job["state"], job["reason"], job["rounds"]) == ("dead", "expired", 3) and receiver.count(topic) == 3
    assert 0 <= to_ms(job["deadAt"]) - to_ms(job["expiresAt"]) < 1000


def test_after_the_last_round_the_job_is_dead(start, redis, receiver, topic):
    node = redis()
    server = start("--breaker", "off", redis=node)
    receiver.script(topic, again(1))
    server.schedule(topic=topic, jobId="a", url=receiver.url(), delay=3600)
    record = {"createdAt": int(time.time() * 1000), "url": receiver.url(), "rounds": 9999, "needs": ["rounds"]}
    assert node.command("HSET", "duepost:{0}:jobs", f"{topic}/a", json.dumps(record, separators=(",", ":"))) == b":0\r\n"
    server.run(topic, "a").expect(202)
    job = server.wait_for_state(topic, "a", "dead", 20)
    assert (job["reason"], job["rounds"]) == ("rounds", 10_000)
    assert receiver.of(topic)[0].headers["duepost-round"] == "10000"


def test_a_patch_keeps_the_rounds_and_a_put_begins_anew(server, receiver, topic):
    receiver.script(topic, again(3600), 200)
    server.schedule(topic=topic, jobId="a", url=receiver.url())
    rounds(server, topic, 1)
    path = f"/jobs/{topic}/a"
    server.request("PATCH", path, json.dumps({"labels": ["x"]}), JSON).expect(200)
    assert server.get(path).expect(200)["rounds"] == 1
    server.request("PUT", path, json.dumps({"url": receiver.url()}), JSON).expect(200)
    until(lambda: receiver.count(topic) == 2, 20, "the new job")
    assert "duepost-round" not in receiver.of(topic)[1].headers


def test_a_waiting_round_is_cancelled(turned, receiver, topic):
    receiver.script(topic, again("2h"))
    turned.schedule(topic=topic, jobId="a", url=receiver.url())
    turned.clock.advance("1h")
    assert turned.job(topic, "a")["rounds"] == 1
    turned.cancel(topic, "a").expect(200)
    turned.clock.advance("1d")
    assert receiver.count(topic) == 1 and turned.job(topic, "a") is None


def test_pause_and_limits_hold_each_round(server, receiver, topic):
    """The limits of the topic apply to each round: one attempt at a time, and none while the topic is paused."""
    def set_topic(**settings):
        server.request("PATCH", f"/topics/{topic}", json.dumps(settings), JSON).expect(200)
    set_topic(maxInFlight=1)
    for i in range(3):
        receiver.script(topic, again(1, delay=0.1), Answer(200, delay=0.1), job_id=f"j{i}")
        server.schedule(topic=topic, jobId=f"j{i}", url=receiver.url())
    for i in range(3):
        until(lambda i=i: receiver.of(topic, f"j{i}"), 20, "the first rounds")
    set_topic(paused=True)
    until(lambda: server.get(f"/jobs/count?topic={topic}&state=leased").expect(200)["count"] == 0, 20, "no attempt is under way")
    began = receiver.count(topic)
    time.sleep(1.5)
    assert receiver.count(topic) == began
    set_topic(paused=None)
    until(lambda: receiver.count(topic) == 6, 30, "all rounds")
    arrivals = sorted(receiver.of(topic), key=lambda a: a.at_ms)
    assert all(later.at_ms >= earlier.answered_at_ms for earlier, later in zip(arrivals, arrivals[1:]))


def test_each_round_is_signed_under_one_id(server, receiver, topic):
    server.request("PUT", f"/topics/{topic}", json.dumps({"secrets": [KEY]}), JSON).expect(200)
    receiver.script(topic, again(1), 200)
    server.schedule(topic=topic, jobId="a", url=receiver.url(), method="PUT", bodyBase64="/w==")
    until(lambda: receiver.count(topic) == 2, 20, "two rounds")
    for arrival in receiver.of(topic):
        signed = f"{arrival.headers['webhook-id']}.{arrival.headers['webhook-timestamp']}.".encode() + arrival.body
        digest = hmac.digest(base64.b64decode(KEY.removeprefix("whsec_")), signed, hashlib.sha256)
        assert (arrival.method, arrival.body) == ("PUT", b"\xff")
        assert arrival.headers["webhook-signature"] == "v1," + base64.b64encode(digest).decode()
    assert len({a.headers["webhook-id"] for a in receiver.of(topic)}) == 1


def test_the_same_request_again_finds_the_waiting_job(server, receiver, topic):
    receiver.script(topic, again(3600))
    members = {"topic": topic, "jobId": "a", "url": receiver.url()}
    server.post(members, headers={"Idempotency-Key": topic}).expect(201)
    rounds(server, topic, 1)
    server.post(members).expect(200)
    server.post(members, headers={"Idempotency-Key": topic}).expect(201)
    assert receiver.count(topic) == 1 and server.job(topic, "a")["rounds"] == 1


def test_rounds_are_counted_and_are_no_retries(start, receiver, topic):
    """Uses its own server, because metrics name only the first 100 topics of a process."""
    server = start("--breaker", "off")
    receiver.script(topic, again(1), 500, 200)
    server.schedule(topic=topic, jobId="a", url=receiver.url(), retrySchedule=[0.05])
    until(lambda: receiver.count(topic) == 3, 30, "two rounds")
    server.wait_for_state(topic, "a", None)

    def counts():
        text = server.get("/metrics").body.decode()
        return [f'duepost_attempts_total{{topic="{topic}",result="{result}"}} 1' in text for result in ("not_yet", "5xx", "delivered")]
    until(lambda: counts() == [True] * 3, 10, "the attempts are counted")
    hour = server.get(f"/topics/{topic}").expect(200)["lastHour"]
    assert (hour["delivered"], hour["retried"], hour["dead"]) == (1, 1, 0)


def test_a_round_survives_a_restart(start, redis, receiver, topic):
    node = redis()
    server = start("--breaker", "off", redis=node)
    receiver.script(topic, again(2), 200)
    server.schedule(topic=topic, jobId="a", url=receiver.url())
    rounds(server, topic, 1)
    server.kill()
    server = start("--breaker", "off", redis=node)
    until(lambda: receiver.count(topic) == 2, 30, "the second round")
    server.wait_for_state(topic, "a", None)
    assert receiver.of(topic)[1].headers["duepost-round"] == "2" and gaps(receiver, topic)[0] >= 2


def test_a_due_time_of_its_own_is_before_the_first_round_only(turned, receiver, topic):
    receiver.script(topic, again("1h"), 200)
    due = turned.clock.now() + 1800_000
    turned.schedule(topic=topic, jobId="a", url=receiver.url(), dueAt=from_ms(due))
    assert seconds_after(due, attempts(turned.clock.advance("1d"), topic)) == [0, 3600]
