"""maxInFlight is exact at the receiver, whatever clients do to the jobs."""

import datetime
import json
import time

import pytest

from clock import MovableClock
from patience import until
from receiver import Answer, HANG
import scratch


def most_at_once(arrivals):
    """Returns the highest number of requests that were in flight at the receiver at one time."""
    changes = [(arrival.at_ms, 1) for arrival in arrivals]
    changes += [(arrival.answered_at_ms, -1) for arrival in arrivals if arrival.answered_at_ms]
    most = count = 0
    for _, change in sorted(changes):
        count += change
        most = max(most, count)
    return most


def limit(server, topic, number):
    server.request("PUT", f"/topics/{topic}", f'{{"maxInFlight": {number}}}', {"Content-Type": "application/json"}).expect(200)


def test_the_attempt_of_a_cancelled_job_keeps_its_place(server, receiver, topic):
    limit(server, topic, 1)
    receiver.script(topic, Answer(delay=0.5))
    for count in range(1, 5):
        server.schedule(topic=topic, jobId="a", url=receiver.url())
        until(lambda: receiver.count(topic) == count, 10, f"attempt {count}")
        assert server.cancel(topic, "a").expect(200)["attemptInFlight"]
    server.schedule(topic=topic, jobId="a", url=receiver.url())
    server.wait_for_state(topic, "a", None)
    assert receiver.count(topic) == 5 and most_at_once(receiver.of(topic)) == 1


def test_the_place_is_renewed_as_long_as_the_attempt_runs(server, receiver, topic):
    limit(server, topic, 1)
    receiver.script(topic, Answer(delay=7), Answer())
    server.schedule(topic=topic, jobId="a", url=receiver.url())
    until(lambda: receiver.count(topic) == 1, 10, "the first attempt")
    server.cancel(topic, "a").expect(200)
    server.schedule(topic=topic, jobId="a", url=receiver.url())
    server.wait_for_state(topic, "a", None, 15)
    first, second = receiver.of(topic)
    assert second.at_ms >= first.answered_at_ms


def test_the_place_of_a_lost_process_comes_back(start, redis, receiver, topic):
    own = redis()
    servers = [start(redis=own), start(redis=own)]
    limit(servers[0], topic, 1)
    receiver.script(topic, HANG, Answer())
    servers[0].schedule(topic=topic, jobId="a", url=receiver.url())
    until(lambda: receiver.count(topic) == 1, 10, "the first attempt")
    servers[0].cancel(topic, "a").expect(200)
    servers[0].schedule(topic=topic, jobId="b", url=receiver.url())
    busy = [server for server in servers if b"\nduepost_in_flight 1" in server.get("/metrics").body]
    assert len(busy) == 1, "one of them has the attempt"
    began = time.monotonic()
    busy[0].kill()
    other, = [server for server in servers if server not in busy]
    other.wait_for_state(topic, "b", None, 20)
    assert time.monotonic() - began > 2, "the lease of the lost one has to run out first"


@pytest.mark.parametrize("number", [1, 5])
def test_max_in_flight_is_exact_for_a_process(start, redis, receiver, topic, number):
    server = start("--max-in-flight", str(number), "--reactors", "4", redis=redis())
    receiver.script(topic, Answer(delay=0.2))
    server.schedule_many([{"topic": topic, "url": receiver.url()} for _ in range(4 * number)])
    until(lambda: sum(bool(arrival.answered_at_ms) for arrival in receiver.of(topic)) == 4 * number, 15, "all of them")
    assert most_at_once(receiver.of(topic)) == number


def test_a_process_without_attempts_leaves_the_jobs_to_others(start, redis, receiver, topic):
    """Its jobs are delivered by another process, and by itself when a reload gives it attempts."""
    shared, file = redis(), scratch.file("conf")
    file.write_text("max-in-flight = 0\n")
    quiet = start("--config", str(file), redis=shared)
    quiet.schedule(topic=topic, jobId="a", url=receiver.url())
    assert json.loads(quiet.get(f"/jobs/{topic}/a/why").body)["why"] == "in_turn"
    other = start(redis=shared)
    quiet.wait_for_state(topic, "a", None)
    other.stop()
    quiet.schedule(topic=topic, jobId="b", url=receiver.url())
    assert quiet.job(topic, "b")["state"] == "ready"
    file.write_text("max-in-flight = 1\n")
    quiet.reload()
    quiet.wait_for_state(topic, "b", None)
    assert [arrival.job_id for arrival in receiver.of(topic)] == ["a", "b"]


