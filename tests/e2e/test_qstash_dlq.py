"""/v2/dlq: messages that could not be delivered."""

import base64

import pytest

from patience import until
from qstash import QStash, arrivals
from receiver import Answer


@pytest.fixture(scope="module")
def qstash():
    server = QStash()
    yield server
    server.stop()


def letters(qstash, query=""):
    return qstash.call("GET", f"dlq?count=500&{query}").expect(200)["messages"]


def dead(qstash, receiver, path, body=b"the body", answer=None, **headers):
    receiver.script(path, answer or Answer(500, body=b"no, thanks"), Answer(200))
    message_id = qstash.publish(receiver.url(path), body, **{"Upstash_Retries": "0", **headers})
    found = []

    def is_dead():
        found[:] = letters(qstash, f"messageId={message_id}")
        return found
    until(is_dead, 15, f"the death of {message_id}")
    letter, = found
    assert letter["messageId"] == message_id and letter["dlqId"].startswith("dlq_")
    return letter


def test_a_dead_letter_shows_message_and_answer(qstash, receiver, topic):
    letter = dead(qstash, receiver, f"/{topic}", b'{"a":1}', Upstash_Label=topic, Upstash_Forward_X="1")
    assert letter["responseStatus"] == 500 and letter["responseBody"] == "no, thanks"
    assert letter["body"] == '{"a":1}' and letter["url"] == receiver.url(f"/{topic}") and letter["label"] == topic
    assert letter["header"]["X"] == ["1"] and letter["maxRetries"] == 0
    assert qstash.call("GET", f"dlq/{letter['dlqId']}").expect(200) == letter
    assert qstash.call("GET", f"messages/{letter['messageId']}").status == 404


@pytest.mark.parametrize("answer", [b"\x89PNG\r\n\x1a\n\x00\xff", b"caf\xe9", b"\xc3" + b"\xff" * 5000], ids=["image", "latin1", "long"])
def test_a_binary_answer_is_shown_as_base64(qstash, receiver, topic, answer):
    letter = dead(qstash, receiver, f"/{topic}", answer=Answer(500, body=answer))
    assert base64.b64decode(letter["responseBodyBase64"]) == answer[:1024] and "responseBody" not in letter
    assert qstash.call("GET", f"dlq/{letter['dlqId']}").expect(200) == letter
    attempt, = qstash.request("GET", f"/jobs/qstash~messages/{letter['messageId']}/attempts").expect(200)["attempts"]
    assert attempt["answer"].startswith({0x89: "\ufffdPNG\r\n\ufffd\n\ufffd\ufffd", 0x63: "caf\ufffd", 0xc3: "\ufffd" * 1000}[answer[0]])


def test_a_dead_letter_has_the_headers_of_the_answer(qstash, receiver, topic):
    headers = (("X-Why", "so"), ("set-cookie", "a=1"), ("Set-Cookie", "b=2"), ("X-Quoted", '"\\ü'))
    letter = dead(qstash, receiver, f"/{topic}", answer=Answer(500, headers=headers))
    found = letter["responseHeader"]
    assert found["X-Why"] == ["so"] and found["Set-Cookie"] == ["a=1", "b=2"] and found["X-Quoted"][0].startswith('"\\')
    assert qstash.call("GET", f"dlq/{letter['dlqId']}").expect(200)["responseHeader"] == found


def test_many_headers_of_an_answer_are_kept_in_part(qstash, receiver, topic):
    headers = tuple((f"X-{number:02}", "x" * 500) for number in range(20))
    found = dead(qstash, receiver, f"/{topic}", answer=Answer(500, headers=headers))["responseHeader"]
    assert found["X-00"] == ["x" * 500] and "X-19" not in found and sum(len(name) + len(values[0]) for name, values in found.items()) <= 4096


def test_without_an_answer_the_status_is_0(qstash, topic):
    message_id = qstash.publish("http://127.0.0.1:9/closed", Upstash_Retries="0")
    until(lambda: letters(qstash, f"messageId={message_id}"), 15, "the dead letter")
    letter, = letters(qstash, f"messageId={message_id}")
    assert letter["responseStatus"] == 0 and not {"responseBody", "responseHeader"} & set(letter)


@pytest.mark.parametrize("method, path", [("GET", "dlq/{}"), ("DELETE", "dlq/{}"), ("POST", "dlq/retry/{}")])
@pytest.mark.parametrize("letter", ["dlq_01M83VYQKEJGW90HW2GX32QZ56", "dlq_", "msg_01M83VYQKEJGW90HW2GX32QZ56", "x"])
def test_an_unknown_letter_is_404(qstash, method, path, letter):
    assert qstash.call(method, path.format(letter)).status == 404


