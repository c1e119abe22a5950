"""URL groups: /v2/topics, and messages that are published to a group."""

import pytest

from patience import until
from qstash import QStash, arrivals


@pytest.fixture(scope="module")
def qstash():
    server = QStash()
    yield server
    server.stop()


def put(qstash, name, *endpoints):
    reply = qstash.call("POST", f"topics/{name}/endpoints", {"endpoints": list(endpoints)})
    assert (reply.status, reply.body) == (200, b"")


def get(qstash, name):
    return qstash.call("GET", f"topics/{name}").expect(200)


def url(number):
    return f"https://example.com/{number}"


# ---- the groups ----

def test_a_group_is_made_changed_and_removed(qstash, topic):
    put(qstash, topic, {"name": "one", "url": url(1)}, {"url": url(2)})
    group = get(qstash, topic)
    created = group.pop("createdAt")
    assert group == {"name": topic, "updatedAt": created, "endpoints": [{"name": "one", "url": url(1)}, {"url": url(2)}]}
    put(qstash, topic, {"name": "one", "url": url(3)}, {"name": "two", "url": url(2)}, {"name": "four", "url": url(4)})
    group = get(qstash, topic)
    assert group["endpoints"] == [{"name": "one", "url": url(3)}, {"name": "two", "url": url(2)}, {"name": "four", "url": url(4)}]
    assert group["createdAt"] == created and group["updatedAt"] >= created
    assert topic in [group["name"] for group in qstash.call("GET", "topics").expect(200)]
    reply = qstash.call("DELETE", f"topics/{topic}/endpoints", {"endpoints": [{"name": "one"}, {"url": url(4)}]})
    assert (reply.status, reply.body) == (200, b"")
    assert get(qstash, topic)["endpoints"] == [{"name": "two", "url": url(2)}]
    for _ in range(2):
        assert qstash.call("DELETE", f"topics/{topic}").status == 200
    reply = qstash.call("GET", f"topics/{topic}")
    assert reply.status == 404 and reply.json["error"] == f"topic {topic} not found"


def test_a_group_without_endpoints_ceases_to_exist(qstash, topic):
    put(qstash, topic, {"name": "one", "url": url(1)})
    assert qstash.call("DELETE", f"topics/{topic}/endpoints", {"endpoints": [{"name": "one"}]}).status == 200
    assert qstash.call("GET", f"topics/{topic}").status == 404
    assert topic not in [group["name"] for group in qstash.call("GET", "topics").expect(200)]
    assert qstash.call("DELETE", f"topics/{topic}/endpoints", {"endpoints": [{"name": "one"}]}).status == 404


def test_too_many_endpoints_are_refused_and_none_is_lost(qstash, topic):
    asked = [{"name": f"n{number}", "url": url(number)} for number in range(101)]
    for method in ("POST", "DELETE"):
        reply = qstash.call(method, f"topics/{topic}/endpoints", {"endpoints": asked})
        assert reply.status == 400 and "at most 100 endpoints" in reply.json["error"]
        assert qstash.call("GET", f"topics/{topic}").status == 404
        put(qstash, topic, *asked[:100])
        assert get(qstash, topic)["endpoints"] == asked[:100]
        qstash.call("DELETE", f"topics/{topic}").expect(200)
    put(qstash, topic, *asked[:60])
    assert qstash.call("POST", f"topics/{topic}/endpoints", {"endpoints": asked[60:]}).status == 400
    assert qstash.call("DELETE", f"topics/{topic}/endpoints", {"endpoints": asked}).status == 400
    assert get(qstash, topic)["endpoints"] == asked[:60]


@pytest.mark.parametrize("body", ["", "[]", "{}", {"endpoints": []}, {"endpoints": [1]}, {"endpoints": [{"name": "a"}]}, {"endpoints": [{"url": "ftp://h/"}]},
                                  {"endpoints": [{"name": "a\n", "url": "https://h/"}]}, {"endpoints": [{"name": "a" * 129, "url": "https://h/"}]}, {"endpoints": [{"url": "https://h/" + "a" * 3000}]},
                                  {"endpoints": [{"url": f"https://example.com/{n}/" + "a" * 1500} for n in range(60)]}], ids=lambda body: str(body)[:40])
def test_wrong_endpoints_are_refused(qstash, topic, body):
    assert qstash.call("POST", f"topics/{topic}/endpoints", body).status == 400
    assert qstash.call("GET", f"topics/{topic}").status == 404


