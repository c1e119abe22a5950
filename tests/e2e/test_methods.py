"""Jobs with a method of their own, and jobs whose body is any bytes."""

import base64
import hashlib
import hmac
import json

import pytest

from patience import until
from receiver import Answer
from timestamp import from_ms

JSON = {"Content-Type": "application/json"}
BYTES = bytes(range(256)) * 4 + b"\xff"
TEXT = base64.b64encode(BYTES).decode()
KEY = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


def signature_of(arrival):
    signed = f"{arrival.headers['webhook-id']}.{arrival.headers['webhook-timestamp']}.".encode() + arrival.body
    return "v1," + base64.b64encode(hmac.digest(base64.b64decode(KEY.removeprefix("whsec_")), signed, hashlib.sha256)).decode()


def deliver(server, receiver, topic, **members):
    server.schedule(**{"topic": topic, "jobId": "a", "url": receiver.url(), **members})
    until(lambda: receiver.count(topic), 10, "delivery")
    server.wait_for_state(topic, "a", None)
    return receiver.of(topic)[0]


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"])
def test_a_job_is_sent_with_its_method(server, receiver, topic, method):
    arrival = deliver(server, receiver, topic, method=method)
    assert arrival.method == method and arrival.body == b""
    assert (arrival.headers["duepost-topic"], arrival.headers["duepost-job-id"], arrival.attempt) == (topic, "a", 1)
    assert arrival.headers.get("content-length") == ("0" if method in ("POST", "PUT", "PATCH") else None)
    assert arrival.headers.get("content-type") == ("application/json" if method == "POST" else None)


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE"])
def test_other_methods_carry_a_body(server, receiver, topic, method):
    arrival = deliver(server, receiver, topic, method=method, body={"n": 1.5})
    assert arrival.method == method and json.loads(arrival.body) == {"n": 1.5}
    assert arrival.headers["content-type"] == "application/json"


def test_a_method_of_its_own_is_retried_and_signed_like_any(server, receiver, topic):
    server.request("PUT", f"/topics/{topic}", json.dumps({"secrets": [KEY]}), JSON).expect(200)
    receiver.script(topic, 500, Answer(200, body=b"read"))
    server.schedule(topic=topic, jobId="a", url=receiver.url(), method="GET", retrySchedule=[0.1])
    until(lambda: receiver.count(topic) == 2, 10, "the retry")
    for number, arrival in enumerate(receiver.of(topic), 1):
        assert (arrival.method, arrival.attempt, arrival.body) == ("GET", number, b"")
        assert arrival.headers["webhook-signature"] == signature_of(arrival)
    server.wait_for_state(topic, "a", None)


@pytest.mark.parametrize("answer", [301, 307])
def test_a_redirect_is_not_followed(server, receiver, topic, answer):
    receiver.script(topic, Answer(answer, headers=(("Location", receiver.url("/other")),)))
    server.schedule(topic=topic, jobId="a", url=receiver.url(), method="GET", retry=0)
    job = server.wait_for_state(topic, "a", "dead")
    assert job["lastAttempt"]["status"] == answer and job["method"] == "GET"
    assert [arrival.target for arrival in receiver.of(topic)] == ["/hook"]


def test_the_answer_of_a_head_has_no_body(server, receiver, topic):
    receiver.script(topic, Answer(503, body_bytes=1000), 200)
    server.schedule(topic=topic, jobId="a", url=receiver.url(), method="HEAD", retrySchedule=[0.1])
    until(lambda: receiver.count(topic) == 2, 10, "the retry")
    server.wait_for_state(topic, "a", None)


@pytest.mark.parametrize("size", [0, 1, 2, 3, 1025])
def test_any_bytes_arrive_as_they_are(server, receiver, topic, size):
    text = base64.b64encode(BYTES[-size:] if size else b"").decode()
    arrival = deliver(server, receiver, topic, bodyBase64=text)
    assert arrival.body == (BYTES[-size:] if size else b"")
    assert arrival.headers["content-type"] == "application/octet-stream"


def test_bytes_have_the_type_that_the_job_says(server, receiver, topic):
    latin = "café".encode("latin-1")
    arrival = deliver(server, receiver, topic, bodyBase64=base64.b64encode(latin).decode(), method="PUT",
                      headers={"content-type": "text/plain; charset=iso-8859-1"})
    assert (arrival.body, arrival.method) == (latin, "PUT")
    assert arrival.headers["content-type"] == "text/plain; charset=iso-8859-1"


