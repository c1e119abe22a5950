"""PATCH changes members of a job."""

import concurrent.futures
import json
import time

import pytest

from clock import attempts
from patience import until
from receiver import HANG
from timestamp import from_ms, to_ms

MERGE = {"Content-Type": "application/merge-patch+json"}
JSON = {"Content-Type": "application/json"}


def patch(server, topic, job_id, /, **members):
    return send(server, topic, job_id, json.dumps(members))


def send(server, topic, job_id, text, headers=None):
    return server.request("PATCH", f"/jobs/{topic}/{job_id}", text, {**MERGE, **(headers or {})})


def tag_of(server, topic, job_id):
    return server.get(f"/jobs/{topic}/{job_id}").headers["ETag"]


def pause(server, topic):
    server.request("PUT", f"/topics/{topic}", '{"paused":true}', JSON).expect(200)


def resume(server, topic):
    server.request("DELETE", f"/topics/{topic}").expect(200)


def test_each_member_is_changed_and_the_others_stay(server, receiver, topic):
    server.schedule(topic=topic, jobId="a", url="http://127.0.0.1:9/", delay=3600, body={"n": 1}, retry=3, timeout=5,
                    headers={"Content-Type": "text/x", "X-A": "1"})
    before = server.job(topic, "a")
    reply = send(server, topic, "a", '{"body": [1.10, { }], "url":"%s", "headers": {"X-A": "1"}}' % receiver.url())
    after = reply.expect(200)
    assert b'"body":[1.10, { }]' in reply.body and reply.headers["ETag"] == tag_of(server, topic, "a")
    assert after == server.job(topic, "a") == {**before, "body": [1.1, {}], "url": receiver.url()}
    assert patch(server, topic, "a", retry=1, retrySchedule=[7], timeout=None).expect(200) == {
        **after, "retry": 1, "retrySchedule": [7], "timeout": 30}
    assert patch(server, topic, "a", headers={"content-type": "text/y", "X-B": "2", "X-A": None}).expect(200)["headers"] == {
        "content-type": "text/y", "X-B": "***"}
    assert "body" not in patch(server, topic, "a", body=None, headers=None).expect(200)
    send(server, topic, "a", '{"retry":2}', JSON).expect(200)
    pause(server, topic)
    server.run(topic, "a").expect(202)
    assert patch(server, topic, "a", body="late").expect(200)["state"] == "ready"
    resume(server, topic)
    until(lambda: receiver.count(topic), 3, "delivery")
    assert receiver.of(topic)[0].body == b"late"


def test_hidden_headers_follow_no_patch_to_another_receiver(server, receiver, topic):
    """A client may schedule and read jobs, but did not create this job. It must not get the job's hidden headers by a
    PATCH that changes the url to its own receiver."""
    elsewhere = receiver.url("/x").replace("127.0.0.1", "localhost")
    server.schedule(topic=topic, jobId="a", url=receiver.url(), delay=3600, headers={"Authorization": "Bearer secret", "X-B": "2"})
    before = server.job(topic, "a")
    reply = patch(server, topic, "a", url=elsewhere)
    assert reply.fields() == ["headers"] and "again" in reply.json["errors"][0]["detail"]
    assert patch(server, topic, "a", url=elsewhere, headers={"X-B": "3"}).fields() == ["headers"]
    assert server.job(topic, "a") == before
    patch(server, topic, "a", url=receiver.url("/y")).expect(200)
    changed = patch(server, topic, "a", url=elsewhere, headers={"authorization": None, "X-B": "3"}).expect(200)
    assert (changed["url"], changed["headers"]) == (elsewhere, {"X-B": "***"})
    server.run(topic, "a").expect(202)
    came = until(lambda: receiver.of(topic), 5, "the delivery")[0]
    assert came.headers["x-b"] == "3" and "authorization" not in came.headers


def test_a_job_is_delayed_and_brought_forward(turned, receiver, topic):
    now = turned.clock.now()
    turned.schedule(topic=topic, jobId="a", url=receiver.url(), delay=60)
    created = turned.job(topic, "a")["createdAt"]
    job = patch(turned, topic, "a", delay=3600).expect(200)
    assert to_ms(job["dueAt"]) == now + 3600_000 and job["createdAt"] == created and job["delay"] == 3600
    later = from_ms(now + 7200_000)
    job = patch(turned, topic, "a", dueAt=later).expect(200)
    assert job["dueAt"] == later and "delay" not in job
    turned.clock.advance("90m")
    assert receiver.count(topic) == 0  # neither at the first nor at the second time
    patch(turned, topic, "a", delay=60).expect(200)
    delivered, = attempts(turned.clock.advance(60), topic)
    assert to_ms(delivered["at"]) == now + 5460_000


