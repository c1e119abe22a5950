"""Callbacks: jobs that report what has happened to another job. The url for them is a member of that job or a setting
of its topic."""

import base64
import datetime
import hashlib
import hmac
import json

import pytest

from patience import SLOW, until
from receiver import HANG, Answer

JSON = {"Content-Type": "application/json"}
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
LARGE = 64 * 1024


def put(server, topic, **settings):
    return server.request("PUT", f"/topics/{topic}", json.dumps(settings), JSON)


def all_three(receiver):
    return {name: receiver.url(f"/{name}") for name in ("onDelivered", "onDead", "onAttempt")}


def callbacks_of(server, receiver, topic, count):
    """Waits until this many callbacks have arrived and no more are waiting. Returns the requests."""
    sibling = f"{topic}~callbacks"

    def is_over():
        waiting = sum(server.get(f"/jobs/count?state={state}&topic={sibling}").expect(200)["count"] for state in ("delayed", "ready", "leased"))
        return receiver.count(sibling) >= count and waiting == 0
    until(is_over, 20, lambda: f"{count} callbacks, there are {[each.job_id for each in receiver.of(sibling)]}")
    found = receiver.of(sibling)
    assert len(found) == count, [each.job_id for each in found]
    return found


def document(arrival):
    return json.loads(arrival.body)


def outcomes(arrivals):
    return sorted((document(each)["callback"], document(each)["outcome"]) for each in arrivals)


# ---- what is reported ----

def test_a_delivery_is_reported(server, receiver, topic):
    receiver.script(topic, Answer(201, body=b'{"id": 9}'), job_id="a")
    server.schedule(topic=topic, jobId="a", url=receiver.url(), body={"n": 1}, **all_three(receiver))
    server.wait_for_state(topic, "a", None)
    found = callbacks_of(server, receiver, topic, 2)
    assert outcomes(found) == [("onAttempt", "delivered"), ("onDelivered", "delivered")]
    end, = (each for each in found if each.target == "/onDelivered")
    told = document(end)
    assert (told["topic"], told["jobId"], told["status"], told["attempts"]) == (topic, "a", 201, 1)
    assert told["answer"] == '{"id": 9}' and "answerTruncated" not in told and "body" not in told
    assert told["createdAt"] <= told["dueAt"] <= told["endedAt"] and told["lateMs"] >= 0
    assert [each["number"] for each in told["lastAttempts"]] == [1] and told["lastAttempts"][0]["durationMs"] == told["durationMs"]
    assert "duepost_callbacks_total" in server.get("/metrics").body.decode()
    assert end.job_id.startswith("a~delivered~") and end.headers["content-type"] == "application/json"


def test_each_failed_attempt_and_the_death_are_reported(server, receiver, topic):
    receiver.script(topic, Answer(500, body=b"one"), Answer(503, body=b"two"), job_id="a")
    server.schedule(topic=topic, jobId="a", url=receiver.url(), retrySchedule=[0.05], **all_three(receiver))
    server.wait_for_state(topic, "a", "dead")
    found = callbacks_of(server, receiver, topic, 3)
    assert outcomes(found) == [("onAttempt", "dead"), ("onAttempt", "failed"), ("onDead", "dead")]
    failed, = (document(each) for each in found if document(each)["outcome"] == "failed")
    assert (failed["status"], failed["attempts"], failed["waitMs"], failed["answer"]) == (500, 1, 50, "one")
    dead, = (document(each) for each in found if document(each)["callback"] == "onDead")
    assert (dead["reason"], dead["status"], dead["attempts"], dead["answer"]) == ("retries_exhausted", 503, 2, "two")
    assert [(each["number"], each["status"]) for each in dead["lastAttempts"]] == [(1, 500), (2, 503)]


def test_a_round_is_reported_as_an_attempt(server, receiver, topic):
    receiver.script(topic, Answer(200, headers=(("Duepost-Again", "1s"),)), 200, job_id="a")
    server.schedule(topic=topic, jobId="a", url=receiver.url(), **all_three(receiver))
    found = callbacks_of(server, receiver, topic, 3)
    assert outcomes(found) == [("onAttempt", "again"), ("onAttempt", "delivered"), ("onDelivered", "delivered")]
    again, = (document(each) for each in found if document(each)["outcome"] == "again")
    assert (again["status"], again["attempts"], again["round"], again["waitMs"]) == (200, 1, 1, 1000)


