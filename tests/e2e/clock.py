"""A wall clock that a test can move, for one process."""

import functools
import mmap
import pathlib
import struct
import subprocess
import time

import scratch

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
