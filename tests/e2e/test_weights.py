"""The weights of topics decide their shares of the attempts."""

import json
import time

import pytest

from patience import SLOW, until
from timestamp import from_ms

JSON = {"Content-Type": "application/json"}


def set_weight(server, topic, weight, **more):
    server.request("PUT", f"/topics/{topic}", json.dumps({"weight": weight, **more}), JSON).expect(200)


def test_topics_with_a_backlog_share_by_weight(start, receiver, topic):
    """All jobs are due at the same time. Each topic has jobs in proportion to its weight, so all topics have due jobs
    until the end."""
    server = start("--breaker", "off", "--max-in-flight", "16", "--reactors", "1")
    weights = {f"{topic}.a": 1, f"{topic}.b": 3, f"{topic}.c": 6}
    due = from_ms(time.time() * 1000 + 5000 * SLOW)
    for name, weight in weights.items():
        set_weight(server, name, weight)
        server.schedule_many([{"topic": name, "url": receiver.url(), "dueAt": due} for _ in range(1000 * weight)])
    until(lambda: sum(receiver.count(name) for name in weights) >= 10000, 180, "all deliveries")
    order = sorted((request for name in weights for request in receiver.of(name)), key=lambda request: request.at_ms)
    begun = [request.topic for request in order[500:9000]]
    for name, weight in weights.items():
        ideal = len(begun) * weight / 10
        assert 0.95 * ideal < begun.count(name) < 1.05 * ideal, (name, begun.count(name), ideal)


def test_a_weight_is_a_whole_number_from_1_to_100(server, topic):
    set_weight(server, topic, 100)
    assert server.get(f"/topics/{topic}").expect(200)["settings"]["weight"] == 100
    for wrong in (0, 101, 1.5, -1, "heavy", True):
        reply = server.request("PUT", f"/topics/{topic}", json.dumps({"weight": wrong}), JSON)
        assert reply.fields() == ["weight"]
    assert server.get(f"/topics/{topic}").expect(200)["settings"]["weight"] == 100


@pytest.mark.parametrize("weight", [1, 100])
def test_a_topic_that_is_alone_gets_all_attempts(server, receiver, topic, weight):
    set_weight(server, topic, weight)
    server.schedule_many([{"topic": topic, "url": receiver.url()} for _ in range(200)])
    until(lambda: receiver.count(topic) == 200, 30, "all deliveries")
