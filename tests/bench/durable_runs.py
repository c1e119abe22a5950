"""A minimal application with a durable workflow: each step is published with a result of a given size."""

import json
import socket
import threading
import time

from parts import Link, await_condition, read_headers

TAKEN = b"HTTP/1.1 200 OK\r\nUpstash-Workflow-Sdk-Version: 1\r\nContent-Length: 0\r\n\r\n"
AT_ONCE = 32  # runs


class Application:
    """with Application(port, ...) as application: application.run(50) triggers that many runs and waits for their ends."""

    def __init__(self, port, steps, result_bytes):
        self._port, self._steps, self._result = port, steps, "x" * result_bytes
        self._lock, self._waiting, self._number = threading.Lock(), 0, 0
        self.ended = self.fetched = self.longest = 0
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}/"
        self._trigger_link = Link(port)
        self.fault = None

    def __enter__(self):
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_):
        self._listener.shutdown(socket.SHUT_RDWR)  # ends accept()
        self._listener.close()
        self._trigger_link.close()

    def run(self, runs):
        with self._lock:
            self._waiting = max(0, runs - AT_ONCE)
        for _ in range(min(runs, AT_ONCE)):
            self._trigger(self._trigger_link)
        await_condition(lambda: self.fault or self.ended >= runs, 900, "all runs have ended")
        if self.fault:
            raise SystemExit(self.fault)

    def _send(self, link, run, body, is_first):
        headers = {"upstash-workflow-runid": run, "upstash-workflow-init": "true" if is_first else "false", "upstash-workflow-url": self.url,
                   "upstash-workflow-sdk-version": "1", "upstash-feature-set": "LazyFetch,InitialBody"}
        link.ask("POST", "/v2/batch", [{"destination": self.url, "body": body, "headers": headers}])

    def _trigger(self, link):
        with self._lock:
            self._number += 1
            run = f"wfr_bench-{self._number}"
        self._send(link, run, "payload", True)

    def _accept(self):
        while True:
            try:
                peer, _ = self._listener.accept()
            except OSError:
                return  # the connection was closed
            threading.Thread(target=self._serve, args=(peer,), daemon=True).start()

    def _serve(self, peer):
        peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        link = Link(self._port)
        try:
            with peer, peer.makefile("rb") as stream:
                while stream.readline():
                    headers = read_headers(stream)
                    body = stream.read(int(headers.get("content-length", 0)))
                    self._go_on(link, headers["upstash-workflow-runid"], body)
                    peer.sendall(TAKEN)
        except (OSError, SystemExit) as error:
            self.fault = self.fault or repr(error)
        finally:
            link.close()

    def _go_on(self, link, run, body):
        steps = json.loads(body) if body else link.ask("GET", f"/v2/workflows/runs/{run}")
        with self._lock:
            self.longest = max(self.longest, len(body))
            self.fetched += not body
        if len(steps) <= self._steps:
            number = len(steps)
            step = {"stepId": number, "stepName": f"step {number}", "stepType": "Run", "out": json.dumps(self._result), "concurrent": 1}
            self._send(link, run, json.dumps(step, separators=(",", ":")), False)
            return
        link.ask("DELETE", f"/v2/workflows/runs/{run}?cancel=false")
        with self._lock:
            is_next, self._waiting = self._waiting > 0, self._waiting - 1
            self.ended += 1
        if is_next:
            self._trigger(link)


def measure(bench, runs, steps, result_bytes):
    """Returns us of CPU per step, steps per second, the size of the longest list that was sent in a delivery, and how many
    lists the application had to fetch."""
    with Application(bench.server.port, steps, result_bytes) as application:
        def step():
            began = time.monotonic()
            application.run(runs)
            return {"rate": runs * steps / (time.monotonic() - began)}
        row = bench.cost(step, runs * steps)
        return {**row, "longest_kib": application.longest / 1024, "fetched": application.fetched / (runs * steps)}