def test_without_its_delay_a_job_is_due_now(server, receiver, topic):
    server.schedule(topic=topic, jobId="a", url=receiver.url(), delay=3600)
    patch(server, topic, "a", dueAt=None).expect(200)
    assert server.job(topic, "a")["state"] == "delayed"
    patch(server, topic, "a", delay=None).expect(200)
    until(lambda: receiver.count(topic), 2, "delivery")


def test_a_job_is_given_another_time_to_expire(server, receiver, topic):
    server.schedule(topic=topic, jobId="a", url=receiver.url(), delay=60, ttl=90)
    job = patch(server, topic, "a", ttl=120).expect(200)
    assert to_ms(job["expiresAt"]) == to_ms(job["createdAt"]) + 120_000
    assert patch(server, topic, "a", expiresAt="2030-01-01T00:00:00Z").expect(200)["expiresAt"] == "2030-01-01T00:00:00.000Z"
    assert "expiresAt" not in patch(server, topic, "a", expiresAt=None).expect(200)
    assert patch(server, topic, "a", ttl=60).fields() == ["ttl"]
    patch(server, topic, "a", ttl=61).expect(200)
    assert patch(server, topic, "a", delay=90).fields() == ["delay"]


def test_attempts_are_kept(server, receiver, topic):
    receiver.script(topic, 500, 200)
    server.schedule(topic=topic, jobId="a", url=receiver.url(), retrySchedule=[3600])
    job = until(lambda: (job := server.job(topic, "a"))["attempts"] and job, 5, "an attempt")
    changed = patch(server, topic, "a", delay=0.1, body=2).expect(200)
    assert changed["attempts"] == 1 and changed["lastAttempt"] == job["lastAttempt"]
    server.wait_for_state(topic, "a", None)
    assert [(arrival.attempt, arrival.body) for arrival in receiver.of(topic)] == [(1, b""), (2, b"2")]


def test_a_dead_job_stays_dead_until_it_is_run(server, receiver, topic):
    receiver.script(topic, 410, 200)
    server.schedule(topic=topic, jobId="a", url=receiver.url())
    dead = server.wait_for_state(topic, "a", "dead")
    changed = patch(server, topic, "a", delay=5, body=2).expect(200)
    assert changed == {**dead, "delay": 5, "body": 2}
    server.run(topic, "a").expect(202)
    server.wait_for_state(topic, "a", None)
    assert receiver.of(topic)[1].body == b"2"


def test_an_expired_job_comes_to_life_with_a_later_time_and_a_run(server, receiver, topic):
    pause(server, topic)
    server.schedule(topic=topic, jobId="a", url=receiver.url(), ttl=0.2)
    until(lambda: time.time() * 1000 > to_ms(server.job(topic, "a")["expiresAt"]), 3, "the job's expiry")
    resume(server, topic)
    server.wait_for_state(topic, "a", "dead")
    assert patch(server, topic, "a", expiresAt=from_ms(int(time.time() * 1000) - 1)).expect(200)["state"] == "dead"
    server.run(topic, "a").expect(409)
    patch(server, topic, "a", ttl=3600).expect(200)
    server.run(topic, "a").expect(202)
    until(lambda: receiver.count(topic), 3, "delivery")


def test_a_leased_job_is_409_and_a_missing_one_404(server, receiver, topic):
    receiver.script(topic, HANG)
    patch(server, topic, "a", delay=5).expect(404)
    server.schedule(topic=topic, jobId="a", url=receiver.url(), timeout=60)
    server.wait_for_state(topic, "a", "leased")
    for headers in ({}, {"If-Match": '"x"'}, {"If-Match": tag_of(server, topic, "a")}):
        assert send(server, topic, "a", "{}", headers).expect(409)["state"] == "leased"
    server.cancel(topic, "a")
    send(server, topic, "a", "{}", {"If-Match": "*"}).expect(404)


