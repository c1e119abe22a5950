"""Lanes: the jobs of one topic and key take turns with those of other keys; in a lane, the priority decides."""

import json
import time

import pytest

from cluster import Cluster
from clock import attempts
from patience import until
from pull import lease
from receiver import Answer, HANG
from test_in_flight import most_at_once

JSON = {"Content-Type": "application/json"}
PREFIX = "duepost:{0}:"


def set_topic(server, topic, **settings):
    return server.request("PATCH", f"/topics/{topic}", json.dumps(settings), JSON).expect(200)


def add(server, receiver, topic, number, key, **members):
    """Schedules jobs whose ids begin with their key."""
    server.schedule_many([{"topic": topic, "jobId": f"{key}-{i}", "key": key, "url": receiver.url(), **members} for i in range(number)])


def key_of(arrival):
    return arrival.job_id.split("-")[0]


def of_key(receiver, topic, key):
    return [arrival for arrival in receiver.of(topic) if key_of(arrival) == key]


def begun(receiver, topic):
    return sorted(receiver.of(topic), key=lambda arrival: arrival.at_ms)


def is_answered(receiver, topic, number):
    return sum(bool(arrival.answered_at_ms) for arrival in receiver.of(topic)) >= number


def pause(server, topic):
    set_topic(server, topic, paused=True)


def resume(server, topic):
    set_topic(server, topic, paused=None)


def of_redis(own, pattern):
    return [line for line in own.command("KEYS", PREFIX + pattern).decode().split("\r\n") if line.startswith(PREFIX)]


def await_no_lanes(own):
    until(lambda: not of_redis(own, "lane*") + of_redis(own, "ranks"), 20, lambda: f"left: {of_redis(own, '*')}")


# ---- whose turn it is ----

def test_one_customer_does_not_wait_for_all_jobs_of_another(server, receiver, topic):
    set_topic(server, topic, maxInFlight=2)
    receiver.script(topic, Answer(delay=0.02))
    add(server, receiver, topic, 500, "busy")
    until(lambda: receiver.count(topic) >= 5, 10, "some of them")
    for i in range(10):
        before = receiver.count(topic)
        server.schedule(topic=topic, jobId=f"quiet-{i}", key="quiet", url=receiver.url())
        until(lambda: len(of_key(receiver, topic, "quiet")) == i + 1, 10, "the single job")
        at = of_key(receiver, topic, "quiet")[i].at_ms
        late = sum(arrival.at_ms < at for arrival in receiver.of(topic)[before:])
        assert late <= 6, "two lanes, two places, and those that began before the job was stored"


def test_jobs_without_a_key_are_a_lane_too(server, receiver, topic):
    pause(server, topic)
    set_topic(server, topic, maxInFlight=1)
    server.schedule_many([{"topic": topic, "jobId": f"plain-{i}", "url": receiver.url()} for i in range(20)])
    add(server, receiver, topic, 3, "keyed")
    resume(server, topic)
    until(lambda: receiver.count(topic) == 23, 20, "all of them")
    assert "keyed" in {key_of(arrival) for arrival in begun(receiver, topic)[:3]}
    assert max(i for i, arrival in enumerate(begun(receiver, topic)) if key_of(arrival) == "keyed") <= 7


def test_shares_follow_weights(server, receiver, topic):
    pause(server, topic)
    set_topic(server, topic, maxInFlight=4)
    for key, weight in (("a", 1), ("b", 3)):
        server.request("PUT", f"/topics/{topic}/keys/{key}", json.dumps({"weight": weight}), JSON)
        add(server, receiver, topic, 400, key)
    resume(server, topic)
    until(lambda: receiver.count(topic) >= 400, 30, "half of them")
    first = begun(receiver, topic)[:400]
    assert 290 <= sum(key_of(arrival) == "b" for arrival in first) <= 310
    until(lambda: receiver.count(topic) == 800, 30, "all of them")


def test_many_keys_with_a_job_each(server, receiver, topic):
    set_topic(server, topic, perKey={"maxInFlight": 1})
    server.schedule_many([{"topic": topic, "jobId": f"{i}", "key": f"customer {i}", "url": receiver.url(), "delay": 0.5} for i in range(500)])
    until(lambda: receiver.count(topic) == 500, 30, "all of them")


