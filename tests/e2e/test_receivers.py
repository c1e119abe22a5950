"""The circuit breaker opens for receivers that cannot be reached and for paths that fail. Receivers that ask for
fewer attempts get a limit. All processes share both."""

import json
import signal
import time

import pytest

from clock import MANUAL, ManualClock, attempts
from patience import SLOW, until, watch
from receiver import CLOSE, HANG, Answer, Receiver
from redis_server import free_port, release_port
from timestamp import to_ms

JSON, MERGE = {"Content-Type": "application/json"}, {"Content-Type": "application/merge-patch+json"}
WAIT = 1.0  # s, the --breaker-wait of these tests
FAILURES = 20


@pytest.fixture
def receiver():
    """Returns a receiver that no other test uses."""
    started = Receiver()
    yield started
    started.stop()


def name_of(receiver):
    return f"127.0.0.1:{receiver.port}"


@pytest.fixture
def start(start):
    """Starts a duepost with one reactor. Tests with two processes show what another reactor has not seen yet."""
    def one(*options, **named):
        return start("--reactors", "1", *options, **named)
    return one


def start_one(start, *options, **named):
    return start("--breaker-wait", f"{WAIT}s", *options, **named)


def start_manual(start, *options):
    """Returns the server and its clock."""
    server = start(*MANUAL, *options)
    return server, ManualClock(server)


def settings(server, topic, **some):
    server.request("PUT", f"/topics/{topic}", json.dumps(some), JSON).expect(200)


PATH = "/hook"  # the path of receiver.url()


def all_known(server):
    """Returns all entries of GET /receivers: {name: entry of a receiver, name + path: entry of one of its paths}."""
    return {one["receiver"] + one.get("path", ""): one for one in server.get("/receivers").expect(200)["receivers"]}


def known(server, receiver):
    """Returns the entry of the receiver's path PATH, which counts a 503 as a failure. If the path has no entry,
    returns the entry of the receiver."""
    found = all_known(server)
    return found.get(name_of(receiver) + PATH, found.get(name_of(receiver)))


def close(server, name):
    return server.request("POST", f"/receivers/{name}/close")


def fail(server, receiver, topic, count=FAILURES, status=503, name="f"):
    """Causes this number of failures in a row. For each failure, a new job is scheduled, which is dead after its only
    attempt."""
    before = receiver.count(topic)
    receiver.script(topic, status)
    for i in range(count):
        server.schedule(topic=topic, jobId=f"{name}{before + i}", url=receiver.url(), retry=0)
    until(lambda: receiver.count(topic) >= before + count, 10, lambda: f"{receiver.count(topic) - before} of {count} failures")


def open_breaker(server, receiver, topic, **how):
    fail(server, receiver, topic, **how)
    return until(lambda: (known(server, receiver) or {}).get("state") == "open" and known(server, receiver), 5, "an open breaker")


def hold(server, receiver, topic, count, of=None):
    """Schedules this number of jobs, and waits until the open breaker holds them. of: number of held jobs in the
    topic to wait for; default: count."""
    receiver.script(topic, 200)
    jobs = [{"topic": topic, "jobId": f"held{i}", "url": receiver.url()} for i in range(count)]
    server.request("POST", "/jobs", json.dumps(jobs), JSON).expect(207)
    until(lambda: server.get(f"/topics/{topic}").expect(200)["jobs"]["held"] == (of or count), 20 * SLOW, f"all of {topic} are held")


def await_known(*servers, is_open=True):
    """Waits until each process has seen the breaker."""
    until(lambda: all(number(server, "duepost_receivers_open") == is_open for server in servers), 2, "known to each")


def number(server, series):
    lines = server.get("/metrics").body.decode().splitlines()
    return next(float(line.split()[1]) for line in lines if line.startswith(series + " "))


# ---- the breaker ----

def test_a_breaker_opens_is_probed_once_and_closes(start, receiver, topic):
    server = start_one(start)
    opened = open_breaker(server, receiver, topic)
    assert opened["failures"] == FAILURES and opened["lastFailure"]["status"] == 503
    assert to_ms(opened["probeAt"]) - to_ms(opened["openSince"]) == pytest.approx(WAIT * 1000, abs=2)
    for i in range(5):
        server.schedule(topic=topic, jobId=f"j{i}", url=receiver.url(), retrySchedule=[0.1] * 5)

    # At first, the breaker holds the jobs without an attempt. Then one of the jobs probes the receiver.
    until(lambda: server.job(topic, "j0")["state"] == "delayed", 5, "a held job")
    watch(0.4, lambda: receiver.count(topic) == FAILURES, "an attempt while the breaker is open")
    assert server.job(topic, "j0")["attempts"] == 0
    until(lambda: receiver.count(topic) == FAILURES + 1, 5, "a probe")
    first = receiver.of(topic)[FAILURES].at_ms
    assert first >= to_ms(opened["probeAt"])
    assert first <= to_ms(opened["probeAt"]) + 500 * SLOW

    # The probe failed: the wait doubles, and the attempt counts.
    again = until(lambda: known(server, receiver)["failures"] == FAILURES + 1 and known(server, receiver), 5, "the failure of the probe is recorded")
    assert to_ms(again["probeAt"]) - first == pytest.approx(2000 * WAIT, abs=300 * SLOW)
    receiver.script(topic, 200)
    watch(2 * WAIT - 0.5, lambda: receiver.count(topic) == FAILURES + 1, "an attempt before the wait is over")
    assert sorted(server.job(topic, f"j{i}")["attempts"] for i in range(5)) == [0, 0, 0, 0, 1]

    # The probe succeeded: all other jobs are delivered.
    until(lambda: receiver.count(topic) == FAILURES + 6, 2 * WAIT + 5, lambda: receiver.count(topic))
    assert receiver.of(topic)[FAILURES + 1].at_ms >= to_ms(again["probeAt"])
    closed = until(lambda: known(server, receiver)["state"] == "closed" and known(server, receiver), 5, "closed")
    assert closed["failures"] == 0 and "probeAt" not in closed and "openSince" not in closed
    assert "breaker_opened" in server.log() and "breaker_closed" in server.log()


