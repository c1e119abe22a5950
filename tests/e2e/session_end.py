"""The end of a test run, as a plugin of pytest.

With -x, pytest ends the session's fixtures only in pytest_sessionfinish. The hook in this file runs directly
after that. It removes the scratch directory, and shows an error of these fixtures after the failed tests, so
that the error does not hide the failed tests."""

import sys
import traceback

import pytest

import scratch

_errors = []


def register(config):
    """Registers this plugin. Each conftest.py uses this function as its hook pytest_configure."""
    if not config.pluginmanager.is_registered(sys.modules[__name__]):
        config.pluginmanager.register(sys.modules[__name__])


@pytest.hookimpl(hookwrapper=True, trylast=True)
def pytest_sessionfinish(session):
    outcome = yield
    if outcome.excinfo and not hasattr(session.config, "workeroutput"):  # a process of pytest-xdist has no terminal
        _errors.append("".join(traceback.format_exception(*outcome.excinfo)))
        outcome.force_result([])
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
    scratch.remove()


def pytest_terminal_summary(terminalreporter):
    for error in _errors:
        terminalreporter.section("error at the end of the session", red=True)
        terminalreporter.write_line(error)

