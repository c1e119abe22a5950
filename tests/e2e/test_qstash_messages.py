"""/v2/messages: what a message shows, and cancels of one or many."""

import base64
import hashlib
import http.client
import json
import time

import pytest

from patience import until
from qstash import QStash, arrivals
from receiver import Answer
from redis_gate import RedisGate


@pytest.fixture(scope="module")
def qstash():
    server = QStash()
    yield server
    server.stop()


def later(qstash, topic, body=None, **headers):
    return qstash.publish(f"https://example.com/{topic}", body, **{"Upstash_Delay": "1h", **headers})


def message(qstash, message_id):
    return qstash.call("GET", f"messages/{message_id}").expect(200)


# ---- GET ----

def test_a_message_shows_what_was_asked_for(qstash, topic):
    before = int(time.time() * 1000)
    url = f"https://example.com/{topic}/a%20b?x=1"
    message_id = qstash.publish(url, b'{"a":1}', Upstash_Delay="1h", Upstash_Method="PUT", Upstash_Retries="5", Content_Type="application/json",
                                Upstash_Forward_bypass_tunnel_REMINDER="yes", Upstash_Callback="https://example.com/done",
                                Upstash_Callback_Forward_Key="v", Upstash_Callback_Retries="1", Upstash_Failure_Callback="https://example.com/no",
                                Upstash_Label="first, second", Upstash_Retry_Delay="pow(2, retried) * 1000")
    shown = message(qstash, message_id)
    assert before - 2000 < shown.pop("createdAt") < before + 10000 and shown.pop("notBefore") > before + 3590000
    assert shown == {
        "messageId": message_id, "url": url, "method": "PUT", "maxRetries": 5, "body": '{"a":1}', "callerIP": "127.0.0.1",
        "header": {"Content-Type": ["application/json"], "Bypass-Tunnel-Reminder": ["yes"]},
        "callback": "https://example.com/done", "callbackHeader": {"Key": ["v"]},
        "failureCallback": "https://example.com/no", "failureCallbackHeader": {},
        "label": "first", "labels": ["first", "second"], "retryDelayExpression": "pow(2, retried) * 1000"}


def test_a_plain_message_has_no_empty_members(qstash, topic):
    shown = message(qstash, later(qstash, topic))
    assert set(shown) == {"messageId", "url", "method", "maxRetries", "notBefore", "createdAt", "callerIP"}
    assert (shown["method"], shown["maxRetries"]) == ("POST", 3)


def test_a_body_that_is_not_text_is_base64(qstash, topic):
    shown = message(qstash, later(qstash, topic, b"\xff\x00"))
    assert base64.b64decode(shown["bodyBase64"]) == b"\xff\x00" and "body" not in shown


def digest(text):
    return "REDACTED:" + hashlib.sha256(text).hexdigest()


@pytest.mark.parametrize("fields, hidden", [("body", {"body"}), ("header", {"A", "B"}), ("headers[A]", {"A"}), ("body, header[b]", {"body", "B"})])
def test_redacted_parts_show_their_digest_and_are_delivered(qstash, receiver, topic, fields, hidden):
    receiver.script(f"/{topic}", Answer(500), Answer(200))
    message_id = qstash.publish(receiver.url(f"/{topic}"), b"secret", Upstash_Forward_A="1", Upstash_Forward_B="2", Upstash_Redact_Fields=fields)
    arrival, = arrivals(receiver, f"/{topic}", 1)
    assert arrival.body == b"secret" and (arrival.headers["a"], arrival.headers["b"]) == ("1", "2")
    shown = message(qstash, message_id)
    assert shown["body"] == (digest(b"secret") if "body" in hidden else "secret")
    assert shown["header"] == {name: [digest(value) if name in hidden else value.decode()] for name, value in (("A", b"1"), ("B", b"2"))}
    qstash.call("DELETE", f"messages/{message_id}").expect(200)


def test_a_message_that_has_ended_is_not_found(qstash, receiver, topic):
    delivered = qstash.publish(receiver.url(f"/{topic}"))
    qstash.await_end(delivered)
    receiver.script(f"/{topic}-dead", 500)
    dead = qstash.publish(receiver.url(f"/{topic}-dead"), Upstash_Retries="0")
    qstash.await_end(dead)
    for message_id in (delivered, dead, "msg_unknown", "x", "msg_a.b.c", "msg_%2Fx"):
        qstash.call("GET", f"messages/{message_id}").expect(404)
        qstash.call("DELETE", f"messages/{message_id}").expect(404)
    assert qstash.job("qstash~messages", dead)["state"] == "dead"


