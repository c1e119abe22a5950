"""Jobs of a topic with a retention can be read after their end."""

import json
import re
import time

import pytest

from clock import MANUAL, ManualClock
from patience import SLOW, until, watch
from receiver import HANG, Answer
from timestamp import to_ms

JSON = {"Content-Type": "application/json"}


def keep(server, topic, **settings):
    return server.request("PUT", f"/topics/{topic}", json.dumps(settings or {"retention": 3600}), JSON).expect(200)


def attempts(server, topic, job_id="a"):
    return server.get(f"/jobs/{topic}/{job_id}/attempts").expect(200)["attempts"]


def outcomes(server, topic, job_id="a"):
    return [(attempt["attempt"], attempt.get("status", attempt.get("error"))) for attempt in attempts(server, topic, job_id)]


def die(server, receiver, topic, job_id="a"):
    receiver.script(topic, 410, HANG, job_id=job_id)
    server.schedule(topic=topic, jobId=job_id, url=receiver.url())
    return server.wait_for_state(topic, job_id, "dead")


def deliver(server, receiver, topic, job_id="a", **members):
    server.schedule(topic=topic, jobId=job_id, url=receiver.url(), **members)
    return server.wait_for_state(topic, job_id, "delivered")


# ---- what is kept ----

def test_a_delivered_job_can_be_read(server, receiver, topic):
    keep(server, topic, retention=3600)
    receiver.script(topic, Answer(503, body=b"later"), Answer(201, body=b"thanks"))
    job = deliver(server, receiver, topic, body={"n": 1.10}, headers={"X-Token": "secret"}, retrySchedule=[0.05])
    assert job["body"] == {"n": 1.10} and job["headers"] == {"X-Token": "***"} and job["attempts"] == 2
    assert job["lastAttempt"]["status"] == 201 and "dueAt" not in job
    assert to_ms(job["keptUntil"]) - to_ms(job["deliveredAt"]) == 3600_000
    arrived = receiver.of(topic)[-1]
    assert -1 <= to_ms(job["deliveredAt"]) - arrived.at_ms < 1000 * SLOW
    assert [attempt.get("answer") for attempt in attempts(server, topic)] == ["later", "thanks"]
    assert outcomes(server, topic) == [(1, 503), (2, 201)]


def test_a_cancelled_job_can_be_read(server, receiver, topic):
    keep(server, topic)
    receiver.script(topic, 500)
    server.schedule(topic=topic, jobId="a", url=receiver.url(), retrySchedule=[3600])
    until(lambda: server.job(topic, "a")["attempts"] == 1, 5, "the attempt")
    server.cancel(topic, "a").expect(200)
    job = server.job(topic, "a")
    assert job["state"] == "cancelled" and abs(to_ms(job["cancelledAt"]) / 1000 - time.time()) < 5 * SLOW
    assert to_ms(job["keptUntil"]) - to_ms(job["cancelledAt"]) == 3600_000
    assert job["attempts"] == 1 and outcomes(server, topic) == [(1, 500)]


def test_an_attempt_that_ends_behind_its_cancel_changes_nothing(server, receiver, topic):
    keep(server, topic)
    receiver.script(topic, Answer(200, delay=1))
    server.schedule(topic=topic, jobId="a", url=receiver.url())
    until(lambda: receiver.count(topic) == 1, 5, "the attempt")
    assert server.cancel(topic, "a").expect(200)["attemptInFlight"]
    cancelled = server.job(topic, "a")
    assert cancelled["state"] == "cancelled"
    until(lambda: receiver.of(topic)[0].answered_at_ms, 5, "the answer")
    watch(0.5, lambda: server.job(topic, "a") == cancelled, "the cancelled job has changed")
    assert attempts(server, topic) == []


def test_many_that_are_cancelled_are_kept_each(server, receiver, topic):
    keep(server, topic)
    for number in range(20):
        server.schedule(topic=topic, jobId=f"j{number}", url=receiver.url(), delay=60)
    server.request("DELETE", f"/jobs?state=delayed&topic={topic}&all=true").expect(200)
    assert {server.job(topic, f"j{number}")["state"] for number in range(20)} == {"cancelled"}


