"""Schedules: each time is fired exactly once and never early, whichever process dies; and the answers of the routes."""

import collections
import concurrent.futures
import datetime
import json
import os
import re
import socket
import threading
import time

import pytest

from clock import attempts, seconds_after
from patience import SLOW, until, watch
from timestamp import from_ms, to_ms

JSON = {"Content-Type": "application/json"}
KEYS = "duepost:{0}:"
MANY = int(os.environ.get("DUEPOST_TEST_SCHEDULES", "2000"))  # number of schedules with the same second; the long run has 100,000
CONNECTIONS = 32


def put(server, topic, name, headers=None, status=(200, 201), **members):
    reply = server.request("PUT", f"/schedules/{topic}/{name}", json.dumps(members), {**JSON, **(headers or {})})
    assert reply.status in ([status] if isinstance(status, int) else status), reply.body
    return reply


def patch(server, topic, name, headers=None, **members):
    return server.request("PATCH", f"/schedules/{topic}/{name}", json.dumps(members), {**JSON, **(headers or {})})


def read(server, topic, name):
    return server.get(f"/schedules/{topic}/{name}").expect(200)


def last(server, topic, name):
    return read(server, topic, name).get("last", {})


def stamp(text):
    """Returns the ms since 1970 of a time in an answer."""
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp() * 1000


def time_of(job_id):
    """Returns the ms since 1970 of an occurrence, which its id contains."""
    found = re.search(r"~(\d{8}T\d{6})(\.\d{3})?Z$", job_id)
    whole = datetime.datetime.strptime(found[1], "%Y%m%dT%H%M%S").replace(tzinfo=datetime.timezone.utc)
    return whole.timestamp() * 1000 + 1000 * float(found[2] or 0)


