"""When a failed job is tried again, and when it is given up."""

import email.utils
import json
import time

import pytest

from clock import attempts, seconds_after
from patience import SLOW, until
from receiver import CLOSE, Answer, Receiver
from timestamp import to_ms

def gaps(receiver, topic):
    """Returns the seconds from the end of each attempt to the beginning of the next."""
    arrivals = receiver.of(topic)
    return [(b.at_ms - a.answered_at_ms) / 1000 for a, b in zip(arrivals, arrivals[1:])]


def test_retries_come_in_the_tiers_of_the_schedule(server, receiver, topic):
    receiver.script(topic, 500, 503, 404, 200)
    server.schedule(topic=topic, jobId="a", url=receiver.url(), retrySchedule=[0.2, 1, 0.5])
    server.wait_for_state(topic, "a", None)
    assert [a.attempt for a in receiver.of(topic)] == [1, 2, 3, 4]
    for gap, wait in zip(gaps(receiver, topic), (0.2, 1, 0.5)):
        assert wait <= gap < wait + 0.5 * SLOW


def test_the_wait_counts_from_the_end_of_the_attempt(server, receiver, topic):
    receiver.script(topic, Answer(500, delay=1), 200)
    server.schedule(topic=topic, jobId="a", url=receiver.url(), retrySchedule=[0.5])
    server.wait_for_state(topic, "a", None)
    first, second = receiver.of(topic)
    assert second.at_ms - first.at_ms >= 1500


def test_more_retries_than_steps_repeat_the_last(turned, receiver, topic):
    receiver.script(topic, 500)
    begin = turned.clock.now()
    turned.schedule(topic=topic, jobId="a", url=receiver.url(), retry=4, retrySchedule=[0.05, 1800])
    assert seconds_after(begin, attempts(turned.clock.advance("3h"), topic)) == [0, 0.05, 1800.05, 3600.05, 5400.05]
    assert turned.job(topic, "a")["attempts"] == 5 == receiver.count(topic)


def test_a_job_computes_its_waits(turned, receiver, topic):
    receiver.script(topic, 500, 500, 200)
    wait = "1000 * 3600 * (2 + 5 * retried)"
    turned.schedule(topic=topic, jobId="later", url=receiver.url(), delay="1d", retryWait=wait)
    assert turned.get(f"/jobs/{topic}/later").expect(200)["retryWait"] == wait
    begin = turned.clock.now()
    turned.schedule(topic=topic, jobId="a", url=receiver.url(), retry=2, retryWait=wait)
    assert seconds_after(begin, attempts(turned.clock.advance("10h"), topic)) == [0, 2 * 3600, 9 * 3600]
    refused = turned.post({"topic": topic, "url": receiver.url(), "retryWait": "200 +"})
    assert refused.status == 400 and refused.fields() == ["retryWait"]
    turned.cancel(topic, "later").expect(200)


@pytest.mark.parametrize("members, why", [
    ({"retry": 3, "retryWait": "0/0"}, "is not a number before attempt 2"),
    ({"retry": 3, "retryWait": "-1/0"}, "is infinite before attempt 2"),
    ({"retry": 5, "retryWait": "1000/(4-retried)"}, "is infinite before attempt 6"),
    ({"retry": 100, "retryWait": "pow(10000, retried)"}, "is infinite before attempt 80"),
    ({"retryWait": "pow(10000, retried)"}, "is infinite before attempt 80")])
def test_a_wait_that_no_clock_can_count_is_refused(server, topic, members, why):
    refused = server.post({"topic": topic, "url": "http://127.0.0.1:9/", **members})
    assert refused.status == 400 and refused.fields() == ["retryWait"] and why in refused.json["errors"][0]["detail"]


