"""The end of a test run, as a plugin of pytest.

With -x, pytest ends the session's fixtures only in pytest_sessionfinish. The hook here runs directly after that: then the scratch
directory is removed, and an error of these fixtures is shown after the failed tests and does not hide them."""

import sys
import traceback

import pytest

import scratch

_errors = []


def register(config):
    """Is the hook pytest_configure of each conftest.py."""
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

