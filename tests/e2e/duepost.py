"""The binary as a black box: start it, speak HTTP with it, stop it.

Every answer is checked against the contract."""

import concurrent.futures
import http.client
import json
import os
import pathlib
import re
import select
import shlex
import signal
import socket
import subprocess
import threading
import time

from patience import SLOW, until
import contract
import processes
import scratch

ROOT = pathlib.Path(__file__).parents[2]
BINARY = os.environ.get("DUEPOST", str(ROOT / "build" / "release" / "duepost"))
LOOPBACK = "127.0.0.0/8,::1"


class Reply:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    @property
    def json(self):
        return json.loads(self.body)

    def expect(self, status):
        assert self.status == status, f"{self.status}, not {status}: {self.body[:2000]!r}"
        return self.json if self.body else None

    def fields(self):
        """Returns the field names in the answer 400, in their order."""
        return [error["field"] for error in self.expect(400)["errors"]]


def is_readable(sock):
    """Returns whether the socket is readable. The function does not use select(), which cannot take sockets with high numbers."""
    poll = select.poll()
    poll.register(sock, select.POLLIN)
    return bool(poll.poll(0))


class Client:
    """A client with one kept-alive connection per thread. After an error, the connection is not used again."""

    keeps_contract = True  # False: an earlier version, whose answers are not checked

    def __init__(self, host, port, token=None, tls=None):
        """tls: an SSLContext."""
        self.host, self.port, self.token, self.tls = host, port, token, tls
        self._local = threading.local()

    def with_token(self, token):
        """Returns a client of the same server that sends this token."""
        return Client(self.host, self.port, token, self.tls)

    def _link(self):
        if self.tls:
            return http.client.HTTPSConnection(self.host, self.port, timeout=15 * SLOW, context=self.tls)
        return http.client.HTTPConnection(self.host, self.port, timeout=15 * SLOW)

    def connect(self):
        """Returns a new socket, which the caller closes."""
        link = socket.create_connection((self.host, self.port), timeout=15 * SLOW)
        return self.tls.wrap_socket(link, server_hostname=self.host) if self.tls else link

    def request(self, method, target, body=None, headers=None, check=True):
        if isinstance(body, str):
            body = body.encode()
        if self.token:
            headers = {"Authorization": f"Bearer {self.token}", **(headers or {})}
        link = getattr(self._local, "link", None)
        if link is None or not link.sock or is_readable(link.sock):  # the server has closed the connection while it was idle
            self.close()
            link = self._local.link = self._link()
        try:
            try:
                link.request(method, target, body=body, headers=headers or {})
            except (BrokenPipeError, ConnectionResetError):
                pass  # duepost refused the request before it had received all bytes; its answer can be read
            answer = link.getresponse()
            reply = Reply(answer.status, answer.headers, answer.read())
        except (OSError, http.client.HTTPException):
            self.close()
            raise
        if answer.will_close:
            self.close()
        if check and self.keeps_contract:
            contract.check(method, target, reply.status, reply.headers, reply.body)
        return reply

    def close(self):
        link = getattr(self._local, "link", None)
        if link is not None:
            link.close()
        self._local.link = None

    def get(self, target):
        return self.request("GET", target)

    def post(self, job, check=True, headers=None):
        """job: members, or the JSON text itself."""
        text = job if isinstance(job, (str, bytes)) else json.dumps(job)
        return self.request("POST", "/jobs", text, {"Content-Type": "application/json", **(headers or {})}, check)

    def post_together(self, job, times, headers=None):
        """Posts the job several times in parallel, each time over another connection."""
        with concurrent.futures.ThreadPoolExecutor(times) as pool:
            return list(pool.map(lambda _: self.post(job, headers=headers), range(times)))

    def schedule(self, **job):
        return self.post(job).expect(201)

    def schedule_many(self, jobs, threads=16):
        """Schedules the jobs in an arbitrary order, and checks only the statuses."""
        def one(job):
            self.post(job, check=False).expect(201)
        with concurrent.futures.ThreadPoolExecutor(threads) as pool:
            list(pool.map(one, jobs))

    def job(self, topic, job_id):
        """Returns the job's JSON, or None if the job is gone."""
        reply = self.get(f"/jobs/{topic}/{job_id}")
        return None if reply.status == 404 else reply.expect(200)

    def cancel(self, topic, job_id):
        return self.request("DELETE", f"/jobs/{topic}/{job_id}")

    def run(self, topic, job_id):
        return self.request("POST", f"/jobs/{topic}/{job_id}/run")

    def wait_for_state(self, topic, job_id, state, seconds=10):
        """Waits until the job has this state. State None means that the job is gone."""
        def condition():
            job = self.job(topic, job_id)
            return (job or {"state": None}) if (job or {}).get("state") == state else None
        return until(condition, seconds, lambda: f"{topic}/{job_id} {state}, it is {self.job(topic, job_id)}")

    def raw(self, data, method="GET", target="/", check=True):
        """Sends raw bytes. Returns all bytes until the server closes the connection."""
        with self.connect() as link:
            link.sendall(data)
            received = b""
            while True:
                try:
                    piece = link.recv(65536)
                except ConnectionResetError:
                    break
                if not piece:
                    break
                received += piece
        if check:
            reply = parse(received)
            contract.check(method, target, reply.status, reply.headers, reply.body)
        return received


