"""/v2/events and /v2/logs: the events of messages."""

import base64
import hashlib
import time
from random import Random

import pytest

import scratch
from patience import SLOW, until
from qstash import QStash, arrivals
from receiver import Answer

DURING = ["CREATED", "ACTIVE", "ERROR", "RETRY"]


@pytest.fixture(scope="module")
def qstash():
    server = QStash("--history", f"sqlite:{scratch.file('history.sqlite')}")
    yield server
    server.stop()


def events(qstash, query="", name="events"):
    """Returns the events of all pages, the newest first."""
    found, cursor = [], ""
    while cursor is not None:
        page = qstash.call("GET", f"{name}?{query}" + (f"&cursor={cursor}" if cursor else "")).expect(200)
        found += page[name]
        cursor = page.get("cursor")
        assert set(page) <= {name, "cursor"}
    return found


def states(qstash, message_id):
    """Returns the states in the events, the oldest first."""
    return [event["state"] for event in reversed(events(qstash, f"messageId={message_id}"))]


def await_states(qstash, message_id, *wanted):
    until(lambda: states(qstash, message_id) == list(wanted), 15, lambda: f"{wanted}, there are {states(qstash, message_id)}")
    return events(qstash, f"messageId={message_id}")[::-1]


def await_history(qstash, query, count):
    """Messages that have ended appear in lists a second or two later."""
    until(lambda: len(events(qstash, query)) == count, 15, lambda: f"{count} events of {query}, there are {len(events(qstash, query))}")
    return events(qstash, query)


# ---- the events of a message ----

def test_a_delivered_message(qstash, receiver, topic):
    began = time.time() * 1000
    message_id = qstash.publish(receiver.url(f"/{topic}"), b"the body", Upstash_Label=f"{topic},other", Upstash_Forward_X="1", Upstash_Timeout="20s",
                                Upstash_Flow_Control_Key=topic, Upstash_Flow_Control_Value="rate=100", Upstash_Retry_Delay="1000 * 7",
                                Upstash_Callback=receiver.url(f"/{topic}-callback"), Upstash_Callback_Forward_Y="2")
    found = await_states(qstash, message_id, "CREATED", "ACTIVE", "DELIVERED")
    for event in found:
        assert event["messageId"] == message_id and event["url"] == receiver.url(f"/{topic}") and event["method"] == "POST"
        assert event["header"]["X"] == ["1"] and base64.b64decode(event["body"]) == b"the body"
        assert event["label"] == topic and event["labels"] == [topic, "other"] and event["maxRetries"] == 3 and event["timeout"] == 20000
        assert (event["flowControlKey"], event["rate"], event["period"]) == (topic, 100, 1)
        assert event["callback"] == receiver.url(f"/{topic}-callback") and event["callbackHeaders"] == {"Y": ["2"]}
        assert event["retryDelayExpr"] == event["retryDelayExpression"] == "1000 * 7"
        assert not {"responseStatus", "error", "nextDeliveryTime", "queueName", "scheduleId", "topicName"} & set(event)
    times = [event["time"] for event in found]
    assert times == sorted(times) and began - 1000 <= times[0] and times[-1] <= time.time() * 1000 + 1000


def test_a_message_that_waits(qstash, topic):
    message_id = qstash.publish(f"https://example.com/{topic}", Upstash_Delay="1h")
    assert states(qstash, message_id) == ["CREATED"]
    assert [event["state"] for event in events(qstash) if event["messageId"] == message_id] == ["CREATED"]


def test_a_failed_message(qstash, receiver, topic):
    receiver.script(f"/{topic}", Answer(500, headers=(("X-Why", "so"),), body=b"no, thanks"))
    message_id = qstash.publish(receiver.url(f"/{topic}"), b"x", Upstash_Retries="0")
    found = await_states(qstash, message_id, "CREATED", "ACTIVE", "ERROR", "FAILED")
    assert found[2]["responseStatus"] == 500 and base64.b64decode(found[2]["responseBody"]) == b"no, thanks"
    assert found[2]["responseHeader"] == found[2]["responseHeaders"] and found[2]["responseHeader"]["X-Why"] == ["so"]
    assert found[3]["error"] and "responseStatus" not in found[3]