def settings(server, topic, **members):
    server.request("PUT", f"/topics/{topic}", json.dumps(members), {"Content-Type": "application/json"}).expect(200)


def test_expired_jobs_do_not_use_up_a_rate(server, receiver, topic):
    rate = {"jobs": 5, "per": 1, "burst": 1}
    settings(server, topic, paused=True, rate=rate)
    gone = [{"topic": topic, "jobId": f"gone-{i}", "url": receiver.url(), "ttl": 0.5} for i in range(500)]
    server.request("POST", "/jobs", json.dumps(gone), {"Content-Type": "application/json"}).expect(207)
    for i in range(5):
        server.schedule(topic=topic, jobId=f"live-{i}", url=receiver.url())
    time.sleep(0.6)  # until all jobs with a ttl have expired; then some are dead already
    settings(server, topic, rate=rate)
    until(lambda: receiver.count(topic) == 5, 6, lambda: f"5 attempts, there were {receiver.count(topic)}")
    server.wait_for_state(topic, "gone-499", "dead")
    assert {arrival.job_id for arrival in receiver.of(topic)} == {f"live-{i}" for i in range(5)}


def test_jobs_of_one_instant_are_delivered_as_they_came(server, receiver, topic):
    settings(server, topic, maxInFlight=1)
    due = (datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=1)).isoformat(timespec="milliseconds")
    jobs = [{"topic": topic, "jobId": f"{i * 7919 % 1000}-{i}", "url": receiver.url(), "dueAt": due} for i in range(150)]
    for some in jobs[:80], jobs[80:]:
        server.request("POST", "/jobs", json.dumps(some), {"Content-Type": "application/json"}).expect(207)
    until(lambda: receiver.count(topic) == 150, 20, lambda: f"150 deliveries, there were {receiver.count(topic)}")
    assert [arrival.job_id for arrival in receiver.of(topic)] == [job["jobId"] for job in jobs]


def test_a_job_that_ends_its_process_takes_no_other_job_along(start, redis, receiver, topic):
    """A receiver whose answer ends the process: here, the test kills the process when the request arrives. The first
    two losses also hit the jobs that are in flight with it. After that, these jobs are attempted one at a time, together with
    all jobs that have lost no process, so only the job at fault is lost five times."""
    clock = MovableClock()
    own = redis(environment=clock.environment)
    innocent = [f"i{number}" for number in range(30)]
    for job_id in innocent:
        receiver.script(topic, HANG, HANG, Answer(delay=0.05), job_id=job_id)
    receiver.script(topic, HANG, job_id="culprit")
    server = start("--breaker", "off", redis=own)
    server.schedule_many([{"topic": topic, "jobId": job_id, "url": receiver.url()} for job_id in [*innocent, "culprit"]])
    for count in 1, 2:
        until(lambda: receiver.count(topic) == 31 * count, 30, lambda: f"{receiver.count(topic)} attempts")
        server.kill()
        server = start("--breaker", "off", redis=own)
    for losses in 3, 4, 5:
        time.sleep(6.5)  # until the lost leases have run out, and their jobs wait
        clock.move_by(1000 * losses)  # over this wait
        until(lambda: len(receiver.of(topic, "culprit")) == losses, 40, f"attempt {losses} of the culprit")
        others = [{"topic": f"{topic}.other", "jobId": f"{losses}-{number}", "url": receiver.url()} for number in range(50)]
        server.schedule_many(others)
        until(lambda: receiver.count(f"{topic}.other") == 50 * (losses - 2), 10, "jobs that have lost no process, beside the culprit")
        time.sleep(0.5)
        last = receiver.of(topic)[-1].job_id
        assert last == "culprit", f"{last} was attempted beside the culprit"
        server.kill()
        server = start("--breaker", "off", redis=own)
    until(lambda: sum(len(receiver.of(topic, job_id)) == 3 for job_id in innocent) == 30, 30, "all other jobs")
    server.wait_for_state(topic, "culprit", "dead", 30)
    assert server.job(topic, "culprit")["reason"] == "consumer_lost"
    assert most_at_once([receiver.of(topic, job_id)[2] for job_id in innocent]) == 1
    until(lambda: own.command("KEYS", "*suspects") == own.command("KEYS", "*crashes") == b"*0\r\n", 10, "nothing is left of it")
