"""GET /events: what happens to the jobs of topics with the setting events, over losses, kills and slow readers."""

import json
import socket
import time

import pytest

from duepost import parse
from patience import SLOW, until
from pull import JSON, end, lease_one, make_pull, name
from receiver import Answer
from tokens import TokenFile
import contract


class Stream:
    """A client that reads events."""

    def __init__(self, server, *topics, last=None, types=None, key=None, receive_bytes=None):
        target = "/events?" + "&".join(f"topic={topic}" for topic in topics) + (f"&types={types}" if types else "") + (f"&key={key}" if key else "")
        self.socket = socket.socket()
        self.socket.settimeout(20 * SLOW)
        if receive_bytes:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
        self.socket.connect((server.host, server.port))
        lines = [f"GET {target} HTTP/1.1", "Host: localhost"]
        lines += [f"Last-Event-ID: {last}"] if last else []
        lines += [f"Authorization: Bearer {server.token}"] if server.token else []
        self.socket.sendall("".join(f"{line}\r\n" for line in lines).encode() + b"\r\n")
        head = b""
        while b"\r\n\r\n" not in head:
            piece = self.socket.recv(1)
            assert piece, head
            head += piece
        self.head = parse(head)
        assert self.head.status == 200, self.head
        contract.check("GET", target, 200, self.head.headers, b"")
        self.rest, self.is_over = b"", False

    def _line(self):
        while b"\r\n" not in self.rest:
            piece = self.socket.recv(65536)
            if not piece:
                raise EOFError
            self.rest += piece
        line, self.rest = self.rest.split(b"\r\n", 1)
        return line

    def chunk(self):
        """Returns the next chunk; b'' at the end."""
        size = int(self._line(), 16)
        while len(self.rest) < size + 2:
            piece = self.socket.recv(65536)
            if not piece:
                raise EOFError
            self.rest += piece
        chunk, self.rest = self.rest[:size], self.rest[size + 2:]
        return chunk

    def events(self, count):
        """Reads this many events. Returns them as (type, data, id)."""
        found, text = [], b""
        while len(found) < count:
            text += self.chunk()
            while b"\n\n" in text:
                block, text = text.split(b"\n\n", 1)
                fields = dict(line.split(b": ", 1) for line in block.split(b"\n") if not line.startswith(b":") and b": " in line)
                if b"event" in fields:
                    found.append((fields[b"event"].decode(), json.loads(fields[b"data"]), fields.get(b"id", b"").decode()))
        assert len(found) == count, found
        return found

    def types(self, count):
        return [event[0] for event in self.events(count)]

    def close(self):
        self.socket.close()


def turn_on(server, topic, **settings):
    server.request("PATCH", f"/topics/{topic}", json.dumps({"events": True, **settings}), JSON).expect(200)


def deliver(server, topic, receiver, *job_ids):
    for job_id in job_ids:
        server.schedule(topic=topic, jobId=job_id, url=receiver.url())
        server.wait_for_state(topic, job_id, "delivered")


def test_each_event(start, receiver, topic):
    server = start("--breaker", "off")
    turn_on(server, topic, retention=60)
    receiver.script(topic, 503, 200, job_id="a")
    receiver.script(topic, 410, job_id="b")
    stream = Stream(server, topic)
    server.schedule(topic=topic, jobId="a", url=receiver.url(), retrySchedule=[0.1])
    events = stream.events(5)
    assert [event[0] for event in events] == ["accepted", "begun", "retried", "begun", "delivered"]
    assert {(event[1]["topic"], event[1]["jobId"]) for event in events} == {(topic, "a")}
    assert (events[2][1]["attempt"], events[2][1]["lastAttempt"]["status"]) == (1, 503)
    assert (events[4][1]["attempt"], events[4][1]["lastAttempt"]["status"]) == (2, 200)
    server.schedule(topic=topic, jobId="b", url=receiver.url())
    assert stream.types(3) == ["accepted", "begun", "dead"]
    server.schedule(topic=topic, jobId="c", url=receiver.url(), delay=60)
    server.cancel(topic, "c")
    assert stream.types(2) == ["accepted", "cancelled"]
    definition = {"every": 3600, "job": {"url": receiver.url()}}
    server.request("PUT", f"/schedules/{topic}/s", json.dumps(definition), JSON)
    server.request("POST", f"/schedules/{topic}/s/run").expect(202)
    fired = stream.events(4)
    assert [event[0] for event in fired][:1] + sorted(event[0] for event in fired[1:]) == ["accepted", "begun", "delivered", "fired"]
    assert next(event[1]["scheduleId"] for event in fired if event[0] == "fired") == "s"
    stream.close()