def test_filters(qstash, receiver, topic):
    one = dead(qstash, receiver, f"/{topic}-1", Upstash_Label=topic)
    two = dead(qstash, receiver, f"/{topic}-2", answer=Answer(418), Upstash_Label=topic)
    ids = lambda query: {letter["dlqId"] for letter in letters(qstash, query)}  # noqa: E731
    assert ids(f"label={topic}") == {one["dlqId"], two["dlqId"]}
    assert ids(f"label={topic}&responseStatus=418") == {two["dlqId"]}
    assert ids(f"dlqIds={one['dlqId']},{two['dlqId']}") == {one["dlqId"], two["dlqId"]}
    assert ids(f"label={topic}&toDate=1000") == set()


@pytest.mark.parametrize("method, path", [("GET", "dlq"), ("DELETE", "dlq"), ("POST", "dlq/retry")])
@pytest.mark.parametrize("query", ["host=example.com", "path=/x", "labels=x", "count=x", "cursor=x"])
def test_an_unknown_parameter_does_nothing(qstash, receiver, topic, method, path, query):
    letter = dead(qstash, receiver, f"/{topic}")
    assert qstash.call(method, f"{path}?{query}").status == 400
    assert qstash.call("GET", f"dlq/{letter['dlqId']}").status == 200


@pytest.mark.parametrize("method, path, member", [("GET", "dlq", "messages"), ("DELETE", "dlq", "deleted"), ("POST", "dlq/retry", "responses")])
def test_there_are_no_workflows(qstash, receiver, topic, method, path, member):
    letter = dead(qstash, receiver, f"/{topic}")
    reply = qstash.call(method, f"{path}?source=workflow")
    assert not reply.json[member] if method == "GET" else reply.status == 400
    assert qstash.call("GET", f"dlq/{letter['dlqId']}").status == 200


@pytest.mark.parametrize("method, path, most", [("GET", "dlq", 1000), ("POST", "dlq/retry", 500), ("GET", "workflows/dlq", 1000),
                                                ("POST", "workflows/dlq/resume", 500), ("POST", "workflows/dlq/restart", 500)])
def test_the_bounds_of_count(qstash, method, path, most):
    for count in 0, most + 1:
        assert qstash.call(method, f"{path}?label=none&count={count}", None if method == "GET" else b"").status == 400
    assert qstash.call(method, f"{path}?label=none&count={most}", None if method == "GET" else b"").status in (200, 201)


@pytest.mark.parametrize("path", ["messages", "dlq", "workflows/dlq", "workflows/runs"])
def test_a_count_of_0_does_nothing(qstash, topic, path):
    message_id = qstash.publish(f"https://example.com/{topic}", Upstash_Delay="1h")
    assert qstash.call("DELETE", f"{path}?count=0").status == 400
    assert qstash.call("GET", f"messages/{message_id}").status == 200


def test_pages(qstash, receiver, topic):
    wanted = {dead(qstash, receiver, f"/{topic}-{number}", Upstash_Label=topic)["dlqId"] for number in range(5)}
    found, cursor, pages = [], "", 0
    while cursor is not None:
        page = qstash.call("GET", f"dlq?label={topic}&count=2" + (f"&cursor={cursor}" if cursor else "")).expect(200)
        found += [letter["dlqId"] for letter in page["messages"]]
        assert len(page["messages"]) <= 2
        cursor, pages = page.get("cursor"), pages + 1
    assert len(found) == 5 and set(found) == wanted and pages >= 3


def test_one_is_deleted(qstash, receiver, topic):
    letter = dead(qstash, receiver, f"/{topic}")
    qstash.call("DELETE", f"dlq/{letter['dlqId']}").expect(200)
    assert qstash.call("GET", f"dlq/{letter['dlqId']}").status == 404
    assert qstash.call("DELETE", f"dlq/{letter['dlqId']}").status == 404


def test_a_waiting_message_is_not_a_dead_letter(qstash, topic):
    message_id = qstash.publish(f"https://example.com/{topic}", Upstash_Delay="1h")
    letter = message_id.replace("msg_", "dlq_")
    for method, path in ("GET", "dlq/"), ("DELETE", "dlq/"), ("POST", "dlq/retry/"):
        assert qstash.call(method, path + letter).status == 404
    assert qstash.call("DELETE", f"dlq?dlqIds={letter}").expect(200) == {"deleted": 0}
    assert qstash.call("GET", f"messages/{message_id}").status == 200