def ago(seconds):
    return (datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def occurrences(receiver, topic):
    """Checks that each occurrence was delivered once and not early, and returns their times."""
    arrivals = receiver.of(topic)
    twice = [name for name, number in collections.Counter(a.job_id for a in arrivals).items() if number > 1]
    assert not twice, f"delivered twice: {twice}"
    for arrival in arrivals:
        assert arrival.at_ms >= time_of(arrival.job_id), f"{arrival.job_id} came at {arrival.at_ms}"
    return sorted(time_of(arrival.job_id) for arrival in arrivals)


def steps(times):
    return {round(after - before) for before, after in zip(times, times[1:])}


# ---- times ----

def test_each_second_has_its_job(server, receiver, topic):
    shown = put(server, topic, "a", every=1, job={"url": receiver.url(), "body": {"x": 1}}).json
    assert len(shown["next"]) == 5 and stamp(shown["next"][0]) == stamp(shown["createdAt"]) + 1000
    until(lambda: receiver.count(topic) >= 4, 30, "four occurrences")
    server.request("DELETE", f"/schedules/{topic}/a").expect(200)
    assert steps(occurrences(receiver, topic)) == {1000}
    assert {arrival.body for arrival in receiver.of(topic)} == {b'{"x": 1}'}


def test_an_id_is_not_a_way_to_another_path(server, topic):
    for schedule_id in "a%2F..%2Fb", "..%2F..%2Ftopics%2Fx", ".%2Fa":
        body = json.dumps({"every": 60, "job": {"url": "http://127.0.0.1:9/"}})
        reply = server.request("PUT", f"/schedules/{topic}/{schedule_id}", body, {"Content-Type": "application/json"}, check=False)
        assert reply.status == 400
    put(server, topic, "a%2F..b%2F...", every=3600, job={"url": "http://127.0.0.1:9/"})


def test_cron_fires_at_whole_seconds(server, receiver, topic):
    shown = put(server, topic, "a", cron="* * * * * *", timezone="Europe/Berlin", job={"url": receiver.url()}).json
    assert all(text.endswith(".000Z") for text in shown["next"])
    until(lambda: receiver.count(topic) >= 2, 30, "two occurrences")
    server.request("DELETE", f"/schedules/{topic}/a").expect(200)
    assert all(at % 1000 == 0 for at in occurrences(receiver, topic))
    assert re.fullmatch(r"a~\d{8}T\d{6}Z", receiver.of(topic)[0].job_id)


def test_it_ends_with_end_at(turned, receiver, topic):
    start = turned.clock.now() + 5000
    put(turned, topic, "a", every=1, startAt=from_ms(start), endAt=from_ms(start + 1500), job={"url": receiver.url()})
    assert seconds_after(start, attempts(turned.clock.advance("1h"), topic)) == [0, 1]
    assert read(turned, topic, "a")["next"] == [] and receiver.count(topic) == 2


def test_jitter_makes_it_later_but_not_earlier(turned, receiver, topic):
    put(turned, topic, "a", every="2h", jitter="90m", job={"url": receiver.url()})
    fired = turned.clock.advance("7d")
    created, sent = ([one for one in fired if (one["topic"], one["event"]) == (topic, event)] for event in ("scheduled", "attempt"))
    assert steps([to_ms(one["at"]) for one in created]) == {7200_000} and len(created) == 84
    late = [to_ms(one["at"]) - time_of(one["jobId"]) for one in sent]
    assert min(late) >= 0 and 4500_000 < max(late) <= 5400_000 and len(set(late)) > 40, sorted(late)
    turned.request("DELETE", f"/schedules/{topic}/a").expect(200)


# ---- changes ----

def test_a_paused_schedule_creates_no_job_and_continues_with_the_next_time(turned, receiver, topic):
    put(turned, topic, "a", every=60, job={"url": receiver.url()})
    begin = turned.clock.now()
    assert seconds_after(begin, attempts(turned.clock.advance("1m"), topic)) == [60]
    assert patch(turned, topic, "a", paused=True).expect(200)["next"] == []
    assert attempts(turned.clock.advance(86400 - 90), topic) == []
    shown = patch(turned, topic, "a", paused=False).expect(200)
    assert len(shown["next"]) == 5 and to_ms(shown["next"][0]) == begin + 86400_000
    assert seconds_after(begin, attempts(turned.clock.advance("90s"), topic)) == [86400, 86460]
    turned.request("DELETE", f"/schedules/{topic}/a").expect(200)


def test_a_deleted_schedule_creates_no_job(server, receiver, topic):
    """Deletes many schedules just when they fire. After the answer to the DELETE, no more jobs may be created."""
    for round_ in range(3):
        for i in range(10):
            put(server, topic, f"{round_}-{i}", every=1, job={"url": receiver.url()})
        time.sleep(1 + 0.004 * round_)
        seen = {}
        for i in range(10):
            server.request("DELETE", f"/schedules/{topic}/{round_}-{i}").expect(200)
            seen[i] = {job["jobId"] for job in server.get(f"/jobs?topic={topic}&idPrefix={round_}-{i}~").expect(200)["jobs"]}
            seen[i] |= {arrival.job_id for arrival in receiver.of(topic)}
        time.sleep(1.2)
        for i in range(10):
            assert {a.job_id for a in receiver.of(topic) if a.job_id.startswith(f"{round_}-{i}~")} <= seen[i] | {
                a.job_id for a in receiver.of(topic) if a.at_ms < time_of(a.job_id) + 1000}
    assert server.get(f"/schedules/{topic}").expect(200)["schedules"] == []
    number = receiver.count(topic)
    watch(1.5, lambda: receiver.count(topic) == number, "a deleted schedule makes no job")


def test_a_second_put_keeps_its_times(server, topic):
    first = put(server, topic, "a", every=3600, job={"url": "http://127.0.0.1:9/"}).json
    again = put(server, topic, "a", status=200, every=3600, job={"url": "http://127.0.0.1:9/", "body": 1}).json
    assert (again["createdAt"], again["next"]) == (first["createdAt"], first["next"])
    other = put(server, topic, "a", status=200, every=60, job={"url": "http://127.0.0.1:9/"}).json
    assert other["createdAt"] == first["createdAt"]
    assert stamp(other["next"][0]) == stamp(first["createdAt"]) + 60000


def test_conditions(server, topic):
    members = {"every": 3600, "job": {"url": "http://127.0.0.1:9/"}}
    put(server, topic, "a", {"If-Match": "*"}, 412, **members)
    tag = put(server, topic, "a", {"If-None-Match": "*"}, 201, **members).headers["ETag"]
    put(server, topic, "a", {"If-None-Match": "*"}, 412, **members)
    assert server.get(f"/schedules/{topic}/a").headers["ETag"] == tag
    other = patch(server, topic, "a", {"If-Match": tag}, every=60)
    assert other.status == 200 and other.headers["ETag"] != tag
    assert patch(server, topic, "a", {"If-Match": tag}, every=61).status == 412
    assert patch(server, topic, "a", {"If-Match": "nonsense"}, every=61).fields() == ["If-Match"]
    assert server.request("DELETE", f"/schedules/{topic}/a", headers={"If-Match": tag}).status == 412
    assert read(server, topic, "a")["every"] == 60
    server.request("DELETE", f"/schedules/{topic}/a", headers={"If-Match": other.headers["ETag"]}).expect(200)


def test_concurrent_patches_do_not_undo_each_other(server, topic):
    put(server, topic, "a", every=3600, job={"url": "http://127.0.0.1:9/"})
    server.request("PATCH", f"/schedules/{topic}/a", '{"job":{"headers":{"X-A":"1"}}}', JSON).expect(200)
    server.request("PATCH", f"/schedules/{topic}/a", '{"job":{"headers":{"X-B":"2"}},"overlap":"skip"}', {"Content-Type": "application/merge-patch+json"}).expect(200)
    shown = read(server, topic, "a")
    assert set(shown["job"]["headers"]) == {"X-A", "X-B"} and shown["overlap"] == "skip"


# ---- run, overlap, conflicts, missed times ----

def test_run_makes_a_job_now(server, receiver, topic):
    put(server, topic, "a", every=3600, paused=True, job={"url": receiver.url(), "body": "now"})
    names = {server.request("POST", f"/schedules/{topic}/a/run").expect(202)["jobId"] for _ in range(3)}
    until(lambda: receiver.count(topic) == 3, 30, "three runs")
    assert {arrival.job_id for arrival in receiver.of(topic)} == names and all(name.startswith("a~run-") for name in names)
    assert "last" not in read(server, topic, "a")


def test_overlap_skip_waits_for_the_last_one(turned, receiver, topic):
    """The first job waits for its retry at three times of the schedule."""
    receiver.script(topic, 500, 200)
    begin = turned.clock.now()
    put(turned, topic, "a", every="1h", overlap="skip", job={"url": receiver.url(), "retrySchedule": ["210m"]})
    turned.clock.advance("1h")
    first = receiver.of(topic)[0].job_id
    for _ in range(3):
        turned.clock.advance("1h")
        assert (last(turned, topic, "a")["outcome"], last(turned, topic, "a")["jobId"]) == ("overlap", first)
    assert seconds_after(begin, attempts(turned.clock.advance("1h"), topic)) == [16200, 18000]
    assert last(turned, topic, "a")["outcome"] == "fired" and [a.job_id == first for a in receiver.of(topic)] == [True, True, False]
    turned.request("DELETE", f"/schedules/{topic}/a").expect(200)


def test_the_last_occurrence_is_followed_to_its_end(server, receiver, topic):
    server.request("PUT", f"/topics/{topic}", '{"retention":600}', JSON).expect(200)
    receiver.script(topic, 410)
    put(server, topic, "a", every=1, job={"url": receiver.url()})
    until(lambda: receiver.count(topic) >= 1, 30, "an occurrence")
    patch(server, topic, "a", paused=True).expect(200)
    found = until(lambda: (lambda seen: seen if seen.get("state") in ("delivered", "dead") else None)(last(server, topic, "a")), 30, "the job has ended")
    assert found["outcome"] == "fired" and not found["missed"]
    assert found["state"] == "delivered" or found["reason"] == "gone"


def test_an_id_that_a_client_took_is_a_conflict(turned, receiver, topic):
    shown = put(turned, topic, "a", every=2, job={"url": receiver.url()}).json
    at = datetime.datetime.fromtimestamp(stamp(shown["next"][1]) / 1000, datetime.timezone.utc)
    text = at.strftime("%Y%m%dT%H%M%S") + (f".{at.microsecond // 1000:03}" if at.microsecond else "")
    turned.schedule(topic=topic, jobId=f"a~{text}Z", url=receiver.url(), delay=3600)
    begin = turned.clock.now()
    assert seconds_after(begin, attempts(turned.clock.advance(4), topic)) == [2]
    found = last(turned, topic, "a")
    assert (found["outcome"], found["time"]) == ("conflict", shown["next"][1])
    assert seconds_after(begin, attempts(turned.clock.advance(2), topic)) == [6]  # the times after it are fired
    turned.request("DELETE", f"/schedules/{topic}/a").expect(200)
    turned.cancel(topic, f"a~{text}Z").expect(200)


def test_without_a_url_it_says_so(turned, receiver, topic):
    put(turned, topic, "a", every="1m", job={"body": 1})
    turned.clock.advance("1m")
    assert last(turned, topic, "a")["outcome"] == "noUrl"
    turned.request("PUT", f"/topics/{topic}", json.dumps({"url": receiver.url()}), JSON).expect(200)
    assert len(attempts(turned.clock.advance("1m"), topic)) == 1 == receiver.count(topic)  # the topic's url is used
    turned.request("DELETE", f"/schedules/{topic}/a").expect(200)


@pytest.mark.parametrize("misfire, jobs", [("one", 1), ("skip", 0), ("all", 100)])
def test_after_an_outage_over_a_hundred_times(start, redis, receiver, topic, misfire, jobs):
    """While no process runs, the test moves the schedule's next time into the past, as if duepost had missed a
    hundred times. No time of the schedule comes in the first five seconds, so the first process fires none."""
    behind = redis()
    first = start(redis=behind)
    put(first, topic, "a", every=10, startAt=ago(19995), grace=5, misfire=misfire, job={"url": receiver.url()})
    first.stop()
    step_ms = 10000
    score = behind.command("ZSCORE", KEYS + "fires", f"{topic}/a").split(b"\r\n")[1]
    missed_ms = int(float(score)) - 100 * step_ms
    behind.command("ZADD", KEYS + "fires", str(missed_ms), f"{topic}/a")
    second = start(redis=behind)
    until(lambda: last(second, topic, "a").get("missed"), 30, "what was missed is seen")
    until(lambda: receiver.count(topic) >= jobs, 30, lambda: f"{receiver.count(topic)} of {jobs}")
    second.request("DELETE", f"/schedules/{topic}/a").expect(200)
    times = occurrences(receiver, topic)
    assert jobs <= len(times) <= jobs + 3  # other occurrences since the restart count, too
    if misfire == "all":
        assert times[0] == missed_ms and steps(times) == {step_ms}
    assert second.get("/metrics").body.count(b"duepost_fires_missed_total 1\n") == 1 or misfire == "all"


def test_a_full_pool_delays_and_loses_none(start, receiver, topic):
    server = start("--max-jobs", "1")
    server.schedule(topic=topic, jobId="there", url=receiver.url(), delay=3600)
    put(server, f"{topic}.s", "a", every=1, misfire="skip", job={"url": receiver.url()})
    until(lambda: last(server, f"{topic}.s", "a").get("outcome") == "full", 30, "the pool is full")
    server.request("POST", f"/schedules/{topic}.s/a/run").expect(507)
    held = last(server, f"{topic}.s", "a")["time"]
    server.cancel(topic, "there").expect(200)
    until(lambda: receiver.count(f"{topic}.s") >= 3, 30, "more jobs of the schedule")
    server.request("DELETE", f"/schedules/{topic}.s/a").expect(200)
    times = occurrences(receiver, f"{topic}.s")
    assert times[0] == stamp(held) and steps(times) == {1000}


# ---- processes ----

def test_each_time_is_fired_once_whichever_process_dies(start, redis, receiver, topic):
    """There are three processes. The one with the carry lock is killed again and again, and Redis is restarted."""
    behind = redis()
    servers = [start(redis=behind) for _ in range(3)]
    for i in range(5):
        put(servers[0], topic, f"s{i}", every=1, misfire="all", job={"url": receiver.url()})
    begun = time.monotonic()

    def owner():
        name = behind.command("HGET", KEYS + "carry", "owner").split(b"\r\n")[1].decode()
        return next((server for server in servers if re.search(f"carry_lock_taken .*me={name}", server.log())), None)
    for round_ in range(2):
        until(lambda: receiver.count(topic) >= 5 * (round_ + 1), 60, "occurrences")
        dying = until(owner, 30, "an owner")
        dying.kill()
        servers.remove(dying)
        servers.append(start(redis=behind))
    behind.kill()
    behind.start()
    number = receiver.count(topic)
    until(lambda: receiver.count(topic) >= number + 15, 60, "15 more jobs")
    for i in range(5):
        until(lambda: servers[0].request("DELETE", f"/schedules/{topic}/s{i}").status in (200, 404), 30, "deleted")
    until(lambda: servers[0].get(f"/jobs/count?topic={topic}").expect(200)["count"] == 0, 60, "all are delivered")
    by_schedule = collections.defaultdict(set)
    for arrival in receiver.of(topic):
        assert arrival.at_ms >= time_of(arrival.job_id)
        by_schedule[arrival.job_id.split("~")[0]].add(time_of(arrival.job_id))
    for name, times in by_schedule.items():
        assert steps(sorted(times)) == {1000}, f"{name}: {sorted(times)}"
        assert len(times) >= time.monotonic() - begun - 40
    assert len(by_schedule) == 5


def test_another_process_takes_over_within_seconds(start, redis, receiver, topic):
    behind = redis()
    one = start(redis=behind)
    put(one, topic, "a", every=1, job={"url": receiver.url()})
    until(lambda: receiver.count(topic) >= 1, 30, "an occurrence")
    two = start(redis=behind)
    one.kill()
    number = receiver.count(topic)
    until(lambda: receiver.count(topic) >= number + 3, 30, "3 more jobs")
    two.request("DELETE", f"/schedules/{topic}/a").expect(200)
    assert steps(occurrences(receiver, topic)) == {1000}


# ---- data that cannot be read ----

def test_unreadable_data_is_reported_and_nothing_is_lost(start, redis, receiver, topic):
    behind = redis()
    server = start(redis=behind)
    put(server, topic, "a", every=3600, job={"url": receiver.url()})
    put(server, topic, "b", every=3600, job={"url": receiver.url()})
    behind.command("HSET", KEYS + "schedules", f"{topic}/a", "nonsense")
    behind.command("HSET", KEYS + "schedules", f"{topic}/b", '{"needs":["later"],"createdAt":1}')
    for name in "a", "b":
        assert "problem" in read(server, topic, name)
        assert patch(server, topic, name, every=60).status == 409
        server.request("POST", f"/schedules/{topic}/{name}/run").expect(409)
    put(server, topic, "b", status=409, every=60, job={"url": receiver.url()})
    behind.command("ZADD", KEYS + "fires", "1", f"{topic}/a", "1", f"{topic}/b")
    for name in "a", "b":
        until(lambda: last(server, topic, name).get("outcome") == "held", 30, "held")
    until(lambda: "schedule_unreadable" in server.log() and "schedule_unserved" in server.log(), 10, "the log has both events")
    put(server, topic, "a", status=200, every=1, job={"url": receiver.url()})
    until(lambda: receiver.count(topic) >= 1, 30, "a PUT replaces what cannot be read")
    for name in "a", "b":
        server.request("DELETE", f"/schedules/{topic}/{name}").expect(200)


def test_an_unknown_zone_is_refused(server, topic):
    reply = put(server, topic, "a", status=400, cron="0 0 * * *", timezone="Europe/Nowhere", job={"url": "http://127.0.0.1:9/"})
    assert reply.fields() == ["timezone"]


@pytest.mark.parametrize("zone", ["localtime", "posixrules", "Factory"])
def test_a_name_that_means_another_zone_on_each_host_is_refused(server, topic, zone):
    reply = put(server, topic, "a", status=400, cron="0 0 * * *", timezone=zone, job={"url": "http://127.0.0.1:9/"})
    assert reply.fields() == ["timezone"]
    assert server.get(f"/cron?expression=@daily&timezone={zone}").fields() == ["timezone"]


@pytest.mark.parametrize("times, field", [
    ({"every": 60, "endAt": "2020-01-01T00:00:00Z"}, "endAt"),
    ({"cron": "0 0 1 1 *", "startAt": "2090-01-02T00:00:00Z", "endAt": "2090-12-31T23:59:59Z"}, "endAt"),
    ({"cron": "0 0 1 1 *", "startAt": "9999-06-01T00:00:00Z"}, "startAt")])
def test_a_schedule_that_can_never_fire_is_refused(server, topic, times, field):
    job = {"url": "http://127.0.0.1:9/"}
    for paused in False, True:
        reply = put(server, topic, "a", status=400, job=job, paused=paused, **times)
        assert reply.fields() == [field]
    put(server, topic, "a", status=201, job=job, every=60)
    assert patch(server, topic, "a", every=times.get("every"), cron=times.get("cron"), startAt=times.get("startAt"), endAt=times.get("endAt")).fields() == [field]
    assert len(read(server, topic, "a")["next"]) == 5


def test_a_schedule_that_has_ended_can_be_changed(turned, receiver, topic):
    """A PUT or PATCH that leaves the times as they are is accepted, also after the last time."""
    now = turned.clock.now()
    times = {"every": 1, "endAt": from_ms(now + 1500)}
    put(turned, topic, "a", status=201, job={"url": receiver.url()}, **times)
    turned.clock.advance("1m")
    assert read(turned, topic, "a")["next"] == []
    put(turned, topic, "a", status=200, job={"url": receiver.url("/other")}, **times)
    assert patch(turned, topic, "a", paused=True).status == 200
    assert patch(turned, topic, "a", paused=False).json["next"] == []
    assert patch(turned, topic, "a", endAt=from_ms(now)).fields() == ["endAt"]


# ---- routes ----

def test_faults_are_named(server, topic):
    assert put(server, topic, "a", status=400, every=1, cron="* * * * *", job={"url": "http://10.1.1.1/"}).status == 400
    assert put(server, topic, "a", status=400, every=60, job={"url": "http://10.1.1.1/"}).fields() == ["job.url"]
    assert put(server, topic, "a", status=400, every=60, job={"url": "http://127.0.0.1:9/", "delay": 1}).fields() == ["job.delay"]
    put(server, f"{topic}~x", "a", status=403, every=60, job={"url": "http://127.0.0.1:9/"})
    assert server.get(f"/schedules/{topic}/{'x' * 235}").status == 404
    assert server.get("/schedules/*").status == 404
    for method, target in (("GET", "/schedules"), ("GET", f"/schedules/{topic}"), ("GET", f"/schedules/{topic}/a"),
                           ("POST", f"/schedules/{topic}/a/run"), ("DELETE", f"/schedules/{topic}/a")):
        assert server.request(method, f"{target}?colour=red").fields() == ["colour"]
    assert server.get("/schedules?cursor=nonsense").fields() == ["cursor"]


def test_an_unknown_schedule_is_404(server, topic):
    for method in "GET", "DELETE":
        assert server.request(method, f"/schedules/{topic}/a").status == 404
    assert patch(server, topic, "a", every=1).status == 404
    assert server.request("POST", f"/schedules/{topic}/a/run").status == 404


def test_other_media_and_large_bodies_are_refused(server, topic):
    for method in "PUT", "PATCH":
        assert server.request(method, f"/schedules/{topic}/a", "{}", {"Content-Type": "text/plain"}).status == 415
        assert server.request(method, f"/schedules/{topic}/a", "x" * 2000000, JSON).status == 413


def test_pages(server, topic):
    names = [f"s/{i:02} ü" for i in range(25)]
    for name in names:
        put(server, topic, name.replace("/", "%2F").replace(" ", "%20").replace("ü", "%C3%BC"), every=3600, job={"url": "http://127.0.0.1:9/"})
    found, cursor = [], ""
    while True:
        page = server.get(f"/schedules/{topic}?limit=10{cursor}").expect(200)
        found += [schedule["scheduleId"] for schedule in page["schedules"]]
        if "cursor" not in page:
            break
        cursor = f"&cursor={page['cursor']}"
    assert found == names
    assert {schedule["topic"] for schedule in server.get("/schedules?limit=1000").expect(200)["schedules"]} >= {topic}


def names_in(server, target):
    return [f"{schedule['topic']}/{schedule['scheduleId']}" for schedule in server.get(target).expect(200)["schedules"]]


def test_lists_by_the_beginning_of_names(server, topic):
    for name in ("a", "ab", "b"):
        for suffix in ("x", "y"):
            put(server, f"{topic}-{suffix}", name, every=3600, job={"url": "http://127.0.0.1:9/"})
    assert names_in(server, f"/schedules/{topic}-x?idPrefix=a") == [f"{topic}-x/a", f"{topic}-x/ab"]
    assert names_in(server, f"/schedules/{topic}-x?idPrefix=ac") == []
    assert names_in(server, f"/schedules?topicPrefix={topic}-y") == [f"{topic}-y/{name}" for name in ("a", "ab", "b")]
    assert len(names_in(server, f"/schedules?topicPrefix={topic}-")) == 6
    page = server.get(f"/schedules?topicPrefix={topic}-&limit=4").expect(200)
    rest = server.get(f"/schedules?topicPrefix={topic}-&cursor={page['cursor']}").expect(200)
    assert len(page["schedules"]) == 4 and [schedule["scheduleId"] for schedule in rest["schedules"]] == ["ab", "b"]
    for target, name in (("?topicPrefix=", "topicPrefix"), ("?topicPrefix=a/b", "topicPrefix"), (f"/{topic}?idPrefix=", "idPrefix"),
                         (f"/{topic}?topicPrefix=a", "topicPrefix"), ("?idPrefix=a", "idPrefix"), (f"/{topic}?idPrefix={'a' * 300}", "idPrefix")):
        assert server.get(f"/schedules{target}").fields() == [name]


def test_lists_by_filters(server, topic):
    def define(name, **members):
        job = {"url": "http://127.0.0.1:9/", "labels": members.pop("labels", [])}
        put(server, topic, name, every=3600, job=job, **members).expect(201)

    define("a", labels=["eu", "vip"])
    define("b", labels=["eu"], startAt="2040-01-01T00:00:00Z")
    define("c", paused=True)
    define("d", labels=["eu"], paused=True)

    def found(filters):
        return [name.rpartition("/")[2] for name in names_in(server, f"/schedules/{topic}?{filters}")]
    assert found("paused=true") == ["c", "d"] and found("paused=false") == ["a", "b"]
    assert found("label=eu") == ["a", "b", "d"] and found("label=eu&label=vip") == ["a"] and found("label=us") == []
    assert found("label=eu&paused=true") == ["d"]
    first = server.get(f"/schedules/{topic}/b").expect(200)["next"][0]
    assert found("nextAfter=2039-01-01T00:00:00Z") == ["b"] and found("nextBefore=2039-01-01T00:00:00Z") == ["a"]
    assert found(f"nextAfter={first}") == ["b"] and found(f"nextBefore={first}") == ["a"]
    assert found("nextAfter=2039-01-01T00:00:00Z&nextBefore=2039-06-01T00:00:00Z") == []
    assert f"{topic}/d" in names_in(server, "/schedules?paused=true&limit=1000")
    for filters, name in (("paused=yes", "paused"), ("nextAfter=tomorrow", "nextAfter"), ("nextBefore=0", "nextBefore"), ("label=", "label"), ("pause=true", "pause")):
        assert server.get(f"/schedules/{topic}?{filters}").fields() == [name]


def test_pages_by_filters_have_each_match_once(server, topic):
    for number in range(230):
        put(server, topic, f"{number:03}", every=3600, paused=number % 50 == 7, job={"url": "http://127.0.0.1:9/"}).expect(201)
    for limit in (1, 2, 5, 1000):
        found, cursor, pages = [], "", 0
        while True:
            page = server.get(f"/schedules/{topic}?paused=true&limit={limit}{cursor}").expect(200)
            assert len(page["schedules"]) <= limit
            found += [schedule["scheduleId"] for schedule in page["schedules"]]
            pages += 1
            if "cursor" not in page:
                break
            cursor = f"&cursor={page['cursor']}"
        assert found == ["007", "057", "107", "157", "207"] and pages <= 6


def test_a_cursor_of_another_topic_shows_nothing_of_it(server, topic):
    for name in (f"{topic}-a", f"{topic}-b"):
        for schedule_id in ("1", "2"):
            put(server, name, schedule_id, every=3600, job={"url": "http://127.0.0.1:9/"})
    cursor = server.get(f"/schedules/{topic}-a?limit=1").expect(200)["cursor"]
    assert names_in(server, f"/schedules/{topic}-b?cursor={cursor}") == [f"{topic}-b/1", f"{topic}-b/2"]


# ---- groups ----

def make_group(server, name, **endpoints):
    members = {endpoint: {"url": url} if isinstance(url, str) else url for endpoint, url in endpoints.items()}
    server.request("PUT", f"/groups/{name}", json.dumps({"endpoints": members}), JSON)


def test_a_schedule_sends_to_each_endpoint_of_a_group(server, receiver, topic):
    make_group(server, topic, a=receiver.url("/a"), b=receiver.url("/b"))
    shown = put(server, topic, "s", every=1, job={"group": topic, "body": {"n": 1}}).expect(201)
    assert shown["job"]["group"] == topic and "url" not in shown["job"]
    until(lambda: len(receiver.of(topic)) >= 4, 15, "4 deliveries")
    make_group(server, topic, b=receiver.url("/b"), c=receiver.url("/c"))
    until(lambda: any(arrival.target == "/c" for arrival in receiver.of(topic)), 15, "the group has changed")
    patch(server, topic, "s", paused=True).expect(200)
    until(lambda: {job.get("state") for job in last(server, topic, "s")["jobs"]} == {"ended"}, 15, "all are over")
    by_time = collections.defaultdict(set)
    for arrival in receiver.of(topic):
        send, _, endpoint = arrival.job_id.rpartition("~")
        assert arrival.target == f"/{endpoint}" and arrival.body == b'{"n": 1}' and endpoint not in by_time[send]
        by_time[send].add(endpoint)
    assert {"".join(sorted(endpoints)) for endpoints in by_time.values()} == {"ab", "bc"}
    found = last(server, topic, "s")
    assert (found["outcome"], f"{found['jobId']}~b") == ("fired", found["jobs"][0]["jobId"])
    assert server.get(f"/jobs/{topic}/{found['jobId']}?group={topic}").expect(200)["jobs"] == found["jobs"]


def test_missed_times_are_sent_to_a_large_group(start, redis, receiver, topic):
    """A hundred missed times become 10,000 jobs of one topic, which are more than a script can write with one command."""
    behind = redis()
    first = start(redis=behind)
    make_group(first, topic, **{f"e{i}": receiver.url() for i in range(100)})
    first.request("PUT", f"/topics/{topic}", json.dumps({"paused": True}), JSON).expect(200)
    put(first, topic, "a", every=10, startAt=ago(20000), grace=5, misfire="all", job={"group": topic})
    first.stop()
    score = behind.command("ZSCORE", KEYS + "fires", f"{topic}/a").split(b"\r\n")[1]
    behind.command("ZADD", KEYS + "fires", str(int(float(score)) - 1000000), f"{topic}/a")
    second = start(redis=behind)
    until(lambda: second.get(f"/topics/{topic}").expect(200)["jobs"]["ready"] >= 10000, 30, lambda: second.get(f"/topics/{topic}").body)
    second.request("DELETE", f"/schedules/{topic}/a").expect(200)
    assert "redis_refused" not in second.log() and "books_are_off" not in second.log(), second.log()


def test_a_group_in_a_schedule_is_changed_and_checked(server, receiver, topic):
    url = receiver.url()
    make_group(server, topic, a=url)
    assert put(server, topic, "s", status=400, every=60, job={"group": topic, "url": url}).fields() == ["job.group"]
    assert put(server, topic, "s", status=400, every=60, job={"group": "a~b"}).fields() == ["job.group"]
    assert put(server, topic, "s" * 170, status=400, every=60, job={"group": topic}).fields() == ["job.group"]
    put(server, topic, "s" * 169, every=60, job={"group": topic})
    put(server, topic, "s", every=60, job={"url": url, "body": 1})
    assert patch(server, topic, "s", job={"group": topic}).expect(200)["job"].get("url") is None
    shown = patch(server, topic, "s", job={"body": 2}).expect(200)["job"]
    assert (shown["group"], shown["body"]) == (topic, 2)
    assert patch(server, topic, "s", job={"group": None}).expect(200)["job"].get("group") is None
    assert patch(server, topic, "s", job={"group": "other"}).expect(200)["job"]["group"] == "other"
    shown = patch(server, topic, "s", job={"url": url}).expect(200)["job"]
    assert shown["url"] == url and "group" not in shown
    assert patch(server, topic, "s", job={"url": url, "group": topic}).fields() == ["job.group"]


def test_a_group_that_does_not_fit_is_reported(turned, receiver, topic):
    def outcome():
        turned.clock.advance("1m")
        return last(turned, topic, "s")["outcome"]
    put(turned, topic, "s", every=60, job={"group": topic, "body": 1})
    assert outcome() == "noGroup"
    make_group(turned, topic, a=receiver.url("/a"), b={"url": receiver.url("/b"), "method": "GET"})
    assert outcome() == "unsendable" and receiver.count(topic) == 0  # a GET has no body
    run = turned.request("POST", f"/schedules/{topic}/s/run")
    assert run.fields() == ["job.body"]
    make_group(turned, topic, a=receiver.url("/a"))
    assert outcome() == "fired" and receiver.count(topic) == 1
    text = turned.get("/metrics").body.decode()
    assert re.search(r"^duepost_fires_refused_total [1-9]", text, re.M), text
    turned.request("DELETE", f"/schedules/{topic}/s").expect(200)


def test_all_jobs_of_a_send_or_none_are_created(turned, receiver, topic):
    make_group(turned, topic, a=receiver.url("/a"), b=receiver.url("/b"))
    receiver.script(topic, 500)
    put(turned, topic, "s", every=60, overlap="skip", job={"group": topic, "retrySchedule": ["1d"]})
    turned.clock.advance("1m")
    first = last(turned, topic, "s")["jobId"]
    turned.clock.advance("1m")
    assert (last(turned, topic, "s")["outcome"], last(turned, topic, "s")["jobId"]) == ("overlap", first) and receiver.count(topic) == 2
    turned.cancel(topic, f"{first}~a").expect(200)
    turned.clock.advance("5m")
    assert last(turned, topic, "s")["jobId"] == first  # one of the two is left
    turned.cancel(topic, f"{first}~b").expect(200)
    turned.clock.advance("1m")
    assert last(turned, topic, "s")["jobId"] != first and receiver.count(topic) == 4
    turned.request("DELETE", f"/schedules/{topic}/s").expect(200)
    turned.request("DELETE", f"/jobs?topic={topic}&state=delayed&all=true").expect(200)


def test_an_id_of_a_send_that_a_client_took_is_a_conflict(turned, receiver, topic):
    """A job of a client already has the id of one of the occurrence's jobs. So duepost creates no job for this
    occurrence."""
    make_group(turned, topic, x=receiver.url("/x"), y=receiver.url("/y"))
    start = turned.clock.now() // 1000 + 3
    at = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(start))
    turned.schedule(topic=topic, jobId=f"t~{at}~y", url=receiver.url(), delay=3600)
    put(turned, topic, "t", every="1d", startAt=from_ms(start * 1000), job={"group": topic})
    assert attempts(turned.clock.advance("1m"), topic) == []
    assert last(turned, topic, "t")["outcome"] == "conflict" and turned.job(topic, f"t~{at}~x") is None
    turned.request("DELETE", f"/schedules/{topic}/t").expect(200)
    turned.cancel(topic, f"t~{at}~y").expect(200)


