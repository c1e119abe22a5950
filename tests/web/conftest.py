"""Fixtures of the tests in a browser. The fixtures take duepost, Redis and receivers from tests/e2e."""

import itertools
import os
import pathlib
import re
import sys

import pytest

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE))
sys.path.insert(0, str(HERE.parent / "e2e"))

import scratch  # noqa: E402
from browser import Browser  # noqa: E402
from duepost import Duepost  # noqa: E402
from receiver import Receiver  # noqa: E402
from world import World  # noqa: E402
import session_end  # noqa: E402

_numbers = itertools.count(1)
pytest_configure = session_end.register


@pytest.fixture(scope="session")
def chromium():
    """One browser per process."""
    started = Browser()
    yield started
    started.stop()


@pytest.fixture
def browser(chromium):
    """Returns the browser, reset as for a first visit."""
    chromium.reset()
    return chromium


def pytest_pyfunc_call(pyfuncitem):
    """Runs a test, and then calls check(), which fails the test if its page broke a rule. The test's servers still run at that
    time."""
    arguments = pyfuncitem.funcargs
    pyfuncitem.obj(**{name: arguments[name] for name in pyfuncitem._fixtureinfo.argnames})
    if "browser" in arguments:
        arguments["browser"].check()
    return True


@pytest.fixture(scope="session")
def world():
    """A server with examples of everything, which tests share. A test changes only the data that it adds."""
    made = World()
    yield made
    made.stop()


@pytest.fixture
def topic(request):
    name = re.sub(r"[^A-Za-z0-9]+", "-", request.node.name)[:100].strip("-")
    return f"{name}.{next(_numbers)}"


@pytest.fixture
def receiver():
    started = Receiver()
    yield started
    started.stop()


@pytest.fixture
def start():
    """start(...) starts a Duepost for this test only."""
    started = []

    def one(*options, **named):
        started.append(Duepost(*options, **named))
        return started[-1]
    yield one
    for each in started:
        each.stop()


@pytest.fixture
def data():
    """A data directory that outlives the processes of one test."""
    return scratch.directory("data")


# script/test runs the failed tests again, one at a time. Their names are in the file DUEPOST_TEST_FAILED.
_failed = {}


def pytest_runtest_logreport(report):
    if report.failed:
        file, _, test = report.nodeid.partition("::")  # the file is named relative to pytest's root directory
        _failed[f"{HERE / pathlib.Path(file).name}::{test}"] = True


def pytest_sessionfinish(session):
    path = os.environ.get("DUEPOST_TEST_FAILED")
    if path and not hasattr(session.config, "workeroutput"):
        pathlib.Path(path).write_text("".join(name + "\n" for name in _failed))