def test_a_binary_answer_is_shown_byte_for_byte(qstash, receiver, topic):
    bodies = [b"caf\xe9", b"\x89PNG\x00\xff"]
    receiver.script(f"/{topic}", *[Answer(500, body=body) for body in bodies], Answer(200))
    message_id = qstash.publish(receiver.url(f"/{topic}"), b"x", Upstash_Retry_Delay="300")
    found = await_states(qstash, message_id, *DURING, *DURING[1:], "ACTIVE", "DELIVERED")
    assert [base64.b64decode(event["responseBody"]) for event in found if event["state"] == "ERROR"] == bodies


def test_a_message_that_is_delivered_again(qstash, receiver, topic):
    receiver.script(f"/{topic}", Answer(503), Answer(200))
    message_id = qstash.publish(receiver.url(f"/{topic}"), b"x", Upstash_Retry_Delay="300")
    found = await_states(qstash, message_id, *DURING, "ACTIVE", "DELIVERED")
    assert found[3]["nextDeliveryTime"] == found[4]["time"] >= found[3]["time"] + 300


def test_a_message_between_two_attempts(qstash, topic):
    message_id = qstash.publish("http://127.0.0.1:9/closed", Upstash_Retry_Delay="3600000")
    found = await_states(qstash, message_id, *DURING)
    assert found[2]["error"] and "responseStatus" not in found[2]
    assert 3500000 < found[3]["nextDeliveryTime"] - found[3]["time"] < 3700000
    qstash.call("DELETE", f"messages/{message_id}").expect(200)
    await_states(qstash, message_id, *DURING, "CANCELED")


def test_a_message_of_a_queue_between_two_attempts(qstash, topic):
    """While the message waits for its retry, it keeps its place in the queue."""
    message_id = qstash.call("POST", f"enqueue/{topic}/http://127.0.0.1:9/closed", b"", Upstash_Retry_Delay="3600000").expect(200)["messageId"]
    found = await_states(qstash, message_id, *DURING)
    assert 3500000 < found[3]["nextDeliveryTime"] - found[3]["time"] < 3700000


def test_a_message_under_way(qstash, receiver, topic):
    receiver.script(f"/{topic}", Answer(200, delay=2 * SLOW))
    message_id = qstash.publish(receiver.url(f"/{topic}"), b"x")
    arrivals(receiver, f"/{topic}", 1)
    assert states(qstash, message_id) == ["CREATED", "ACTIVE"]
    assert states(qstash, message_id)[-1] == "ACTIVE"
    await_states(qstash, message_id, "CREATED", "ACTIVE", "DELIVERED")


def test_a_dead_letter_that_is_deleted_keeps_its_events(qstash, receiver, topic):
    receiver.script(f"/{topic}", Answer(500))
    message_id = qstash.publish(receiver.url(f"/{topic}"), b"x", Upstash_Retries="0", Upstash_Label=topic)
    await_states(qstash, message_id, "CREATED", "ACTIVE", "ERROR", "FAILED")
    assert qstash.call("DELETE", f"dlq?label={topic}").expect(200) == {"deleted": 1}
    await_states(qstash, message_id, "CREATED", "ACTIVE", "ERROR", "FAILED")


def test_redaction(qstash, receiver, topic):
    message_id = qstash.publish(receiver.url(f"/{topic}"), b"secret", Upstash_Redact_Fields="body,header[X]", Upstash_Forward_X="hush", Upstash_Forward_Y="2")
    digest = lambda text: "REDACTED:" + hashlib.sha256(text).hexdigest()  # noqa: E731
    for event in await_states(qstash, message_id, "CREATED", "ACTIVE", "DELIVERED"):
        assert event["body"] == digest(b"secret") and event["header"]["X"] == [digest(b"hush")] and event["header"]["Y"] == ["2"]


def test_queues_groups_and_schedules_are_named(qstash, receiver, topic):
    qstash.call("POST", f"topics/{topic}/endpoints", {"endpoints": [{"name": "one", "url": receiver.url(f"/{topic}")}]}).expect(200)
    sent, = qstash.call("POST", f"enqueue/{topic}/{topic}", b"x").expect(200)
    for event in await_states(qstash, sent["messageId"], "CREATED", "ACTIVE", "DELIVERED"):
        assert (event["queueName"], event["topicName"], event["endpointName"]) == (topic, topic, "one")
    await_history(qstash, f"queueName={topic}", 3)
    assert len(events(qstash, f"topicName={topic}")) == 3 and not events(qstash, f"queueName={topic}&topicName=other")


