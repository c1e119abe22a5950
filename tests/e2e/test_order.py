"""Topics with order fifo: delivered strictly in order, one job at a time."""

import collections
import json
import os
import random
import time

import pytest

from clock import MANUAL, ManualClock, attempts
from patience import until
from receiver import Answer

BIG = int(os.environ.get("DUEPOST_TEST_ORDER_TOPICS", "0"))  # the number of topics; the long run sets 200, for example


def send(server, method, target, body):
    return server.request(method, target, json.dumps(body).encode(), {"Content-Type": "application/json"})


def make_fifo(server, topic, **more):
    send(server, "PATCH", f"/topics/{topic}", {"order": "fifo", "retrySchedule": [0.2] * 50, **more}).expect(200)


def schedule(server, topic, job_id, receiver, **more):
    server.schedule(topic=topic, jobId=job_id, url=receiver.url(), **more)


def arrived(receiver, topic):
    return [a.job_id for a in receiver.of(topic)]


def why(server, topic, job_id):
    return server.get(f"/jobs/{topic}/{job_id}/why").expect(200)


def test_a_retry_is_not_passed(server, receiver, topic):
    make_fifo(server, topic)
    receiver.script(topic, Answer(500), Answer(503), Answer(200), job_id="a")
    for job_id in "abc":
        schedule(server, topic, job_id, receiver)
    until(lambda: receiver.count(topic) >= 5, 20, lambda: arrived(receiver, topic))
    assert arrived(receiver, topic) == ["a", "a", "a", "b", "c"]


def test_why_names_the_job_that_comes_first(server, receiver, topic):
    make_fifo(server, topic, retrySchedule=[600])
    receiver.script(topic, Answer(500), Answer(200), job_id="a")
    for job_id in "ab":
        schedule(server, topic, job_id, receiver)
    until(lambda: why(server, topic, "a")["why"] == "waits_for_retry", 10, lambda: why(server, topic, "a"))
    told = why(server, topic, "b")
    assert told["why"] == "order" and "job a comes first" in told["detail"], told
    assert told["until"] == why(server, topic, "a")["until"]
    state = server.get(f"/topics/{topic}").expect(200)
    assert state["head"] == "a" and state["heldBy"] == "order" and state["heldUntil"] == told["until"], state
    server.run(topic, "b").expect(202)
    schedule(server, topic, "c", receiver)
    send(server, "PUT", f"/jobs/{topic}/c", {"url": receiver.url(), "body": 1})
    assert arrived(receiver, topic) == ["a"], "run and PUT of later jobs pass nothing"
    server.run(topic, "a").expect(202)
    until(lambda: receiver.count(topic) >= 4, 10, lambda: arrived(receiver, topic))
    assert arrived(receiver, topic) == ["a", "a", "b", "c"]


def test_a_first_job_that_is_cancelled_in_flight_blocks_until_its_attempt_is_over(server, receiver, topic):
    make_fifo(server, topic)
    receiver.script(topic, Answer(200, delay=1.5), job_id="a")
    for job_id in "ab":
        schedule(server, topic, job_id, receiver)
    until(lambda: receiver.count(topic) == 1, 10, "the head is in flight")
    server.cancel(topic, "a")
    assert why(server, topic, "b")["why"] in ("order", "not_due")
    until(lambda: receiver.count(topic) == 2, 20, lambda: arrived(receiver, topic))
    first, second = receiver.of(topic)
    assert (first.job_id, second.job_id) == ("a", "b")
    assert second.at_ms >= first.answered_at_ms > 0


def test_a_first_job_that_is_cancelled_or_replaced_while_it_waits_frees_the_next(server, receiver, topic):
    make_fifo(server, topic, retrySchedule=[600])
    receiver.script(topic, Answer(500), Answer(200), job_id="a")
    receiver.script(topic, Answer(500), Answer(200), job_id="b")
    for job_id in "abc":
        schedule(server, topic, job_id, receiver)
    until(lambda: why(server, topic, "a")["why"] == "waits_for_retry", 10, lambda: why(server, topic, "a"))
    server.cancel(topic, "a")
    until(lambda: why(server, topic, "b")["why"] == "waits_for_retry", 10, lambda: why(server, topic, "b"))
    send(server, "PUT", f"/jobs/{topic}/b", {"url": receiver.url(), "body": "new"}).expect(200)
    until(lambda: receiver.count(topic) >= 4, 10, lambda: arrived(receiver, topic))
    assert arrived(receiver, topic) == ["a", "b", "c", "b"], "a replaced head has the place of its new due time"