def test_jobs_that_a_breaker_holds_are_shown_as_held_and_overdue(start, receiver, topic):
    server = start("--breaker-wait", "60s")
    open_breaker(server, receiver, topic)
    for i in range(30):
        server.schedule(topic=topic, jobId=f"held{i}", url=receiver.url())
    server.schedule(topic=topic, jobId="later", url=receiver.url(), delay=600)
    begin = time.time()

    def told():
        return server.get(f"/topics/{topic}").expect(200)
    until(lambda: told()["jobs"]["held"] == 30, 10, told)
    found = told()
    assert (found["jobs"]["delayed"], found["jobs"]["ready"], found["overdue"]) == (1, 0, 30)
    assert found["oldestOverdueAt"] == found["oldestDueAt"] and to_ms(found["oldestOverdueAt"]) <= (begin + 1) * 1000
    until(lambda: number(server, 'duepost_jobs{state="held"}') == 30 and number(server, 'duepost_jobs{state="delayed"}') == 1
          and number(server, "duepost_oldest_overdue_seconds") > 1, 10, "the numbers of all topics")
    server.cancel(topic, "held0").expect(200)
    assert told()["jobs"]["held"] == 29
    receiver.script(topic, 200)
    close(server, name_of(receiver)).expect(200)
    until(lambda: told()["overdue"] == 0, 40, told)
    assert told()["jobs"]["held"] == 0 and "oldestOverdueAt" not in told()


def test_failures_count_in_a_row_only(start, receiver, topic):
    server = start_one(start)
    for status in (200, 404, 500):
        fail(server, receiver, topic, count=FAILURES - 1)
        until(lambda: known(server, receiver)["failures"] == FAILURES - 1, 5, lambda: known(server, receiver))
        fail(server, receiver, topic, count=1, status=status)
        until(lambda: known(server, receiver)["failures"] == 0, 5, lambda: known(server, receiver))
    fail(server, receiver, topic, count=FAILURES + 5, status=500)
    assert known(server, receiver)["state"] == "closed"


@pytest.mark.parametrize("error", ["connect", "reset", "timeout"])
def test_failures_without_an_answer_open_a_breaker(start, receiver, topic, error):
    server, port = start_one(start), free_port()
    receiver.script(topic, CLOSE if error == "reset" else HANG)
    name = f"127.0.0.1:{port}" if error == "connect" else name_of(receiver) + PATH
    for i in range(FAILURES):
        server.schedule(topic=topic, jobId=f"f{i}", url=f"http://127.0.0.1:{port}/" if error == "connect" else receiver.url(), retry=0, timeout=1)
    opened = until(lambda: all_known(server).get(name, {}).get("state") == "open" and all_known(server)[name], 10,
                   lambda: all_known(server))
    assert opened["lastFailure"]["error"] == error
    release_port(port)


def test_jobs_that_wait_for_less_than_a_second_open_no_breaker(start, receiver, topic):
    """The timeout of these jobs is so short that they say nothing about the receiver. If they opened its breaker, it
    would also hold the jobs of other clients."""
    server = start_one(start)
    receiver.script(topic, HANG)
    for i in range(FAILURES + 1):
        server.schedule(topic=topic, jobId=f"f{i}", url=receiver.url(), retry=0, timeout=0.3)
    for i in range(FAILURES + 1):
        server.wait_for_state(topic, f"f{i}", "dead")
    assert known(server, receiver) is None


def test_one_receiver_has_one_breaker_in_every_spelling(start, receiver, topic):
    server = start_one(start, allow="127.0.0.0/8,localhost")
    open_breaker(server, receiver, topic)
    server.schedule(topic=topic, jobId="a", url=f"http://127.1:{receiver.port}{PATH}?x=y")
    until(lambda: server.job(topic, "a")["state"] == "delayed", 5, "a held job")
    receiver.script(topic, 200)
    server.schedule(topic=topic, jobId="b", url=f"http://localhost:{receiver.port}{PATH}")  # another name of the same host
    until(lambda: receiver.of(topic, "b"), 5, "a delivery")