def test_a_full_pool_delays_a_send_as_a_whole(start, receiver):
    server = start("--max-jobs", "2")
    make_group(server, "g", a=receiver.url("/a"), b=receiver.url("/b"))
    server.schedule(topic="t", jobId="other", url=receiver.url(), delay=3600)
    put(server, "t", "s", every=3600, startAt=ago(-1), job={"group": "g"})
    until(lambda: last(server, "t", "s").get("outcome") == "full", 10, "one of two does not fit")
    assert server.get("/topics/t").expect(200)["jobs"]["delayed"] == 1 and receiver.count("t") == 0
    server.cancel("t", "other").expect(200)
    until(lambda: receiver.count("t") == 2, 10, "both are made")


# ---- run now ----

def run(server, topic, name, key=None):
    return server.request("POST", f"/schedules/{topic}/{name}/run", None, {"Idempotency-Key": key} if key else {})


def test_a_run_is_repeated_under_its_key(server, receiver, topic):
    for name in "s", "t":
        put(server, topic, name, every=3600, job={"url": receiver.url()})
    first = run(server, topic, "s", "k").expect(202)
    until(lambda: receiver.count(topic) == 1, 10, "the job arrives")
    until(lambda: server.job(topic, first["jobId"]) is None, 10, "and is over")
    assert run(server, topic, "s", "k").expect(202) == first
    patch(server, topic, "s", job={"body": 1}).expect(200)
    assert run(server, topic, "s", "k").expect(202) == first
    assert "Idempotency-Key" in run(server, topic, "t", "k").expect(422)["detail"]
    server.post({"topic": topic, "url": receiver.url()}, headers={"Idempotency-Key": "k"}).expect(422)
    watch(0.5, lambda: receiver.count(topic) == 1, "no second job")
    others = {run(server, topic, "s", "l").expect(202)["jobId"], run(server, topic, "s").expect(202)["jobId"]}
    assert len(others | {first["jobId"]}) == 3
    assert run(server, topic, "s", "x" * 256).fields() == ["Idempotency-Key"]


