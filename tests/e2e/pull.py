"""Workers of pull topics: they lease jobs, wait for them, and end their leases."""

import json
import re
import socket

from duepost import parse
from patience import SLOW, until
import contract

JSON = {"Content-Type": "application/json"}


def make_pull(server, topic, **settings):
    server.request("PUT", f"/topics/{topic}", json.dumps({"delivery": "pull", **settings}), JSON).expect(200)


def ask(server, topic, headers=None, **members):
    return server.request("POST", f"/topics/{topic}/lease", json.dumps(members), {**JSON, **(headers or {})})


def lease(server, topic, **members):
    return ask(server, topic, **members).expect(200)["jobs"]


def lease_one(server, topic, **members):
    job, = lease(server, topic, **members)
    return job


def name(job, **members):
    return {"jobId": job["jobId"], "token": job["token"], **members}


def end(server, action, topic, body):
    """body: one object, an array, or any text."""
    return server.request("POST", f"/topics/{topic}/{action}", body if isinstance(body, str) else json.dumps(body), JSON)


def waiting(server):
    return int(re.search(r"^duepost_waiting_leases (\d+)$", server.get("/metrics").body.decode(), re.M)[1])


def await_waiting(server, count, seconds=10):
    until(lambda: waiting(server) == count, seconds, lambda: f"{count} workers wait, not {waiting(server)}")


class Waiter:
    """A worker with its own connection, which has sent a lease request and has not read the answer."""

    def __init__(self, server, topic, source="127.0.0.1", receive_bytes=None, **members):
        self.topic = topic
        self.socket = server.connect() if server.tls else self._connect(server, source, receive_bytes)
        self.socket.settimeout(70 * SLOW)
        self.send(**members)

    @staticmethod
    def _connect(server, source, receive_bytes):
        link = socket.socket()
        link.settimeout(70 * SLOW)
        if receive_bytes:
            link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
        link.bind((source, 0))
        link.connect((server.host, server.port))
        return link

    def send(self, **members):
        body = json.dumps({"wait": 60, **members}).encode()
        self.socket.sendall(b"POST /topics/%s/lease HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                            b"Content-Length: %d\r\n\r\n" % (self.topic.encode(), len(body)) + body)

    def reply(self):
        received = b""
        while b"\r\n\r\n" not in received:
            piece = self.socket.recv(65536)
            assert piece, received
            received += piece
        reply = parse(received)
        while len(reply.body) < int(reply.headers["Content-Length"]):
            reply.body += self.socket.recv(65536)
        contract.check("POST", f"/topics/{self.topic}/lease", reply.status, reply.headers, reply.body)
        return reply

    def jobs(self):
        return self.reply().expect(200)["jobs"]

    def has_answer(self):
        self.socket.setblocking(False)
        try:
            return len(self.socket.recv(1, socket.MSG_PEEK)) > 0
        except BlockingIOError:
            return False
        finally:
            self.socket.settimeout(70 * SLOW)

    def leave(self):
        self.socket.close()
