"""Fixtures of the tests of the Python client. They run where the package is installed; see tests/clients/run."""

import asyncio
import inspect
import itertools
import socket
import threading
import time

import duepost
import pytest
from duepost.testing import Server


@pytest.fixture(scope="session")
def server():
    """A server whose clock goes on by itself. Each test has topics of its own."""
    with Server(manual=False) as running:
        yield running


@pytest.fixture
def topic(counter=itertools.count()):
    return f"topic-{next(counter)}"


class Plain:
    """A client whose methods return values: iterators as lists, and those of AsyncDuepost from a loop of its own."""

    def __init__(self, kind, url, **options):
        self.loop = asyncio.new_event_loop()
        self.client = kind(url, **options)

    def __getattr__(self, name):
        found = getattr(self.client, name)
        if not callable(found):
            return type("Part", (), {"__getattr__": lambda _, word: lambda *names, **more: self.value(getattr(found, word)(*names, **more))})()
        return lambda *names, **more: self.value(found(*names, **more))

    def value(self, found):
        if inspect.isawaitable(found):
            return self.loop.run_until_complete(found)
        if hasattr(found, "__anext__"):
            async def collect():
                return [item async for item in found]
            return self.loop.run_until_complete(collect())
        return list(found) if inspect.isgenerator(found) else found


@pytest.fixture(params=[duepost.Duepost, duepost.AsyncDuepost])
def connect(request):
    """connect(url, **options): a Plain client of both kinds."""
    made = []

    def connect_to(url, **options):
        made.append(Plain(request.param, url, **options))
        return made[-1]

    yield connect_to
    for plain in made:
        plain.close()
        plain.loop.close()


@pytest.fixture
def client(connect, server):
    return connect(server.url)


class Proxy:
    """Passes bytes on to a server. swallow: this many connections are closed when the first byte of an answer has come."""

    def __init__(self, url, swallow=0):
        self.target = url.removeprefix("http://").split(":")
        self.swallow, self.links = swallow, []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                near, _ = self.listener.accept()
            except OSError:
                return
            far = socket.create_connection(self.target)
            self.links += [near, far]
            threading.Thread(target=self.copy, args=(near, far, False), daemon=True).start()
            threading.Thread(target=self.copy, args=(far, near, True), daemon=True).start()

    def copy(self, source, sink, answers):
        try:
            while data := source.recv(65536):
                if answers and self.swallow:
                    self.swallow -= 1
                    break
                sink.sendall(data)
        except OSError:
            pass
        self.close(source, sink)

    def cut(self):
        links, self.links = self.links, []
        self.close(*links)

    def close(self, *links):
        for link in links or [self.listener]:
            try:
                link.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            link.close()


@pytest.fixture
def proxy(server):
    made = Proxy(server.url)
    yield made
    made.close()
    made.cut()


def until(condition, seconds=60):
    """Polls condition until it is true, and returns what it returned."""
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < deadline, inspect.getsource(condition)
        time.sleep(0.02)
    return value