def test_a_timeout_is_reported_with_its_error(server, receiver, topic):
    receiver.script(topic, HANG, job_id="a")
    server.schedule(topic=topic, jobId="a", url=receiver.url(), retry=0, timeout=0.3, onDead=receiver.url("/dead"))
    found, = callbacks_of(server, receiver, topic, 1)
    told = document(found)
    assert told["error"] == "timeout" and told["errorDetail"] and "status" not in told and "answer" not in told


def test_a_job_that_expires_is_reported_without_an_attempt(start, receiver, topic):
    server = start("--breaker", "off")
    put(server, topic, paused=True).expect(200)
    server.schedule(topic=topic, jobId="a", url=receiver.url(), ttl=0.2, **all_three(receiver))
    expires = datetime.datetime.fromisoformat(server.job(topic, "a")["expiresAt"])
    until(lambda: datetime.datetime.now(datetime.timezone.utc) > expires, 10, "the job has expired")
    put(server, topic).expect(200)
    server.wait_for_state(topic, "a", "dead", 20)
    found, = callbacks_of(server, receiver, topic, 1)
    assert (document(found)["reason"], document(found)["attempts"], document(found)["lastAttempts"]) == ("expired", 0, [])


def test_a_cancelled_job_has_no_callback(server, receiver, topic):
    receiver.script(topic, Answer(200, delay=1.5 * SLOW), job_id="running")
    server.schedule(topic=topic, jobId="waiting", url=receiver.url(), delay=3600, **all_three(receiver))
    server.schedule(topic=topic, jobId="running", url=receiver.url(), **all_three(receiver))
    until(lambda: receiver.of(topic, "running"), 10, "the attempt of the job 'running'")
    for name in ("waiting", "running"):
        server.cancel(topic, name).expect(200)
    until(lambda: receiver.of(topic, "running")[0].answered_at_ms, 10, "the answer")
    server.schedule(topic=topic, jobId="after", url=receiver.url(), **all_three(receiver))
    found = callbacks_of(server, receiver, topic, 2)
    assert {document(each)["jobId"] for each in found} == {"after"}


# ---- answers ----