def test_large_jobs_are_kept_whole(server, receiver, topic):
    """All records together have more bytes than one call of Redis moves."""
    keep(server, topic)
    bodies = {f"j{number}": f"{number}" + "x" * 1_000_000 for number in range(12)}
    for job_id, body in bodies.items():
        server.schedule(topic=topic, jobId=job_id, url=receiver.url(), body=body, delay=1)
    for job_id, body in bodies.items():
        assert server.wait_for_state(topic, job_id, "delivered", 20)["body"] == body
    for job_id in bodies:
        server.schedule(topic=topic, jobId=job_id, url=receiver.url(), body=bodies[job_id], delay=60)
    page = {"cursor": ""}
    while "cursor" in page:
        page = server.request("DELETE", f"/jobs?state=delayed&topic={topic}&all=true" + (page["cursor"] and f"&cursor={page['cursor']}")).expect(200)
    for job_id, body in bodies.items():
        assert server.wait_for_state(topic, job_id, "cancelled", 20)["body"] == body


def test_without_a_retention_nothing_is_kept(server, receiver, topic):
    keep(server, topic, maxInFlight=5)
    server.schedule(topic=topic, jobId="a", url=receiver.url())
    server.wait_for_state(topic, "a", None)
    server.get(f"/jobs/{topic}/a/attempts").expect(404)
    assert die(server, receiver, topic, "b")["state"] == "dead"


def test_the_retention_of_its_end_counts(server, receiver, topic):
    keep(server, topic)
    deliver(server, receiver, topic)
    server.request("DELETE", f"/topics/{topic}").expect(200)
    assert server.job(topic, "a")["state"] == "delivered"
    server.schedule(topic=topic, jobId="b", url=receiver.url())
    server.wait_for_state(topic, "b", None)


def test_kept_jobs_outlive_the_process(start, receiver, topic, data):
    first = start(data=data)
    keep(first, topic)
    job = deliver(first, receiver, topic)
    assert first.terminate() == 0
    second = start(data=data)
    assert second.job(topic, "a") == job and outcomes(second, topic) == [(1, 200)]


# ---- a new job with the id of an ended job ----

def test_a_new_job_has_its_own_history_and_its_end_takes_the_place(server, receiver, topic):
    keep(server, topic)
    receiver.script(topic, 500, 200, 501, HANG)
    deliver(server, receiver, topic, retrySchedule=[0.05])
    server.schedule(topic=topic, jobId="a", url=receiver.url(), delay=60, retrySchedule=[3600])
    assert server.job(topic, "a")["state"] == "delayed" and attempts(server, topic) == []
    server.run(topic, "a").expect(202)
    until(lambda: outcomes(server, topic) == [(1, 501)], 5, "only the attempt of the new job is listed")
    server.cancel(topic, "a").expect(200)
    assert server.job(topic, "a")["state"] == "cancelled" and outcomes(server, topic) == [(1, 501)]


def test_a_kept_job_can_only_be_read(server, receiver, topic):
    keep(server, topic)
    deliver(server, receiver, topic)
    server.run(topic, "a").expect(404)
    server.cancel(topic, "a").expect(404)
    server.request("PATCH", f"/jobs/{topic}/a", '{"delay": 5}', JSON).expect(404)
    why = server.get(f"/jobs/{topic}/a/why").expect(200)
    assert why["why"] == why["state"] == "delivered" and re.search(r"at attempt 1: the receiver answered 200 in \d+ ms", why["detail"])
    for state in "delayed", "ready", "leased", "dead":
        assert server.get(f"/jobs?state={state}&topic={topic}").expect(200)["jobs"] == []
    assert server.get(f"/topics/{topic}").expect(200)["jobs"] == {"delayed": 0, "ready": 0, "leased": 0, "dead": 0, "held": 0}
    server.request("PUT", f"/jobs/{topic}/a", json.dumps({"url": receiver.url(), "delay": 60}), JSON).expect(201)
    assert server.job(topic, "a")["state"] == "delayed"


def test_delivered_and_cancelled_jobs_are_listed(server, receiver, topic):
    keep(server, topic)
    delivered = [deliver(server, receiver, topic, job_id) for job_id in ("c", "a", "b")]
    for job_id in "d", "e":
        server.schedule(topic=topic, jobId=job_id, url=receiver.url(), delay=60)
        server.cancel(topic, job_id).expect(200)
    cancelled = [server.job(topic, job_id) for job_id in ("d", "e")]
    find = lambda what: server.get(f"/jobs{what}&topic={topic}").expect(200)
    assert find("?state=delivered")["jobs"] == delivered and find("?state=cancelled")["jobs"] == cancelled
    assert [job["attempts"] for job in delivered] == [1, 1, 1] and [job["attempts"] for job in cancelled] == [0, 0]
    assert find("/count?state=delivered") == {"count": 3} and find("/count?state=cancelled") == {"count": 2}
    first = find("?state=delivered&limit=2")
    assert first["jobs"] + find(f"?state=delivered&cursor={first['cursor']}")["jobs"] == delivered
    assert find(f"?state=delivered&endedAfter={delivered[1]['deliveredAt']}")["jobs"] == delivered[1:]
    # No bulk action cancels or runs ended jobs. A list of ended jobs needs a topic.
    assert server.request("DELETE", f"/jobs?state=delivered&topic={topic}&all=true").fields() == ["state"]
    assert server.get("/jobs?state=cancelled").fields() == ["topic"]
    assert find("?state=delivered")["jobs"] == delivered