# ---- lists ----

def test_each_filter(qstash, receiver, topic):
    url = receiver.url(f"/{topic}/a?x=1")
    receiver.script(f"/{topic}/a?x=1", Answer(500))
    one = qstash.publish(url, b"x", Upstash_Retries="0", Upstash_Label=topic)
    waits = qstash.publish(f"https://example.com/{topic}", Upstash_Delay="1h", Upstash_Label=topic, Upstash_Flow_Control_Key=topic,
                           Upstash_Flow_Control_Value="parallelism=1")
    whole = await_history(qstash, f"label={topic}", 5)
    ids = lambda query: [(event["messageId"], event["state"]) for event in events(qstash, query)]  # noqa: E731
    times = [event["time"] for event in whole]
    assert times == sorted(times, reverse=True)
    assert ids(f"label={topic}&state=FAILED") == [(one, "FAILED")]
    assert ids(f"label={topic}&state=CREATED") == [(waits, "CREATED"), (one, "CREATED")]
    assert ids(f"label={topic}&state=IN_PROGRESS") == [(one, "ERROR"), (one, "ACTIVE")]
    assert ids(f"label={topic}&state=DELIVERED,CANCELED&state=CANCEL_REQUESTED") == []
    assert len(ids(f"url={url.replace('?', '%3F').replace('=', '%3D')}")) == 4
    assert len(ids(f"label={topic}&host=127.0.0.1&path=/{topic}/a")) == 4
    assert ids(f"flowControlKey={topic}") == [(waits, "CREATED")]
    assert ids(f"label={topic}&callerIp=192.0.2.1") == [] and len(ids(f"label={topic}&callerIp=127.0.0.1")) == 5
    assert ids(f"label={topic}&scheduleId=none") == []
    assert len(ids(f"messageIds={one}&messageIds={waits}")) == len(ids(f"messageIds={one},{waits},msg_none")) == 5
    first = min(event["time"] for event in whole if event["messageId"] == one)
    assert ids(f"label={topic}&toDate={first - 1}") == [] and (one, "CREATED") in ids(f"label={topic}&toDate={first}")
    assert ids(f"label={topic}&fromDate={times[0] + 1}") == [] and len(ids(f"label={topic}&fromDate={first}")) == 5
    assert events(qstash, f"label={topic}", "logs") == whole


def test_a_plus_in_a_query_is_a_space(qstash, topic):
    space = qstash.publish(f"https://example.com/{topic}", Upstash_Delay="1h", Upstash_Label=f"{topic} b")
    plus = qstash.publish(f"https://example.com/{topic}", Upstash_Delay="1h", Upstash_Label=f"{topic}+b")
    for query, message_id in ("+b", space), ("%20b", space), ("%2Bb", plus):
        assert [event["messageId"] for event in events(qstash, f"label={topic}{query}")] == [message_id]


def test_pages(qstash, receiver, topic):
    for number in range(3):  # messages without the label, which are before those with the label in the list
        qstash.call("POST", f"enqueue/{topic}-{number}/https://example.com/", b"", Upstash_Delay="2h").expect(200)
    for number in range(3):
        receiver.script(f"/{topic}-{number}", Answer(503), Answer(200))
        qstash.publish(receiver.url(f"/{topic}-{number}"), b"x", Upstash_Label=topic, Upstash_Retry_Delay="1")
        qstash.publish(f"https://example.com/{topic}", Upstash_Delay="1h", Upstash_Label=topic)
    whole = {(event["messageId"], event["time"], event["state"]) for event in await_history(qstash, f"label={topic}", 21)}
    by_ids = "&".join(f"messageIds={message_id}" for message_id in {event[0] for event in whole})
    for query in f"label={topic}", by_ids:
        for count in 1, 2, 4, 21, 5000:
            found = [(event["messageId"], event["time"], event["state"]) for event in events(qstash, f"{query}&count={count}")]
            assert len(found) == 21 and set(found) == whole, (query, count)
        page = qstash.call("GET", f"events?{query}&count=4").expect(200)
        assert len(page["events"]) == 4 and page["cursor"]