def parse(data):
    head, _, body = data.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    headers = http.client.HTTPMessage()
    for line in lines:
        name, _, value = line.partition(":")
        headers[name] = value.strip()
    return Reply(int(first.split()[1]), headers, body)


def environment(extra=None):
    """Returns this process's environment, without the variables that configure duepost."""
    kept = {name: value for name, value in os.environ.items()
            if not name.startswith("DUEPOST_") and name not in ("STATE_DIRECTORY", "XDG_STATE_HOME")}
    return {**kept, **(extra or {})}


def run(*options, extra=None, seconds=10):
    """Runs a command that ends without a signal."""
    return subprocess.run([BINARY, *options], env=environment(extra), capture_output=True, text=True,
                          timeout=seconds * SLOW, check=False)


class Duepost(Client):
    """A running server. If redis is None, it has a private Redis in data. through: a command that is run first, and
    then executes duepost in its place."""

    def __init__(self, *options, redis=None, data=None, allow=LOOPBACK, extra=None, listen="127.0.0.1:0", ready=True, token=None, tls=None,
                 through=(), binary=BINARY):
        self.owns_data = data is None
        self.data = pathlib.Path(data or scratch.directory("data"))
        self.log_path = scratch.file("log")
        command = [*through, binary]
        if listen:
            command += ["--listen", listen]
        if redis:
            command += ["--redis", redis if isinstance(redis, str) else redis.address]
        else:
            command += ["--data", str(self.data)]
        if allow:
            command += ["--allow-target", allow]
        command += ["--history", "off"]  # the default: tests of the history give --history again
        command += shlex.split(os.environ.get("DUEPOST_TEST_OPTIONS", ""))
        with self.log_path.open("w") as log:
            self.process = subprocess.Popen([*command, *options], env=environment(extra),
                                            stdout=subprocess.PIPE, stderr=log)
        try:
            super().__init__(*self._await_address(), token, tls)
            if ready:
                until(lambda: self.get("/readyz").status == 200, 10, "ready")
        except BaseException:
            self.stop()
            raise

    def _await_address(self):
        """Reads the address from the first line on stdout."""
        line, deadline = b"", time.monotonic() + 15 * SLOW
        while not line.endswith(b"\n"):
            left = max(0, deadline - time.monotonic())
            assert select.select([self.process.stdout], [], [], left)[0], f"no address within 15 s\n{self.log()}"
            piece = os.read(self.process.stdout.fileno(), 1000)
            assert piece, f"ended before it listened, exit {self.process.wait()}\n{self.log()}"
            line += piece
        match = re.fullmatch(rb"duepost listening on https?://([0-9.]+|\[[0-9a-f:]+\]):(\d+)\n", line)
        assert match, line
        return match[1].decode().strip("[]"), int(match[2])

    @property
    def url(self):
        return f"http{'s' if self.tls else ''}://{self.host}:{self.port}"

    @property
    def pid(self):
        return self.process.pid

    def reload(self, event="options_reloaded"):
        """Sends SIGHUP, and waits until the log has one more line of the event."""
        before = self.log().count(f"event={event} ")
        self.process.send_signal(signal.SIGHUP)
        until(lambda: self.log().count(f"event={event} ") > before, 5, event)

    def log(self):
        return self.log_path.read_text(errors="replace")

    def redis_pids(self):
        return processes.redis_servers_of(self.data)

    def terminate(self, seconds=10):
        """Sends SIGTERM, waits until the process has drained and ended, and returns the exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(seconds * SLOW)

    def kill(self):
        """Kills the process as a power cut would. Its Redis may survive."""
        processes.end(self.pid)
        self.process.wait()

    def stop(self):
        """Ends the process, whatever its state is, and lets it drain for 50 ms at most. A data directory that the
        test has provided stays."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            try:
                until(self._is_ended_by_sigterm, 5, "end")
            except AssertionError:
                self.kill()
        self.process.stdout.close()
        if self.owns_data:
            for pid in self.redis_pids():
                processes.end(pid)

    def _is_ended_by_sigterm(self):
        """Sends a SIGTERM, and returns whether the process has ended. The first SIGTERM drains it, a second one ends it at once."""
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(0.05)
        except subprocess.TimeoutExpired:
            return False
        return True