def test_only_the_waits_that_can_come_must_be_numbers(server, topic):
    server.schedule(topic=topic, jobId="a", url="http://127.0.0.1:9/", delay=3600, retry=4, retryWait="1000/(4-retried)")
    server.schedule(topic=topic, jobId="b", url="http://127.0.0.1:9/", delay=3600, retry=0, retryWait="0/0")
    changed = change(server, topic, "a", retry=5)
    assert changed.status == 400 and changed.fields() == ["retryWait"]


def change(server, topic, name, **members):
    return server.request("PATCH", f"/jobs/{topic}/{name}", json.dumps(members), {"Content-Type": "application/json"})


def failed(server, topic, name, attempts=1):
    job = server.job(topic, name)
    return job and job["state"] == "delayed" and job["attempts"] == attempts and job


@pytest.mark.parametrize("members", [{"retry": 0}, {"retrySchedule": []}, {"retry": 0, "delay": 60, "body": "new"}])
def test_a_patch_that_takes_the_retries_away_ends_the_job_at_once(server, receiver, topic, members):
    receiver.script(topic, 503)
    server.schedule(topic=topic, jobId="a", url=receiver.url(), retrySchedule=[3600, 3600], onDead=receiver.url("/dead"))
    until(lambda: failed(server, topic, "a"), 10, "the first attempt has failed")
    server.request("PATCH", f"/topics/{topic}", json.dumps({"paused": True}), {"Content-Type": "application/json"}).expect(200)
    dead = change(server, topic, "a", **members)
    assert (dead.status, dead.json["state"], dead.json["reason"], dead.json["attempts"]) == (200, "dead", "retries_exhausted", 1)
    read = server.get(f"/jobs/{topic}/a")
    assert read.json == {**dead.json, "keptUntil": read.json["keptUntil"]} and read.json["lastAttempt"]["status"] == 503
    assert read.headers["ETag"] == dead.headers["ETag"]
    until(lambda: receiver.count(f"{topic}~callbacks") == 1, 10, "onDead")
    assert json.loads(receiver.of(f"{topic}~callbacks")[0].body)["reason"] == "retries_exhausted"
    assert receiver.count(topic) == 1
    assert server.request("POST", f"/jobs/{topic}/a/run").status == 202


def test_a_patch_that_leaves_retries_or_comes_before_the_first_attempt_ends_nothing(server, receiver, topic):
    receiver.script(topic, 503)
    server.schedule(topic=topic, jobId="a", url=receiver.url(), retrySchedule=[3600, 3600])
    server.schedule(topic=topic, jobId="b", url=receiver.url(), delay=3600)
    until(lambda: failed(server, topic, "a"), 10, "the first attempt has failed")
    assert change(server, topic, "a", retry=1).json["state"] == "delayed"
    assert change(server, topic, "b", retry=0).json["state"] == "delayed"


@pytest.mark.parametrize("is_set_back", [False, True])
def test_the_shorter_schedule_of_a_topic_counts_when_the_retry_is_due(turned, receiver, topic, is_set_back):
    receiver.script(topic, 503)
    begin = turned.clock.now()
    settings = lambda *waits: turned.request("PUT", f"/topics/{topic}", json.dumps({"retrySchedule": waits}), {"Content-Type": "application/json"}).expect(200)
    settings("1h", "5m")
    turned.schedule(topic=topic, jobId="a", url=receiver.url(), onDead=receiver.url("/dead"))
    sent = attempts(turned.clock.advance("1m"), topic)
    settings()
    sent += attempts(turned.clock.advance("58m"), topic)
    assert turned.job(topic, "a")["state"] == "delayed"
    if is_set_back:
        settings("1h", "5m")
    sent += attempts(turned.clock.advance("1h"), topic)
    assert seconds_after(begin, sent) == ([0, 3600, 3900] if is_set_back else [0])
    job = turned.job(topic, "a")
    assert (job["state"], job["reason"], job["attempts"]) == ("dead", "retries_exhausted", len(sent)) and job["lastAttempt"]["status"] == 503
    assert to_ms(job["deadAt"]) - begin == (3900_000 if is_set_back else 3600_000)
    assert receiver.count(topic) == len(sent) and receiver.count(f"{topic}~callbacks") == 1


