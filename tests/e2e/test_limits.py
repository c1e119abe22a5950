"""Limits for clients: connections, time, memory. Clients at the limits leave room for health probes."""

import http.client
import json
import pathlib
import re
import select
import socket
import ssl
import subprocess
import sys
import time

import pytest

import contract
from duepost import Client, Duepost, parse, run
from fronts import FRONTS
from patience import SLOW, until
from receiver import Answer
from tls import Authority
from tokens import TokenFile
import scratch

EXTRAS = 16  # a reactor accepts this number of connections above the limit


class Link:
    """A connection on which a test controls each byte that is sent and read."""

    def __init__(self, server, data=b"", source="127.0.0.1", receive_bytes=None):
        self.socket = socket.socket()
        self.socket.settimeout(10 * SLOW)
        if receive_bytes:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
        self.socket.bind((source, 0))
        self.socket.connect((server.host, server.port))
        self.send(data)

    def send(self, data):
        self.socket.sendall(data)

    def ask(self, target="/healthz"):
        self.send(f"GET {target} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        return self.reply()

    def reply(self):
        received = b""
        while b"\r\n\r\n" not in received:
            piece = self.socket.recv(65536)
            assert piece, received
            received += piece
        reply = parse(received)
        while len(reply.body) < int(reply.headers["Content-Length"]):
            reply.body += self.socket.recv(65536)
        return reply

    def is_closed(self):
        self.socket.setblocking(False)
        try:
            return self.socket.recv(1) == b""
        except BlockingIOError:
            return False
        except ConnectionResetError:
            return True
        finally:
            self.socket.settimeout(10 * SLOW)

    def seconds_to_end(self):
        began = time.monotonic()
        try:
            while self.socket.recv(65536):
                pass
        except ConnectionResetError:
            pass
        return time.monotonic() - began

    def close(self):
        self.socket.close()


@pytest.fixture
def links():
    """Yields a function: links(server, count, ...) opens count connections."""
    opened = []

    def some(server, count, *args, **named):
        made = [Link(server, *args, **named) for _ in range(count)]
        opened.extend(made)
        return made
    yield some
    for link in opened:
        link.close()


@pytest.fixture
def fresh(start):
    """Returns a function: fresh(...) starts a duepost for this test, and closes the connections that the start has
    used."""
    def one(*options, **named):
        server = start("--health-listen", "127.0.0.1:0", *options, **named)
        server.close()
        until_connected(server, 0)
        return server
    return one


def health_of(server):
    host, port = re.search(r"event=health_listening at=http://([0-9.]+):(\d+)", server.log()).groups()
    return Client(host, int(port))


def connections(server):
    """Returns the number of connections that count for the limit. The connection of this request does not count."""
    return int(re.search(rb"^duepost_connections (\d+)$", health_of(server).get("/metrics").body, re.M)[1])


def until_connected(server, count):
    until(lambda: connections(server) == count, 5, lambda: f"{count} connections, there are {connections(server)}")


def test_health_is_answered_when_all_connections_are_used(fresh, links):
    server = fresh("--max-connections", "20", "--reactors", "2")
    busy = links(server, 20, b"GET /jobs")
    until_connected(server, 20)
    for _ in range(2 * EXTRAS):
        assert server.get("/healthz").status == 200
    assert server.get("/readyz").status == 200 and server.get("/metrics").status == 200
    refused = server.request("POST", "/jobs", "{}", {"Content-Type": "application/json"})
    assert refused.status == 503 and refused.headers["Retry-After"] and refused.headers["Connection"] == "close"
    for link in busy[:3]:
        link.close()
    until_connected(server, 17)
    assert server.get("/topics").status == 200
    assert not any(link.is_closed() for link in busy[3:])


def test_health_is_answered_while_many_clients_try_to_connect(start, links):
    server = start("--max-connections", "5", "--reactors", "2")
    crowd = links(server, 200, b"GET /healthz")
    for _ in range(20):
        began = time.monotonic()
        # Uses a new connection each time, because an idle connection is closed to make room for new ones.
        assert b"HTTP/1.1 200 " in server.raw(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", target="/healthz")
        assert time.monotonic() - began < 2 * SLOW
    until(lambda: sum(not link.is_closed() for link in crowd) <= 5 + 2 * EXTRAS, 5, "the oldest are closed")


def test_an_idle_connection_makes_room(fresh, links):
    server = fresh("--max-connections", "4", "--reactors", "1")
    kept = links(server, 4)
    for link in kept:
        assert link.ask().status == 200
    newer = links(server, 2)
    for link in newer:
        assert link.ask("/topics").status == 200
    assert [link.is_closed() for link in kept] == [True, True, False, False]


def test_an_address_has_its_part(fresh, links):
    server = fresh("--max-connections", "50", "--max-connections-per-address", "3", "--reactors", "2")
    links(server, 3, b"GET /", source="127.0.0.3")
    until_connected(server, 3)
    other = Client("127.0.0.1", server.port)
    assert other.get("/topics").status == 200
    whole = "/topics", "/access", "/tokens", "/audit", "/overview", "/cron?expression=@daily"
    for target, status in *((path, 503) for path in whole), ("/healthz", 200):
        link, = links(server, 1, source="127.0.0.3")
        reply = link.ask(target)
        assert reply.status == status
        contract.check("GET", target, status, reply.headers, reply.body)
    link, = links(server, 1, b"POST /schedules/a/a/preview HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}", source="127.0.0.3")
    reply = link.reply()
    assert reply.status == 503
    contract.check("POST", "/schedules/a/a/preview", 503, reply.headers, reply.body)
    assert other.get("/topics").status == 200
    other.close()


def test_a_proxy_on_this_host_has_no_limit_per_address(fresh, links):
    server = fresh("--max-connections", "12", "--reactors", "1")
    for link in links(server, 12, b"GET /topics HTTP/1.1\r\nHost: localhost\r\n\r\n"):
        assert link.reply().status == 200


def test_requests_that_wait_for_redis_are_bounded(start, redis, links, topic):
    own = redis()
    server = start("--max-waiting", "4", "--reactors", "1", redis=own)
    own.freeze()
    waiting = links(server, 1, f"GET /topics/{topic} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    while not select.select([waiting[-1].socket], [], [], 0.3)[0]:
        waiting += links(server, 1, f"GET /topics/{topic} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        assert len(waiting) < 10
    reply = waiting.pop().reply()
    assert reply.status == 503 and "no room" in reply.json["detail"] and len(waiting) == 4
    assert server.get("/healthz").status == 200
    own.thaw()
    for link in waiting:
        assert link.reply().status in (200, 503)
    until(lambda: server.get("/topics").status == 200, 10, "room again")


def unread(port):
    """Returns the number of bytes that clients of the port have sent and the process has not read."""
    rows = [line.split() for line in pathlib.Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return sum(int(queue, 16) for row in rows if row[3] == "01" and f":{port:04X}" in row[1] + row[2] for queue in row[4].split(":"))


def test_bodies_are_bounded_together(start, links, topic):
    server = start("--max-bodies", "4MiB", "--reactors", "1")
    size = 1 << 20
    head = f"POST /jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {size}\r\n\r\n".encode()
    large = links(server, 8, head + b" " * (size - 1))
    server.schedule(topic=topic, url="http://127.0.0.1:9/", delay=60, body="x" * 10000)
    until(lambda: unread(server.port) == 0, 10, lambda: f"{unread(server.port)} bytes are not read")
    for link in large:
        link.send(b"x")
    statuses = [link.reply().status for link in large]
    assert set(statuses) == {400, 503} and statuses.count(503) >= 4
    server.schedule(topic=topic, url="http://127.0.0.1:9/", delay=60, body="x" * 500000)


def test_unread_answers_are_bounded_together(start, links, topic):
    server = start("--max-bodies", "4MiB", "--reactors", "1")
    job = {"topic": topic, "url": "http://127.0.0.1:9/", "delay": 600, "body": "x" * 1000000}
    server.schedule(jobId="a", **job)
    ask = f"GET /jobs/{topic}/a HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
    lazy = links(server, 10, ask, receive_bytes=4096)
    until(lambda: server.get(f"/jobs/{topic}/a").status == 503, 5, "no more room")
    server.schedule(jobId="b", **{**job, "body": "x" * 10000})
    assert server.get(f"/jobs/{topic}/b").status == 200 and server.get("/metrics").status == 200
    for link in lazy:
        link.close()
    until(lambda: server.get(f"/jobs/{topic}/a").status == 200, 5, "room again")


def test_the_bodies_of_attempts_are_bounded_together(start, receiver, topic):
    """Claims take up to 4 MiB each, so at most 8 MiB and a job of each claim are in flight."""
    server = start("--max-bodies", "4MiB", "--reactors", "1")
    for number in range(16):
        receiver.script(topic, Answer(200, delay=2 * SLOW if number < 12 else 0), job_id=str(number))
    for number in range(16):
        server.schedule(topic=topic, jobId=str(number), url=receiver.url(), delay=2 * SLOW, timeout=60, body="x" * 1_000_000)
    until(lambda: receiver.count(topic) >= 4, 6 * SLOW, "the first attempts")
    time.sleep(0.5 * SLOW)
    assert receiver.count(topic) <= 10
    until(lambda: receiver.count(topic) == 16, 20 * SLOW, "all attempts")


@pytest.fixture(scope="module")
def hasty():
    started = Duepost("--header-timeout", "400ms", "--body-timeout", "700ms", "--answer-timeout", "500ms", "--reactors", "1")
    yield started
    started.stop()


def dribble(link, seconds):
    """Sends a byte now and then, which would satisfy an idle timer. Returns the seconds until the server closes the
    connection, or None if it does not."""
    began = time.monotonic()
    while time.monotonic() - began < seconds * SLOW:
        try:
            link.send(b"x")
        except OSError:
            return time.monotonic() - began
        if link.is_closed():
            return time.monotonic() - began
        time.sleep(0.05)
    return None


POST = b"POST /jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
SLOW_ONES = {
    "nothing": (b"", 0.4),
    "line": (b"GET /", 0.4),
    "head": (b"GET / HTTP/1.1\r\nHost: localhost\r\nX: ", 0.4),
    "body": (POST + b"Content-Length: 100000\r\n\r\n", 0.7),
    "chunk": (POST + b"Transfer-Encoding: chunked\r\n\r\n10000\r\n", 0.7),
    "extension": (POST + b"Transfer-Encoding: chunked\r\n\r\n1;", 0.7),
    "trailer": (POST + b"Transfer-Encoding: chunked\r\n\r\n0\r\nX: ", 0.7),
    "next line": (b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\nGET /", 1.2),  # at most three times the header timeout
    "next head": (b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\nGET / HTTP/1.1\r\nX: ", 0.4),
}


@pytest.mark.parametrize("name", SLOW_ONES)
def test_a_client_that_sends_slowly_is_disconnected(hasty, links, name):
    data, seconds = SLOW_ONES[name]
    link, = links(hasty, 1, data)
    if name.startswith("next"):
        link.reply()
    took = dribble(link, 8)
    assert took is not None, "it never was"
    assert seconds - 0.15 <= took or name == "next line"
    assert took <= seconds + 2 * SLOW


BUSY = """
import socket, sys
link = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
while True:
    link.sendall(b"GET /healthz HTTP/1.1\\r\\nHost: localhost\\r\\n\\r\\n")
    assert b" 200 " in link.recv(65536)
"""


def test_busy_clients_do_not_keep_slow_ones_connected(hasty, links):
    busy = [subprocess.Popen([sys.executable, "-c", BUSY, str(hasty.port)]) for _ in range(4)]
    try:
        slow = links(hasty, 50, b"GET / HTTP/1.1\r\nHost: localhost\r\nX: ")
        slow += links(hasty, 50, POST + b"Content-Length: 100000\r\n\r\n")
        until(lambda: all(link.is_closed() for link in slow), 4, lambda: f"{sum(not link.is_closed() for link in slow)} are open")
        assert [process.poll() for process in busy] == [None] * 4
    finally:
        for process in busy:
            process.kill()
            process.wait()


def test_a_client_that_sends_nothing_is_disconnected(hasty, links):
    for data in (b"", b"GET / HTTP/1.1\r\n", POST + b"Content-Length: 10\r\n\r\n"):
        link, = links(hasty, 1, data)
        assert link.seconds_to_end() < 3 * SLOW


def test_a_client_that_does_not_read_is_disconnected(hasty, links, topic):
    hasty.schedule(topic=topic, jobId="a", url="http://127.0.0.1:9/", delay=600, body="x" * 1000000)
    ask = f"GET /jobs/{topic}/a HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
    link, = links(hasty, 1, ask * 20, receive_bytes=4096)
    time.sleep(1.5 * SLOW)
    received = 0
    try:
        while piece := link.socket.recv(65536):
            received += len(piece)
    except ConnectionResetError:
        pass
    assert 0 < received < 20 * 1000000


def test_a_client_that_is_idle_between_requests_stays_connected(hasty, links):
    link, = links(hasty, 1)
    for _ in range(3):
        assert link.ask().status == 200
        time.sleep(1)


def test_health_has_an_address_of_its_own(start):
    server = start("--health-listen", "127.0.0.1:0", "--max-connections", "1", "--reactors", "2")
    health = health_of(server)
    for target in "/healthz", "/readyz", "/metrics":
        for _ in range(20):
            until(lambda: health.get(target).status == 200, 5, "every reactor is ready")
            assert health.get(target).headers["Connection"] == "close"
    for target in "/jobs", "/topics", "/":
        assert health.get(target).status == 404
    assert health.request("POST", "/jobs", "{}", {"Content-Type": "application/json"}).status == 404
    assert health.request("PUT", "/healthz").status == 405
    assert health.request("GET", "/healthz", "x" * 100000).status == 413
    job = {"topic": "t", "url": f"http://127.0.0.1:{health.port}/"}
    assert server.post(job).fields() == ["url"]


def test_beyond_loopback_health_takes_tokens_too(start):
    result = run("--listen", "127.0.0.1:0", "--health-listen", "0.0.0.0:0", "--data", str(scratch.directory("data")))
    assert result.returncode == 1 and "duepost token new" in result.stderr


def test_health_speaks_tls_where_the_api_does(start):
    authority = Authority()
    authority.issue("health", "IP:127.0.0.1")
    trust = ssl.create_default_context(cafile=authority.certificate)
    server = start("--health-listen", "127.0.0.1:0", "--tls-cert", str(authority.directory / "health.pem"),
                   "--tls-key", str(authority.directory / "health.key"), tls=trust)
    port = int(re.search(r"event=health_listening at=https://127.0.0.1:(\d+)", server.log())[1])
    link = http.client.HTTPSConnection("127.0.0.1", port, timeout=10 * SLOW, context=trust)
    link.request("GET", "/healthz")
    assert link.getresponse().status == 200
    link.close()


def test_health_is_answered_until_the_end(start, receiver, topic):
    server = start("--health-listen", "127.0.0.1:0", "--reactors", "1")
    health = health_of(server)
    receiver.script(topic, Answer(200, delay=2 * SLOW))
    server.schedule(topic=topic, url=receiver.url())
    until(lambda: receiver.count(topic), 5, "the attempt")
    server.process.terminate()
    until(lambda: health.get("/readyz").status == 503, 5, "/readyz answers 503")
    assert health.get("/readyz").json["detail"] == "duepost is stopping" and health.get("/healthz").status == 200
    assert server.process.wait(10 * SLOW) == 0


def test_the_health_address_has_to_be_free(start):
    server = start()
    result = run("--listen", "127.0.0.1:0", "--health-listen", f"127.0.0.1:{server.port}", "--data", str(server.data / "other"))
    assert result.returncode == 1 and "already listens" in result.stderr


# ---- long heads, and refusals before the body is read ----

LONG_HEADS = {
    "headers": (b"X: y\r\n" * 3000, 431), "value": (b"X: " + b"y" * 20000 + b"\r\n", 431), "name": (b"X" * 20000 + b": y\r\n", 431),
    "values": (b"X: " + b"y" * 1000 + b"\r\n", 431), "pieces": (b"X: " + b"y" * 20000 + b"\r\n", 431), "target": (b"", 414),
}


@pytest.mark.parametrize("name", LONG_HEADS)
@pytest.mark.parametrize("has_asked", [False, True])
def test_a_head_that_is_too_long_gets_a_problem(refusing, name, has_asked):
    more, status = LONG_HEADS[name]
    more *= 20 if name == "values" else 1
    head = b"GET /" + b"x" * (70000 if status == 414 else 0) + b" HTTP/1.1\r\nHost: localhost\r\n" + more + b"\r\n"
    link = refusing.server.connect()
    if has_asked:
        link.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert link.recv(65536).startswith(b"HTTP/1.1 200 ")
    for at in range(0, len(head), 3000 if name == "pieces" else len(head)):
        link.sendall(head[at:at + (3000 if name == "pieces" else len(head))])
        time.sleep(0.01)
    received = b""
    while data := link.recv(65536):
        received += data
    link.close()
    reply = parse(received)
    assert reply.status == status and reply.headers["Content-Type"] == "application/problem+json"
    problem = json.loads(reply.body)
    assert problem["status"] == status and " KiB" in problem["detail"] and problem["title"] != "Service Unavailable"
    assert refusing.server.get("/healthz").status == 200


@pytest.mark.parametrize("size", [2040, 5000, 16384, 40000, 65000])
def test_a_query_may_be_longer_than_the_memory_of_a_connection(server, size):
    """More than libmicrohttpd's memory of a connection has: 32 KiB, of which each parameter took 64 bytes. Requests that
    follow on the connection are read as usual, also those in the same packet."""
    text = b"GET /topics?" + b"&".join([b"a=%d"] * 9000)[:size] + b" HTTP/1.1\r\nHost: localhost\r\n\r\n"
    plain = b"GET /readyz HTTP/1.1\r\nHost: localhost\r\n"
    with server.connect() as link:
        for piece in (len(text), 1000, 65):
            for at in range(0, len(text), piece):
                link.sendall(text[at:at + piece])
            link.sendall(plain + b"\r\n")
            received = b""
            while received.count(b" 400 Bad") < 1 or received.count(b" 200 OK") < 1:
                data = link.recv(65536)
                assert data, received
                received += data
        link.sendall(plain + b"\r\n" + text[:10000].split(b" HTTP")[0] + b" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        received = b""
        while data := link.recv(65536):
            received += data
        assert received.count(b" 400 Bad") == 1 and received.count(b" 200 OK") == 1


LONG = 900000
JSON = "Content-Type: application/json\r\n"


class Refusing:
    """A duepost with tokens, for plain HTTP or TLS."""

    def __init__(self, is_tls):
        self.tokens = TokenFile()
        full, reader = self.tokens.add("full"), self.tokens.add("reader", ["read"])
        slow = self.tokens.add("slow", rate="1/h")
        options, trust = ["--tokens", str(self.tokens.path), "--reactors", "1"], None
        if is_tls:
            authority = Authority()
            authority.issue("refusing", "IP:127.0.0.1")
            trust = ssl.create_default_context(cafile=authority.certificate)
            options += ["--tls-cert", str(authority.directory / "refusing.pem"), "--tls-key", str(authority.directory / "refusing.key")]
        self.server = Duepost(*options, token=full, tls=trust)
        self.server.with_token(slow).get("/topics").expect(200)
        full, reader, slow = (f"Authorization: Bearer {token}\r\n" for token in (full, reader, slow))
        self.heads = {
            401: ("POST /jobs", JSON), 403: ("POST /jobs", reader + JSON), 404: ("PUT /nothing", full + JSON),
            405: ("PATCH /jobs", full + JSON), 413: ("POST /groups", full + JSON), 415: ("POST /jobs", full + "Content-Type: text/x\r\n"),
            429: ("POST /jobs", slow + JSON),
        }
        self.heads[413] = ("PUT /topics/t", full + JSON)

    def send(self, status, pieces=1, is_chunked=False):
        """Sends all of a request before it reads the answer, as urllib and fetch do."""
        line, headers = self.heads[status]
        size = 1 << 21 if status == 413 else LONG
        framing = "Transfer-Encoding: chunked" if is_chunked else f"Content-Length: {size}"
        link = self.server.connect()
        link.sendall(f"{line} HTTP/1.1\r\nHost: localhost\r\n{headers}{framing}\r\n\r\n".encode())
        for _ in range(pieces):
            time.sleep(0.02)
            piece = b"x" * (LONG // pieces)
            link.sendall(b"%x\r\n%b\r\n" % (len(piece), piece) if is_chunked else piece)
        received = b""
        while data := link.recv(65536):
            received += data
        link.close()
        return parse(received)


@pytest.fixture(scope="module", params=["http", "https"])
def refusing(request):
    made = Refusing(request.param == "https")
    yield made
    made.server.stop()


@pytest.mark.parametrize("status", [401, 403, 404, 405, 413, 415, 429])
def test_a_refusal_arrives_although_the_body_was_not_read(refusing, status):
    for pieces in 1, 10:
        reply = refusing.send(status, pieces)
        assert reply.status == status and reply.headers["Content-Type"] == "application/problem+json"
        assert reply.headers["Connection"] == "close"
    if status != 413:
        assert refusing.send(status, 10, is_chunked=True).status == status


def test_a_refusal_for_too_many_connections_arrives(fresh):
    server = fresh("--max-connections", "2", "--reactors", "1")
    held = [Link(server, b"GET / HTTP/1.1\r\n"), Link(server, b"GET / HTTP/1.1\r\n")]
    until_connected(server, 2)
    for _ in range(5):
        link = Link(server, POST + b"Content-Length: %d\r\n\r\n" % LONG)
        time.sleep(0.05)
        link.send(b"x" * LONG)
        reply = link.reply()
        assert reply.status == 503 and reply.headers["Retry-After"] == "1"
        link.close()
    for link in held:
        link.close()


@pytest.mark.parametrize("name", ["nginx", "nginx, lenient", "haproxy"])
def test_a_refusal_arrives_through_a_proxy(start, name):
    tokens = TokenFile()
    server = start("--tokens", str(tokens.path), "--reactors", "1", token=tokens.add("slow", rate="1/h"))
    server.get("/topics").expect(200)
    front = FRONTS[name](server.port)
    try:
        for size in [1000, 100000, LONG] * 5:
            link = http.client.HTTPConnection(front.host, front.port, timeout=10 * SLOW)
            link.request("POST", "/jobs", b"x" * size, {"Content-Type": "application/json", "Authorization": f"Bearer {server.token}"})
            answer = link.getresponse()
            assert answer.status == 429 and int(answer.headers["Retry-After"]) > 3000
            link.close()
    finally:
        front.stop()


def refused_link(server):
    link = socket.create_connection((server.host, server.port), timeout=10 * SLOW)
    link.sendall(b"PUT /nothing HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000000\r\n\r\n")
    received = b""
    while data := link.recv(65536):
        received += data
    assert parse(received).status == 404
    return link


def test_what_a_refused_client_sends_is_bounded_in_time_and_bytes(start):
    server = start("--reactors", "1")
    link, sent, began = refused_link(server), 0, time.monotonic()
    link.settimeout(0.2)
    try:
        while time.monotonic() - began < 10 * SLOW:
            try:
                sent += link.send(b"x" * 65536)
            except TimeoutError:
                pass
    except OSError:
        pass
    took = time.monotonic() - began
    assert 1.8 < took < 2 + 2 * SLOW and sent > 1 << 20
    link.close()


def test_refused_clients_that_stay_do_not_add_up(start):
    server = start("--reactors", "1")
    files = pathlib.Path(f"/proc/{server.process.pid}/fd")
    before = len(list(files.iterdir()))
    links = [refused_link(server) for _ in range(200)]
    assert len(list(files.iterdir())) <= before + 64 + 2
    until(lambda: len(list(files.iterdir())) <= before + 2, 4, "all are closed")
    server.get("/topics").expect(200)
    for link in links:
        link.close()