# ---- DELETE of one ----

def test_a_message_is_cancelled_once(qstash, topic):
    message_id = later(qstash, topic)
    assert qstash.call("DELETE", f"messages/{message_id}").expect(200) == {"cancelled": 1}
    qstash.call("DELETE", f"messages/{message_id}").expect(404)


def test_a_message_between_two_attempts_is_cancelled(qstash, receiver, topic):
    receiver.script(f"/{topic}", 500)
    message_id = qstash.publish(receiver.url(f"/{topic}"))
    qstash.wait_for_state("qstash~messages", message_id, "delayed")
    arrivals(receiver, f"/{topic}", 1)
    until(lambda: qstash.job("qstash~messages", message_id)["attempts"] == 1, 15, "the end of the first attempt")
    assert qstash.call("DELETE", f"messages/{message_id}").expect(200) == {"cancelled": 1}


# ---- DELETE of many ----

def cancel(qstash, query="", body=None):
    return qstash.call("DELETE", f"messages{query}", body).expect(200)


def test_ids_are_cancelled_and_unknown_ones_skipped(qstash, topic):
    a, b, c, d = (later(qstash, topic) for _ in range(4))
    assert cancel(qstash, f"?messageIds={a}&messageIds={b}&messageIds=msg_unknown") == {"cancelled": 2}
    assert cancel(qstash, body={"messageIds": [c, "x"]}) == {"cancelled": 1}
    assert cancel(qstash, body={"messageIds": []}) == {"cancelled": 0}
    assert message(qstash, d)


def test_a_query_may_have_a_thousand_ids(qstash, topic):
    """As QStash's client for JavaScript sends them."""
    item = {"destination": f"https://example.com/{topic}", "headers": {"Upstash-Delay": "1h"}}
    ids = [sent["messageId"] for sent in qstash.call("POST", "batch", [item] * 1000).expect(200)]
    assert cancel(qstash, "?" + "&".join(f"messageIds={each}" for each in ids)) == {"cancelled": 1000}


def test_filters_restrict_and_alternatives_add(qstash, topic):
    a = later(qstash, topic, Upstash_Label=f"{topic}-a,common-{topic}")
    b = later(qstash, topic, Upstash_Label=f"{topic}-b,common-{topic}")
    c = later(qstash, f"{topic}/c", Upstash_Label=f"{topic}-c,common-{topic}")
    assert cancel(qstash, f"?label={topic}-none") == {"cancelled": 0}
    assert cancel(qstash, f"?label=common-{topic}&path=/{topic}/c") == {"cancelled": 1}
    qstash.call("GET", f"messages/{c}").expect(404)
    assert cancel(qstash, f"?label={topic}-a,{topic}-b&host=example.com") == {"cancelled": 2}
    for each in (a, b):
        qstash.call("GET", f"messages/{each}").expect(404)


@pytest.mark.parametrize("query", ["?url=https://example.com/{topic}", "?path=/{topic}&callerIp=127.0.0.1", "?path=/{topic}&callerIP=127.0.0.1",
                                   "?path=/{topic}&fromDate=1000&toDate=99999999999999"])
def test_each_filter_finds_its_messages(qstash, topic, query):
    later(qstash, topic)
    other = later(qstash, f"{topic}-other")
    assert cancel(qstash, query.format(topic=topic)) == {"cancelled": 1}
    assert message(qstash, other)


def test_pages_have_a_cursor_until_the_end(qstash, topic):
    for _ in range(5):
        later(qstash, topic, Upstash_Label=topic)
    first = cancel(qstash, f"?label={topic}&count=3")
    assert first["cancelled"] == 3
    total, cursor = 3, first.get("cursor")
    while cursor:
        page = cancel(qstash, f"?label={topic}&count=3&cursor={cursor}")
        total, cursor = total + page["cancelled"], page.get("cursor")
    assert total == 5


@pytest.mark.parametrize("query", ["?lable=a", "?count=x", "?dlqIds=a", "?label=%zz", "?cursor=x", "?all=true"])
def test_an_unknown_parameter_cancels_nothing(qstash, topic, query):
    message_id = later(qstash, topic)
    qstash.call("DELETE", f"messages{query}").expect(400)
    qstash.call("DELETE", "messages", b"[1]").expect(400)
    assert message(qstash, message_id)


