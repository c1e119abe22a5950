"""Queues: POST, GET, DELETE /v2/queues, pause and resume, POST /v2/enqueue."""

import pytest

from patience import until, watch
from qstash import QStash, arrivals
from receiver import Answer


@pytest.fixture(scope="module")
def qstash():
    server = QStash()
    yield server
    server.stop()


def enqueue(qstash, queue, url, body=None, **headers):
    reply = qstash.call("POST", f"enqueue/{queue}/{url}", body, **headers).expect(200)
    assert reply["messageId"].startswith(f"msg_queue.{queue}.")
    return reply["messageId"]


def put(qstash, queue, **members):
    reply = qstash.call("POST", "queues", {"queueName": queue, **members})
    assert (reply.status, reply.body) == (200, b"")


def get(qstash, queue):
    return qstash.call("GET", f"queues/{queue}").expect(200)


def names(qstash):
    return [queue["name"] for queue in qstash.call("GET", "queues").expect(200)]


def change(qstash, queue, what):
    reply = qstash.call("POST", f"queues/{queue}/{what}")
    assert (reply.status, reply.body) == (200, b"")


# ---- the queues themselves ----

def test_a_queue_is_made_changed_and_removed(qstash, topic):
    put(qstash, topic, parallelism=2)
    queue = get(qstash, topic)
    created = queue["createdAt"]
    assert queue == {"name": topic, "createdAt": created, "updatedAt": created, "parallelism": 2, "lag": 0, "paused": False}
    put(qstash, topic, parallelism=5, paused=True)
    queue = get(qstash, topic)
    assert (queue["parallelism"], queue["paused"], queue["createdAt"]) == (5, True, created) and queue["updatedAt"] >= created
    put(qstash, topic)
    assert get(qstash, topic)["parallelism"] == 5
    assert topic in names(qstash)
    for _ in range(2):
        reply = qstash.call("DELETE", f"queues/{topic}")
        assert (reply.status, reply.body) == (200, b"")
    assert qstash.call("GET", f"queues/{topic}").status == 404 and topic not in names(qstash)


def test_a_list_has_all_queues_and_nothing_else(qstash, topic):
    wanted = [f"{topic}.{number:03}" for number in range(120)]
    for queue in wanted:
        put(qstash, queue)
    qstash.publish("https://example.com/", Upstash_Delay="1h", Upstash_Flow_Control_Key=topic, Upstash_Flow_Control_Value="rate=1")
    assert [name for name in names(qstash) if name.startswith(topic)] == wanted


def test_the_native_api_shows_the_settings_and_cannot_change_them(qstash, topic):
    put(qstash, topic, parallelism=1)
    shown = qstash.request("GET", f"/topics/qstash~queue.{topic}").expect(200)
    assert shown["settings"] == {"order": "fifo"}
    put(qstash, topic, parallelism=3, paused=True)
    shown = qstash.request("GET", f"/topics/qstash~queue.{topic}").expect(200)
    assert shown["settings"] == {"paused": True, "maxInFlight": 3}
    assert qstash.request("DELETE", f"/topics/qstash~queue.{topic}", check=False).status == 403


@pytest.mark.parametrize("body, word", [("", "object"), ("[]", "object"), ("{}", "queueName"), ('{"queueName":"a/b"}', "queueName"),
                                        ('{"queueName":"a","parallelism":0}', "parallelism"), ('{"queueName":"a","parallelism":"2"}', "parallelism"),
                                        ('{"queueName":"a","paused":1}', "paused"), ('{"queueName":"%s"}' % ("a" * 200), "queueName")])
def test_wrong_requests_are_refused(qstash, body, word):
    reply = qstash.call("POST", "queues", body)
    assert reply.status == 400 and word in reply.json["error"]


def test_unknown_queues(qstash, topic):
    for method, path in (("GET", topic), ("POST", f"{topic}/pause"), ("POST", f"{topic}/resume")):
        reply = qstash.call(method, f"queues/{path}")
        assert reply.status == 404 and topic in reply.json["error"]
    assert qstash.call("GET", "queues/a~b").status == 400
    assert qstash.call("POST", "enqueue/a~b/https://example.com/").status == 400
    assert topic not in names(qstash)


# ---- delivery ----