def test_events_of_workers(start, topic):
    server = start()
    make_pull(server, topic, events=True)
    stream = Stream(server, topic, types="begun,progress,delivered")
    server.schedule(topic=topic, jobId="a")
    job = lease_one(server, topic)
    end(server, "extend", topic, name(job, progress={"done": 0.5})).expect(200)
    end(server, "complete", topic, name(job)).expect(200)
    events = stream.events(3)
    assert [event[0] for event in events] == ["begun", "progress", "delivered"] and events[1][1]["progress"] == {"done": 0.5}
    stream.close()


def test_a_reader_goes_on_where_it_was(start, receiver, topic):
    server = start()
    turn_on(server, topic, retention=60)
    first = Stream(server, topic)
    deliver(server, topic, receiver, "a", "b")
    seen = first.events(6)
    again = Stream(server, topic, last=seen[2][2])
    assert again.events(3) == seen[3:]
    deliver(server, topic, receiver, "c")  # both get what follows, once
    assert first.events(3) == again.events(3)
    for reader in first, again:
        reader.close()


@pytest.mark.parametrize("more", [0, 2])
def test_a_reader_that_is_cut_off_before_its_first_event_misses_none(start, receiver, topic, more):
    """The beginning of the stream has an id, too. EventSource sends it."""
    server = start()
    topics = [topic, *(f"{topic}.{n}" for n in range(more))]
    for each in topics:
        turn_on(server, each, retention=60)
    deliver(server, topic, receiver, "before")
    first = Stream(server, *topics)
    begin = first.chunk().decode()
    first.close()
    last = begin.split("\nid: ")[1].split("\n")[0]
    deliver(server, topic, receiver, "a")
    again = Stream(server, *topics, last=last)
    events = again.events(3 if more == 0 else 8)  # with several topics: gaps, and the events of the seconds before
    assert [event[0] for event in events if event[1].get("jobId") == "a"] == ["accepted", "begun", "delivered"]
    again.close()


def test_missing_events_are_a_gap(redis, start, receiver, topic):
    behind = redis()
    server = start(redis=behind)
    turn_on(server, topic, retention=60)
    stream = Stream(server, topic)
    deliver(server, topic, receiver, "a", "b")
    seen = stream.events(6)
    stream.close()
    behind.command("XTRIM", f"duepost:{{0}}:stream:{topic}", "MAXLEN", "3")
    assert Stream(server, topic, last=seen[0][2]).types(4) == ["gap", "accepted", "begun", "delivered"]
    assert Stream(server, topic, last=seen[3][2]).types(2) == ["begun", "delivered"]
    server.request("PATCH", f"/topics/{topic}", '{"events":null}', JSON).expect(200)
    deliver(server, topic, receiver, "c")
    turn_on(server, topic)
    assert Stream(server, topic, last=seen[5][2]).types(1) == ["gap"]


def test_many_topics_in_one_stream(start, receiver, topic):
    server = start()
    topics = [f"{topic}.{number}" for number in range(3)]
    turn_on(server, f"{topic}.*", retention=60)
    stream = Stream(server, *topics)
    for each in topics:
        deliver(server, each, receiver, "a")
    events = stream.events(9)
    assert {event[1]["topic"] for event in events} == set(topics)
    again = Stream(server, *topics, last=events[-1][2])  # with the last ten seconds once more
    assert sorted(event[2] for event in again.events(9)) == sorted(event[2] for event in events)