def test_kept_jobs_take_no_room_in_the_pool(start, receiver, topic):
    server = start("--max-jobs", "1", "--reactors", "1")
    keep(server, topic)
    for job_id in "a", "b", "c":
        deliver(server, receiver, topic, job_id)
    assert "duepost_kept_jobs 3\n" in server.get("/metrics").body.decode()
    die(server, receiver, topic, "d")
    assert "duepost_kept_jobs 3\n" in server.get("/metrics").body.decode()
    server.schedule(topic=topic, jobId="e", url=receiver.url(), delay=60)
    server.run(topic, "d").expect(507)
    server.cancel(topic, "e").expect(200)
    server.run(topic, "d").expect(202)


# ---- dead jobs ----

def test_a_dead_job_is_listed_and_can_be_run_again(server, receiver, topic):
    keep(server, topic)
    job = die(server, receiver, topic)
    assert job["reason"] == "gone" and to_ms(job["keptUntil"]) == to_ms(job["deadAt"]) + 3600_000
    assert [each["jobId"] for each in server.get(f"/jobs?state=dead&topic={topic}").expect(200)["jobs"]] == ["a"]
    receiver.script(topic, 200, job_id="a")
    assert server.request("POST", f"/jobs/redrive?topic={topic}&all=true").expect(200)["done"] == 1
    server.wait_for_state(topic, "a", "delivered")
    assert outcomes(server, topic) == [(1, 410), (1, 200)]


@pytest.mark.parametrize("method, target", [("POST", "/jobs"), ("PUT", "/jobs/{}/a")], ids=["post", "put"])
def test_a_dead_job_stays_next_to_a_new_one(server, receiver, topic, method, target):
    keep(server, topic)
    dead = die(server, receiver, topic)
    new = {"topic": topic, "jobId": "a", "url": receiver.url(), "delay": 60}
    server.request(method, target.format(topic), json.dumps(new), JSON).expect(201)
    assert server.job(topic, "a")["state"] == "delayed" and attempts(server, topic) == []
    assert server.get(f"/jobs?state=dead&topic={topic}").expect(200)["jobs"] == [dead]
    # A redrive does not run the new job, because it is not dead.
    assert server.request("POST", f"/jobs/redrive?topic={topic}&all=true").expect(200)["done"] == 0
    assert server.job(topic, "a")["state"] == "delayed"
    # The topic has no retention any more, so the new job is not kept after its end. Then the dead job is shown again.
    server.request("PUT", f"/topics/{topic}", "{}", JSON).expect(200)
    server.cancel(topic, "a").expect(200)
    job = server.job(topic, "a")
    assert job.pop("keptUntil") > dead.pop("keptUntil") and job == dead
    assert outcomes(server, topic) == [(1, 410)]
    server.run(topic, "a").expect(202)


def test_the_last_end_of_an_id_is_the_one_that_is_kept(server, receiver, topic):
    keep(server, topic)
    die(server, receiver, topic)
    receiver.script(topic, 200, job_id="a")
    server.schedule(topic=topic, jobId="a", url=receiver.url())
    server.wait_for_state(topic, "a", "delivered")
    assert server.get(f"/jobs?state=dead&topic={topic}").expect(200)["jobs"] == []


def test_dead_jobs_are_removed_after_their_retention_and_others_stay(turned, receiver, topic):
    other = topic + "-other"
    died = to_ms(die(turned, receiver, topic)["deadAt"])
    die(turned, receiver, other)
    keep(turned, topic, retention="2d")
    keep(turned, other, maxInFlight=5)
    turned.clock.move_to(died + 2 * 86400_000 - 1)
    assert turned.job(topic, "a")["state"] == "dead"
    turned.clock.advance(1)
    until(lambda: turned.job(topic, "a") is None, 10, "gone")
    turned.get(f"/jobs/{topic}/a/attempts").expect(404)
    assert turned.get(f"/jobs?state=dead&topic={topic}").expect(200)["jobs"] == []
    assert turned.job(other, "a")["state"] == "dead" and outcomes(turned, other) == [(1, 410)]


