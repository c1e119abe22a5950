"""Quotas: no topic has more jobs that wait or are in flight than its maxPending, from whatever client."""

import concurrent.futures
import itertools
import json
import threading
import time

import pytest

from patience import SLOW, until
from qstash import QStash
from receiver import Answer

JSON = {"Content-Type": "application/json"}
FAR = 3600


def limit(server, topic, most, **more):
    server.request("PATCH", f"/topics/{topic}", json.dumps({"maxPending": most, **more}), JSON).expect(200)


def usage(server, topic):
    return server.get(f"/topics/{topic}").expect(200).get("quota")


def job_of(receiver, topic, job_id, **more):
    return {"topic": topic, "jobId": job_id, "url": receiver.url(), "delay": FAR, **more}


def refused(reply, topic, most, pending=None):
    """Checks that a reply refuses a job because of the quota. Returns the wait that it asks for, in seconds."""
    problem = reply.expect(429)
    assert problem["topic"] == topic and problem["maxPending"] == most
    assert problem["pending"] == (most if pending is None else pending)
    assert f"its quota maxPending is {most}" in problem["detail"] and "PATCH /topics/" in problem["detail"]
    assert int(reply.headers["Retry-After"]) == problem["retryAfter"] and 1 <= problem["retryAfter"] <= 60
    return problem["retryAfter"]


def put(server, topic, job_id, **job):
    return server.request("PUT", f"/jobs/{topic}/{job_id}", json.dumps(job), JSON)


def test_the_last_place_is_given_once(server, receiver, topic):
    limit(server, topic, 2)
    for name in "a", "b":
        server.schedule(**job_of(receiver, topic, name))
    refused(server.post(job_of(receiver, topic, "c")), topic, 2)
    refused(put(server, topic, "c", url=receiver.url(), delay=FAR), topic, 2)
    assert server.job(topic, "c") is None and usage(server, topic) == {"maxPending": 2, "pending": 2}
    # A change or a replacement of a job needs no place, and a repeated request gets its answer.
    server.post(job_of(receiver, topic, "b")).expect(200)
    put(server, topic, "b", url=receiver.url(), delay=FAR + 1).expect(200)
    server.request("PATCH", f"/jobs/{topic}/a", '{"delay": 7200}', JSON).expect(200)
    server.cancel(topic, "a").expect(200)
    put(server, topic, "c", url=receiver.url(), delay=FAR).expect(201)
    refused(server.post(job_of(receiver, topic, "a")), topic, 2)
    server.schedule(**job_of(receiver, topic + "x", "a"))


def test_no_new_job_fits_a_quota_of_0(server, receiver, topic):
    server.schedule(**job_of(receiver, topic, "a"))
    limit(server, topic, 0)
    refused(server.post(job_of(receiver, topic, "b")), topic, 0, 1)
    server.run(topic, "a").expect(202)
    until(lambda: receiver.count(topic) == 1, 10, "the delivery")
    server.wait_for_state(topic, "a", None)
    refused(server.post(job_of(receiver, topic, "b")), topic, 0)
    limit(server, topic, None)
    assert usage(server, topic) is None
    server.schedule(**job_of(receiver, topic, "b"))


@pytest.mark.parametrize("settings", [{"maxPending": -1}, {"maxPending": 1.5}, {"maxPending": 1000000001}, {"maxPending": "3"}])
def test_other_quotas_are_refused(server, topic, settings):
    assert server.request("PATCH", f"/topics/{topic}", json.dumps(settings), JSON).fields() == ["maxPending"]


def test_jobs_that_end_leave_their_places(server, receiver, topic):
    """A job in flight has a place. A delivered or dead job has none, and a dead job that is run again needs one."""
    limit(server, topic, 1)
    receiver.script(topic, Answer(200, delay=1 * SLOW), job_id="delivered")
    receiver.script(topic, 410, 200, job_id="dead")
    server.schedule(topic=topic, jobId="delivered", url=receiver.url())
    until(lambda: receiver.count(topic) == 1, 10, "the attempt")
    refused(server.post(job_of(receiver, topic, "next")), topic, 1)
    server.wait_for_state(topic, "delivered", None)
    server.schedule(topic=topic, jobId="dead", url=receiver.url())
    server.wait_for_state(topic, "dead", "dead")
    server.schedule(**job_of(receiver, topic, "next"))
    refused(server.run(topic, "dead"), topic, 1)
    assert server.job(topic, "dead")["state"] == "dead"
    answer = server.request("POST", f"/jobs/run?topic={topic}&state=dead&all=true", None).expect(200)
    assert (answer["matched"], answer["skipped"]) == (1, 1)
    server.cancel(topic, "next").expect(200)
    server.run(topic, "dead").expect(202)
    server.wait_for_state(topic, "dead", None)


