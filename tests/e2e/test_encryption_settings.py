"""Settings, groups and access tokens whose secrets are encrypted in Redis (--encryption-keys)."""

import json
import re
import secrets

import pytest

from patience import until
import pull
from qstash import QStash, arrivals
import scratch
from test_identity import JSON, MERGE, came, oauth2, patch, put, tokens  # noqa: F401 (a fixture)

SECRET = "s3cret-marker"


def key_file(*keys):
    path = scratch.file("keys")
    path.write_text("".join(key + "\n" for key in keys))
    path.chmod(0o600)
    return str(path)


@pytest.fixture
def keys():
    """Options with a new key of this test."""
    return "--encryption-keys", key_file(secrets.token_hex(32))


def stored(place):
    """All that Redis has written to its disk."""
    return b"".join(path.read_bytes() for path in sorted(place.directory.rglob("*")) if path.is_file())


def check_hidden(place, *names):
    found = stored(place)
    assert SECRET.encode() not in found
    for name in names:
        assert name.encode() in found, name  # so the files are the right ones


ALL = {
    "url": f"http://127.0.0.1:9/in?key={SECRET}", "headers": {"Authorization": SECRET}, "secrets": ["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"],
    "egressProxy": f"http://u:{SECRET}@127.0.0.1:1", "onDelivered": f"http://127.0.0.1:9/{SECRET}", "onDead": {"url": f"http://127.0.0.1:9/{SECRET}"},
    "onAttempt": f"http://127.0.0.1:9/{SECRET}", "alerts": [{"on": "failing", "url": f"http://127.0.0.1:9/{SECRET}"}], "maxInFlight": 7,
    "auth": {"type": "oauth2", "tokenUrl": f"http://127.0.0.1:9/{SECRET}", "clientId": SECRET, "clientSecret": SECRET},
}


@pytest.mark.parametrize("place", ["topic", "pattern"])
def test_each_secret_setting_is_sealed_and_shown_as_without_keys(start, redis, topic, keys, place):
    name = topic if place == "topic" else topic + "*"
    plain, sealed = redis(), redis()
    servers = start(redis=plain), start(*keys, redis=sealed)
    for change in (put, patch):
        shown = [change(server, name, **ALL)["settings"] for server in servers]
        assert shown[0] == shown[1] and set(shown[0]) == set(ALL)
    shown = [patch(server, name, maxInFlight=8, onAttempt=None)["settings"] for server in servers]
    assert shown[0] == shown[1] and shown[0]["maxInFlight"] == 8 and "onAttempt" not in shown[0]
    read = [server.get(f"/topics/{topic}").expect(200) for server in servers]
    assert read[0]["settings"] == read[1]["settings"] and read[0]["from"] == read[1]["from"]
    assert read[0]["from"]["headers"] == read[0]["from"]["onDead"] == ("topic" if place == "topic" else name)
    check_hidden(sealed, name, "http://127.0.0.1:9/in", "maxInFlight")
    assert b"whsec_" not in stored(sealed) and b"whsec_" in stored(plain)


def test_secrets_of_several_patterns_and_of_the_topic_are_used_together(start, redis, receiver, topic, keys):
    place = redis()
    server = start(*keys, redis=place)
    put(server, "*", headers={"X-All": SECRET}, onDelivered=receiver.url(f"/done?{SECRET}"))
    put(server, topic[:-1] + "*", url=receiver.url(f"/in?{SECRET}"), secrets=["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"])
    put(server, topic, maxInFlight=3, onAttempt=receiver.url(f"/try?{SECRET}"))
    server.schedule(topic=topic, jobId="a")
    arrival, = came(receiver, topic)
    assert arrival.target == f"/in?{SECRET}" and arrival.headers["x-all"] == SECRET and "webhook-signature" in arrival.headers
    for path in ("/done", "/try"):
        until(lambda: any(a.target.startswith(path) for a in list(receiver.arrivals)), 10, path)
    shown = server.get(f"/topics/{topic}").expect(200)
    assert (shown["from"]["headers"], shown["from"]["secrets"], shown["from"]["onAttempt"]) == ("*", topic[:-1] + "*", "topic")
    # A change of the shortest pattern reaches the text of the longer one.
    patch(server, "*", headers={"X-All": "other-" + SECRET})
    server.schedule(topic=topic, jobId="b")
    assert came(receiver, topic, 2)[1].headers["x-all"] == "other-" + SECRET
    check_hidden(place, topic)