@pytest.mark.parametrize("key", ["a b", 'quote " and \\ backslash', "\u00fc\U0001f600", "1", "x" * 128, "5", "../a?b#c", "'"])
def test_keys_of_any_text(server, receiver, topic, key):
    set_topic(server, topic, perKey={"maxInFlight": 1})
    receiver.script(topic, Answer(delay=0.1))
    for i in range(3):
        server.schedule(topic=topic, jobId=f"{i}", key=key, url=receiver.url())
    until(lambda: is_answered(receiver, topic, 3), 10, "all of them")
    assert most_at_once(receiver.of(topic)) == 1


# ---- what bounds a lane ----

def test_the_limit_of_each_key_is_exact_over_processes(start, redis, receiver, topic):
    own = redis()
    first, second = start(redis=own), start(redis=own)
    set_topic(first, topic, perKey={"maxInFlight": 2})
    receiver.script(topic, Answer(delay=0.05))
    for key in "abc":
        add(first, receiver, topic, 20, key)
    until(lambda: receiver.count(topic) >= 20, 20, "some of them")
    set_topic(second, topic, perKey={"maxInFlight": 3})
    until(lambda: is_answered(receiver, topic, 60), 30, "all of them")
    for key in "abc":
        assert most_at_once(of_key(receiver, topic, key)) == 3
    assert most_at_once(receiver.of(topic)) > 3


def test_the_limit_of_each_key_is_exact_when_processes_are_killed(start, redis, receiver, topic):
    own = redis()
    servers = [start(redis=own), start(redis=own)]
    set_topic(servers[0], topic, perKey={"maxInFlight": 1}, maxInFlight=3)
    receiver.script(topic, Answer(delay=0.1))
    for key in "abcd":
        add(servers[0], receiver, topic, 10, key)
    for number in (6, 12):
        until(lambda: receiver.count(topic) >= number, 30, "some of them")
        servers[0].kill()
        servers = [servers[1], start(redis=own)]
    until(lambda: len({arrival.job_id for arrival in receiver.of(topic) if arrival.answered_at_ms}) == 40, 60, "all of them")
    for key in "abcd":
        assert most_at_once(of_key(receiver, topic, key)) == 1
    assert most_at_once(receiver.of(topic)) <= 3
    await_no_lanes(own)


def test_a_cancelled_attempt_keeps_its_place_in_the_lane(server, receiver, topic):
    set_topic(server, topic, perKey={"maxInFlight": 1})
    receiver.script(topic, Answer(delay=0.5))
    for i in range(3):
        server.schedule(topic=topic, jobId=f"a-{i}", key="a", url=receiver.url())
        until(lambda: receiver.count(topic) == i + 1, 10, "the attempt")
        server.cancel(topic, f"a-{i}").expect(200)
    server.schedule(topic=topic, jobId="a-9", key="a", url=receiver.url())
    until(lambda: is_answered(receiver, topic, 4), 10, "all of them")
    assert most_at_once(receiver.of(topic)) == 1


def test_a_put_moves_a_job_to_another_lane(server, receiver, topic):
    set_topic(server, topic, perKey={"maxInFlight": 1})
    receiver.script(topic, HANG)
    server.schedule(topic=topic, jobId="a-0", key="a", url=receiver.url(), timeout=60)
    until(lambda: receiver.count(topic) == 1, 10, "the attempt")
    job = {"topic": topic, "jobId": "x-1", "key": "a", "url": receiver.url()}
    server.post(job).expect(201)
    time.sleep(0.3)
    assert receiver.count(topic) == 1, "the lane is full"
    reply = server.request("PUT", f"/jobs/{topic}/x-1", json.dumps({"key": "b", "url": receiver.url()}), JSON)
    assert reply.status in (200, 201)
    until(lambda: receiver.count(topic) == 2, 10, "the other lane has room")
    assert server.get(f"/jobs/{topic}/x-1").expect(200)["key"] == "b"
    for job_id in "a-0", "x-1":
        server.cancel(topic, job_id)


def test_each_key_has_a_rate(server, receiver, topic):
    set_topic(server, topic, perKey={"rate": {"jobs": 10, "per": 1}})
    for key in "ab":
        add(server, receiver, topic, 20, key)
    until(lambda: receiver.count(topic) == 40, 20, "all of them")
    for key in "ab":
        times = [arrival.at_ms for arrival in of_key(receiver, topic, key)]
        assert max(times) - min(times) >= 1900 - 200
    times = [arrival.at_ms for arrival in receiver.of(topic)]
    assert max(times) - min(times) < 3500, "the keys do not share the rate"