def test_in_a_batch_only_the_jobs_above_it_are_refused(server, receiver, topic):
    limit(server, topic, 3)
    jobs = [job_of(receiver, topic, str(number)) for number in range(5)] + [job_of(receiver, topic, "1"), job_of(receiver, topic + "x", "1")]
    for body, kind in (json.dumps(jobs), "application/json"), ("\n".join(map(json.dumps, jobs)), "application/x-ndjson"):
        results = server.request("POST", "/jobs", body, {"Content-Type": kind}).expect(207)["results"]
        first = 201 if kind == "application/json" else 200
        assert [result["status"] for result in results] == 3 * [first] + [429, 429, 200, first]
        assert all(result["maxPending"] == result["pending"] == 3 and result["retryAfter"] >= 1 for result in results[3:5])
    results = server.post([job_of(receiver, f"{topic}y", str(number)) for number in range(2000)]).expect(207)["results"]
    assert {result["status"] for result in results} == {201}
    limit(server, f"{topic}z", 700)
    results = server.post([job_of(receiver, f"{topic}z", str(number)) for number in range(2000)]).expect(207)["results"]
    assert [result["status"] for result in results] == 700 * [201] + 1300 * [429]


def test_each_topic_of_a_pattern_has_its_own_places(start, receiver):
    server = start()
    limit(server, "shop-*", 2)
    limit(server, "shop-big", 3)
    for topic, most in ("shop-a", 2), ("shop-b", 2), ("shop-big", 3), ("shop-a", 2):
        while usage(server, topic)["pending"] < most:
            server.schedule(**job_of(receiver, topic, str(usage(server, topic)["pending"])))
        refused(server.post(job_of(receiver, topic, "more")), topic, most)
    shown = {found["topic"]: found.get("quota") for found in server.get("/topics").expect(200)["topics"]}
    assert shown == {"shop-a": {"maxPending": 2, "pending": 2}, "shop-b": {"maxPending": 2, "pending": 2}, "shop-big": {"maxPending": 3, "pending": 3}}

    def series():
        lines = server.get("/metrics").body.decode().splitlines()
        return [line for line in lines if line.startswith(("duepost_topic_quota_jobs{", "duepost_topic_pending_jobs{"))]
    until(lambda: series() == [f'duepost_topic_{name}_jobs{{topic="{topic}"}} {number}' for name in ("quota", "pending")
                               for topic, number in (("shop-big", 3), ("shop-a", 2), ("shop-b", 2))], 5, series)
    server.request("DELETE", "/topics/shop-*").expect(200)
    server.schedule(**job_of(receiver, "shop-a", "more"))
    until(lambda: len(series()) == 2, 5, series)


def test_a_quota_that_changes_while_it_is_full(server, receiver, topic):
    for number in range(5):
        server.schedule(**job_of(receiver, topic, str(number)))
    limit(server, topic, 3)
    refused(server.post(job_of(receiver, topic, "5")), topic, 3, 5)
    assert usage(server, topic) == {"maxPending": 3, "pending": 5}  # no job is lost
    for number in range(3):
        refused(server.post(job_of(receiver, topic, "5")), topic, 3, 5 - number)
        server.cancel(topic, str(number)).expect(200)
    server.schedule(**job_of(receiver, topic, "5"))
    refused(server.post(job_of(receiver, topic, "6")), topic, 3)
    limit(server, topic, 4)
    server.schedule(**job_of(receiver, topic, "6"))


def test_the_wait_is_that_until_the_first_job_may_end(server, receiver, topic):
    limit(server, topic, 1)
    server.schedule(**job_of(receiver, topic, "a", delay=30))
    assert 20 <= refused(server.post(job_of(receiver, topic, "b")), topic, 1) <= 31  # whole seconds, rounded up
    put(server, topic, "a", url=receiver.url(), delay=FAR).expect(200)
    assert refused(server.post(job_of(receiver, topic, "b")), topic, 1) == 60
    receiver.script(topic, Answer(200, delay=3 * SLOW))
    server.run(topic, "a").expect(202)
    until(lambda: receiver.count(topic) == 1, 10, "the attempt")
    assert refused(server.post(job_of(receiver, topic, "b")), topic, 1) == 1


