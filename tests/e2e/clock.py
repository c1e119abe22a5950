"""A wall clock for a redis-server that a test can move."""

import functools
import mmap
import os
import pathlib
import struct
import subprocess
import tempfile
import time


@functools.lru_cache
def _library():
    path = pathlib.Path(tempfile.mkdtemp(prefix="duepost-clock-")) / "clock.so"
    subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", path, pathlib.Path(__file__).with_name("clock.c")], check=True)
    return path


class MovableClock:
    def __init__(self):
        file, path = tempfile.mkstemp(prefix="duepost-clock-")
        os.ftruncate(file, 8)
        self._page = mmap.mmap(file, 8)
        os.close(file)
        self.environment = {"LD_PRELOAD": str(_library()), "CLOCK_OFFSET_FILE": path}

    def move_to(self, ms):
        """From now on the clock goes on from ms."""
        self._page[:] = struct.pack("=q", ms * 1_000_000 - time.time_ns())

    def move_by(self, seconds):
        """Against the true time, not against the last move."""
        self._page[:] = struct.pack("=q", int(seconds * 1e9))
