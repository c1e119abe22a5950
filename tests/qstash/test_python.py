"""The unmodified client in Python: each method of its parts."""

import base64
import json
import time

import pytest
import qstash
from qstash.errors import QStashError, SignatureError
from qstash.log import LogState

from arrivals import arrivals
from patience import until
from receiver import Answer


@pytest.fixture
def verify(client):
    """Verifies a delivery as an application does."""
    keys = client.signing_key.get()
    checker = qstash.Receiver(keys.current, keys.next)

    def one(arrival, url):
        checker.verify(signature=arrival.headers["upstash-signature"], body=arrival.body.decode(), url=url)
    return one


# ---- publish ----

def test_publish(client, receiver, topic, verify):
    url = receiver.url(f"/{topic}?x=%20y")
    sent = client.message.publish(url=url, body="some text", content_type="text/plain", headers={"My-Header": "abc"})
    arrival, = arrivals(receiver, f"/{topic}?x=%20y", 1)
    assert sent.message_id.startswith("msg_") and not sent.deduplicated
    assert arrival.headers["upstash-message-id"] == sent.message_id and arrival.headers["my-header"] == "abc"
    assert (arrival.body, arrival.headers["content-type"]) == (b"some text", "text/plain")
    verify(arrival, url)


def test_publish_json(client, receiver, topic, verify):
    url = receiver.url(f"/{topic}")
    client.message.publish_json(url=url, body={"hello": "wörld"}, method="PUT", timeout="30s", retries=0)
    arrival, = arrivals(receiver, f"/{topic}", 1)
    assert arrival.method == "PUT" and arrival.headers["content-type"] == "application/json"
    verify(arrival, url)


def test_a_changed_body_is_not_verified(client, receiver, topic, verify):
    client.message.publish_json(url=receiver.url(f"/{topic}"), body={"amount": 1})
    arrival, = arrivals(receiver, f"/{topic}", 1)
    arrival.body = b'{"amount": 2}'
    with pytest.raises(SignatureError):
        verify(arrival, receiver.url(f"/{topic}"))


def test_deduplication(client, receiver, topic):
    url = receiver.url(f"/{topic}")
    first = client.message.publish(url=url, body="1", deduplication_id=topic, delay="1h")
    second = client.message.publish(url=url, body="2", deduplication_id=topic, delay="1h")
    assert (first.deduplicated, second.deduplicated) == (False, True) and first.message_id == second.message_id
    third = client.message.publish(url=url, body=topic, content_based_deduplication=True, delay="1h")
    assert client.message.publish(url=url, body=topic, content_based_deduplication=True, delay="1h").message_id == third.message_id


def test_a_wrong_destination_is_an_error(client):
    with pytest.raises(QStashError):
        client.message.publish(url="no-url", body="x")


# ---- messages ----

def test_get_and_cancel(client, topic):
    before = int(time.time() * 1000)
    sent = client.message.publish_json(url=f"https://example.com/{topic}", body={"a": 1}, delay=3600, retries=7, label=topic,
                                       headers={"X": "1"}, callback="https://example.com/done", failure_callback="https://example.com/dead")
    message = client.message.get(sent.message_id)
    assert message.message_id == sent.message_id and message.url == f"https://example.com/{topic}" and message.method == "POST"
    assert message.max_retries == 7 and message.body == '{"a": 1}' and message.label == topic
    assert message.headers["X"] == ["1"] and message.headers["Content-Type"] == ["application/json"]
    assert message.not_before >= before + 3600_000 and message.created_at >= before - 1000
    assert message.callback == "https://example.com/done" and message.failure_callback == "https://example.com/dead"
    client.message.cancel(sent.message_id)
    with pytest.raises(QStashError):
        client.message.get(sent.message_id)


def test_cancel_many(client, topic):
    sent = [client.message.publish(url=f"https://example.com/{topic}", delay="1h").message_id for _ in range(3)]
    assert client.message.cancel_many(sent[:2]) == 2
    assert client.message.get(sent[2]).message_id == sent[2]
    assert client.message.cancel_many(sent) == 1


def test_cancel_all(client, topic):
    for _ in range(3):
        client.message.publish(url=f"https://example.com/{topic}", delay="1h")
    assert client.message.cancel_all() >= 3
    assert client.message.cancel_all() == 0


# ---- batch ----

def test_batch(client, receiver, topic):
    sent = client.message.batch([{"url": receiver.url(f"/{topic}-{number}"), "body": f"body {number}", "headers": {"N": str(number)}}
                                 for number in range(3)])
    assert len({each.message_id for each in sent}) == 3
    for number in range(3):
        arrival, = arrivals(receiver, f"/{topic}-{number}", 1)
        assert arrival.body == f"body {number}".encode() and arrival.headers["n"] == str(number)


def test_batch_json(client, receiver, topic):
    client.message.batch_json([{"url": receiver.url(f"/{topic}"), "body": {"key": "value"}}])
    arrival, = arrivals(receiver, f"/{topic}", 1)
    assert arrival.body == b'{"key": "value"}' and arrival.headers["content-type"] == "application/json"


# ---- dead letters ----