def test_an_invalid_patch_names_its_errors_and_changes_nothing(start, receiver, topic):
    server = start("--max-body", "2KiB")
    server.schedule(topic=topic, jobId="a", url=receiver.url(), delay=60, retry=1)
    tag = tag_of(server, topic, "a")
    wrong = {"topic": topic, "jobId": "a", "colour": None, "attempts": 0, "url": "x", "delay": -1, "timeout": 0,
             "headers": {"Host": "x", "X": 1}}
    assert patch(server, topic, "a", **wrong).fields() == [
        "topic", "jobId", "colour", "attempts", "url", "delay", "timeout", "headers.Host", "headers.X"]
    assert patch(server, topic, "a", url="http://10.0.0.1/").fields() == ["url"]
    assert patch(server, topic, "a", delay=1, dueAt="2030-01-01T00:00:00Z").fields() == ["dueAt"]
    assert patch(server, topic, "a", retrySchedule=[]).fields() == ["retrySchedule"]
    for text in ("", "[]", "{", '{"delay":1,"delay":2}'):
        assert send(server, topic, "a", text).fields() == [""]
    assert send(server, topic, "a", "{}", {"If-Match": "x"}).fields() == ["If-Match"]
    assert server.request("PATCH", f"/jobs/{topic}/a?x=1", "{}", MERGE).fields() == ["x"]
    send(server, topic, "a", "{}", {"Content-Type": "text/plain"}).expect(415)
    send(server, topic, "a", " " * 2049).expect(413)
    assert tag_of(server, topic, "a") == tag


@pytest.mark.parametrize("members", [{"delay": 5}, {"body": 1}, {"headers": {"X": "2"}}, {"retry": 0}])
def test_a_change_with_if_match_needs_the_current_etag(server, receiver, topic, members):
    server.schedule(topic=topic, jobId="a", url=receiver.url(), delay=60, headers={"X": "1"})
    old = tag_of(server, topic, "a")
    new = send(server, topic, "a", json.dumps(members), {"If-Match": old}).headers["ETag"]
    assert new != old
    send(server, topic, "a", json.dumps(members), {"If-Match": old}).expect(412)
    assert tag_of(server, topic, "a") == new
    send(server, topic, "a", json.dumps(members), {"If-Match": f'"x", {new}'}).expect(200)
    send(server, topic, "a", json.dumps(members), {"If-Match": "*"}).expect(200)


def test_one_of_many_patches_with_the_same_etag_succeeds(start, redis, receiver, topic):
    shared = redis()
    servers = [start(redis=shared), start(redis=shared)]
    servers[0].schedule(topic=topic, jobId="a", url=receiver.url(), delay=60)
    tag = tag_of(servers[0], topic, "a")
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        replies = list(pool.map(lambda i: send(servers[i % 2], topic, "a", f'{{"body":{i}}}', {"If-Match": tag}), range(24)))
    assert sorted(reply.status for reply in replies) == [200] + [412] * 23
    winner = next(reply for reply in replies if reply.status == 200)
    assert servers[0].job(topic, "a")["body"] == winner.json["body"]


def test_changes_at_the_same_time_do_not_undo_each_other(start, redis, receiver, topic):
    shared = redis()
    servers = [start(redis=shared), start(redis=shared)]
    changes = [{"body": 7}, {"retry": 1}, {"timeout": 5}, {"headers": {"X": "1"}}]
    for i in range(5):
        servers[0].schedule(topic=topic, jobId=f"j{i}", url=receiver.url(), delay=60)
        with concurrent.futures.ThreadPoolExecutor(len(changes)) as pool:
            for reply in pool.map(lambda pair: patch(servers[pair[0] % 2], topic, f"j{i}", **pair[1]), enumerate(changes)):
                reply.expect(200)
        job = servers[1].job(topic, f"j{i}")
        assert (job["body"], job["retry"], job["timeout"], job["headers"]) == (7, 1, 5, {"X": "***"})


def test_a_full_redis_refuses_what_may_grow(start, redis, receiver, topic):
    behind = redis()
    server = start(redis=behind)
    server.schedule(topic=topic, jobId="a", url=receiver.url(), delay=60)
    behind.fill()
    patch(server, topic, "a", body=1).expect(507)
    server.request("DELETE", f"/jobs/{topic}/a", headers={"If-Match": tag_of(server, topic, "a")}).expect(200)
    behind.command("CONFIG", "SET", "maxmemory", "0")


def test_a_record_that_duepost_did_not_write_is_left_alone(start, redis, topic):
    behind = redis()
    server = start(redis=behind)
    behind.command("HSET", "duepost:{0}:kept", f"{topic}/a", "dead 1000 0 2 {}")
    for key in "dead", f"dead:{topic}":
        behind.command("ZADD", "duepost:{0}:" + key, "1000", f"{topic}/a")
    assert patch(server, topic, "a", body=1).expect(409)["state"] == "dead"


def test_without_redis_nothing_is_changed(start, topic):
    server = start("--redis", "redis://127.0.0.1:1", ready=False)
    patch(server, topic, "a", delay=1).expect(503)