def test_failures_of_one_path_hold_no_other(start, receiver, topic):
    """Requests without an answer, or with a cut connection, open the breaker of their path, but not the breaker of the receiver."""
    server = start("--breaker-wait", "60s")
    open_breaker(server, receiver, topic)
    for action in (HANG, CLOSE):
        path = f"/bad{action.close}"
        receiver.script(topic + path[1:], action)
        for i in range(FAILURES + 5):
            server.schedule(topic=topic + path[1:], jobId=str(i), url=receiver.url(path), retry=0, timeout=1)
        until(lambda: all_known(server).get(name_of(receiver) + path, {}).get("state") == "open", 10, lambda: all_known(server))
    assert name_of(receiver) not in all_known(server)
    for number, path in enumerate(("/", "/other", PATH + "/", PATH.upper())):
        server.schedule(topic=topic + ".well", jobId=f"a{number}", url=receiver.url(path))
        until(lambda: receiver.of(topic + ".well", f"a{number}"), 5, f"a delivery to {path}")
    server.schedule(topic=topic, jobId="held", url=receiver.url())
    until(lambda: server.job(topic, "held")["state"] == "delayed", 5, "a held job")
    answer = server.get(f"/jobs/{topic}/held/why").expect(200)
    assert answer["why"] == "breaker" and PATH in answer["detail"] and f"/receivers/{name_of(receiver)}/close" in answer["detail"]
    assert PATH not in server.log()  # a path may contain a password

    # One close releases the jobs of all breakers.
    receiver.script(topic, 200)
    close(server, name_of(receiver)).expect(200)
    assert not [one for one in all_known(server).values() if one["state"] != "closed"]
    await_known(server, is_open=False)
    until(lambda: receiver.of(topic, "held"), 5, "the delivery")


def test_a_receiver_that_answers_with_any_status_is_reachable(start, topic):
    """Refused connections open the breaker of the receiver. An answer closes this breaker, even if it is a 503."""
    server, port = start("--breaker-wait", "1s"), free_port()
    name = f"127.0.0.1:{port}"
    for i in range(FAILURES):
        server.schedule(topic=topic, jobId=f"f{i}", url=f"http://{name}{PATH}", retry=0)
    until(lambda: all_known(server).get(name, {}).get("state") == "open", 10, lambda: all_known(server))
    server.schedule(topic=topic, jobId="a", url=f"http://{name}{PATH}", retry=0)
    server.schedule(topic=topic, jobId="b", url=f"http://{name}/b", retry=0)
    release_port(port)
    receiver = Receiver(port=port)
    try:
        receiver.script(topic, 503)
        until(lambda: all_known(server)[name]["state"] == "closed", 10, lambda: all_known(server))
        until(lambda: receiver.count(topic) == 2, 10, "both attempts")
    finally:
        receiver.stop()


def test_while_a_probe_runs_long_another_one_may_try(start, receiver, topic):
    server = start("--breaker-wait", "2s")
    open_breaker(server, receiver, topic)
    receiver.script(topic, Answer(200, delay=60), job_id="slow")
    receiver.script(topic, 200)
    server.schedule(topic=topic, jobId="slow", url=receiver.url(), timeout=100)
    until(lambda: receiver.of(topic, "slow"), 10, "a probe")
    assert known(server, receiver)["state"] == "probing"
    for i in range(50):
        server.schedule(topic=topic, jobId=f"j{i}", url=receiver.url())
    until(lambda: receiver.count(topic) == FAILURES + 51, 10, lambda: (receiver.count(topic), known(server, receiver)))
    assert known(server, receiver)["state"] == "closed"


def test_two_processes_share_a_breaker_and_its_probe(start, redis, receiver, topic):
    shared = redis()
    servers = [start("--breaker-wait", "3s", redis=shared), start("--breaker-wait", "3s", redis=shared)]
    open_breaker(servers[0], receiver, topic)
    await_known(*servers)
    receiver.script(topic, Answer(503, delay=0.3))
    for i in range(20):
        servers[i % 2].schedule(topic=topic, jobId=f"j{i}", url=receiver.url(), retrySchedule=[0.1] * 5)
    until(lambda: receiver.count(topic) == FAILURES + 1, 5, "a probe")
    watch(5, lambda: receiver.count(topic) == FAILURES + 1, "a second probe")
    receiver.script(topic, 200)
    until(lambda: receiver.count(topic) >= FAILURES + 21, 10, lambda: receiver.count(topic))


def test_a_breaker_opens_and_closes_in_other_processes_within_a_second(start, redis, receiver, topic):
    shared = redis()
    servers = [start("--breaker-wait", "60s", redis=shared), start("--breaker-wait", "60s", redis=shared)]
    settings(servers[0], topic, maxInFlight=1000)
    open_breaker(servers[0], receiver, topic)
    await_known(*servers)
    receiver.script(topic, 200)
    for i in range(20):
        servers[i % 2].schedule(topic=topic, jobId=f"j{i}", url=receiver.url())
    watch(1, lambda: receiver.count(topic) == FAILURES, "an attempt while the breaker is open")
    close(servers[1], name_of(receiver)).expect(200)
    assert f"event=receiver_closed who=- from=127.0.0.1 receiver={name_of(receiver)} outcome=done" in servers[1].log()
    await_known(*servers, is_open=False)
    until(lambda: receiver.count(topic) == FAILURES + 20, 5, lambda: receiver.count(topic))