def test_a_run_of_a_group_is_repeated_as_a_whole(server, receiver, topic):
    make_group(server, topic, a=receiver.url("/a"), b=receiver.url("/b"))
    put(server, topic, "s", every=3600, job={"group": topic})
    first = run(server, topic, "s", "k").expect(202)
    assert first["group"] == topic
    until(lambda: receiver.count(topic) == 2, 10, "both arrive")
    until(lambda: server.get(f"/jobs/{topic}/{first['jobId']}?group={topic}").expect(200)["jobs"][1]["state"] == "ended", 10, "and are over")
    assert run(server, topic, "s", "k").expect(202) == first
    watch(0.5, lambda: receiver.count(topic) == 2, "no second send")


def test_a_run_is_repeated_though_its_group_no_longer_fits(server, receiver, topic):
    make_group(server, topic, a=receiver.url("/a"))
    put(server, topic, "s", every=3600, job={"group": topic, "body": 1})
    first = run(server, topic, "s", "k").expect(202)
    make_group(server, topic, a={"url": receiver.url("/a"), "method": "GET"})
    assert run(server, topic, "s", "k").expect(202) == first
    assert run(server, topic, "s", "l").fields() == ["job.body"]
    server.request("DELETE", f"/groups/{topic}").expect(200)
    assert run(server, topic, "s", "k").expect(202) == first
    assert run(server, topic, "s", "l").fields() == run(server, topic, "s").fields() == ["job.group"]
    make_group(server, topic, a=receiver.url("/a"))
    assert run(server, topic, "s", "l").expect(202)["jobId"] != first["jobId"]