def test_enqueue_makes_the_queue(qstash, receiver, topic):
    message_id = enqueue(qstash, topic, receiver.url(f"/{topic}"), b"hello")
    arrival, = arrivals(receiver, f"/{topic}", 1)
    assert (arrival.body, arrival.job_id) == (b"hello", message_id)
    queue = get(qstash, topic)
    assert (queue["parallelism"], queue["paused"]) == (1, False)
    until(lambda: get(qstash, topic)["lag"] == 0, 10, "an empty queue")


def test_messages_are_delivered_in_order_also_when_one_fails(qstash, receiver, topic):
    target = f"/{topic}"
    put(qstash, topic, paused=True)
    for number in (1, 2, 3):
        enqueue(qstash, topic, receiver.url(target), str(number).encode(), Upstash_Retries=2 if number == 1 else 1,
                Upstash_Retry_Delay="50")
    receiver.script(target, 500, 500, 200, 500, 500, 200)  # both attempts of the second message fail
    assert get(qstash, topic)["lag"] == 3
    change(qstash, topic, "resume")
    bodies = [arrival.body for arrival in arrivals(receiver, target, 6)]
    assert bodies == [b"1", b"1", b"1", b"2", b"2", b"3"]
    until(lambda: get(qstash, topic)["lag"] == 0, 10, "an empty queue")


def test_a_message_that_waits_for_its_retry_holds_the_queue(qstash, receiver, topic):
    target = f"/{topic}"
    receiver.script(target, 500)
    first = enqueue(qstash, topic, receiver.url(target), b"1", Upstash_Retry_Delay="3600000")
    second = enqueue(qstash, topic, receiver.url(target), b"2")
    arrivals(receiver, target, 1)
    watch(1, lambda: receiver.count(target) == 1, "the second message waits")
    assert get(qstash, topic)["lag"] == 2
    assert qstash.call("DELETE", f"messages/{first}").status == 200
    receiver.script(target, 200)
    until(lambda: receiver.of(target)[-1].job_id == second, 10, "the second message")


@pytest.mark.parametrize("parallelism", [1, 2, 3])
def test_parallelism_is_never_exceeded(qstash, receiver, topic, parallelism):
    target = f"/{topic}"
    receiver.script(target, Answer(200, delay=0.2))
    put(qstash, topic, parallelism=parallelism, paused=True)
    for _ in range(9):
        enqueue(qstash, topic, receiver.url(target))
    change(qstash, topic, "resume")
    found = arrivals(receiver, target, 9, 30)
    until(lambda: get(qstash, topic)["lag"] == 0, 20, "an empty queue")
    assert most_at_once(found) == parallelism


def most_at_once(found):
    """Returns the highest number of requests that were under way at the same time. A request that ends when the next
    one begins does not overlap with it."""
    times = sorted([(arrival.at_ms, 1) for arrival in found] + [(arrival.answered_at_ms, -1) for arrival in found])
    running = most = 0
    for _, step in times:
        running += step
        most = max(most, running)
    return most


def test_a_paused_queue_delivers_nothing(qstash, receiver, topic):
    target = f"/{topic}"
    put(qstash, topic)
    change(qstash, topic, "pause")
    enqueue(qstash, topic, receiver.url(target))
    watch(1, lambda: receiver.count(target) == 0, "nothing is delivered")
    assert get(qstash, topic)["paused"] is True and get(qstash, topic)["lag"] == 1
    change(qstash, topic, "resume")
    arrivals(receiver, target, 1)
    assert get(qstash, topic)["paused"] is False


def test_queues_are_independent(qstash, receiver, topic):
    put(qstash, f"{topic}.a", paused=True)
    enqueue(qstash, f"{topic}.a", receiver.url(f"/{topic}"), b"a")
    enqueue(qstash, f"{topic}.b", receiver.url(f"/{topic}"), b"b")
    assert arrivals(receiver, f"/{topic}", 1)[0].body == b"b"


def test_queues_outlive_a_restart(topic, tmp_path):
    server = QStash(data=str(tmp_path))
    put(server, topic, parallelism=4, paused=True)
    before = get(server, topic)
    server.stop()
    server = QStash(data=str(tmp_path))
    try:
        assert get(server, topic) == before
    finally:
        server.stop()