def test_held_jobs_resume_when_the_breaker_closes(start, redis, receiver, topic):
    """All jobs resume, also those that the other process holds, and those of another topic."""
    shared, count = redis(), 1500
    servers = [start("--breaker-wait", "300s", redis=shared), start("--breaker-wait", "300s", redis=shared)]
    open_breaker(servers[0], receiver, topic)
    await_known(*servers)
    receiver.script(topic, 200)
    for server, name in zip(servers, (topic, topic + ".other")):
        jobs = [{"topic": name, "jobId": f"held{i}", "url": receiver.url()} for i in range(count)]
        server.request("POST", "/jobs", json.dumps(jobs), JSON).expect(207)
        until(lambda: server.get(f"/topics/{name}").expect(200)["jobs"]["held"] == count, 20 * SLOW, f"all of {name} are held")
    assert receiver.count(topic) == FAILURES
    closed_ms = time.time() * 1000
    servers[1].request("POST", f"/receivers/{name_of(receiver)}/close").expect(200)
    until(lambda: receiver.count(topic + ".other") == count and receiver.count(topic) == FAILURES + count, 10 * SLOW,
          lambda: (receiver.count(topic), receiver.count(topic + ".other")))
    assert receiver.of(topic)[FAILURES].at_ms - closed_ms < 1000 * SLOW


def test_jobs_resume_when_breakers_are_off_after_a_restart(start, redis, receiver, topic):
    """Even jobs that an open breaker holds for minutes resume."""
    shared, count = redis(), 200
    server = start("--breaker-wait", "300s", redis=shared)
    open_breaker(server, receiver, topic)
    receiver.script(topic, 200)
    jobs = [{"topic": topic, "jobId": f"held{i}", "url": receiver.url()} for i in range(count)]
    server.request("POST", "/jobs", json.dumps(jobs), JSON).expect(207)
    until(lambda: server.get(f"/topics/{topic}").expect(200)["jobs"]["held"] == count, 20 * SLOW, "all are held")
    assert receiver.count(topic) == FAILURES
    server.stop()
    server = start("--breaker", "off", redis=shared)
    until(lambda: receiver.count(topic) == FAILURES + count, 10 * SLOW, lambda: receiver.count(topic))


def test_a_change_of_a_held_job_lets_it_try_again(start, receiver, topic):
    server = start("--breaker-wait", "300s")
    open_breaker(server, receiver, topic)
    server.schedule(topic=topic, jobId="a", url=receiver.url())
    until(lambda: server.get(f"/topics/{topic}").expect(200)["jobs"]["held"] == 1, 5, "a held job")
    other = Receiver()
    try:
        patch = {"Content-Type": "application/merge-patch+json"}
        server.request("PATCH", f"/jobs/{topic}/a", json.dumps({"url": other.url()}), patch).expect(200)
        until(lambda: other.of(topic, "a"), 5, "the delivery elsewhere")
    finally:
        other.stop()