def dead(client, receiver, topic):
    receiver.script(f"/{topic}", Answer(500, body=b"no"), Answer(200))
    sent = client.message.publish(url=receiver.url(f"/{topic}"), body="x", retries=0, label=topic)
    found = []

    def is_dead():
        found[:] = [letter for letter in client.dlq.list(count=500).messages if letter.message_id == sent.message_id]
        return found
    until(is_dead, 15, "the dead letter")
    return found[0]


def test_dead_letters(client, receiver, topic):
    letter = dead(client, receiver, topic)
    assert letter.response_status == 500 and letter.response_body == "no" and letter.body == "x"
    assert letter.response_headers["Content-Length"] == ["2"]
    assert client.dlq.get(letter.dlq_id).message_id == letter.message_id
    assert [each.dlq_id for each in client.dlq.list(filter={"label": topic}).messages] == [letter.dlq_id]
    client.dlq.delete(letter.dlq_id)
    with pytest.raises(QStashError):
        client.dlq.get(letter.dlq_id)


def test_many_dead_letters_are_deleted(client, receiver, topic):
    letters = [dead(client, receiver, f"{topic}-{number}") for number in range(2)]
    assert client.dlq.delete_many([letter.dlq_id for letter in letters]) == 2


# ---- keys ----

def test_logs(client, receiver, topic):
    letter = dead(client, receiver, topic)
    found = []

    def are_there():
        found[:] = client.log.list(filter={"label": topic}).logs
        return len(found) == 4
    until(are_there, 20, lambda: f"four events: {found}")
    assert [each.state for each in found] == [LogState.FAILED, LogState.ERROR, LogState.ACTIVE, LogState.CREATED]
    assert found[1].response_status == 500 and base64.b64decode(found[1].response_body) == b"no"
    assert {each.message_id for each in found} == {letter.message_id} and {base64.b64decode(each.body_base64) for each in found} == {b"x"}
    pages, cursor = [], None
    while not pages or cursor:
        page = client.log.list(cursor=cursor, count=3, filter={"message_id": letter.message_id})
        pages, cursor = [*pages, [each.state for each in page.logs]], page.cursor
    assert [state for page in pages for state in page] == [each.state for each in found] and len(pages) == 2
    assert len(client.log.list(filter={"label": topic, "state": LogState.FAILED}).logs) == 1
    assert client.log.list(filter={"label": topic, "to_time": 1000}).logs == []


def test_logs_of_several_messages(client, topic):
    ids = [client.message.publish(url="https://example.com/", delay="1h", label=topic).message_id for _ in range(2)]
    found = client.log.list(filter={"message_ids": ids, "label": topic}).logs
    assert {each.message_id for each in found} == set(ids) and {each.state for each in found} == {LogState.CREATED}


def test_signing_keys(client):
    keys = client.signing_key.get()
    rotated = client.signing_key.rotate()
    assert rotated.current == keys.next and rotated.next not in (keys.current, keys.next)


def test_a_delivery_is_verified_with_the_next_key(client, receiver, topic):
    """A receiver that has the keys from before a rotation verifies deliveries after the rotation."""
    before = client.signing_key.get()
    client.signing_key.rotate()
    client.message.publish(url=receiver.url(f"/{topic}"), body="x")
    arrival, = arrivals(receiver, f"/{topic}", 1)
    qstash.Receiver(before.current, before.next).verify(signature=arrival.headers["upstash-signature"], body="x",
                                                        url=receiver.url(f"/{topic}"))


# ---- queues ----

def test_queues(client, topic):
    client.queue.upsert(topic, parallelism=2)
    assert client.queue.get(topic).parallelism == 2 and topic in [queue.name for queue in client.queue.list()]
    client.queue.pause(topic)
    client.message.enqueue_json(queue=topic, url="https://example.com/", body={})
    queue = client.queue.get(topic)
    assert queue.paused and queue.lag == 1
    client.queue.upsert(topic, parallelism=3, paused=True)
    assert client.queue.get(topic).parallelism == 3
    client.message.cancel_all()
    client.queue.resume(topic)
    assert not client.queue.get(topic).paused
    client.queue.delete(topic)
    with pytest.raises(QStashError):
        client.queue.get(topic)


def test_schedules(client, topic):
    made = client.schedule.create_json(schedule_id=topic, destination="https://example.com/", cron="CRON_TZ=Europe/Berlin 0 4 1 1 *", body={"a": 1},
                                       headers={"My-Header": "v"}, method="PUT", retries=2, delay="1m", timeout=20, queue=topic)
    assert made == topic and topic in [schedule.schedule_id for schedule in client.schedule.list()]
    schedule = client.schedule.get(topic)
    assert (schedule.cron, schedule.destination, schedule.body) == ("CRON_TZ=Europe/Berlin 0 4 1 1 *", "https://example.com/", '{"a": 1}')
    assert (schedule.retries, schedule.delay, schedule.timeout, schedule.queue, schedule.paused) == (2, 60, 20, topic, False)
    assert schedule.headers["My-Header"] == ["v"] and schedule.next_schedule_time > schedule.created_at
    client.schedule.pause(topic)
    assert client.schedule.get(topic).paused
    client.schedule.resume(topic)
    assert not client.schedule.get(topic).paused
    client.schedule.create(schedule_id=topic, destination="https://example.com/2", cron="0 4 * * *")
    assert client.schedule.get(topic).body is None
    client.schedule.delete(topic)
    with pytest.raises(QStashError):
        client.schedule.get(topic)