def test_names_of_endpoints_may_be_any_text(qstash, topic):
    name = "Erster Endpunkt, ä/b"
    put(qstash, topic, {"name": name, "url": url(1)}, {"name": name + "2", "url": url(2)})
    assert qstash.call("DELETE", f"topics/{topic}/endpoints", {"endpoints": [{"name": name}]}).status == 200
    assert get(qstash, topic)["endpoints"] == [{"name": name + "2", "url": url(2)}]


def test_a_group_has_at_most_100_endpoints(qstash, topic):
    put(qstash, topic, *({"url": url(number)} for number in range(100)))
    reply = qstash.call("POST", f"topics/{topic}/endpoints", {"endpoints": [{"url": url(100)}]})
    assert reply.status == 400 and "100" in reply.json["error"] and len(get(qstash, topic)["endpoints"]) == 100
    put(qstash, topic, {"name": "known", "url": url(7)})


def test_a_url_is_in_a_group_once(qstash, topic):
    put(qstash, topic, {"name": "one", "url": url(1)}, {"name": "two", "url": url(2)}, {"name": "three", "url": url(3)})
    put(qstash, topic, {"name": "three", "url": url(1)})
    assert get(qstash, topic)["endpoints"] == [{"name": "two", "url": url(2)}, {"name": "three", "url": url(1)}]
    put(qstash, topic, {"name": "two", "url": url(1)}, {"name": "three", "url": url(2)})
    assert get(qstash, topic)["endpoints"] == [{"name": "two", "url": url(1)}, {"name": "three", "url": url(2)}]


def test_the_longest_name_of_a_group(qstash):
    reply = qstash.call("POST", f"topics/{'n' * 122}/endpoints", {"endpoints": [{"url": url(1)}]})
    assert reply.status == 400 and "at most 121 characters of" in reply.json["error"]
    put(qstash, "n" * 121, {"url": url(1)})


@pytest.mark.parametrize("headers, words", [
    ({"Upstash-Retries": "abc"}, "Upstash-Retries"), ({"Upstash-Retries": 3}, "Upstash-Retries"), ({"Upstash-Delay": ["soon"]}, "Upstash-Delay"),
    ({"Upstash-Retries": []}, "Upstash-Retries"), ({"Upstash-Label": ["a", 1]}, "Upstash-Label"), ({"Upstash-Forward-X": "\n"}, "X")])
def test_wrong_settings_of_a_group_are_refused(qstash, topic, headers, words):
    put(qstash, topic, {"url": url(1)})
    reply = qstash.call("PATCH", f"topics/{topic}", {"headers": headers})
    assert reply.status == 400 and words in reply.json["error"]
    qstash.call("POST", f"publish/{topic}", b"", Upstash_Delay="1h").expect(200)


# ---- messages ----

def test_each_endpoint_gets_a_message(qstash, receiver, topic):
    targets = [f"/{topic}.{name}" for name in "ab"]
    put(qstash, topic, {"name": "a", "url": receiver.url(targets[0])}, {"url": receiver.url(targets[1])})
    answer = qstash.call("POST", f"publish/{topic}", b"hello", Upstash_Forward_X="1").expect(200)
    assert [item["url"] for item in answer] == [receiver.url(target) for target in targets]
    for item, target in zip(answer, targets):
        arrival, = arrivals(receiver, target, 1)
        assert (arrival.body, arrival.job_id, arrival.headers["x"]) == (b"hello", item["messageId"], "1")
        assert arrival.headers["upstash-topic-name"] == topic


def test_an_unknown_group_is_not_found(qstash, topic):
    reply = qstash.call("POST", f"publish/{topic}", b"")
    assert reply.status == 404 and reply.json["error"] == f"topic {topic} not found"


def test_a_group_may_forward_all_headers(qstash, receiver, topic):
    put(qstash, topic, {"name": "one", "url": receiver.url(f"/{topic}")})
    reply = qstash.call("PATCH", f"topics/{topic}", {"headers": {"Upstash-Header-Forward": "true"}})
    assert reply.status == 200
    qstash.call("POST", f"publish/{topic}", b"x", X_Own="1").expect(200)
    assert arrivals(receiver, f"/{topic}", 1)[0].headers["x-own"] == "1"


