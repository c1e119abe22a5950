"""Fixtures of the tests with the unmodified clients of QStash. The fixtures take duepost and receivers from tests/e2e."""

import asyncio
import itertools
import json
import os
import pathlib
import re
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
CLIENTS = HERE.parents[1] / "build/qstash-clients"
sys.path.insert(0, str(HERE.parent / "e2e"))
sys.path.insert(0, str(CLIENTS / "python"))

import scratch  # noqa: E402
from duepost import Duepost  # noqa: E402
from patience import SLOW  # noqa: E402
from receiver import Receiver  # noqa: E402
import session_end  # noqa: E402

_numbers = itertools.count(1)
pytest_configure = session_end.register


@pytest.fixture(scope="session")
def server():
    started = Duepost("--qstash", "on", "--breaker", "off", "--history", f"sqlite:{scratch.file('history.sqlite')}")
    yield started
    started.stop()
    assert "ERROR: AddressSanitizer" not in started.log()


@pytest.fixture(scope="session")
def receiver():
    started = Receiver()
    yield started
    started.stop()


@pytest.fixture
def topic(request):
    name = re.sub(r"[^A-Za-z0-9]+", "-", request.node.name)[:100].strip("-")
    return f"{name}.{next(_numbers)}"


class Waiting:
    """Makes the asynchronous client in Python, or a part of this client, synchronous: each call waits for its
    result."""

    def __init__(self, part, loop):
        self._part, self._loop = part, loop

    def __getattr__(self, name):
        found = getattr(self._part, name)
        if callable(found):
            return lambda *values, **named: self._loop.run_until_complete(found(*values, **named))
        return Waiting(found, self._loop)


@pytest.fixture(params=["sync", "async"])
def client(request, server):
    """The client in Python. Each test runs twice: with the synchronous client, and with the asynchronous client."""
    import qstash
    if request.param == "sync":
        yield qstash.QStash("any", base_url=server.url, retry=False)
        return
    loop = asyncio.new_event_loop()
    yield Waiting(qstash.AsyncQStash("any", base_url=server.url, retry=False), loop)
    loop.close()


def run_in_node(module, server):
    """Returns a function run(text, **names). It runs the JavaScript text in Node with a client of the module, and
    returns the result.

    The text can use client, Client, Receiver, and the given names. A call that fails returns {"error", "status"}.
    """
    def run(text, **names):
        values = json.dumps({"baseUrl": server.url, **names})
        answer = subprocess.run(["node", HERE / "run.mjs", CLIENTS / "node_modules" / module / "index.mjs", values], input=text.encode(),
                                capture_output=True, timeout=20 * SLOW, env={**os.environ, "UPSTASH_DISABLE_TELEMETRY": "1"})
        assert answer.returncode == 0, answer.stderr.decode()
        return json.loads(answer.stdout)
    return run


@pytest.fixture
def javascript(server):
    return run_in_node("@upstash/qstash", server)


# script/test runs the failed tests again, one at a time. Their names are in the file DUEPOST_TEST_FAILED.
_failed = {}


def pytest_runtest_logreport(report):
    if report.failed:
        file, _, test = report.nodeid.partition("::")
        _failed[f"{HERE / pathlib.Path(file).name}::{test}"] = True


def pytest_sessionfinish(session):
    path = os.environ.get("DUEPOST_TEST_FAILED")
    if path and not hasattr(session.config, "workeroutput"):
        pathlib.Path(path).write_text("".join(name + "\n" for name in _failed))