def test_many_are_deleted(qstash, receiver, topic):
    one, two = (dead(qstash, receiver, f"/{topic}-{number}", Upstash_Label=topic) for number in range(2))
    unknown = "dlq_01M83VYQKEJGW90HW2GX32QZ56"
    assert qstash.call("DELETE", "dlq", {"dlqIds": [one["dlqId"], unknown]}).expect(200) == {"deleted": 1}
    assert qstash.call("DELETE", f"dlq?label={topic}").expect(200)["deleted"] == 1
    assert letters(qstash, f"label={topic}") == [] and two


def test_a_retry_is_a_new_message(qstash, receiver, topic):
    letter = dead(qstash, receiver, f"/{topic}", b'{"a":1}', Upstash_Forward_X="1", Content_Type="application/json",
                  Upstash_Callback=receiver.url(f"/{topic}-callback"), Upstash_Callback_Forward_K="v", Upstash_Label="a,b",
                  Upstash_Redact_Fields="body")
    again = qstash.call("POST", f"dlq/retry/{letter['dlqId']}").expect(201)
    assert list(again) == ["messageId"] and again["messageId"] != letter["messageId"]
    arrival = arrivals(receiver, f"/{topic}", 2)[1]
    assert arrival.body == b'{"a":1}' and arrival.headers["x"] == "1" and arrival.headers["content-type"] == "application/json"
    assert arrival.headers["upstash-message-id"] == again["messageId"] and arrival.headers["upstash-retried"] == "0"
    assert qstash.call("GET", f"dlq/{letter['dlqId']}").status == 404


def test_a_retry_keeps_queue_and_flow_control(qstash, receiver, topic):
    """The new message has a queue or a key, so duepost must look up its topic in Redis."""
    flow = {"Upstash_Flow_Control_Key": topic, "Upstash_Flow_Control_Value": "parallelism=2, rate=10"}
    letter = dead(qstash, receiver, f"/{topic}", **flow)
    again = qstash.call("POST", f"dlq/retry/{letter['dlqId']}", Upstash_Delay="1h").expect(201)
    shown = qstash.call("GET", f"messages/{again['messageId']}").expect(200)
    assert (shown["flowControlKey"], shown["parallelism"], shown["rate"], shown["body"]) == (topic, 2, 10, "the body")
    receiver.script(f"/{topic}-queued", Answer(500), Answer(200))
    message_id = qstash.call("POST", f"enqueue/{topic}/{receiver.url(f'/{topic}-queued')}", b"x", Upstash_Retries="0").expect(200)["messageId"]
    letter, = until(lambda: letters(qstash, f"messageId={message_id}"), 15, "the death of the message in the queue")
    again = qstash.call("POST", f"dlq/retry?dlqIds={letter['dlqId']}").expect(201)["responses"][0]
    arrival = arrivals(receiver, f"/{topic}-queued", 2)[1]
    assert arrival.headers["upstash-message-id"] == again["messageId"] and arrival.body == b"x"


def test_settings_of_the_request_replace_those_of_the_message(qstash, receiver, topic):
    letter = dead(qstash, receiver, f"/{topic}", Upstash_Label="old")
    again = qstash.call("POST", f"dlq/retry/{letter['dlqId']}", Upstash_Delay="1h", Upstash_Retries="7", Upstash_Label="new").expect(201)
    shown = qstash.call("GET", f"messages/{again['messageId']}").expect(200)
    assert shown["maxRetries"] == 7 and shown["labels"] == ["new"] and shown["body"] == "the body"


def test_many_are_retried(qstash, receiver, topic):
    several = [dead(qstash, receiver, f"/{topic}-{number}", Upstash_Label=topic) for number in range(3)]
    answer = qstash.call("POST", f"dlq/retry?dlqIds={several[0]['dlqId']}&dlqIds={several[1]['dlqId']}").expect(201)
    assert len(answer["responses"]) == 2
    rest = qstash.call("POST", f"dlq/retry?label={topic}&count=500").expect(201)
    assert len(rest["responses"]) == 1
    for number in range(3):
        arrivals(receiver, f"/{topic}-{number}", 2)
    assert qstash.call("POST", f"dlq/retry?label={topic}").expect(201)["responses"] == []


def test_a_retry_that_is_repeated_sends_no_second_message(qstash, receiver, topic):
    letter = dead(qstash, receiver, f"/{topic}")
    qstash.call("POST", f"dlq/retry/{letter['dlqId']}").expect(201)
    assert qstash.call("POST", f"dlq/retry/{letter['dlqId']}").status == 404
    arrivals(receiver, f"/{topic}", 2)
