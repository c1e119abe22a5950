"""How often and when jobs are delivered: throttle, debounce, local due times, windows of topics and of schedules."""

import concurrent.futures
import datetime
import json
import pathlib
import re
import statistics
import subprocess
import threading
import time
import zoneinfo

import pytest

import pull
from clock import MANUAL, ManualClock, MovableClock, attempts, seconds_after
from patience import SLOW, until, watch
from receiver import Answer
from test_cli import ask
from timestamp import from_ms, to_ms

JSON = {"Content-Type": "application/json"}
TOKYO = pathlib.Path("/usr/share/zoneinfo/Asia/Tokyo").read_bytes()
MINUTE, HOUR, DAY = 60_000, 3_600_000, 86_400_000
UTC = datetime.timezone.utc


def put(server, target, **document):
    return server.request("PUT", target, json.dumps(document), JSON)


def patch(server, target, **document):
    return server.request("PATCH", target, json.dumps(document), JSON)


def throttled(server, name, per=60, **job):
    return server.post({**job, "throttle": {"key": name, "per": per}})


def debounced(server, name, wait=10, most=None, **job):
    return server.post({**job, "debounce": {"key": name, "wait": wait, **({"maxWait": most} if most else {})}})


def count_of(server, name):
    return int(re.search(rf"^{name} (\d+)$", server.get("/metrics").body.decode(), re.M)[1])


# ---- throttle ----

def test_the_first_job_of_a_key_stands_for_the_others(turned, receiver, topic):
    job = {"topic": topic, "url": receiver.url()}
    first = throttled(turned, "k", **job, body=1).expect(201)
    again = throttled(turned, "k", **job, body=2).expect(200)
    assert again == {**first, "throttled": True}
    assert len(attempts(turned.clock.settle(), topic)) == 1
    turned.clock.advance(59.999)
    assert throttled(turned, "k", **job, body=3).expect(200) == {**first, "throttled": True}  # although it was delivered
    turned.clock.advance(0.001)
    second = throttled(turned, "k", **job, body=4).expect(201)
    assert second["jobId"] != first["jobId"]
    turned.clock.until_idle()
    assert [one.body for one in receiver.of(topic)] == [b"1", b"4"]


def test_keys_and_topics_are_throttled_apart(turned, receiver, topic):
    for name in "ab":
        for key in ("k", "l", "ü"):
            throttled(turned, key, topic=f"{topic}.{name}", url=receiver.url()).expect(201)
            throttled(turned, key, topic=f"{topic}.{name}", url=receiver.url()).expect(200)
    debounced(turned, "k", topic=f"{topic}.a", url=receiver.url()).expect(201)  # nor do the two share keys
    turned.clock.until_idle()
    assert (receiver.count(f"{topic}.a"), receiver.count(f"{topic}.b")) == (4, 3)


def test_throttle_with_ids_delays_and_an_idempotency_key(turned, receiver, topic):
    job = {"topic": topic, "url": receiver.url(), "throttle": {"key": "k", "per": "1h"}}
    first = turned.post({**job, "jobId": "a", "delay": "2m"}, headers={"Idempotency-Key": "one"}).expect(201)
    assert turned.post({**job, "jobId": "b"}).expect(200) == {**first, "throttled": True}
    assert turned.post({**job, "jobId": "a", "delay": "2m"}, headers={"Idempotency-Key": "one"}).expect(201) == first
    other = {**job, "jobId": "c"}
    for _ in range(2):
        assert turned.post(other, headers={"Idempotency-Key": "two"}).expect(200) == {**first, "throttled": True}
    turned.post({**job, "jobId": "d"}, headers={"Idempotency-Key": "two"}).expect(422)
    turned.clock.advance("1h")
    # The second request was answered, so its repetition does not schedule a job, although the time is over.
    assert turned.post(other, headers={"Idempotency-Key": "two"}).expect(200) == {**first, "throttled": True}
    turned.post({**job, "jobId": "e"}).expect(201)
    turned.clock.until_idle()
    assert [one.job_id for one in receiver.of(topic)] == ["a", "e"]


@pytest.mark.parametrize("lines", [False, True])
def test_throttle_and_debounce_in_lists(turned, receiver, topic, lines):
    job = {"topic": topic, "url": receiver.url()}
    jobs = [*({**job, "body": number, "throttle": {"key": "k", "per": 60}} for number in range(3)),
            *({**job, "body": 10 + number, "debounce": {"key": "k", "wait": 5}} for number in range(3))]
    text = "\n".join(map(json.dumps, jobs)) if lines else json.dumps(jobs)
    kind = {"Content-Type": "application/x-ndjson" if lines else "application/json"}
    results = turned.request("POST", "/jobs", text, kind).expect(207)["results"]
    assert [one["status"] for one in results] == [201, 200, 200, 201, 200, 200]
    assert [("throttled" in one, "debounced" in one) for one in results] == [
        (False, False), (True, False), (True, False), (False, False), (False, True), (False, True)]
    assert len({one["jobId"] for one in results}) == 2
    turned.clock.until_idle()
    assert [one.body for one in receiver.of(topic)] == [b"0", b"12"]


def test_a_refused_job_stands_for_nothing(manual, receiver, topic):
    server, clock = manual("--max-jobs", "2")
    put(server, f"/topics/{topic}", maxPending=0).expect(200)
    job = {"topic": topic, "url": receiver.url()}
    throttled(server, "k", **job).expect(429)
    debounced(server, "k", **job).expect(429)
    put(server, f"/topics/{topic}").expect(200)
    for job_id in "ab":
        server.schedule(topic=f"{topic}.other", jobId=job_id, url=receiver.url(), delay=5)
    throttled(server, "k", **job).expect(507)
    debounced(server, "k", **job).expect(507)
    clock.until_idle()
    throttled(server, "k", **job, body=1).expect(201)
    debounced(server, "k", **job, body=2).expect(201)
    throttled(server, "k", **job).expect(200)  # although there is no room
    assert debounced(server, "k", **job, body=3).expect(200)["debounced"]
    clock.until_idle()
    assert [one.body for one in receiver.of(topic)] == [b"1", b"3"]


