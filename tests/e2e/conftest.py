"""Fixtures for every test; and a check that the tests have covered the whole contract."""

import itertools
import json
import os
import pathlib
import re
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import contract  # noqa: E402
import scratch  # noqa: E402
from clock import MANUAL, ManualClock  # noqa: E402
from duepost import BINARY, Duepost  # noqa: E402
from patience import until  # noqa: E402
from postgres_server import PostgresServer  # noqa: E402
from receiver import Receiver  # noqa: E402
from redis_server import RedisServer  # noqa: E402
import session_end  # noqa: E402

_numbers = itertools.count(1)
pytest_configure = session_end.register


@pytest.fixture(scope="session")
def server():
    """One duepost with its own Redis that tests share; each test uses a topic of its own. Breakers are off, because
    the answers of one test's receiver must not hold the jobs of the others."""
    started = Duepost("--breaker", "off")
    yield started
    started.stop()
    assert "ERROR: AddressSanitizer" not in started.log()


@pytest.fixture(scope="session")
def turned():
    """Another such duepost, whose clock stands still until a test turns it: turned.clock. The jobs of a test must have
    ended when it is over, because the next test turns the clock further."""
    started = Duepost("--breaker", "off", *MANUAL)
    started.clock = ManualClock(started)
    yield started
    started.stop()
    assert "ERROR: AddressSanitizer" not in started.log()


@pytest.fixture(scope="session")
def receiver():
    started = Receiver()
    yield started
    started.stop()


@pytest.fixture(scope="session")
def outbox_metrics():
    """The metrics of a server that also is the relay of an outbox."""
    database = PostgresServer()
    started = None
    try:
        subprocess.run([BINARY, "outbox", "--install", "--source", database.url], check=True, stdout=subprocess.DEVNULL)
        started = Duepost("--outbox", database.url)
        until(lambda: b"duepost_relay_oldest_seconds" in started.get("/metrics").body, 10, "the relay")
        return started.get("/metrics").body.decode()
    finally:
        if started:
            started.stop()
        database.stop()


@pytest.fixture
def topic(request):
    name = re.sub(r"[^A-Za-z0-9]+", "-", request.node.name)[:100].strip("-")
    return f"{name}.{next(_numbers)}"


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
def manual(start):
    """manual(...) starts a server, and returns it with its clock."""
    def one(*options, **named):
        server = start(*MANUAL, *options, **named)
        return server, ManualClock(server)
    return one


@pytest.fixture
def own():
    """A receiver that no other test uses."""
    started = Receiver()
    yield started
    started.stop()


@pytest.fixture
def redis():
    """redis(...) starts a redis-server for this test only."""
    started = []

    def one(**named):
        started.append(RedisServer(**named))
        return started[-1]
    yield one
    for each in started:
        each.stop()


@pytest.fixture
def data():
    """A data directory that outlives the processes of one test."""
    return scratch.directory("data")


# The files that take longest. These files start first, so that none of them runs alone at the end.
LONG = ("overview", "clock_year", "schedules", "cluster", "dead_names", "receivers", "archive", "docs", "redis", "redis_tls", "many", "sentinel",
        "sentinel_password", "tracing", "check", "bench", "work", "process", "history", "hostile", "upkeep", "upgrade", "api_tls",
        "limits", "retention", "topics", "callbacks", "retry", "qstash_schedules", "partitions", "properties", "http_raw", "weights",
        "delivery", "in_flight", "again", "corrupt", "cancel", "clock_turned")


def pytest_collection_modifyitems(items):
    order = {f"test_{name}.py": number for number, name in enumerate(LONG)}
    items.sort(key=lambda item: order.get(pathlib.Path(item.fspath).name, len(order)))


# script/test divides the files of tests into two runs. The first run writes the parts of the contract that its tests
# have seen into the file DUEPOST_TEST_SEEN. The second run, which has DUEPOST_TEST_WHOLE=1, adds its own parts and
# checks that nothing is missing.
def _is_whole_suite(session):
    if os.environ.get("DUEPOST_TEST_WHOLE"):
        return not any("::" in arg for arg in session.config.args)
    here = pathlib.Path(__file__).parent
    collected = {pathlib.Path(item.fspath).name for item in getattr(session, "items", ())}
    return (collected == {path.name for path in here.glob("test_*.py")}
            and not session.config.option.keyword and not session.config.option.markexpr
            and not any("::" in arg for arg in session.config.args))


def _keep_seen(config):
    path = os.environ.get("DUEPOST_TEST_SEEN")
    if path and not hasattr(config, "workeroutput"):
        file = pathlib.Path(path)
        contract.seen.update(map(tuple, json.loads((file.read_text() if file.exists() else "") or "[]")))
        file.write_text(json.dumps(sorted(contract.seen, key=str)))


# If several processes run the tests, each sends the parts of the contract that it has seen to the process that
# started them.

@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node, error):
    sent = getattr(node, "workeroutput", {})
    contract.seen.update(map(tuple, sent.get("seen", ())))
    node.config.is_whole_suite = sent.get("is_whole_suite", False)


# script/test runs the failed tests again, one at a time. Their names are in the file DUEPOST_TEST_FAILED.
_failed = {}
_seconds = {}  # the durations of the files are printed at the end, so that LONG can be kept up to date


def pytest_runtest_logreport(report):
    name = pathlib.Path(report.nodeid.partition("::")[0]).stem.removeprefix("test_")
    _seconds[name] = _seconds.get(name, 0) + report.duration
    if report.failed:
        file, _, test = report.nodeid.partition("::")  # the file is named relative to pytest's root directory
        _failed[f"{pathlib.Path(__file__).parent / pathlib.Path(file).name}::{test}"] = True


def _write_failed(config):
    path = os.environ.get("DUEPOST_TEST_FAILED")
    if path and not hasattr(config, "workeroutput"):
        pathlib.Path(path).write_text("".join(name + "\n" for name in _failed))


def pytest_sessionfinish(session, exitstatus):
    config = session.config
    _write_failed(config)
    _keep_seen(config)
    is_whole = _is_whole_suite(session) or getattr(config, "is_whole_suite", False)
    config.unseen = []
    if hasattr(config, "workeroutput"):
        config.workeroutput.update(seen=list(contract.seen), is_whole_suite=is_whole)
    elif is_whole:  # also after a failure, because the failed tests may pass when they run again
        config.unseen = contract.unseen()
    if config.unseen:
        session.exitstatus = 1


def pytest_terminal_summary(terminalreporter, config):
    if len(_seconds) > 1:
        longest = sorted(_seconds.items(), key=lambda item: -item[1])[:40]
        terminalreporter.write_line("seconds of files: " + ", ".join(f"{name} {seconds:.0f}" for name, seconds in longest))
    for path, method, status in getattr(config, "unseen", []):
        terminalreporter.write_line(f"not seen in this run: {method} {path} {status}", red=True)
