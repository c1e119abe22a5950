"""A duepost process into which faults are injected. Each incarnation sends from its own address, so the
judge's log shows which incarnation made an attempt."""

import http.client
import itertools
import json
import os
import select
import signal
import subprocess
import time

import place
from duepost import environment
from patience import SLOW, until
from redis_server import free_port
import processes
import scratch

_sources = itertools.count(1)
_processes = []


def next_source():
    """Returns 127.1.0.1, 127.1.0.2 and so on, one address per call. 127.0.0.1 is not used, because other processes send from it."""
    number = next(_sources)
    return f"127.1.{number // 250}.{number % 250 + 1}"


def end_all():
    """Ends the processes that an aborted story has left running."""
    for process in _processes:
        if process.poll() is None:
            processes.end(process.pid)


def gauge_of(source):
    """Returns the index at which the judge counts the open POSTs of this address."""
    _, _, high, low = map(int, source.split("."))
    return 256 * high + low


class Node:
    def __init__(self, index, *options, redis=None, binary=None, extra=None, port=None):
        self.index = index
        self.port = port or free_port()
        self.binary = str(binary or place.BINARY)
        self.options = ["--listen", f"127.0.0.1:{self.port}", "--allow-target", "127.0.0.0/8", *options]
        if redis:
            self.options += ["--redis", redis]
        self.extra = dict(extra or {})
        self.log_path = scratch.file("node.log")
        self.process = None
        self.source = None
        self.past = []  # (source, from, until) of the earlier processes of this node

    def start(self, wait=True, **extra):
        preloads = [place.tool("libfault_source_preload.so"), self.extra.get("LD_PRELOAD", "")]
        self.source = next_source()
        with self.log_path.open("a") as log:
            self.process = subprocess.Popen(
                [self.binary, *self.options], stdout=subprocess.PIPE, stderr=log,
                env={**environment(), **self.extra, **extra, "TEST_SOURCE": self.source,
                     "LD_PRELOAD": ":".join(filter(None, preloads))})
        _processes.append(self.process)
        if wait:
            self.await_listening()
        return self

    def await_listening(self):
        ready = select.select([self.process.stdout], [], [], 20 * SLOW)[0]
        line = os.read(self.process.stdout.fileno(), 1000) if ready else b""
        assert b"listening" in line, f"it does not listen: {line!r}\n{self.log()[-2000:]}"

    def await_ready(self, seconds=20):
        until(lambda: self.is_ready(), seconds, lambda: f"ready\n{self.log()[-2000:]}")

    def is_ready(self):
        try:
            return self.request("GET", "/readyz")[0] == 200
        except (OSError, http.client.HTTPException):
            return False

    def request(self, method, target, body=None, headers=None, timeout=10):
        """Returns status and JSON of one request on its own connection."""
        link = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout * SLOW)
        try:
            link.request(method, target, body=None if body is None else json.dumps(body),
                         headers={**({"Content-Type": "application/json"} if body is not None else {}), **(headers or {})})
            answer = link.getresponse()
            text = answer.read()
            return answer.status, json.loads(text) if text else None
        finally:
            link.close()

    def schedule(self, **job):
        return self.request("POST", "/jobs", job)

    @property
    def pid(self):
        return self.process.pid

    def is_alive(self):
        return self.process is not None and self.process.poll() is None

    def log(self):
        return self.log_path.read_text(errors="replace")

    def signal(self, number):
        os.kill(self.pid, number)

    def kill(self):
        if self.is_alive():
            processes.end(self.pid)
        self.process.wait()
        self.process.stdout.close()

    def terminate(self, seconds=40):
        self.signal(signal.SIGTERM)
        code = self.process.wait(seconds * SLOW)
        self.process.stdout.close()
        return code

    stop = kill


def state(pid):
    """Returns the kernel's letter for the state of the process: T is stopped, Z has ended."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0]
    except OSError:
        return "gone"


def is_stopped(pid):
    return state(pid) == "T"


def freeze(pid):
    """Stops the process, and returns when it has stopped."""
    os.kill(pid, signal.SIGSTOP)
    deadline = time.monotonic() + 5 * SLOW
    while (found := state(pid)) != "T":
        assert time.monotonic() < deadline and found != "Z", f"it does not stop, its state is {found}"
        time.sleep(0.0005)