def test_many_requests_at_once_make_one_job(start, redis, receiver, topic):
    """In real time, over two processes with two reactors each."""
    shared = redis()
    servers = [start("--reactors", "2", "--breaker", "off", redis=shared) for _ in range(2)]
    job = {"topic": topic, "url": receiver.url(), "throttle": {"key": "k", "per": 4}}

    def send(number):
        return servers[number % 2].post(job)
    with concurrent.futures.ThreadPoolExecutor(24) as pool:
        begin = time.monotonic()
        replies = list(pool.map(send, range(48)))
    if time.monotonic() - begin < 4:
        assert sorted(one.status for one in replies) == [200] * 47 + [201]
        assert len({one.json["jobId"] for one in replies}) == 1
    until(lambda: receiver.count(topic) >= 1, 10, "the first job")
    until(lambda: servers[0].post(job).status == 201, 20, "a second job after 4 s")
    assert time.monotonic() - begin >= 4
    until(lambda: receiver.count(topic) >= 2, 10, "the second job")
    assert sum(count_of(server, "duepost_jobs_throttled_total") for server in servers) >= 47


def test_throttle_and_debounce_outlive_the_process(start, receiver, topic, data):
    server = start(*MANUAL, data=data)
    job = {"topic": topic, "url": receiver.url()}
    first = throttled(server, "k", per="1h", **job).expect(201)
    second = debounced(server, "k", wait="1h", **job, body=1).expect(201)
    server.kill()
    server = start(*MANUAL, data=data)
    assert throttled(server, "k", per="1h", **job).expect(200)["jobId"] == first["jobId"]
    assert debounced(server, "k", wait="1h", **job, body=2).expect(200)["jobId"] == second["jobId"]
    ManualClock(server).until_idle()
    assert {one.body for one in receiver.of(topic)} == {b"", b"2"}  # the kill may have been during the first attempt
    server.stop()


# ---- debounce ----

def test_only_the_last_job_of_a_key_is_delivered(turned, receiver, topic):
    begin = turned.clock.now()
    job = {"topic": topic, "url": receiver.url()}
    first = debounced(turned, "k", **job, body=0, labels=["old"], headers={"X-Number": "0"}).expect(201)
    assert to_ms(first["dueAt"]) == begin + 10_000
    for number in range(1, 4):
        turned.clock.advance(9)
        again = debounced(turned, "k", **job, body=number, priority=7).expect(200)
        assert again == {**first, "dueAt": from_ms(begin + number * 9000 + 10_000), "debounced": True}
    shown = turned.job(topic, first["jobId"])
    assert "labels" not in shown and shown["priority"] == 7 and shown["createdAt"] == from_ms(turned.clock.now())
    sent = attempts(turned.clock.until_idle(), topic)
    assert seconds_after(begin, sent) == [37] and [one["jobId"] for one in sent] == [first["jobId"]]
    arrival, = receiver.of(topic)
    assert arrival.body == b"3" and "x-number" not in arrival.headers


@pytest.mark.parametrize("most, wanted", [(25, 25), (None, 100), (10, 10)])
def test_a_job_waits_no_longer_than_the_longest_wait(turned, receiver, topic, most, wanted):
    begin = turned.clock.now()
    debounced(turned, "k", most=most, topic=topic, url=receiver.url(), body=0).expect(201)
    dues, number = [], 0
    while receiver.count(topic) == 0:
        turned.clock.advance(5)
        number += 1
        if receiver.count(topic) == 0:
            dues.append(to_ms(debounced(turned, "k", most=most, topic=topic, url=receiver.url(), body=number).expect(200)["dueAt"]) - begin)
    assert dues == [min(1000 * wanted, 5000 * (place + 3)) for place in range(len(dues))]
    assert (turned.clock.now() - begin) // 1000 == wanted and receiver.of(topic)[0].body == b"%d" % (number - 1)


def test_a_job_after_an_attempt_or_a_cancel_begins_anew(turned, receiver, topic):
    job = {"topic": topic, "url": receiver.url()}
    receiver.script(topic, 500, 200)
    first = debounced(turned, "k", **job, body=1).expect(201)
    turned.clock.advance(10)  # now it waits for its retry
    assert turned.job(topic, first["jobId"])["attempts"] == 1
    second = debounced(turned, "k", **job, body=2).expect(201)
    assert second["jobId"] != first["jobId"]
    turned.cancel(topic, second["jobId"]).expect(200)
    third = debounced(turned, "k", **job, body=3).expect(201)
    assert third["jobId"] != second["jobId"]
    turned.clock.until_idle()
    assert [one.body for one in receiver.of(topic)] == [b"1", b"3", b"1"]
    assert debounced(turned, "k", **job, body=4).expect(201)["jobId"] not in (first["jobId"], third["jobId"])
    turned.clock.until_idle()


def test_a_job_during_an_attempt_begins_anew(server, receiver, topic):
    """In real time: the attempt takes a second."""
    receiver.script(topic, Answer(200, delay=1), 200)
    job = {"topic": topic, "url": receiver.url()}
    first = debounced(server, "k", wait=0.01, **job, body=1).expect(201)
    until(lambda: receiver.count(topic) == 1, 5, "the attempt begins")
    second = debounced(server, "k", wait=0.01, **job, body=2).expect(201)
    assert second["jobId"] != first["jobId"]
    until(lambda: receiver.count(topic) == 2 and server.job(topic, second["jobId"]) is None, 10, "both end")
    assert [one.body for one in receiver.of(topic)] == [b"1", b"2"]


def test_debounces_at_once_make_one_delivery(start, receiver, topic):
    """In real time, over two reactors."""
    server = start("--reactors", "2", "--breaker", "off")
    before = count_of(server, "duepost_jobs_debounced_total")

    def send(number):
        return debounced(server, "k", wait=3, topic=topic, url=receiver.url(), body=number).status
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        assert sorted(pool.map(send, range(32))) == [200] * 31 + [201]
    until(lambda: receiver.count(topic) == 1, 10, "one delivery")
    watch(1, lambda: receiver.count(topic) == 1, "no second delivery")
    assert count_of(server, "duepost_jobs_debounced_total") == before + 31


def test_debounce_with_keys_quotas_and_expiry(turned, receiver, topic):
    put(turned, f"/topics/{topic}", maxPending=2, perKey={"maxPending": 1}).expect(200)
    job = {"topic": topic, "url": receiver.url()}
    first = debounced(turned, "k", **job, key="a").expect(201)
    assert debounced(turned, "k", **job, key="a", body=2).expect(200)["jobId"] == first["jobId"]  # it takes the same place
    turned.schedule(**job, key="b", delay=60, jobId="b")
    assert debounced(turned, "k", **job, key="b").expect(429)["key"] == "b"
    assert turned.job(topic, first["jobId"])["key"] == "a"
    assert debounced(turned, "k", **job, key="c", body=3).expect(200)["jobId"] == first["jobId"]
    assert turned.job(topic, first["jobId"])["key"] == "c"
    debounced(turned, "k", **job, key="c", ttl=5).expect(400)  # it would expire before it is due
    turned.clock.until_idle()
    assert [(one.job_id, one.body) for one in receiver.of(topic)] == [(first["jobId"], b"3"), ("b", b"")]


