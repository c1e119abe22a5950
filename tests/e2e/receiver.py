"""A receiver of callbacks that logs each request and answers as scripted.

One asyncio loop in a thread of its own, without an HTTP library: it serves a few thousand requests a second, and a
test sees the bytes on the wire. By default it answers 200 and keeps the connection."""

import asyncio
import collections
import dataclasses
import threading
import time


@dataclasses.dataclass
class Arrival:
    """One POST on the wire, recorded when its body is complete."""
    at_ms: float         # wall clock
    target: str
    topic: str
    job_id: str
    attempt: int
    headers: dict        # names in lower case
    header_lines: list   # as sent, in order
    body: bytes
    connection: int      # 1 for the receiver's first connection, and so on
    peer_port: int
    answered_at_ms: float = 0
    method: str = "POST"


@dataclasses.dataclass(frozen=True)
class Answer:
    """delay: seconds before the answer. body_bytes: the announced length; if body is shorter, the rest never comes."""
    status: int = 200
    headers: tuple = ()
    body: bytes = b""
    delay: float = 0
    body_bytes: int = -1


@dataclasses.dataclass(frozen=True)
class Raw:
    """Sends these bytes, each piece after a pause; then closes the connection, or leaves it open."""
    pieces: tuple
    pause: float = 0
    close: bool = True


HANG = Raw(pieces=(), close=False)   # never an answer
CLOSE = Raw(pieces=())               # closes the connection on receipt; the first such close of a kept-alive connection does not count as a failure
GARBAGE = Raw((b"220 smtp.example ESMTP\r\n",))


class _Connection(asyncio.Protocol):
    def __init__(self, receiver):
        self.receiver = receiver
        self.buffer = bytearray()
        self.busy = False
        self.transport = None

    def connection_made(self, transport):
        self.transport = transport
        self.number = self.receiver._next_connection()
        self.peer_port = transport.get_extra_info("peername")[1]
        self.receiver._transports.add(transport)

    def connection_lost(self, exc):
        self.receiver._transports.discard(self.transport)

    def data_received(self, data):
        self.buffer += data
        self.take_requests()

    def take_requests(self):
        while not self.busy:
            arrival = self.take_one()
            if arrival is None:
                return
            self.respond(arrival, self.receiver._log(arrival))

    def take_one(self):
        end = self.buffer.find(b"\r\n\r\n")
        if end < 0:
            return None
        first, *lines = self.buffer[:end].decode("latin-1").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        size = int(headers.get("content-length", "0"))
        if len(self.buffer) < end + 4 + size:
            return None
        body = bytes(self.buffer[end + 4:end + 4 + size])
        del self.buffer[:end + 4 + size]
        method, target, _ = first.split(" ")
        name = headers.get("duepost-topic", ""), headers.get("duepost-job-id", ""), int(headers.get("duepost-attempt", "0"))
        if "upstash-message-id" in headers:  # a message of QStash has no topic header, so its target is used as the topic
            name = target, headers["upstash-message-id"], int(headers["upstash-retried"]) + 1
        return Arrival(time.time() * 1000, target, *name, headers, lines, body, self.number, self.peer_port, method=method)

    def respond(self, arrival, action):
        if callable(action):
            action = action(arrival)
        if isinstance(action, int):
            action = Answer(action)
        if isinstance(action, Raw):
            self.busy = True
            self.send_pieces(action, 0)
        elif action.delay:
            self.busy = True
            asyncio.get_running_loop().call_later(action.delay, self.send, arrival, action)
        else:
            self.send(arrival, action)

    def send(self, arrival, answer):
        size = len(answer.body) if answer.body_bytes < 0 else answer.body_bytes
        head = f"HTTP/1.1 {answer.status} Whatever\r\nContent-Length: {size}\r\n"
        head += "".join(f"{name}: {value}\r\n" for name, value in answer.headers)
        arrival.answered_at_ms = time.time() * 1000
        self.transport.write(head.encode() + b"\r\n" + answer.body)
        if self.receiver._closes_idle_after is not None:
            asyncio.get_running_loop().call_later(self.receiver._closes_idle_after, self.close_idle)
        if self.busy:
            self.busy = False
            self.take_requests()

    def close_idle(self):
        """Cuts the connection. A request that the kernel has received, and the receiver has not read, is lost."""
        if not self.transport.is_closing():
            self.transport.abort()

    def send_pieces(self, raw, index):
        if index < len(raw.pieces):
            self.transport.write(raw.pieces[index])
            asyncio.get_running_loop().call_later(raw.pause, self.send_pieces, raw, index + 1)
        elif raw.close:
            self.transport.close()


class Receiver:
    def __init__(self, hosts="127.0.0.1", port=0, closes_idle_after=None):
        """closes_idle_after: seconds from an answer to the end of its connection."""
        self._closes_idle_after = closes_idle_after
        self.arrivals = []
        self._scripts = {}
        self._by_topic = collections.defaultdict(list)
        self._transports = set()
        self._connections = 0
        self._loop = asyncio.new_event_loop()
        self._server = self._loop.run_until_complete(
            self._loop.create_server(lambda: _Connection(self), hosts, port, backlog=4096))
        self.port = self._server.sockets[0].getsockname()[1]
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    def url(self, path="/hook"):
        return f"http://127.0.0.1:{self.port}{path}"

    def script(self, topic, *actions, job_id=None):
        """Sets the answers to the next POSTs of a topic, or of one job; the last action repeats. An action may be a function
        that gets the request and returns the answer."""
        self._scripts[topic, job_id] = list(actions)

    def of(self, topic, job_id=None):
        """The requests for a topic, or for one job, in order."""
        return [a for a in list(self._by_topic[topic]) if job_id is None or a.job_id == job_id]

    def count(self, topic):
        return len(self._by_topic[topic])

    def forget(self):
        """Forgets the requests and answers until now."""
        self.arrivals.clear()
        self._by_topic.clear()
        self._scripts.clear()

    def stop(self):
        def end():
            self._server.close()
            for transport in list(self._transports):
                transport.abort()
            self._loop.call_soon(self._loop.stop)
        self._loop.call_soon_threadsafe(end)
        self._thread.join(10)

    def _next_connection(self):
        self._connections += 1
        return self._connections

    def _log(self, arrival):
        self.arrivals.append(arrival)
        self._by_topic[arrival.topic].append(arrival)
        for key in ((arrival.topic, arrival.job_id), (arrival.topic, None)):
            if key in self._scripts:
                actions = self._scripts[key]
                return actions.pop(0) if len(actions) > 1 else actions[0]
        return 200
