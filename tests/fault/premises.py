"""The site into which faults are injected: a Redis, several dueposts, clients and a judge."""

import functools
import time

import audit
from client import Client
from judge import Judge
from node import Node
from patience import SLOW
from redis import Redis
import verdict


class Site:
    def __init__(self, *, nodes=2, binary=None, redis=None, options=("--reactors", "2"), connections=32, extra=None):
        self.redis = redis or Redis()
        self.judge = Judge()
        self.connections = connections
        self.client = None
        self.nodes = []
        for index in range(nodes):
            self.nodes.append(Node(index, *options, redis=self.redis.address, binary=binary, extra=extra).start())
        for node in self.nodes:
            node.await_ready()

    def begin(self, orders, receiver=None):
        self.client = Client(orders, receiver or self.judge.url, [node.port for node in self.nodes], self.connections)

    def await_client(self, seconds):
        deadline = time.monotonic() + seconds * SLOW
        while not self.client.is_done():
            assert time.monotonic() < deadline, f"the client has not ended within {seconds * SLOW:g} s"
            time.sleep(0.02)

    def await_settled(self, seconds):
        """Waits until only dead jobs are left. Returns how long that took."""
        begin = time.monotonic()
        while True:
            jobs, leases = self.redis.counts()
            if jobs == leases == 0:
                return time.monotonic() - begin
            if time.monotonic() - begin > seconds * SLOW:
                return None
            time.sleep(0.05)

    def books(self):
        link = self.redis.link()
        try:
            return audit.Books(link)
        finally:
            link.close()

    def verdict(self, faults=(), **how):
        """Runs all checks that are possible at rest, and returns the verdict."""
        books = self.books()
        said = verdict.judge(self.client.told(), self.judge.arrivals(), books.dead, list(faults),
                             hurried=functools.cache(lambda: verdict.hurried(node.log() for node in self.nodes)), **how)
        said.broken += [f"books: {what}" for what in audit.faults(books)]
        return said

    def stop(self):
        if self.client:
            self.client.stop()
        for node in self.nodes:
            node.kill()
        self.redis.end()
        self.judge.stop()
