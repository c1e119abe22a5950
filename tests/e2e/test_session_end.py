"""pytest -x shows the failed test, even if a fixture of the session fails in its teardown."""

import os
import pathlib
import subprocess
import sys

import pytest

import scratch

CONFTEST = """
import importlib.util
import sys
import pytest
sys.path.insert(0, {here!r})
spec = importlib.util.spec_from_file_location("conftest_of_e2e", {here!r} + "/conftest.py")
conftest_of_e2e = importlib.util.module_from_spec(spec)
spec.loader.exec_module(conftest_of_e2e)
globals().update({{name: hook for name, hook in vars(conftest_of_e2e).items() if name.startswith("pytest_")}})
import scratch

@pytest.fixture(scope="session")
def log():
    path = scratch.file("log")
    path.write_text("a line")
    yield path
    assert path.read_text() == {expected!r}
"""
TEST = """
def test_fails(log):
    assert log.read_text() == "what the test expects"
def test_is_not_run(log):
    pass
"""


def run(expected):
    here = scratch.directory("session")
    (here / "conftest.py").write_text(CONFTEST.format(here=str(pathlib.Path(__file__).parent), expected=expected))
    (here / "test_it.py").write_text(TEST)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "DUEPOST_TEST_"))}
    ended = subprocess.run([sys.executable, "-m", "pytest", "-x", "-p", "no:cacheprovider", "--rootdir", here, here], env=kept,
                           capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 1, ended.stdout + ended.stderr
    return ended.stdout


@pytest.mark.parametrize("expected, is_shown", [("a line", False), ("another line", True)])
def test_the_failed_test_is_shown(expected, is_shown):
    shown = run(expected)
    assert "what the test expects" in shown and "1 failed" in shown
    assert ("error at the end of the session" in shown) == is_shown
    assert ("another line" in shown) == is_shown
