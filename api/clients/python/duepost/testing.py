"""A duepost of one's own for tests, and a receiver that collects what it delivers."""

from __future__ import annotations

import http.server
import os
import re
import subprocess
import tempfile
import threading
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

from .client import Duepost
from .errors import DuepostError
from .generated import models as m
from .receive import Delivery, Outcome, answer


class Server:
    """A context manager. `client` is a client of the server. Jobs that are sent to `receiver`, a url, are collected;
    `handle` may be replaced, and answers them as a handler does. The clock stands still, unless manual is False."""

    def __init__(self, *options: str, manual: bool = True) -> None:
        self.handle: Callable[[Delivery], Any] = lambda delivery: None
        self.collected: list[Delivery] = []
        self.directory = tempfile.TemporaryDirectory(prefix="duepost-", ignore_cleanup_errors=True)
        self.listener = http.server.ThreadingHTTPServer(("127.0.0.1", 0), type("Collector", (Collector,), {"test": self}))
        self.receiver = f"http://127.0.0.1:{self.listener.server_port}/"
        threading.Thread(target=self.listener.serve_forever, daemon=True).start()
        words = [os.environ.get("DUEPOST_BINARY", "duepost"), "--listen", "127.0.0.1:0", "--data", f"{self.directory.name}/data",
                 "--allow-target", "127.0.0.0/8", *(["--clock", "manual"] if manual else []), *options]
        log = Path(self.directory.name, "log")
        try:
            self.process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=log.open("w"), text=True)
        except FileNotFoundError as error:
            raise DuepostError(f"there is no {words[0]}: install it, or set DUEPOST_BINARY to its path") from error
        found = re.search(r"http://\S+", self.process.stdout.readline())  # type: ignore[union-attr]
        if not found:
            text = log.read_text()
            self.stop()
            raise DuepostError(f"{words[0]} has not started: {text}")
        self.url = found[0]
        self.client = Duepost(self.url, tries=20)
        self.client.request("readiness")

    def deliveries(self, topic: str | None = None) -> list[Delivery]:
        return [each for each in self.collected if topic in (None, each.topic)]

    def advance(self, span: float | str) -> list[m.Fired]:
        """Moves the clock. Returns what has happened on the way, in its order."""
        return self.turn({"advance": span})

    def advance_to(self, time: str | datetime) -> list[m.Fired]:
        return self.turn({"to": time})

    def until_idle(self) -> list[m.Fired]:
        """Moves the clock until no job waits for a time."""
        return self.turn({"untilIdle": True})

    def turn(self, move: dict[str, Any]) -> list[m.Fired]:
        fired: list[m.Fired] = []
        while True:
            turned: m.ClockTurned = self.client.request("turnClock", body=move).json()
            fired += turned["fired"]
            if turned["reached"] and not turned["more"]:
                return fired
            move = {**({"untilIdle": True} if "untilIdle" in move else {}), **({"to": turned["to"]} if "to" in turned else {})}

    def stop(self) -> None:
        self.process.terminate()
        self.process.communicate()
        self.listener.shutdown()
        self.listener.server_close()
        self.directory.cleanup()

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        self.client.close()
        self.stop()


class Collector(http.server.BaseHTTPRequestHandler):
    test: Server
    protocol_version = "HTTP/1.1"

    def handle_job(self) -> None:
        lower = {name.lower(): value for name, value in self.headers.items()}
        body = self.rfile.read(int(lower.get("content-length", 0)))
        delivery = Delivery(lower.get("webhook-id", ""), int(lower.get("webhook-timestamp", 0)), body, lower)
        self.test.collected.append(delivery)
        try:
            status, headers, content = answer(self.test.handle(delivery))
        except Outcome as outcome:
            status, headers, content = answer(outcome)
        except Exception as error:
            status, headers, content = 500, {}, repr(error).encode()
        self.send_response(status)
        for name, value in {**headers, **({} if status == 204 else {"Content-Length": str(len(content))})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    do_POST = do_PUT = do_PATCH = do_GET = do_DELETE = do_HEAD = handle_job

    def log_message(self, *_: Any) -> None:
        pass
