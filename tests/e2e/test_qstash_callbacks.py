"""Callbacks of messages, and the JSON documents in their bodies. Each callback is a message itself."""

import base64
import json
import time

import pytest

from patience import until
from qstash import QStash, arrivals, verified
from receiver import Answer


@pytest.fixture(scope="module")
def qstash():
    server = QStash()
    yield server
    server.stop()


def document(arrival):
    return json.loads(arrival.body)


def test_each_attempt_is_reported_and_the_failure_once(qstash, receiver, topic):
    receiver.script(f"/{topic}", Answer(500, headers=(("Retry-After", "0"), ("X-Twice", "a"), ("x-twice", "b")), body=b"\xffone"), Answer(503, body=b"two"))
    url = receiver.url(f"/{topic}")
    before = time.time() * 1000
    message_id = qstash.publish(url, b'{"n":1}', Content_Type="application/json", Upstash_Forward_my_header="v", Upstash_Retries="1",
                                Upstash_Callback=receiver.url(f"/{topic}/done"), Upstash_Failure_Callback=receiver.url(f"/{topic}/failed"))
    done = sorted(arrivals(receiver, f"/{topic}/done", 2), key=lambda each: document(each)["retried"])
    failed, = arrivals(receiver, f"/{topic}/failed", 1)
    first, second = map(document, done)
    assert (first["status"], base64.b64decode(first["body"]), first["retried"], first["maxRetries"]) == (500, b"\xffone", 0, 1)
    assert first["header"]["X-Twice"] == ["a", "b"] and first["header"]["Retry-After"] == ["0"] and "dlqId" not in first
    assert (second["status"], base64.b64decode(second["body"]), second["retried"]) == (503, b"two", 1)
    for told in (first, second, document(failed)):
        assert (told["sourceMessageId"], told["url"], told["method"]) == (message_id, url, "POST")
        assert base64.b64decode(told["sourceBody"]) == b'{"n":1}' and told["callerIP"] == "127.0.0.1"
        assert told["sourceHeader"] == {"Content-Type": ["application/json"], "My-Header": ["v"]}
        assert before - 2000 < told["createdAt"] <= told["notBefore"]
    assert document(failed)["dlqId"] == message_id.replace("msg_", "dlq_") and document(failed)["status"] == 503
    key = qstash.call("GET", "keys").expect(200)["current"]
    for arrival, path in ((done[0], "done"), (failed, "failed")):
        verified(arrival, key, receiver.url(f"/{topic}/{path}"))
        assert arrival.headers["content-type"] == "application/json" and arrival.job_id.startswith("msg_")
    assert len({each.job_id for each in (*done, failed, *receiver.of(f"/{topic}"))}) == 4


def test_a_callback_has_settings_of_its_own(qstash, receiver, topic):
    receiver.script(f"/{topic}/done", 500)
    qstash.publish(receiver.url(f"/{topic}"), Upstash_Callback=receiver.url(f"/{topic}/done"), Upstash_Callback_Method="PUT",
                   Upstash_Callback_Retries="0", Upstash_Callback_Forward_Key="v w", Upstash_Callback_Timeout="5s",
                   Upstash_Callback_Callback="https://example.com/", upstash_callback_not_before="9999999999", Upstash_Callback_Retry_Delay="1000")
    arrival, = arrivals(receiver, f"/{topic}/done", 1)
    assert arrival.method == "PUT" and arrival.headers["key"] == "v w"
    job = qstash.wait_for_state("qstash~callbacks", arrival.job_id, "dead")
    assert (job["retry"], job["timeout"], job["retryWait"]) == (0, 5, "1000") and "onAttempt" not in job


@pytest.mark.parametrize("name, value", [("Retries", "101"), ("Retries", "many"), ("Retry-Delay", "retried +"), ("Delay", "soon"), ("Method", "GO"),
                                         ("Timeout", "long"), ("Flow-Control-Value", "parallelism=many"), ("Redact-Fields", "all")])
def test_a_wrong_setting_of_a_callback_is_refused(qstash, receiver, topic, name, value):
    """With such a setting, the callback would not arrive, or not as the client expects."""
    for prefix in ("Upstash-Callback", "Upstash-Failure-Callback"):
        headers = {prefix: receiver.url(f"/{topic}/done"), f"{prefix}-{name}": value}
        reply = qstash.call("POST", f"publish/{receiver.url(f'/{topic}')}", b"x", **headers)
        assert reply.status in (400, 412) and reply.json["error"].startswith(f"invalid {prefix}-{name}: ")
        one = qstash.call("POST", "batch", [{"destination": receiver.url(f"/{topic}"), "headers": headers}])
        assert one.json["error"] == reply.json["error"]
    group = qstash.call("POST", f"topics/{topic}/endpoints", {"endpoints": [{"url": receiver.url(f"/{topic}")}]})
    assert group.status == 200
    reply = qstash.call("PATCH", f"topics/{topic}", {"headers": {f"Upstash-Callback-{name}": value}})
    assert reply.status == 400 and f"Upstash-Callback-{name}" in reply.json["error"]
    assert receiver.count(f"/{topic}") == 0


def test_a_callback_is_a_message_that_can_be_read_and_cancelled(qstash, receiver, topic):
    qstash.publish(receiver.url(f"/{topic}"), Upstash_Callback=receiver.url(f"/{topic}/done"), Upstash_Callback_Delay="1h")
    arrivals(receiver, f"/{topic}", 1)

    def waiting():
        listed = qstash.get("/jobs?state=delayed&topic=qstash~callbacks").expect(200)["jobs"]
        return [job["jobId"] for job in listed if job["url"] == receiver.url(f"/{topic}/done")]
    until(waiting, 15, "the callback")
    message_id, = waiting()
    shown = qstash.call("GET", f"messages/{message_id}").expect(200)
    assert shown["url"] == receiver.url(f"/{topic}/done") and json.loads(shown["body"])["status"] == 200 and shown["maxRetries"] == 3
    assert qstash.call("DELETE", f"messages/{message_id}").expect(200) == {"cancelled": 1}


def test_an_attempt_without_an_answer_has_no_status(qstash, receiver, topic):
    receiver.script(f"/{topic}", Answer(200, delay=30))
    qstash.publish(receiver.url(f"/{topic}"), Upstash_Timeout="1s", Upstash_Retries="0", Upstash_Failure_Callback=receiver.url(f"/{topic}/failed"))
    told = document(arrivals(receiver, f"/{topic}/failed", 1)[0])
    assert (told["status"], told["header"], told["body"], told["retried"]) == (0, {}, "", 0)


def test_a_callback_to_a_refused_target_is_refused(qstash):
    reply = qstash.call("POST", "publish/https://example.com/", Upstash_Callback="http://169.254.169.254/")
    assert reply.status == 400 and "onAttempt" in reply.json["error"]


def test_redacted_parts_are_delivered_to_the_callback(qstash, receiver, topic):
    qstash.publish(receiver.url(f"/{topic}"), b"secret", Upstash_Forward_A="1", Upstash_Redact_Fields="body,header", Upstash_Callback=receiver.url(f"/{topic}/done"))
    told = document(arrivals(receiver, f"/{topic}/done", 1)[0])
    assert base64.b64decode(told["sourceBody"]) == b"secret" and told["sourceHeader"] == {"A": ["1"]}
