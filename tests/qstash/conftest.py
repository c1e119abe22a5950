"""Fixtures of the tests with the unmodified clients of QStash. They take duepost and receivers from tests/e2e."""

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

_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def server():
    started = Duepost("--qstash", "on", "--breaker", "off")
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


@pytest.fixture
def client(server):
    """The client in Python."""
    import qstash
    return qstash.QStash("any", base_url=server.url, retry=False)


@pytest.fixture
def javascript(server):
    """javascript(text, **names) runs the text in Node with the client in JavaScript, and returns its result.

    It has: client, Client, Receiver, and the names that are given. A call that fails returns {"error", "status"}.
    """
    def run(text, **names):
        values = json.dumps({"baseUrl": server.url, **names})
        answer = subprocess.run(["node", HERE / "run.mjs", CLIENTS / "node_modules/@upstash/qstash/index.mjs", values], input=text.encode(),
                                capture_output=True, timeout=20 * SLOW, env={**os.environ, "UPSTASH_DISABLE_TELEMETRY": "1"})
        assert answer.returncode == 0, answer.stderr.decode()
        return json.loads(answer.stdout)
    return run


# script/test runs the tests that failed once more, alone: it finds their names in the file DUEPOST_TEST_FAILED.
_failed = {}


def pytest_runtest_logreport(report):
    if report.failed:
        file, _, test = report.nodeid.partition("::")
        _failed[f"{HERE / pathlib.Path(file).name}::{test}"] = True


def pytest_sessionfinish(session):
    path = os.environ.get("DUEPOST_TEST_FAILED")
    if path and not hasattr(session.config, "workeroutput"):
        pathlib.Path(path).write_text("".join(name + "\n" for name in _failed))
    scratch.remove()
