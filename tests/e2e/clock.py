"""A wall clock for a redis-server that a test can move."""

import functools
import mmap
import pathlib
import struct
import subprocess
import time

import scratch


@functools.lru_cache
def _library():
    path = scratch.file("clock.so")
    subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", path, pathlib.Path(__file__).with_name("clock.c")], check=True)
    return path


class MovableClock:
    def __init__(self):
        path = scratch.file("offset")
        path.write_bytes(bytes(8))
        with path.open("r+b") as file:
            self._page = mmap.mmap(file.fileno(), 8)
        self.environment = {"LD_PRELOAD": str(_library()), "CLOCK_OFFSET_FILE": str(path)}

    def move_to(self, ms):
        """From now on the clock goes on from ms."""
        self._page[:] = struct.pack("=q", ms * 1_000_000 - time.time_ns())

    def move_by(self, seconds):
        """Against the true time, not against the last move."""
        self._page[:] = struct.pack("=q", int(seconds * 1e9))