def many_later(qstash, topic, count):
    """Returns the ids of this many messages, which have the label topic and are due in an hour."""
    items = [{"destination": f"https://example.com/{topic}", "headers": {"Upstash-Delay": "1h", "Upstash-Label": topic}}] * 1000
    return [one["messageId"] for at in range(0, count, 1000)
            for one in qstash.call("POST", "batch", items[:count - at]).expect(200)]


@pytest.mark.parametrize("query", ["", "&count=100", "&count=500"])
def test_a_cancel_by_filters_takes_all_that_match(qstash, topic, query):
    """The clients send count=100 if their user gives no count, and promise that no loop is needed."""
    many_later(qstash, topic, 1250)
    other = later(qstash, topic)
    assert cancel(qstash, f"?label={topic}{query}") == {"cancelled": 1250}
    assert message(qstash, other)


def test_a_smaller_count_limits_a_cancel(qstash, topic):
    many_later(qstash, topic, 120)
    first = cancel(qstash, f"?label={topic}&count=99")
    assert first["cancelled"] == 99
    assert cancel(qstash, f"?label={topic}&count=99&cursor={first['cursor']}") == {"cancelled": 21}


def test_a_long_cancel_is_answered_after_30_s_and_goes_on(redis, topic):
    gate = RedisGate(redis())
    server = QStash(redis=gate.address)
    try:
        ids = many_later(server, topic, 6000)
        gate.delay = 1.2
        began = time.monotonic()
        link = http.client.HTTPConnection(server.host, server.port, timeout=90)
        link.request("DELETE", f"/v2/messages?label={topic}&count=100")
        answer = json.load(link.getresponse())
        link.close()
        assert 30 <= time.monotonic() - began
        assert list(answer) == ["cancelled"] and 0 < answer["cancelled"] < len(ids)
        gate.delay = 0
        until(lambda: server.call("GET", f"messages/{ids[-1]}").status == 404 and server.call("GET", f"messages/{ids[0]}").status == 404,
              30, "all messages are cancelled")
        assert cancel(server) == {"cancelled": 0}
    finally:
        server.stop()
        gate.stop()


def test_no_parameter_means_all_messages_and_nothing_else():
    server = QStash()
    try:
        ids = [later(server, "a") for _ in range(120)]
        server.schedule(topic="other", jobId="msg_like", url="https://example.com/", delay=3600)
        assert cancel(server, "?count=40")["cancelled"] == 40
        assert cancel(server) == {"cancelled": 80}
        assert server.job("other", "msg_like")["state"] == "delayed"
        assert all(server.call("GET", f"messages/{each}").status == 404 for each in ids)
    finally:
        server.stop()


def test_many_flow_control_keys_hide_no_message(redis, topic):
    """Instead of creating many flow control keys, the test writes the names of their topics into Redis, without
    messages."""
    behind = redis()
    server = QStash(redis=behind.address)
    first = later(server, topic, Upstash_Flow_Control_Key="z.1", Upstash_Flow_Control_Value="parallelism=1")
    second = later(server, topic, Upstash_Queue_Name="q")
    third = server.call("POST", f"enqueue/{topic}/https://example.com/", b"", Upstash_Delay="1h").expect(200)["messageId"]

    def add_keys(first, last):
        behind.command("EVAL", "for i = ARGV[1], ARGV[2] do redis.call('ZADD', KEYS[1], 0, 'qstash~flow.a' .. i) end", "1",
                       "duepost:{0}:names", str(first), str(last))
    add_keys(1, 20000)
    assert cancel(server, "?flowControlKey=z.1") == {"cancelled": 1} and server.call("GET", f"messages/{first}").status == 404
    add_keys(20001, 100001)
    for method, path in ("DELETE", "messages?host=example.com"), ("GET", "dlq"), ("GET", "events?host=example.com"):
        refused = server.call(method, path)
        assert refused.status == 400 and "over 100,000" in refused.json["error"], path
    assert server.call("GET", f"messages/{second}").status == 200
    assert cancel(server, f"?queueName={topic}") == {"cancelled": 1} and server.call("GET", f"messages/{third}").status == 404
    server.stop()


def test_all_errors_have_the_form_of_this_api():
    server = QStash()
    try:
        server.call("PUT", "messages/x").expect(405)
        server.call("GET", "nothing/here").expect(404)
        server.call("GET", "messages/a%2Fb").expect(404)
    finally:
        server.stop()