def test_a_group_fits_as_a_whole(server, receiver, topic):
    limit(server, topic, 4)
    endpoints = {name: {"url": receiver.url(f"/{name}")} for name in "abc"}
    server.request("PUT", f"/groups/{topic}", json.dumps({"endpoints": endpoints}), JSON).expect(201)
    server.schedule(topic=topic, jobId="j", group=topic, delay=FAR)
    refused(server.post({"topic": topic, "jobId": "k", "group": topic, "delay": FAR}), topic, 4, 3)
    refused(put(server, topic, "k", group=topic, delay=FAR), topic, 4, 3)
    server.post({"topic": topic, "jobId": "j", "group": topic, "delay": FAR}).expect(200)
    put(server, topic, "j", group=topic, delay=FAR + 1).expect(200)
    server.schedule(**job_of(receiver, topic, "one"))
    assert usage(server, topic) == {"maxPending": 4, "pending": 4}


def test_a_schedule_waits_for_a_place_and_keeps_no_other_waiting(turned, receiver, topic):
    limit(turned, topic, 1)
    turned.schedule(**job_of(receiver, topic, "other", delay=FAR))
    for number in range(150):  # more than one step of the firing
        turned.request("PUT", f"/schedules/{topic}/full{number}", json.dumps({"every": 1, "job": {"url": receiver.url()}}), JSON).expect(201)

    def last(name, of=topic):
        return turned.get(f"/schedules/{of}/{name}").expect(200).get("last", {})
    turned.clock.advance(1)
    assert {last(f"full{number}")["outcome"] for number in range(150)} == {"quota"}
    free = f"{topic}x"
    turned.request("PUT", f"/schedules/{free}/s", json.dumps({"every": 1, "job": {"url": receiver.url()}}), JSON).expect(201)
    turned.clock.advance(2)
    assert receiver.count(free) == 2  # the other topic's schedule
    assert receiver.count(topic) == 0 and usage(turned, topic)["pending"] == 1
    refused(turned.request("POST", f"/schedules/{topic}/full0/run", None), topic, 1)
    for name in [f"{topic}/full{number}" for number in range(1, 150)] + [f"{free}/s"]:
        turned.request("DELETE", f"/schedules/{name}").expect(200)
    turned.cancel(topic, "other").expect(200)
    turned.clock.advance(60)
    assert receiver.count(topic) >= 1  # the occurrence that waited
    assert last("full0")["outcome"] in ("fired", "quota")
    turned.request("DELETE", f"/schedules/{topic}/full0").expect(200)


def test_callbacks_are_never_refused(server, receiver, topic):
    limit(server, topic, 1)
    callback = receiver.url(f"/{topic}/callback")
    server.schedule(topic=topic, jobId="a", url=receiver.url(), onDelivered=callback)
    server.wait_for_state(topic, "a", None)
    limit(server, topic, 0)
    server.request("PATCH", f"/topics/{topic}", '{"maxPending": 1}', JSON).expect(200)
    server.schedule(topic=topic, jobId="b", url=receiver.url(), onDelivered=callback, delay=1)
    limit(server, topic, 0)
    until(lambda: receiver.count(f"{topic}~callbacks") == 2, 10, "both callbacks")


def test_messages_of_qstash(receiver, topic):
    qstash = QStash()
    try:
        limit(qstash, "qstash", 2)
        for _ in range(2):
            qstash.publish(receiver.url("/q"), b"", Upstash_Delay="1h")
        reply = qstash.call("POST", f"publish/{receiver.url('/q')}", b"", Upstash_Delay="1h")
        assert reply.status == 429 and reply.headers["Retry-After"] == "1" and "maxPending of the topic qstash is 2" in reply.json["error"]
        # A queue is a topic of its own.
        qstash.call("POST", f"enqueue/{topic}/{receiver.url('/q')}", b"", Upstash_Delay="1h").expect(200)
    finally:
        qstash.stop()