@pytest.mark.parametrize("on_head_dead", ["go", "pause"])
def test_a_first_job_that_dies_frees_the_next_or_pauses_the_topic(server, receiver, topic, on_head_dead):
    make_fifo(server, topic, onHeadDead=on_head_dead)
    receiver.script(topic, Answer(500), job_id="a")
    schedule(server, topic, "a", receiver, retry=0)
    schedule(server, topic, "b", receiver)
    server.wait_for_state(topic, "a", "dead")
    if on_head_dead == "pause":
        state = server.get(f"/topics/{topic}").expect(200)
        assert state["settings"]["paused"] and state["settings"]["pauseReason"] == "job a is dead", state
        until(lambda: why(server, topic, "b")["why"] == "paused", 10, lambda: why(server, topic, "b"))
        assert "job a is dead" in why(server, topic, "b")["detail"]
        assert arrived(receiver, topic) == ["a"]
        changed = send(server, "PATCH", f"/topics/{topic}", {"paused": None}).expect(200)
        assert "pauseReason" not in changed["settings"] and changed["settings"]["order"] == "fifo", changed
    until(lambda: receiver.count(topic) == 2, 10, lambda: arrived(receiver, topic))
    assert arrived(receiver, topic) == ["a", "b"]


@pytest.mark.parametrize("delivery", ["push", "pull"])
@pytest.mark.parametrize("how", ["run", "redrive", "put"])
def test_a_first_job_that_died_and_comes_back_is_the_first_one_again(server, receiver, topic, how, delivery):
    pull = {"delivery": "pull"} if delivery == "pull" else {}
    make_fifo(server, topic, onHeadDead="pause")
    receiver.script(topic, Answer(500), Answer(200), job_id="a")
    schedule(server, topic, "a", receiver, retry=0)
    for job_id in "b", "c":
        schedule(server, topic, job_id, receiver)
    server.wait_for_state(topic, "a", "dead")
    if pull:
        send(server, "PATCH", f"/topics/{topic}", pull).expect(200)
    if how == "run":
        server.run(topic, "a").expect(202)
    elif how == "redrive":
        send(server, "POST", f"/jobs/redrive?topic={topic}&all=true", {}).expect(200)
    else:
        send(server, "PUT", f"/jobs/{topic}/a", {"url": receiver.url()}).expect(201)
    send(server, "PATCH", f"/topics/{topic}", {"paused": None}).expect(200)
    if pull:
        job, = send(server, "POST", f"/topics/{topic}/lease", {}).expect(200)["jobs"]
        assert job["jobId"] == "a"
        return
    until(lambda: receiver.count(topic) == 4, 10, lambda: arrived(receiver, topic))
    assert arrived(receiver, topic) == ["a", "a", "b", "c"]


def test_a_first_job_that_expires_frees_the_next(turned, receiver, topic):
    make_fifo(turned, topic, retrySchedule=["2h"])
    receiver.script(topic, Answer(500), job_id="a")
    schedule(turned, topic, "a", receiver, ttl="1h")
    schedule(turned, topic, "b", receiver)
    assert [one["jobId"] for one in attempts(turned.clock.advance(3599), topic)] == ["a"]
    turned.clock.advance("1m")
    assert arrived(receiver, topic) == ["a", "b"]
    job = turned.job(topic, "a")
    assert (job["state"], job["reason"]) == ("dead", "expired")


def test_not_yet_blocks_later_jobs(server, receiver, topic):
    make_fifo(server, topic)
    receiver.script(topic, Answer(200, headers=(("Duepost-Again", "1"),)), Answer(200), job_id="a")
    for job_id in "ab":
        schedule(server, topic, job_id, receiver)
    until(lambda: receiver.count(topic) >= 3, 20, lambda: arrived(receiver, topic))
    assert arrived(receiver, topic) == ["a", "a", "b"]


def test_jobs_that_a_breaker_holds_stay_in_order(start, receiver, topic):
    """A breaker holds the jobs before their topic becomes fifo. They are delivered in the order of their due
    times."""
    server = start("--breaker-wait", "5m", *MANUAL)
    clock = ManualClock(server)
    receiver.script(topic + ".other", Answer(502))
    for number in range(30):
        server.schedule(topic=topic + ".other", jobId=str(number), url=receiver.url(), retry=0)
    clock.advance("1m")
    assert any(one["state"] != "closed" for one in server.get("/receivers").expect(200)["receivers"])
    receiver.script(topic + ".other", Answer(200))
    for number in range(20):
        schedule(server, topic, f"{number:02}", receiver, delay=1 + number / 1000)
    clock.advance(2)
    assert server.get(f"/topics/{topic}").json["jobs"]["held"] == 20
    make_fifo(server, topic)
    clock.advance("10m")
    assert arrived(receiver, topic) == [f"{number:02}" for number in range(20)]