def test_settings_in_plain_text_are_read_and_sealed_by_the_next_change(start, redis, receiver, topic, keys):
    place = redis()
    before = start(redis=place)
    for name in (topic, "p*"):
        put(before, name, url=receiver.url("/in"), headers={"X-Key": SECRET})
    before.stop()
    server = start(*keys, redis=place)
    for job, name in enumerate((topic, "p" + topic)):
        server.schedule(topic=name, jobId=str(job))
        assert came(receiver, name)[0].headers["x-key"] == SECRET
    for name, key in ((topic, "topics"), ("p*", "patterns")):
        assert SECRET.encode() in place.command("HGET", "duepost:{0}:" + key, name)
        patch(server, name, timeout=5)
        assert SECRET.encode() not in place.command("HGET", "duepost:{0}:" + key, name)
    server.schedule(topic=topic, jobId="again")
    assert came(receiver, topic, 2)[1].headers["x-key"] == SECRET


def test_without_the_key_jobs_of_a_topic_are_held_and_nothing_is_lost(start, redis, receiver, topic, keys):
    place = redis()
    server = start(*keys, redis=place)
    put(server, topic, url=receiver.url("/in"), headers={"X-Key": SECRET})
    put(server, "x*", headers={"X-Key": SECRET})
    server.stop()
    for options in ((), ("--encryption-keys", key_file(secrets.token_hex(32)))):
        server = start(*options, redis=place)
        server.request("PUT", f"/jobs/{topic}/a", json.dumps({"retry": 0}), JSON)
        until(lambda: "encryption key " in server.log(), 10, "a warning that names the key")
        assert re.search(r"topic_needs_encryption_key.*encryption key [0-9a-f]{8}", server.log())
        assert receiver.count(topic) == 0 and server.job(topic, "a")["state"] != "dead"
        for name in (topic, "x*", "*", "xy*"):
            reply = server.request("PATCH", f"/topics/{name}", '{"timeout":5}', MERGE)
            assert reply.status == 409, (name, reply.body)
        server.stop()
    server = start(*keys, redis=place)
    assert came(receiver, topic)[0].headers["x-key"] == SECRET
    assert server.get("/topics/x*").expect(200)["settings"] == {"headers": {"X-Key": "***"}}


def test_the_last_job_of_a_debounce_is_delivered(start, redis, receiver, topic, keys):
    place = redis()
    server = start(*keys, redis=place)
    for body in (1, 2, SECRET):
        answer = server.post({"topic": topic, "url": receiver.url(), "body": body, "debounce": {"key": "k", "wait": 1}, "retrySchedule": [0.2]})
        assert answer.status in (200, 201)
    receiver.script(topic, 500)
    arrival, again = came(receiver, topic, 2)
    assert arrival.body == again.body == SECRET.encode() and arrival.job_id == again.job_id
    check_hidden(place, topic)


def test_without_the_key_workers_get_no_jobs_of_a_pull_topic(start, redis, topic, keys):
    place = redis()
    server = start(*keys, redis=place)
    put(server, topic, delivery="pull", headers={"X-Key": SECRET})
    server.schedule(topic=topic, jobId="a")
    server.stop()
    without = start(redis=place)
    once = {"Idempotency-Key": "k"}
    assert "encryption key" in pull.ask(without, topic, once, wait=0).expect(409)["detail"]
    assert pull.ask(without, topic, once, wait=0).status in (200, 409)
    until(lambda: without.get(f"/topics/{topic}").expect(200)["jobs"]["leased"] == 0, 10, "the job is given back")
    assert without.job(topic, "a")["attempts"] == 0
    without.stop()
    server = start(*keys, redis=place)
    server.run(topic, "a").expect(202)
    job, = pull.lease(server, topic, wait=10)
    assert job["headers"] == {"X-Key": SECRET} and job["attempt"] == 1


