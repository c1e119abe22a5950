"""POST /v2/batch."""

import json

import pytest

from qstash import QStash, arrivals


@pytest.fixture(scope="module")
def qstash():
    server = QStash()
    yield server
    server.stop()


def batch(qstash, items):
    return qstash.call("POST", "batch", items)


def test_each_item_is_published_in_order(qstash, receiver, topic):
    items = [{"destination": receiver.url(f"/{topic}/{n}"), "headers": {"upstash-forward-N": str(n), "Content-Type": "text/plain"}, "body": f"é {n}"}
             for n in range(20)]
    answer = batch(qstash, items).expect(200)
    for n, each in enumerate(answer):
        arrival, = arrivals(receiver, f"/{topic}/{n}", 1)
        assert (arrival.job_id, arrival.body.decode(), arrival.headers["n"]) == (each["messageId"], f"é {n}", str(n))


@pytest.mark.parametrize("body, delivered", [('{"of": "us"}', b'{"of": "us"}'), ("[1,2]", b"[1,2]"), ("7.0", b"7.0"), ('"text"', b"text")])
def test_a_body_that_is_not_text_is_delivered_as_json(qstash, receiver, topic, body, delivered):
    batch(qstash, f'[{{"destination":"{receiver.url(f"/{topic}")}","body":{body}}}]').expect(200)
    assert arrivals(receiver, f"/{topic}", 1)[0].body == delivered


@pytest.mark.parametrize("item", [{}, {"headers": None, "body": None, "queue": None}, {"headers": {}, "body": "", "queue": ""},
                                  {"headers": {"UPSTASH-RETRIES": ["1"], "upstash-method": ["PUT"]}}])
def test_one_item_is_answered_as_an_array(qstash, receiver, topic, item):
    answer, = batch(qstash, [{"destination": receiver.url(f"/{topic}"), **item}]).expect(200)
    arrival, = arrivals(receiver, f"/{topic}", 1)
    assert arrival.job_id == answer["messageId"] and arrival.body == b""


def test_a_bad_item_has_its_error_and_the_others_are_sent(qstash, receiver, topic):
    good = {"destination": receiver.url(f"/{topic}")}
    answer = batch(qstash, [good, {"destination": "nonsense:"}, {"destination": "https://example.com/", "headers": {"Upstash-Delay": "x"}}, good]).expect(200)
    assert ["messageId" in each for each in answer] == [True, False, False, True]
    assert "error" in answer[1] and "Delay" in answer[2]["error"]
    arrivals(receiver, f"/{topic}", 2)


def test_if_all_fail_the_status_is_that_of_the_first(qstash):
    batch(qstash, [{"destination": ""}, {"destination": "nobody"}]).expect(400)
    batch(qstash, [{"destination": "nobody"}, {"destination": ""}]).expect(404)
    batch(qstash, [{"destination": "https://example.com/", "headers": {"Upstash-Retries": "1000"}}]).expect(412)


def test_duplicates_within_a_batch_count_once(qstash, topic):
    item = {"destination": f"https://example.com/{topic}", "headers": {"Upstash-Deduplication-Id": topic, "Upstash-Delay": "1h"}}
    first, second = batch(qstash, [item, item]).expect(200)
    assert second == {"messageId": first["messageId"], "deduplicated": True}


@pytest.mark.parametrize("body", [b"", b"{}", b"[", b"[1]", b"null", b'[{"a":1,"a":2}]', json.dumps([{}] * 1001).encode()])
def test_other_texts_are_refused(qstash, body):
    qstash.call("POST", "batch", body).expect(400)


def test_an_empty_batch_sends_nothing(qstash):
    assert batch(qstash, []).expect(200) == []