def test_kept_jobs_are_removed_after_their_retention(turned, receiver, topic):
    keep(turned, topic, retention="90d")
    until_ms = to_ms(deliver(turned, receiver, topic, "a")["keptUntil"])
    turned.schedule(topic=topic, jobId="b", url=receiver.url(), delay=60)
    turned.cancel(topic, "b").expect(200)
    turned.clock.move_to(until_ms - 1)
    assert [turned.job(topic, job_id)["state"] for job_id in "ab"] == ["delivered", "cancelled"]
    turned.clock.advance(1)
    for job_id in "ab":
        until(lambda job_id=job_id: turned.job(topic, job_id) is None, 10, "gone")
    turned.get(f"/jobs/{topic}/a/attempts").expect(404)


def test_a_thousand_go_at_once(start, receiver, topic):
    """There are more jobs than one call of Redis removes."""
    server = start()
    keep(server, topic, retention=1)
    server.schedule_many([{"topic": topic, "jobId": f"j{n}", "url": receiver.url(), "delay": 3600} for n in range(1000)])
    server.request("DELETE", f"/jobs?state=delayed&topic={topic}&limit=1000").expect(200)
    until(lambda: "duepost_kept_jobs 0\n" in server.get("/metrics").body.decode(), 10, "all are gone")
    assert "books_are_off" not in server.log()


# ---- the setting ----

@pytest.mark.parametrize("retention", [0, 0.5, 7776001, -1, "1w", [1], True], ids=str)
def test_an_invalid_retention_is_refused(server, topic, retention):
    reply = server.request("PUT", f"/topics/{topic}", json.dumps({"retention": retention}), JSON)
    assert reply.fields() == ["retention"]


def test_a_retention_is_shown_changed_and_removed(server, topic):
    assert keep(server, topic, retention=7776000)["settings"] == {"retention": 7776000}
    patch = lambda text: server.request("PATCH", f"/topics/{topic}", text, JSON).expect(200)["settings"]
    assert patch('{"retention": 1.5, "paused": true}') == {"paused": True, "retention": 1.5}
    assert patch('{"retention": null}') == {"paused": True}


# ---- settings of all topics ----

def test_a_retention_of_all_topics_counts_where_a_topic_has_none(start, receiver, topic):
    server = start("--reactors", "1", *MANUAL)
    own = f"{topic}-own"
    keep(server, own, retention=7200, maxInFlight=5)
    early = die(server, receiver, f"{topic}-early")
    assert keep(server, "*", retention=3600) == {"topic": "*", "settings": {"retention": 3600}}
    for name, seconds in (topic, 3600), (own, 7200):
        job = deliver(server, receiver, name)
        assert to_ms(job["keptUntil"]) - to_ms(job["deliveredAt"]) == seconds * 1000
        assert outcomes(server, name) == [(1, 200)] and job["lastAttempt"]["status"] == 200
    assert to_ms(server.job(f"{topic}-early", "a")["keptUntil"]) == to_ms(early["deadAt"]) + 3600_000
    assert server.get("/topics/*").expect(200)["settings"] == {"retention": 3600}
    assert server.get(f"/topics/{topic}").expect(200)["settings"] == {"retention": 3600}
    # A changed retention also applies to jobs that are already dead.
    keep(server, "*", retention=1800)
    ManualClock(server).move_to(to_ms(early["deadAt"]) + 1801_000)
    until(lambda: server.job(f"{topic}-early", "a") is None, 10, "the dead job is removed")
    server.request("DELETE", "/topics/*").expect(200)
    server.schedule(topic=topic, jobId="b", url=receiver.url())
    server.wait_for_state(topic, "b", None)
    assert all(entry["topic"] != "*" for entry in server.get("/topics").expect(200)["topics"])


def test_a_notice_of_each_death_in_all_topics(start, receiver, topic):
    server = start("--reactors", "1")
    keep(server, "*", onDead=receiver.url("/all"))
    keep(server, f"{topic}-own", onDead=receiver.url("/own"))
    for name in topic, f"{topic}-own":
        receiver.script(name, 410, job_id="a")
        server.schedule(topic=name, jobId="a", url=receiver.url())
        until(lambda: receiver.of(f"{name}~callbacks"), 5, "the notice")
    assert [receiver.of(f"{name}~callbacks")[0].target for name in (topic, f"{topic}-own")] == ["/all", "/own"]


# ---- limits for dead jobs: how many are kept, and how long ----

def dead_ids(server):
    return [f"{job['topic']}/{job['jobId']}" for job in server.get("/jobs?state=dead").expect(200)["jobs"]]


def metric(server, name):
    return next(int(line.split()[1]) for line in server.get("/metrics").body.decode().splitlines() if line.startswith(name + " "))