def test_without_retry_there_are_as_many_as_steps(server, receiver, topic):
    receiver.script(topic, 500)
    server.schedule(topic=topic, jobId="a", url=receiver.url(), retrySchedule=[0.05, 0.05])
    assert server.wait_for_state(topic, "a", "dead")["attempts"] == 3


@pytest.mark.parametrize("members", [{"retry": 0}, {"retrySchedule": []}, {"retry": 0, "retrySchedule": [1]}], ids=str)
def test_no_retries_means_one_attempt(server, receiver, topic, members):
    receiver.script(topic, 500)
    server.schedule(topic=topic, jobId="a", url=receiver.url(), **members)
    assert server.wait_for_state(topic, "a", "dead")["attempts"] == 1
    assert receiver.count(topic) == 1


def test_fewer_retries_than_steps_use_the_first(server, receiver, topic):
    receiver.script(topic, 500)
    server.schedule(topic=topic, jobId="a", url=receiver.url(), retry=1, retrySchedule=[0.05, 60])
    assert server.wait_for_state(topic, "a", "dead")["attempts"] == 2


def test_the_servers_schedule_is_an_option(start, receiver, topic):
    server = start("--retry-schedule", "100ms 0.2")
    receiver.script(topic, 500)
    server.schedule(topic=topic, jobId="a", url=receiver.url())
    job = server.wait_for_state(topic, "a", "dead")
    assert job["attempts"] == 3 and job["retrySchedule"] == [0.1, 0.2] and job["retry"] == 2


@pytest.mark.parametrize("spell", [lambda: "2", lambda: email.utils.formatdate(time.time() + 3, usegmt=True)],
                         ids=["seconds", "date"])
def test_retry_after_makes_the_wait_longer(server, receiver, topic, spell):
    receiver.script(topic, Answer(503, (("Retry-After", spell()),)), 200)
    server.schedule(topic=topic, jobId="a", url=receiver.url(), retrySchedule=[0.1])
    server.wait_for_state(topic, "a", None)
    assert 1.9 <= gaps(receiver, topic)[0] < 4 + SLOW


def test_retry_after_never_makes_the_wait_shorter(server, receiver, topic):
    receiver.script(topic, Answer(503, (("Retry-After", "0"),)), 200)
    server.schedule(topic=topic, jobId="a", url=receiver.url(), retrySchedule=[1])
    server.wait_for_state(topic, "a", None)
    assert gaps(receiver, topic)[0] >= 1


@pytest.mark.parametrize("value, wait", [("999999", 86400), ("9999999999", 86400), ("nonsense", 60), ("-5", 60),
                                         ("Fri, 31 Dec 2100 23:59:59 GMT", 86400)])
def test_retry_after_counts_at_most_a_day(server, receiver, topic, value, wait):
    receiver.script(topic, Answer(429, (("Retry-After", value),)))
    server.schedule(topic=topic, jobId="a", url=receiver.url(), retrySchedule=[60])
    job = until(lambda: (job := server.job(topic, "a"))["attempts"] and job, 5, "an attempt")
    ended = to_ms(job["lastAttempt"]["at"]) + job["lastAttempt"]["durationMs"]
    assert wait - 1 <= (to_ms(job["dueAt"]) - ended) / 1000 <= wait + 2


def test_410_is_dead_at_once(server, receiver, topic):
    receiver.script(topic, 410)
    server.schedule(topic=topic, jobId="a", url=receiver.url(), retrySchedule=[0.05])
    job = server.wait_for_state(topic, "a", "dead")
    assert job["reason"] == "gone" and job["attempts"] == 1 and job["lastAttempt"]["status"] == 410


