"""Sibling topics, such as orders~callbacks: only the server writes there, and the rights are those of the owner, orders."""

import collections
import json

import pytest

from patience import SLOW, until
from receiver import Answer
from tokens import TokenFile

JSON = {"Content-Type": "application/json"}
JOB = {"url": "http://127.0.0.1:9/"}


def test_a_client_schedules_nothing_in_a_sibling_topic(server, topic):
    refused = server.post({"topic": f"{topic}~callbacks", **JOB})
    assert refused.status == 400 and refused.fields() == ["topic"]
    assert "~" in json.loads(refused.body)["errors"][0]["detail"]


@pytest.mark.parametrize("method,path,body", [("PUT", "/jobs/{}/a", JOB), ("PATCH", "/jobs/{}/a", {"timeout": 1}), ("PUT", "/topics/{}", {"paused": True}),
                                              ("PATCH", "/topics/{}", {"paused": True}), ("DELETE", "/topics/{}", None)])
def test_a_client_writes_no_job_and_no_settings_of_a_sibling_topic(server, topic, method, path, body):
    target = path.format(f"{topic}~callbacks")
    refused = server.request(method, target, body and json.dumps(body), JSON if body else {}).expect(403)
    assert topic in refused["detail"]


def test_a_sibling_topic_is_read_like_any_other(server, topic):
    name = f"{topic}~callbacks"
    assert server.get(f"/topics/{name}").expect(200)["settings"] == {}
    assert server.get(f"/jobs?state=delayed&topic={name}").expect(200)["jobs"] == []
    server.get(f"/jobs/{name}/a").expect(404)
    server.request("DELETE", f"/jobs/{name}/a").expect(404)
    server.run(name, "a").expect(404)
    server.get(f"/topics/{topic}~").expect(404)


# ---- callbacks, the jobs that the server writes to the sibling topic ----

def tell(server, receiver, topic, **settings):
    server.request("PUT", f"/topics/{topic}", json.dumps({"onDead": receiver.url("/dead"), **settings}), JSON).expect(200)
    return f"{topic}~callbacks"


def told_by(arrival):
    return json.loads(arrival.body)["jobId"]


def test_a_token_of_the_owner_reaches_its_siblings(start, receiver, topic):
    tokens = TokenFile()
    root, owner, other = tokens.add("root"), tokens.add("owner", topics=topic), tokens.add("other", topics=f"{topic}-x,b*")
    server = start("--tokens", str(tokens.path), "--breaker", "off", token=root)
    callbacks = tell(server, receiver, topic)
    receiver.script(topic, 410)
    receiver.script(callbacks, 500)
    server.schedule(topic=topic, jobId="a", url=receiver.url())
    notice, = until(lambda: server.get(f"/jobs?state=delayed&topic={callbacks}").expect(200)["jobs"], 10, "the notice's retry")
    path = f"/jobs/{callbacks}/{notice['jobId']}"
    theirs, mine = server.with_token(other), server.with_token(owner)
    for ask in (theirs.get(path).expect(404), theirs.request("DELETE", path).expect(404), theirs.request("POST", path + "/run").expect(404),
                theirs.get(f"/jobs?state=delayed&topic={callbacks}").expect(403), theirs.get(f"/topics/{callbacks}").expect(403)):
        assert receiver.url() not in str(ask)
    assert theirs.get("/topics").expect(200)["topics"] == []
    assert [each["topic"] for each in mine.get("/topics").expect(200)["topics"]] == [topic, callbacks]
    assert mine.get(path).expect(200)["state"] == "delayed"
    mine.request("POST", path + "/run").expect(202)
    until(lambda: receiver.count(callbacks) == 2, 10, "another attempt")
    server.wait_for_state(callbacks, notice["jobId"], "delayed")
    mine.request("DELETE", path).expect(200)


def test_each_death_has_one_notice_whichever_process_is_killed(start, redis, receiver, topic):
    """Processes are killed at random times. A job whose process was killed is delivered again, and then dies."""
    behind = redis()
    servers = [start("--breaker", "off", redis=behind.address) for _ in range(2)]
    callbacks = tell(servers[0], receiver, topic, retention=3600, retrySchedule=[0.05])
    receiver.script(topic, Answer(500, delay=0.02))
    names = {f"j{i}" for i in range(200)}
    servers[0].schedule_many([{"topic": topic, "jobId": name, "url": receiver.url()} for name in sorted(names)])
    for number in range(3):
        until(lambda: receiver.count(callbacks) >= 30 * (number + 1), 30, "more deaths")
        servers[number % 2].kill()
        servers[number % 2] = start("--breaker", "off", redis=behind.address)
    server = servers[0]
    until(lambda: server.get(f"/jobs/count?state=dead&topic={topic}").expect(200)["count"] == len(names), 60, "all deaths")
    until(lambda: server.get(f"/jobs/count?state=delivered&topic={callbacks}").expect(200)["count"] == len(names), 60, "the callbacks of all jobs")
    assert all(server.get(f"/jobs/count?state={state}&topic={callbacks}").expect(200)["count"] == 0 for state in ("delayed", "ready", "leased", "dead"))
    ids = collections.defaultdict(set)
    for arrival in receiver.of(callbacks):
        ids[told_by(arrival)].add(arrival.job_id)
    assert set(ids) == names and all(len(each) == 1 for each in ids.values())
    assert "books_are_off" not in "".join(each.log() for each in servers)


def test_a_job_that_kills_its_consumers_has_a_notice(start, redis, receiver, topic):
    behind = redis()
    server = start("--breaker", "off", redis=behind.address)
    callbacks = tell(server, receiver, topic)
    receiver.script(topic, Answer(200, delay=60 * SLOW))
    server.schedule(topic=topic, jobId="a", url=receiver.url(), timeout=3600)
    until(lambda: receiver.of(topic), 10, "the attempt")
    behind.command("HSET", "duepost:{0}:crashes", f"{topic}/a", "4 gone")
    server.kill()
    server = start("--breaker", "off", redis=behind.address)
    dead = server.wait_for_state(topic, "a", "dead", 30)
    assert dead["reason"] == "consumer_lost" and dead["attempts"] == 0
    notice, = until(lambda: receiver.of(callbacks), 10, "the notice")
    told = json.loads(notice.body)
    assert told["jobId"] == "a" and told["reason"] == "consumer_lost" and notice.job_id.startswith("a~dead~")
    server.wait_for_state(callbacks, notice.job_id, None)
    assert receiver.count(callbacks) == 1
