"""Clocks that a test can move: the wall clock of a process, and the manual clock of a server."""

import functools
import json
import mmap
import pathlib
import struct
import subprocess
import time

import scratch
from timestamp import from_ms, to_ms

SOURCE = pathlib.Path(__file__).parents[1] / "support" / "clock_preload.c"


@functools.lru_cache
def _library():
    path = scratch.file("clock_preload.so")
    subprocess.run(["cc", "-D_GNU_SOURCE", "-O1", "-shared", "-fPIC", "-o", path, SOURCE], check=True)
    return path


class MovableClock:
    def __init__(self):
        path = scratch.file("offset")
        path.write_bytes(bytes(16))
        with path.open("r+b") as file:
            self._page = mmap.mmap(file.fileno(), 16)
        self.environment = {"LD_PRELOAD": str(_library()), "TEST_CLOCK": str(path)}

    def move_to(self, ms):
        """Sets the clock to ms; it continues from there."""
        self.move_by(ms / 1000 - time.time())

    def move_by(self, seconds):
        """Moves the clock by this many seconds, counted from the true time and not from the last move."""
        self._page[8:] = struct.pack("=q", int(seconds * 1e6))

    def now(self):
        """Returns the time in s since 1970."""
        return time.time() + struct.unpack("=q", self._page[8:])[0] / 1e6


MANUAL = ("--clock", "manual")  # options of a server with a ManualClock


class ManualClock:
    """The clock of a server that was started with --clock manual. Its functions return what has fired, in its order."""

    def __init__(self, server):
        self.server = server

    def shown(self):
        return self.server.get("/clock").expect(200)

    def now(self):
        """Returns the time in ms since 1970."""
        return to_ms(self.shown()["now"])

    def request(self, **move):
        return self.server.request("POST", "/clock", json.dumps(move), {"Content-Type": "application/json"})

    def turn(self, **move):
        """Repeats the request until the clock is where the client wants it. Each answer comes soon, even on a busy machine."""
        fired, move = [], {"limit": 200, **move}
        while True:
            reply = self.request(**move)
            if reply.status == 409:  # another client turns the clock
                time.sleep(0.01)
                continue
            answer = reply.expect(200)
            assert "lost" not in answer
            fired += answer["fired"]
            if answer["reached"] and not answer["more"]:
                return fired
            if "to" in answer:
                move["to"] = answer["to"]
                move.pop("advance", None)

    def advance(self, duration):
        """duration: seconds, or text such as 1h30m."""
        return self.turn(advance=duration)

    def settle(self):
        """Waits until all that is due now is over."""
        return self.move_to(self.now())

    def move_to(self, ms):
        return self.turn(to=from_ms(ms))

    def until_idle(self, **bound):
        return self.turn(untilIdle=True, **bound)


def attempts(fired, topic=None, job_id=None):
    """Returns the attempts of a topic, or of one of its jobs."""
    return [one for one in fired if one["event"] == "attempt" and topic in (None, one["topic"]) and job_id in (None, one["jobId"])]


def seconds_after(start_ms, fired):
    """Returns when these events were, in seconds after a time."""
    return [(to_ms(one["at"]) - start_ms) / 1000 for one in fired]