@pytest.mark.parametrize("size", [LARGE - 1, LARGE, LARGE + 1, 300 * 1024])
def test_the_first_64_kib_of_an_answer_are_reported(server, receiver, topic, size):
    answer = (b"0123456789abcde\n" * (size // 16 + 1))[:size]
    receiver.script(topic, Answer(200, body=answer), job_id="a")
    server.schedule(topic=topic, jobId="a", url=receiver.url(), onDelivered=receiver.url("/done"))
    found, = callbacks_of(server, receiver, topic, 1)
    told = document(found)
    assert told["answer"].encode() == answer[:LARGE]
    assert told.get("answerTruncated", False) == (size > LARGE)


def test_a_character_that_is_cut_is_left_out(server, receiver, topic):
    receiver.script(topic, Answer(200, body=b"x" * (LARGE - 1) + "é".encode()), job_id="a")
    server.schedule(topic=topic, jobId="a", url=receiver.url(), onDelivered=receiver.url("/done"))
    found, = callbacks_of(server, receiver, topic, 1)
    assert document(found)["answer"] == "x" * (LARGE - 1) and document(found)["answerTruncated"] is True


def test_an_answer_that_is_not_utf_8_is_base64(server, receiver, topic):
    answer = bytes(range(256)) * 300
    receiver.script(topic, Answer(200, body=answer), job_id="a")
    server.schedule(topic=topic, jobId="a", url=receiver.url(), onDelivered=receiver.url("/done"))
    found, = callbacks_of(server, receiver, topic, 1)
    told = document(found)
    assert base64.b64decode(told["answerBase64"], validate=True) == answer[:LARGE] and told["answerTruncated"] is True and "answer" not in told


def test_above_512_attempts_at_a_time_callbacks_report_1024_bytes(start, receiver, topic):
    """While more than 512 attempts of a reactor are in flight, it keeps the whole answers of only 512 of them."""
    server = start("--reactors", "1", "--max-in-flight", "600", "--max-in-flight-topic", "600")
    put(server, topic, onDelivered=receiver.url("/done"), paused=True).expect(200)
    receiver.script(topic, Answer(200, body=b"y" * 3000, delay=2 * SLOW))
    server.schedule_many([{"topic": topic, "jobId": f"j{i}", "url": receiver.url(), "timeout": 120} for i in range(600)])
    put(server, topic, onDelivered=receiver.url("/done")).expect(200)
    until(lambda: receiver.count(f"{topic}~callbacks") >= 600, 60, "all callbacks")
    sizes = {len(document(each)["answer"]) for each in receiver.of(f"{topic}~callbacks")}
    cut = [document(each) for each in receiver.of(f"{topic}~callbacks") if len(document(each)["answer"]) == 1024]
    assert sizes <= {1024, 3000} and 3000 in sizes and all(each["answerTruncated"] for each in cut)


# ---- callbacks of the job and of its topic ----

def test_the_jobs_callback_wins_over_the_topics(server, receiver, topic):
    put(server, topic, onDelivered=receiver.url("/topic"), onDead=receiver.url("/topic-dead")).expect(200)
    server.schedule(topic=topic, jobId="own", url=receiver.url(), onDelivered=receiver.url("/job"))
    server.schedule(topic=topic, jobId="topics", url=receiver.url())
    targets = {document(each)["jobId"]: each.target for each in callbacks_of(server, receiver, topic, 2)}
    assert targets == {"own": "/job", "topics": "/topic"}


def test_callbacks_of_all_topics(start, receiver, topic):
    server = start()
    to_all = {"url": receiver.url("/all"), "headers": {"X-A": 'a "b"'}}
    shown = put(server, "*", onDelivered=to_all, onAttempt=receiver.url("/attempt")).expect(200)["settings"]
    assert shown == {"onDelivered": {"url": to_all["url"], "headers": {"X-A": "***"}}, "onAttempt": receiver.url("/attempt")}
    put(server, topic, onAttempt=receiver.url("/own")).expect(200)
    server.schedule(topic=topic, jobId="a", url=receiver.url())
    found = {each.target: each for each in callbacks_of(server, receiver, topic, 2)}
    assert set(found) == {"/all", "/own"} and found["/all"].headers["x-a"] == 'a "b"'


def test_a_callback_has_headers_and_the_body_of_the_job(server, receiver, topic):
    callback = {"url": receiver.url("/done?key=1"), "headers": {"Authorization": "Bearer x", "Content-Type": "text/x"}, "includeBody": True}
    server.post('{"topic":"%s","jobId":"a","url":"%s","delay":3600,"body":{ "n": 1.10 },"onDelivered":%s}'
                % (topic, receiver.url(), json.dumps(callback))).expect(201)
    assert server.job(topic, "a")["onDelivered"] == {"url": receiver.url("/done?***"), "headers": {"Authorization": "***", "Content-Type": "text/x"},
                                                     "includeBody": True}
    server.run(topic, "a").expect(202)
    found, = callbacks_of(server, receiver, topic, 1)
    assert found.target == "/done?key=1" and found.headers["authorization"] == "Bearer x" and found.headers["content-type"] == "text/x"
    assert b'"body":{ "n": 1.10 }' in found.body


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH"])
def test_a_callback_has_its_method(server, receiver, topic, method):
    server.schedule(topic=topic, jobId="a", url=receiver.url(), onDelivered={"url": receiver.url("/done"), "method": method})
    found, = callbacks_of(server, receiver, topic, 1)
    assert found.method == method and document(found)["outcome"] == "delivered"


def test_labels_and_a_body_of_bytes_are_reported(server, receiver, topic):
    server.schedule(topic=topic, jobId="a", url=receiver.url(), labels=["é", "b"], bodyBase64="/wA=",
                    onDelivered={"url": receiver.url("/done"), "includeBody": True})
    found, = callbacks_of(server, receiver, topic, 1)
    assert document(found)["labels"] == ["é", "b"] and document(found)["bodyBase64"] == "/wA=" and "body" not in document(found)


def test_each_job_of_a_group_has_its_callback(server, receiver, topic):
    endpoints = {name: {"url": receiver.url(f"/{name}")} for name in ("first", "second")}
    server.request("PUT", f"/groups/{topic}", json.dumps({"endpoints": endpoints}), JSON).expect(201)
    server.post({"topic": topic, "jobId": "a", "group": topic, "onDelivered": receiver.url("/done")}).expect(201)
    found = callbacks_of(server, receiver, topic, 2)
    assert {document(each)["jobId"] for each in found} == {"a~first", "a~second"}
    assert server.post({"topic": topic, "jobId": "b", "group": topic, "onDelivered": "http://10.0.0.1/"}).fields() == ["onDelivered"]


def test_each_occurrence_of_a_schedule_has_its_callback(server, receiver, topic):
    job = {"url": receiver.url(), "onDelivered": {"url": receiver.url("/done?key=1"), "headers": {"X-A": "1"}}}
    path = f"/schedules/{topic}/often"
    shown = server.request("PUT", path, json.dumps({"every": 1, "job": job}), JSON).expect(201)["job"]["onDelivered"]
    assert shown == {"url": receiver.url("/done?***"), "headers": {"X-A": "***"}}
    found = until(lambda: receiver.of(f"{topic}~callbacks"), 20, "a callback")
    assert document(found[0])["jobId"].startswith("often~") and found[0].headers["x-a"] == "1"
    server.request("DELETE", path).expect(200)
    refused = server.request("PUT", path, json.dumps({"every": 1, "job": {**job, "onDead": "http://10.0.0.1/"}}), JSON)
    assert refused.fields() == ["job.onDead"]


def test_a_callback_is_signed_with_the_secrets_of_the_topic(server, receiver, topic):
    put(server, topic, secrets=[SECRET]).expect(200)
    server.schedule(topic=topic, jobId="a", url=receiver.url(), onDelivered=receiver.url("/done"))
    found, = callbacks_of(server, receiver, topic, 1)
    content = f"{found.headers['webhook-id']}.{found.headers['webhook-timestamp']}.".encode() + found.body
    key = base64.b64decode(SECRET.removeprefix("whsec_"))
    assert found.headers["webhook-signature"] == "v1," + base64.b64encode(hmac.digest(key, content, hashlib.sha256)).decode()


def test_headers_of_the_topic_go_to_its_own_origin_only(server, receiver, topic):
    put(server, topic, url="http://shop.example/", headers={"X-Secret": "s"}).expect(200)
    server.schedule(topic=topic, jobId="a", url=receiver.url(), onDelivered=receiver.url("/done"))
    found, = callbacks_of(server, receiver, topic, 1)
    assert "x-secret" not in found.headers


# ---- a callback is a job ----

def test_a_callback_is_retried_and_has_no_callbacks(server, receiver, topic):
    sibling = f"{topic}~callbacks"
    put(server, topic, **all_three(receiver)).expect(200)
    receiver.script(sibling, 500, 200)
    server.schedule(topic=topic, jobId="a", url=receiver.url(), onAttempt=receiver.url("/own"))
    until(lambda: receiver.count(sibling) == 2, 10, "both callbacks")
    waiting, = until(lambda: server.get(f"/jobs?state=delayed&topic={sibling}").expect(200)["jobs"], 10, "the retry")
    shown = server.get(f"/jobs/{sibling}/{waiting['jobId']}").expect(200)
    assert "body" not in shown and not set(shown) & {"onDelivered", "onDead", "onAttempt"} and shown["attempts"] == 1
    server.run(sibling, waiting["jobId"]).expect(202)
    found = callbacks_of(server, receiver, topic, 3)
    first, again = (each for each in found if each.job_id == waiting["jobId"])
    assert first.body == again.body and first.headers.get("webhook-id") == again.headers.get("webhook-id")


def test_pause_and_limits_of_the_topic_hold_no_callback(server, receiver, topic):
    receiver.script(topic, Answer(200, delay=0.3), job_id="a")
    server.schedule(topic=topic, jobId="a", url=receiver.url(), onDelivered=receiver.url("/done"))
    until(lambda: receiver.of(topic, "a"), 10, "the attempt of the job 'a'")
    put(server, topic, paused=True, maxInFlight=1).expect(200)
    callbacks_of(server, receiver, topic, 1)


# ---- callbacks in the requests of clients ----

@pytest.mark.parametrize("value,field", [(1, ""), ("ftp://h/", ""), ("http://10.0.0.1/", ""), ({"headers": {}}, ".url"),
                                         ({"url": "http://169.254.0.1/"}, ""), ({"url": "http://h/", "headers": {"Host": "h"}}, ".headers.Host"),
                                         ({"url": "http://h/", "method": "GET"}, ".method"), ({"url": "http://h/", "verb": "PUT"}, ".verb"), ({"url": "http://h/", "includeBody": "yes"}, ".includeBody"),
                                         ("http://h/?***", ""), ({"url": "http://h/", "headers": {"X-A": "***"}}, ".headers.X-A")], ids=str)
@pytest.mark.parametrize("name", ["onDelivered", "onDead", "onAttempt"])
def test_a_callback_that_is_refused(server, receiver, topic, name, value, field):
    assert server.post({"topic": topic, "url": receiver.url(), name: value}).fields() == [name + field]
    assert put(server, topic, **{name: value}).fields() == [name + field]
    patched = server.request("PATCH", f"/topics/{topic}", json.dumps({name: value}), JSON)
    assert patched.fields() == [name + field]


def test_the_same_job_with_the_same_callbacks_is_the_same(server, receiver, topic):
    job = {"topic": topic, "jobId": "a", "url": receiver.url(), "delay": 3600}
    callback = {"url": receiver.url("/done"), "headers": {"X-A": "1"}}
    server.post({**job, "onDead": callback, "onDelivered": receiver.url("/done")}).expect(201)
    same = {"headers": {"x-a": "1"}, "url": receiver.url("/done"), "includeBody": False}
    server.post({**job, "onDead": same, "onDelivered": {"url": receiver.url("/done")}}).expect(200)
    server.post({**job, "onDead": same}).expect(409)
    server.post({**job, "onDead": same, "onDelivered": receiver.url("/other")}).expect(409)


def test_callbacks_are_changed_by_put_and_patch(server, receiver, topic):
    path = f"/jobs/{topic}/a"
    server.schedule(topic=topic, jobId="a", url=receiver.url(), delay=3600, onDead={"url": receiver.url("/dead"), "headers": {"X-A": "1"}},
                    onAttempt=receiver.url("/attempt"))
    changed = server.request("PATCH", path, json.dumps({"onDelivered": receiver.url("/done"), "onAttempt": None}), JSON).expect(200)
    assert changed["onDelivered"] == receiver.url("/done") and "onAttempt" not in changed and changed["onDead"]["headers"] == {"X-A": "***"}
    assert server.request("PATCH", path, json.dumps({"onDead": {"headers": {"X-B": "2"}}}), JSON).fields() == ["onDead.url"], "it is replaced as a whole"
    assert server.request("PATCH", path, json.dumps({"onDead": "http://10.0.0.1/"}), JSON).fields() == ["onDead"]
    changed = server.request("PATCH", path, json.dumps({"onDead": {"url": receiver.url("/dead2")}}), JSON).expect(200)
    assert changed["onDead"] == {"url": receiver.url("/dead2")}
    server.request("PUT", path, json.dumps({"url": receiver.url(), "delay": 3600, "onAttempt": receiver.url("/attempt")}), JSON).expect(200)
    shown = server.job(topic, "a")
    assert {name: shown.get(name) for name in all_three(receiver)} == {"onDelivered": None, "onDead": None, "onAttempt": receiver.url("/attempt")}
    server.run(topic, "a").expect(202)
    found, = callbacks_of(server, receiver, topic, 1)
    assert found.target == "/attempt"


# ---- crashes ----

def test_each_end_has_one_callback_whichever_process_is_killed(start, redis, receiver, topic):
    """Kills processes at random times. The deliveries that a killed process had begun are repeated."""
    behind = redis()
    servers = [start("--breaker", "off", redis=behind.address) for _ in range(2)]
    put(servers[0], topic, retention=3600, retrySchedule=[0.05], onDelivered=receiver.url("/done"), onDead=receiver.url("/dead")).expect(200)
    names = [f"j{i}" for i in range(200)]
    for i, name in enumerate(names):
        receiver.script(topic, *([Answer(500, delay=0.02)] * (i % 3)), Answer(200, delay=0.02), job_id=name)
    servers[0].schedule_many([{"topic": topic, "jobId": name, "url": receiver.url()} for name in names])
    for number in range(3):
        until(lambda: receiver.count(f"{topic}~callbacks") >= 30 * (number + 1), 30, "more ends")
        servers[number % 2].kill()
        servers[number % 2] = start("--breaker", "off", redis=behind.address)
    server = servers[0]

    def count(name, *states):
        return sum(server.get(f"/jobs/count?state={state}&topic={name}").expect(200)["count"] for state in states)
    until(lambda: count(topic, "delivered", "dead") == len(names), 60, "all ends")
    until(lambda: count(f"{topic}~callbacks", "delivered") == len(names), 60, "the callbacks of all jobs")
    assert count(f"{topic}~callbacks", "delayed", "ready", "leased", "dead") == 0
    told = {}
    for arrival in receiver.of(f"{topic}~callbacks"):
        told.setdefault(document(arrival)["jobId"], set()).add((arrival.job_id, document(arrival)["outcome"]))
    assert set(told) == set(names) and all(len(each) == 1 for each in told.values())
    ended = {name: server.get(f"/jobs/{topic}/{name}").expect(200)["state"] for name in names}
    assert {name: outcome for name, ((_, outcome),) in told.items()} == ended
    assert "books_are_off" not in "".join(each.log() for each in servers)