def test_text_has_the_charset_that_it_is_sent_in(server, receiver, topic):
    arrival = deliver(server, receiver, topic, body="héllo ✓", headers={"Content-Type": "text/plain; charset=utf-8"})
    assert arrival.body == "héllo ✓".encode() and arrival.headers["content-type"] == "text/plain; charset=utf-8"


def test_a_text_is_sent_in_utf_8_and_its_type_is_what_the_job_says(server, receiver, topic):
    """A charset in the Content-Type changes no byte of the body, and is sent unchanged."""
    said = "text/plain; charset=iso-8859-1"
    arrival = deliver(server, receiver, topic, body="héllo", headers={"Content-Type": said})
    assert (arrival.body, arrival.headers["content-type"]) == ("héllo".encode(), said)


@pytest.mark.parametrize("media", ["application/json;", "application/json; ;charset=UTF-8;", "application/json; charset=utf8",
                                   'application/json;charset="us-ascii"', "application/x-ndjson; charset=UTF8;"])
def test_json_in_utf_8_may_be_called_otherwise(server, receiver, topic, media):
    job = json.dumps({"topic": topic, "jobId": "a", "url": receiver.url(), "delay": 60})
    server.request("POST", "/jobs", job, {"Content-Type": media, "Content-Encoding": "identity"}).expect(207 if "nd" in media else 201)


@pytest.mark.parametrize("media", ["application/json; charset=utf-8; version=2", "application/json; charset=iso-8859-1", "application/x-ndjson;charset=latin1", "application/json; version=2"])
def test_json_in_another_charset_is_refused(server, receiver, topic, media):
    job = json.dumps({"topic": topic, "url": receiver.url(), "body": "é"}, ensure_ascii=False).encode("latin-1")
    reply = server.request("POST", "/jobs", job, {"Content-Type": media}).expect(415)
    assert "charset=utf-8" in reply["detail"]
    assert server.get(f"/jobs?topic={topic}").expect(200)["jobs"] == []


def test_bytes_are_signed_as_they_are_sent(server, receiver, topic):
    server.request("PUT", f"/topics/{topic}", json.dumps({"secrets": [KEY]}), JSON).expect(200)
    arrival = deliver(server, receiver, topic, bodyBase64=TEXT)
    assert arrival.body == BYTES and arrival.headers["webhook-signature"] == signature_of(arrival)


def test_a_job_is_shown_as_it_was_sent(server, receiver, topic):
    server.schedule(topic=topic, jobId="a", url=receiver.url(), method="PUT", bodyBase64=TEXT, delay=3600)
    server.schedule(topic=topic, jobId="b", url=receiver.url(), method="POST", body="x", delay=3600)
    job, other = server.get(f"/jobs?state=delayed&topic={topic}").expect(200)["jobs"]
    assert (job["method"], job["bodyBase64"]) == ("PUT", TEXT) and "body" not in job
    assert other["body"] == "x" and "method" not in other and "bodyBase64" not in other
    assert server.get(f"/jobs/{topic}/a").expect(200)["bodyBase64"] == TEXT


def test_the_same_job_again_is_the_same(server, receiver, topic):
    members = {"topic": topic, "jobId": "a", "url": receiver.url(), "method": "PUT", "bodyBase64": TEXT, "delay": 3600}
    server.post(members).expect(201)
    server.post(members).expect(200)
    for other in {"method": "PATCH"}, {"method": None}, {"bodyBase64": "AA=="}, {"bodyBase64": None}:
        server.post({**members, **other}).expect(409)
    once = {"topic": topic, "url": receiver.url(), "method": "DELETE", "delay": 3600}
    first = server.post(once, headers={"Idempotency-Key": topic}).expect(201)
    assert server.post(once, headers={"Idempotency-Key": topic}).expect(201) == first
    server.post({**once, "method": "GET"}, headers={"Idempotency-Key": topic}).expect(422)