def test_debounce_in_a_topic_that_is_held_for_days(turned, receiver, topic):
    put(turned, f"/topics/{topic}", paused=True).expect(200)
    first = debounced(turned, "k", topic=topic, url=receiver.url(), body=1).expect(201)
    for number in range(2, 5):
        turned.clock.advance("20h")
        assert debounced(turned, "k", topic=topic, url=receiver.url(), body=number).expect(200)["jobId"] == first["jobId"]
    turned.clock.advance("3d")
    assert debounced(turned, "k", topic=topic, url=receiver.url(), body=5).expect(200)["jobId"] == first["jobId"]
    put(turned, f"/topics/{topic}").expect(200)
    turned.clock.until_idle()
    assert [one.body for one in receiver.of(topic)] == [b"5"]


def test_a_debounce_is_known_as_long_as_its_job(turned, topic):
    """The job is leased for longer than its key is kept, and then waits again, without an attempt."""
    pull.make_pull(turned, topic)
    first = debounced(turned, "k", topic=topic, body=1).expect(201)
    turned.clock.advance(10)
    leased = pull.lease_one(turned, topic, lease="4h")
    turned.clock.advance("3h")
    pull.end(turned, "release", topic, pull.name(leased)).expect(200)
    assert debounced(turned, "k", topic=topic, body=2).expect(200)["jobId"] == first["jobId"]
    turned.clock.advance("1h")
    leased = pull.lease_one(turned, topic)
    assert (leased["jobId"], leased["body"]) == (first["jobId"], 2)
    pull.end(turned, "complete", topic, pull.name(leased)).expect(200)
    assert pull.lease(turned, topic) == []


def test_debounce_with_fifo_callbacks_and_workers(turned, receiver, topic):
    put(turned, f"/topics/{topic}", order="fifo", onDelivered=receiver.url("/called")).expect(200)
    debounced(turned, "k", topic=topic, url=receiver.url(), body=1).expect(201)
    turned.schedule(topic=topic, jobId="b", url=receiver.url(), delay=12)
    turned.clock.advance(5)
    debounced(turned, "k", topic=topic, url=receiver.url(), body=2).expect(200)
    turned.clock.until_idle()
    assert [one.body for one in receiver.of(topic)] == [b"", b"2"]  # it is now behind b
    assert receiver.count(f"{topic}~callbacks") == 2

    pull.make_pull(turned, f"{topic}.pull")
    first = debounced(turned, "k", topic=f"{topic}.pull", body=1).expect(201)
    debounced(turned, "k", topic=f"{topic}.pull", body=2).expect(200)
    assert pull.lease(turned, f"{topic}.pull") == []
    turned.clock.advance(10)
    leased = pull.lease_one(turned, f"{topic}.pull")
    assert (leased["jobId"], leased["body"]) == (first["jobId"], 2)
    assert debounced(turned, "k", topic=f"{topic}.pull", body=3).expect(201)["jobId"] != first["jobId"]
    pull.end(turned, "complete", f"{topic}.pull", pull.name(leased)).expect(200)
    turned.clock.advance(10)
    pull.end(turned, "complete", f"{topic}.pull", pull.name(pull.lease_one(turned, f"{topic}.pull"))).expect(200)


@pytest.mark.parametrize("members, fields", [
    ({"throttle": {"per": 60}}, ["throttle.key"]),
    ({"throttle": {"key": "k"}}, ["throttle.per"]),
    ({"throttle": {"key": "", "per": 0}}, ["throttle.key", "throttle.per"]),
    ({"throttle": {"key": "a\nb", "per": 1, "wait": 1}}, ["throttle.wait", "throttle.key"]),
    ({"throttle": "k"}, ["throttle"]),
    ({"throttle": {"key": "k", "per": 60}, "group": "g"}, ["throttle"]),
    ({"debounce": {"key": "k"}}, ["debounce.wait"]),
    ({"debounce": {"key": "k", "wait": 10, "maxWait": 9}}, ["debounce.maxWait"]),
    ({"debounce": {"key": "x" * 129, "wait": "11y"}}, ["debounce.key", "debounce.wait"]),
    ({"debounce": {"key": "k", "wait": 10}, "jobId": "a"}, ["debounce"]),
    ({"debounce": {"key": "k", "wait": 10}, "delay": 1}, ["debounce"]),
    ({"debounce": {"key": "k", "wait": 10}, "dueAt": "2030-01-01T00:00:00Z"}, ["debounce"]),
    ({"debounce": {"key": "k", "wait": 10}, "throttle": {"key": "k", "per": 1}}, ["debounce"]),
    ({"dueAt": "2030-01-01T09:00"}, ["dueAt"]),
    ({"dueAt": "2030-01-01T09:00", "timezone": "Europe/Bonn"}, ["timezone"]),
    ({"dueAt": "2030-01-01T09:00", "timezone": "localtime"}, ["timezone"]),
    ({"dueAt": "2030-01-01T09:00Z", "timezone": "Europe/Berlin"}, ["dueAt"]),
    ({"dueAt": "2030-02-30T09:00", "timezone": "Europe/Berlin"}, ["dueAt"]),
    ({"dueAt": "2130-01-01T09:00", "timezone": "Europe/Berlin"}, ["dueAt"]),
    ({"timezone": "Europe/Berlin"}, ["timezone"]),
    ({"delay": 5, "timezone": "Europe/Berlin"}, ["timezone"]),
], ids=str)
def test_jobs_that_are_refused(server, receiver, topic, members, fields):
    job = {"topic": topic, **({} if "group" in members else {"url": receiver.url()}), **members}
    assert sorted(server.post(job).fields()) == sorted(fields)


def test_throttle_and_debounce_are_for_new_jobs(server, receiver, topic):
    server.schedule(topic=topic, jobId="a", url=receiver.url(), delay=60)
    for members in {"throttle": {"key": "k", "per": 60}}, {"debounce": {"key": "k", "wait": 10}}:
        name, = members
        assert name in put(server, f"/jobs/{topic}/b", url=receiver.url(), **members).fields()
        assert patch(server, f"/jobs/{topic}/a", **members).fields() == [name]
        assert put(server, f"/schedules/{topic}/s", every="1h", job={"url": receiver.url(), **members}).fields() == [f"job.{name}"]
    assert put(server, f"/schedules/{topic}/s", every="1h", job={"timezone": "Europe/Berlin"}).fields()[0] == "job.timezone"
    server.cancel(topic, "a").expect(200)