def test_each_key_is_in_order(server, receiver, topic):
    set_topic(server, topic, perKey={"order": "fifo"})
    receiver.script(topic, Answer(500), job_id="a-0")
    receiver.script(topic, Answer(delay=0.02))
    for key in "ab":
        for i in range(5):
            server.schedule(topic=topic, jobId=f"{key}-{i}", key=key, url=receiver.url(), retrySchedule=["1500ms"] * 3)
    until(lambda: len(of_key(receiver, topic, "b")) == 5, 10, "the other key does not wait")
    assert [arrival.job_id for arrival in of_key(receiver, topic, "a")] == ["a-0"], "the key waits for the retry of its first job"
    until(lambda: receiver.count(topic) >= 7, 10, "the retry")
    server.cancel(topic, "a-0")
    until(lambda: len(of_key(receiver, topic, "a")) >= 6, 10, "the others")
    for key in "ab":
        order = [arrival.job_id for arrival in begun(receiver, topic) if key_of(arrival) == key]
        assert sorted(set(order), key=order.index) == [f"{key}-{i}" for i in range(5)]
        assert most_at_once(of_key(receiver, topic, key)) == 1


def test_a_line_of_a_key_that_ends_is_not_early(turned, receiver, topic):
    set_topic(turned, topic, perKey={"order": "fifo"})
    receiver.script(topic, Answer(500), Answer(), job_id="a-0")
    for i in range(3):
        turned.schedule(topic=topic, jobId=f"a-{i}", key="a", url=receiver.url(), retrySchedule=["3h"])
    first, = attempts(turned.clock.advance("1h"), topic)
    set_topic(turned, topic, perKey=None)
    others = attempts(turned.clock.advance(2 * 3600 - 1), topic)
    assert (first["jobId"], {one["jobId"] for one in others}) == ("a-0", {"a-1", "a-2"})
    again, = attempts(turned.clock.advance(1), topic)
    assert (again["jobId"], again["at"]) == ("a-0", first["nextAt"])


def test_jobs_that_came_before_the_first_key(start, redis, receiver, topic):
    own = redis()
    server = start(redis=own)
    pause(server, topic)
    server.schedule_many([{"topic": topic, "jobId": f"old-{i}", "url": receiver.url()} for i in range(300)])
    add(server, receiver, topic, 3, "new")
    set_topic(server, topic, maxInFlight=1)
    resume(server, topic)
    until(lambda: receiver.count(topic) == 303, 30, "all of them")
    assert max(i for i, arrival in enumerate(begun(receiver, topic)) if key_of(arrival) == "new") <= 10
    await_no_lanes(own)


# ---- priority ----

def in_order(receiver, topic, number):
    until(lambda: receiver.count(topic) == number, 20, "all of them")
    return [arrival.job_id for arrival in begun(receiver, topic)]


def test_the_highest_priority_goes_first(server, receiver, topic):
    pause(server, topic)
    set_topic(server, topic, maxInFlight=1)
    for priority in (5, 0, 9, 3, 7):
        for i in range(2):
            server.schedule(topic=topic, jobId=f"{priority}-{i}", priority=priority, url=receiver.url())
    resume(server, topic)
    assert in_order(receiver, topic, 10) == [f"{priority}-{i}" for priority in (9, 7, 5, 3, 0) for i in range(2)]


def test_a_job_that_has_waited_long_goes_before_a_higher_priority(turned, receiver, topic):
    pause(turned, topic)
    set_topic(turned, topic, maxInFlight=1, priorityAge="1h")
    turned.schedule(topic=topic, jobId="old", priority=4, url=receiver.url())
    turned.clock.advance(2 * 3600 + 60)
    for priority in (5, 9):
        turned.schedule(topic=topic, jobId=f"new-{priority}", priority=priority, url=receiver.url())
    resume(turned, topic)
    assert in_order(receiver, topic, 3) == ["new-9", "old", "new-5"]


def test_strict_priority_does_not_age(server, receiver, topic):
    pause(server, topic)
    set_topic(server, topic, maxInFlight=1, priorityAge="off")
    server.schedule(topic=topic, jobId="old", priority=0, url=receiver.url())
    time.sleep(0.5)
    server.schedule(topic=topic, jobId="new", priority=1, url=receiver.url())
    resume(server, topic)
    assert in_order(receiver, topic, 2) == ["new", "old"]


def test_a_high_priority_is_never_early(server, receiver, topic):
    due = time.time() + 1
    server.schedule(topic=topic, jobId="a", priority=9, url=receiver.url(), delay=1)
    server.schedule(topic=topic, jobId="b", priority=0, url=receiver.url())
    assert in_order(receiver, topic, 2) == ["b", "a"]
    assert receiver.of(topic, "a")[0].at_ms >= due * 1000 - 5