def test_a_group_is_sealed_and_its_tag_stays(start, redis, own, topic, keys):
    place = redis()
    server = start(*keys, redis=place)
    endpoints = {"a": {"url": own.url(f"/a?{SECRET}"), "headers": {"X-Key": SECRET}}, "b": {"url": own.url("/b")}}
    made = server.request("PUT", f"/groups/{topic}", json.dumps({"endpoints": endpoints}), JSON)
    assert made.expect(201)["endpoints"] == {"a": {"url": own.url("/a?***"), "headers": {"X-Key": "***"}}, "b": {"url": own.url("/b")}}
    again = server.request("PUT", f"/groups/{topic}", json.dumps({"endpoints": endpoints}), JSON)
    assert again.expect(200) and again.headers["ETag"] == made.headers["ETag"] == server.get(f"/groups/{topic}").headers["ETag"]
    patch = {"endpoints": {"b": {"headers": {"X-B": SECRET}}}}
    changed = server.request("PATCH", f"/groups/{topic}", json.dumps(patch), {**JSON, "If-Match": made.headers["ETag"]})
    assert changed.expect(200) and changed.headers["ETag"] != made.headers["ETag"]
    server.request("PUT", f"/jobs/{topic}/a", json.dumps({"group": topic}), JSON).expect(201)
    found = {arrival.target: arrival.headers for arrival in came(own, topic, 2)}
    assert found[f"/a?{SECRET}"]["x-key"] == SECRET and found["/b"]["x-b"] == SECRET
    check_hidden(place, "/a", "endpoints")
    server.stop()
    without = start(redis=place)
    for method, target, body in (("PATCH", f"/groups/{topic}", patch), ("PUT", f"/jobs/{topic}/b", {"group": topic})):
        reply = without.request(method, target, json.dumps(body), JSON)
        assert 400 <= reply.status < 600 and SECRET.encode() not in reply.body, (reply.status, reply.body)
    without.stop()
    server = start(*keys, redis=place)
    assert server.get(f"/groups/{topic}").headers["ETag"] == changed.headers["ETag"]


def test_an_access_token_is_sealed_and_one_that_does_not_open_is_none(start, redis, receiver, tokens, topic, keys):  # noqa: F811
    place = redis()
    tokens.answer = lambda number: (200, {}, json.dumps({"access_token": f"{SECRET}{number}", "token_type": "bearer", "expires_in": 3600}))
    servers = [start(*keys, redis=place) for _ in range(2)]
    put(servers[0], topic, url=receiver.url(), auth=oauth2(tokens, receiver, clientSecret=SECRET))
    for i in range(20):
        servers[i % 2].schedule(topic=topic, jobId=str(i))
    assert {a.headers["authorization"] for a in came(receiver, topic, 20)} == {f"Bearer {SECRET}1"} and len(tokens.requests) == 1
    check_hidden(place, "access:")
    for server in servers:
        server.stop()
    # The same settings in plain text; this process has no key.
    bare = start(redis=place)
    bare.request("DELETE", f"/topics/{topic}").expect(200)
    put(bare, topic, url=receiver.url(), auth=oauth2(tokens, receiver, clientSecret=SECRET))
    bare.schedule(topic=topic, jobId="bare")
    assert came(receiver, topic, 21)[20].headers["authorization"] == f"Bearer {SECRET}2"
    assert "access_token_shut" in bare.log()


@pytest.fixture
def qstash():
    """qstash(...) starts a server that speaks the dialect of QStash."""
    started = []

    def one(*options, **named):
        started.append(QStash(*options, **named))
        return started[-1]
    yield one
    for each in started:
        each.stop()


def test_url_groups_and_queues_of_qstash_are_sealed(qstash, redis, keys, own, topic):
    place = redis()
    server = qstash(*keys, redis=place)
    assert server.call("POST", f"topics/{topic}/endpoints", {"endpoints": [{"name": "one", "url": own.url(f"/g?{SECRET}")}]}).status == 200
    assert server.call("GET", f"topics/{topic}").expect(200)["endpoints"] == [{"name": "one", "url": own.url(f"/g?{SECRET}")}]
    server.call("POST", f"publish/{topic}", "x").expect(200)
    arrivals(own, f"/g?{SECRET}", 1)
    assert server.call("POST", "queues", {"queueName": "q", "parallelism": 2}).status == 200
    assert server.call("GET", "queues/q").expect(200)["parallelism"] == 2
    check_hidden(place, "qstash")
    server.stop()
    other = qstash(redis=place)
    reply = other.call("POST", f"publish/{topic}", "x")
    assert reply.status == 409 and "encryption key" in reply.json["error"]