def test_errors_are_retried_as_answers_are(server, receiver, topic):
    receiver.script(topic, CLOSE, 500, 200)
    server.schedule(topic=topic, jobId="a", url=receiver.url(), retrySchedule=[0.05, 0.05])
    server.wait_for_state(topic, "a", None)
    assert [a.attempt for a in receiver.of(topic)] == [1, 2, 3]


@pytest.fixture
def kept(start):
    """Yields a server, a receiver, and a function keep(topic), which leaves one idle connection between the server
    and the receiver."""
    receiver = Receiver()
    server = start("--reactors", "1")

    def keep(topic):
        receiver.script(topic + ".first", 200)
        server.schedule(topic=topic + ".first", jobId="first", url=receiver.url())
        server.wait_for_state(topic + ".first", "first", None)
    yield server, receiver, keep
    receiver.stop()


@pytest.mark.parametrize("members", [{"retry": 0}, {"retrySchedule": []}, {"retry": 1, "retrySchedule": [3600]}], ids=str)
def test_a_connection_that_is_closed_while_idle_costs_no_retry(kept, topic, members):
    server, receiver, keep = kept
    keep(topic)
    receiver.script(topic, CLOSE, Answer(500))
    server.schedule(topic=topic, jobId="a", url=receiver.url(), **members)
    job = until(lambda: (job := server.job(topic, "a"))["attempts"] == 2 and job, 10, lambda: server.job(topic, "a"))
    first, second = receiver.of(topic)
    assert first.connection == receiver.of(topic + ".first")[0].connection != second.connection
    assert (first.attempt, second.attempt) == (1, 2) and first.headers["duepost-job-id"] == second.headers["duepost-job-id"]
    assert job["state"] == ("delayed" if members.get("retry") else "dead")
    listed = server.get(f"/jobs/{topic}/a/attempts").expect(200)["attempts"]
    assert [(one["attempt"], one.get("error"), one.get("status")) for one in listed] == [(1, "reset", None), (2, None, 500)]
    assert to_ms(listed[1]["at"]) - first.at_ms < 1000 * SLOW


def test_only_the_first_of_them_is_free(kept, topic):
    server, receiver, keep = kept
    keep(topic)
    receiver.script(topic, CLOSE, job_id="a")
    server.schedule(topic=topic, jobId="a", url=receiver.url(), retry=0)
    job = server.wait_for_state(topic, "a", "dead")
    assert job["attempts"] == 2 and job["reason"] == "retries_exhausted" and receiver.count(topic) == 2
    assert server.log().count("error=reset") == 2

    # When the job is run again, its attempts begin on a new connection.
    keep(topic)
    receiver.script(topic, 500, CLOSE, job_id="a")
    server.run(topic, "a").expect(202)
    until(lambda: receiver.count(topic) == 3, 5, "an attempt")
    assert receiver.of(topic)[2].connection not in {a.connection for a in receiver.of(topic + ".first")}


def test_a_receiver_that_closes_what_is_idle_loses_nothing(start, topic):
    """Some receivers close the connection right after an answer without announcing it. Others do so after their
    keep-alive timeout."""
    receiver = Receiver(closes_idle_after=0.002)
    server = start("--reactors", "1")
    try:
        server.schedule_many({"topic": topic, "jobId": str(i), "url": receiver.url(), "retry": 0, "delay": i / 1000} for i in range(1000))
        until(lambda: server.get(f"/jobs/count?state=delayed&topic={topic}").expect(200)["count"] == 0, 20, "all are due")
        until(lambda: len({a.job_id for a in receiver.of(topic)}) == 1000, 20, lambda: receiver.count(topic))
        until(lambda: server.get(f"/jobs/count?state=leased&topic={topic}").expect(200)["count"] == 0, 5, "all are over")
        assert server.get(f"/jobs?state=dead&topic={topic}").expect(200)["jobs"] == []
    finally:
        receiver.stop()
