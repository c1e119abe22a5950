"""Requests that parsers may read in two ways are refused, or read in one way only. A request that is hidden in
another request does not run, and no connection hangs."""

import re
import socket
import time

import pytest

import contract
from duepost import Duepost, parse
from patience import SLOW
from fronts import FRONTS
from raw_requests import CLOSED, LEGAL, NEVER, get

VICTIM = {"topic": "raw", "jobId": "victim", "url": "http://127.0.0.1:9/", "delay": 3600}
LAST = b"GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
DEADLINE = 0.7


@pytest.fixture(scope="module")
def hasty():
    """A server that accepts the Host that nginx sends: the name of nginx's upstream. So if SECOND is refused, the
    reason is never its Host, but the bytes around it."""
    started = Duepost("--header-timeout", f"{DEADLINE}s", "--body-timeout", f"{DEADLINE}s", "--answer-timeout", f"{DEADLINE}s",
                      "--hosts", "duepost", "--dashboard", "off")
    started.schedule(**VICTIM)
    yield started
    started.stop()


def replies_in(data, head=None):
    """Splits the answers by their Content-Length. head: the index of the answer to a HEAD request; this answer has no
    body."""
    number = 0
    while data:
        reply = parse(data)
        size = 0 if number == head else int(reply.headers.get("Content-Length", "0"))
        data, reply.body = reply.body[size:], reply.body[:size]
        number += 1
        yield reply
        if reply.status > 100 and "Content-Type" not in reply.headers:
            return  # libmicrohttpd made this answer itself: it is the connection's last one, and its head may be sent twice


def converse(server, data, count=1):
    """Sends data, and returns all bytes of the answers. When count answers have arrived, sends the request LAST,
    which ends the connection."""
    received, is_last_sent = b"", False
    with socket.create_connection((server.host, server.port), timeout=(DEADLINE + 5) * SLOW) as link:
        link.sendall(data)
        try:
            while piece := link.recv(65536):
                received += piece
                if not is_last_sent and received.count(b"\r\n\r\n") >= count:
                    is_last_sent = True
                    link.sendall(LAST)
        except (ConnectionResetError, BrokenPipeError):
            pass
    return received


def victim_lived(server):
    """Returns whether the job VICTIM still exists. Otherwise schedules it again for the next test."""
    return server.post(VICTIM, check=False).status == 200


def place_of(data):
    """Returns method and target of the request for the check against the contract. If they cannot be read, returns
    GET and /."""
    found = re.match(rb"([A-Z]+) (?:https?://[^/ ]+)?(/[^ ]*) HTTP/", data, re.I)
    return (found[1].decode(), found[2].decode("latin-1")) if found else ("GET", "/")


@pytest.mark.parametrize("data, statuses", [pytest.param(data, statuses, id=name) for name, data, statuses in NEVER])
def test_nothing_behind_it_runs(hasty, data, statuses):
    began = time.monotonic()
    received = converse(hasty, data)
    took = time.monotonic() - began
    assert victim_lived(hasty), received
    assert took < (DEADLINE + 1) * SLOW
    replies = [reply for reply in replies_in(received, 0 if data.startswith(b"HEAD") else None) if reply.status != 100]
    assert (replies[0].status if replies else CLOSED) in statuses, received
    if replies:
        first = replies[0]
        contract.check(*place_of(data), first.status, first.headers, first.body)
        assert "Date" in first.headers
        assert len(replies) == 1 or first.headers.get("Connection") != "close"
    assert [reply.status for reply in replies[1:]] in ([], [200]), received


@pytest.mark.parametrize("data, statuses", [pytest.param(data, statuses, id=name) for name, data, statuses in NEVER])
def test_nothing_behind_it_runs_later_on_a_connection(hasty, data, statuses):
    """A valid request precedes the invalid one in the same packet. So the invalid request begins in the middle of the
    server's buffer."""
    received = converse(hasty, get() + data, 2)
    assert victim_lived(hasty), received
    first, *replies = [reply for reply in replies_in(received, 1 if data.startswith(b"HEAD") else None) if reply.status != 100]
    assert first.status == 200
    assert (replies[0].status if replies else CLOSED) in statuses, received


@pytest.mark.parametrize("data, statuses", [pytest.param(data, statuses, id=name) for name, data, statuses in LEGAL])
def test_a_second_request_that_is_valid_runs(hasty, data, statuses):
    replies = list(replies_in(converse(hasty, data)))
    assert replies[0].status in statuses
    assert [reply.status for reply in replies[1:]] == [200, 200]
    assert not victim_lived(hasty)


def test_a_client_of_http_1_0_gets_no_100_continue(hasty):
    """RFC 9110, section 10.1.1: a server ignores "Expect: 100-continue" in a request of HTTP/1.0."""
    head = b"POST /jobs HTTP/1.0\r\nContent-Type: application/json\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n"
    assert not converse(hasty, head + b"{}").startswith(b"HTTP/1.1 100")


# A proxy in front of duepost refuses all DELETE requests. So SECOND, which is a DELETE, runs only if duepost sees a
# request where the proxy saw none.

@pytest.fixture(scope="module", params=FRONTS)
def front(request, hasty):
    started = FRONTS[request.param](hasty.port)
    yield started
    started.stop()


@pytest.mark.parametrize("data", [pytest.param(data, id=name) for name, data, _ in NEVER + LEGAL])
def test_nothing_gets_past_a_proxy(hasty, front, data):
    began = time.monotonic()
    received = converse(front, data)
    took = time.monotonic() - began
    assert victim_lived(hasty), received
    assert took < 5 * SLOW
    assert any(reply.status == 200 and reply.json["ready"] for reply in replies_in(converse(front, LAST))), "another's answer"