def test_a_page_without_filters(qstash, topic):
    message_id = qstash.publish(f"https://example.com/{topic}", Upstash_Delay="1h")
    found, cursor = [], ""
    while cursor is not None:
        page = qstash.call("GET", "events?count=3" + (f"&cursor={cursor}" if cursor else "")).expect(200)
        times = [event["time"] for event in page["events"]]
        assert len(times) <= 3 and times == sorted(times, reverse=True)
        found, cursor = found + page["events"], page.get("cursor")
    assert [event["state"] for event in found if event["messageId"] == message_id] == ["CREATED"]


def test_other_topics_are_not_shown(qstash, topic):
    qstash.request("POST", "/topics/orders/jobs", b'{"url": "https://example.com/", "delay": 3600, "jobId": "msg_mine"}', {"Content-Type": "application/json"})
    assert "msg_mine" not in {event["messageId"] for event in events(qstash)}


@pytest.mark.parametrize("query", ["labels=x", "dlqIds=x", "responseStatus=500", "source=workflow", "state=CANCELLED", "state=created", "count=x", "fromDate=now",
                                   "cursor=x", "cursor=p~0~0~x~", "cursor=h~0~0~x~", "cursor=i~0~0~~", "cursor=p~0~0~~dlq_1", "cursor=x~0~0~~", "cursor=p~x~0~~",
                                   "messageId=msg_1&cursor=p~0~0~~"])
@pytest.mark.parametrize("name", ["events", "logs"])
def test_a_wrong_parameter_is_400(qstash, name, query):
    assert qstash.call("GET", f"{name}?{query}").status == 400


def test_nothing_is_an_empty_list(qstash):
    assert qstash.call("GET", "events?label=none").expect(200) == {"events": []}
    assert qstash.call("GET", "logs?messageId=msg_01M83VYQKEJGW90HW2GX32QZ56").expect(200) == {"logs": []}
    assert qstash.call("GET", "events?messageId=x").expect(200) == {"events": []}


def test_an_unreachable_history_is_an_error_and_hides_nothing(topic):
    server = QStash("--history", "postgresql://nobody@127.0.0.1:9/none")
    try:
        waits = server.publish(f"https://example.com/{topic}", Upstash_Delay="1h")
        assert [event["state"] for event in events(server, f"messageId={waits}")] == ["CREATED"]
        page = server.call("GET", "events?count=1").expect(200)
        assert [event["messageId"] for event in page["events"]] == [waits]
        for query in ("events", f"events?cursor={page['cursor']}", "events?messageId=msg_01M83VYQKEJGW90HW2GX32QZ56", "events?state=DELIVERED"):
            assert server.call("GET", query).status == 503
    finally:
        server.stop()


def test_any_cursor_is_read_or_refused(qstash, topic):
    qstash.publish(f"https://example.com/{topic}", Upstash_Delay="1h")
    page = qstash.call("GET", "events?count=1").expect(200)
    parts = [*page["cursor"].split("~", 3), "", "e", "0", "x" * 3000, "h.1.2.3", "msg_" + "a" * 300, "msg_queue.x~y.z", "2147483648", "%00"]
    random = Random(7)
    for _ in range(400):
        cursor = "~".join(random.choice(parts) for _ in range(random.randrange(1, 7)))
        assert qstash.call("GET", f"events?count=2&cursor={cursor}").status in (200, 400), cursor


def test_without_a_history(receiver, topic):
    server = QStash()
    try:
        receiver.script(f"/{topic}-dead", Answer(500))
        dead = server.publish(receiver.url(f"/{topic}-dead"), b"x", Upstash_Retries="0")
        delivered = server.publish(receiver.url(f"/{topic}"), b"x")
        waits = server.publish(f"https://example.com/{topic}", Upstash_Delay="1h")
        server.await_end(dead)
        server.await_end(delivered)
        found = [(event["messageId"], event["state"]) for event in events(server)]
        assert found[::-1] == sorted(found[::-1], key=lambda event: event[0]) or len(found) == 5
        assert set(found) == {(waits, "CREATED"), *((dead, state) for state in ("CREATED", "ACTIVE", "ERROR", "FAILED"))}
        assert events(server, "state=DELIVERED") == [] and len(events(server, "state=FAILED")) == 1
    finally:
        server.stop()
