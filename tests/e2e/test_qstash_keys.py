"""Signing keys, and the signatures of deliveries."""

import pytest

from patience import until
from qstash import QStash, arrivals, verified
from receiver import Answer


@pytest.fixture(scope="module")
def qstash():
    server = QStash()
    yield server
    server.stop()


def keys(qstash):
    return qstash.call("GET", "keys").expect(200)


@pytest.mark.parametrize("body", [b"", b'{"hello":"world"}', b"\x00\xff"])
def test_each_attempt_is_signed_with_the_current_key(qstash, receiver, topic, body):
    receiver.script(f"/{topic}?a=%20b", Answer(500, headers=(("Retry-After", "0"),)), Answer(200))
    url = receiver.url(f"/{topic}?a=%20b")
    qstash.publish(url, body)
    found = arrivals(receiver, f"/{topic}?a=%20b", 2)
    claims = [verified(each, keys(qstash)["current"], url) for each in found]
    assert claims[0]["jti"] != claims[1]["jti"]


def test_keys_stay_until_they_are_rotated(qstash, receiver, topic):
    before = keys(qstash)
    assert keys(qstash) == before and all(len(key) == 32 and key.startswith("sig_") for key in before.values())
    after = qstash.call("POST", "keys/rotate").expect(200)
    assert after["current"] == before["next"] and after["next"] not in before.values() and keys(qstash) == after
    assert qstash.call("POST", "rotate").expect(200)["current"] == after["next"]
    qstash.publish(receiver.url(f"/{topic}"))
    verified(arrivals(receiver, f"/{topic}", 1)[0], keys(qstash)["current"], receiver.url(f"/{topic}"))


def test_settings_of_the_topic_hide_and_keep_the_keys(qstash):
    before = keys(qstash)
    settings = qstash.request("PATCH", "/topics/qstash", b'{"weight":2}', {"Content-Type": "application/json"}).expect(200)
    assert before["current"] not in str(settings)
    shown = qstash.request("PUT", "/topics/qstash", b'{"weight":3}', {"Content-Type": "application/json"}).expect(200)
    assert before["current"] not in str(shown) and keys(qstash) == before


def test_keys_survive_a_restart(data):
    first = QStash(data=data)
    before = keys(first)
    first.stop()
    second = QStash(data=data)
    assert keys(second) == before
    second.stop()


def test_keys_that_were_removed_are_made_anew(qstash, receiver, topic):
    """A message that is published within two seconds may be unsigned."""
    before = qstash.call("GET", "keys").expect(200)
    qstash.publish(receiver.url(f"/{topic}"))
    qstash.request("DELETE", "/topics/qstash").expect(200)

    def is_signed():
        count = receiver.count(f"/{topic}")
        qstash.publish(receiver.url(f"/{topic}"))
        until(lambda: receiver.count(f"/{topic}") > count, 15, "a delivery")
        return "upstash-signature" in receiver.of(f"/{topic}")[-1].headers
    until(is_signed, 15, "a signed delivery", pause=0.2)
    assert qstash.call("GET", "keys").expect(200)["current"] != before["current"]
