"""The unmodified client in Python: each method of its parts."""

import time

import pytest
import qstash
from qstash.errors import QStashError, SignatureError

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
    """Publishes a message that dies. Returns its dead letter."""
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
    assert client.dlq.get(letter.dlq_id).message_id == letter.message_id
    assert [each.dlq_id for each in client.dlq.list(filter={"label": topic}).messages] == [letter.dlq_id]
    client.dlq.delete(letter.dlq_id)
    with pytest.raises(QStashError):
        client.dlq.get(letter.dlq_id)


def test_many_dead_letters_are_deleted(client, receiver, topic):
    letters = [dead(client, receiver, f"{topic}-{number}") for number in range(2)]
    assert client.dlq.delete_many([letter.dlq_id for letter in letters]) == 2


# ---- keys ----

def test_signing_keys(client):
    keys = client.signing_key.get()
    rotated = client.signing_key.rotate()
    assert rotated.current == keys.next and rotated.next not in (keys.current, keys.next)


def test_a_delivery_is_verified_with_the_next_key(client, receiver, topic):
    """A receiver that has the keys from before a rotation verifies deliveries of after it."""
    before = client.signing_key.get()
    client.signing_key.rotate()
    client.message.publish(url=receiver.url(f"/{topic}"), body="x")
    arrival, = arrivals(receiver, f"/{topic}", 1)
    qstash.Receiver(before.current, before.next).verify(signature=arrival.headers["upstash-signature"], body="x",
                                                        url=receiver.url(f"/{topic}"))
