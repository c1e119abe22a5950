"""Schedules a job and waits for its callback."""

import itertools
import json
import pathlib
import socket
import time
import urllib.error
import urllib.request

from root import Failed, Process

SOURCE = pathlib.Path(__file__).resolve().parents[2]
_numbers = itertools.count(1)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Receiver:
    """A running script/receiver. process: the receiver, if it does not run on this host but in a root."""

    def __init__(self, process=None):
        self.process = process or Process([SOURCE / "script" / "receiver", "0"])
        self.url = self.process.line_with("receiver on ", 20).split()[-1] + "/hook"

    def await_job(self, job_id, seconds=20):
        return self.process.line_with(f"attempt 1 of proof/{job_id} ", seconds)

    def end(self):
        self.process.end()


def answer(url, document=None, token=None):
    """(status, text)"""
    data = None if document is None else json.dumps(document).encode()
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    request = urllib.request.Request(url, data, {"Content-Type": "application/json", **headers})
    try:
        with urllib.request.urlopen(request, timeout=10) as reply:
            return reply.status, reply.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()
    except OSError as error:
        return 0, str(error)


def await_ready(server_url, seconds=60):
    deadline = time.monotonic() + seconds
    while True:
        status, text = answer(server_url + "/readyz")
        if status == 200:
            return json.loads(text)
        if time.monotonic() > deadline:
            raise Failed(f"/readyz says {status} {text}")
        time.sleep(0.1)


def job_for(receiver, delay):
    return {"topic": "proof", "jobId": f"job-{next(_numbers)}", "delay": delay, "url": receiver.url, "body": {"order": 1041}}


def schedule(server_url, receiver, delay=1.0, token=None):
    """Returns the jobId."""
    job = job_for(receiver, delay)
    status, text = answer(server_url + "/jobs", job, token)
    if status != 201:
        raise Failed(f"POST /jobs says {status} {text}")
    return job["jobId"]


def deliver(server_url, receiver, token=None):
    receiver.await_job(schedule(server_url, receiver, token=token))