def test_the_settings_of_a_group_are_defaults(qstash, topic):
    put(qstash, topic, {"name": "a", "url": url(1)})
    reply = qstash.call("PATCH", f"topics/{topic}", {"headers": {"Upstash-Retries": "5", "Upstash-Delay": ["1h"], "upstash-forward-x": "y"}})
    assert (reply.status, reply.body) == (200, b"")
    put(qstash, topic, {"name": "a", "url": url(2)})  # the settings stay

    def publish(**headers):
        answer, = qstash.call("POST", f"publish/{topic}", b"", **headers).expect(200)
        return qstash.call("GET", f"messages/{answer['messageId']}").expect(200)
    message = publish()
    assert (message["maxRetries"], message["header"], message["topicName"], message["endpointName"]) == (5, {"X": ["y"]}, topic, "a")
    message = publish(Upstash_Retries="1", Upstash_Forward_X="z")
    assert (message["maxRetries"], message["header"]) == (1, {"X": ["z"]})


def test_a_duplicate_is_one_for_each_endpoint(qstash, receiver, topic):
    targets = [f"/{topic}.{name}" for name in "ab"]
    put(qstash, topic, *({"url": receiver.url(target)} for target in targets))
    first, again = (qstash.call("POST", f"publish/{topic}", b"", Upstash_Deduplication_Id=topic).expect(200) for _ in range(2))
    assert [item["messageId"] for item in first] == [item["messageId"] for item in again]
    assert all(item["deduplicated"] for item in again)
    for target in targets:
        arrivals(receiver, target, 1)


def test_a_group_in_a_batch_and_in_a_queue(qstash, receiver, topic):
    targets = [f"/{topic}.{name}" for name in "ab"]
    put(qstash, topic, *({"url": receiver.url(target)} for target in targets))
    answer = qstash.call("POST", "batch", [{"destination": topic, "body": "1"}, {"destination": url(1), "headers": {"upstash-delay": "1h"}}]).expect(200)
    assert [item["url"] for item in answer[0]] == [receiver.url(target) for target in targets] and answer[1]["messageId"]
    answer = qstash.call("POST", f"enqueue/{topic}/{topic}", b"2").expect(200)
    assert all(item["messageId"].startswith(f"msg_queue.{topic}.") for item in answer)
    for target in targets:
        assert sorted(arrival.body for arrival in arrivals(receiver, target, 2)) == [b"1", b"2"]
    until(lambda: qstash.call("GET", f"queues/{topic}").expect(200)["lag"] == 0, 10, "an empty queue")


def test_a_publish_sends_all_messages_or_none(topic):
    qstash = QStash("--max-jobs", "5")
    try:
        put(qstash, topic, *({"url": url(number)} for number in range(3)))

        def publish(**headers):
            return qstash.call("POST", f"publish/{topic}", b"", Upstash_Delay="1h", **headers)

        def waiting():
            return len(qstash.get("/jobs?state=delayed&limit=100").expect(200)["jobs"])
        assert [item["url"] for item in publish(Upstash_Deduplication_Id="one").expect(200)] == [url(number) for number in range(3)]
        reply = publish()
        assert reply.status == 507 and "too many messages" in reply.json["error"] and waiting() == 3
        answer = qstash.call("POST", "batch", [{"destination": topic, "headers": {"upstash-delay": "1h"}}, {"destination": url(9), "headers": {"upstash-delay": "1h"}}]).expect(200)
        assert "error" in answer[0] and answer[1]["messageId"] and waiting() == 4
        # Three messages are duplicates, so only the fourth needs room. Then the pool is full.
        put(qstash, topic, {"url": url(3)})
        assert [item.get("deduplicated") for item in publish(Upstash_Deduplication_Id="one").expect(200)] == [True, True, True, None]
        put(qstash, topic, {"url": url(4)})
        assert publish(Upstash_Deduplication_Id="one").status == 507 and waiting() == 5
    finally:
        qstash.stop()


def test_an_endpoint_that_cannot_get_messages_does_not_stop_the_others(qstash, topic):
    put(qstash, topic, {"url": "http://192.168.0.1/"}, {"url": url(1)})
    refused, sent = qstash.call("POST", f"publish/{topic}", b"", Upstash_Delay="1h").expect(200)
    assert "192.168.0.1" in refused["error"] and sent["url"] == url(1)
