"""The receiver (judge.c), which logs each request and follows its instructions; and its log."""

import collections
import dataclasses
import mmap
import os
import struct
import subprocess

import place
from node import gauge_of
import scratch


@dataclasses.dataclass(slots=True)
class Arrival:
    """One POST, when it was complete. answered_us None: it got no status."""
    at_us: int
    source: str
    attempt: int
    action: str
    answered_us: int = None

    @property
    def is_success(self):
        return self.answered_us is not None and (self.action[0] == "2" or self.action.startswith("drip"))

    @property
    def is_failure(self):
        """The receiver's behaviour fails the attempt, provided that a duepost without faults waited for it."""
        return not (self.action[0] == "2" or self.action.startswith("drip"))


class Judge:
    def __init__(self):
        self.directory = scratch.directory("judge")
        self.log_path = self.directory / "log"
        gauges = self.directory / "gauges"
        self.process = subprocess.Popen([place.tool("fault_judge"), self.log_path, gauges],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.port = int(self.process.stdout.readline())
        with gauges.open("rb") as file:
            self._gauges = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def open_posts(self, source):
        return struct.unpack_from("=q", self._gauges, 8 * gauge_of(source))[0]

    def arrivals(self):
        """By job, in order."""
        return read_log(self.log_path)

    def of(self, key):
        return self.arrivals().get(key, [])

    def count(self):
        """POSTs so far."""
        return sum(line[0] == "A" for line in self.log_path.open())

    def stop(self):
        self.process.stdin.close()
        self.process.wait(10)
        self.process.stdout.close()


def read_log(path):
    jobs = collections.defaultdict(list)
    if not os.path.exists(path):
        return jobs
    with open(path) as log:
        for line in log:
            if not line.endswith("\n"):
                break  # it is being written
            words = line.split()
            if words[0] == "A":
                jobs[words[5]].append(Arrival(int(words[1]), words[2], int(words[3]), words[4]))
                continue
            for arrival in reversed(jobs[words[3]]):  # the last one of this attempt that waits for its answer
                if arrival.attempt == int(words[2]) and arrival.answered_us is None:
                    arrival.answered_us = int(words[1])
                    break
    return jobs