def test_two_processes_never_exceed_it(start, redis, receiver, topic):
    """Many clients schedule through both processes while jobs are cancelled, and one process is killed in between."""
    most, shared, stop, seen = 50, redis(), threading.Event(), []
    servers = [start(redis=shared), start(redis=shared)]
    limit(servers[0], topic, most)

    def schedule(number):
        for count in range(1000):
            if stop.is_set():
                return
            job = job_of(receiver, topic, f"{number}-{count}")
            try:
                server = servers[(number + count) % 2]
                reply = server.post([job, job | {"jobId": job["jobId"] + "b"}] if count % 3 == 0 else job, check=False)
                assert reply.status in (201, 207, 429, 503), reply.body
            except OSError:
                time.sleep(0.01)

    def cancel(number):
        while not stop.is_set():
            try:
                found = servers[0].get(f"/jobs?topic={topic}&limit=20").expect(200)["jobs"]
                for job in found:
                    servers[0].cancel(topic, job["jobId"])
            except OSError:
                pass

    def look():
        while not stop.is_set():
            seen.append(usage(servers[0], topic)["pending"])

    with concurrent.futures.ThreadPoolExecutor(12) as pool:
        tasks = [pool.submit(schedule, number) for number in range(8)] + [pool.submit(cancel, 0), pool.submit(look)]
        time.sleep(2 * SLOW)
        servers[1].kill()
        time.sleep(1 * SLOW)
        servers[1] = start(redis=shared)
        time.sleep(1 * SLOW)
        stop.set()
        for task in tasks:
            task.result()
    assert seen and max(seen) <= most
    numbers = itertools.count()
    until(lambda: servers[0].post(job_of(receiver, topic, f"last{next(numbers)}")).status == 429, 10, "full")
    assert usage(servers[0], topic) == {"maxPending": most, "pending": most}


# ---- quotas of keys ----

def set_topic(server, topic, **settings):
    server.request("PATCH", f"/topics/{topic}", json.dumps(settings), JSON).expect(200)


def of_key(topic, key, number, **members):
    return {"topic": topic, "jobId": f"{key}-{number}", "key": key, "delay": 600, "url": "http://127.0.0.1:1/", **members}


def test_each_key_has_a_quota(server, topic):
    set_topic(server, topic, perKey={"maxPending": 2})
    for key in "ab":
        for number in range(2):
            server.post(of_key(topic, key, number)).expect(201)
        refused = server.post(of_key(topic, key, 2))
        told = refused.expect(429)
        assert (told["topic"], told["key"], told["maxPending"], told["pending"]) == (topic, key, 2, 2)
        assert int(refused.headers["Retry-After"]) >= 1 and f"Key {key} of topic {topic} has 2 jobs" in told["detail"]
    server.post({"topic": topic, "delay": 600, "url": "http://127.0.0.1:1/"}).expect(201)  # no key
    server.post(of_key(topic, "a", 1)).expect(200)  # the same job
    server.cancel(topic, "a-0").expect(200)
    server.post(of_key(topic, "a", 3)).expect(201)
    server.post(of_key(topic, "a", 4)).expect(429)


def test_a_list_is_within_the_quotas_of_its_keys_or_refused(server, topic):
    set_topic(server, topic, perKey={"maxPending": 2})
    for job in (of_key(topic, "a", 0), of_key(topic, "b", 0)):
        server.post(job).expect(201)
    jobs = [of_key(topic, key, number) for key in "ab" for number in (1, 2)]
    results = server.request("POST", "/jobs", json.dumps(jobs), JSON).expect(207)["results"]
    assert sorted(result["status"] for result in results) == [201, 201, 429, 429]


def test_a_put_with_another_key_is_within_its_quota(server, topic):
    set_topic(server, topic, perKey={"maxPending": 1})
    for key in "ab":
        server.post(of_key(topic, key, 0)).expect(201)
    body = {"key": "b", "delay": 600, "url": "http://127.0.0.1:1/"}
    assert server.request("PUT", f"/jobs/{topic}/a-0", json.dumps(body), JSON).expect(429)["key"] == "b"
    assert server.get(f"/jobs/{topic}/a-0").expect(200)["key"] == "a"
    server.request("PUT", f"/jobs/{topic}/a-0", json.dumps({**body, "key": "c"}), JSON).expect(200)
    server.post(of_key(topic, "a", 1)).expect(201)


def test_the_own_quota_of_a_key_goes_before_that_of_all(server, topic):
    set_topic(server, topic, perKey={"maxPending": 1})
    server.request("PUT", f"/topics/{topic}/keys/big", json.dumps({"maxPending": 3}), JSON)
    for number in range(3):
        server.post(of_key(topic, "big", number)).expect(201)
    assert server.post(of_key(topic, "big", 3)).expect(429)["maxPending"] == 3


def test_a_job_in_flight_counts_for_the_quota_of_its_key(server, receiver, topic):
    set_topic(server, topic, perKey={"maxPending": 1})
    receiver.script(topic, Answer(delay=1))
    server.post(of_key(topic, "a", 0, delay=0, url=receiver.url())).expect(201)
    until(lambda: receiver.count(topic) == 1, 10, "the attempt")
    server.post(of_key(topic, "a", 1)).expect(429)
    until(lambda: server.post(of_key(topic, "a", 1)).status == 201, 10, "it has ended")