# ---- local due times ----

LOCAL = [  # timezone, local time, UTC
    ("Europe/Berlin", "2030-12-24T09:00", "2030-12-24T08:00:00.000Z"),
    ("Europe/Berlin", "2030-07-24T09:00:30", "2030-07-24T07:00:30.000Z"),
    ("Europe/Berlin", "2030-03-31T02:30", "2030-03-31T01:00:00.000Z"),  # skipped
    ("Europe/Berlin", "2030-03-31T03:00", "2030-03-31T01:00:00.000Z"),
    ("Europe/Berlin", "2030-10-27T02:30", "2030-10-27T00:30:00.000Z"),  # comes twice
    ("Europe/Berlin", "2030-10-27T03:00", "2030-10-27T02:00:00.000Z"),
    ("America/New_York", "2030-03-10T02:15", "2030-03-10T07:00:00.000Z"),
    ("America/New_York", "2030-11-03T01:59:59", "2030-11-03T05:59:59.000Z"),
    ("Australia/Lord_Howe", "2030-10-06T02:15", "2030-10-05T15:30:00.000Z"),
    ("Australia/Lord_Howe", "2030-04-07T01:45", "2030-04-06T14:45:00.000Z"),
    ("Pacific/Apia", "2030-01-01T00:00", "2029-12-31T11:00:00.000Z"),
    ("UTC", "2030-01-01T00:00", "2030-01-01T00:00:00.000Z"),
]


@pytest.mark.parametrize("zone, local, wanted", LOCAL)
def test_a_local_time(server, receiver, topic, zone, local, wanted):
    job = {"url": receiver.url(), "dueAt": local, "timezone": zone}
    assert server.schedule(topic=topic, jobId="a", **job)["dueAt"] == wanted
    assert server.post({"topic": topic, "jobId": "a", **job}).expect(200)["dueAt"] == wanted
    assert put(server, f"/jobs/{topic}/b", **job).expect(201)["dueAt"] == wanted
    server.schedule(topic=topic, jobId="c", url=receiver.url(), delay=3600)
    changed = patch(server, f"/jobs/{topic}/c", dueAt=local, timezone=zone).expect(200)
    assert changed["dueAt"] == wanted and "timezone" not in changed and "delay" not in changed
    assert patch(server, f"/jobs/{topic}/c", labels=["x"]).expect(200)["dueAt"] == wanted
    many = server.request("POST", "/jobs", json.dumps([{"topic": topic, **job}]), JSON).expect(207)["results"]
    assert many[0]["dueAt"] == wanted
    server.request("DELETE", f"/jobs?state=delayed&topic={topic}&all=true").expect(200)


def utc_of(zone, local):
    """Returns the first minute since 1970 at which a clock of the zone shows this local minute or a later one: computed minute by
    minute. local: naive datetime."""
    minute = int(local.replace(tzinfo=UTC).timestamp()) // 60 - 15 * 60
    while datetime.datetime.fromtimestamp(60 * minute, zone).replace(tzinfo=None) < local:
        minute += 1
    return minute


@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe"])
def test_each_quarter_of_both_days_of_change(server, receiver, topic, zone):
    rules, year = zoneinfo.ZoneInfo(zone), 2031
    hours = [datetime.datetime(year, 1, 1, tzinfo=UTC) + datetime.timedelta(hours=number) for number in range(8760)]
    changes = [one for one in hours if one.astimezone(rules).utcoffset() != (one + datetime.timedelta(hours=1)).astimezone(rules).utcoffset()]
    assert len(changes) == 2
    jobs, wanted = [], []
    for change in changes:
        day = change.astimezone(rules).replace(tzinfo=None, minute=0) - datetime.timedelta(hours=4)
        for quarter in range(40):
            local = day + datetime.timedelta(minutes=15 * quarter)
            jobs.append({"topic": topic, "url": receiver.url(), "dueAt": local.isoformat()[:16], "timezone": zone})
            wanted.append(from_ms(utc_of(rules, local) * MINUTE))
    results = server.request("POST", "/jobs", json.dumps(jobs), JSON).expect(207)["results"]
    assert [one["dueAt"] for one in results] == wanted
    server.request("DELETE", f"/jobs?state=delayed&topic={topic}&all=true").expect(200)


def test_a_local_time_and_the_expiry_of_a_job(server, receiver, topic):
    job = {"topic": topic, "url": receiver.url(), "dueAt": "2030-12-24T09:00", "timezone": "Europe/Berlin"}
    server.post({**job, "expiresAt": "2030-12-24T08:00:00Z"}).expect(400)
    server.schedule(**job, jobId="a", expiresAt="2030-12-24T08:00:01Z")
    assert patch(server, f"/jobs/{topic}/a", dueAt="2030-12-24T09:00:02", timezone="Europe/Berlin").fields() == ["dueAt"]
    patch(server, f"/jobs/{topic}/a", dueAt="2030-12-24T10:00:00", timezone="Europe/Kyiv").expect(200)
    assert patch(server, f"/jobs/{topic}/a", timezone="Europe/Kyiv").expect(400)
    server.cancel(topic, "a").expect(200)


# ---- windows of a topic ----