def put_many(server, topic, count, members):
    """Puts schedules s0, s1 ... over several connections, without waiting for the answers."""
    body = json.dumps(members)

    def put_some(first):
        requests = "".join(f"PUT /schedules/{topic}/s{number} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                           f"Content-Length: {len(body)}\r\n\r\n{body}" for number in range(first, count, CONNECTIONS))
        expected, created, rest = len(range(first, count, CONNECTIONS)), 0, b""
        with socket.create_connection(("127.0.0.1", server.port), timeout=60 * SLOW) as link:
            sender = threading.Thread(target=link.sendall, args=(requests.encode(),))
            sender.start()
            while created < expected:
                data = link.recv(1 << 16)
                assert data and b"HTTP/1.1 4" not in rest + data and b"HTTP/1.1 5" not in rest + data, rest + data
                *lines, rest = (rest + data).split(b"\r\n")
                created += sum(line.endswith(b"HTTP/1.1 201 Created") for line in lines)
            sender.join()
    with concurrent.futures.ThreadPoolExecutor(CONNECTIONS) as pool:
        list(pool.map(put_some, range(CONNECTIONS)))


def seconds_to_put(server, topic, count):
    """Returns how long this machine takes now to put this many schedules, from a sample."""
    sample, begin = max(200, count // 50), time.monotonic()
    put_many(server, topic, sample, {"every": 31_536_000, "job": {"url": "http://127.0.0.1:9/"}})
    return (time.monotonic() - begin) / sample * count


def attempts_by_lateness(server):
    """Returns two numbers of attempts: all, and those that began at most 50 ms after their job was due (100 ms on a
    slow machine)."""
    text = server.get("/metrics").body.decode()
    ends = "count", r'bucket\{le="0\.%s"\}' % ("05" if SLOW == 1 else "1")
    return [int(re.search(rf"^duepost_lateness_seconds_{end} (\d+)$", text, re.M)[1]) for end in ends]


def test_many_schedules_of_one_second_fire_and_hold_nothing_up(start, receiver, topic):
    """There are more schedules than a few steps handle. Jobs of another topic that are due meanwhile are delivered
    between these steps."""
    server, waiting, others = start(), topic + ".pull", 500
    server.request("PUT", f"/topics/{waiting}", json.dumps({"delivery": "pull"}), JSON).expect(200)
    seconds = seconds_to_put(server, topic + ".sample", MANY)
    at = int(time.time() + 5 * SLOW + min(3 * seconds, max(1.5 * seconds, MANY / 2000 * SLOW)))
    moment = time.gmtime(at)
    put_many(server, waiting, MANY, {"cron": f"{moment.tm_sec} {moment.tm_min} {moment.tm_hour} {moment.tm_mday} {moment.tm_mon} *", "job": {}})
    assert time.time() < at, "the machine is too slow for this test"
    server.schedule_many([{"topic": topic, "url": receiver.url(), "dueAt": from_ms(at * 1000 + 10 * number)} for number in range(others)])
    until(lambda: server.get(f"/topics/{waiting}").expect(200)["jobs"]["ready"] == MANY, at - time.time() + 5 * SLOW, "a job of each schedule")
    until(lambda: receiver.count(topic) == others, 10 * SLOW, "the jobs of the other topic")
    jobs = server.get(f"/jobs?topic={waiting}&limit=1000").expect(200)["jobs"]
    assert {job["jobId"].split("~")[1] for job in jobs} == {time.strftime("%Y%m%dT%H%M%SZ", moment)}
    count, in_time = attempts_by_lateness(server)
    assert count == others and (MANY < 10000 or in_time >= 0.99 * others), (count, in_time)


def test_while_redis_is_away_nothing_is_confirmed(start, redis, topic):
    behind = redis()
    server = start(redis=behind)
    put(server, topic, "a", every=3600, job={"url": "http://127.0.0.1:9/"})
    behind.fill()
    put(server, topic, "b", status=507, every=60, job={"url": "http://127.0.0.1:9/"})
    assert patch(server, topic, "a", every=61).status == 507
    behind.kill()
    until(lambda: server.get("/readyz").status == 503, 30, "Redis is away")
    put(server, topic, "a", status=503, every=60, job={"url": "http://127.0.0.1:9/"})
    assert patch(server, topic, "a", every=60).status == 503
    for method, target in (("GET", ""), ("GET", f"/{topic}"), ("GET", f"/{topic}/a"), ("DELETE", f"/{topic}/a"), ("POST", f"/{topic}/a/run")):
        assert server.request(method, f"/schedules{target}").status == 503


def test_changes_are_logged_with_their_client(start, topic):
    server = start("--log-level", "error")
    put(server, topic, "a", every=3600, job={"url": "http://127.0.0.1:9/"})
    patch(server, topic, "a", every=60).expect(200)
    server.request("POST", f"/schedules/{topic}/a/run").expect(202)
    server.request("DELETE", f"/schedules/{topic}/a").expect(200)
    for event in "schedule_defined", "schedule_changed", "schedule_run", "schedule_deleted":
        assert re.search(rf"event={event} who=- from=127.0.0.1 schedule={topic}/a outcome=done", server.log()), event