def test_put_and_patch_change_them(server, receiver, topic):
    path = f"/jobs/{topic}/a"
    server.schedule(topic=topic, jobId="a", url=receiver.url(), body={"n": 1}, delay=3600)

    def patch(status, **members):
        return server.request("PATCH", path, json.dumps(members), JSON).expect(status)
    assert "errors" in patch(400, method="GET")
    patch(200, method="GET", body=None)
    job = server.get(path).expect(200)
    assert job["method"] == "GET" and "body" not in job
    patch(200, method="PUT", bodyBase64="AA==")
    patch(200, body=[1])
    job = server.get(path).expect(200)
    assert (job["method"], job["body"]) == ("PUT", [1]) and "bodyBase64" not in job
    patch(200, bodyBase64=TEXT, method=None)
    job = server.get(path).expect(200)
    assert job["bodyBase64"] == TEXT and "body" not in job and "method" not in job
    server.request("PUT", path, json.dumps({"url": receiver.url(), "method": "DELETE"}), JSON).expect(200)
    until(lambda: receiver.count(topic), 10, "delivery")
    assert receiver.of(topic)[0].method == "DELETE" and receiver.of(topic)[0].body == b""


@pytest.mark.parametrize("members, field", [
    ({"method": "GET", "body": {}}, "body"), ({"method": "HEAD", "bodyBase64": ""}, "bodyBase64"), ({"method": "get"}, "method"),
    ({"method": "OPTIONS"}, "method"), ({"method": 1}, "method"), ({"bodyBase64": "A"}, "bodyBase64"), ({"bodyBase64": "AB=="}, "bodyBase64"),
    ({"bodyBase64": "AA== "}, "bodyBase64"), ({"bodyBase64": "_-8="}, "bodyBase64"), ({"body": 1, "bodyBase64": "AA=="}, "body")])
def test_a_body_that_the_method_cannot_have_is_refused(server, topic, members, field):
    assert server.post({"topic": topic, "url": "http://127.0.0.1:9/", **members}).fields() == [field]
    assert server.get(f"/jobs/count?topic={topic}").expect(200)["count"] == 0


def test_limits_pause_and_ttl_hold(server, receiver, topic):
    """The limits of the topic apply as for any job: no attempt while the topic is paused, one at a time with
    maxInFlight 1, and none after the ttl."""
    def set_topic(**settings):
        server.request("PATCH", f"/topics/{topic}", json.dumps(settings), JSON).expect(200)
    set_topic(paused=True, maxInFlight=1)
    receiver.script(topic, Answer(200, delay=0.2))
    for i in range(3):
        server.schedule(topic=topic, jobId=f"j{i}", url=receiver.url(), method="GET")
    server.schedule(topic=topic, jobId="late", url=receiver.url(), method="GET", ttl=0.01)
    until(lambda: server.get(f"/jobs/count?state=ready&topic={topic}").expect(200)["count"] == 4, 10, "all are due")
    assert receiver.count(topic) == 0
    set_topic(paused=None)
    until(lambda: receiver.count(topic) == 3, 20, "three deliveries")
    assert server.wait_for_state(topic, "late", "dead")["reason"] == "expired"
    arrivals = receiver.of(topic)
    assert all(later.at_ms >= earlier.answered_at_ms for earlier, later in zip(arrivals, arrivals[1:]))


def test_a_target_that_is_not_allowed_is_refused(start, receiver, topic):
    server = start("--breaker", "off", allow=None)
    for members in {"method": "GET"}, {"bodyBase64": TEXT}:
        assert server.post({"topic": topic, "url": receiver.url(), **members}).fields() == ["url"]
    assert receiver.count(topic) == 0


def test_a_dead_job_is_run_again_with_its_method_and_bytes(server, receiver, topic):
    receiver.script(topic, 410, 200)
    server.schedule(topic=topic, jobId="a", url=receiver.url(), method="PATCH", bodyBase64=TEXT)
    server.wait_for_state(topic, "a", "dead")
    server.run(topic, "a").expect(202)
    until(lambda: receiver.count(topic) == 2, 10, "the second delivery")
    assert [(a.method, a.body) for a in receiver.of(topic)] == [("PATCH", BYTES)] * 2


def test_many_jobs_with_methods_are_sent_in_one_request(server, receiver, topic):
    lines = [{"topic": topic, "jobId": f"j{i}", "url": receiver.url(), "method": method, "dueAt": from_ms(0)}
             for i, method in enumerate(["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"] * 20)]
    server.request("POST", "/jobs", json.dumps(lines), JSON).expect(207)
    until(lambda: receiver.count(topic) == len(lines), 20, "all deliveries")
    assert {a.job_id: a.method for a in receiver.of(topic)} == {line["jobId"]: line["method"] for line in lines}
