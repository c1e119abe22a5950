"""Requests to the API of QStash, and the checks that its clients make on deliveries."""

import base64
import hashlib
import hmac
import json
import time

from duepost import Duepost
from patience import until


class QStashWithBreakers(Duepost):
    """A duepost with the API of QStash."""

    def __init__(self, *options, **named):
        super().__init__("--qstash", "on", *options, **named)

    def call(self, method, path, body=None, **headers):
        """In header names, _ stands for -. Every answer with a status of 400 or above must be {"error": ...}."""
        sent = {name.replace("_", "-"): str(value) for name, value in headers.items()}
        if isinstance(body, (dict, list)):
            body = json.dumps(body)
            sent.setdefault("Content-Type", "application/json")
        reply = self.request(method, f"/v2/{path}", body, sent, check=False)
        if reply.status >= 400:
            assert list(reply.json) == ["error"] and reply.json["error"], reply.body
        return reply

    def publish(self, destination, body=None, **headers):
        """Returns the messageId."""
        reply = self.call("POST", f"publish/{destination}", body, **headers).expect(200)
        assert reply["messageId"].startswith("msg_")
        return reply["messageId"]

    def await_end(self, message_id):
        until(lambda: self.call("GET", f"messages/{message_id}").status == 404, 15, f"the end of {message_id}")


class QStash(QStashWithBreakers):
    """Breakers are off, because the answers of one test's receiver must not hold the messages of others."""

    def __init__(self, *options, **named):
        super().__init__("--breaker", "off", *options, **named)


def arrivals(receiver, target, count, seconds=15):
    """Waits for this many requests to a target, and returns them."""
    until(lambda: receiver.count(target) >= count, seconds, lambda: f"{count} requests to {target}, there are {receiver.count(target)}")
    found = receiver.of(target)
    assert len(found) == count
    return found


def _from_base64url(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def verified(arrival, key, url, now=None):
    """Checks the signature of a delivery as the clients' receivers do. now: the server's time in s, if the test has
    moved the server's clock. Returns the claims of the signature."""
    head, claims, signature = arrival.headers["upstash-signature"].split(".")
    assert json.loads(_from_base64url(head)) == {"alg": "HS256", "typ": "JWT"}
    assert hmac.compare_digest(_from_base64url(signature), hmac.new(key.encode(), f"{head}.{claims}".encode(), hashlib.sha256).digest())
    read = json.loads(_from_base64url(claims))
    assert (read["iss"], read["sub"]) == ("Upstash", url)
    assert read["nbf"] == read["iat"] <= (now or time.time()) < read["exp"] == read["iat"] + 300
    assert _from_base64url(read["body"]) == hashlib.sha256(arrival.body).digest()
    return read
