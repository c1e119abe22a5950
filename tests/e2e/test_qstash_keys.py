"""Signing keys, and the signatures of deliveries."""

import pytest

from duepost import run
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
    """Until two seconds after the removal of the keys, messages may be sent unsigned."""
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


# ---- the development mode ----

PUBLIC = {"current": "sig_7kYjw48mhY7kAjqNGcy6cr29RJ6r", "next": "sig_5ZB6DVzB1wjE8S6rZ7eenA8Pdnhs"}


def test_the_development_mode_has_public_keys(data, receiver, topic):
    server = QStash("--qstash-dev", "on", data=data)
    assert "qstash-dev is on: deliveries are signed with keys that anyone can use" in server.log()
    server.publish(receiver.url(f"/{topic}"), "x")
    verified(arrivals(receiver, f"/{topic}", 1)[0], PUBLIC["current"], receiver.url(f"/{topic}"))
    assert keys(server) == PUBLIC
    reply = server.call("POST", "keys/rotate")
    assert reply.status == 400 and "fixed" in reply.json["error"] and keys(server) == PUBLIC
    server.stop()
    server = QStash(data=data)
    server.publish(receiver.url(f"/{topic}-2"), "x")
    arrival, = arrivals(receiver, f"/{topic}-2", 1)
    assert not set(keys(server).values()) & set(PUBLIC.values())
    verified(arrival, keys(server)["current"], receiver.url(f"/{topic}-2"))
    server.stop()


def test_the_development_mode_keeps_other_keys(data):
    server = QStash(data=data)
    before = keys(server)
    server.stop()
    server = QStash("--qstash-dev", "on", data=data)
    for method, path in ("POST", "publish/https://example.com"), ("GET", "keys"):
        reply = server.call(method, path)
        assert reply.status == 503 and "there are signing keys already" in reply.json["error"]
    server.stop()
    server = QStash(data=data)
    assert keys(server) == before
    server.stop()


@pytest.mark.parametrize("options, error", [
    (["--qstash-dev", "on"], "needs qstash"),
    (["--qstash-dev", "on", "--qstash", "on", "--tokens", "/dev/null"], "cannot be combined with tokens"),
    (["--qstash-dev", "on", "--qstash", "on", "--listen", "0.0.0.0:0"], "which --qstash-dev does not allow"),
    (["--qstash-dev", "on", "--qstash", "on", "--listen", "127.0.0.1:0", "--health-listen", "[::]:0"], "which --qstash-dev does not allow"),
])
def test_the_development_mode_is_refused(tmp_path, options, error):
    result = run(*options, "--data", str(tmp_path / "d"))
    assert result.returncode != 0 and "listening" not in result.stdout and error in result.stderr