def test_a_schedule_sends_to_a_url_group(client, receiver, topic):
    client.url_group.upsert_endpoints(topic, [{"url": receiver.url(f"/{topic}-1"), "name": "one"}, {"url": receiver.url(f"/{topic}-2")}])
    made = client.schedule.create(destination=topic, cron="* * * * * *", body="text", retries=1)
    schedule = client.schedule.get(made)
    assert (schedule.destination, schedule.body, schedule.retries) == (topic, "text", 1)
    assert topic in [each.destination for each in client.schedule.list()]
    for number in (1, 2):
        until(lambda number=number: receiver.count(f"/{topic}-{number}") > 0, 20, f"a message to endpoint {number}")
        assert receiver.of(f"/{topic}-{number}")[0].headers["upstash-schedule-id"] == made
    client.schedule.delete(made)


def test_a_queue_keeps_its_order(client, receiver, topic):
    client.queue.upsert(topic, parallelism=1, paused=True)
    for number in range(5):
        client.message.enqueue(queue=topic, url=receiver.url(f"/{topic}"), body=str(number))
    client.queue.resume(topic)
    assert [arrival.body for arrival in arrivals(receiver, f"/{topic}", 5)] == [b"0", b"1", b"2", b"3", b"4"]


# ---- flow control ----

def test_flow_control(client, topic):
    client.message.publish(url="https://example.com/", delay="1h", flow_control={"key": topic, "parallelism": 2, "rate": 3, "period": "1m"})
    info = client.flow_control.get(topic)
    assert (info.key, info.parallelism_max, info.rate_max, info.rate_period) == (topic, 2, 3, 60)
    client.flow_control.pause(topic)
    assert client.flow_control.get(topic).is_paused
    client.flow_control.resume(topic)
    client.flow_control.pin(topic, {"parallelism": 5, "rate": 7, "period": 120})
    info = client.flow_control.get(topic)
    assert not info.is_paused and info.is_pinned_parallelism and info.is_pinned_rate and (info.parallelism_max, info.rate_max) == (5, 7)
    client.flow_control.unpin(topic, {"parallelism": True, "rate": True})
    info = client.flow_control.get(topic)
    assert not info.is_pinned_parallelism and not info.is_pinned_rate
    client.flow_control.reset_rate(topic)
    assert client.flow_control.get_global_parallelism().parallelism_max > 0
    client.message.cancel_all()


# ---- URL groups ----

def test_url_groups(client, receiver, topic):
    client.url_group.upsert_endpoints(topic, [{"url": receiver.url(f"/{topic}-1"), "name": "one"}, {"url": receiver.url(f"/{topic}-2")}])
    group = client.url_group.get(topic)
    assert group.name == topic and {endpoint.url for endpoint in group.endpoints} == {receiver.url(f"/{topic}-{number}") for number in (1, 2)}
    assert topic in [group.name for group in client.url_group.list()]
    sent = client.message.publish(url_group=topic, body="to all")
    assert {each.url for each in sent} == {receiver.url(f"/{topic}-{number}") for number in (1, 2)}
    for number in (1, 2):
        arrival, = arrivals(receiver, f"/{topic}-{number}", 1)
        assert arrival.body == b"to all" and arrival.headers["upstash-topic-name"] == topic
    client.url_group.remove_endpoints(topic, [{"name": "one"}])
    assert [endpoint.url for endpoint in client.url_group.get(topic).endpoints] == [receiver.url(f"/{topic}-2")]
    client.url_group.delete(topic)
    with pytest.raises(QStashError):
        client.url_group.get(topic)


# ---- callbacks ----

def test_a_callback_is_verified(client, receiver, topic, verify):
    sent = client.message.publish(url=receiver.url(f"/{topic}"), body="x", callback=receiver.url(f"/{topic}-done"))
    arrival, = arrivals(receiver, f"/{topic}-done", 1)
    told = json.loads(arrival.body)
    assert told["sourceMessageId"] == sent.message_id and told["url"] == receiver.url(f"/{topic}") and told["retried"] == 0
    verify(arrival, receiver.url(f"/{topic}-done"))


def test_a_failure_callback_names_the_dead_letter(client, receiver, topic, verify):
    receiver.script(f"/{topic}", Answer(500, body=b"no"))
    client.message.publish(url=receiver.url(f"/{topic}"), body="x", retries=0, failure_callback=receiver.url(f"/{topic}-dead"))
    arrival, = arrivals(receiver, f"/{topic}-dead", 1)
    told = json.loads(arrival.body)
    assert told["status"] == 500 and base64.b64decode(told["body"]) == b"no" and base64.b64decode(told["sourceBody"]) == b"x"
    assert client.dlq.get(told["dlqId"]).message_id == told["sourceMessageId"]
    verify(arrival, receiver.url(f"/{topic}-dead"))
