"""GET /jobs/.../why: why a job is not delivered yet."""

import json
import time

from patience import SLOW, until
from receiver import HANG
from timestamp import to_ms

JSON = {"Content-Type": "application/json"}


def why(server, topic, job_id="a"):
    return server.get(f"/jobs/{topic}/{job_id}/why").expect(200)


def settings(server, topic, **some):
    server.request("PUT", f"/topics/{topic}", json.dumps(some), JSON).expect(200)


def test_it_is_not_due(server, receiver, topic):
    due = server.schedule(topic=topic, jobId="a", url=receiver.url(), delay=60)["dueAt"]
    answer = why(server, topic)
    assert (answer["state"], answer["why"], answer["until"]) == ("delayed", "not_due", due)


def test_it_waits_for_a_retry(server, receiver, topic):
    receiver.script(topic, 503)
    server.schedule(topic=topic, jobId="a", url=receiver.url(), retrySchedule=[60])
    until(lambda: server.job(topic, "a")["attempts"] == 1, 5, "a failed attempt")
    answer = why(server, topic)
    assert answer["why"] == "waits_for_retry" and "503" in answer["detail"]
    assert to_ms(answer["until"]) > time.time() * 1000
    server.schedule(topic=topic, jobId="b", url="http://127.0.0.1:1/", retrySchedule=[60])
    until(lambda: server.job(topic, "b")["attempts"] == 1, 5, "a failed attempt")
    assert "(connect: " in why(server, topic, "b")["detail"]


def test_its_topic_holds_it(server, receiver, topic):
    settings(server, topic, paused=True)
    server.schedule(topic=topic, jobId="a", url=receiver.url())
    answer = why(server, topic)
    assert (answer["state"], answer["why"]) == ("ready", "paused") and "until" not in answer

    receiver.script(topic, HANG)
    settings(server, topic, maxInFlight=1)
    server.wait_for_state(topic, "a", "leased")
    assert why(server, topic)["why"] == "under_way"
    server.schedule(topic=topic, jobId="b", url=receiver.url())
    assert why(server, topic, "b")["why"] == "max_in_flight"


def test_its_topics_rate_holds_it(server, receiver, topic):
    settings(server, topic, rate={"jobs": 1, "per": 600})
    server.schedule(topic=topic, jobId="a", url=receiver.url())
    until(lambda: receiver.count(topic) == 1, 5, "the first delivery")
    server.schedule(topic=topic, jobId="b", url=receiver.url())
    answer = why(server, topic, "b")
    assert answer["why"] == "rate" and abs(to_ms(answer["until"]) / 1000 - time.time() - 600) < 10 * SLOW


def test_all_attempts_are_in_use(start, receiver, topic):
    server = start("--max-in-flight", "1", "--reactors", "1")
    receiver.script(topic, HANG)
    server.schedule(topic=topic, jobId="a", url=receiver.url())
    server.wait_for_state(topic, "a", "leased")
    server.schedule(topic=topic, jobId="b", url=receiver.url())
    assert why(server, topic, "b")["why"] == "in_turn"


def test_a_death_that_a_run_alone_does_not_help_is_explained(server, receiver, topic):
    server.request("PATCH", f"/topics/{topic}", '{"paused": true}', {"Content-Type": "application/json"}).expect(200)
    server.schedule(topic=topic, jobId="a", url=receiver.url(), delay=60)
    assert "not due yet" in why(server, topic)["detail"] and "paused" in why(server, topic)["detail"]


def test_it_is_dead(server, receiver, topic):
    receiver.script(topic, 410)
    server.schedule(topic=topic, jobId="a", url=receiver.url())
    server.wait_for_state(topic, "a", "dead")
    answer = why(server, topic)
    assert answer["why"] == "dead" and "gone" in answer["detail"]


def test_an_unknown_job_has_no_why(server, start, topic):
    server.get(f"/jobs/{topic}/none/why").expect(404)
    assert server.get(f"/jobs/{topic}/none/why?x=1").fields() == ["x"]
    server.request("POST", f"/jobs/{topic}/none/why").expect(405)
    start("--redis", "redis://127.0.0.1:1", ready=False).get(f"/jobs/{topic}/a/why").expect(503)


# Writes jobs that have died just now. duepost could remove jobs that died long ago at any moment (--dead-max-age).
BURY = """local now = redis.call('TIME')[1] .. '000'
for i = 1, #ARGV, 3 do
  redis.call('HSET', KEYS[1], ARGV[i], 'dead ' .. now .. ' ' .. ARGV[i + 2] .. '/nonce ' .. #ARGV[i + 1] .. ' ' .. ARGV[i + 1])
  redis.call('ZADD', KEYS[2], now, ARGV[i])
  redis.call('ZADD', KEYS[3], now, ARGV[i])
end"""


def test_get_why_and_lists_agree_on_a_death_without_a_recorded_reason(start, redis):
    """These dead jobs have no recorded reason. Some died because their processes were lost, and the number of these
    losses may be forgotten. Others have a record that duepost did not write."""
    its = redis()
    server = start(redis=its)
    dead = {"lost": ('{"createdAt":1,"url":"http://a/"}', 5, "consumer_lost"), "changed": ('{"createdAt":1,"url":"http://a/"}', 0, "consumer_lost"),
            "foreign": ("x", 0, "unreadable"), "foreign-lost": ("x", 4, "unreadable"),
            "told": ('{"createdAt":1,"url":"http://a/","reason":"gone"}', 5, "gone")}
    words = [str(word) for job_id, (record, losses, _) in dead.items() for word in (f"t/{job_id}", record, losses)]
    keys = ["duepost:{0}:kept", "duepost:{0}:dead", "duepost:{0}:dead:t"]
    assert its.command("EVAL", BURY, "3", *keys, *words) == b"$-1\r\n"
    listed = {job["jobId"]: job["reason"] for job in server.get("/jobs?state=dead&topic=t").expect(200)["jobs"]}
    assert listed == {job_id: reason for job_id, (_, _, reason) in dead.items()}
    for job_id, reason in listed.items():
        assert server.job("t", job_id)["reason"] == reason
        assert f"({reason})" in why(server, "t", job_id)["detail"]
