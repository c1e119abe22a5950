"""duepost work: a worker whose command records its input."""

import json
import pathlib
import signal
import subprocess
import sys

import duepost
import processes
import scratch
from patience import SLOW, until

# The command of the worker. Each run of it writes body, variables and pid into a new directory, whose name gets the
# ending .run when all is written. Then the run executes the shell text PLAN.
RECORD = """
import os, pathlib, shutil, sys, tempfile
place = pathlib.Path(tempfile.mkdtemp(dir=os.environ["RUNS"]))
with (place / "body").open("wb") as body:
    shutil.copyfileobj(sys.stdin.buffer, body)
(place / "variables").write_bytes(b"\\0".join(name + b"=" + value for name, value in os.environb.items()))
(place / "pid").write_text(str(os.getpid()))
place.rename(f"{place}.run")
os.execvp("sh", ["sh", "-c", os.environ.get("PLAN", "true")])
"""


class Run:
    def __init__(self, place):
        self.body = (place / "body").read_bytes()
        self.pid = int((place / "pid").read_text())
        lines = [each.partition(b"=") for each in (place / "variables").read_bytes().split(b"\0")]
        self.variables = {name.decode(): value.decode() for name, _, value in lines}

    @property
    def job_id(self):
        return self.variables["DUEPOST_JOB_ID"]


class Worker:
    """A running `duepost work`. plan: the shell text of its command, which begins when the run is written down."""

    def __init__(self, server, topic, *options, plan="true", command=None, extra=None):
        self.runs_path = scratch.directory("runs")
        self.log_path = scratch.file("log")
        variables = duepost.environment({"RUNS": str(self.runs_path), "PLAN": plan, "DUEPOST_SERVER": server if isinstance(server, str) else server.url,
                                         **(extra or {})})
        words = [duepost.BINARY, "work", topic, *options, "--", *(command or [sys.executable, "-c", RECORD])]
        with self.log_path.open("w") as log:
            self.process = subprocess.Popen(words, env=variables, stdout=log, stderr=log)

    def log(self):
        return self.log_path.read_text(errors="replace")

    def runs(self):
        return [Run(path) for path in sorted(self.runs_path.glob("*.run"), key=lambda path: path.stat().st_ctime_ns)]

    def await_runs(self, count, seconds=15):
        until(lambda: len(list(self.runs_path.glob("*.run"))) >= count, seconds, lambda: f"{count} runs\n{self.log()}")
        return self.runs()

    def wait(self, code=0, seconds=30):
        found = self.process.wait(seconds * SLOW)
        assert found == code, f"exit status {found}\n{self.log()}"
        return self.log()

    def terminate(self, code=0, seconds=30):
        self.process.send_signal(signal.SIGTERM)
        return self.wait(code, seconds)

    def stop(self):
        if self.process.poll() is None:
            processes.end(self.process.pid)
            self.process.wait()


def is_running(pid, text):
    """Returns whether the process still runs. Its command line must have text, because another process may have got
    the pid."""
    try:
        return processes.is_alive(pid) and text.encode() in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()
    except FileNotFoundError:
        return False


def pull(server, topic, **settings):
    server.request("PATCH", f"/topics/{topic}", json.dumps({"delivery": "pull", **settings}),
                   {"Content-Type": "application/json"}).expect(200)


def pull_post(server, topic, action, document=None, headers=None):
    text = None if document is None else json.dumps(document)
    return server.request("POST", f"/topics/{topic}/{action}", text, {"Content-Type": "application/json", **(headers or {})})
