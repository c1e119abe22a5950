"""The receiver (judge.c), which logs each request and does what the request's path says; and its log."""

import dataclasses
import mmap
import struct
import subprocess
import threading

import place
from node import gauge_of
import scratch


@dataclasses.dataclass(slots=True)
class Arrival:
    """One POST that was received completely. answered_us None: the POST got no status. completed_us: when duepost confirmed that the
    attempt, whose end the receiver had deferred, is complete."""
    at_us: int
    source: str
    attempt: int
    action: str
    token: str = "?"
    answered_us: int = None
    completed_us: int = None

    @property
    def deferral_us(self):
        """Returns for how long the answer keeps the attempt open: 0 if it ends the attempt."""
        return int(self.action.removeprefix("202d")) * 1_000_000 if self.action.startswith("202d") else 0

    @property
    def is_success(self):
        if self.deferral_us:
            return self.completed_us is not None
        return self.answered_us is not None and (self.action[0] == "2" or self.action.startswith("drip"))

    @property
    def is_failure(self):
        """Returns whether the receiver's action makes the attempt fail even when nothing disturbs duepost."""
        return not (self.action[0] == "2" or self.action.startswith("drip")) or (self.deferral_us > 0 and self.completed_us is None)


class _Log:
    """The log of the judge so far. Reading it must be fast, because hundreds of stories read it many times a second."""

    def __init__(self, path):
        self.jobs = {}  # key of a job -> its arrivals
        self.lock = threading.Lock()
        self._file = path.open()
        self._begun = ""  # the beginning of a line that is being written

    def read(self):
        """Reads the lines that the judge has written since the last call."""
        *lines, self._begun = (self._begun + self._file.read()).split("\n")
        for line in lines:
            self._take(line.split())

    def _take(self, words):
        if words[0] == "A":
            self.jobs.setdefault(words[5], []).append(Arrival(int(words[1]), words[2], int(words[3]), words[4], words[6]))
            return
        for arrival in reversed(self.jobs.get(words[3], ())):  # of this attempt's arrivals, the last one without an answer
            if arrival.attempt == int(words[2]) and arrival.answered_us is None:
                arrival.answered_us = int(words[1])
                return


class Judge:
    def __init__(self):
        self.directory = scratch.directory("judge")
        self.log_path = self.directory / "log"
        gauges = self.directory / "gauges"
        self.process = subprocess.Popen([place.tool("fault_judge"), self.log_path, gauges],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.port = int(self.process.stdout.readline())
        self._log = _Log(self.log_path)
        with gauges.open("rb") as file:
            self._gauges = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def open_posts(self, source):
        return struct.unpack_from("=q", self._gauges, 8 * gauge_of(source))[0]

    def arrivals(self):
        """Returns the arrivals by job, in order."""
        with self._log.lock:
            self._log.read()
            return dict(self._log.jobs)

    def of(self, key):
        with self._log.lock:
            self._log.read()
            return list(self._log.jobs.get(key, ()))

    def count(self):
        """Returns the number of POSTs so far."""
        return sum(line[0] == "A" for line in self.log_path.open())

    def stop(self):
        self.process.stdin.close()
        self.process.wait(10)
        self.process.stdout.close()