def test_a_success_in_one_process_counts_in_the_others(start, redis, receiver, topic):
    shared = redis()
    servers = [start_one(start, redis=shared), start_one(start, redis=shared)]
    good = topic + ".good"
    for half in range(4):
        fail(servers[0], receiver, topic, count=FAILURES // 2)
        time.sleep(1.2)
        for i in range(20):
            servers[1].schedule(topic=good, jobId=f"{half}-{i}", url=receiver.url())
        until(lambda: known(servers[0], receiver)["failures"] == 0, 5, lambda: known(servers[0], receiver))
    assert known(servers[0], receiver)["state"] == "closed"


def test_a_prober_that_dies_is_followed_by_another_one(start, redis, receiver, topic):
    shared = redis()
    servers = [start("--breaker-wait", "3s", redis=shared), start("--breaker-wait", "3s", redis=shared)]
    open_breaker(servers[0], receiver, topic)
    await_known(*servers)
    receiver.script(topic, HANG)
    for i in range(10): # the right to probe counts from the time when it was granted, which may be long before the request arrives
        servers[0].schedule(topic=topic, jobId=f"j{i}", url=receiver.url(), timeout=1 + SLOW, retry=5)
    until(lambda: receiver.count(topic) == FAILURES + 1, 5, "a probe")
    assert known(servers[0], receiver)["state"] == "probing"
    receiver.script(topic, 200)
    for server in servers:
        server.kill()
    third = start_one(start, redis=shared)
    until(lambda: receiver.count(topic) >= FAILURES + 11, 20, lambda: known(third, receiver))
    assert receiver.of(topic)[FAILURES + 1].at_ms - receiver.of(topic)[FAILURES].at_ms >= 900


def test_an_inconclusive_probe_is_followed_by_another_one_after_the_same_wait(start, receiver, topic):
    """A timeout of less than a second, as of this job, does not count as a failure of the receiver."""
    server, clock = start_manual(start, "--breaker-wait", "3m")
    opened = open_breaker(server, receiver, topic)
    clock.settle()
    receiver.script(topic, HANG)
    server.schedule(topic=topic, jobId="a", url=receiver.url(), timeout=0.3, retry=0)
    probe, = attempts(clock.advance("5m"))
    assert (probe["jobId"], probe["error"], probe["at"]) == ("a", "timeout", opened["probeAt"])
    back = until(lambda: (known(server, receiver)["state"] == "open") and known(server, receiver), 2, lambda: known(server, receiver))
    assert back["failures"] == FAILURES and back["lastFailure"]["status"] == 503
    assert to_ms(back["probeAt"]) - to_ms(opened["probeAt"]) == 180_000
    receiver.script(topic, 200)
    server.schedule(topic=topic, jobId="b", url=receiver.url())
    probe, = attempts(clock.advance("5m"))
    assert (probe["jobId"], probe["outcome"], probe["at"]) == ("b", "delivered", back["probeAt"])


def test_a_held_job_expires_in_time(start, receiver, topic):
    server, clock = start_manual(start, "--breaker-wait", "10m")
    open_breaker(server, receiver, topic)
    server.schedule(topic=topic, jobId="a", url=receiver.url(), ttl="9m")
    clock.advance("8m")
    assert server.job(topic, "a")["state"] == "delayed"
    clock.advance("90s")
    job = server.job(topic, "a")
    assert (job["state"], job["reason"], job["attempts"]) == ("dead", "expired", 0)
    assert 0 <= to_ms(job["deadAt"]) - to_ms(job["expiresAt"]) < 1000
    assert receiver.count(topic) == FAILURES


def test_a_topic_may_turn_its_breaker_off(start, receiver, topic):
    server, free = start_one(start), topic + ".free"
    settings(server, free, breaker=False)
    fail(server, receiver, free, count=2 * FAILURES)
    assert known(server, receiver) is None
    open_breaker(server, receiver, topic)
    server.schedule(topic=free, jobId="a", url=receiver.url(), retry=0)
    until(lambda: receiver.of(free, "a"), 2, "an attempt all the same")


@pytest.mark.parametrize("order", ["due", "fifo"])
def test_held_jobs_resume_when_their_topic_turns_its_breaker_off(start, receiver, topic, order):
    """Even jobs that the breaker holds for minutes resume. There are more jobs than one step handles."""
    server, count, kept = start("--breaker-wait", "300s"), 700, topic + ".kept"
    open_breaker(server, receiver, topic)
    settings(server, topic, order=order)
    hold(server, receiver, kept, 1)
    hold(server, receiver, topic, count, of=1 if order == "fifo" else count)
    server.request("PATCH", f"/topics/{topic}", json.dumps({"breaker": False}), MERGE).expect(200)
    until(lambda: receiver.count(topic) == FAILURES + count, 10 * SLOW, lambda: receiver.count(topic))
    assert receiver.count(kept) == 0, "the breaker holds the jobs of other topics"


def test_held_jobs_resume_when_a_pattern_turns_the_breaker_off(start, receiver, topic):
    server, count = start("--breaker-wait", "300s"), 150
    open_breaker(server, receiver, topic)
    names = [f"{topic}-{i}" for i in range(5)]
    for name in names:
        hold(server, receiver, name, count)
    hold(server, receiver, topic, 1)
    server.request("PUT", f"/topics/{topic}-*", json.dumps({"breaker": False}), JSON).expect(200)
    for name in names:
        until(lambda name=name: receiver.count(name) == count, 10 * SLOW, lambda name=name: receiver.count(name))
    assert receiver.count(topic) == FAILURES, "the breaker holds the jobs of other topics"


def test_held_jobs_resume_when_their_topic_loses_its_breaker(start, receiver, topic):
    """The option --breaker is off. Only a setting of the topic turns its breaker on, and this setting is removed
    while the breaker holds jobs."""
    server, kept = start("--breaker", "off", "--breaker-wait", "300s"), topic + ".kept"
    for name in topic, kept:
        settings(server, name, breaker=True)
    open_breaker(server, receiver, topic)
    hold(server, receiver, kept, 1)
    hold(server, receiver, topic, 700)
    server.request("PATCH", f"/topics/{topic}", json.dumps({"breaker": None}), MERGE).expect(200)
    until(lambda: receiver.count(topic) == FAILURES + 700, 10 * SLOW, lambda: receiver.count(topic))
    assert receiver.count(kept) == 0, "the breaker holds the jobs of other topics"


@pytest.mark.parametrize("body", [None, {"timeout": 5}], ids=str)
def test_held_jobs_resume_when_a_pattern_loses_its_breaker(start, receiver, topic, body):
    """The option --breaker is off. Two patterns turn breakers on. The first pattern then gets the new settings body,
    without this setting. With body None, the pattern is removed."""
    server, kept, pattern = start("--breaker", "off", "--breaker-wait", "300s"), "kept-" + topic, f"/topics/{topic}-*"
    for name in pattern, "/topics/kept-*":
        server.request("PUT", name, json.dumps({"breaker": True}), JSON).expect(200)
    names = [f"{topic}-{i}" for i in range(3)]
    open_breaker(server, receiver, names[0])
    for name in kept, *names:
        hold(server, receiver, name, 150)
    server.request(*(("PUT", pattern, json.dumps(body), JSON) if body else ("DELETE", pattern))).expect(200)
    for name in names[1:]:
        until(lambda name=name: receiver.count(name) == 150, 10 * SLOW, lambda name=name: receiver.count(name))
    assert receiver.count(kept) == 0, "the breaker holds the jobs of topics that another pattern matches"


def test_a_breaker_that_is_on_holds_the_jobs_of_a_topic_that_loses_its_setting(start, receiver, topic):
    server = start("--breaker-wait", "300s")
    settings(server, topic, breaker=True)
    open_breaker(server, receiver, topic)
    hold(server, receiver, topic, 20)
    server.request("PATCH", f"/topics/{topic}", json.dumps({"breaker": None}), MERGE).expect(200)
    until(lambda: all(job["state"] == "delayed" for job in server.get(f"/jobs?topic={topic}").expect(200)["jobs"] if job["state"] != "dead"), 10, "held jobs")
    watch(0.5, lambda: receiver.count(topic) == FAILURES, "an attempt while the breaker is open")


def test_breakers_can_be_turned_off_but_for_a_topic(start, receiver, topic):
    server, kept = start("--breaker", "off", "--breaker-wait", "60s"), topic + ".kept"
    fail(server, receiver, topic, count=2 * FAILURES)
    assert known(server, receiver) is None
    settings(server, kept, breaker=True)
    open_breaker(server, receiver, kept)
    fail(server, receiver, topic, count=1)
    server.schedule(topic=kept, jobId="a", url=receiver.url())
    until(lambda: server.job(kept, "a")["state"] == "delayed", 5, "a held job")


def test_breakers_can_be_turned_off_while_it_runs(start, receiver, topic, tmp_path):
    config = tmp_path / "duepost.conf"
    config.write_text("breaker = on\n")
    server = start("--config", str(config), "--breaker-wait", "60s")
    open_breaker(server, receiver, topic)
    config.write_text("breaker = off\n")
    server.process.send_signal(signal.SIGHUP)
    until(lambda: "event=options_reloaded" in server.log(), 5, "the reload")
    fail(server, receiver, topic, count=1)


# ---- the limit ----

def in_flight_at_most(arrivals):
    events = sorted([(a.at_ms, 1) for a in arrivals] + [(a.answered_at_ms, -1) for a in arrivals])
    most = now = 0
    for _, step in events:
        now += step
        most = max(most, now)
    return most


def test_a_receiver_that_asks_for_less_gets_half_and_one_more_for_each_success(start, receiver, topic):
    server = start_one(start)
    receiver.script(topic, *[Answer(429, delay=0.5 * SLOW)] * 16, Answer(200, delay=0.3))
    for i in range(16):
        server.schedule(topic=topic, jobId=f"j{i}", url=receiver.url(), retrySchedule=[0.2])
    until(lambda: receiver.count(topic) == 16, 5, "all first attempts")
    limited = until(lambda: known(server, receiver), 5, "a limit")
    assert limited["maxInFlight"] == 8 and limited["state"] == "closed" and limited["failures"] == 0
    until(lambda: receiver.count(topic) >= 24, 5, lambda: receiver.count(topic))
    until(lambda: all(a.answered_at_ms for a in receiver.of(topic)) and receiver.count(topic) == 32, 10, "all deliveries")
    second = receiver.of(topic)[16:]
    first_end = min(a.answered_at_ms for a in second)
    assert in_flight_at_most([a for a in second if a.at_ms < first_end]) == 8
    until(lambda: known(server, receiver)["maxInFlight"] == 8 + 16, 5, lambda: known(server, receiver))
    assert number(server, "duepost_held_by_limit_total") > 0
    assert number(server, "duepost_limits_halved_total") == 1 and number(server, "duepost_receivers_limited") == 1


def test_a_limit_is_halved_again_after_a_second_and_never_below_one(start, receiver, topic):
    server = start_one(start)
    receiver.script(topic, *[Answer(429, delay=0.5)] * 4, 429)
    for i in range(4):
        server.schedule(topic=topic, jobId=f"j{i}", url=receiver.url(), retrySchedule=[0.1] * 100)
    until(lambda: known(server, receiver) and known(server, receiver)["maxInFlight"] == 1, 10, lambda: known(server, receiver))
    watch(1.5, lambda: known(server, receiver)["maxInFlight"] == 1, lambda: known(server, receiver))
    receiver.script(topic, 200)
    for i in range(4):
        server.wait_for_state(topic, f"j{i}", None)


def test_why_says_that_its_receivers_limit_holds_it(start, receiver, topic):
    server = start_one(start)
    receiver.script(topic, 429, HANG)
    server.schedule(topic=topic, jobId="a", url=receiver.url(), retrySchedule=[60])
    until(lambda: known(server, receiver), 5, "a limit")
    server.schedule(topic=topic, jobId="b", url=receiver.url())
    until(lambda: receiver.of(topic, "b"), 5, "the only attempt")
    server.schedule(topic=topic, jobId="c", url=receiver.url())
    until(lambda: number(server, "duepost_held_by_limit_total") > 0, 5, "a held job")
    answer = until(lambda: (lambda a: a["why"] == "receiver_limit" and a)(server.get(f"/jobs/{topic}/c/why").expect(200)), 5,
                   lambda: server.get(f"/jobs/{topic}/c/why").json)
    assert f"/receivers/{name_of(receiver)}/close" in answer["detail"]


# ---- what people can read about breakers ----

def test_why_says_that_its_receivers_breaker_holds_it(start, receiver, topic):
    server = start("--breaker-wait", "60s")
    opened = open_breaker(server, receiver, topic)
    for job_id, delay in ("a", 0), ("later", 20), ("tomorrow", 86400):
        server.schedule(topic=topic, jobId=job_id, url=receiver.url(), delay=delay)
    until(lambda: server.job(topic, "a")["state"] == "delayed", 5, "a held job")
    answer = server.get(f"/jobs/{topic}/a/why").expect(200)
    assert answer["why"] == "breaker"
    assert 0 <= to_ms(answer["until"]) - to_ms(opened["probeAt"]) < 1000
    assert "20 failures" in answer["detail"] and f"/receivers/{name_of(receiver)}/close" in answer["detail"]
    for job_id in "later", "tomorrow":
        assert server.get(f"/jobs/{topic}/{job_id}/why").expect(200)["why"] == "not_due"
    settings(server, topic, breaker=False)
    assert server.get(f"/jobs/{topic}/a/why").expect(200)["why"] != "breaker"


def test_why_of_a_retry_tells_its_wait_from_the_breakers(start, receiver, topic):
    server, clock = start_manual(start, "--breaker-wait", "10m")
    receiver.script(topic, 500)
    server.schedule(topic=topic, jobId="soon", url=receiver.url(), retrySchedule=["2m"])
    server.schedule(topic=topic, jobId="late", url=receiver.url(), retrySchedule=["25m"])
    clock.settle()
    open_breaker(server, receiver, topic + ".other")
    assert attempts(clock.advance("2m"), topic) == [] and receiver.count(topic) == 2
    assert server.job(topic, "soon")["attempts"] == 1 and number(server, "duepost_held_by_breaker_total") > 0
    assert server.get(f"/jobs/{topic}/soon/why").expect(200)["why"] == "breaker"
    assert server.get(f"/jobs/{topic}/late/why").expect(200)["why"] == "waits_for_retry"


def test_why_of_a_retry_knows_how_long_its_receiver_asked_it_to_wait(start, receiver, topic):
    server = start("--breaker-wait", "60s")
    receiver.script(topic, Answer(500, headers=(("Retry-After", "25"),)))
    server.schedule(topic=topic, jobId="a", url=receiver.url(), retrySchedule=[0.1])
    until(lambda: receiver.of(topic, "a"), 5, "a first attempt")
    open_breaker(server, receiver, topic + ".other")
    assert server.get(f"/jobs/{topic}/a/why").expect(200)["why"] == "waits_for_retry"


def test_why_knows_the_receiver_of_a_topics_url_and_a_schedule_that_is_gone(start, receiver, topic):
    server, clock = start_manual(start, "--breaker-wait", "10m")
    settings(server, topic, url=receiver.url(), retrySchedule=["1m"])
    receiver.script(topic, 500)
    server.schedule(topic=topic, jobId="a", delay="90s")
    server.schedule(topic=topic, jobId="b")
    clock.settle()
    open_breaker(server, receiver, topic + ".other")
    settings(server, topic, url=receiver.url(), retrySchedule=[])
    clock.advance("90s")
    # The attempt of b that failed was the last one that the topic's new schedule allows.
    for job_id, why in ("a", "breaker"), ("b", "dead"):
        assert server.get(f"/jobs/{topic}/{job_id}/why").json["why"] == why


def test_a_breaker_is_closed_by_hand(start, receiver, topic):
    server = start("--breaker-wait", "60s")
    open_breaker(server, receiver, topic)
    receiver.script(topic, 200)
    server.schedule(topic=topic, jobId="a", url=receiver.url())
    until(lambda: server.job(topic, "a")["state"] == "delayed", 5, "a held job")
    answer = close(server, f"127.1%3a{receiver.port}").expect(200)
    assert (answer["receiver"], answer["state"], answer["failures"]) == (name_of(receiver), "closed", 0)
    await_known(server, is_open=False)
    until(lambda: receiver.of(topic, "a"), 5, "the delivery")
    close(server, name_of(receiver)).expect(200)


def test_a_job_that_is_run_right_after_its_breaker_was_closed_is_not_held_for_long(start, receiver, topic):
    """The state of another receiver changes all the time. So duepost reads the states of receivers only now and
    then."""
    server, port = start("--breaker-wait", "60s"), free_port()
    for i in range(5):
        open_breaker(server, receiver, topic, name=f"f{i}-")
        server.schedule(topic=topic, jobId=f"{i}", url=receiver.url())
        until(lambda: server.job(topic, f"{i}")["state"] == "delayed", 5, "a held job")
        server.schedule(topic=topic, url=f"http://127.0.0.1:{port}/", retry=0)
        until(lambda: f"127.0.0.1:{port}" in all_known(server), 5, "news")
        receiver.script(topic, 200)
        close(server, name_of(receiver)).expect(200)
        assert server.run(topic, f"{i}").status in (202, 404, 409)  # the job may have been sent already
        until(lambda: receiver.of(topic, f"{i}"), 5, "the delivery")
    release_port(port)


def test_an_invalid_receiver_cannot_be_closed(server, start):
    assert close(server, "nobody.example:80").expect(404)["detail"].startswith("This receiver is not in the list")
    for name in "nobody.example", "nobody.example:0", "[::1]", "a%2fb:80", "%20:80", "u@h:80":
        close(server, name).expect(404)
    server.request("GET", "/receivers/nobody.example:80/close").expect(405)
    server.request("POST", "/receivers").expect(405)
    assert close(server, "nobody.example:80").status == 404
    assert server.request("POST", "/receivers/nobody.example:80/close?x=1").fields() == ["x"]
    assert server.get("/receivers?limit=0&cursor=x&state=open").fields() == ["limit", "cursor", "state"]
    away = start("--redis", "redis://127.0.0.1:1", ready=False)
    away.get("/receivers").expect(503)
    close(away, "nobody.example:80").expect(503)


def test_receivers_are_listed_page_by_page(start, topic):
    server, ports = start_one(start), [free_port() for _ in range(5)]
    for port in ports:
        server.schedule(topic=topic, url=f"http://127.0.0.1:{port}/", retry=0)
    until(lambda: len(all_known(server)) == 5, 5, lambda: all_known(server))
    page, names = server.get("/receivers?limit=2").expect(200), []
    while True:
        assert len(page["receivers"]) <= 2
        names += [one["receiver"] for one in page["receivers"]]
        if "cursor" not in page:
            break
        page = server.get(f"/receivers?limit=2&cursor={page['cursor']}").expect(200)
    assert sorted(names) == sorted(f"127.0.0.1:{port}" for port in ports)
    for port in ports:
        release_port(port)


def test_breakers_limits_and_probes_are_counted(start, receiver, topic):
    server = start_one(start)
    open_breaker(server, receiver, topic)
    until(lambda: number(server, "duepost_breakers_opened_total") == number(server, "duepost_receivers_open") == 1, 5, "counted")
    receiver.script(topic, 200)
    server.schedule(topic=topic, jobId="a", url=receiver.url())
    until(lambda: receiver.of(topic, "a"), 5, "a probe")
    until(lambda: number(server, "duepost_breakers_closed_total") == 1, 5, "closed")
    until(lambda: number(server, "duepost_probes_total") == 1 and number(server, "duepost_receivers_open") == 0, 5, "closed")
    assert number(server, "duepost_held_by_breaker_total") >= 1


# ---- many held jobs ----

def test_many_held_jobs_delay_no_other_jobs(start, receiver, topic):
    """3,000 jobs are held. Before the breaker closes, they become due once, and are held again."""
    server, live = start("--breaker-wait", "2s"), topic + ".live"
    opened = time.monotonic()
    open_breaker(server, receiver, topic)
    good = Receiver()
    try:
        server.schedule_many([{"topic": topic, "url": receiver.url()} for _ in range(3000)])
        late, end = [], time.monotonic() + 4
        while time.monotonic() < end:
            job_id = str(len(late))
            sent = time.time() * 1000
            server.schedule(topic=live, jobId=job_id, url=good.url())
            until(lambda: good.of(live, job_id), 5, "a delivery")
            late.append(good.of(live, job_id)[0].at_ms - sent)
    finally:
        good.stop()
    assert sorted(late)[len(late) * 95 // 100] < 2000 * SLOW, sorted(late)[-10:]
    attempts, probes = receiver.count(topic), number(server, "duepost_probes_total")
    assert attempts <= FAILURES + probes and probes <= (time.monotonic() - opened) / 2, (attempts, probes)
    assert number(server, "duepost_held_by_breaker_total") >= 3000


# ---- faults ----

def test_held_jobs_leave_their_topics_rate_to_the_others(start, receiver, topic):
    (server, clock), healthy = start_manual(start, "--breaker-wait", "10m"), Receiver()
    try:
        open_breaker(server, receiver, topic)
        clock.settle()
        settings(server, topic, rate={"jobs": 1, "per": 60})
        for i in range(5):
            server.schedule(topic=topic, jobId=f"held{i}", url=receiver.url())
        for job_id in "ab":
            server.schedule(topic=topic, jobId=job_id, url=healthy.url())
        first, second = attempts(clock.advance("5m"), topic)  # behind five jobs that are held
        assert (first["jobId"], second["jobId"]) == ("a", "b")
        assert to_ms(second["at"]) - to_ms(first["at"]) >= 60_000  # the topic's rate still limits its attempts
        assert receiver.count(topic) == FAILURES and healthy.count(topic) == 2
    finally:
        healthy.stop()


def test_without_redis_jobs_are_held_by_the_last_known_state(start, redis, receiver, topic):
    """Redis is killed and comes back with the state of its receivers. Then it loses this state."""
    kept = redis()
    server = start("--breaker-wait", "60s", redis=kept)
    open_breaker(server, receiver, topic)
    kept.kill()
    kept.start()
    until(lambda: server.get("/readyz").status == 200, 10, "ready")
    assert known(server, receiver)["state"] == "open"
    kept.command("FLUSHALL")
    receiver.script(topic, 200)
    until(lambda: server.post({"topic": topic, "jobId": "a", "url": receiver.url()}).status in (200, 201), 10, "accepted")
    time.sleep(1.5)
    assert known(server, receiver) is None


def test_sigterm_releases_the_right_to_probe(start, redis, receiver, topic):
    shared = redis()
    server = start_one(start, "--drain-timeout", "0s", redis=shared)
    open_breaker(server, receiver, topic)
    receiver.script(topic, HANG)
    server.schedule(topic=topic, jobId="a", url=receiver.url(), timeout=60)
    until(lambda: receiver.count(topic) == FAILURES + 1, 5, "a probe")
    receiver.script(topic, 200)
    assert server.terminate() == 0
    other = start_one(start, redis=shared)
    other.wait_for_state(topic, "a", None, 5)