def test_events_come_from_other_processes_and_survive_kills(redis, start, receiver, topic):
    behind = redis()
    first, second = (start(redis=behind) for _ in range(2))
    turn_on(first, topic, retention=60)
    stream = Stream(second, topic, types="delivered")
    deliver(first, topic, receiver, "a")
    seen = stream.events(1)[0]
    behind.command("CLIENT", "KILL", "TYPE", "pubsub")
    deliver(first, topic, receiver, "b")
    assert stream.events(1)[0][1]["jobId"] == "b"
    behind.kill()
    behind.start()
    until(lambda: first.get("/readyz").status == 200, 20, "Redis is back")
    deliver(first, topic, receiver, "c")
    assert stream.events(1)[0][1]["jobId"] == "c"
    second.kill()
    with pytest.raises((EOFError, OSError)):
        stream.chunk()
    deliver(first, topic, receiver, "d")
    assert [event[1]["jobId"] for event in Stream(first, topic, types="delivered", last=seen[2]).events(3)] == ["b", "c", "d"]


def test_events_of_one_key(start, receiver, topic):
    server = start()
    server.request("PUT", f"/topics/{topic}", json.dumps({"events": True, "url": receiver.url()}), JSON).expect(200)
    stream = Stream(server, topic, key="acme", types="accepted,delivered,cancelled,dead")
    receiver.script(topic, 410, job_id="dead")
    for job_id, more in (("other", {"key": "umbrella"}), ("none", {}), ("a", {"key": "acme"}), ("dead", {"key": "acme"}),
                         ("b", {"key": "acme", "delay": 3600})):
        server.schedule(topic=topic, jobId=job_id, **more)
    server.request("DELETE", f"/jobs/{topic}/b").expect(200)
    found = stream.events(6)
    assert {(kind, data["jobId"], data["key"]) for kind, data, _ in found} == {
        ("accepted", "a", "acme"), ("delivered", "a", "acme"), ("accepted", "dead", "acme"), ("dead", "dead", "acme"),
        ("accepted", "b", "acme"), ("cancelled", "b", "acme")}


def test_a_slow_reader_is_cut_and_delays_nobody(start, receiver, topic):
    server = start("--reactors", "1")
    make_pull(server, topic, events=True)
    slow, quick = Stream(server, topic, receive_bytes=4096), Stream(server, topic, types="cancelled")
    ids = 0
    for _ in range(12):
        jobs = [{"topic": topic, "jobId": f"{ids + number}-{'x' * 200}", "delay": 600} for number in range(500)]
        ids += len(jobs)
        server.post(jobs).expect(207)
        time.sleep(0.05)
    server.cancel(topic, jobs[0]["jobId"])
    assert quick.types(1) == ["cancelled"]

    def is_cut():
        try:
            while slow.socket.recv(65536, socket.MSG_DONTWAIT):
                pass
            return True
        except BlockingIOError:
            return False
        except OSError:
            return True
    until(is_cut, 20, "the slow reader is cut")
    server.request("DELETE", f"/jobs?topic={topic}&state=delayed&all=true").expect(200)


def test_a_beat_and_a_client_that_leaves(start, topic):
    server = start("--max-waiting-leases", "1")
    turn_on(server, topic)
    stream = Stream(server, topic)
    assert stream.chunk().startswith(b": events")
    assert "--max-waiting-leases" in server.get(f"/events?topic={topic}").expect(503)["detail"]
    assert stream.chunk() == b": \n\n"  # after 15 s
    stream.close()
    until(lambda: server.get(f"/jobs/{topic}/a?wait=0.1s").status == 404, 10, "its place is free")


def test_a_drain_ends_streams(start, topic):
    server = start()
    turn_on(server, topic)
    stream = Stream(server, topic)
    stream.chunk()
    assert server.terminate() == 0
    assert stream.chunk() == b""


def test_bad_requests_and_rights(start, topic):
    tokens = TokenFile()
    admin, reader = tokens.add("admin"), tokens.add("reader", ["read"], topics=f"{topic}.mine")
    server = start("--tokens", str(tokens.path), token=admin)
    turn_on(server, f"{topic}.mine")
    for query in "", "?topic=", "?topic=a/b", "?topic=a&types=born", "?topic=a&key=", "?topic=a&color=k", "?types=dead":
        assert server.get(f"/events{query}").expect(400)["errors"]
    assert server.request("GET", f"/events?topic={topic}.mine", headers={"Last-Event-ID": "7"}).expect(400)["errors"]
    assert "setting events" in server.get(f"/events?topic={topic}.mine&topic={topic}.other").expect(409)["detail"]
    server.with_token(reader).get(f"/events?topic={topic}.other").expect(403)
    stream = Stream(server.with_token(reader), f"{topic}.mine")
    stream.chunk()
    stream.close()