def test_the_priority_changes_while_a_job_waits(server, receiver, topic):
    pause(server, topic)
    set_topic(server, topic, maxInFlight=1)
    for name in "ab":
        server.schedule(topic=topic, jobId=name, url=receiver.url())
    server.request("PATCH", f"/jobs/{topic}/b", json.dumps({"priority": 8}), {"Content-Type": "application/merge-patch+json"}).expect(200)
    resume(server, topic)
    assert in_order(receiver, topic, 2) == ["b", "a"]


def test_retries_have_a_priority_of_their_own(server, receiver, topic):
    set_topic(server, topic, maxInFlight=1, retryPriority=1)
    receiver.script(topic, Answer(500), Answer(), job_id="retried")
    server.schedule(topic=topic, jobId="retried", url=receiver.url(), retrySchedule=["500ms"])
    until(lambda: receiver.count(topic) == 1, 10, "its first attempt")
    pause(server, topic)
    server.schedule_many([{"topic": topic, "jobId": f"first-{i}", "url": receiver.url()} for i in range(20)])
    time.sleep(1)
    resume(server, topic)
    order = in_order(receiver, topic, 22)
    assert order[-1] == "retried"


def test_priorities_are_inside_a_lane(server, receiver, topic):
    pause(server, topic)
    set_topic(server, topic, maxInFlight=1)
    add(server, receiver, topic, 10, "urgent", priority=9)
    add(server, receiver, topic, 2, "usual")
    resume(server, topic)
    order = in_order(receiver, topic, 12)
    assert all(job_id in order[:5] for job_id in ("usual-0", "usual-1")), "the lanes take turns"


# ---- workers ----

def test_workers_get_jobs_of_lanes_in_turn(server, topic):
    set_topic(server, topic, delivery="pull", perKey={"maxInFlight": 2})
    for key in "ab":
        for i in range(4):
            server.schedule(topic=topic, jobId=f"{key}-{i}", key=key, priority=5 + i)
    found = [job["jobId"] for job in lease(server, topic, max=10)]
    assert sorted(found) == ["a-2", "a-3", "b-2", "b-3"]
    assert lease(server, topic, max=10) == []


def test_callbacks_and_history_are_not_lanes(server, receiver, topic):
    server.schedule(topic=topic, jobId="a", key="k", url=receiver.url(), onDelivered=receiver.url("/told"))
    until(lambda: receiver.count(f"{topic}~callbacks") == 1 or receiver.count(topic) >= 1, 10, "the delivery")


def test_a_shared_limit_bounds_lanes(server, receiver, topic):
    server.request("PUT", f"/limits/{topic}", json.dumps({"maxInFlight": 2}), JSON).expect(201)
    set_topic(server, topic, limit=topic, perKey={"maxInFlight": 1})
    receiver.script(topic, Answer(delay=0.05))
    for key in "abcd":
        add(server, receiver, topic, 5, key)
    until(lambda: is_answered(receiver, topic, 20), 20, "all of them")
    assert most_at_once(receiver.of(topic)) == 2
    until(lambda: server.get(f"/limits/{topic}").expect(200)["inFlight"] == 0, 10, "no attempt in flight")


# ---- what Redis may lose ----

@pytest.mark.parametrize("lost", ["ranks", "lanes", "index", "turns", "in flight"])
def test_an_index_that_is_lost_is_made_again(start, redis, receiver, topic, lost):
    own = redis()
    server = start(redis=own)
    pause(server, topic)
    set_topic(server, topic, perKey={"maxInFlight": 1})
    for key in "ab":
        add(server, receiver, topic, 3, key)
    pattern = {"ranks": "ranks", "lanes": "lanes", "index": "lane:*", "turns": "lanes_*", "in flight": "lane_leases:*"}[lost]
    for name in of_redis(own, pattern):
        own.command("DEL", name)
    resume(server, topic)
    until(lambda: receiver.count(topic) == 6, 90, "all of them")


@pytest.fixture(scope="module")
def cluster():
    started = Cluster()
    yield started
    started.stop()


def test_lanes_on_a_cluster(start, cluster, receiver, topic):
    server = start("--prefix", "lanes:", redis=cluster.address)
    names = [f"{topic}.{i}" for i in range(6)]
    for name in names:
        set_topic(server, name, perKey={"maxInFlight": 1})
        receiver.script(name, Answer(delay=0.05))
        for key in "ab":
            add(server, receiver, name, 4, key)
    for name in names:
        until(lambda: is_answered(receiver, name, 8), 30, "all of them")
        for key in "ab":
            assert most_at_once(of_key(receiver, name, key)) == 1