def test_the_oldest_of_too_many_dead_jobs_are_removed(start, receiver, topic):
    server = start("--dead-max", "2", "--reactors", "1")
    for job_id in "a", "b", "c":
        die(server, receiver, f"{topic}-{job_id}")
    until(lambda: dead_ids(server) == [f"{topic}-b/a", f"{topic}-c/a"], 10, "the first one is gone")
    assert server.job(f"{topic}-a", "a") is None
    assert metric(server, "duepost_dead_removed_by_number_total") == 1
    assert "event=dead_jobs_removed" in server.log() and "books_are_off" not in server.log()


def test_dead_jobs_are_removed_by_their_age(start, receiver, topic):
    server = start("--dead-max-age", "30d", "--reactors", "1", *MANUAL)
    age, clock = 30 * 86400_000, ManualClock(server)
    job = die(server, receiver, topic)
    assert to_ms(job["keptUntil"]) == to_ms(job["deadAt"]) + age
    clock.advance("1h")
    keep(server, topic + "-long", retention="90d")
    assert to_ms((job := die(server, receiver, topic + "-long"))["keptUntil"]) == to_ms(job["deadAt"]) + age
    clock.move_to(to_ms(job["keptUntil"]) - 1)
    until(lambda: dead_ids(server) == [f"{topic}-long/a"], 10, lambda: dead_ids(server))
    clock.advance(1)
    until(lambda: dead_ids(server) == [], 10, lambda: dead_ids(server))
    assert metric(server, "duepost_dead_removed_by_age_total") == 2


FILL = """for i = 1, 6000 do
  local topic = 't' .. i % 1500
  local id, text = topic .. '/' .. i, 'dead ' .. ARGV[1] .. ' 0 32 {"createdAt":1,"url":"http://a"}'
  redis.call('HSET', KEYS[1] .. 'kept', id, text)
  redis.call('ZADD', KEYS[1] .. 'dead', ARGV[1], id)
  redis.call('ZADD', KEYS[1] .. 'dead:' .. topic, ARGV[1], id)
  redis.call('ZADD', KEYS[1] .. 'dead_due', 'inf', topic)
  if i % 2 == 0 then
    redis.call('HSET', KEYS[1] .. 'topics', topic, '{"retention":1}')
    redis.call('ZADD', KEYS[1] .. 'dead_due', ARGV[1] + 1000, topic)
  end
end"""


def test_thousands_of_dead_jobs_in_many_topics_go_in_time(start, redis):
    """duepost removes the dead jobs in many small steps, and does not wait for a tick between them."""
    behind = redis()
    server = start(redis=behind)
    behind.command("EVAL", FILL, "1", "duepost:{0}:", str(int(time.time() * 1000) - 60_000))
    until(lambda: metric(server, "duepost_jobs{state=\"dead\"}") == 3000, 10, "the dead jobs of topics with a retention are removed")
    until(lambda: metric(server, "duepost_dead_removed_by_retention_total") == 3000, 5, "the removed jobs are counted")
    assert "books_are_off" not in server.log() and "mended" not in server.log()


def test_dead_jobs_of_the_first_format_are_taken_over(start, redis, receiver):
    """In format 1, dead jobs were still in the pool, the key "jobs". They leave the pool, and keep their attempts,
    before duepost takes them for lost jobs."""
    behind, keys = redis(), "duepost:{0}:"
    record = '{"createdAt":1,"url":"' + receiver.url() + '","attempts":1,"lastAttempt":{"at":5,"status":500,"ms":1},"reason":"gone"}'
    behind.command("HSET", keys + "meta", "format", "1", "shards", "1")
    behind.command("HSET", keys + "jobs", "old/a", record, "old/b", '{"createdAt":1,"url":"' + receiver.url() + '"}')
    behind.command("ZADD", keys + "dead", str(int(time.time() * 1000)), "old/a", str(int(time.time() * 1000)), "old/b")
    behind.command("HSET", keys + "crashes", "old/b", "5 nonce")
    server = start(redis=behind)
    until(lambda: behind.command("HLEN", keys + "jobs") == b":0\r\n", 10, "the dead jobs have left the pool")
    assert sorted(dead_ids(server)) == ["old/a", "old/b"]
    assert server.job("old", "a")["state"] == "dead" and server.job("old", "b")["reason"] == "consumer_lost"
    assert behind.command("HGET", keys + "meta", "format") == b"$1\r\n2\r\n"
    assert receiver.count("old") == 0
    server.run("old", "b").expect(202)
    until(lambda: receiver.count("old") == 1, 5, "the job is delivered")