def hhmm(ms):
    return time.strftime("%H:%M", time.gmtime(ms // 1000))


def full_hour(clock):
    """Moves the clock to the next full hour, and returns this time."""
    hour = clock.now() // HOUR * HOUR + HOUR
    clock.move_to(hour)
    return hour


def daily(opens_ms, minutes=60):
    """Returns a window of UTC that is open each day for this long."""
    return {"from": hhmm(opens_ms), "to": hhmm(opens_ms + minutes * MINUTE)}


def test_no_attempt_begins_while_the_windows_are_closed(turned, receiver, topic):
    clock = turned.clock
    now = full_hour(clock)
    opens = now + 2 * HOUR
    put(turned, f"/topics/{topic}", windows=[daily(opens)]).expect(200)
    turned.schedule(topic=topic, jobId="a", url=receiver.url())
    turned.schedule(topic=topic, jobId="b", url=receiver.url(), delay="1h")
    turned.schedule(topic=topic, jobId="c", url=receiver.url(), delay="2h30m")
    turned.schedule(topic=topic, jobId="d", url=receiver.url(), delay="3h")
    clock.settle()
    state = turned.get(f"/topics/{topic}").expect(200)
    assert (state["heldBy"], to_ms(state["heldUntil"]), state["jobs"]["ready"]) == ("windows", opens, 1)
    assert state["settings"]["windows"] == [daily(opens)] and state["from"]["windows"] == "topic"
    why = turned.get(f"/jobs/{topic}/a/why").expect(200)
    assert (why["why"], to_ms(why["until"])) == ("windows", opens) and from_ms(opens) in why["detail"]
    turned.run(topic, "b").expect(202)
    assert clock.move_to(opens - 1) == [] and receiver.count(topic) == 0
    assert turned.get(f"/jobs/{topic}/b/why").expect(200)["why"] == "windows"
    sent = attempts(clock.until_idle(), topic)
    assert sorted(one["jobId"] for one in sent[:2]) == ["a", "b"] and [one["jobId"] for one in sent[2:]] == ["c", "d"]
    assert [to_ms(one["at"]) - now for one in sent] == [2 * HOUR, 2 * HOUR, 2 * HOUR + 30 * MINUTE, 26 * HOUR]
    assert "heldBy" not in turned.get(f"/topics/{topic}").expect(200)


def test_a_retry_outside_waits_for_the_next_window(turned, receiver, topic):
    now = full_hour(turned.clock)
    put(turned, f"/topics/{topic}", windows=[daily(now, 30)]).expect(200)
    receiver.script(topic, 500, 500, 500, 200)
    turned.schedule(topic=topic, jobId="a", url=receiver.url(), retrySchedule=["29m59s", "1m", "30m"])
    sent = attempts(turned.clock.until_idle(), topic)
    assert [(to_ms(one["at"]) - now) / MINUTE for one in sent] == [0, 30 - 1 / 60, 1440, 2880]


def test_an_attempt_goes_on_when_its_window_closes_and_callbacks_are_not_held(start, receiver, topic):
    """In real time, at a clock that begins 20 s before a full minute."""
    host = MovableClock()
    minute = int(time.time()) // 60 * 60 + 3600
    host.move_to((minute - 20) * 1000)
    server = start("--breaker", "off", extra={**host.environment, "ASAN_OPTIONS": "verify_asan_link_order=0"})
    opens = (int(host.now()) + 6) // 60 * 60 + 60  # the next full minute, unless it is too near
    put(server, f"/topics/{topic}", windows=[daily(opens * 1000, 1)], onDelivered=receiver.url("/called")).expect(200)
    for job_id in "abc":
        server.schedule(topic=topic, jobId=job_id, url=receiver.url())
    assert server.get(f"/topics/{topic}").expect(200)["heldBy"] == "windows"
    until(lambda: receiver.count(topic), 75, "the window opens")
    assert opens - 0.01 <= host.now() <= opens + 2, host.now() - opens
    until(lambda: receiver.count(topic) == 3 and receiver.count(f"{topic}~callbacks") == 3, 10, "all")


def test_windows_that_are_always_open_are_computed_rarely(start, redis, own, topic):
    shared = redis()
    server = start(redis=shared)
    put(server, f"/topics/{topic}", windows=[{"from": "00:00", "to": "12:00"}, {"from": "12:00", "to": "24:00"}], maxInFlight=1).expect(200)
    own.script(topic, Answer(200, delay=5), 200)
    for job_id in "abc":
        server.schedule(topic=topic, jobId=job_id, url=own.url())
    until(lambda: own.count(topic) == 1, 10, "the first attempt")

    def calls():
        return int(re.search(rb"cmdstat_fcall:calls=(\d+)", shared.command("INFO", "commandstats"))[1])
    before = calls()
    time.sleep(2)
    assert calls() - before < 200, calls() - before
    until(lambda: own.count(topic) == 3, 20, "all jobs")


def test_the_setting_changes_while_closed(turned, receiver, topic):
    clock = turned.clock
    now = full_hour(clock)
    put(turned, f"/topics/{topic}", windows=[daily(now + 5 * HOUR)]).expect(200)
    turned.schedule(topic=topic, jobId="a", url=receiver.url())
    clock.advance("1h")
    patch(turned, f"/topics/{topic}", windows=[daily(now + 3 * HOUR)]).expect(200)
    clock.settle()
    assert to_ms(turned.get(f"/topics/{topic}").expect(200)["heldUntil"]) == now + 3 * HOUR
    sent, = attempts(clock.move_to(now + 3 * HOUR), topic)
    clock.advance("2h")
    turned.schedule(topic=topic, jobId="b", url=receiver.url())
    assert clock.settle() == []
    patch(turned, f"/topics/{topic}", windows=None).expect(200)
    sent, = attempts(clock.settle(), topic)
    assert sent["jobId"] == "b" and to_ms(sent["at"]) == now + 5 * HOUR
    patch(turned, f"/topics/{topic}", windows=[daily(now + 8 * HOUR)]).expect(200)
    turned.schedule(topic=topic, jobId="c", url=receiver.url())
    assert clock.settle() == []
    turned.request("DELETE", f"/topics/{topic}").expect(200)
    assert [one["jobId"] for one in attempts(clock.settle(), topic)] == ["c"]


def test_due_jobs_do_not_wait_until_openings_are_computed(server, receiver, topic):
    """In real time: each change of the windows makes them unknown."""
    waits = []
    for number in range(9):
        put(server, f"/topics/{topic}", windows=[{"from": "00:00", "to": f"11:0{number}"}, {"from": "11:00", "to": "24:00"}]).expect(200)
        begin = time.monotonic()
        server.schedule(topic=topic, jobId=str(number), url=receiver.url())
        until(lambda: receiver.count(topic) > number, 10, "the job")  # noqa: B023 - called at once
        waits.append(time.monotonic() - begin)
    assert statistics.median(waits) < 0.2 * SLOW, waits


def test_a_zone_that_the_host_does_not_know_at_first(start, redis, receiver, topic, tmp_path):
    shared, zones = redis(), tmp_path / "zoneinfo"
    zones.mkdir()
    through = ("unshare", "--mount", "sh", "-c", f'mount --bind {zones} /usr/share/zoneinfo && exec "$@"', "sh")
    if subprocess.run([*through, "true"], check=False, capture_output=True).returncode != 0:
        pytest.skip("no mount of the test's own")
    always = [{"from": "00:00", "to": "12:00", "timezone": "Asia/Tokyo"}, {"from": "12:00", "to": "24:00", "timezone": "Asia/Tokyo"}]
    server = start(redis=shared)
    put(server, f"/topics/{topic}", windows=always).expect(200)
    server.terminate(10)
    server = start(redis=shared, through=through)
    server.schedule(topic=topic, jobId="a", url=receiver.url())
    until(lambda: "does not know the time zone" in server.get(f"/jobs/{topic}/a/why").expect(200)["detail"], 10, "why")
    state, why = server.get(f"/topics/{topic}").expect(200), server.get(f"/jobs/{topic}/a/why").expect(200)
    assert state["heldBy"] == why["why"] == "windows" and "heldUntil" not in state and "until" not in why
    spans = shared.command("HGET", "duepost:{0}:openings", topic).decode()
    assert 590_000 < int(re.fullmatch(r"\$15\r\n- (\d+)\r\n", spans)[1]) - 1000 * time.time() <= 600_500
    (zones / "Asia").mkdir()
    (zones / "Asia" / "Tokyo").write_bytes(TOKYO)
    assert receiver.count(topic) == 0
    now = str(int(1000 * time.time()))
    shared.command("HSET", "duepost:{0}:openings", topic, f"- {now}")  # as if the 10 minutes were over
    shared.command("ZADD", "duepost:{0}:due", now, topic)
    until(lambda: receiver.count(topic) == 1, 10, "the window is open")
    server.terminate(10)


def test_windows_of_a_pattern(turned, receiver, topic):
    clock = turned.clock
    now = full_hour(clock)
    put(turned, f"/topics/{topic}-*", windows=[daily(now + 2 * HOUR)]).expect(200)
    put(turned, f"/topics/{topic}-own", windows=[daily(now + HOUR)]).expect(200)
    names = [f"{topic}-own", f"{topic}-a", f"{topic}-b"]
    for name in names:
        turned.schedule(topic=name, jobId="j", url=receiver.url())
    assert clock.settle() == []
    assert turned.get(f"/topics/{topic}-a").expect(200)["from"]["windows"] == f"{topic}-*"
    sent = attempts(clock.move_to(now + 2 * HOUR))
    assert sorted((one["topic"], (to_ms(one["at"]) - now) // HOUR) for one in sent) == sorted(zip(names, (1, 2, 2)))
    clock.advance("2h")
    for name in names:
        turned.schedule(topic=name, jobId="j", url=receiver.url())
    assert clock.settle() == []
    turned.request("DELETE", f"/topics/{topic}-*").expect(200)
    assert sorted(one["topic"] for one in attempts(clock.settle())) == sorted(names[1:])
    turned.request("DELETE", f"/topics/{topic}-own").expect(200)
    clock.until_idle()


@pytest.mark.parametrize("ends", ["kill", "terminate"])
def test_a_restart_while_closed(start, receiver, topic, data, ends):
    server = start(*MANUAL, data=data)
    now = full_hour(ManualClock(server))
    put(server, f"/topics/{topic}", windows=[daily(now + 3 * HOUR)]).expect(200)
    server.schedule(topic=topic, jobId="a", url=receiver.url())
    getattr(server, ends)()
    server = start(*MANUAL, data=data)
    assert ManualClock(server).move_to(now + 3 * HOUR - 1) == []
    sent, = attempts(ManualClock(server).until_idle())
    assert to_ms(sent["at"]) == now + 3 * HOUR and receiver.count(topic) == 1
    server.stop()


def test_windows_with_a_rate(turned, receiver, topic):
    now = full_hour(turned.clock)
    put(turned, f"/topics/{topic}", windows=[daily(now + HOUR, 55)], rate={"jobs": 6, "per": 3600}).expect(200)
    for number in range(14):
        turned.schedule(topic=topic, jobId=f"{number:02}", url=receiver.url())
    sent = attempts(turned.clock.until_idle(), topic)
    assert len({one["jobId"] for one in sent}) == 14
    assert [round((to_ms(one["at"]) - now - HOUR) / MINUTE) for one in sent] == [
        day * 1440 + 10 * number for day in range(3) for number in range(6)][:14]


def test_a_closed_topic_does_not_hold_the_others_of_its_limit(turned, receiver, topic):
    now = full_hour(turned.clock)
    limit = re.sub(r"[^A-Za-z0-9.]", "-", topic)
    put(turned, f"/limits/{limit}", maxInFlight=1, rate={"jobs": 4, "per": 3600}).expect(201)
    put(turned, f"/topics/{topic}.closed", limit=limit, windows=[daily(now, 16)]).expect(200)
    put(turned, f"/topics/{topic}.open", limit=limit).expect(200)
    for number in range(4):
        turned.schedule(topic=f"{topic}.closed", jobId=f"c{number}", url=receiver.url())
        turned.schedule(topic=f"{topic}.open", jobId=f"o{number}", url=receiver.url())
    sent = attempts(turned.clock.until_idle())
    minutes = {one["jobId"]: (to_ms(one["at"]) - now) // MINUTE for one in sent}
    assert max(minutes[f"o{number}"] for number in range(4)) <= 75  # the limit's rate alone delays them
    assert all(minutes[f"c{number}"] % 1440 < 16 for number in range(4)), minutes
    for name in ("open", "closed"):
        turned.request("DELETE", f"/topics/{topic}.{name}").expect(200)
    turned.request("DELETE", f"/limits/{limit}").expect(200)


def test_windows_with_keys_and_priorities(turned, receiver, topic):
    now = full_hour(turned.clock)
    put(turned, f"/topics/{topic}", windows=[daily(now + HOUR, 20)], perKey={"rate": {"jobs": 1, "per": 900}}).expect(200)
    for number in range(3):
        for key in "ab":
            turned.schedule(topic=topic, jobId=f"{key}{number}", key=key, priority=number, url=receiver.url())
    sent = attempts(turned.clock.until_idle(), topic)
    for key in "ab":
        own = [(round((to_ms(one["at"]) - now) / MINUTE), one["jobId"]) for one in sent if one["jobId"][0] == key]
        assert own == [(60, f"{key}2"), (75, f"{key}1"), (1500, f"{key}0")], own


def test_windows_with_fifo(turned, receiver, topic):
    now = full_hour(turned.clock)
    put(turned, f"/topics/{topic}", windows=[daily(now, 30)], order="fifo").expect(200)
    receiver.script(topic, 500, 200, job_id="b")
    for number, job_id in enumerate("abcd"):
        turned.schedule(topic=topic, jobId=job_id, url=receiver.url(), delay=60 * number, retrySchedule=["1h"])
    sent = attempts(turned.clock.until_idle(), topic)
    assert [one["jobId"] for one in sent] == list("abbcd")
    assert [(to_ms(one["at"]) - now) // MINUTE for one in sent] == [0, 1, 1440, 1440, 1440]


def test_windows_with_a_breaker(manual, own, topic):
    """A receiver is down for two windows. Nothing reaches it outside, not even a probe."""
    server, clock = manual()
    now = full_hour(clock)
    put(server, f"/topics/{topic}", windows=[daily(now, 30)]).expect(200)
    own.script(topic, 503)
    for number in range(25):
        server.schedule(topic=topic, jobId=str(number), url=own.url())
    failed = attempts(clock.move_to(now + 30 * HOUR), topic)
    assert len(failed) > 25
    own.script(topic, 200)
    sent = failed + attempts(clock.until_idle(), topic)
    assert all((to_ms(one["at"]) - now) % DAY < 30 * MINUTE for one in sent)
    assert len({one["jobId"] for one in sent if one["outcome"] == "delivered"}) == 25 == len({one.job_id for one in own.of(topic)})
    assert (to_ms(sent[-1]["at"]) - now) // DAY == 2


def test_a_job_expires_while_closed(turned, receiver, topic):
    now = full_hour(turned.clock)
    put(turned, f"/topics/{topic}", windows=[daily(now + 5 * HOUR)], onDead=receiver.url("/dead")).expect(200)
    turned.schedule(topic=topic, jobId="a", url=receiver.url(), ttl="1h")
    fired = turned.clock.move_to(now + 2 * HOUR)
    job = turned.job(topic, "a")
    assert (job["state"], job["reason"]) == ("dead", "expired") and 0 <= to_ms(job["deadAt"]) - now - HOUR <= 1000
    assert [one["topic"] for one in attempts(fired)] == [f"{topic}~callbacks"]  # the callback is not held
    assert receiver.count(topic) == 0


def test_workers_get_no_job_while_closed(turned, topic):
    clock = turned.clock
    now = full_hour(clock)
    pull.make_pull(turned, topic, windows=[daily(now + HOUR)])
    turned.schedule(topic=topic, jobId="a")
    clock.settle()
    assert pull.lease(turned, topic) == []
    assert turned.get(f"/topics/{topic}").expect(200)["heldBy"] == "windows"
    assert turned.get(f"/jobs/{topic}/a/why").expect(200)["why"] == "windows"
    waiter = pull.Waiter(turned, topic, wait=60, lease="2h")
    pull.await_waiting(turned, 1)
    clock.move_to(now + HOUR - 1)
    assert not waiter.has_answer()
    mover = threading.Thread(target=clock.move_to, args=(now + HOUR,))
    mover.start()
    job, = waiter.jobs()
    mover.join()
    assert job["jobId"] == "a" and clock.now() >= now + HOUR
    clock.advance("1h")  # the window closes, and the worker may still end its job
    pull.end(turned, "complete", topic, pull.name(job)).expect(200)


@pytest.mark.parametrize("windows", [
    [], {}, "09:00-17:00", [1], [{}], [{"from": "09:00"}], [{"from": "9:00", "to": "17:00"}], [{"from": "24:00", "to": "01:00"}],
    [{"from": "09:00", "to": "24:01"}], [{"from": "09:60", "to": "10:00"}], [{"from": "09:00", "to": "10:00", "days": []}],
    [{"from": "09:00", "to": "10:00", "days": ["mo"]}], [{"from": "09:00", "to": "10:00", "days": ["mon", "mon"]}],
    [{"from": "09:00", "to": "10:00", "timezone": "Europe/Bonn"}], [{"from": "09:00", "to": "10:00", "timezone": 1}],
    [{"from": "09:00", "to": "10:00", "until": "x"}], [{"from": "09:00", "to": "10:00"}] * 17], ids=str)
def test_windows_that_are_refused(server, receiver, topic, windows):
    for name in topic, f"{topic}-*":
        assert put(server, f"/topics/{name}", windows=windows).fields() == ["windows"]
        assert patch(server, f"/topics/{name}", windows=windows).fields() == ["windows"]
    if windows != [{"from": "09:00", "to": "10:00", "timezone": "Europe/Bonn"}]:
        assert put(server, f"/schedules/{topic}/s", every="1h", windows=windows, job={"url": receiver.url()}).fields() == ["windows"]


# ---- windows at changes of clocks ----

NIGHT = [{"from": "22:00", "to": "02:30"}]
MIXED = [{"days": ["mon", "tue", "wed", "thu", "fri"], "from": "09:00", "to": "17:00"}, {"days": ["sat", "sun"], "from": "01:45", "to": "03:15"}]
DAYS = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
START, END = (datetime.datetime(year, 7, 1, tzinfo=UTC) for year in (2011, 2012))  # the year in which Apia skipped a Friday


def changes_of(zone):
    """Returns the minutes since 1970 at which clocks of the zone change."""
    found, minute, last = [], int(START.timestamp()) // 60, int(END.timestamp()) // 60

    def offset(at):
        return datetime.datetime.fromtimestamp(60 * at, zone).utcoffset()
    while minute < last:
        if offset(minute) != offset(minute + 60):
            found.append(next(at for at in range(minute, minute + 61) if offset(at) != offset(minute)))
        minute += 60
    return found


def open_minutes(windows, zone, first, last):
    """Returns the minutes from first to last at which a window is open, as a set."""
    found = set()
    day = datetime.datetime.fromtimestamp(60 * first, UTC).date() - datetime.timedelta(days=3)
    while day <= datetime.datetime.fromtimestamp(60 * last, UTC).date() + datetime.timedelta(days=3):
        for window in windows:
            if DAYS[day.weekday()] in window.get("days", DAYS):
                midnight = datetime.datetime.combine(day, datetime.time())
                opens, closes = (datetime.timedelta(hours=int(text[:2]), minutes=int(text[3:])) for text in (window["from"], window["to"]))
                closes += datetime.timedelta(days=closes <= opens)
                found.update(range(utc_of(zone, midnight + opens), utc_of(zone, midnight + closes)))
        day += datetime.timedelta(days=1)
    return {minute for minute in found if first <= minute <= last}


@pytest.mark.parametrize("name, changes", [("Europe/Berlin", 2), ("America/New_York", 2), ("Australia/Lord_Howe", 2), ("Pacific/Apia", 3)])
def test_no_attempt_is_outside_and_none_is_late_when_clocks_change(start, receiver, topic, name, changes):
    """Jobs come every minute around each change of clocks, and every ten minutes the day before and after."""
    host, zone = MovableClock(), zoneinfo.ZoneInfo(name)
    host.move_to(int(START.timestamp() - 60) * 1000)
    server = start(*MANUAL, "--breaker", "off", extra={**host.environment, "ASAN_OPTIONS": "verify_asan_link_order=0"})
    clock, wanted, jobs = ManualClock(server), {}, []
    assert len(changes_of(zone)) == changes
    for kind, windows in ("night", NIGHT), ("mixed", MIXED):
        of_kind = f"{topic}.{kind}"
        put(server, f"/topics/{of_kind}", windows=[{**window, "timezone": name} for window in windows], url=receiver.url()).expect(200)
        for change in changes_of(zone):
            dues = {*range(change - 16 * 60, change + 16 * 60, 10), *range(change - 100, change + 100)}
            is_open = sorted(open_minutes(windows, zone, min(dues), max(dues) + 6 * 1440))
            for due in sorted(dues):
                jobs.append({"topic": of_kind, "jobId": str(due), "dueAt": from_ms(due * MINUTE)})
                wanted[of_kind, str(due)] = next(minute for minute in is_open if minute >= due) * MINUTE
    results = server.request("POST", "/jobs", json.dumps(jobs), JSON).expect(207)["results"]
    assert {one["status"] for one in results} == {201}
    sent = attempts(clock.until_idle())
    found = {(one["topic"], one["jobId"]): to_ms(one["at"]) for one in sent}
    assert len(sent) == len(found) == len(jobs)
    wrong = [(key, from_ms(found[key]), from_ms(wanted[key])) for key in wanted if found[key] != wanted[key]]
    assert not wrong, (len(wrong), wrong[:10])


@pytest.mark.parametrize("name", ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Pacific/Apia"])
def test_windows_of_schedules(start, receiver, topic, name):
    host, zone = MovableClock(), zoneinfo.ZoneInfo(name)
    host.move_to(int(START.timestamp() - 60) * 1000)
    server = start(*MANUAL, "--breaker", "off", extra={**host.environment, "ASAN_OPTIONS": "verify_asan_link_order=0"})
    clock, wanted = ManualClock(server), []
    for kind, windows in ("night", NIGHT), ("mixed", MIXED):
        for change in changes_of(zone):
            first, last = change - 2 * 1440, change + 2 * 1440
            put(server, f"/schedules/{topic}/{kind}.{change}", every="17m", timezone=name, startAt=from_ms(first * MINUTE),
                endAt=from_ms(last * MINUTE), windows=windows, job={"url": receiver.url()}).expect(201)
            is_open = open_minutes(windows, zone, first, last)
            wanted += [(f"{kind}.{change}", minute * MINUTE) for minute in range(first, last + 1, 17) if minute in is_open]
    fired = [one for one in clock.move_to(int(END.timestamp()) * 1000) if one["event"] == "scheduled"]
    assert sorted((one["jobId"].partition("~")[0], to_ms(one["at"])) for one in fired) == sorted(wanted) and len(wanted) > 100


def test_windows_of_a_cron_schedule(turned, receiver, topic):
    now = full_hour(turned.clock)
    windows = [daily(now + 3 * HOUR), daily(now + 8 * HOUR, 25)]
    put(turned, f"/schedules/{topic}/s", cron="*/20 * * * *", windows=windows, job={"url": receiver.url()}).expect(201)
    shown = turned.get(f"/schedules/{topic}/s").expect(200)
    wanted = [180, 200, 220, 480, 500]
    assert shown["windows"] == windows and [(to_ms(one) - now) // MINUTE for one in shown["next"]] == wanted
    fired = [one for one in turned.clock.advance("10h") if one["event"] == "scheduled"]
    assert [(to_ms(one["at"]) - now) // MINUTE for one in fired] == wanted
    changed = patch(turned, f"/schedules/{topic}/s", windows=None).expect(200)
    assert "windows" not in changed and (to_ms(changed["next"][0]) - now) // MINUTE == 620
    turned.request("DELETE", f"/schedules/{topic}/s").expect(200)


def test_windows_of_a_schedule_that_are_refused(server, receiver, topic):
    zoned = [{"from": "09:00", "to": "10:00", "timezone": "Europe/Berlin"}]
    assert put(server, f"/schedules/{topic}/s", every="1h", windows=zoned, job={"url": receiver.url()}).fields() == ["windows"]
    never = {"cron": "30 12 * * *", "windows": [{"from": "09:00", "to": "10:00"}], "job": {"url": receiver.url()}}
    put(server, f"/schedules/{topic}/s", **never).expect(400)


# ---- the command line ----

def test_options_and_settings_at_the_command_line(turned, receiver, topic):
    url = receiver.url()
    first = ask(turned, "schedule", topic, "--url", url, "--throttle-key", "k", "--throttle-per", "1m")
    again = ask(turned, "schedule", topic, "--url", url, "--throttle-key", "k", "--throttle-per", "1m")
    assert again.split(" is ")[0] == first.split(" is ")[0] and again.endswith(" (throttled)\n") and "throttled" not in first
    debounce = ("schedule", topic, "--url", url, "--debounce-key", "k", "--debounce-wait", "10s", "--debounce-max-wait", "1m")
    assert "debounced" not in ask(turned, *debounce) and ask(turned, *debounce).endswith(" (debounced)\n")
    local = ask(turned, "schedule", f"{topic}/a", "--url", url, "--due-at", "2030-12-24T09:00", "--timezone", "Europe/Berlin")
    assert local.endswith(", at 2030-12-24T08:00:00.000Z\n")
    turned.cancel(topic, "a").expect(200)
    turned.clock.until_idle()
    now = full_hour(turned.clock)
    window = daily(now + HOUR)
    ask(turned, "set", topic, f"windows={json.dumps([window])}")
    turned.schedule(topic=topic, jobId="b", url=url)
    turned.clock.settle()
    shown = ask(turned, "topics", topic)
    assert "held by    windows until" in shown and f"; duepost set {topic} windows= lets the jobs through" in shown
    assert f"closed until {from_ms(now + HOUR)}. duepost set {topic} windows=JSON changes them" in ask(turned, "why", f"{topic}/b")
    ask(turned, "set", topic, "windows=")
    assert [one["jobId"] for one in attempts(turned.clock.settle(), topic)] == ["b"]
