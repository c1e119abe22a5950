"""Cancel: after the answer to a cancel, no attempt of the job begins."""

import random
import time

from patience import until, watch
from receiver import HANG, Answer
from timestamp import to_ms


def test_a_delayed_job_is_cancelled(server, receiver, topic):
    server.schedule(topic=topic, jobId="a", url=receiver.url(), delay=0.7)
    assert server.cancel(topic, "a").expect(200) == {"state": "cancelled", "attemptInFlight": False}
    assert server.job(topic, "a") is None
    server.cancel(topic, "a").expect(404)
    watch(1.5, lambda: not receiver.count(topic), "an attempt after the cancel")


def test_a_ready_job_is_cancelled(start, receiver, topic):
    server = start("--max-in-flight-topic", "1")
    receiver.script(topic, Answer(200, delay=1), job_id="first")
    server.schedule(topic=topic, jobId="first", url=receiver.url())
    server.wait_for_state(topic, "first", "leased")
    server.schedule(topic=topic, jobId="a", url=receiver.url())
    server.wait_for_state(topic, "a", "ready")
    assert server.cancel(topic, "a").expect(200)["attemptInFlight"] is False
    server.wait_for_state(topic, "first", None)
    watch(1, lambda: not receiver.of(topic, "a"), "an attempt after the cancel")


def test_a_leased_job_is_cancelled_and_never_retried(server, receiver, topic):
    receiver.script(topic, Answer(500, delay=0.7))
    server.schedule(topic=topic, jobId="a", url=receiver.url(), retrySchedule=[0.1])
    server.wait_for_state(topic, "a", "leased")
    until(lambda: receiver.count(topic), 5, "the attempt")
    assert server.cancel(topic, "a").expect(200) == {"state": "cancelled", "attemptInFlight": True}
    server.cancel(topic, "a").expect(404)
    watch(2, lambda: receiver.count(topic) == 1 and not server.job(topic, "a"), "an attempt after the cancel")


def test_a_job_that_waits_for_its_retry_is_cancelled(server, receiver, topic):
    receiver.script(topic, 500)
    server.schedule(topic=topic, jobId="a", url=receiver.url(), retrySchedule=[0.8])
    until(lambda: server.job(topic, "a")["attempts"] == 1, 5, "a failed attempt")
    assert server.cancel(topic, "a").expect(200)["attemptInFlight"] is False
    watch(1.5, lambda: receiver.count(topic) == 1, "an attempt after the cancel")


def test_a_dead_job_is_removed(server, receiver, topic):
    receiver.script(topic, 410)
    server.schedule(topic=topic, jobId="a", url=receiver.url())
    server.wait_for_state(topic, "a", "dead")
    assert server.cancel(topic, "a").expect(200) == {"state": "cancelled", "attemptInFlight": False}
    assert server.job(topic, "a") is None
    server.cancel(topic, "a").expect(404)


def test_the_outcome_of_a_cancelled_attempt_does_not_touch_the_next_job_of_that_id(server, receiver, topic):
    receiver.script(topic, Answer(200, delay=0.8), 200)
    server.schedule(topic=topic, jobId="a", url=receiver.url(), body=1)
    server.wait_for_state(topic, "a", "leased")
    assert server.cancel(topic, "a").expect(200)["attemptInFlight"] is True
    server.schedule(topic=topic, jobId="a", url=receiver.url(), body=2, delay=2)
    watch(1.5, lambda: server.job(topic, "a"), "the new job went with the old attempt")
    server.wait_for_state(topic, "a", None)
    assert [a.body for a in receiver.of(topic)] == [b"1", b"2"]


def test_a_job_that_replaces_a_cancelled_one_just_before_its_due_time_is_never_early(server, receiver, topic):
    """The new job must not get the due time of the cancelled job. The test replaces hundreds of jobs."""
    rng = random.Random(2)
    expected = {}

    def all_are_gone():
        return all(server.job(topic, f"j{k}") is None for k in range(100))
    for i in range(400):
        if i % 100 == 0:
            until(all_are_gone, 10, "delivery of all")
        job_id = f"j{i % 100}"
        first = server.post({"topic": topic, "jobId": job_id, "url": receiver.url(), "body": f"{i} old",
                             "delay": round(rng.uniform(0.001, 0.02), 3)})
        first.expect(201)
        time.sleep(rng.uniform(0, 0.02))
        if server.cancel(topic, job_id).status == 404:
            continue
        again = server.schedule(topic=topic, jobId=job_id, url=receiver.url(), body=f"{i} new",
                                delay=round(rng.uniform(0.1, 0.3), 3))
        expected[f"{i} new"] = to_ms(again["dueAt"])
    until(all_are_gone, 10, "delivery of all")
    arrived = {a.body.decode(): a.at_ms for a in receiver.of(topic)}
    assert len(expected) > 100
    for body, due in expected.items():
        assert arrived[body] >= due, f"{body}: {due - arrived[body]} ms early"
    bodies = [a.body for a in receiver.of(topic)]
    assert len(bodies) == len(set(bodies)), "delivered twice"


def test_cancels_that_race_with_deliveries_are_exact(server, receiver, topic):
    """If the answer to the cancel says attemptInFlight false, the job never arrives. If it is 404, the job has
    arrived."""
    answers = {}
    for i in range(200):
        server.schedule(topic=topic, jobId=str(i), url=receiver.url(), delay=0.01)
    for i in range(200):
        answers[str(i)] = server.cancel(topic, str(i))
    until(lambda: all(server.job(topic, str(i)) is None for i in range(200)), 10, "all gone")
    watch(0.5, lambda: True, "")
    for job_id, answer in answers.items():
        arrivals = len(receiver.of(topic, job_id))
        if answer.status == 404:
            assert arrivals == 1
        elif not answer.json["attemptInFlight"]:
            assert arrivals == 0
        else:
            assert arrivals <= 1


def test_a_cancel_of_a_hanging_attempt_frees_its_place(start, receiver, topic):
    server = start("--max-in-flight-topic", "1")
    receiver.script(topic, HANG, job_id="hangs")
    server.schedule(topic=topic, jobId="hangs", url=receiver.url(), timeout=2)
    server.wait_for_state(topic, "hangs", "leased")
    server.cancel(topic, "hangs").expect(200)
    server.schedule(topic=topic, jobId="next", url=receiver.url())
    server.wait_for_state(topic, "next", None)