def test_a_topic_that_is_no_longer_fifo_continues_with_the_other_jobs(server, receiver, topic):
    make_fifo(server, topic, retrySchedule=[600])
    receiver.script(topic, Answer(500), Answer(200), job_id="a")
    for job_id in "abc":
        schedule(server, topic, job_id, receiver)
    until(lambda: why(server, topic, "b")["why"] == "order", 10, lambda: why(server, topic, "b"))
    until(lambda: why(server, topic, "a")["why"] == "waits_for_retry", 10, lambda: why(server, topic, "a"))
    send(server, "PATCH", f"/topics/{topic}", {"order": None}).expect(200)
    until(lambda: receiver.count(topic) == 3, 10, lambda: arrived(receiver, topic))
    assert sorted(arrived(receiver, topic)[1:]) == ["b", "c"]
    assert why(server, topic, "a")["why"] == "waits_for_retry"


def test_wrong_words_are_refused(server, topic):
    for settings in ({"order": "lifo"}, {"onHeadDead": "stop"}, {"order": ""}):
        send(server, "PATCH", f"/topics/{topic}", settings).expect(400)


def run_orders(start, redis, receiver, topic, topics, jobs, kills):
    """Runs with random failures, cancels of jobs in flight and of waiting jobs, and kills of both processes and of
    Redis."""
    chance = random.Random(topic)
    store = redis()
    servers = [start("--breaker", "off", redis=store) for _ in range(2)]
    names = [f"{topic}.{number}" for number in range(topics)]
    for name in names:
        make_fifo(servers[0], name)
        answers = [Answer(500) if chance.random() < 0.2 else Answer(200) for _ in range(20 * jobs)]
        receiver.script(name, *answers)
    order = collections.defaultdict(list)
    for job in range(jobs):
        results = servers[0].post([{"topic": name, "jobId": f"{job:04}", "url": receiver.url(), "retry": 50} for name in names]).expect(207)["results"]
        assert {result["status"] for result in results} == {201}
        for name in names:
            order[name].append(f"{job:04}")
    cancelled = collections.defaultdict(set)

    def disturb(number):
        server = servers[number % 2]
        for name in chance.sample(names, max(1, topics // 4)):
            job_id = chance.choice(order[name])
            if server.request("DELETE", f"/jobs/{name}/{job_id}").status == 200:
                cancelled[name].add(job_id)
    for kill in range(kills):
        disturb(kill)
        time.sleep(0.5)
        if kill % 3 == 2:
            store.kill()
            store.start()
            until(lambda: servers[0].get("/readyz").status == 200, 30, "ready again")
        else:
            servers[kill % 2].kill()
            servers[kill % 2] = start("--breaker", "off", redis=store)

    def jobs_left(name):
        jobs_of = servers[0].get(f"/topics/{name}").json["jobs"]
        return sum(jobs_of[state] for state in ("delayed", "ready", "held", "leased"))

    def left():
        return {name: jobs_left(name) for name in names if jobs_left(name)}
    until(lambda: not left(), 90 + topics * jobs / 50, left)
    for name in names:
        firsts = list(dict.fromkeys(a.job_id for a in receiver.of(name)))
        assert firsts == sorted(firsts), (name, firsts)
        arrivals = receiver.of(name)
        last_of = {a.job_id: number for number, a in enumerate(arrivals)}
        first_of = {}
        for number, a in enumerate(arrivals):
            first_of.setdefault(a.job_id, number)
        for job_id, next_id in zip(firsts, firsts[1:]):
            assert last_of[job_id] < first_of[next_id], (name, job_id, next_id, arrived(receiver, name))
        missing = set(order[name]) - set(firsts)
        assert missing <= cancelled[name], (name, missing)


def test_order_holds_over_failures_cancels_and_kills(start, redis, receiver, topic):
    if BIG:
        run_orders(start, redis, receiver, topic, topics=BIG, jobs=500, kills=12)
    else:
        run_orders(start, redis, receiver, topic, topics=4, jobs=25, kills=3)
