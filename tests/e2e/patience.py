"""Waiting for conditions: every wait has a deadline, longer under sanitizers."""

import os
import time

SLOW = float(os.environ.get("DUEPOST_TEST_SLOW", "1"))


def until(condition, seconds, what, pause=0.01):
    """Polls condition until it is true and returns what it returned. pause: seconds between two polls."""
    deadline = time.monotonic() + seconds * SLOW
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {seconds * SLOW:g} s: {what() if callable(what) else what}")
        time.sleep(pause)


def watch(seconds, condition, what):
    """Polls condition for the whole time, and fails if it is false once."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        assert condition(), what() if callable(what) else what
        time.sleep(0.01)
